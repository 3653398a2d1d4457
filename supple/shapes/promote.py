"""Dtype promotion as torch does it: by category, tensors with dimensions before rank 0 before Python
numbers."""

from collections.abc import Sequence
from typing import Final

import torch

from supple.expr import BoolExpr, Expr
from supple.expr.real import Real
from supple.ir.dtypes import DType, from_torch
from supple.ir.meta import TensorMeta

Number = bool | int | float | complex | Expr | Real
Operand = TensorMeta | Number

_PROMOTED: Final = {
    (left, right): from_torch(torch.promote_types(left.torch, right.torch))
    for left in DType
    for right in DType
}
_COMPLEX: Final = (DType.C64, DType.C128)


def default_dtype() -> DType:
    """Return the process's default floating-point type."""
    return from_torch(torch.get_default_dtype())


def promoted(left: DType, right: DType) -> DType:
    """Return the smallest type that holds both."""
    return _PROMOTED[left, right]


def category(dtype: DType) -> int:
    """Return 0 for bool, 1 for integers, 2 for floats, 3 for complex."""
    if dtype is DType.BOOL:
        return 0
    if dtype.is_integer:
        return 1
    return 2 if dtype.is_float else 3


def number_dtype(value: Number) -> DType:
    """Return the type that a Python number has in promotion."""
    match value:
        case bool() | BoolExpr():
            return DType.BOOL
        case int() | Expr():
            return DType.I64
        case float() | Real():
            return default_dtype()
        case complex():
            return DType.C128 if default_dtype() is DType.F64 else DType.C64


def result_dtype(operands: Sequence[Operand]) -> DType:
    """Return the type of an arithmetic result, as `torch.result_type` of any number of operands."""
    groups: list[DType | None] = [None, None, None]
    for operand in operands:
        if isinstance(operand, TensorMeta):
            place, dtype = (0 if operand.sizes else 1), operand.dtype
        else:
            place, dtype = 2, number_dtype(operand)
        known = groups[place]
        groups[place] = dtype if known is None else _PROMOTED[known, dtype]
    found = _combined(groups[0], _combined(groups[1], groups[2]))
    assert found is not None, "a result has operands"
    return found


def _combined(higher: DType | None, lower: DType | None) -> DType | None:
    """Return `higher` unless `lower` is of a wider category."""
    if higher is None or lower is None:
        return higher or lower
    if category(higher) >= category(lower):
        return higher
    if category(lower) == 3 and category(higher) == 2:
        return _PROMOTED[higher, DType.C64]
    return lower


def float_dtype(dtype: DType) -> DType:
    """Return the type of a floating-point function of `dtype`: integers and bool become the default type."""
    return default_dtype() if category(dtype) < 2 else dtype


def real_dtype(dtype: DType) -> DType:
    """Return the type of the parts of a complex type; any other type itself."""
    if dtype in _COMPLEX:
        return DType.F32 if dtype is DType.C64 else DType.F64
    return dtype

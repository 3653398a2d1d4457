"""Decompositions of tensors made from numbers, to full, arange and empty with explicit type and device."""

from collections.abc import Sequence
from typing import cast

import torch

from supple.autograd.decompose_pointwise import DTYPES
from supple.autograd.lowering import Lowering, Rule, Size, decompositions, plain
from supple.expr import Expr
from supple.ir.dtypes import DType
from supple.ir.graph.nodes import Var
from supple.ir.meta import TensorMeta
from supple.shapes.promote import Number, default_dtype, number_dtype


def _kind(options: dict[str, object], otherwise: DType) -> DType:
    given = options.get("dtype")
    return otherwise if given is None else DTYPES[cast("torch.dtype", given)]


def _device(options: dict[str, object], like: TensorMeta | None = None) -> str:
    given = options.get("device")
    if given is not None:
        return str(given)
    return "cpu" if like is None else like.device


def _constant(value: Number) -> Rule:
    def rule(b: Lowering, size: Sequence[Size], **options: object) -> Var:
        """One value, the default type unless one is given."""
        return b.full(size, value, _kind(options, default_dtype()), _device(options))

    return rule


def _new_constant(value: Number) -> Rule:
    def rule(b: Lowering, x: Var, size: Sequence[Size], **options: object) -> Var:
        """One value, type and device of the tensor unless given."""
        meta = b.tensor_meta(x)
        return b.full(size, value, _kind(options, meta.dtype), _device(options, meta))

    return rule


def _constant_like(value: Number) -> Rule:
    def rule(b: Lowering, x: Var, **options: object) -> Var:
        """One value, sizes, type and device of the tensor unless given."""
        meta = b.tensor_meta(x)
        return b.full(meta.sizes, value, _kind(options, meta.dtype), _device(options, meta))

    return rule


for _name, _value in (("zeros", 0), ("ones", 1)):
    decompositions.on(f"aten.{_name}.default")(_constant(_value))
    decompositions.on(f"aten.new_{_name}.default")(_new_constant(_value))
    decompositions.on(f"aten.{_name}_like.default")(_constant_like(_value))


@decompositions.on("aten.full.default")
def _(b: Lowering, size: Sequence[Size], value: Number, **options: object) -> Var:
    """The value's type unless one is given."""
    return b.full(size, value, _kind(options, number_dtype(value)), _device(options))


@decompositions.on("aten.new_full.default")
def _(b: Lowering, x: Var, size: Sequence[Size], value: Number, **options: object) -> Var:
    """Type and device of the tensor unless given."""
    return _new_constant(value)(b, x, size, **options)  # pyright: ignore[reportReturnType]  # rules return Args


@decompositions.on("aten.full_like.default")
def _(b: Lowering, x: Var, value: Number, **options: object) -> Var:
    """Sizes, type and device of the tensor unless given."""
    return _constant_like(value)(b, x, **options)  # pyright: ignore[reportReturnType]  # rules return Args


@decompositions.on("aten.scalar_tensor.default")
def _(b: Lowering, value: Number, **options: object) -> Var:
    """Rank 0."""
    return b.full((), value, _kind(options, default_dtype()), _device(options))


def _empty(b: Lowering, size: Sequence[Size], dtype: DType, device: str) -> Var:
    options = {"dtype": dtype.torch, "device": torch.device(device)}
    return b.emit("aten.empty.memory_format", (plain(size),), options)


@decompositions.on("aten.empty.memory_format", "aten.empty_strided.default", "aten.empty_permuted.default")
def _(b: Lowering, size: Sequence[Size], *_layout: object, **options: object) -> Var:
    """Contents undefined; row-major."""
    return _empty(b, size, _kind(options, default_dtype()), _device(options))


@decompositions.on("aten.new_empty.default", "aten.new_empty_strided.default")
def _(b: Lowering, x: Var, size: Sequence[Size], *_layout: object, **options: object) -> Var:
    """Contents undefined; type and device of the tensor unless given."""
    meta = b.tensor_meta(x)
    return _empty(b, size, _kind(options, meta.dtype), _device(options, meta))


@decompositions.on("aten.empty_like.default")
def _(b: Lowering, x: Var, **options: object) -> Var:
    """Contents undefined; sizes, type and device of the tensor unless given."""
    meta = b.tensor_meta(x)
    return _empty(b, meta.sizes, _kind(options, meta.dtype), _device(options, meta))


def _counted(b: Lowering, numbers: tuple[Number, Number, Number], options: dict[str, object]) -> Var:
    is_exact = all(isinstance(number, int | Expr) for number in numbers)
    dtype = _kind(options, DType.I64 if is_exact else default_dtype())
    named = {"dtype": dtype.torch, "device": torch.device(_device(options))}
    return b.emit("aten.arange.start_step", numbers, named)


@decompositions.on("aten.arange.default")
def _(b: Lowering, end: Number, **options: object) -> Var:
    """From 0 in steps of 1."""
    return _counted(b, (0, end, 1), options)


@decompositions.on("aten.arange.start")
def _(b: Lowering, start: Number, end: Number, **options: object) -> Var:
    """In steps of 1."""
    return _counted(b, (start, end, 1), options)


@decompositions.on("aten.arange.start_step")
def _(b: Lowering, start: Number, end: Number, step: Number = 1, **options: object) -> Var:
    """The type explicit."""
    return _counted(b, (start, end, step), options)


@decompositions.on("aten.eye.default", "aten.eye.m")
def _(b: Lowering, rows: Size, columns: Size | None = None, **options: object) -> Var:
    """1 where row and column are equal."""
    device = _device(options)
    across = b.iota(rows if columns is None else columns, device)
    down = b.view(b.iota(rows, device), (rows, 1))
    return b.cast(b.point("eq.Tensor", across, down), _kind(options, default_dtype()))


@decompositions.on("aten.addmm.default")
def _(b: Lowering, x: Var, left: Var, right: Var, *, beta: Number = 1, alpha: Number = 1) -> Var:
    """Factors other than 1 become products beside the matrix product."""
    if beta == 1 and alpha == 1:
        return b.emit("aten.addmm.default", (x, left, right))
    product = b.emit("aten.mm.default", (left, right))
    scaled = product if alpha == 1 else b.mul(product, alpha)
    return scaled if beta == 0 else b.add(scaled, x if beta == 1 else b.mul(x, beta))

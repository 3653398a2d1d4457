"""torch.tensor of lists of tensors and symbolic numbers: what they hold is put together in the graph."""

# Functions of torch are untyped here.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false

import functools
from collections.abc import Sequence
from functools import partial
from typing import Final, cast

import torch

from supple.capture.library.operations import torch_op
from supple.capture.library.table import Args, Kwargs, call
from supple.capture.machine import Machine
from supple.capture.values.base import Value
from supple.capture.values.constant import ConstantValue
from supple.capture.values.sequence import SequenceValue, new_list, new_tuple
from supple.capture.values.symbolic import SymbolicValue
from supple.capture.values.tensor import TensorValue, emit

_NAMES: Final = ("data", "dtype", "device", "requires_grad")


def _made(function: object, machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """torch.tensor(data), torch.as_tensor(data), x.new_tensor(data)."""
    is_method = function is torch.Tensor.new_tensor
    data = kwargs.get("data") or next(iter(args[is_method:]), None)
    is_usual = set(kwargs) <= {*_NAMES} and len(args) <= 1 + is_method
    if is_usual and isinstance(data, SequenceValue | SymbolicValue):
        leaves: list[Value] = []
        shape = _shape(machine, data, leaves, 0)
        options = {name: kwargs[name].as_python() for name in _NAMES[1:] if name in kwargs}
        if is_method:
            like = args[0]
            assert isinstance(like, TensorValue), like.describe()
            options = {"dtype": like.fake.dtype, "device": like.fake.device, **options}
        dtype = _dtype(leaves, options.get("dtype")) if shape is not None else None
        if shape is not None and dtype is not None and options.get("requires_grad", False) is False:
            return _stacked(machine, leaves, shape, dtype, options.get("device"))
    op = torch_op(function)
    assert op is not None, function
    return emit(machine, op, args, kwargs)


def _shape(machine: Machine, data: Value, leaves: list[Value], depth: int) -> list[int] | None:
    """Return the sizes of nested lists, of which the leaves are collected; None where a list is no such one.

    One that holds neither tensors without dimensions nor symbolic numbers is none. A number has no sizes.
    """
    if not isinstance(data, SequenceValue):
        leaves.append(data)
        return []
    rows = data.all(machine) if depth < _DEEPEST else []
    nested = [one for one in rows if isinstance(one, SequenceValue)]
    if nested and len(nested) == len(rows):
        shapes = [_shape(machine, one, leaves, depth + 1) for one in nested]
        alike = None not in shapes and all(one == shapes[0] for one in shapes)
        shape = [len(rows), *cast("list[int]", shapes[0])] if alike else None
    else:
        leaves += rows
        shape = [len(rows)] if rows and not nested else None
    if depth == 0 and not any(isinstance(one, TensorValue | SymbolicValue) for one in leaves):
        return None
    return shape


_DEEPEST: Final = 16


def _dtype(leaves: Sequence[Value], wanted: object) -> torch.dtype | None:
    """Return the dtype of a tensor of these leaves; None where `to` does not convert as Python does."""
    found = [_dtype_of(one) for one in leaves]
    if None in found:
        return None
    dtypes = cast("list[torch.dtype]", found)
    if isinstance(wanted, torch.dtype):
        is_wide = wanted.is_floating_point and not any(one.is_complex for one in dtypes)
        return wanted if is_wide or all(one is wanted for one in dtypes) else None
    return functools.reduce(torch.promote_types, dtypes)


def _dtype_of(leaf: Value) -> torch.dtype | None:
    if isinstance(leaf, TensorValue):
        return leaf.fake.dtype if leaf.fake.ndim == 0 else None
    plain = isinstance(leaf, SymbolicValue) or (
        isinstance(leaf, ConstantValue) and type(leaf.value) in (bool, int, float)
    )
    kinds = {bool: torch.bool, int: torch.int64, float: torch.get_default_dtype()}
    return kinds[leaf.python_type()] if plain else None


def _stacked(
    machine: Machine, leaves: Sequence[Value], shape: Sequence[int], dtype: torch.dtype, device: object
) -> Value:
    parts = [_part(machine, leaf, dtype, device) for leaf in leaves]
    if not shape:
        return parts[0]
    flat = machine.call_leaf(torch.stack, [new_list(parts)], {})
    if len(shape) == 1:
        return flat
    sizes = new_tuple([ConstantValue(size) for size in shape])
    return machine.call_leaf(torch.Tensor.reshape, [flat, sizes], {})


def _part(machine: Machine, leaf: Value, dtype: torch.dtype, device: object) -> Value:
    """Return one leaf as a tensor without dimensions; a tensor's number passes through Python's own type."""
    if not isinstance(leaf, TensorValue):
        options: dict[str, Value] = {"dtype": ConstantValue(dtype), "device": ConstantValue(device)}
        return machine.call_leaf(torch.full, [new_tuple([]), leaf], options)
    leaf = machine.call_leaf(torch.Tensor.detach, [leaf], {})
    has_steps = dtype.is_floating_point and _dtype_of(leaf) is not dtype
    for step in [torch.float64] * has_steps + [dtype]:
        leaf = machine.call_leaf(torch.Tensor.to, [leaf, ConstantValue(step)], {})
    place = ConstantValue(device or torch.get_default_device())
    return machine.call_leaf(torch.Tensor.to, [leaf, place], {})


for _function in (torch.tensor, torch.as_tensor, torch.Tensor.new_tensor):
    call.on(_function)(partial(_made, _function))

"""Decompositions of tensors made from numbers, to full, arange and empty with explicit type and device."""

import math
from collections.abc import Callable
from functools import partial
from typing import cast

import torch

from supple.autograd.builder import inverse, outermost_first
from supple.autograd.lowering import Lowering, decompositions, plain
from supple.ir.dtypes import DType
from supple.ir.graph.nodes import Arg, Var
from supple.ir.meta import TensorMeta
from supple.ir.ops import Op, op_named
from supple.runtime.state import deterministic_state, fills_memory
from supple.shapes.promote import Number

Body = Callable[[Lowering, TensorMeta, tuple[Arg, ...]], Var]


def creation(*names: str) -> Callable[[Body], Body]:
    """Return a decorator that registers a body (lowering, what eager would make, arguments) for overloads."""

    def register(body: Body) -> Body:
        for name in names:
            decompositions.on(f"aten.{name}")(partial(_creation, op_named(f"aten.{name}"), body))
        return body

    return register


def _creation(op: Op, body: Body, b: Lowering, *args: Arg, **options: Arg) -> Var:
    return body(b, cast("TensorMeta", b.inferred(op, args, options)), args)


def _options(meta: TensorMeta) -> dict[str, Arg]:
    return {"dtype": meta.dtype.torch, "device": torch.device(meta.device)}


def _filled(value: Number, b: Lowering, meta: TensorMeta, args: tuple[Arg, ...]) -> Var:
    """The value everywhere."""
    return b.full(meta.sizes, value, meta.dtype, meta.device)


def _filled_with(place: int, b: Lowering, meta: TensorMeta, args: tuple[Arg, ...]) -> Var:
    """The argument at the place everywhere."""
    return _filled(cast("Number", args[place]), b, meta, args)


creation("zeros.default", "new_zeros.default", "zeros_like.default")(partial(_filled, 0))
creation("_efficientzerotensor.default")(partial(_filled, 0))
creation("ones.default", "new_ones.default", "ones_like.default")(partial(_filled, 1))
creation("scalar_tensor.default")(partial(_filled_with, 0))
creation("full.default", "full_like.default")(partial(_filled_with, 1))
creation("new_full.default")(partial(_filled_with, 2))


@creation(
    *("empty.memory_format", "empty_strided.default", "empty_permuted.default", "empty_like.default"),
    *("new_empty.default", "new_empty_strided.default"),
)
def _(b: Lowering, meta: TensorMeta, args: tuple[Arg, ...]) -> Var:
    """Contents undefined, unless algorithms are to be deterministic; a view of a row-major tensor."""
    if deterministic_state() is not None and fills_memory():
        return b.full(meta.sizes, _unset(meta.dtype), meta.dtype, meta.device)
    order = list(range(meta.rank)) if meta.is_contiguous else outermost_first(meta)
    sizes = plain([meta.sizes[dim] for dim in order])
    return b.permuted(b.emit("aten.empty.memory_format", (sizes,), _options(meta)), inverse(order))


def _unset(dtype: DType) -> Number:
    """Return what eager fills fresh memory with: NaN, or the greatest integer."""
    if dtype is DType.BOOL:
        return True
    return torch.iinfo(dtype.torch).max if dtype.is_integer else math.nan


@creation("arange.default", "arange.start", "arange.start_step")
def _(b: Lowering, meta: TensorMeta, args: tuple[Arg, ...]) -> Var:
    """Start, end and step explicit."""
    numbers = (0, *args, 1) if len(args) == 1 else (*args, 1)[:3]
    return b.emit("aten.arange.start_step", numbers, _options(meta))


@creation("eye.default", "eye.m")
def _(b: Lowering, meta: TensorMeta, args: tuple[Arg, ...]) -> Var:
    """1 where row and column are equal."""
    rows, columns = plain(meta.sizes)
    down = b.view(b.iota(rows, meta.device), (rows, 1))
    return b.cast(b.point("eq.Tensor", b.iota(columns, meta.device), down), meta.dtype)


def _drawn(name: str, b: Lowering, x: Var, *args: Arg, **options: Arg) -> Var:
    """Zeros and ones; as truth values they are kept for backward in fewer bytes."""
    drawn = b.emit(name, (x, *args), options)
    return b.cast(b.cast(drawn, DType.BOOL), b.tensor_meta(drawn).dtype)


for _name in ("aten.bernoulli.p", "aten.bernoulli.default", "aten.bernoulli.Tensor"):
    decompositions.on(_name)(partial(_drawn, _name))

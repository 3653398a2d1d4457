"""Decompositions of reductions to sum, prod, amax, amin, any, all, argmax, argmin and pointwise operators."""

import math
from collections.abc import Sequence
from functools import partial
from typing import cast

import torch

from supple.autograd.lowering import Lowering, calculated, decompositions, dims_of, fixed, plain
from supple.expr import Expr, maximum, minimum
from supple.ir.dtypes import DType, from_torch
from supple.ir.graph.nodes import Arg, Var
from supple.ir.meta import TensorMeta
from supple.shapes.layout import numel
from supple.shapes.promote import Number, category

Dims = Sequence[int] | int | None


def count_of(meta: TensorMeta, dims: Sequence[int]) -> int | Expr:
    """Return the number of elements that a reduction over `dims` reads for each result."""
    return plain((numel([meta.sizes[dim] for dim in dims]),))[0]


def _squeezed(b: Lowering, x: Var, dims: Sequence[int], keepdim: bool) -> Var:
    """Return a kept-dimension result without its dimensions, unless they are wanted."""
    return x if keepdim or not dims else b.emit("aten.squeeze.dims", (x, list(dims)))


def _summed(meta: TensorMeta, dtype: torch.dtype | None) -> torch.dtype:
    """Return the type of a sum: the given one, i64 for integers and bool."""
    return dtype or (torch.int64 if category(meta.dtype) < 2 else meta.dtype.torch)


@decompositions.on("aten.sum.default", "aten.sum.dim_IntList")
def _(
    b: Lowering, x: Var, dim: Dims = None, keepdim: bool = False, *, dtype: torch.dtype | None = None
) -> Var:
    """All dimensions named; integers and bool in i64; of rank 0: a cast, and 0.0 of -0.0."""
    meta = b.tensor_meta(x)
    wanted = _summed(meta, dtype)
    dims = dims_of(dim, meta.rank)
    if wanted is torch.bool:  # a sum of truths that is a truth
        truths = b.cast(x, DType.BOOL)
        return b.emit("aten.any.dims", (truths, dims, keepdim)) if dims else b.copy(truths)
    options = {} if wanted is _summed(meta, None) is meta.dtype.torch else {"dtype": wanted}
    if not dims:
        made = b.emit("aten._to_copy.default", (x,), options) if options else b.copy(x)
        return b.add(made, 0.0) if wanted.is_floating_point else made
    return b.emit("aten.sum.dim_IntList", (x, dims, keepdim), options)


@decompositions.on("aten.mean.default", "aten.mean.dim")
def _(
    b: Lowering, x: Var, dim: Dims = None, keepdim: bool = False, *, dtype: torch.dtype | None = None
) -> Var:
    """The sum, in f32 for bf16 and f16, divided by the number of elements."""
    source = x if dtype is None else cast("Var", b.call("aten._to_copy.default", x, dtype=dtype))
    meta = b.tensor_meta(source)
    if not meta.dtype.is_float:
        return b.emit("aten.mean.dim", (source, dims_of(dim, meta.rank), keepdim))
    dims = dims_of(dim, meta.rank)
    total = b.sum(b.wide(source), dims, keepdim) if dims else b.add(b.wide(source), 0.0)
    return b.cast(b.div(total, count_of(meta, dims)), meta.dtype)


def _extreme(core: str, b: Lowering, x: Var, dim: Dims = (), keepdim: bool = False) -> Var:
    """All dimensions named; of rank 0: a copy."""
    dims = dims_of(dim, b.tensor_meta(x).rank)
    return b.emit(f"aten.{core}.default", (x, dims, keepdim)) if dims else b.copy(x)


def _place(core: str, b: Lowering, x: Var, dim: int | None = None, keepdim: bool = False) -> Var:
    """The dimension counted from the front; of rank 0: position 0."""
    meta = b.tensor_meta(x)
    if not meta.rank:
        return b.full((), 0, DType.I64, meta.device)
    return b.emit(f"aten.{core}.default", (x, None if dim is None else dim % meta.rank, keepdim))


def _extreme_with_place(core: str, b: Lowering, x: Var, dim: int, keepdim: bool = False) -> Arg:
    """The value and its first position."""
    numbers = b.cast(x, DType.U8) if b.tensor_meta(x).dtype is DType.BOOL else x  # torch has no arg of truths
    return _extreme(f"a{core}", b, x, dim, keepdim), _place(f"arg{core}", b, numbers, dim, keepdim)


for _name in ("max", "min"):
    decompositions.on(f"aten.{_name}.default", f"aten.a{_name}.default")(partial(_extreme, f"a{_name}"))
    decompositions.on(f"aten.arg{_name}.default")(partial(_place, f"arg{_name}"))
    decompositions.on(f"aten.{_name}.dim")(partial(_extreme_with_place, _name))


def _truth(core: str, b: Lowering, x: Var, dim: Dims = None, keepdim: bool = False) -> Var:
    """All dimensions named; of u8 a u8; an empty list of dimensions: element by element."""
    meta = b.tensor_meta(x)
    is_listed = isinstance(dim, list | tuple) and not dim
    dims = [] if is_listed else dims_of(dim, meta.rank)
    result = b.emit(f"aten.{core}.dims", (x, dims, keepdim)) if dims else b.point("ne.Tensor", x, 0)
    return b.cast(result, DType.U8) if meta.dtype is DType.U8 else result


for _name in ("any", "all"):
    _overloads = (f"aten.{_name}.{overload}" for overload in ("default", "dim", "dims"))
    decompositions.on(*_overloads)(partial(_truth, _name))


@decompositions.on("aten.prod.default", "aten.prod.dim_int")
def _(
    b: Lowering, x: Var, dim: int | None = None, keepdim: bool = False, *, dtype: torch.dtype | None = None
) -> Var:
    """One dimension after the other; integers and bool in i64."""
    meta = b.tensor_meta(x)
    result = b.cast(x, from_torch(_summed(meta, dtype)))
    dims = dims_of(dim, meta.rank)
    if not dims:
        return b.copy(result) if result is x else result
    dtype_now = b.tensor_meta(result).dtype
    if len(dims) > 1:
        result = b.wide(result)
    for at in sorted(dims, reverse=True):
        result = b.emit("aten.prod.dim_int", (result, at, keepdim))
    return b.cast(result, dtype_now)


def moments(b: Lowering, x: Var, dims: Sequence[int], correction: float = 0) -> tuple[Var, Var]:
    """Return variance and mean over `dims`, kept as size 1, of a tensor in its compute type."""
    count = count_of(b.tensor_meta(x), dims)
    mean = b.div(b.sum(x, dims), count) if dims else x
    centered = b.sub(x, mean)
    return b.div(b.sum(b.mul(centered, centered), dims), _degrees(count, correction)), mean


def _degrees(count: int | Expr, correction: float) -> Number:
    """Return the number that a sum of squares is divided by: 0 for that of nothing, whatever is added."""
    if isinstance(count, Expr) and float(correction).is_integer():
        whole = int(correction)
        return minimum(count - whole, count * (1 - whole)) if whole < 0 else maximum(count - whole, 0)
    degrees = calculated("max", 0.0, calculated("-", count, float(correction)))  # 0 for a NaN, as in C++
    return calculated("min", degrees, calculated("*", count, 1.0 - correction)) if correction < 0 else degrees


def _spread(
    op: str, b: Lowering, x: Var, dim: Dims = None, *, correction: Number | None = None, keepdim: bool = False
) -> Arg:
    """Mean first, then the mean square distance from it, in f32 for bf16 and f16."""
    meta = b.tensor_meta(x)
    if not meta.dtype.is_float:
        return None
    dims = dims_of(dim, meta.rank)
    degrees = 1.0 if correction is None else fixed(correction)
    variance, mean = moments(b, b.wide(x), dims, degrees)
    spread = b.unary("sqrt", variance) if op.startswith("std") else variance
    results = tuple(b.cast(_squeezed(b, item, dims, keepdim), meta.dtype) for item in (spread, mean))
    return results if op.endswith("mean") else results[0]


for _name in ("var", "std", "var_mean", "std_mean"):
    decompositions.on(f"aten.{_name}.correction")(partial(_spread, _name))


@decompositions.on("aten.logsumexp.default")
def _(b: Lowering, x: Var, dim: Dims, keepdim: bool = False) -> Var | None:
    """max + log(sum(exp(x - max))); an infinite max counts as 0 inside."""
    meta = b.tensor_meta(x)
    dims = dims_of(dim, meta.rank)
    if not meta.dtype.is_float or not dims:
        return None
    wide = b.wide(x)
    top = b.largest(wide, dims)
    is_infinite = b.point("eq.Tensor", b.unary("abs", top), math.inf)
    shift = b.where(is_infinite, 0.0, top, b.tensor_meta(top).dtype)
    total = b.sum(b.unary("exp", b.sub(wide, shift)), dims)
    result = b.add(b.unary("log", total), shift)
    return b.cast(_squeezed(b, result, dims, keepdim), meta.dtype)


@decompositions.on("aten.linalg_vector_norm.default")
def _(
    b: Lowering,
    x: Var,
    order: float = 2,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    dtype: torch.dtype | None = None,
) -> Var | None:
    """Orders 1, 2 and infinity; others stay a library call."""
    source = x if dtype is None else cast("Var", b.call("aten._to_copy.default", x, dtype=dtype))
    meta = b.tensor_meta(source)
    dims = dims_of(dim, meta.rank)
    if not meta.dtype.is_float or not dims or order not in (1, 2, math.inf):
        return None
    wide = b.wide(source)
    if order == 2:
        result = b.unary("sqrt", b.sum(b.mul(wide, wide), dims, keepdim))
    elif order == 1:
        result = b.sum(b.unary("abs", wide), dims, keepdim)
    else:
        result = b.emit("aten.amax.default", (b.unary("abs", wide), dims, keepdim))
    return b.cast(result, meta.dtype)

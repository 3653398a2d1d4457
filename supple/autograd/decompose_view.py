"""Decompositions of views and of operators that move elements, to their core forms with explicit
dimensions."""

from collections.abc import Sequence
from functools import partial, reduce
from itertools import compress
from typing import cast

import torch

from supple.autograd.lowering import Lowering, Operand, Size, decompositions, index_from_front, plain, rounded
from supple.expr import Expr, as_expr, minimum
from supple.ir.dtypes import DType
from supple.ir.graph.nodes import Arg, Var
from supple.ir.meta import TensorMeta
from supple.ir.ops import op_named
from supple.shapes.decide import ONE, is_one
from supple.shapes.layout import is_dense
from supple.shapes.promote import Number, promoted
from supple.shapes.rules_index import are_joined
from supple.shapes.rules_view import inferred_sizes, sliced


@decompositions.on(
    "aten.alias.default", "aten.detach.default", "aten.lift_fresh.default", "aten.lift.default"
)
def _(b: Lowering, x: Var) -> Var:
    """The tensor."""
    return x


@decompositions.on("aten.view.default", "aten._unsafe_view.default")
def _(b: Lowering, x: Var, size: Sequence[Size]) -> Var:
    """Sizes without -1."""
    return b.view(x, inferred_sizes(b.tensor_meta(x), size))


@decompositions.on("aten._reshape_alias.default")
def _(b: Lowering, x: Var, size: Sequence[Size], stride: Sequence[Size]) -> Var:
    """A view of these sizes."""
    return b.view(x, size)


@decompositions.on("aten.expand.default")
def _(b: Lowering, x: Var, size: Sequence[Size], *, implicit: bool = False) -> Var:
    """Sizes without -1; nothing where they are the tensor's."""
    meta = b.tensor_meta(x)
    missing = len(size) - meta.rank
    sizes = [meta.sizes[d - missing] if s == -1 else as_expr(s) for d, s in enumerate(size)]
    return b.expand(x, sizes)


@decompositions.on("aten.permute.default")
def _(b: Lowering, x: Var, dims: Sequence[int]) -> Var:
    """Dimensions counted from the front."""
    return b.permuted(x, [dim % len(dims) for dim in dims])


@decompositions.on("aten.t.default")
def _(b: Lowering, x: Var) -> Var:
    """A permutation of two dimensions."""
    return b.permuted(x, list(range(b.tensor_meta(x).rank))[::-1])


@decompositions.on("aten.transpose.int")
def _(b: Lowering, x: Var, dim0: int, dim1: int) -> Var:
    """A permutation that exchanges two dimensions."""
    order = list(range(b.tensor_meta(x).rank))
    if order:
        order[dim0], order[dim1] = order[dim1], order[dim0]
    return b.permuted(x, order)


@decompositions.on("aten.squeeze.default", "aten.squeeze.dim", "aten.squeeze.dims")
def _(b: Lowering, x: Var, dim: Sequence[int] | int | None = None) -> Var:
    """Only the dimensions that have size 1, named."""
    meta = b.tensor_meta(x)
    named = range(meta.rank) if dim is None else (dim,) if isinstance(dim, int) else dim
    gone = [d % meta.rank for d in named if meta.rank and is_one(meta.sizes[d % meta.rank])]
    return b.emit("aten.squeeze.dims", (x, gone)) if gone else x


@decompositions.on("aten.unsqueeze.default")
def _(b: Lowering, x: Var, dim: int) -> Var | None:
    """The dimension counted from the front."""
    rank = b.tensor_meta(x).rank + 1
    return None if dim >= 0 else b.emit("aten.unsqueeze.default", (x, dim % rank))


@decompositions.on("aten.unfold.default")
def _(b: Lowering, x: Var, dim: int, size: int, step: int) -> Var | None:
    """The dimension counted from the front; the window of a number is a list of it, or an empty one."""
    rank = b.tensor_meta(x).rank
    if rank:
        return None if dim >= 0 else b.emit("aten.unfold.default", (x, dim % rank, size, step))
    listed = b.view(x, (ONE,))
    return listed if size else b.emit("aten.slice.Tensor", (listed, 0, 0, 0, 1))


@decompositions.on("aten.slice.Tensor")
def _(
    b: Lowering, x: Var, dim: int = 0, start: Size | None = None, end: Size | None = None, step: int = 1
) -> Var:
    """Bounds within the dimension; nothing where it is the whole dimension."""
    meta = b.tensor_meta(x)
    place = dim % meta.rank
    bounds = _bounds(meta.sizes[place], start, end, step)
    return x if bounds is None else b.emit("aten.slice.Tensor", (x, place, *bounds, step))


def _bounds(size: Expr, start: Size | None, end: Size | None, step: int) -> list[Size] | None:
    """Return where a slice begins and ends, within the dimension; None where it is the whole dimension."""
    first, count = sliced(size, start, end, step)
    if count is size and step == 1:
        return None
    return plain((first, first + count if step == 1 else minimum(first + count * step, size)))


@decompositions.on("aten.select.int")
def _(b: Lowering, x: Var, dim: int, index: Size) -> Var:
    """Dimension and index counted from the front."""
    meta = b.tensor_meta(x)
    place = dim % meta.rank
    return b.emit("aten.select.int", (x, place, index_from_front(index, meta.sizes[place])))


@decompositions.on("aten.slice_scatter.default")
def _(b: Lowering, x: Var, src: Var, dim: int = 0, *bounds: Size | None) -> Var:
    """Bounds within the dimension; the source alone where it is the whole dimension, without gaps."""
    meta = b.tensor_meta(x)
    place = dim % meta.rank
    start, end, step = (*bounds, *(None, None, 1)[len(bounds) :])
    stride = 1 if step is None else cast("int", step)
    ends = _bounds(meta.sizes[place], start, end, stride)
    source = b.cast(src, meta.dtype)
    if ends is None and is_dense(meta.sizes, meta.strides):
        return source
    ends = ends or [0, *plain(meta.sizes[place : place + 1])]
    return b.emit("aten.slice_scatter.default", (x, source, place, *ends, stride))


@decompositions.on("aten.select_scatter.default")
def _(b: Lowering, x: Var, src: Var, dim: int, index: Size) -> Var:
    """Dimension and index counted from the front."""
    meta = b.tensor_meta(x)
    place = dim % meta.rank
    where = index_from_front(index, meta.sizes[place])
    return b.emit("aten.select_scatter.default", (x, b.cast(src, meta.dtype), place, where))


@decompositions.on("aten.diagonal.default")
def _(b: Lowering, x: Var, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Var:
    """Dimensions counted from the front."""
    rank = b.tensor_meta(x).rank
    return b.emit("aten.diagonal.default", (x, offset, dim1 % rank, dim2 % rank))


@decompositions.on("aten.unsafe_split.Tensor", "aten.unsafe_split_with_sizes.default")
def _(b: Lowering, x: Var, lengths: Size | Sequence[Size], dim: int = 0) -> Arg:
    """Slices."""
    name = "split_with_sizes.default" if isinstance(lengths, list | tuple) else "split.Tensor"
    parts = cast("Sequence[TensorMeta]", b.inferred(op_named(f"aten.{name}"), (x, lengths, dim), {}))
    start = as_expr(0)
    found: list[Arg] = []
    for part in parts:
        stop = start + part.sizes[dim]
        found.append(b.call("aten.slice.Tensor", x, dim, *plain((start, stop))))
        start = stop
    return tuple(found)


@decompositions.on("aten.clone.default")
def _(b: Lowering, x: Var, *, memory_format: torch.memory_format | None = None) -> Var | None:
    """Without a memory format where the layout is that already."""
    if memory_format is None or memory_format is torch.preserve_format:
        return b.copy(x)
    meta = b.tensor_meta(x)
    made = b.emit("aten.clone.default", (x,), {"memory_format": memory_format})
    if b.tensor_meta(made).strides != meta.strides:
        return made
    b.drop_last()
    return b.copy(x)


@decompositions.on("aten.cat.default")
def _(b: Lowering, tensors: Sequence[Var], dim: int = 0) -> Var:
    """Of one type, without the empty tensors of rank 1."""
    metas = [b.tensor_meta(x) for x in tensors]
    dtype = reduce(promoted, [meta.dtype for meta in metas])
    real = [b.cast(x, dtype) for x in compress(tensors, are_joined(metas))]
    if not real:
        return b.cast(tensors[0], dtype)
    return b.emit("aten.cat.default", (real, dim % b.tensor_meta(real[0]).rank))


@decompositions.on("aten.stack.default")
def _(b: Lowering, tensors: Sequence[Var], dim: int = 0) -> Arg:
    """Joined along a dimension of size 1 added to each."""
    place = dim % (b.tensor_meta(tensors[0]).rank + 1)
    return b.call("aten.cat.default", [b.emit("aten.unsqueeze.default", (x, place)) for x in tensors], place)


@decompositions.on("aten.repeat.default")
def _(b: Lowering, x: Var, repeats: Sequence[Size]) -> Var:
    """Each repeated dimension is expanded beside itself, and both are viewed as one."""
    meta = b.tensor_meta(x)
    missing = len(repeats) - meta.rank
    sizes = [*(as_expr(1),) * missing, *meta.sizes]
    paired: list[Size] = []
    wide: list[Size] = []
    for size, count in zip(sizes, repeats, strict=True):
        paired += [size] if count == 1 else [1, size]
        wide += [size] if count == 1 else [count, size]
    final = [size * count for size, count in zip(sizes, repeats, strict=True)]
    spread = b.expand(b.view(x, paired), wide)
    return b.copy(x) if spread is x else b.view(spread, final)


@decompositions.on("aten.constant_pad_nd.default")
def _(b: Lowering, x: Var, pad: Sequence[Size], value: Number = 0) -> Var:
    """The value in the tensor's type; a copy where nothing is added."""
    meta = b.tensor_meta(x)
    if all(amount == 0 for amount in pad):
        return b.copy(x)
    return b.emit("aten.constant_pad_nd.default", (x, list(pad), rounded(value, meta.dtype)))


@decompositions.on("aten.flip.default")
def _(b: Lowering, x: Var, dims: Sequence[int]) -> Var:
    """Dimensions counted from the front."""
    rank = b.tensor_meta(x).rank
    return b.emit("aten.flip.default", (x, [d % rank for d in dims])) if rank and dims else b.copy(x)


@decompositions.on("aten.roll.default")
def _(b: Lowering, x: Var, shifts: Sequence[Size], dims: Sequence[int] = ()) -> Var:
    """Each dimension named; without dimensions, of the flattened tensor."""
    meta = b.tensor_meta(x)
    if not meta.rank:
        return b.copy(x)
    if not dims:
        flat = b.view(x, (meta.numel,))
        return b.view(b.emit("aten.roll.default", (flat, list(shifts), [0])), meta.sizes)
    return b.emit("aten.roll.default", (x, list(shifts), [d % meta.rank for d in dims]))


def _triangle(core: str, b: Lowering, x: Var, diagonal: int = 0) -> Var:
    """x where column - row compares with the diagonal as `core` says, 0 elsewhere."""
    meta = b.tensor_meta(x)
    rows, columns = plain(meta.sizes[-2:])
    distance = b.sub(b.iota(columns, meta.device), b.view(b.iota(rows, meta.device), (rows, 1)))
    zero = False if meta.dtype is DType.BOOL else 0
    return b.where(b.point(core, distance, diagonal), x, zero, meta.dtype)


decompositions.on("aten.tril.default")(partial(_triangle, "le.Tensor"))
decompositions.on("aten.triu.default")(partial(_triangle, "ge.Tensor"))


@decompositions.on("aten.index.Tensor", "aten._unsafe_index.Tensor")
def _(b: Lowering, x: Var, indices: Sequence[Var | None]) -> Var | None:
    """Indices in i64; one by masks stays a library call."""
    if any(i is not None and b.tensor_meta(i).dtype in (DType.BOOL, DType.U8) for i in indices):
        return None
    wide = [None if index is None else b.cast(index, DType.I64) for index in indices]
    while wide and wide[-1] is None:
        wide.pop()
    return b.emit("aten.index.Tensor", (x, wide))


@decompositions.on("aten.embedding.default")
def _(b: Lowering, weight: Var, indices: Var, *_options: object) -> Var:
    """Rows of the weight."""
    return b.emit("aten.embedding.default", (weight, indices))


@decompositions.on("aten.gather.default")
def _(b: Lowering, x: Var, dim: int, index: Var, *, sparse_grad: bool = False) -> Var | None:
    """The dimension counted from the front."""
    rank = b.tensor_meta(x).rank
    return b.emit("aten.gather.default", (x, dim % rank, index)) if rank else None


@decompositions.on("aten.index_select.default")
def _(b: Lowering, x: Var, dim: int, index: Var) -> Var | None:
    """The dimension counted from the front."""
    rank = b.tensor_meta(x).rank
    return b.emit("aten.index_select.default", (x, dim % rank, index)) if rank and dim < 0 else None


@decompositions.on("aten.copy.default")
def _(b: Lowering, x: Var, src: Var, non_blocking: bool = False) -> Var:
    """The source, converted and expanded to the tensor's sizes."""
    meta = b.tensor_meta(x)
    found = b.expand(b.cast(src, meta.dtype), meta.sizes)
    return b.copy(src) if found is src else found


@decompositions.on("aten.fill.Scalar", "aten.fill.Tensor")
def _(b: Lowering, x: Var, value: Operand) -> Var:
    """One value everywhere."""
    meta = b.tensor_meta(x)
    if isinstance(value, Var):
        return b.expand(b.cast(value, meta.dtype), meta.sizes)
    return b.full(meta.sizes, value, meta.dtype, meta.device)


@decompositions.on("aten.zero.default")
def _(b: Lowering, x: Var) -> Arg:
    """Zeros."""
    return b.call("aten.fill.Scalar", x, 0)

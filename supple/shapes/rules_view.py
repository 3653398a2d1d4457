"""Shape rules of views: other sizes, strides and offset over the same storage."""

from collections.abc import Sequence
from typing import Final

import torch

from supple.expr import Expr, as_expr, equal, less, less_equal, maximum, minimum, negate, not_equal, simplify
from supple.ir.dtypes import from_torch
from supple.ir.meta import TensorMeta
from supple.shapes import rules
from supple.shapes.decide import (
    ONE,
    ZERO,
    current,
    decide,
    exprs,
    hint,
    is_backed,
    is_equal,
    is_known,
    must_equal,
    number,
    requires,
)
from supple.shapes.errors import Misfit
from supple.shapes.layout import numel, view_strides, view_strides_now
from supple.shapes.rules import Size, aten, reordered, replaced, require, shape_rules, view_of, wrapped_dim
from supple.shapes.rules_pointwise import expanded


@shape_rules.on(*aten("alias", "detach", "lift_fresh", "lift"))
def _(self: TensorMeta) -> TensorMeta:
    """The tensor seen again."""
    return view_of(self, self.sizes, self.strides)


@shape_rules.on(*aten("view", "_unsafe_view"))
def _(self: TensorMeta, size: Sequence[Size]) -> TensorMeta:
    """The same elements in row-major order; -1 stands for what is left."""
    wanted = inferred_sizes(self, size)
    strides = view_strides(self.sizes, self.strides, wanted)
    if strides is None and not self.is_static:
        strides = view_strides_now(self.sizes, self.strides, wanted)
    if strides is None:
        raise Misfit("the elements are not in row-major order")
    return view_of(self, wanted, strides)


def inferred_sizes(self: TensorMeta, size: Sequence[Size]) -> tuple[Expr, ...]:
    """Return the sizes of a view with -1 replaced.

    Raises:
        Misfit: the number of elements does not fit, or more than one size is -1.
    """
    wanted = exprs(size)
    holes = [dim for dim, item in enumerate(wanted) if is_open(item)]
    total = numel(self.sizes)
    if not holes and numel(wanted) is total:
        return wanted
    require(len(holes) <= 1)
    given = [item for dim, item in enumerate(wanted) if dim not in holes]
    require(not holes or requires(not_equal(numel(given), ZERO)))
    whole, part = _cancelled(self.sizes, given)
    require(requires(equal(whole % part, ZERO)) if holes else _are_equal(whole, part, total, numel(given)))
    sizes = list(wanted)
    if holes:
        sizes[holes[0]] = current(whole // part)
    return tuple(sizes)


def _cancelled(sizes: Sequence[Expr], given: Sequence[Expr]) -> tuple[Expr, Expr]:
    """Return the products of both without the sizes that they share."""
    left, right = list(sizes), list(given)
    for size in given:
        if size in left:
            left.remove(size)
            right.remove(size)
    return numel(left), numel(right)


def _are_equal(whole: Expr, part: Expr, total: Expr, wanted: Expr) -> bool:
    """Tell whether numbers of elements agree: asked without common factors, where those agree as well."""
    condition = equal(simplify(whole - part), ZERO)
    if not condition.is_const and is_backed(condition) and hint(condition):
        return decide(condition)
    return whole is part or must_equal(wanted, total)


def is_open(size: Expr) -> bool:
    """Tell whether a size is -1, which stands for another one; a size from data is checked not to be."""
    if size.is_const or is_known(less_equal(ZERO, size)):
        return size.is_const and size.value == -1
    return decide(equal(size, -1)) if is_backed(size) else not requires(less_equal(ZERO, size))


@shape_rules.on(*aten("view.dtype"))
def _(self: TensorMeta, dtype: torch.dtype) -> TensorMeta:
    """The bytes read as another type of the same size."""
    kind = from_torch(dtype)
    if kind.size != self.dtype.size:
        raise NotImplementedError(f"viewing {self.dtype.torch} as {dtype} changes the sizes")
    return TensorMeta(self.sizes, self.strides, kind, self.device, self.offset)


@shape_rules.on(*aten("as_strided", "_reshape_alias"))
def _(
    self: TensorMeta, size: Sequence[Size], stride: Sequence[Size], storage_offset: Size | None = None
) -> TensorMeta:
    """Sizes, strides and offset as given; none is negative."""
    given = (*exprs(size), *exprs(stride), as_expr(storage_offset or 0))
    require(len(size) == len(stride), *(less_equal(ZERO, one) for one in given))
    return view_of(self, size, stride, storage_offset)


@shape_rules.on(*aten("expand"))
def _(self: TensorMeta, size: Sequence[Size], *, implicit: bool = False) -> TensorMeta:
    """Dimensions of size 1 repeated; -1 keeps a size."""
    wanted = list(exprs(size))
    missing = len(wanted) - self.rank
    for dim, item in enumerate(wanted):
        if is_open(item):
            require(dim >= missing)
            wanted[dim] = self.sizes[dim - missing]
    return expanded(self, wanted)


@shape_rules.on(*aten("permute"))
def _(self: TensorMeta, dims: Sequence[int]) -> TensorMeta:
    """Result dimension i is dimension dims[i]."""
    require(len(dims) == self.rank)
    return reordered(self, rules.wrapped_dims(dims, self.rank))


@shape_rules.on(*aten("transpose.int"))
def _(self: TensorMeta, dim0: int, dim1: int) -> TensorMeta:
    """Two dimensions exchanged."""
    first, second = wrapped_dim(dim0, self.rank), wrapped_dim(dim1, self.rank)
    return exchanged(self, first, second)


def exchanged(tensor: TensorMeta, first: int, second: int) -> TensorMeta:
    """Return the view with two dimensions exchanged; of rank 0 the tensor again."""
    order = list(range(tensor.rank))
    if order:
        order[first], order[second] = order[second], order[first]
    return reordered(tensor, order)


@shape_rules.on(*aten("t"))
def _(self: TensorMeta) -> TensorMeta:
    """The transpose of a tensor of rank at most 2."""
    require(self.rank <= 2)
    return view_of(self, self.sizes[::-1], self.strides[::-1])


@shape_rules.on(*aten("squeeze", "squeeze.dim", "squeeze.dims"))
def _(self: TensorMeta, dim: Sequence[int] | int | None = None) -> TensorMeta:
    """Those of the dimensions (all unless given) removed that have size 1."""
    named = range(self.rank) if dim is None else (dim,) if isinstance(dim, int) else dim
    gone = rules.wrapped_dims(named, self.rank)
    return reordered(self, [d for d in range(self.rank) if d not in gone or not is_equal(self.sizes[d], ONE)])


@shape_rules.on(*aten("unsqueeze"))
def _(self: TensorMeta, dim: int) -> TensorMeta:
    """A dimension of size 1 inserted."""
    place = wrapped_dim(dim, self.rank + 1)
    step = self.sizes[place] * self.strides[place] if place < self.rank else ONE
    sizes = (*self.sizes[:place], ONE, *self.sizes[place:])
    return view_of(self, sizes, (*self.strides[:place], step, *self.strides[place:]))


@shape_rules.on(*aten("slice.Tensor"))
def _(
    self: TensorMeta, dim: int = 0, start: Size | None = None, end: Size | None = None, step: Size = 1
) -> TensorMeta:
    """A range of a dimension; bounds are clamped, negative ones from the end; the step is specialised."""
    require(self.rank)
    place = wrapped_dim(dim, self.rank)
    step = number(as_expr(step))
    require(step > 0)
    first, count = sliced(self.sizes[place], start, end, step)
    stride = self.strides[place]
    sizes, strides = replaced(self.sizes, place, count), replaced(self.strides, place, stride * step)
    return view_of(self, sizes, strides, self.offset + stride * first)


#: Bounds from here on are those of a slice without an end.
UNBOUNDED: Final = 2**62


def sliced(size: Expr, start: Size | None, end: Size | None, step: int) -> tuple[Expr, Expr]:
    """Return the first index and the number of elements of a slice of a dimension of this size.

    The first index is clamped for numbers only: where it is beyond the size, there is no element.
    """
    low = ZERO if start is None else _from_front(as_expr(start), size)
    high = size if end is None or as_expr(end) is size else _from_front(as_expr(end), size)
    high = size if high.is_const and high.value >= UNBOUNDED else minimum(high, size)
    if is_known(less_equal(ZERO, low)):
        first, count = low, maximum(high - low, 0)
    else:
        first, count = maximum(low, 0), maximum(minimum(high - low, high), 0)
    if size.is_const:
        first = minimum(first, size)
    return first, (count + (step - 1)) // step


def _from_front(index: Expr, size: Expr) -> Expr:
    """Return an index with a negative one counted from the end; not clamped."""
    is_positive = less_equal(ZERO, index)
    if is_known(is_positive) or (is_backed(index) and decide(is_positive)):
        return index
    if is_backed(index) or is_known(negate(is_positive)):
        return index + size
    return index + size * minimum(maximum(-index, 0), 1)


def selected(self: TensorMeta, dim: int, index: Size) -> tuple[int, Expr, list[int]]:
    """Return the dimension that an index selects in, the index from the front, and the dimensions that stay.

    Raises:
        Misfit: the index is out of bounds, or there is no dimension.
    """
    require(self.rank)
    place = wrapped_dim(dim, self.rank)
    size, where = self.sizes[place], as_expr(index)
    require(less_equal(-size, where), less(where, size))
    return place, _from_front(where, size), [d for d in range(self.rank) if d != place]


@shape_rules.on(*aten("select.int"))
def _(self: TensorMeta, dim: int, index: Size) -> TensorMeta:
    """One index of a dimension, which goes away."""
    place, where, kept = selected(self, dim, index)
    return reordered(self, kept, self.offset + self.strides[place] * where)


def _parts(tensor: TensorMeta, dim: int, lengths: Sequence[Expr]) -> list[TensorMeta]:
    found: list[TensorMeta] = []
    start = tensor.offset
    for length in lengths:
        found.append(view_of(tensor, replaced(tensor.sizes, dim, length), tensor.strides, start))
        start = start + length * tensor.strides[dim]
    return found


def _split(self: TensorMeta, split_size: Size, dim: int = 0) -> list[TensorMeta]:
    """Pieces of one length; the last may be shorter."""
    require(self.rank)
    place = wrapped_dim(dim, self.rank)
    size, length = self.sizes[place], as_expr(split_size)
    require(hint(length) >= 0 and (not hint(size) or hint(length)))
    # The number of pieces is guarded, not the size.
    before = -(-hint(size) // hint(length)) - 1 if hint(size) else 0
    decide(less_equal(size, length * (before + 1)))
    if before:
        decide(less(length * before, size))
    return _parts(self, place, [*(length,) * before, size - length * before])


def _split_with_sizes(self: TensorMeta, split_sizes: Sequence[Size], dim: int = 0) -> list[TensorMeta]:
    """Pieces of the given lengths, which add up to the dimension's size."""
    place = wrapped_dim(dim, self.rank)
    lengths = exprs(split_sizes)
    total = sum((length for length in lengths), ZERO)
    require(*(less_equal(ZERO, length) for length in lengths))
    require(must_equal(total, self.sizes[place]))
    return _parts(self, place, lengths)


shape_rules.on(*aten("split.Tensor"))(_split)
shape_rules.on(*aten("split_with_sizes"))(_split_with_sizes)


@shape_rules.on(*aten("unsafe_split.Tensor"))
def _(self: TensorMeta, split_size: Size, dim: int = 0) -> list[TensorMeta]:
    """Those of `split`, each with memory of its own: eager's schema hides that they are views."""
    return [rules.copied(part) for part in _split(self, split_size, dim)]


@shape_rules.on(*aten("unsafe_split_with_sizes"))
def _(self: TensorMeta, split_sizes: Sequence[Size], dim: int = 0) -> list[TensorMeta]:
    """Those of `split_with_sizes`, each with memory of its own."""
    return [rules.copied(part) for part in _split_with_sizes(self, split_sizes, dim)]


@shape_rules.on(*aten("unbind.int"))
def _(self: TensorMeta, dim: int = 0) -> list[TensorMeta]:
    """One view per index of a dimension, which goes away."""
    require(self.rank)
    place = wrapped_dim(dim, self.rank)
    kept = [d for d in range(self.rank) if d != place]
    starts = (self.offset + self.strides[place] * i for i in range(number(self.sizes[place])))
    return [reordered(self, kept, start) for start in starts]


def diagonal_of(self: TensorMeta, offset: int = 0, dim1: int = 0, dim2: int = 1) -> TensorMeta:
    """The diagonal of two dimensions; it becomes the last dimension."""
    first, second = wrapped_dim(dim1, self.rank), wrapped_dim(dim2, self.rank)
    require(first != second)
    rows, columns = self.sizes[first], self.sizes[second]
    length = maximum(minimum(rows, columns - offset) if offset >= 0 else minimum(rows + offset, columns), 0)
    skipped = self.strides[second] * offset if offset >= 0 else self.strides[first] * -offset
    rest = reordered(self, [d for d in range(self.rank) if d not in (first, second)])
    strides = (*rest.strides, self.strides[first] + self.strides[second])
    return view_of(self, (*rest.sizes, length), strides, self.offset + (0 if length is ZERO else skipped))


shape_rules.on(*aten("diagonal"))(diagonal_of)


@shape_rules.on(*aten("unfold"))
def _(self: TensorMeta, dimension: int, size: int, step: int) -> TensorMeta:
    """Windows of a dimension; the place in the window becomes the last dimension."""
    place = wrapped_dim(dimension, self.rank)
    length = self.sizes[place] if self.rank else ONE
    require(less_equal(as_expr(size), length))
    require(less_equal(ZERO, as_expr(size)))
    require(step > 0)
    if not self.rank:
        return view_of(self, (size,), (ONE,))
    inner = self.strides[place]
    sizes = replaced(self.sizes, place, (length - size) // step + 1)
    return view_of(self, (*sizes, size), (*replaced(self.strides, place, inner * step), inner))

"""Shape rules of operators that pick, place, join, pad and order elements."""

from collections.abc import Sequence
from functools import reduce
from itertools import compress

from supple.expr import Expr, as_expr, equal, less_equal, minimum
from supple.ir.dtypes import DType
from supple.ir.meta import TensorMeta
from supple.shapes import layout, rules
from supple.shapes.decide import (
    ONE,
    ZERO,
    all_must_equal,
    is_equal,
    is_known,
    is_one,
    is_so,
    must_equal,
    number,
    requires,
)
from supple.shapes.layout import cloned_strides
from supple.shapes.promote import Operand, promoted
from supple.shapes.rules import Size, aten, copied, fresh, replaced, require, shape_rules, wrapped_dim
from supple.shapes.rules_data import unbacked
from supple.shapes.rules_pointwise import expanded
from supple.shapes.rules_view import diagonal_of, exchanged, selected, sliced

MASKS = (DType.BOOL, DType.U8)
_INDICES = (DType.I64, DType.I32, *MASKS)


def _require_index(index: TensorMeta) -> None:
    require(index.dtype in (DType.I64, DType.I32))


@shape_rules.on(*aten("embedding"))
def _(weight: TensorMeta, indices: TensorMeta, *_options: object) -> TensorMeta:
    """One row of the weight per index."""
    require(weight.rank == 2)
    _require_index(indices)
    return fresh((*indices.sizes, weight.sizes[1]), weight.dtype, weight)


@shape_rules.on(*aten("index_select"))
def _(self: TensorMeta, dim: int, index: TensorMeta) -> TensorMeta:
    """Rows in the order of a list of indices."""
    _require_index(index)
    require(index.rank <= 1)
    place = wrapped_dim(dim, self.rank)
    require(self.rank or must_equal(index.numel, ONE))
    return fresh(replaced(self.sizes, place, index.numel) if self.rank else (), self.dtype, self)


@shape_rules.on(*aten("gather"))
def _(self: TensorMeta, dim: int, index: TensorMeta, *, sparse_grad: bool = False) -> TensorMeta:
    """One element per index."""
    place = wrapped_dim(dim, self.rank)
    if ZERO not in index.sizes:  # else nothing is looked up
        _require_index(index)
        require(max(self.rank, 1) == max(index.rank, 1))
        for d in range(index.rank if self.rank else 0):
            require(d == place or requires(less_equal(index.sizes[d], self.sizes[d])))
    return fresh(index.sizes, self.dtype, self)


@shape_rules.on(
    *aten("scatter.src", "scatter.value", "scatter.reduce", "scatter.value_reduce"),
    *aten("scatter_add", "scatter_reduce.two"),
)
def _(self: TensorMeta, dim: int, index: TensorMeta, *values: object, **_options: object) -> TensorMeta:
    """A copy with elements replaced, added to or combined, row-major."""
    wrapped_dim(dim, self.rank)
    if ZERO not in index.sizes:
        _require_index(index)
        require(max(self.rank, 1) == max(index.rank, 1))
    require(all(self.dtype is one.dtype for one in values if isinstance(one, TensorMeta)))
    return fresh(self.sizes, self.dtype, self)


@shape_rules.on(*aten("index_add", "index_copy"))
def _(self: TensorMeta, dim: int, index: TensorMeta, source: TensorMeta, **_options: object) -> TensorMeta:
    """A copy with rows added to or replaced, row-major."""
    place = wrapped_dim(dim, self.rank)
    require(self.dtype is source.dtype and source.rank == self.rank)
    if self.rank:
        require(all_must_equal(source.sizes, replaced(self.sizes, place, index.numel)))
    return fresh(self.sizes, self.dtype, self)


@shape_rules.on(*aten("index_fill.int_Scalar"))
def _(self: TensorMeta, dim: int, index: TensorMeta, value: complex) -> TensorMeta:
    """A copy with rows filled."""
    wrapped_dim(dim, self.rank)
    return copied(self)


@shape_rules.on(*aten("index_put", "_unsafe_index_put"))
def _(
    self: TensorMeta, indices: Sequence[TensorMeta | None], values: TensorMeta, accumulate: bool = False
) -> TensorMeta:
    """A copy with the indexed elements replaced."""
    require(self.dtype is values.dtype)
    if any(index is not None and index.dtype in MASKS for index in indices):
        _require_fitting(self, indices)
    else:
        found = _indexed(self, indices).sizes
        require(all_must_equal(rules.broadcast((values.sizes, found)), found))
    return copied(self)


@shape_rules.on(*aten("index.Tensor", "_unsafe_index.Tensor"))
def _(self: TensorMeta, indices: Sequence[TensorMeta | None]) -> TensorMeta:
    """Advanced indexing; the indexed dimensions come first unless they are next to each other."""
    return _indexed(self, indices)


def _require_fitting(tensor: TensorMeta, indices: Sequence[TensorMeta | None]) -> None:
    """Require that masks have the sizes of the dimensions that they cover."""
    start = 0
    for index in indices:
        mask = index if index is not None and index.dtype in MASKS else None
        end = start + (1 if mask is None else mask.rank)
        require(end <= tensor.rank)
        require(mask is None or all_must_equal(mask.sizes, tensor.sizes[start:end]))
        start = end


def _without_masks(tensor: TensorMeta, indices: Sequence[TensorMeta | None]) -> list[TensorMeta | None]:
    """Return indices with each mask replaced by lists of positions, one per dimension of it."""
    _require_fitting(tensor, indices)
    found: list[TensorMeta | None] = []
    for index in indices:
        if index is None or index.dtype not in MASKS:
            found.append(index)
            continue
        count = unbacked("aten.index.Tensor with a mask", index.numel)
        found += [fresh((count,), DType.I64, index)] * index.rank
    return found


def _indexed(tensor: TensorMeta, indices: Sequence[TensorMeta | None]) -> TensorMeta:
    indices = _without_masks(tensor, indices)
    given = [(dim, index) for dim, index in enumerate(indices) if index is not None]
    for _, index in given:
        require(index.dtype in _INDICES)
    shape = rules.broadcast([index.sizes for _, index in given])
    dims = [dim for dim, _ in given]
    start = dims[0] if dims == list(range(dims[0], dims[-1] + 1)) else 0
    before, after = range(start), [dim for dim in range(start, tensor.rank) if dim not in dims]
    sizes = (*(tensor.sizes[d] for d in before), *shape, *(tensor.sizes[d] for d in after))
    zeros = (ZERO,) * len(shape)
    restrided = TensorMeta(
        sizes,
        (*(tensor.strides[d] for d in before), *zeros, *(tensor.strides[d] for d in after)),
        tensor.dtype,
    )
    operands = [restrided, *(_placed_index(index, shape, len(before), len(after)) for _, index in given)]
    return fresh(sizes, tensor.dtype, tensor, layout.pointwise_strides(operands, sizes))


def _placed_index(index: TensorMeta, shape: Sequence[Expr], before: int, after: int) -> TensorMeta:
    """Return an index tensor as it takes part in the loop: size 1 in the dimensions that are not indexed."""
    missing = len(shape) - index.rank
    wide = tuple(
        ZERO
        if d < missing or (is_one(index.sizes[d - missing]) and shape[d] is not ONE)
        else index.strides[d - missing]
        for d in range(len(shape))
    )
    strides = ((ZERO,) * before, wide, (ZERO,) * after)
    sizes = (*(ONE,) * before, *shape, *(ONE,) * after)
    return TensorMeta(sizes, tuple(s for part in strides for s in part), index.dtype)


@shape_rules.on(*aten("take"))
def _(self: TensorMeta, index: TensorMeta) -> TensorMeta:
    """Elements of the flattened tensor."""
    return fresh(index.sizes, self.dtype, self)


@shape_rules.on(*aten("cat"))
def _(tensors: Sequence[TensorMeta], dim: int = 0) -> TensorMeta:
    """Tensors joined along a dimension; empty tensors of rank 1 are left out."""
    require(tensors)
    dtype = reduce(promoted, [tensor.dtype for tensor in tensors])
    highest = max(tensor.rank for tensor in tensors)
    for tensor in tensors:  # the answer is a guard
        require(tensor.rank != 1 or highest == 1 or is_equal(tensor.sizes[0], ZERO))
    real = list(compress(tensors, are_joined(tensors)))
    require(all(tensor.rank for tensor in tensors))
    if not real:
        return fresh((0,), dtype, tensors[0])
    first = real[0]
    place = wrapped_dim(dim, first.rank)
    for tensor in real:
        require(first.rank == tensor.rank)
        require(all_must_equal(replaced(first.sizes, place, tensor.sizes[place]), tensor.sizes))
    total = sum((tensor.sizes[place] for tensor in real), ZERO)
    sizes = replaced(first.sizes, place, total)
    return fresh(sizes, dtype, first, _joined_strides(real, sizes))


def are_joined(tensors: Sequence[TensorMeta]) -> list[bool]:
    """Tell which operands `cat` joins: not the empty ones of rank 1, as all of it beside other ranks are."""
    highest = max(tensor.rank for tensor in tensors)
    return [one.rank != 1 or (highest == 1 and one.sizes[0] is not ZERO) for one in tensors]


def _joined_strides(tensors: Sequence[TensorMeta], sizes: tuple[Expr, ...]) -> tuple[Expr, ...] | None:
    """Return channels-last strides when every operand has that layout, else None (row-major).

    A tensor without elements has none.
    """
    is_last = all(layout.is_channels_last_like(tensor.sizes, tensor.strides) for tensor in tensors)
    if not is_last or any(is_so(equal(size, ZERO)) for tensor in tensors for size in tensor.sizes):
        return None
    return layout.channels_last_strides(sizes)


@shape_rules.on(*aten("stack"))
def _(tensors: Sequence[TensorMeta], dim: int = 0) -> TensorMeta:
    """Tensors of one shape joined along a new dimension."""
    require(tensors)
    first = tensors[0]
    place = wrapped_dim(dim, first.rank + 1)
    dtype = reduce(promoted, [tensor.dtype for tensor in tensors])
    for tensor in tensors:
        require(all_must_equal(first.sizes, tensor.sizes))
    count = as_expr(len(tensors))
    sizes = (*first.sizes[:place], count, *first.sizes[place:])
    if place == first.rank:
        return fresh(sizes, dtype, first)
    strides = _joined_strides(tensors, replaced(first.sizes, place, first.sizes[place] * count))
    if strides is None:
        return fresh(sizes, dtype, first)
    split = (*strides[:place], strides[place] * first.sizes[place], *strides[place:])
    return fresh(sizes, dtype, first, split)


@shape_rules.on(*aten("constant_pad_nd"))
def _(self: TensorMeta, pad: Sequence[Size], value: complex = 0) -> TensorMeta:
    """Elements added around (or, for negative amounts, taken away)."""
    require(len(pad) % 2 == 0 and len(pad) <= 2 * self.rank)
    sizes = list(self.sizes)
    for place in range(len(pad) // 2):
        dim = self.rank - 1 - place
        before, after = as_expr(pad[2 * place]), as_expr(pad[2 * place + 1])
        require(less_equal(ZERO, sizes[dim] + minimum(before, ZERO) + minimum(after, ZERO)))
        sizes[dim] = sizes[dim] + before + after
        require(less_equal(ZERO, sizes[dim]))
    if all(is_known(less_equal(as_expr(amount), ZERO)) for amount in pad):
        cropped = TensorMeta(tuple(sizes), self.strides, self.dtype)
        return fresh(sizes, self.dtype, self, layout.format_strides(cropped, None))
    return rules.resized(self, sizes)


@shape_rules.on(*aten("flip"))
def _(self: TensorMeta, dims: Sequence[int]) -> TensorMeta:
    """The layout of a copy."""
    rules.wrapped_dims(dims, self.rank)
    return copied(self)


@shape_rules.on(*aten("roll"))
def _(self: TensorMeta, shifts: Sequence[int], dims: Sequence[int] = ()) -> TensorMeta:
    """Channels-last stays where all dims are moved, any other layout becomes row-major."""
    require(len(shifts) > 0)
    for dim in dims:
        require(self.rank)
        wrapped_dim(dim, self.rank)
    if len(dims) == 1 and ZERO in self.sizes:
        return copied(self)
    require(not dims or len(dims) == len(shifts))
    if not dims or not layout.is_channels_last_like(self.sizes, self.strides):
        return fresh(self.sizes, self.dtype, self)
    moves = (
        (as_expr(by), self.sizes[wrapped_dim(dim, self.rank)]) for by, dim in zip(shifts, dims, strict=True)
    )
    # Eager joins the two parts of a dimension, of which one is empty where nothing moves.
    if any(is_so(equal(by % size, ZERO)) for by, size in moves):
        return fresh(self.sizes, self.dtype, self)
    return rules.resized(self, self.sizes)


@shape_rules.on(*aten("repeat"))
def _(self: TensorMeta, repeats: Sequence[Size]) -> TensorMeta:
    """Copies side by side."""
    missing = len(repeats) - self.rank
    require(missing >= 0)
    sizes = (*(ONE,) * missing, *self.sizes)
    require(*(less_equal(ZERO, as_expr(count)) for count in repeats))
    wide = [size * as_expr(count) for size, count in zip(sizes, repeats, strict=True)]
    return fresh(wide, self.dtype, self)


def _cloned(tensor: TensorMeta) -> TensorMeta:
    """Return the metadata of a copy of a tensor and of the gaps between its elements."""
    return fresh(tensor.sizes, tensor.dtype, tensor, cloned_strides(tensor.sizes, tensor.strides))


@shape_rules.on(*aten("slice_scatter"))
def _(
    self: TensorMeta,
    src: TensorMeta,
    dim: int = 0,
    start: Size | None = None,
    end: Size | None = None,
    step: Size = 1,
) -> TensorMeta:
    """A copy with a range replaced. The step is specialised."""
    place = wrapped_dim(dim, self.rank)
    _, count = sliced(self.sizes[place], start, end, number(as_expr(step)))
    require(all_must_equal(replaced(self.sizes, place, count), src.sizes))
    return _cloned(self)


@shape_rules.on(*aten("select_scatter"))
def _(self: TensorMeta, src: TensorMeta, dim: int, index: Size) -> TensorMeta:
    """A copy with a row replaced."""
    _, _, kept = selected(self, dim, index)
    require(all_must_equal([self.sizes[d] for d in kept], src.sizes))
    return _cloned(self)


@shape_rules.on(*aten("diagonal_scatter"))
def _(self: TensorMeta, src: TensorMeta, offset: int = 0, dim1: int = 0, dim2: int = 1) -> TensorMeta:
    """A copy with a diagonal replaced."""
    require(all_must_equal(diagonal_of(self, offset, dim1, dim2).sizes, src.sizes))
    return _cloned(self)


@shape_rules.on(*aten("tril", "triu"))
def _(self: TensorMeta, diagonal: int = 0) -> TensorMeta:
    """A triangle of the last two dimensions, zeros elsewhere, row-major."""
    require(self.rank >= 2)
    return fresh(self.sizes, self.dtype, self)


@shape_rules.on(*aten("sort", "sort.stable"))
def _(self: TensorMeta, dim: int = -1, *_descending: bool, **named: int) -> tuple[TensorMeta, TensorMeta]:
    """Sorted values and where they were."""
    wrapped_dim(named.get("dim", dim), self.rank)
    return copied(self), copied(self, DType.I64)


@shape_rules.on(*aten("topk"))
def _(
    self: TensorMeta, k: Size, dim: int = -1, largest: bool = True, *_sorted: bool
) -> tuple[TensorMeta, TensorMeta]:
    """The k largest values and where they were."""
    place = wrapped_dim(dim, self.rank)
    count = as_expr(k)
    rules.require_number(self.dtype)
    limits = less_equal(ZERO, count), less_equal(count, self.sizes[place] if self.rank else ONE)
    require(*limits)
    sizes = replaced(self.sizes, place, count) if self.rank else ()
    return fresh(sizes, self.dtype, self), fresh(sizes, DType.I64, self)


@shape_rules.on(*aten("copy"))
def _(self: TensorMeta, src: TensorMeta, non_blocking: bool = False) -> TensorMeta:
    """A tensor like the first with the elements of the second, broadcast and converted."""
    expanded(src, self.sizes)
    return copied(self)


@shape_rules.on(*aten("fill.Scalar", "fill.Tensor"))
def _(self: TensorMeta, value: Operand) -> TensorMeta:
    """A tensor like the first with one value everywhere."""
    require(not isinstance(value, TensorMeta) or not value.rank)
    return copied(self)


@shape_rules.on(*aten("bernoulli", "bernoulli.p", "poisson", "_standard_gamma"))
def _(self: TensorMeta, *_numbers: float, generator: object = None) -> TensorMeta:
    """A number for each element, row by row."""
    return fresh(self.sizes, self.dtype, self)


@shape_rules.on(*aten("normal.Tensor_Tensor", "normal.Tensor_float", "normal.float_Tensor"))
def _(mean: Operand, std: Operand, *, generator: object = None) -> TensorMeta:
    """A number for each mean and deviation, row by row."""
    given = [one for one in (mean, std) if isinstance(one, TensorMeta)]
    return fresh(rules.broadcast([one.sizes for one in given]), given[0].dtype, given[0])


@shape_rules.on(*aten("zero", "nan_to_num", "uniform", "normal_functional", "exponential", "random"))
def _(self: TensorMeta, *_numbers: float | None, generator: object = None) -> TensorMeta:
    """Other numbers of the tensor's type."""
    return copied(self)


@shape_rules.on(*aten("hardtanh"))
def _(self: TensorMeta, *_bounds: float) -> TensorMeta:
    """The tensor's type."""
    rules.require_number(self.dtype)
    return copied(self)


@shape_rules.on(*aten("masked_scatter"))
def _(self: TensorMeta, mask: TensorMeta, source: TensorMeta) -> TensorMeta:
    """A copy with the masked elements replaced in order."""
    wide = expanded(self, rules.broadcast((self.sizes, mask.sizes)))
    return fresh(wide.sizes, self.dtype, self)


@shape_rules.on(*aten("bucketize.Tensor"))
def _(
    self: TensorMeta, boundaries: TensorMeta, *, out_int32: bool = False, right: bool = False
) -> TensorMeta:
    """A position per element."""
    require(boundaries.rank == 1)
    return fresh(self.sizes, DType.I32 if out_int32 else DType.I64, self)


@shape_rules.on(*aten("searchsorted.Tensor"))
def _(
    sorted_sequence: TensorMeta, self: TensorMeta, *, out_int32: bool = False, **_options: object
) -> TensorMeta:
    """A position per element."""
    require(sorted_sequence.rank <= 1 or all_must_equal(sorted_sequence.sizes[:-1], self.sizes[:-1]))
    return fresh(self.sizes, DType.I32 if out_int32 else DType.I64, self)


@shape_rules.on(*aten("isin.Tensor_Tensor", "isin.Tensor_Scalar"))
def _(elements: TensorMeta, test: Operand, **_options: object) -> TensorMeta:
    """A truth value per element."""
    rules.require_number(elements.dtype)
    return fresh(elements.sizes, DType.BOOL, elements)


@shape_rules.on(*aten("multinomial"))
def _(self: TensorMeta, num_samples: Size, *_options: object, generator: object = None) -> TensorMeta:
    """Positions drawn from each row."""
    return fresh((*self.sizes[:-1], num_samples), DType.I64, self)


@shape_rules.on(*aten("rot90"))
def _(self: TensorMeta, k: int = 1, dims: Sequence[int] = (0, 1)) -> TensorMeta:
    """A plane turned by k right angles: the layout of a copy, or the turned one of it."""
    first, second = rules.wrapped_dims(dims, self.rank)
    copy = copied(self) if k % 4 else fresh(self.sizes, self.dtype, self)
    if k % 2 == 0:
        return copy
    return exchanged(copy, first, second)

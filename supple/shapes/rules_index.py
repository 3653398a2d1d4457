"""Shape rules of operators that pick, place, join, pad and order elements."""

from collections.abc import Sequence
from functools import reduce

from supple.expr import Expr, as_expr, less_equal
from supple.ir.dtypes import DType
from supple.ir.meta import TensorMeta
from supple.shapes.decide import (
    ONE,
    ZERO,
    all_must_equal,
    is_equal,
    is_known,
    is_one,
    must_equal,
    printed,
    requires,
)
from supple.shapes.layout import (
    channels_last_strides,
    format_strides,
    is_channels_last_like,
    pointwise_strides,
)
from supple.shapes.promote import Operand, promoted
from supple.shapes.rules import (
    Size,
    aten,
    broadcast,
    copied,
    fresh,
    replaced,
    require_number,
    shape_rules,
    wrapped_dim,
    wrapped_dims,
)
from supple.shapes.rules_data import unbacked
from supple.shapes.rules_pointwise import expanded
from supple.shapes.rules_view import exchanged, sliced

_MASKS = (DType.BOOL, DType.U8)
_INDICES = (DType.I64, DType.I32, *_MASKS)


def _require_index(name: str, index: TensorMeta) -> None:
    if index.dtype not in (DType.I64, DType.I32):
        raise RuntimeError(f"{name}: Expected dtype int32/int64 for index but got {index.dtype.torch}")


@shape_rules.on(*aten("embedding"))
def _(weight: TensorMeta, indices: TensorMeta, *_options: object) -> TensorMeta:
    """One row of the weight per index."""
    if weight.rank != 2:
        raise RuntimeError("'weight' must be 2-D")
    _require_index("embedding", indices)
    return fresh((*indices.sizes, weight.sizes[1]), weight.dtype, weight)


@shape_rules.on(*aten("index_select"))
def _(self: TensorMeta, dim: int, index: TensorMeta) -> TensorMeta:
    """Rows in the order of a list of indices."""
    _require_index("index_select()", index)
    if index.rank > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    place = wrapped_dim(dim, self.rank)
    if not self.rank and not must_equal(index.numel, ONE):
        msg = f"index_select(): Index to scalar can have only 1 value, got {index.numel} value(s)"
        raise RuntimeError(msg)
    return fresh(replaced(self.sizes, place, index.numel) if self.rank else (), self.dtype, self)


@shape_rules.on(*aten("gather"))
def _(self: TensorMeta, dim: int, index: TensorMeta, *, sparse_grad: bool = False) -> TensorMeta:
    """One element per index."""
    place = wrapped_dim(dim, self.rank)
    if index.dtype not in (DType.I64, DType.I32):
        raise RuntimeError("gather(): Expected dtype int32/int64 for index")
    if max(self.rank, 1) != max(index.rank, 1):
        raise RuntimeError("Index tensor must have the same number of dimensions as input tensor")
    for d in range(index.rank if self.rank else 0):
        if d != place and not requires(less_equal(index.sizes[d], self.sizes[d])):
            raise RuntimeError(
                f"Size does not match at dimension {d} expected index {printed(index.sizes)} to be no larger "
                f"than self {printed(self.sizes)} apart from dimension {place}"
            )
    return fresh(index.sizes, self.dtype, self)


@shape_rules.on(*aten("scatter.src", "scatter_add", "scatter.reduce"))
def _(self: TensorMeta, dim: int, index: TensorMeta, src: TensorMeta, **_options: object) -> TensorMeta:
    """A copy with elements replaced or added to, row-major."""
    _check_scatter(self, dim, index)
    if self.dtype is not src.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    return fresh(self.sizes, self.dtype, self)


@shape_rules.on(*aten("scatter.value", "scatter.value_reduce", "scatter_reduce.two"))
def _(self: TensorMeta, dim: int, index: TensorMeta, *_values: object, **_options: object) -> TensorMeta:
    """A copy with elements replaced or combined, row-major."""
    _check_scatter(self, dim, index)
    return fresh(self.sizes, self.dtype, self)


def _check_scatter(tensor: TensorMeta, dim: int, index: TensorMeta) -> None:
    wrapped_dim(dim, tensor.rank)
    if index.dtype not in (DType.I64, DType.I32):
        raise RuntimeError("scatter(): Expected dtype int32/int64 for index")
    if max(tensor.rank, 1) != max(index.rank, 1) and ZERO not in index.sizes:
        raise RuntimeError("Index tensor must have the same number of dimensions as self tensor")


@shape_rules.on(*aten("index_add", "index_copy"))
def _(self: TensorMeta, dim: int, index: TensorMeta, source: TensorMeta, **_options: object) -> TensorMeta:
    """A copy with rows added to or replaced, row-major."""
    wrapped_dim(dim, self.rank)
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
    if self.dtype is not values.dtype:
        raise RuntimeError(
            f"Index put requires the source and destination dtypes match, got {self.dtype.torch} for the "
            f"destination and {values.dtype.torch} for the source."
        )
    if not any(index is not None and index.dtype in _MASKS for index in indices):
        found = _indexed(self, indices).sizes
        if not all_must_equal(broadcast((values.sizes, found)), found):
            raise RuntimeError(
                f"shape mismatch: value tensor of shape {printed(values.sizes)} cannot be broadcast to "
                f"indexing result of shape {printed(found)}"
            )
    return copied(self)


@shape_rules.on(*aten("index.Tensor", "_unsafe_index.Tensor"))
def _(self: TensorMeta, indices: Sequence[TensorMeta | None]) -> TensorMeta:
    """Advanced indexing; the indexed dimensions come first unless they are next to each other."""
    return _indexed(self, indices)


def _without_masks(tensor: TensorMeta, indices: Sequence[TensorMeta | None]) -> list[TensorMeta | None]:
    """Return indices with each mask replaced by lists of positions, one per dimension of it."""
    found: list[TensorMeta | None] = []
    for index in indices:
        if index is None or index.dtype not in _MASKS:
            found.append(index)
            continue
        covered = tensor.sizes[len(found) : len(found) + index.rank]
        if not all_must_equal(index.sizes, covered):
            raise IndexError(
                f"The shape of the mask {printed(index.sizes)} at index {len(found)} does not match "
                f"the shape of the indexed tensor {printed(tensor.sizes)}"
            )
        count = unbacked("aten.index.Tensor with a mask", index.numel)
        found += [fresh((count,), DType.I64, index)] * index.rank
    return found


def _indexed(tensor: TensorMeta, indices: Sequence[TensorMeta | None]) -> TensorMeta:
    indices = _without_masks(tensor, indices)
    if len(indices) > tensor.rank:
        raise IndexError(f"too many indices for tensor of dimension {tensor.rank} (got {len(indices)})")
    given = [(dim, index) for dim, index in enumerate(indices) if index is not None]
    for _, index in given:
        if index.dtype not in _INDICES:
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    try:
        shape = broadcast([index.sizes for _, index in given])
    except RuntimeError as error:
        listed = ", ".join(printed(index.sizes) for _, index in given)
        msg = f"shape mismatch: indexing tensors could not be broadcast together with shapes {listed}"
        raise IndexError(msg) from error
    dims = [dim for dim, _ in given]
    is_adjacent = dims == list(range(dims[0], dims[-1] + 1))
    order = list(range(tensor.rank)) if is_adjacent else [*dims, *_others(tensor.rank, dims)]
    start = dims[0] if is_adjacent else 0
    before = [dim for dim in order[:start]]
    after = [dim for dim in order[start:] if dim not in dims]
    sizes = (*(tensor.sizes[d] for d in before), *shape, *(tensor.sizes[d] for d in after))
    zeros = (ZERO,) * len(shape)
    restrided = TensorMeta(
        sizes,
        (*(tensor.strides[d] for d in before), *zeros, *(tensor.strides[d] for d in after)),
        tensor.dtype,
    )
    operands = [restrided, *(_placed_index(index, shape, len(before), len(after)) for _, index in given)]
    return fresh(sizes, tensor.dtype, tensor, pointwise_strides(operands, sizes))


def _others(rank: int, dims: Sequence[int]) -> list[int]:
    return [dim for dim in range(rank) if dim not in dims]


def _placed_index(index: TensorMeta, shape: Sequence[Expr], before: int, after: int) -> TensorMeta:
    """Return an index tensor as it takes part in the loop: size 1 in the dimensions that are not indexed."""
    missing = len(shape) - index.rank
    wide = tuple(
        ZERO
        if d < missing or (is_one(index.sizes[d - missing]) and shape[d] is not ONE)
        else index.strides[d - missing]
        for d in range(len(shape))
    )
    sizes = ((ONE,) * before, tuple(shape), (ONE,) * after)
    strides = ((ZERO,) * before, wide, (ZERO,) * after)
    return TensorMeta(
        tuple(s for part in sizes for s in part), tuple(s for part in strides for s in part), index.dtype
    )


@shape_rules.on(*aten("take"))
def _(self: TensorMeta, index: TensorMeta) -> TensorMeta:
    """Elements of the flattened tensor."""
    return fresh(index.sizes, self.dtype, self)


@shape_rules.on(*aten("cat"))
def _(tensors: Sequence[TensorMeta], dim: int = 0) -> TensorMeta:
    """Tensors joined along a dimension; empty tensors of rank 1 are left out."""
    if not tensors:
        raise RuntimeError("torch.cat(): expected a non-empty list of Tensors")
    dtype = reduce(promoted, [tensor.dtype for tensor in tensors])
    highest = max(tensor.rank for tensor in tensors)
    real = [tensor for tensor in tensors if not _is_left_out(tensor, highest)]
    if any(not tensor.rank for tensor in tensors):
        raise RuntimeError("zero-dimensional tensor cannot be concatenated")
    if not real:
        return fresh((0,), dtype, tensors[0])
    first = real[0]
    place = wrapped_dim(dim, first.rank)
    for tensor in real:
        _check_joint(first, tensor, place)
    total = sum((tensor.sizes[place] for tensor in real), ZERO)
    sizes = replaced(first.sizes, place, total)
    return fresh(sizes, dtype, first, _joined_strides(real, sizes))


def _is_left_out(tensor: TensorMeta, highest_rank: int) -> bool:
    """Tell whether a tensor has rank 1 and no elements; among others of rank 1 that makes no difference."""
    if tensor.rank != 1:
        return False
    return tensor.sizes[0] is ZERO or (highest_rank > 1 and is_equal(tensor.sizes[0], ZERO))


def _check_joint(first: TensorMeta, tensor: TensorMeta, dim: int) -> None:
    if first.rank != tensor.rank:
        raise RuntimeError(f"Tensors must have same number of dimensions: got {first.rank} and {tensor.rank}")
    for d, (mine, theirs) in enumerate(zip(first.sizes, tensor.sizes, strict=True)):
        if d != dim and not must_equal(mine, theirs):
            raise RuntimeError(
                f"Sizes of tensors must match except in dimension {dim}. Expected size {mine} but got size "
                f"{theirs} for tensor in the list."
            )


def _joined_strides(tensors: Sequence[TensorMeta], sizes: tuple[Expr, ...]) -> tuple[Expr, ...] | None:
    """Return channels-last strides when every operand has that layout, else None (row-major)."""
    is_last = all(is_channels_last_like(tensor.sizes, tensor.strides) for tensor in tensors)
    return channels_last_strides(sizes) if is_last else None


@shape_rules.on(*aten("stack"))
def _(tensors: Sequence[TensorMeta], dim: int = 0) -> TensorMeta:
    """Tensors of one shape joined along a new dimension."""
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    first = tensors[0]
    place = wrapped_dim(dim, first.rank + 1)
    dtype = reduce(promoted, [tensor.dtype for tensor in tensors])
    for tensor in tensors:
        if not all_must_equal(first.sizes, tensor.sizes):
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {printed(first.sizes)} at entry 0 and "
                f"{printed(tensor.sizes)}"
            )
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
    if len(pad) % 2 or len(pad) > 2 * self.rank:
        msg = f"Length of pad must be even and at most twice the number of dimensions, got {len(pad)}"
        raise RuntimeError(msg)
    sizes = list(self.sizes)
    for place in range(len(pad) // 2):
        dim = self.rank - 1 - place
        sizes[dim] = sizes[dim] + as_expr(pad[2 * place]) + as_expr(pad[2 * place + 1])
        if not requires(less_equal(ZERO, sizes[dim])):
            raise RuntimeError(
                f"The input size {self.sizes[dim]}, plus negative padding {pad[2 * place]} and "
                f"{pad[2 * place + 1]}, resulted in a negative output size, which is invalid."
            )
    if all(is_known(less_equal(as_expr(amount), ZERO)) for amount in pad):
        cropped = TensorMeta(tuple(sizes), self.strides, self.dtype)
        return fresh(sizes, self.dtype, self, format_strides(cropped, None))
    last = is_channels_last_like(self.sizes, self.strides)
    return fresh(sizes, self.dtype, self, channels_last_strides(tuple(sizes)) if last else None)


@shape_rules.on(*aten("flip"))
def _(self: TensorMeta, dims: Sequence[int]) -> TensorMeta:
    """The layout of a copy."""
    wrapped_dims(dims, self.rank)
    return copied(self)


@shape_rules.on(*aten("roll"))
def _(self: TensorMeta, shifts: Sequence[int], dims: Sequence[int] = ()) -> TensorMeta:
    """Channels-last stays, any other layout becomes row-major."""
    for dim in dims:
        if not self.rank:
            raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
        wrapped_dim(dim, self.rank)
    if len(dims) == 1 and ZERO in self.sizes:
        return copied(self)
    if dims and len(dims) != len(shifts):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    strides = _joined_strides((self,), self.sizes) if dims else None
    return fresh(self.sizes, self.dtype, self, strides)


@shape_rules.on(*aten("repeat"))
def _(self: TensorMeta, repeats: Sequence[Size]) -> TensorMeta:
    """Copies side by side."""
    missing = len(repeats) - self.rank
    if missing < 0:
        msg = "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor"
        raise RuntimeError(msg)
    sizes = (*(ONE,) * missing, *self.sizes)
    if not all(requires(less_equal(ZERO, as_expr(count))) for count in repeats):
        raise RuntimeError(f"Trying to create tensor with negative dimension: repeated {list(repeats)} times")
    wide = [size * as_expr(count) for size, count in zip(sizes, repeats, strict=True)]
    return fresh(wide, self.dtype, self)


@shape_rules.on(*aten("slice_scatter"))
def _(
    self: TensorMeta,
    src: TensorMeta,
    dim: int = 0,
    start: Size | None = None,
    end: Size | None = None,
    *step: int,
) -> TensorMeta:
    """A copy with a range replaced."""
    place = wrapped_dim(dim, self.rank)
    _, count = sliced(self.sizes[place], start, end, step[0] if step else 1)
    if not all_must_equal(replaced(self.sizes, place, count), src.sizes):
        msg = f"expected src to have a size equal to the slice of self. src size = {printed(src.sizes)}"
        raise RuntimeError(msg)
    return copied(self)


@shape_rules.on(*aten("select_scatter"))
def _(self: TensorMeta, src: TensorMeta, dim: int, index: Size) -> TensorMeta:
    """A copy with a row replaced."""
    wrapped_dim(dim, self.rank)
    return copied(self)


@shape_rules.on(*aten("tril", "triu"))
def _(self: TensorMeta, diagonal: int = 0) -> TensorMeta:
    """A triangle of the last two dimensions, zeros elsewhere, row-major."""
    if self.rank < 2:
        raise RuntimeError("input tensor must have at least 2 dimensions")
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
    require_number("topk", self.dtype)
    limits = less_equal(ZERO, count), less_equal(count, self.sizes[place] if self.rank else ONE)
    if not all(map(requires, limits)):
        raise RuntimeError("selected index k out of range")
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
    if isinstance(value, TensorMeta) and value.rank:
        msg = f"fill_ only supports 0-dimension value tensor but got tensor with {value.rank} dimensions."
        raise RuntimeError(msg)
    return copied(self)


@shape_rules.on(
    *aten("zero", "nan_to_num", "bernoulli.p", "bernoulli", "uniform", "normal_functional", "exponential"),
    *aten("random"),
)
def _(self: TensorMeta, *_numbers: float | None, generator: object = None) -> TensorMeta:
    """Other numbers of the tensor's type."""
    return copied(self)


@shape_rules.on(*aten("hardtanh"))
def _(self: TensorMeta, *_bounds: float) -> TensorMeta:
    """The tensor's type."""
    require_number("hardtanh", self.dtype)
    return copied(self)


@shape_rules.on(*aten("masked_scatter"))
def _(self: TensorMeta, mask: TensorMeta, source: TensorMeta) -> TensorMeta:
    """A copy with the masked elements replaced in order."""
    wide = expanded(self, broadcast((self.sizes, mask.sizes)))
    return fresh(wide.sizes, self.dtype, self)


@shape_rules.on(*aten("bucketize.Tensor"))
def _(
    self: TensorMeta, boundaries: TensorMeta, *, out_int32: bool = False, right: bool = False
) -> TensorMeta:
    """A position per element."""
    return fresh(self.sizes, DType.I32 if out_int32 else DType.I64, self)


@shape_rules.on(*aten("searchsorted.Tensor"))
def _(
    sorted_sequence: TensorMeta, self: TensorMeta, *, out_int32: bool = False, **_options: object
) -> TensorMeta:
    """A position per element."""
    if sorted_sequence.rank > 1 and not all_must_equal(sorted_sequence.sizes[:-1], self.sizes[:-1]):
        msg = f"boundaries {printed(sorted_sequence.sizes)} and input {printed(self.sizes)} do not fit"
        raise RuntimeError(msg)
    return fresh(self.sizes, DType.I32 if out_int32 else DType.I64, self)


@shape_rules.on(*aten("isin.Tensor_Tensor", "isin.Tensor_Scalar"))
def _(elements: TensorMeta, test: Operand, **_options: object) -> TensorMeta:
    """A truth value per element."""
    require_number("isin", elements.dtype)
    return fresh(elements.sizes, DType.BOOL, elements)


@shape_rules.on(*aten("multinomial"))
def _(self: TensorMeta, num_samples: Size, *_options: object, generator: object = None) -> TensorMeta:
    """Positions drawn from each row."""
    return fresh((*self.sizes[:-1], num_samples), DType.I64, self)


@shape_rules.on(*aten("rot90"))
def _(self: TensorMeta, k: int = 1, dims: Sequence[int] = (0, 1)) -> TensorMeta:
    """A plane turned by k right angles: the layout of a copy, or the turned one of it."""
    first, second = wrapped_dims(dims, self.rank)
    copy = copied(self) if k % 4 else fresh(self.sizes, self.dtype, self)
    if k % 2 == 0:
        return copy
    return exchanged(copy, first, second)

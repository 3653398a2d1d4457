"""Shape rules of what stays a library call: matrix products, convolutions, pooling, attention."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import cast

from supple.expr import Expr, as_expr, less, less_equal, maximum, minimum
from supple.ir.dtypes import DType
from supple.ir.meta import TensorMeta
from supple.shapes import rules
from supple.shapes.decide import ZERO, all_must_equal, exprs, must_equal
from supple.shapes.layout import channels_last_strides, is_channels_last_like, preserved_strides
from supple.shapes.promote import real_dtype
from supple.shapes.rules import Size, aten, fresh, require, require_number, shape_rules
from supple.shapes.rules_pointwise import expanded


def _product(rank: int, left: TensorMeta, right: TensorMeta) -> TensorMeta:
    """(n, k) by (k, m), of rank 3 (b, n, k) by (b, k, m)."""
    require(left.rank == right.rank == rank and left.dtype is right.dtype)
    require(all_must_equal((*left.sizes[:-2], left.sizes[-1]), right.sizes[:-1]))
    require_number(left.dtype)
    return fresh((*left.sizes[:-1], right.sizes[-1]), left.dtype, left)


def _product_and_sum(
    rank: int, self: TensorMeta, left: TensorMeta, right: TensorMeta, **_factors: object
) -> TensorMeta:
    """A product, plus what broadcasts to it."""
    found = _product(rank, left, right)
    expanded(self, found.sizes)
    require(self.dtype is left.dtype)
    return found


shape_rules.on(*aten("mm"))(partial(_product, 2))
shape_rules.on(*aten("bmm"))(partial(_product, 3))
shape_rules.on(*aten("addmm", "_addmm_activation"))(partial(_product_and_sum, 2))
shape_rules.on(*aten("baddbmm"))(partial(_product_and_sum, 3))


@shape_rules.on(*aten("mv"))
def _(self: TensorMeta, vec: TensorMeta) -> TensorMeta:
    """(n, k) by (k)."""
    require(self.rank == 2 and vec.rank == 1 and must_equal(self.sizes[1], vec.sizes[0]))
    require(self.dtype is vec.dtype)
    return fresh(self.sizes[:1], self.dtype, self)


@shape_rules.on(*aten("dot", "vdot"))
def _(self: TensorMeta, tensor: TensorMeta) -> TensorMeta:
    """(k) by (k)."""
    require(self.rank == 1 and tensor.rank == 1 and all_must_equal(self.sizes, tensor.sizes))
    require(self.dtype is tensor.dtype)
    require_number(self.dtype)
    return fresh((), self.dtype, self)


@shape_rules.on(*aten("convolution"))
def _(input: TensorMeta, weight: TensorMeta, bias: TensorMeta | None, *numbers: object) -> TensorMeta:
    """Batch, output channels, and for each spatial dimension the number of places of the window."""
    stride, padding, dilation, is_transposed, output_padding, groups = numbers
    spatial = weight.rank - 2
    per_dim = (_per_dim(item, spatial) for item in (stride, padding, dilation, output_padding))
    steps, pads, spreads, extras = per_dim
    assert isinstance(groups, int | Expr), f"groups {groups!r}"
    require(*(less(ZERO, number) for number in (*steps, *spreads, as_expr(groups))))
    require(*(less_equal(ZERO, number) for number in (*pads, *extras)))
    _check_convolution(input, weight, groups, is_transposed=bool(is_transposed))
    if is_transposed:  # what is added lies behind the last window, and is less than one step of it
        require(*(less(extra, maximum(*most)) for extra, *most in zip(extras, steps, spreads, strict=True)))
    channels = weight.sizes[1] * groups if is_transposed else weight.sizes[0]
    require(bias is None or all_must_equal(bias.sizes, (channels,)))
    batch = input.sizes[:1] if input.rank == weight.rank else ()
    places: list[Expr] = []
    for dim in range(spatial):
        size, window = input.sizes[input.rank - spatial + dim], weight.sizes[2 + dim]
        reach = (window - 1) * spreads[dim]
        if is_transposed:
            places.append((size - 1) * steps[dim] - 2 * pads[dim] + reach + extras[dim] + 1)
        else:
            places.append((size + 2 * pads[dim] - reach - 1) // steps[dim] + 1)
        require(less(ZERO, places[-1]), less(ZERO, size), less(ZERO, window))
    sizes = (*batch, channels, *places)
    return fresh(sizes, input.dtype, input, convolved_strides(input, weight, sizes))


def convolved_strides(
    input: TensorMeta, weight: TensorMeta, sizes: tuple[Expr, ...]
) -> tuple[Expr, ...] | None:
    """Return channels-last strides when the image or the weight has that layout, else None (row-major).

    With one spatial dimension, which counts as an image of height 1, the image decides only where it is
    row-major too, as one with one channel may be.
    """
    if len(sizes) == 3:
        image, filter_ = _as_image(input if input.is_contiguous else weight), _as_image(weight)
        tall = convolved_strides(image, filter_, (*sizes[:2], as_expr(1), sizes[2]))
        return None if tall is None else (*tall[:2], tall[3])
    is_last = any(is_channels_last_like(item.sizes, item.strides) for item in (input, weight))
    return channels_last_strides(sizes) if is_last else None


def _as_image(tensor: TensorMeta) -> TensorMeta:
    sizes, strides = tensor.sizes, tensor.strides
    return TensorMeta(
        (*sizes[:2], as_expr(1), sizes[2]), (*strides[:2], sizes[2] * strides[2], strides[2]), tensor.dtype
    )


def _per_dim(numbers: object, count: int) -> tuple[Expr, ...]:
    assert isinstance(numbers, list | tuple), f"one number per dimension, not {numbers!r}"
    found = exprs(cast("Sequence[Size]", numbers))
    return found * count if len(found) == 1 else found


def _check_convolution(input: TensorMeta, weight: TensorMeta, groups: Size, *, is_transposed: bool) -> None:
    require(input.rank == weight.rank)
    wanted = weight.sizes[0] if is_transposed else weight.sizes[1] * groups
    require(must_equal(input.sizes[1], wanted))
    require(input.dtype is weight.dtype)
    require(less_equal(as_expr(groups), weight.sizes[0]), must_equal(weight.sizes[0] % groups, ZERO))


Numbers = Sequence[int]


def pooled(size: Expr, window: int, step: int, pad: int, spread: int = 1, *, ceil_mode: bool) -> Expr:
    """Return the number of places of a window; with ceil_mode the last may reach over the end, not start
    there."""
    free = size + (2 * pad - spread * (window - 1) - 1)
    return minimum(-(-free // step) + 1, -(-(size + pad) // step)) if ceil_mode else free // step + 1


def _pair(numbers: Numbers) -> tuple[int, int]:
    return (numbers[0], numbers[0]) if len(numbers) == 1 else (numbers[0], numbers[1])


def _places(
    image: TensorMeta, kernel: Numbers, stride: Numbers, padding: Numbers, dilation: Numbers, ceil_mode: bool
) -> list[Expr]:
    """Return the numbers of places of a window in the last two dimensions; it moves by itself unless told."""
    parts = [_pair(numbers) for numbers in (kernel, stride or kernel, padding, dilation)]
    require(*(number > 0 for part in (*parts[:2], parts[3]) for number in part))
    window, _, pad, spread = parts
    require(*(0 <= p <= (s * (w - 1) + 1) // 2 for w, p, s in zip(window, pad, spread, strict=True)))
    along = zip(image.sizes[-2:], *parts, strict=True)
    return [pooled(size, *numbers, ceil_mode=ceil_mode) for size, *numbers in along]


@shape_rules.on(*aten("max_pool2d_with_indices"))
def _(
    self: TensorMeta,
    kernel_size: Numbers,
    stride: Numbers = (),
    padding: Numbers = (0,),
    dilation: Numbers = (1,),
    *ceil_mode: bool,
) -> tuple[TensorMeta, TensorMeta]:
    """Largest elements of windows and where they were."""
    _require_image(self)
    require_number(self.dtype)
    values = windows(self, *_places(self, kernel_size, stride, padding, dilation, any(ceil_mode)))
    return values, replace(values, dtype=DType.I64)


@shape_rules.on(*aten("avg_pool2d"))
def _(
    self: TensorMeta,
    kernel_size: Numbers,
    stride: Numbers = (),
    padding: Numbers = (0,),
    ceil_mode: bool = False,
    *options: object,
) -> TensorMeta:
    """Means of windows; the last option is what sums are divided by."""
    _require_image(self)
    require(options[1:] != (0,))
    if self.dtype is not DType.I64:
        rules.require_float(self.dtype)
    return windows(self, *_places(self, kernel_size, stride, padding, (1,), ceil_mode))


def _require_image(tensor: TensorMeta) -> None:
    require(tensor.rank in (3, 4))


def windows(tensor: TensorMeta, *places: Expr, first: int = 0) -> TensorMeta:
    """Return one element per place; no dimension from `first` on (in a batch, of an image) may be empty."""
    require(*(less(ZERO, size) for size in places))
    first = first if tensor.rank == len(places) + 1 else 1
    require(*(less(ZERO, size) for size in tensor.sizes[first:]))
    return rules.resized(tensor, (*tensor.sizes[: -len(places)], *places))


def averaged(tensor: TensorMeta, *places: Expr, first: int) -> TensorMeta:
    """Return one mean per place, of which there may be none; no dimension from `first` on may be empty."""
    require(
        *(less_equal(ZERO, size) for size in places), *(less(ZERO, size) for size in tensor.sizes[first:])
    )
    return rules.resized(tensor, (*tensor.sizes[: -len(places)], *places))


@shape_rules.on(*aten("_adaptive_avg_pool2d"))
def _(self: TensorMeta, output_size: Sequence[Size]) -> TensorMeta:
    """Means of as many windows as asked for."""
    _require_image(self)
    rules.require_float(self.dtype)
    return averaged(self, *exprs(output_size), first=self.rank - 2)


@shape_rules.on(*aten("_scaled_dot_product_flash_attention_for_cpu"))
def _(
    query: TensorMeta, key: TensorMeta, value: TensorMeta, *_options: object, **_named: object
) -> tuple[TensorMeta, TensorMeta]:
    """The result has the query's sizes and layout; then the logsumexp of each row in f32."""
    batch, heads, length, _ = query.sizes
    dtype = DType.F64 if query.dtype is DType.F64 else DType.F32
    sums = fresh((batch, length, heads), dtype, query)
    order = (sums.strides[0], sums.strides[2], sums.strides[1])
    result = fresh(query.sizes, query.dtype, query, preserved_strides(query.sizes, query.strides))
    return result, fresh((batch, heads, length), dtype, query, order)


@shape_rules.on(*aten("_linalg_svd"))
def _(
    A: TensorMeta, full_matrices: bool = False, compute_uv: bool = True, *, driver: str | None = None
) -> tuple[TensorMeta, TensorMeta, TensorMeta]:
    """Matrices, column after column, and the values between them, which are real."""
    require(A.rank >= 2 and A.dtype in (DType.F32, DType.F64, DType.C64, DType.C128))
    *batch, rows, columns = A.sizes
    count = minimum(rows, columns)
    values = fresh((*batch, count), real_dtype(A.dtype), A)
    if not compute_uv:
        nothing = fresh((ZERO,), A.dtype, A)
        return nothing, values, nothing
    left, right = (rows, columns) if full_matrices else (count, count)
    return _by_columns(A, (*batch, rows, left)), values, _by_columns(A, (*batch, right, columns))


def _by_columns(like: TensorMeta, sizes: tuple[Expr, ...]) -> TensorMeta:
    """Return matrices of these sizes with each column's elements side by side."""
    *outer, row, column = fresh((*sizes[:-2], sizes[-1], sizes[-2]), like.dtype).strides
    return fresh(sizes, like.dtype, like, (*outer, column, row))

"""Shape rules of resampling: batch and channels stay, the other sizes are given."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from supple.expr import Expr, as_expr, less
from supple.ir.dtypes import DType
from supple.ir.meta import TensorMeta
from supple.shapes import rules
from supple.shapes.decide import ZERO, exprs, must_equal
from supple.shapes.rules import Size, aten, fresh, require, require_float, resized, shape_rules
from supple.shapes.rules_library import Numbers, averaged, pooled, windows

RESAMPLING: Final = (
    "upsample_nearest1d upsample_nearest2d upsample_nearest3d _upsample_nearest_exact1d "
    "_upsample_nearest_exact2d _upsample_nearest_exact3d upsample_linear1d upsample_bilinear2d "
    "upsample_trilinear3d upsample_bicubic2d _upsample_bilinear2d_aa _upsample_bicubic2d_aa"
).split()


@shape_rules.on(*aten(*RESAMPLING))
def _(self: TensorMeta, output_size: Sequence[Size], *_options: object) -> TensorMeta:
    """The given sizes after batch and channels; channels-last stays so."""
    require(self.rank == len(output_size) + 2)
    require(*(less(ZERO, size) for size in (*self.sizes[1:], *exprs(output_size))))
    return resized(self, [*self.sizes[:2], *output_size])


@shape_rules.on(*aten("_adaptive_avg_pool3d"))
def _(self: TensorMeta, output_size: Sequence[Size]) -> TensorMeta:
    """As many means as asked for; of no channels there are none, other than of two dimensions."""
    require(self.rank in (4, 5))
    require_float(self.dtype)
    return averaged(self, *exprs(output_size), first=1)


@shape_rules.on(*aten(*(f"replication_pad{rank}d" for rank in (1, 2, 3))))
def _(self: TensorMeta, padding: Sequence[Size]) -> TensorMeta:
    """Edges go on as they are."""
    return _padded(self, exprs(padding))


@shape_rules.on(*aten(*(f"reflection_pad{rank}d" for rank in (1, 2, 3))))
def _(self: TensorMeta, padding: Sequence[Size]) -> TensorMeta:
    """Edges go on with what is inside, of which there must be enough."""
    amounts = exprs(padding)
    sizes = (size for size in reversed(self.sizes) for _ in (0, 1))
    require(*(less(amount, size) for amount, size in zip(amounts, sizes, strict=False)))
    return _padded(self, amounts)


def _padded(image: TensorMeta, amounts: Sequence[Expr]) -> TensorMeta:
    count = len(amounts) // 2
    require(count < image.rank < count + 3)
    rules.require_number(image.dtype)
    inner = image.sizes[-count:]
    around = [amounts[2 * place] + amounts[2 * place + 1] for place in reversed(range(count))]
    grown = [size + more for size, more in zip(inner, around, strict=True)]
    require(*(less(ZERO, size) for size in (*image.sizes[image.rank - count - 1 :], *grown)))
    return resized(image, (*image.sizes[:-count], *grown))


def _image_sizes(tensor: TensorMeta, most: int | None = None) -> tuple[Expr, ...]:
    require(tensor.rank >= 3 and (most is None or tensor.rank <= most))
    return tensor.sizes


@shape_rules.on(*aten("pixel_shuffle"))
def _(self: TensorMeta, upscale_factor: int) -> TensorMeta:
    """Channels become places."""
    *batch, channels, height, width = _image_sizes(self)
    count = upscale_factor**2
    require(must_equal(channels % count, ZERO))
    return resized(self, (*batch, channels // count, height * upscale_factor, width * upscale_factor))


@shape_rules.on(*aten("pixel_unshuffle"))
def _(self: TensorMeta, downscale_factor: int) -> TensorMeta:
    """Places become channels."""
    *batch, channels, height, width = _image_sizes(self)
    require(all(must_equal(size % downscale_factor, ZERO) for size in (height, width)))
    smaller = (height // downscale_factor, width // downscale_factor)
    return resized(self, (*batch, channels * downscale_factor**2, *smaller))


@shape_rules.on(*aten("channel_shuffle", "native_channel_shuffle"))
def _(self: TensorMeta, groups: Size) -> TensorMeta:
    """Channels in another order."""
    require(self.rank > 2, less(ZERO, as_expr(groups)), must_equal(self.sizes[1] % groups, ZERO))
    return resized(self, self.sizes)


@shape_rules.on(*aten("adaptive_max_pool2d"))
def _(self: TensorMeta, output_size: Sequence[Size]) -> tuple[TensorMeta, TensorMeta]:
    """Largest elements of as many windows as asked for, and where they were."""
    require_float(self.dtype)
    _image_sizes(self, 4)
    require(len(output_size) == 2)
    values = windows(self, *exprs(output_size), first=1)
    return values, replace(values, dtype=DType.I64)


@shape_rules.on(*aten("im2col"))
def _(
    self: TensorMeta, kernel_size: Numbers, dilation: Numbers, padding: Numbers, stride: Numbers
) -> TensorMeta:
    """Each window as a column."""
    if self.dtype is not DType.BOOL:
        require_float(self.dtype)
    parts = zip(_image_sizes(self, 4)[-2:], kernel_size, stride, padding, dilation, strict=True)
    found = windows(self, *(pooled(*part, ceil_mode=False) for part in parts), first=1)
    *batch, channels, height, width = found.sizes
    return fresh((*batch, channels * kernel_size[0] * kernel_size[1], height * width), self.dtype, self)


@shape_rules.on(*aten("_cdist_forward"))
def _(x1: TensorMeta, x2: TensorMeta, *_options: object) -> TensorMeta:
    """The distances of the rows of two batches."""
    require({x1.dtype, x2.dtype} <= {DType.F32, DType.F64})
    require(must_equal(x1.sizes[-1], x2.sizes[-1]))
    batch = rules.broadcast((x1.sizes[:-2], x2.sizes[:-2]))
    return fresh((*batch, x1.sizes[-2], x2.sizes[-2]), x1.dtype, x1)


@shape_rules.on(*aten("grid_sampler_2d", "grid_sampler_3d"))
def _(input: TensorMeta, grid: TensorMeta, *_options: object) -> TensorMeta:
    """The image at the places of a grid."""
    require(input.rank == grid.rank and must_equal(input.sizes[0], grid.sizes[0]))
    require_float(input.dtype)
    return fresh((*input.sizes[:2], *grid.sizes[1:-1]), input.dtype, input)

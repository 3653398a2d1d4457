"""Shape rules of resampling: batch and channels stay, the other sizes are given."""

from collections.abc import Sequence

from supple.ir.meta import TensorMeta, contiguous_strides
from supple.shapes.layout import channels_last_strides, is_channels_last
from supple.shapes.rules import Size, aten, fresh, shape_rules

RESAMPLING = (
    "upsample_nearest1d upsample_nearest2d upsample_nearest3d _upsample_nearest_exact1d "
    "_upsample_nearest_exact2d _upsample_nearest_exact3d upsample_linear1d upsample_bilinear2d "
    "upsample_trilinear3d upsample_bicubic2d _upsample_bilinear2d_aa _upsample_bicubic2d_aa"
).split()


@shape_rules.on(*aten(*RESAMPLING))
def _(self: TensorMeta, output_size: Sequence[Size], *_options: object) -> TensorMeta:
    """The given sizes after batch and channels; channels-last stays so."""
    made = fresh([*self.sizes[:2], *output_size], self.dtype, self)
    if is_channels_last(self.sizes, self.strides) and self.strides != contiguous_strides(self.sizes):
        return fresh(made.sizes, self.dtype, self, channels_last_strides(made.sizes))
    return made


@shape_rules.on(*aten("_adaptive_avg_pool3d"))
def _(self: TensorMeta, output_size: Sequence[Size]) -> TensorMeta:
    """The given sizes in place of the last ones."""
    made = fresh([*self.sizes[: self.rank - len(output_size)], *output_size], self.dtype, self)
    if is_channels_last(self.sizes, self.strides) and self.strides != contiguous_strides(self.sizes):
        return fresh(made.sizes, self.dtype, self, channels_last_strides(made.sizes))
    return made

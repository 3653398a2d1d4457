"""Shape rules of resampling: batch and channels stay, the other sizes are given."""

from collections.abc import Sequence

from supple.ir.meta import TensorMeta
from supple.shapes.rules import Size, aten, shape_rules
from supple.shapes.rules_library import resized

RESAMPLING = (
    "upsample_nearest1d upsample_nearest2d upsample_nearest3d _upsample_nearest_exact1d "
    "_upsample_nearest_exact2d _upsample_nearest_exact3d upsample_linear1d upsample_bilinear2d "
    "upsample_trilinear3d upsample_bicubic2d _upsample_bilinear2d_aa _upsample_bicubic2d_aa"
).split()


@shape_rules.on(*aten(*RESAMPLING))
def _(self: TensorMeta, output_size: Sequence[Size], *_options: object) -> TensorMeta:
    """The given sizes after batch and channels; channels-last stays so."""
    return resized(self, [*self.sizes[:2], *output_size])


@shape_rules.on(*aten("_adaptive_avg_pool3d"))
def _(self: TensorMeta, output_size: Sequence[Size]) -> TensorMeta:
    """The given sizes in place of the last ones."""
    return resized(self, [*self.sizes[: self.rank - len(output_size)], *output_size])

"""Shape rules of bags of embeddings on the CPU, with what they keep for their gradients."""

from functools import partial
from typing import Final

from supple.expr import Expr, less
from supple.ir.dtypes import DType
from supple.ir.meta import TensorMeta
from supple.shapes.decide import ONE, ZERO, is_equal, must_equal
from supple.shapes.errors import NoShapeRule
from supple.shapes.rules import Size, aten, fresh, require, require_float, shape_rules

SUM: Final = 0
MAX: Final = 2
"""Of the numbers by which torch calls what a bag does with its rows; 1 is the mean."""
_BLOCKS: Final = (DType.F32, DType.F16, DType.BF16)
"""Sums of these types have a kernel of their own, which keeps no bag of each index."""


def _bags(  # noqa: PLR0913  # the operator's arguments
    is_forward_only: bool,
    weight: TensorMeta,
    indices: TensorMeta,
    offsets: TensorMeta,
    scale_grad_by_freq: bool = False,
    mode: int = SUM,
    sparse: bool = False,
    per_sample_weights: TensorMeta | None = None,
    include_last_offset: bool = False,
    padding_idx: int = -1,
) -> tuple[TensorMeta, ...]:
    """A row for each bag; then the bag of each index, the size of each bag, and the place of its maximum."""
    del scale_grad_by_freq, sparse
    require(weight.rank == 2, indices.rank == offsets.rank == 1)
    require_float(weight.dtype)
    require(all(meta.dtype in (DType.I64, DType.I32) for meta in (indices, offsets)))
    if per_sample_weights is not None:
        require(mode == SUM, per_sample_weights.rank == 1, per_sample_weights.dtype is weight.dtype)
        require(must_equal(per_sample_weights.sizes[0], indices.sizes[0]))
    count = offsets.sizes[0]
    if include_last_offset:
        require(less(ZERO, count))
        count = count - 1
    dtype = DType.I64 if DType.I64 in (indices.dtype, offsets.dtype) else DType.I32
    kept = offsets.sizes[0] if is_forward_only and mode == SUM else count
    has_blocks = mode == SUM and padding_idx < 0 and weight.dtype in _BLOCKS
    lengths = ZERO if has_blocks and _are_blocks(weight, per_sample_weights) else indices.sizes[0]
    largest: tuple[Expr, ...] = (count, weight.sizes[1]) if mode == MAX else (kept,)
    return (
        fresh((count, weight.sizes[1]), weight.dtype, weight),
        *(fresh(sizes, dtype, weight) for sizes in ((lengths,), (kept,), largest)),
    )


def _are_blocks(weight: TensorMeta, scales: TensorMeta | None) -> bool:
    """Tell whether the elements of a row lie side by side, and the scales of rows too."""
    return is_equal(weight.strides[1], ONE) and (scales is None or is_equal(scales.strides[0], ONE))


shape_rules.on(*aten("_embedding_bag"))(partial(_bags, False))
shape_rules.on(*aten("_embedding_bag_forward_only"))(partial(_bags, True))


@shape_rules.on(*aten("_embedding_bag_backward"))
def _(  # noqa: PLR0913  # the operator's arguments
    grad: TensorMeta,
    indices: TensorMeta,
    offsets: TensorMeta,
    offset2bag: TensorMeta,
    bag_size: TensorMeta,
    maximum_indices: TensorMeta,
    num_weights: Size,
    scale_grad_by_freq: bool,
    mode: int,
    sparse: bool,
    *_options: object,
) -> TensorMeta:
    """One row for each of the weight's."""
    del indices, offsets, offset2bag, bag_size, maximum_indices, scale_grad_by_freq, mode
    if sparse:
        raise NoShapeRule("aten._embedding_bag_backward.default", "it is sparse")
    return fresh((num_weights, grad.sizes[1]), grad.dtype, grad)


@shape_rules.on(*aten("_embedding_bag_per_sample_weights_backward"))
def _(grad: TensorMeta, weight: TensorMeta, indices: TensorMeta, *_options: object) -> TensorMeta:
    """One number for each index."""
    del weight
    return fresh(indices.sizes, grad.dtype, grad)

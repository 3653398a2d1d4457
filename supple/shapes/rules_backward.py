"""Shape rules of what the autograd engine runs: gradients of operators."""

from collections.abc import Sequence
from functools import partial
from typing import Final, cast

import torch

from supple.ir.dtypes import narrowed
from supple.ir.meta import TensorMeta
from supple.shapes.decide import all_must_equal
from supple.shapes.promote import float_dtype
from supple.shapes.rules import Size, aten, fresh, require, require_float, resized, shape_rules
from supple.shapes.rules_library import convolved_strides
from supple.shapes.rules_pointwise import pointwise

_ELEMENTWISE: Final[dict[str, tuple[int, ...]]] = {
    **dict.fromkeys(
        (
            *("silu_backward", "gelu_backward", "tanh_backward", "sigmoid_backward", "threshold_backward"),
            *("leaky_relu_backward", "hardtanh_backward", "hardswish_backward", "hardsigmoid_backward"),
            *("softplus_backward", "log_sigmoid_backward"),
        ),
        (0, 1),
    ),
    "elu_backward": (0, 5),
    **dict.fromkeys(("mse_loss_backward", "smooth_l1_loss_backward", "huber_loss_backward"), (1, 2)),
}
"""Which arguments of a gradient of an elementwise operator have its sizes; the first has its type too."""


def _elementwise(places: tuple[int, ...], *args: object, **_options: object) -> TensorMeta:
    tensors = [arg for arg in (args[place] for place in places) if isinstance(arg, TensorMeta)]
    return pointwise(tensors, tensors[0].dtype)


for _name, _places in _ELEMENTWISE.items():
    shape_rules.on(*aten(_name))(partial(_elementwise, _places))


@shape_rules.on(*aten("native_dropout_backward"))
def _(grad_output: TensorMeta, mask: TensorMeta, scale: float) -> TensorMeta:
    """The product of all three: a float, also of whole numbers."""
    return pointwise([grad_output, mask], float_dtype(grad_output.dtype))


@shape_rules.on(*aten("_softmax_backward_data", "_log_softmax_backward_data"))
def _(grad_output: TensorMeta, output: TensorMeta, dim: int, input_dtype: torch.dtype) -> TensorMeta:
    """The sizes and the type of the gradient, row-major; a widened softmax of halves has another type."""
    require_float(grad_output.dtype)
    require(all_must_equal(grad_output.sizes, output.sizes))
    return fresh(output.sizes, narrowed(grad_output.dtype, input_dtype), output)


@shape_rules.on(*aten("native_layer_norm_backward"))
def _(grad_out: TensorMeta, input: TensorMeta, *rest: object) -> tuple[TensorMeta | None, ...]:
    """Gradients of the operand, the weight and the bias, where they are asked for."""
    *_, weight, bias, mask = rest
    given = (meta if isinstance(meta, TensorMeta) else None for meta in (input, weight, bias))
    return _asked_for(mask, *(meta and fresh(meta.sizes, meta.dtype, meta) for meta in given))


def _asked_for(mask: object, *gradients: TensorMeta | None) -> tuple[TensorMeta | None, ...]:
    """Return those of the gradients that the mask asks for, None in place of others."""
    wanted = zip(gradients, cast("Sequence[bool]", mask), strict=True)
    return tuple(meta if is_wanted else None for meta, is_wanted in wanted)


@shape_rules.on(
    *aten(
        *("nll_loss_backward", "nll_loss2d_backward", "glu_backward", "fractional_max_pool3d_backward"),
        *("multi_margin_loss_backward", "multilabel_margin_loss_backward"),
        *("_ctc_loss_backward", "_ctc_loss_backward.Tensor"),
    )
)
def _(grad_output: TensorMeta, self: TensorMeta, *_options: object) -> TensorMeta:
    """The sizes of the operand."""
    return fresh(self.sizes, self.dtype, self)


@shape_rules.on(*aten("slice_backward", "select_backward", "unfold_backward", "diagonal_backward"))
def _(grad_output: TensorMeta, input_sizes: Sequence[Size], *_place: Size) -> TensorMeta:
    """The sizes of what the view was taken of."""
    return fresh(input_sizes, grad_output.dtype, grad_output)


@shape_rules.on(
    *aten(
        *("max_pool2d_with_indices_backward", "avg_pool2d_backward", "_adaptive_avg_pool2d_backward"),
        *("reflection_pad1d_backward", "reflection_pad2d_backward", "replication_pad2d_backward"),
    )
)
def _(grad_output: TensorMeta, self: TensorMeta, *_options: object) -> TensorMeta:
    """The sizes and the order of the operand."""
    return resized(self, self.sizes)


@shape_rules.on(
    *aten(
        *("upsample_nearest1d_backward", "upsample_nearest2d_backward", "upsample_nearest3d_backward"),
        *("_upsample_nearest_exact1d_backward", "_upsample_nearest_exact2d_backward"),
        *("upsample_linear1d_backward", "upsample_bilinear2d_backward", "upsample_bicubic2d_backward"),
    )
)
def _(
    grad_output: TensorMeta,
    output_size: object,
    input_size: Sequence[Size],
    *_options: object,
    **_named: object,
) -> TensorMeta:
    """The sizes of the operand, in the order of what flows in."""
    return resized(grad_output, input_size)


@shape_rules.on(*aten("native_batch_norm_backward", "native_group_norm_backward"))
def _(grad_out: TensorMeta, input: TensorMeta, *rest: object) -> tuple[TensorMeta | None, ...]:
    """Gradients of the operand, the weight and the bias, where they are asked for."""
    scales = fresh(input.sizes[1:2], input.dtype, input)
    return _asked_for(rest[-1], resized(input, input.sizes), scales, scales)


@shape_rules.on(*aten("embedding_dense_backward"))
def _(grad_output: TensorMeta, indices: TensorMeta, num_weights: Size, *_options: object) -> TensorMeta:
    """One row for each of the weight's."""
    return fresh((num_weights, grad_output.sizes[-1]), grad_output.dtype, grad_output)


@shape_rules.on(*aten("_scaled_dot_product_flash_attention_for_cpu_backward"))
def _(
    grad_out: TensorMeta,
    query: TensorMeta,
    key: TensorMeta,
    value: TensorMeta,
    *_rest: object,
    **_named: object,
) -> tuple[TensorMeta, ...]:
    """Those of query, key and value, with heads inside of positions."""
    return tuple(_heads_inside(meta) for meta in (query, key, value))


def _heads_inside(meta: TensorMeta) -> TensorMeta:
    batch, heads, length, width = meta.sizes
    steps = fresh((batch, length, heads, width), meta.dtype).strides
    return fresh(meta.sizes, meta.dtype, meta, (steps[0], steps[2], steps[1], steps[3]))


@shape_rules.on(*aten("convolution_backward"))
def _(
    grad_output: TensorMeta,
    input: TensorMeta,
    weight: TensorMeta,
    bias_sizes: Sequence[Size] | None,
    *options: object,
) -> tuple[TensorMeta | None, ...]:
    """Gradients of the image, the weight and the bias, where they are asked for."""
    image = fresh(input.sizes, input.dtype, input, convolved_strides(input, weight, input.sizes))
    filter_ = fresh(weight.sizes, weight.dtype, weight, convolved_strides(input, weight, weight.sizes))
    bias = fresh(bias_sizes or (), weight.dtype, weight)
    return _asked_for(options[-1], image, filter_, bias)

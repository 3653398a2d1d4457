"""Library calls that eager makes only on tensors with elements: what it does in their place on empty ones;
and the layout of what such calls give.

The same code runs for all sizes, so these choices are made when it runs.
"""

import math
from collections.abc import Callable, Mapping
from typing import Final

import torch

from supple import torch_private

Tensors = tuple[torch.Tensor, ...]


def float_of(compute: Callable[[], float]) -> float:
    """Return a number computed from sizes alone: what divides by 0 is about tensors without elements.

    Or about the spread of a single one. NaN is what eager's kernels, which divide in C, make of either.
    """
    try:
        return compute()
    except ZeroDivisionError:
        return math.nan


def flash_attention(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, *options: object, **named: object
) -> Tensors:
    """Return attention and the logsumexp of its rows; zeros where there is no query or no key."""
    if query.numel() and key.numel():
        return torch_private.flash_attention(query, key, value, *options, **named)
    batch, heads, length, _ = query.shape
    dtype = torch.promote_types(query.dtype, torch.float32)
    return torch.zeros_like(query), query.new_zeros((batch, length, heads), dtype=dtype).transpose(1, 2)


def flash_attention_backward(
    grad: torch.Tensor,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    *options: object,
    **named: object,
) -> Tensors:
    """Return the gradients of attention; zeros where there is no query or no key."""
    if query.numel() and key.numel():
        return torch_private.flash_attention_backward(grad, query, key, value, *options, **named)
    return torch.zeros_like(query), torch.zeros_like(key), torch.zeros_like(value)


def batch_norm(image: torch.Tensor, *options: object, **named: object) -> Tensors:
    """Return the normalised tensor, means and deviations; of nothing nothing, statistics stay."""
    if image.numel():
        return torch.ops.aten.native_batch_norm.default(image, *options, **named)
    return image.clone(), image.new_empty(image.shape[1]), image.new_empty(image.shape[1])


def batch_norm_with_statistics(image: torch.Tensor, *options: object) -> Tensors:
    """Return what `batch_norm` does, and the statistics that it would write."""
    if image.numel():
        return torch_private.batch_norm_with_statistics(image, *options)
    statistics = (one.clone() for one in options[2:4] if isinstance(one, torch.Tensor))
    return image.clone(), image.new_empty(image.shape[1]), image.new_empty(image.shape[1]), *statistics


def laid_out(
    tensor: torch.Tensor, strides: tuple[int, ...], sizes: tuple[int, ...] | None = None, op: str = ""
) -> torch.Tensor:
    """Return a tensor in the layout for which kernels were made; eager may choose another at sizes of 1.

    Args:
        sizes: what the fake of a custom operator `op` gave.

    Raises:
        RuntimeError: the tensor has other sizes.
    """
    if sizes is not None and tensor.shape != sizes:
        raise RuntimeError(
            f"{op} gave a tensor of sizes {tuple(tensor.shape)}, its fake one of sizes {sizes}, for which "
            "kernels were made. Do: make what `register_fake` decorates give the sizes of the result."
        )
    if tensor.stride() == strides or not tensor.numel():  # of nothing eager's layout is as good
        return tensor
    if any(step == 0 and size > 1 for step, size in zip(strides, tensor.shape, strict=True)):
        return tensor.as_strided(tensor.shape, strides)  # a view: expanded, as eager's is
    made = torch.empty_strided(tensor.shape, strides, dtype=tensor.dtype, device=tensor.device)
    return made.copy_(tensor)


SAFE: Final[Mapping[str, Callable[..., object]]] = {
    "supple.laid_out": laid_out,
    "aten._scaled_dot_product_flash_attention_for_cpu.default": flash_attention,
    "aten._scaled_dot_product_flash_attention_for_cpu_backward.default": flash_attention_backward,
    "aten.native_batch_norm.default": batch_norm,
    "aten._native_batch_norm_legit_functional.default": batch_norm_with_statistics,
}
"""By the name of the ATen op."""

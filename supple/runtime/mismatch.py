"""What is raised where a tensor is not as kernels were compiled for: never a read of foreign memory."""

from collections.abc import Sequence
from typing import NoReturn

import torch

from supple.base.errors import InternalError


class MemoryMismatch(InternalError):
    """A tensor has another dtype, sizes, strides or device, or less memory, than kernels were made for."""


def mismatch(name: str, tensor: torch.Tensor, expected: str) -> NoReturn:
    """Raise the error that says what a tensor is and what it was to be.

    Args:
        expected: the metadata for which kernels were made, as a text.
    """
    bytes_there = tensor.untyped_storage().nbytes()
    raise MemoryMismatch(
        f"{name} is {tensor.dtype} {tuple(tensor.shape)} with strides {tensor.stride()} on {tensor.device}, "
        f"from element {tensor.storage_offset()} of {bytes_there} bytes; kernels were made for {expected}"
    )


def has_strides(tensor: torch.Tensor, strides: Sequence[int]) -> bool:
    """Tell whether a tensor has strides, in the dimensions where it has a second element."""
    if tensor.numel() == 0:
        return True
    pairs = zip(tensor.shape, tensor.stride(), strides, strict=True)
    return all(size == 1 or step == wanted for size, step, wanted in pairs)

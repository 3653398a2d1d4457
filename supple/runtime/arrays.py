"""NumPy arrays and tensors of one memory."""

from collections.abc import Callable
from typing import Final, cast

import numpy as np
import torch

from_numpy: Final = cast("Callable[[object], torch.Tensor]", torch.from_numpy)  # pyright: ignore[reportUnknownMemberType]  # untyped in torch


def memory_of(array: object) -> torch.Tensor | None:
    """Return the tensor of an array's memory; None where there can be none, or it must not be written."""
    if type(array) is not np.ndarray or not array.flags.writeable:
        return None
    try:
        if not torch.is_inference_mode_enabled():
            return from_numpy(array)
        with torch.inference_mode(False):  # an input of the graph, as tensors from outside are
            return from_numpy(array)
    except (TypeError, ValueError):
        return None


def array_of(tensor: torch.Tensor, is_scalar: bool) -> object:
    """Return the array of a tensor's memory, or the number in it."""
    return tensor.numpy()[()] if is_scalar else tensor.numpy()

"""Whether tensors share memory."""

from itertools import pairwise

import torch


def share_memory(*tensors: torch.Tensor) -> bool:
    """Tell whether two of the tensors are one object or have bytes of storage in common.

    An empty storage, and one at address 0 (no memory: meta), has nothing in common with any.
    """
    spans = sorted(span for span in map(_span, tensors) if 0 < span[0] < span[1])
    meets = any(later[0] < earlier[1] for earlier, later in pairwise(spans))
    return meets or len({id(tensor) for tensor in tensors}) != len(tensors)


def _span(tensor: torch.Tensor) -> tuple[int, int]:
    storage = tensor.untyped_storage()
    start = storage.data_ptr()
    return (start, start + storage.nbytes())

"""Whether tensors share memory."""

from collections.abc import Sequence

import torch


def share_memory(*tensors: torch.Tensor) -> bool:
    """Tell whether two of the tensors are one object or have bytes of storage in common."""
    spans = sorted(_span(tensor) for tensor in tensors)
    return len({id(tensor) for tensor in tensors}) != len(tensors) or _overlap(spans)


def _span(tensor: torch.Tensor) -> tuple[int, int]:
    storage = tensor.untyped_storage()
    start = storage.data_ptr()
    return (start, start + storage.nbytes())


def _overlap(spans: Sequence[tuple[int, int]]) -> bool:
    """Spans are sorted; an empty one, and one at address 0 (no memory: meta), overlaps nothing."""
    end = 0
    for start, stop in spans:
        if start == 0 or start == stop:
            continue
        if start < end:
            return True
        end = max(end, stop)
    return False

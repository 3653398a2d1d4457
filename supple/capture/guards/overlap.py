"""Whether tensors are views of one tensor, whose place in autograd all of them show."""

import torch


def are_related(first: torch.Tensor, *others: torch.Tensor) -> bool:
    """Tell whether the first tensor is, or is a view of, what another one is, or is a view of."""
    root = _root(first)
    return any(_root(other) is root for other in others)


def _root(tensor: torch.Tensor) -> torch.Tensor:
    base = tensor._base
    return tensor if base is None else base

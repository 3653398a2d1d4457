"""What is undone of a graph that raises, so that its program can run once more, as plain Python."""

from collections.abc import Callable, Sequence
from typing import Final

import torch

from supple.runtime.autograd_fn import draws

ATOMIC: Final = "__supple_atomic__"
"""Attribute of what runs a graph: it writes to its inputs after everything that may raise."""
UNWRITTEN: Final = "__supple_unwritten__"
"""Attribute of an exception: the inputs of the graph that raised it hold what they did before."""
DRAWN: Final = "__supple_drawn__"
"""Attribute of an exception: generators that the graph may have drawn from, and their states before."""

_Kept = tuple[torch.Tensor, object, torch.Tensor]


def noting(
    compiled: Callable[..., object], kept: Sequence[int], *, is_counted: bool, is_random: bool
) -> Callable[..., object]:
    """Return a graph that notes on what it raises whether its inputs are as before, and what it drew.

    Args:
        kept: the places of inputs that get back what they held.
        is_counted: whether torch counts all that the graph writes to its inputs.
    """

    def run(*inputs: object) -> object:
        before = _versions(inputs) if is_counted else None
        drawn = draws(inputs) if is_random else []
        tensors = [item for place in kept if isinstance(item := inputs[place], torch.Tensor)]
        held = [(item, item.grad_fn, item.detach().clone()) for item in tensors]
        try:
            return compiled(*inputs)
        except Exception as error:
            is_unwritten = (is_counted and before == _versions(inputs)) or (bool(held) and _restored(held))
            error.__dict__.update({UNWRITTEN: is_unwritten, DRAWN: drawn})
            raise

    return run


def _versions(inputs: Sequence[object]) -> list[object]:
    """Return how often tensors were written; where nobody counts that, what is equal to nothing."""
    tensors = (item for item in inputs if isinstance(item, torch.Tensor))
    return [object() if item.is_inference() else item._version for item in tensors]


def _restored(held: Sequence[_Kept]) -> bool:
    """Give tensors what they held; tell whether they are as before then."""
    for tensor, node, before in held:
        if tensor.grad_fn is not node or tensor.shape != before.shape:
            return False
        if 0 not in tensor.stride():  # torch writes to no tensor with elements in one place
            tensor.data.copy_(before)
    return True

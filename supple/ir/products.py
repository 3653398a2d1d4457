"""Matrix products of symbolic sizes under torch 2.11 and 2.12, whose `matmul` asks for plain numbers.

They take the steps that torch takes for tensors of such ranks, in operators that 2.11 has for symbolic sizes.
"""

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import torch

from supple.torch_private import VERSION, unsafe_view

Product = Callable[..., torch.Tensor]


def _matmul(product: Product) -> Product:
    """Return a `matmul` that multiplies tensors of symbolic sizes itself."""

    def call(left: torch.Tensor, *others: torch.Tensor, **named: torch.Tensor) -> torch.Tensor:
        if named or len(others) != 1 or not _are_symbolic(left, *others):
            return product(left, *others, **named)
        ranks = left.ndim, others[0].ndim
        is_batch = min(ranks) > 0 and max(ranks) > 2
        return multiplied(left, *others) if is_batch else product(left, *others)

    return call


def _linear(product: Product) -> Product:
    """Return a `linear` whose own `matmul` multiplies tensors of symbolic sizes."""

    def call(input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
        is_batch = _are_symbolic(input, weight) and input.ndim > 2 and weight.ndim == 2
        is_one_step = is_batch and bias is not None and input.ndim == 3 and input.is_contiguous()
        if is_one_step or not is_batch:
            return product(input, weight, bias)
        made = multiplied(input, weight.t())
        return made if bias is None else made + bias

    return call


def _are_symbolic(*given: object) -> bool:
    """Tell whether these are tensors, and a size of them is symbolic."""
    tensors = [one for one in given if isinstance(one, torch.Tensor)]
    sizes = [size for tensor in tensors for size in tensor.shape]
    return len(tensors) == len(given) and any(isinstance(size, torch.SymInt) for size in sizes)


def multiplied(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """Return the product of tensors of which at least one is a batch of matrices, and none a number.

    Raises:
        RuntimeError: their sizes do not go together.
    """
    if right.ndim < 3:
        return _folded(left, right)
    if left.ndim == 1:
        return _folded(right.mT, left)
    if left.ndim == 2 and left.requires_grad:
        return _folded(right.mT, left.t()).mT.contiguous()
    batch = _broadcast(left.shape[:-2], right.shape[:-2])
    count = math.prod(batch)
    each = [one.expand(*batch, *one.shape[-2:]).reshape(count, *one.shape[-2:]) for one in (left, right)]
    return unsafe_view(torch.bmm(*each), [*batch, left.shape[-2], right.shape[-1]])


def _folded(batches: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Return a batch of matrices times a matrix or a vector, as one product of matrices."""
    rows = batches.shape[:-1]
    made = batches.reshape(math.prod(rows), batches.shape[-1]) @ other
    return unsafe_view(made, [*rows, *other.shape[1:]])


def _broadcast(left: Sequence[int], right: Sequence[int]) -> list[int]:
    """Return the sizes to which both expand, where they do."""
    rank = max(len(left), len(right))
    both = ([1] * (rank - len(sizes)) + [*sizes] for sizes in (left, right))
    return [one if one == other or other == 1 else other for one, other in zip(*both, strict=True)]


OWN: Final[Mapping[object, Callable[[Product], Product]]] = (
    {
        vars(operator)["matmul"]: _matmul,
        torch.matmul: _matmul,
        "Tensor.matmul": _matmul,
        "Tensor.__matmul__": _matmul,
        torch.nn.functional.linear: _linear,
    }
    if VERSION < (2, 13)
    else {}
)
"""What makes of torch's product the one that is traced, by function, or by the name of a method's op."""

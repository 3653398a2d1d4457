"""Tensors with any strides, after one with other strides: every layout of a list after every other.

Strides of 0, equal strides, overlapping windows and single elements are where a graph for all sizes may hold
too much for true.
"""

import itertools
from collections.abc import Callable
from typing import Final

import pytest
import torch

import supple

pytestmark = pytest.mark.sweep

NUMBERS: Final = torch.arange(100.0)
SIZES: Final = ((1, 3), (3, 1), (2, 3), (4, 1), (3, 3), (0, 3))
STRIDES: Final = ((6, 2), (2, 0), (1, 1), (6, 1), (1, 6), (0, 1), (3, 3), (2, 4), (0, 0))
FUNCTIONS: Final[dict[str, Callable[[torch.Tensor], torch.Tensor]]] = {
    "sum with a number": lambda t: t + 1,
    "cast": lambda t: t.to(torch.float64),
    "like": lambda t: torch.empty_like(t).zero_(),
    "contiguous": lambda t: t.contiguous(),
}


def seen(tensor: torch.Tensor) -> object:
    """Return the numbers of a tensor, and its strides where it has a second element."""
    steps = zip(tensor.shape, tensor.stride(), strict=True)
    wide = [step for size, step in steps if size > 1] if tensor.numel() else []
    return tensor.tolist(), tensor.dtype, wide


@pytest.mark.parametrize("sizes", SIZES[:4])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_layout_after_another(name: str, sizes: tuple[int, int]) -> None:
    function = FUNCTIONS[name]
    layouts = list(itertools.product(SIZES, STRIDES))
    wrong: list[object] = []
    for strides in STRIDES:
        for others in (layouts[begin::9] for begin in range(9)):
            compiled = supple.compile(function, backend="native", dynamic=True)
            for layout in ((sizes, strides), *others):
                x = NUMBERS.as_strided(*layout, 2)
                if seen(compiled(x)) != seen(function(x)):
                    wrong.append((strides, layout))
            supple.reset()
    assert not wrong

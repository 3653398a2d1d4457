"""Tensors with any strides, one after another into one compiled function: values and layouts are eager's.

Strides of 0, strides that are equal, overlapping windows and single elements are where a graph for all sizes
may hold too much for true.
"""

from collections.abc import Callable
from typing import Final

import torch
from hypothesis import given
from hypothesis import strategies as st

import supple

Layout = tuple[tuple[int, ...], tuple[int, ...]]

NUMBERS: Final = torch.arange(600.0)
FUNCTIONS: Final[tuple[Callable[[torch.Tensor], torch.Tensor], ...]] = (
    lambda t: t + 1,
    lambda t: t.relu(),
    lambda t: t.clone(),
    lambda t: torch.empty_like(t).zero_(),
    lambda t: t * t.flip(0),
    lambda t: torch.where(t > 0, t, 2.0),
    lambda t: t.sum(0, keepdim=True) + t,
    lambda t: t.transpose(0, 1) + 1,
    lambda t: t.softmax(-1),
    lambda t: t.to(torch.float64),
    lambda t: t.cumsum(0),
    lambda t: torch.cat([t, t]),
    lambda t: t.contiguous(),
    lambda t: t.double() + t,
    lambda t: t[1:] if len(t) else t,
    lambda t: t.mean(-1),
)


def layouts(rank: int) -> st.SearchStrategy[Layout]:
    sizes = st.sampled_from((1, 1, 2, 3, 4, 0, 5))
    steps = st.sampled_from((0, 1, 1, 2, 3, 4, 6))
    return st.tuples(*(st.tuples(*([one] * rank)) for one in (sizes, steps)))


SEQUENCES: Final = st.sampled_from((2, 2, 3, 4)).flatmap(
    lambda rank: st.lists(layouts(rank), min_size=2, max_size=4)
)


def seen(tensor: torch.Tensor) -> object:
    """Return the numbers of a tensor, and its strides where it has a second element."""
    steps = zip(tensor.shape, tensor.stride(), strict=True)
    wide = [step for size, step in steps if size > 1] if tensor.numel() else []
    return tensor.shape, tensor.dtype, wide


@given(
    st.sampled_from(FUNCTIONS), SEQUENCES, st.sampled_from(("eager", "native")), st.sampled_from((True, None))
)
def test_a_function_of_strided_tensors(
    function: Callable[[torch.Tensor], torch.Tensor],
    given_layouts: list[Layout],
    backend: str,
    dynamic: bool | None,
) -> None:
    compiled = supple.compile(function, backend=backend, dynamic=dynamic)
    try:
        for sizes, steps in given_layouts:
            tensor = NUMBERS.as_strided(sizes, steps, 3)
            want, got = function(tensor), compiled(tensor)
            # The strides of single elements, which no guard looks at, order repeated dimensions in eager.
            is_open = 1 in sizes and 0 in steps
            assert is_open or seen(got) == seen(want)
            torch.testing.assert_close(got, want, equal_nan=True)
        assert not supple.stats()["fallback_reasons"]
    finally:
        supple.reset()

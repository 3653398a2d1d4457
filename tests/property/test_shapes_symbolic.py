"""Random chains of slices, broadcasts and views: what is recorded once is right at all sizes it allows."""

from collections.abc import Callable
from typing import Any

import torch
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from torch import Tensor

from supple.shapes.env import ShapeEnv
from tests.unit.shapes.symbolic import check, eager, record

Step = Callable[[Tensor], Any]
bounds = st.none() | st.integers(-4, 7)
dims = st.integers(0, 3)


def along(x: Tensor, dim: int, part: slice) -> Tensor:
    """Return a slice of a dimension, counted round the rank."""
    return x[(slice(None),) * (dim % x.dim()) + (part,)]


def merged(x: Tensor) -> Tensor:
    return x.contiguous().flatten(0, 1) if x.dim() > 1 else x


def halves(x: Tensor) -> Tensor:
    return x.contiguous().unflatten(-1, (2, -1))


def picked(x: Tensor, dim: int, index: int) -> Tensor:
    return x.select(dim % x.dim(), index) if x.dim() > 1 else x


def swapped(x: Tensor, dim: int) -> Tensor:
    return x.transpose(0, dim % x.dim())


def first_of(x: Tensor, dim: int) -> Tensor:
    return along(x, dim, slice(0, 1))


steps: st.SearchStrategy[Step] = st.one_of(
    st.builds(
        lambda dim, start, stop, step: lambda x: along(x, dim, slice(start, stop, step)),
        dims, bounds, bounds, st.sampled_from([None, 1, 2, 3]),
    ),
    st.builds(lambda dim: lambda x: x + first_of(x, dim), dims),
    st.builds(lambda dim: lambda x: first_of(x, dim) * x, dims),
    st.builds(lambda dim: lambda x: x + x.sum(dim % x.dim(), keepdim=True), dims),
    st.builds(lambda dim: lambda x: first_of(x, dim).expand(x.shape), dims),
    st.builds(lambda dim: lambda x: swapped(x, dim), dims),
    st.builds(lambda dim, index: lambda x: picked(x, dim, index), dims, st.integers(-2, 2)),
    st.builds(lambda dim: lambda x: x.unsqueeze(dim % (x.dim() + 1)), dims),
    st.builds(lambda dim, n: lambda x: x.chunk(n, dim % x.dim())[0], dims, st.integers(1, 3)),
    st.builds(lambda dim, n: lambda x: x.split(n, dim % x.dim())[-1], dims, st.integers(1, 5)),
    st.builds(lambda dim: lambda x: torch.cat([x, along(x, dim, slice(1, None))], dim % x.dim()), dims),
    st.just(merged),
    st.just(halves),
    st.just(lambda x: x.contiguous().reshape(-1)),
    st.just(lambda x: x.contiguous()),
    st.just(lambda x: x.contiguous().reshape(x.shape[0], -1)),
    st.just(lambda x: x.view(x.shape[::-1])),
    st.just(lambda x: x @ x.transpose(-1, -2) if x.dim() > 1 else x),
)  # fmt: skip


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(st.lists(steps, min_size=1, max_size=5), st.sampled_from([(6, 8), (5, 2), (1, 3), (3, 0), (4, 4)]))
def test_a_chain_is_recorded_for_all_sizes_that_its_guards_allow(
    chain: list[Step], hints: tuple[int, int]
) -> None:
    def program(x: Tensor) -> list[Tensor]:
        found = [x]
        for step in chain:
            found.append(step(found[-1]))
        return found

    shapes = {"x": "a b 4"}
    sizes = {"a": hints[0], "b": hints[1]}
    try:
        eager(program, shapes, sizes)
    except (RuntimeError, IndexError):
        assume(False)
    recorded = record(program, shapes, sizes)
    assert isinstance(recorded.env, ShapeEnv)
    assert recorded.holds({"s0": hints[0], "s1": hints[1]})
    check(program, shapes, recorded, only_general=True)

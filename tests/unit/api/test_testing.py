"""Counters and assertions for tests of user programs."""

import pytest
import torch

import supple
from supple.testing import CompileCounter, CompileCounterWithBackend, assert_compiles

X = torch.ones(3)


def test_a_counter_counts_graphs_and_calls() -> None:
    counter = CompileCounter()
    compiled = supple.compile(lambda x: torch.sin(x) * 2 + x, backend=counter)
    assert torch.equal(compiled(X), torch.sin(X) * 2 + X)
    compiled(torch.ones(4))
    assert (counter.graphs, counter.ops) == (counter.frame_count, counter.op_count) == (2, 6)
    counter.clear()
    assert (counter.graphs, counter.ops) == (0, 0)


def test_a_counter_hands_graphs_on() -> None:
    inner = CompileCounter()
    counter = CompileCounterWithBackend(inner)
    supple.compile(lambda x: x + 1, backend=counter)(X)
    assert (counter.graphs, inner.graphs, len(counter.seen)) == (1, 1, 1)
    assert isinstance(counter.seen[0], torch.fx.GraphModule)


def test_compilations_are_asserted() -> None:
    compiled = supple.compile(lambda x: x + 1, backend="eager")
    with assert_compiles(1):
        compiled(X)
        compiled(X)
    with assert_compiles(0):
        compiled(X)
    with pytest.raises(AssertionError, match="1 graphs were captured, not 0"), assert_compiles(0):
        compiled(torch.ones(4))

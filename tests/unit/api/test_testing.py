"""Counters and assertions for tests of user programs."""

import pytest
import torch

import supple
from supple.testing import CompileCounter, CompileCounterWithBackend, CompileProfiler, assert_compiles

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


def profiled(x: torch.Tensor, n: int) -> torch.Tensor:
    y = x * n
    supple.graph_break()
    return y + 1


def test_a_profiler_reports_breaks_and_recompilations() -> None:  # PRF01, PRF02
    with CompileProfiler() as prof:
        compiled = supple.compile(profiled, backend=prof, dynamic=False)
        for n in range(12):
            assert torch.equal(compiled(X, n), X * n + 1)
    [broken] = prof.breaks
    assert (broken.code, broken.count) == ("B118", 12)
    assert len(prof.recompilations["profiled"]) == 11
    text = prof.report()
    assert "13 graphs, 13 operations, 13 compilations" in text
    assert "`supple.graph_break()` was called. [B118] (ends 12 compilations)" in text
    assert "profiled: 11 recompilations\n  11 x L['n'] was 0, is 1 (int)" in text
    assert "SUPPLE_DYNAMIC_SOURCES=\"L['n']\"" in text


def test_a_profile_grows_and_ends_with_its_block() -> None:  # PRF02
    prof = CompileProfiler()
    compiled = supple.compile(profiled, backend=prof, dynamic=False)
    for n in range(3):
        with prof:
            compiled(X, n)
        assert len(prof.recompilations.get("profiled", ())) == n
    compiled(X, 9)
    assert len(prof.recompilations["profiled"]) == 2


def test_a_profiler_may_limit_recompilations() -> None:  # PRF01
    with CompileProfiler(limit=1) as prof:
        compiled = supple.compile(profiled, backend=prof, dynamic=False)
        for n in range(3):
            compiled(X, n)
    assert "Runs eager: profiled hit the recompile_limit (1)" in prof.report()


def test_a_profile_without_findings_says_so() -> None:
    with CompileProfiler() as prof:
        supple.compile(lambda x: x + 1, backend=prof)(X)
    assert prof.report().endswith(
        "1 graph, 1 operation, 1 compilation\n\nNo graph breaks.\n\nNo recompilations."
    )

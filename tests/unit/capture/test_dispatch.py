"""Dispatch: guards are checked against their own call; a failing guard is an error of the compiler."""

import gc

import pytest
import torch

import supple
from supple.base.errors import one_line
from supple.base.options import Options
from supple.capture import compilation, dispatch
from supple.capture.guards.kinds import Guard, Kind
from supple.capture.source import local
from supple.errors import InternalError
from supple.ir.graph.interp import compile_python

COMPILER = compilation.Compiler(lambda graph, examples: compile_python(graph), Options())


def scaled(x: torch.Tensor, n: int = 2) -> torch.Tensor:
    return x * n


def call(*args: object) -> compilation.Call:
    return compilation.Call(scaled, args, {}, {"x": args[0], "n": 2})


def test_guards_that_do_not_hold_for_their_own_call_are_an_error() -> None:
    with pytest.raises(InternalError, match=r"L\['n'\] was 3, is 2"):
        compilation.checked(call(torch.ones(2)), (Guard(local("n"), Kind.EQUALS, 3),))


def test_guards_on_arguments_alone_hold_for_arguments_like_these() -> None:
    guards = compilation.argument_guards(call(torch.ones(2)))
    made = compilation.checked(call(torch.ones(2)), guards)
    assert made.check(torch.zeros(2)) is None
    assert made.check(torch.zeros(3)) == 0
    assert made.check(torch.zeros(2), 2.0) == 1


def test_a_hit_costs_no_capture() -> None:
    versions = dispatch.Versions(scaled, COMPILER)
    assert torch.equal(versions.call((torch.ones(2),), {}), torch.full((2,), 2.0))
    [entry] = versions.entries.all
    assert versions.find((torch.ones(2),), {}) is entry
    assert versions.find((torch.ones(3),), {}) is None
    assert versions.find((), {}) is None


def test_one_line_has_every_part() -> None:
    stack = (compilation.place_of(scaled),)
    facts = {"function": "f", "limit": "recompile_limit (3)", "last": "L['n'] was 1, is 2"}
    reason = dispatch.Unsupported(dispatch.LIMIT, stack, **facts)
    line = one_line("f", reason, "runs eager")
    assert line.startswith("f runs eager: f hit the recompile_limit (3)")
    assert "test_dispatch.py" in line
    assert "\n" not in line


def test_a_graph_that_an_entry_has_is_not_compiled_again() -> None:
    made: list[object] = []

    def backend(graph: torch.fx.GraphModule, examples: list[torch.Tensor]) -> object:
        made.append(graph)
        return graph.forward

    class Settings:
        name = "a"

    def scaled(x: torch.Tensor, settings: Settings, number: float) -> torch.Tensor:
        return x * number if settings.name else x

    run = supple.compile(scaled, backend=backend, dynamic=False)
    x, settings = torch.randn(3), Settings()
    for name, number, graphs in (("a", 2.0, 1), ("b", 2.0, 1), ("b", -0.0, 2), ("c", 0.0, 3), ("b", 0.0, 3)):
        settings.name = name
        assert torch.equal(run(x, settings, number), x * number)
        assert len(made) == graphs
    with torch.no_grad():
        run(x, settings, 2.0)
    assert len(made) == 4


@pytest.mark.parametrize("is_on", [True, False])
def test_backends_and_programs_keep_the_collector_of_cycles_as_it_was(is_on: bool) -> None:
    seen: list[bool] = []

    def backend(graph: torch.fx.GraphModule, examples: list[torch.Tensor]) -> object:
        seen.append(gc.isenabled())
        return graph.forward

    before = gc.isenabled()
    (gc.enable if is_on else gc.disable)()
    try:
        supple.compile(lambda x: x + 1, backend=backend)(torch.ones(2))
        seen.append(gc.isenabled())
    finally:
        (gc.enable if before else gc.disable)()
    assert seen == [is_on, is_on]

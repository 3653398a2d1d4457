"""Explanations: what one call gave, as an object and as a report."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import supple
from tests import programs
from tests.programs import toy_example

X = torch.ones(3)


def inner(y: Tensor) -> Tensor:
    supple.graph_break()
    return y + 1


def outer(x: Tensor, count: int) -> Tensor:
    y = inner(x * 2)
    for _ in range(count):
        if y.sum() < 0:
            y = y + 1
        y = y * 2
    return y


def long(x: Tensor) -> Tensor:
    for _ in range(30):
        x = x.sin()
    return x + 1


def test_the_toy_example_has_two_graphs_and_a_break(
    capsys: pytest.CaptureFixture[str],
) -> None:  # EXP02, EXP04
    found: Any = supple.explain(toy_example)(torch.ones(10), -torch.ones(10))
    assert capsys.readouterr().out == "woo\n"
    assert torch.equal(found.result, torch.full((10,), 0.5))
    assert len(found.graphs) == len(found.ops_per_graph) == 2
    assert found.op_count == 7
    [broken] = found.breaks
    assert (broken.code, broken.count, broken.is_eager) == ("B104", 1, False)
    assert broken.stack[-1].text == "if b.sum() < 0:"
    assert "torch.where" in broken.fix
    assert {"total", "capture", "guards"} <= set(found.compile_times)
    assert all(isinstance(graph, torch.fx.GraphModule) for graph in found.graphs)
    assert any(guard.source == "L['a']" and "size=[10]" in guard.condition for guard in found.guards)


def test_an_explanation_is_a_report() -> None:  # EXP02, GB03
    text = str(supple.explain(toy_example)(torch.ones(10), -torch.ones(10)))
    assert text.startswith("supple produced 2 graphs, with 1 graph break and 7 operations.\n")
    assert "1. toy_example: torch.abs, operator.add, operator.truediv, Tensor.sum, operator.lt\n" in text
    line = toy_example.__code__.co_firstlineno
    assert f"2. toy_example from line {line + 4}: operator.mul, operator.mul\n" in text
    assert f"at {programs.__file__}:{line + 3} in toy_example\n        if b.sum() < 0:\n" in text
    assert "python -m supple explain B104" in text


def test_an_explanation_unpacks_to_four_values() -> None:  # EXP01
    found: Any = supple.explain(toy_example, torch.ones(10), torch.ones(10))
    explanation, guards, graphs, ops_per_graph = found
    assert isinstance(explanation, str)
    assert len(graphs) == len(ops_per_graph) == 2
    assert guards


def test_breaks_of_all_frames_are_listed_once_with_counts() -> None:  # EXP03, GB10
    found = supple.explain(outer)(X, 3)
    assert [one.code for one in found.breaks] == ["B118", "B104"]
    assert [one.function for one in found.breaks[0].stack] == ["outer", "inner"]
    assert found.breaks[1].count > 1


def test_modules_methods_and_compiled_functions_are_explained() -> None:
    module = torch.nn.Linear(3, 3)
    for target in (module, module.forward, supple.compile(module), supple.compile(module.forward)):
        assert len(supple.explain(target)(X).graphs) == 1


@pytest.mark.parametrize("disable", [supple.disable, torch.compiler.disable])
def test_the_reason_for_a_disabled_function_is_told(disable: Any) -> None:  # X-CTL04
    disabled = disable(inner, reason="it is too odd")
    [found] = supple.explain(lambda x: disabled(x) + 1)(X).breaks
    assert found.reason == "A call of inner, which is marked as disabled: it is too odd. [B103]"


def test_a_call_that_runs_eager_is_told() -> None:
    def skipped(x: Tensor) -> Tensor:
        supple.skip_frame()
        return x + 1

    found = supple.explain(skipped)(X)
    assert found.graphs == ()
    assert found.breaks[0].is_eager
    assert "(the whole call runs eager)" in str(found)


def test_compilations_of_others_are_not_explained() -> None:
    compiled = supple.compile(toy_example, backend="eager")

    def calls(x: Tensor) -> Tensor:
        supple.graph_break()
        return x + 1

    compiled(X, X)
    found = supple.explain(calls)(X)
    assert len(found.compilations) == 2
    assert len(found.graphs) == 1, "nothing stands before the break"  # X-CTL06


def test_the_report_of_many_guards_is_short() -> None:
    module = torch.nn.Sequential(*(torch.nn.Linear(3, 3) for _ in range(8)))
    found = supple.explain(module)(X)
    assert f"and {len(found.guards) - 20} more" in str(found)


def test_the_variables_of_a_module_have_its_name() -> None:
    def f(x: Tensor) -> Tensor:
        return torch.nn.functional.dropout(x, rate())

    @supple.disable
    def rate() -> float:
        return 0.5

    text = str(supple.explain(f)(X))
    assert "IS the variables of torch.nn.functional" in text
    assert max(map(len, text.splitlines())) < 1000


def test_a_part_behind_a_break_has_the_name_of_its_function() -> None:  # GB08
    names = [one.name for one in supple.explain(outer)(X, 0).compilations]
    first = [function.__code__.co_firstlineno for function in (inner, outer)]
    assert names == ["outer", f"inner from line {first[0] + 1}", f"outer from line {first[1] + 1}"]


def test_operations_of_a_large_graph_are_counted() -> None:
    assert "1. long: 31 operations: 30 x Tensor.sin, 1 x operator.add\n" in str(supple.explain(long)(X))


def test_compile_times_name_functions_and_stages() -> None:  # PRF03
    supple.reset()
    supple.compile(toy_example)(X, X)
    text = supple.compile_times()
    assert text.startswith("Compile times in seconds\n")
    assert "toy_example  " in text
    assert "stage capture" in text
    supple.compile(inner)(X)
    assert "inner  " in supple.compile_times()


def test_torch_save_breaks_once_and_writes_once(tmp_path: Path) -> None:  # GB01, GB02, GB06, GB07
    path = tmp_path / "foo.pt"

    def f(x: Tensor) -> Tensor:
        y = x**2 / 2
        torch.save(y, path)
        return y**3 / 6

    found: Any = supple.explain(f)(X)
    assert found.ops_per_graph == (("operator.pow", "operator.truediv"),) * 2
    assert [one.code for one in found.breaks] == ["B123"]
    assert torch.equal(torch.load(path), X**2 / 2)
    assert torch.equal(found.result, (X**2 / 2) ** 3 / 6)

"""The programs of the reference's frequently asked questions, and what its text says of them."""

import logging
import os
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import supple
from supple.errors import Unsupported
from supple.testing import CompileCounter, CompileProfiler
from tests.programs import toy_example

A, B = torch.randn(10), -torch.rand(10) - 0.1

PROGRAM = """\
import torch
import supple

@supple.compile
def toy_example(a, b):
    x = a / (torch.abs(a) + 1)
    print("woo")
    if b.sum() < 0:
        b = b * -1
    return x * b

toy_example(torch.randn(10), torch.randn(10))
toy_example(torch.randn(20), torch.randn(20))
toy_example(torch.randn(30), torch.randn(30))
"""


def test_explain_lists_graphs_breaks_and_operations(
    capsys: pytest.CaptureFixture[str],
) -> None:  # EXP01, EXP02
    # The reference counts a break at `print` too: it is captured here, and printed behind the graph.
    found: Any = supple.explain(toy_example, A, B)
    explanation, out_guards, graphs, ops_per_graph = found
    assert explanation.startswith("supple produced 2 graphs, with 1 graph break and 7 operations.\nGraphs:")
    assert "Break reasons:\n  1. A branch on the value of a tensor" in explanation
    assert "programs.py" in explanation
    assert "\n        if b.sum() < 0:\n" in explanation
    assert (len(graphs), list(map(len, ops_per_graph))) == (2, [5, 2])
    assert out_guards
    assert capsys.readouterr().out == "woo\n", "the program ran, once"
    assert torch.equal(found.result, toy_example(A, B))


def test_the_other_branch_is_another_graph() -> None:  # EXP04
    assert [len(ops) for ops in supple.explain(toy_example)(A, -B).ops_per_graph] == [5, 1]


def test_fullgraph_raises_at_the_first_break() -> None:  # GB11, CAP12, CAP13
    counter = CompileCounter()
    for compiled in (
        supple.compile(toy_example, fullgraph=True, backend=counter),
        supple.optimize(counter, nopython=True)(toy_example),
    ):
        with pytest.raises(Unsupported, match=r"\[B104\]\n  at .*programs.py:\d+ in toy_example\n") as caught:
            compiled(A, B)
        assert "do:  Use torch.where" in str(caught.value)
    assert counter.graphs == 0


def test_the_profiler_runs_a_program_and_reports() -> None:  # PRF01
    def my_model(size: int = 3) -> Tensor:
        x = torch.ones(size)
        supple.graph_break()
        return x * 2

    with CompileProfiler() as prof:
        profiler_model = supple.compile(my_model, backend=prof, dynamic=False)
        for size in range(2, 5):
            assert torch.equal(profiler_model(size), my_model(size))
        report = prof.report()
    assert "[B118]" in report
    assert "my_model: 2 recompilations" in report
    assert "2 x L['size'] was" in report


def test_a_frozen_function_compiles_no_more() -> None:  # REC05
    counter = CompileCounter()
    compiled = supple.compile(toy_example, backend=counter, dynamic=False)
    compiled(A, B)
    assert counter.graphs == 2
    frozen_toy_example = supple.run(compiled)
    for size in (10, 11):
        a, b = torch.randn(size), torch.randn(size)
        assert torch.equal(frozen_toy_example(a, b), toy_example(a, b))
    assert counter.graphs == 2


def test_compile_times_list_functions(capsys: pytest.CaptureFixture[str]) -> None:  # PRF03
    supple.reset()
    supple.compile(toy_example)(A, B)
    times = supple.compile_times()
    assert times.startswith("Compile times")
    assert "toy_example " in times
    assert "stage codegen" in times


@pytest.mark.parametrize("backend", ["eager", "native"])
def test_stages_are_told_apart_by_backends(backend: str) -> None:  # DBG01, DBG02
    torch.testing.assert_close(supple.compile(toy_example, backend=backend)(A, B), toy_example(A, B))


def test_verbose_shows_the_stack_of_the_compiler_and_of_the_program() -> None:  # LOG14
    texts: list[str] = []
    for is_verbose in (True, False):
        with supple.config.patch(verbose=is_verbose), pytest.raises(Unsupported) as caught:
            supple.compile(toy_example, fullgraph=True)(A, B)
        texts.append("".join(traceback.format_exception(caught.value)))
    assert all("if b.sum() < 0:" in text for text in texts)
    assert ["supple/capture/interp" in text for text in texts] == [True, False]


def test_the_log_level_is_a_setting() -> None:  # LOG15
    with supple.config.patch(log_level=logging.ERROR):
        assert supple.config.log_level == logging.ERROR
    assert supple.config.log_level == logging.WARNING


@pytest.mark.parametrize(
    ("variables", "present", "absent"),
    [
        ({"SUPPLE_LOGS": "graph_breaks"}, ["[__graph_breaks] A branch on"], ["TRACED GRAPH"]),
        ({"SUPPLE_LOGS": "bytecode,side_effects"}, ["MODIFIED BYTECODE", "calls print with str 'woo'"], []),
        ({"SUPPLE_LOGS": "graph,guards"}, ["TRACED GRAPH", "[__guards] GUARDS ("], []),
        (
            {"SUPPLE_LOGS": "recompiles"},
            ["Recompiling function toy_example", "expected 10, actual 20"],
            ["30\n"],
        ),
        ({"SUPPLE_LOGS": "recompiles", "SUPPLE_DYNAMIC_SHAPES": "1"}, [], ["size mismatch"]),
        (
            {"SUPPLE_LOGS": "nonsense"},
            ["unknown log channel 'nonsense'; the channels are", "graph_breaks"],
            [],
        ),
    ],
    ids=lambda value: ",".join(value.values()) if isinstance(value, dict) else "",
)
def test_the_environment_chooses_what_is_told(
    variables: dict[str, str], present: list[str], absent: list[str], tmp_path: Path
) -> None:  # LOG02, LOG03, X-OBS03, DYN19
    program = tmp_path / "toy.py"
    program.write_text(PROGRAM, encoding="utf-8")
    environment = {**os.environ, **variables}
    done = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    assert [text for text in present if text not in done.stderr] == []
    assert [text for text in absent if text in done.stderr] == []

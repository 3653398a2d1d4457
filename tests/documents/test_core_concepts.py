"""The programs of the reference document on the compiler's core concepts, and what its text says of them."""

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import supple
from supple.testing import CompileCounterWithBackend

X = torch.randn(3)
Text = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    yield
    supple.set_logs()


def saving(path: Path) -> Callable[[Tensor], Tensor]:
    def f(x: Tensor) -> Tensor:
        y = x**2 / 2
        torch.save(y, path)
        z = y**3 / 6
        return z

    return f


def fn(x: Tensor) -> Tensor:
    return x + 1


def told(capsys: Text, channel: str) -> list[str]:
    """Return the lines of a channel, without prefixes."""
    lines = capsys.readouterr().err.splitlines()
    return [line.partition(f"[__{channel}] ")[2] for line in lines if f"[__{channel}]" in line]


def test_a_function_becomes_a_graph_bytecode_and_guards(capsys: Text) -> None:  # CAP04, CAP06, CAP07
    scale, seen = torch.ones(3), list[Tensor]()

    def f(x: Tensor) -> Tensor:
        y = x * scale
        seen.append(y)
        return y + 1

    counter = CompileCounterWithBackend("eager")
    supple.set_logs(bytecode=True, guards=True, side_effects=True)
    compiled = supple.compile(f, backend=counter)
    for count in (1, 2, 3):
        assert torch.equal(compiled(X), X + 1)
        assert len(seen) == count
    assert counter.graphs == 1
    inputs = [node for node in counter.seen[0].graph.nodes if node.op == "placeholder"]
    assert len(inputs) == 2, "the argument, and what the function needs besides"
    text = capsys.readouterr().err
    assert "MODIFIED BYTECODE" in text
    assert "TENSOR Tensor, torch.float32" in text
    assert "(list)" in text


def test_a_save_in_the_middle_is_a_break_between_two_graphs(
    tmp_path: Path, capsys: Text
) -> None:  # GB01, GB09
    path = tmp_path / "foo.pt"
    f = saving(path)
    counter = CompileCounterWithBackend("eager")
    supple.set_logs(graph_breaks=True)
    compiled = supple.compile(f, backend=counter)
    result = compiled(X)
    assert counter.graphs == 2
    assert torch.equal(torch.load(path), X**2 / 2)
    path.unlink()
    assert torch.equal(compiled(X), result)
    assert path.exists(), "the file is written in each call"
    lines = told(capsys, "graph_breaks")
    assert len([line for line in lines if "[B123]" in line]) == 1
    assert any("test_core_concepts.py" in line and line.endswith("in saving.<locals>.f") for line in lines)
    assert "    torch.save(y, path)" in lines


def test_the_parts_are_what_the_parts_alone_would_be(tmp_path: Path) -> None:  # GB02, GB07
    def g(x: Tensor) -> Tensor:
        return x**2 / 2

    def h(y: Tensor) -> Tensor:
        return y**3 / 6

    path = tmp_path / "foo.pt"
    whole = supple.explain(saving(path))(X)
    y = supple.compile(g, fullgraph=True)(X)
    torch.save(y, path)
    z = supple.compile(h, fullgraph=True)(y)
    expected: Any = whole.result
    torch.testing.assert_close(z, expected)
    alone = (supple.explain(g)(X), supple.explain(h)(y))
    assert whole.ops_per_graph == tuple(one.ops_per_graph[0] for one in alone)


@pytest.mark.parametrize("cause", ["if", "builtin", "C"])
def test_breaks_come_from_tensor_branches_builtins_and_c_functions(cause: str) -> None:  # GB03, GB04, GB05
    import zlib  # noqa: PLC0415

    def f(x: Tensor) -> Tensor:
        if cause == "if" and x.sum() > 100:
            return x
        if cause == "builtin":
            print(x)
        return x + (zlib.crc32(cause.encode()) % 2 if cause == "C" else 1)

    found: Any = supple.explain(f)(X)
    assert torch.equal(found.result, f(X))
    assert [one.code for one in found.breaks] == [{"if": "B104", "builtin": "B106", "C": "B102"}[cause]]


def test_the_guard_on_the_argument_is_logged(capsys: Text) -> None:  # GRD06, LOG05
    supple.set_logs(guards=True)
    assert torch.equal(supple.compile(fn)(torch.ones(3, 3)), torch.full((3, 3), 2.0))
    [line] = [line for line in told(capsys, "guards") if "TENSOR" in line]
    assert "device=cpu, requires_grad=False, size=[3, 3], stride=[3, 1]" in line
    assert "return x + 1" in line


def test_another_shape_is_a_recompilation_with_its_reason(capsys: Text) -> None:  # REC02, LOG06
    supple.set_logs(recompiles=True)
    compiled = supple.compile(fn)
    compiled(torch.ones(3, 3))
    assert told(capsys, "recompiles") == []
    compiled(torch.ones(4, 4))
    lines = told(capsys, "recompiles")
    assert lines[0].startswith("Recompiling function fn in ")
    assert "tensor 'x' size mismatch at index 0. expected 3, actual 4" in lines[2]


def test_with_dynamic_shapes_another_shape_is_none(capsys: Text) -> None:  # DYN02, LOG08
    supple.set_logs(dynamic=logging.DEBUG, recompiles=True)
    compiled = supple.compile(fn, dynamic=True)
    for size in (3, 4):
        assert torch.equal(compiled(torch.ones(size, size)), torch.full((size, size), 2.0))
    text = capsys.readouterr().err
    assert "Recompiling" not in text
    assert text.count("create_env") == 1
    assert "create_symbol s0 = 3 for L['x'].size()[0]" in text
    assert "track_symint L['x'].size()[0] s0" in text

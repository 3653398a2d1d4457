"""Compiled objects in the hands of torch's own tracers, and of libraries that ask for their own classes."""

import subprocess
import sys
import textwrap

import pytest
import torch
from torch import nn

import supple

X = torch.tensor([1.0, 2.0, 3.0])


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, input_ids: torch.Tensor, labels: torch.Tensor | None = None) -> torch.Tensor:
        return self.layer(input_ids) if labels is None else self.layer(input_ids) - labels


class Plain(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x) * 2


def scaled(x: torch.Tensor) -> torch.Tensor:
    return x.sin() * 2


def test_a_compiled_module_passes_for_an_object_of_its_class() -> None:  # E4, E5
    net = Net()
    compiled = supple.compile(net)
    assert isinstance(compiled, Net)
    assert compiled.__class__ is Net
    assert not isinstance(compiled, Plain)
    assert type(compiled).forward.__wrapped__ is Net.forward  # what libraries read the arguments from


def test_a_compiled_module_is_unwrapped_and_wrapped_again() -> None:
    net, other = Net(), Net()
    compiled = supple.compile(net)
    assert compiled._orig_mod is net
    assert torch.equal(compiled(X), net(X))
    compiled._orig_mod = other
    assert compiled.orig is other
    torch.testing.assert_close(compiled(X), other(X))
    assert sorted(compiled.state_dict()) == ["layer.bias", "layer.weight"]


@pytest.mark.filterwarnings("ignore:.torch.jit.trace:DeprecationWarning")
@pytest.mark.parametrize("calls_before", [False, True])
@pytest.mark.parametrize("is_module", [False, True])
def test_jit_records_what_a_compiled_object_does(is_module: bool, calls_before: bool) -> None:  # B8
    target = Plain() if is_module else scaled
    compiled = supple.compile(target)
    if calls_before:
        compiled(X)
    traced = torch.jit.trace(compiled, (X,))
    torch.testing.assert_close(traced(X + 1), target(X + 1))
    torch.testing.assert_close(compiled(X + 1), target(X + 1))


@pytest.mark.parametrize("calls_before", [False, True])
def test_fx_sees_through_a_compiled_module(calls_before: bool) -> None:
    module = Plain()
    compiled = supple.compile(module)
    if calls_before:
        compiled(X)
    graph = torch.fx.symbolic_trace(compiled)
    torch.testing.assert_close(graph(X), module(X))
    assert {node.op for node in graph.graph.nodes} == {
        "placeholder",
        "call_module",
        "call_function",
        "output",
    }


@pytest.mark.parametrize(
    "program",
    [
        "check(torch.compile(supple.compile(scaled), backend='eager'), scaled)",
        "c = supple.compile(scaled); check(torch.compile(lambda x: c(x), backend='eager'), scaled)",
        "m = torch.nn.Linear(3, 3); check(torch.compile(supple.compile(m), backend='eager'), m)",
        "m = torch.nn.Linear(3, 3); check(torch.compile(m, backend='supple'), m)",
        "m = torch.nn.Linear(3, 3); want = m(X); m.compile(backend='supple'); check(m, lambda x: want)",
    ],
)
def test_torch_compile_and_supple_compile_meet(program: str) -> None:
    setting = """
        import torch
        import supple

        X = torch.tensor([1.0, 2.0, 3.0])

        def scaled(x):
            return x.sin() * 2

        def check(run, eager):
            for _ in range(2):
                torch.testing.assert_close(run(X), eager(X))
    """
    code = textwrap.dedent(setting) + program
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr

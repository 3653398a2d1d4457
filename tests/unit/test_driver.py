"""The pipeline: which backend compiles, what is checked, what is built once."""

import pytest
import torch

import supple
from supple import driver
from supple.base.errors import SpecError
from supple.base.options import Options
from supple.ir.graph.nodes import Graph, Input, Node, Var
from supple.ir.ops import op_named
from supple.shapes.fake import fake_like, meta_of

X = torch.arange(4.0)


def softmax_twice(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(torch.softmax(x * 2, -1) + 1, -1)


@pytest.mark.parametrize("check", [0, 1, 2])
@pytest.mark.parametrize("fusion", [True, False])
def test_each_level_of_checks_accepts_right_programs(check: int, fusion: bool) -> None:
    options = {"check": check, "fusion": fusion}
    compiled = supple.compile(softmax_twice, fullgraph=True, options=options)
    torch.testing.assert_close(compiled(X), softmax_twice(X))


def test_without_fusion_there_are_more_kernels() -> None:
    supple.compile(softmax_twice, options={"fusion": False})(X)
    apart = supple.stats()["kernels"]
    supple.reset()
    supple.compile(softmax_twice)(X)
    assert isinstance(apart, int)
    assert apart > supple.stats()["kernels"]  # type: ignore[operator]


def test_a_graph_that_needs_gradients_runs_as_captured() -> None:
    w = torch.ones(4, requires_grad=True)
    y = supple.compile(lambda x, w: (x * w).sum(), fullgraph=True)(X, w)
    y.backward()
    assert torch.equal(w.grad, X)
    assert supple.stats()["kernels"] == 0
    [why] = supple.stats()["refusals"]  # type: ignore[misc]
    assert "requires grad" in why


def graph(name: str = "x", op: str = "aten.sin.default") -> Graph:
    """A graph of one operation, as capture and decomposition make it."""
    meta = meta_of(fake_like(X))
    return Graph((Input(name, meta),), (Node("y", op_named(op), (Var(name),), {}, meta),), (Var("y"),))


def test_equal_graphs_have_one_key_whatever_their_names() -> None:
    assert driver.stable_key(graph("x"), Options()) == driver.stable_key(graph("z"), Options())


def test_other_graphs_and_options_have_other_keys() -> None:
    keys = {
        driver.stable_key(graph(), Options()),
        driver.stable_key(graph(op="aten.cos.default"), Options()),
        driver.stable_key(graph(), Options(fusion=False)),
    }
    assert len(keys) == 3


def test_a_graph_that_breaks_its_rules_is_refused_under_check() -> None:
    broken = Graph((), graph().nodes, (Var("y"),))
    driver.check_graph(broken, 0)
    with pytest.raises(SpecError):
        driver.check_graph(broken, 1)


@pytest.mark.slow
def test_backends_of_torch_are_found_by_name() -> None:
    compiled = supple.compile(softmax_twice, backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(compiled(X), softmax_twice(X))
    known = "unknown backend 'nativ'; known backends are eager, native"
    with pytest.raises(supple.errors.InvalidBackendError, match=known):
        supple.compile(softmax_twice, backend="nativ")

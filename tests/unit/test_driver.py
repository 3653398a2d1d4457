"""The pipeline: which backend compiles, what is checked, what is built once."""

from collections.abc import Mapping
from typing import NoReturn, cast

import pytest
import torch

import supple
from supple import native
from supple.base.errors import SpecError
from supple.base.options import Options
from supple.expr import less_equal
from supple.ir.dtypes import DType
from supple.ir.graph.nodes import Graph, Input, Node, Var
from supple.ir.meta import contiguous
from supple.ir.ops import op_named
from supple.shapes.env import ShapeEnv, using
from supple.shapes.errors import Undecided
from supple.shapes.fake import fake_like, meta_of

X = torch.arange(4.0)


def softmax_twice(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(torch.softmax(x * 2, -1) + 1, -1)


@pytest.mark.parametrize("check", [0, 1, 2, "memory"])
@pytest.mark.parametrize("fusion", [True, False])
def test_each_level_of_checks_accepts_right_programs(check: int | str, fusion: bool) -> None:
    options = {"check": check, "fusion": fusion}
    compiled = supple.compile(softmax_twice, fullgraph=True, options=options)
    torch.testing.assert_close(compiled(X), softmax_twice(X))


@pytest.mark.parametrize("check", [1, 2, "memory"])
def test_checks_accept_operators_with_results_that_are_none(check: int | str) -> None:
    x, w = torch.randn(1, 3, 8), torch.randn(3, 3, 3, requires_grad=True)
    compiled = supple.compile(torch.nn.functional.conv1d, fullgraph=True, options={"check": check})
    got, want = (torch.autograd.grad(run(x, w).sum(), w) for run in (compiled, torch.nn.functional.conv1d))
    torch.testing.assert_close(got, want)


def test_without_fusion_there_are_more_kernels() -> None:
    supple.compile(softmax_twice, options={"fusion": False})(X)
    apart = cast("int", supple.stats()["kernels"])
    supple.reset()
    supple.compile(softmax_twice)(X)
    assert apart > cast("int", supple.stats()["kernels"])


def test_a_chain_of_a_thousand_operations_is_compiled() -> None:
    def chain(x: torch.Tensor) -> torch.Tensor:
        for _ in range(500):
            x = (x + 1).cos()
        return x

    compiled = supple.compile(chain, fullgraph=True)
    torch.testing.assert_close(compiled(X), chain(X))


def test_a_graph_that_needs_gradients_has_a_backward() -> None:
    w = torch.ones(4, requires_grad=True)
    y = supple.compile(lambda x, w: (x * w).sum(), fullgraph=True)(X, w)
    y.backward()
    assert w.grad is not None
    assert torch.equal(w.grad, X)
    assert supple.stats()["kernels"] == 2
    assert supple.stats()["refusals"] == []


def test_a_graph_whose_gradients_have_no_pure_form_runs_as_captured() -> None:
    w = torch.ones(2, 4, requires_grad=True)

    def function(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return x * w * torch.ones(4, requires_grad=True)

    supple.compile(function, fullgraph=True)(X, w).sum().backward()
    assert w.grad is not None
    assert torch.equal(w.grad, torch.stack((X, X)))
    assert supple.stats()["kernels"] == 0
    [why] = cast("list[str]", supple.stats()["refusals"])
    assert "leaf" in why


def test_code_made_at_size_0_serves_others() -> None:
    compiled = supple.compile(lambda x: x.softmax(0), dynamic=True, fullgraph=True)
    for n in (0, 3):
        x = torch.randn(n, 4)
        torch.testing.assert_close(compiled(x), x.softmax(0))
    assert supple.stats()["graphs"] == 1


def test_a_graph_that_asks_for_a_number_of_the_run_runs_as_captured(monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(made: Graph, options: Options, homes: Mapping[int, int]) -> NoReturn:
        condition = "2 <= u0"
        raise Undecided(condition)

    monkeypatch.setattr(native, "loaded", ask)
    compiled = supple.compile(softmax_twice, fullgraph=True)
    torch.testing.assert_close(compiled(X), softmax_twice(X))
    [why] = cast("list[str]", supple.stats()["refusals"])
    assert "known only when the program runs" in why


def graph(name: str = "x", op: str = "aten.sin.default") -> Graph:
    """A graph of one operation, as capture and decomposition make it."""
    meta = meta_of(fake_like(X))
    return Graph((Input(name, meta),), (Node("y", op_named(op), (Var(name),), {}, meta),), (Var("y"),))


def test_equal_graphs_have_one_key_whatever_their_names() -> None:
    assert native.stable_key(graph("x"), Options(), {}) == native.stable_key(graph("z"), Options(), {})


def test_other_graphs_and_options_have_other_keys() -> None:
    keys = {
        native.stable_key(graph(), Options(), {}),
        native.stable_key(graph(op="aten.cos.default"), Options(), {}),
        native.stable_key(graph(), Options(fusion=False), {}),
    }
    assert len(keys) == 3


def sized(env: ShapeEnv) -> Graph:
    """A graph of one operation on a tensor of any length."""
    size = env.create("L['x'].size()[0]", 4)
    meta = contiguous((size,), DType.F32)
    node = Node("y", op_named("aten.sin.default"), (Var("x"),), {}, meta)
    return Graph((Input(size.name, size), Input("x", meta)), (node,), (Var("y"),))


def test_equal_graphs_have_one_key_whatever_their_symbols_are_called() -> None:
    first, second = ShapeEnv(), ShapeEnv()
    second.create("L['n']", 3)
    with using(first):
        key = native.stable_key(sized(first), Options(), {})
    with using(second):
        assert native.stable_key(sized(second), Options(), {}) == key


def test_what_is_known_of_symbols_is_part_of_the_key() -> None:
    keys: set[str | None] = set()
    for least in (0, 1, 2):
        env = ShapeEnv()
        made = sized(env)
        assert env.decide(less_equal(least, env.symbols["s0"].symbol))
        with using(env):
            keys.add(native.stable_key(made, Options(), {}))
    assert len(keys) == 3


def test_a_graph_of_sizes_that_needs_gradients_runs_as_captured() -> None:
    w = torch.ones(4, requires_grad=True)
    compiled = supple.compile(lambda x, w: (x * w).sum() / x.shape[0], dynamic=True, fullgraph=True)
    for n in (3, 5):
        compiled(torch.ones(n, 4), w).backward()
    assert w.grad is not None
    assert torch.equal(w.grad, torch.full((4,), 2.0))
    assert supple.stats()["graphs"] == 1


def test_a_graph_that_breaks_its_rules_is_refused_under_check() -> None:
    broken = Graph((), graph().nodes, (Var("y"),))
    native.check_graph(broken, 0)
    with pytest.raises(SpecError):
        native.check_graph(broken, 1)


@pytest.mark.slow
def test_backends_of_torch_are_found_by_name() -> None:
    compiled = supple.compile(softmax_twice, backend="eager_noexcept", fullgraph=True)
    torch.testing.assert_close(compiled(X), softmax_twice(X))
    known = "unknown backend 'nativ'; known backends are aot_eager, aot_eager_decomp"
    with pytest.raises(supple.errors.InvalidBackendError, match=known):
        supple.compile(softmax_twice, backend="nativ")

"""Graphs as torch.fx modules: the same results, what a backend expects to find, and torch's own backends."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
import torch.fx
import torch.nn.functional as F

from supple.base.errors import InternalError, Where
from supple.interop.fx import compile_with, from_fx, placeholder_name, to_fx
from supple.interop.torch_bridge import list_registered, lookup_backend
from supple.ir.graph.interp import run
from supple.ir.graph.nodes import Graph, Input, Node, Var
from supple.ir.ops import function_op, method_op, op_named
from supple.shapes.fake import meta_of

X = torch.randn(2, 6)


def sample() -> Graph:
    where = (Where(__file__, 1, "f"),)
    meta = meta_of(X)
    parts = (meta_of(X[:, :3]), meta_of(X[:, 3:]))
    return Graph(
        (Input("x", meta, "L['x']"), Input("w", meta, "L['self'].weight", True)),
        (
            Node("sum", function_op("torch.add", torch.add), (Var("x"), Var("w")), {"alpha": 2}, meta, where),
            Node("chunk", method_op("chunk"), (Var("sum"), 2, -1), {}, parts),
            Node(
                "cat", op_named("aten.cat.default"), ([Var("chunk", (1,)), Var("chunk", (0,))], 1), {}, meta
            ),
        ),
        (Var("cat"), None, (Var("chunk", (0,)),)),
    )


def test_a_module_computes_what_the_graph_does() -> None:
    graph = sample()
    assert str(to_fx(graph)(X, X)) == str(run(graph, [X, X]))


def test_placeholders_are_named_after_sources() -> None:
    names = [node.name for node in to_fx(sample()).graph.nodes if node.op == "placeholder"]
    assert names == ["l_x_", "l_self_weight"]
    assert placeholder_name(Input("3", meta_of(X), "3")) == "arg_3"


def test_nodes_carry_fake_values_and_the_stack() -> None:
    nodes = list(to_fx(sample()).graph.nodes)[2:]
    assert nodes[0].meta["val"].shape == (2, 6)
    assert nodes[1].meta["example_value"][1].shape == (2, 3)
    assert "in f" in nodes[0].meta["stack_trace"]


def test_a_graph_survives_the_way_there_and_back() -> None:
    graph = sample()
    back = from_fx(to_fx(graph), [X, X])
    assert str(run(back, [X, X])) == str(run(graph, [X, X]))


def test_submodules_have_no_form() -> None:
    module = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.ReLU()))
    with pytest.raises(InternalError):
        from_fx(module, [X])


def test_a_backend_gets_the_module_and_the_examples() -> None:
    seen: list[Any] = []

    def backend(module: torch.fx.GraphModule, examples: Sequence[object]) -> Callable[..., object]:
        seen.append((module, examples))
        return module.forward

    compiled = compile_with(backend, sample(), [X, X])
    assert isinstance(compiled(X, X), tuple)
    assert isinstance(seen[0][0], torch.fx.GraphModule)
    assert seen[0][1] == [X, X]


def test_a_backend_that_returns_no_callable_is_named() -> None:
    with pytest.raises(TypeError, match="not callable"):
        compile_with(lambda module, examples: 3, sample(), [X, X])


def block(x: torch.Tensor, norm: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    hidden = F.linear(F.layer_norm(x, (8,), norm), weight, bias).view(2, 3, 3, 8)
    q, k, v = hidden[:, :, 0], hidden[:, :, 1], hidden[:, :, 2]
    return x + F.gelu(
        F.scaled_dot_product_attention(q.unsqueeze(1), k.unsqueeze(1), v.unsqueeze(1)).squeeze(1)
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("name", ["eager", "aot_eager", "inductor"])
def test_registered_backends_compile_a_block_with_and_without_gradients(name: str) -> None:
    backend = lookup_backend(name)
    assert backend is not None
    x = torch.randn(2, 3, 8)
    weights = [torch.randn(8), torch.randn(24, 8), torch.randn(24)]
    weights = [weight.requires_grad_() for weight in weights]
    graph = from_fx(torch.fx.symbolic_trace(block), [x, *weights])
    wanted = block(x, *weights)
    with torch.no_grad():
        (got,) = compile_with(backend, graph, [x, *weights])(x, *weights)
    torch.testing.assert_close(got, wanted.detach())
    (got,) = compile_with(backend, graph, [x, *weights])(x, *weights)
    assert isinstance(got, torch.Tensor)
    mine = torch.autograd.grad(got.sum(), weights)
    theirs = torch.autograd.grad(wanted.sum(), weights)
    torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-4)


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_unknown_names_are_no_backend() -> None:
    assert lookup_backend("no such backend") is None
    assert "inductor" in list_registered()

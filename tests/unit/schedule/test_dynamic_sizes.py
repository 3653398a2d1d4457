"""One schedule with a symbolic size serves several sizes."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from supple.expr import Expr, const, symbol
from supple.ir.graph.nodes import Graph, Meta, Node, Var
from supple.ir.host.nodes import Launch
from supple.ir.meta import TensorMeta
from supple.schedule import schedule
from tests.unit.schedule.aten_blocks import gelu_tanh, layer_norm, linear, softmax
from tests.unit.schedule.aten_graphs import TARGET, Program, compiled, interpreted, same

PRIME = 13
S0 = symbol("s0", minimum=2)


def sized(number: int) -> Expr:
    """Each factor PRIME of a number stands for s0."""
    if number and number % PRIME == 0:
        return S0 * sized(number // PRIME)
    return const(number)


def symbolic_meta(meta: Meta) -> Meta:
    if isinstance(meta, tuple):
        return tuple(symbolic_meta(item) for item in meta)
    if not isinstance(meta, TensorMeta):
        return meta
    sizes, strides = (tuple(sized(e.value) for e in values) for values in (meta.sizes, meta.strides))
    return replace(meta, sizes=sizes, strides=strides)


def symbolic_arg(arg: object) -> object:
    if isinstance(arg, list):
        return [symbolic_arg(item) for item in arg]
    return sized(arg) if type(arg) is int else arg


def symbolic(graph: Graph) -> Graph:
    """The graph with every factor PRIME replaced by s0."""
    inputs = tuple(replace(item, meta=symbolic_meta(item.meta)) for item in graph.inputs)
    nodes = tuple(
        Node(n.name, n.op, tuple(map(symbolic_arg, n.args)), dict(n.kwargs), symbolic_meta(n.meta))
        for n in graph.nodes
    )
    return Graph(inputs, nodes, graph.outputs)


def pointwise(p: Program, n: int) -> Var:
    return p("add.Tensor", p("exp.default", p.input(torch.randn(n, 6))), p.input(torch.randn(6)))


def normed(p: Program, n: int) -> Var:
    return layer_norm(p, p.input(torch.randn(2, n, 8)), p.input(torch.ones(8)), p.input(torch.ones(8)), 8)


def attention(p: Program, n: int) -> Var:
    scores = p("bmm.default", p.input(torch.randn(2, n, 4)), p.input(torch.randn(2, 4, n)))
    return softmax(p, p("view.default", scores, [1, 2, n, n]))


def column(p: Program, n: int) -> Var:
    return p("sum.dim_IntList", p.input(torch.randn(n, 5)), [0], False)


def mlp(p: Program, n: int) -> Var:
    x = p("view.default", p.input(torch.randn(2, n, 4)), [2 * n, 4])
    up = linear(p, x, p.input(torch.randn(6, 4)), p.input(torch.randn(6)))
    return p("view.default", gelu_tanh(p, up), [2, n, 6])


def joined(p: Program, n: int) -> Var:
    x = p.input(torch.randn(3, n))
    return p("cat.default", [p("neg.default", x), x], 1)


def heads(p: Program, n: int) -> Var:
    x = p("view.default", p.input(torch.randn(2, n, 12)), [2, n, 3, 4])
    swapped = p("clone.default", p("permute.default", x, [0, 2, 1, 3]), memory_format=torch.contiguous_format)
    return p("view.default", p("abs.default", swapped), [6, n, 4])


@pytest.mark.parametrize("build", [pointwise, normed, attention, column, mlp, joined, heads])
def test_a_schedule_serves_every_size(build: Callable[[Program, int], Var]) -> None:
    first = Program()
    graph = symbolic(first.graph(build(first, PRIME)))
    scheduled = schedule(graph, TARGET)
    assert sum(isinstance(step, Launch) for step in scheduled.host.steps) == 1
    for size in (2, 5, PRIME, 33):
        p = Program()
        wanted = p.value(build(p, size))
        for run in (interpreted, compiled):
            same(run(scheduled, p.arguments())[0], wanted, 1e-4)

"""Graphs as text and back, and the rules of their spec."""

import pytest
import torch

from supple.base.errors import SpecError
from supple.expr import const, symbol
from supple.expr.real import Real
from supple.ir.dtypes import DType
from supple.ir.graph.nodes import Constant, Graph, Input, Node, Var
from supple.ir.graph.spec import check, check_aten, check_core
from supple.ir.graph.text import parse, text
from supple.ir.meta import TensorMeta, contiguous, parse_meta
from supple.ir.ops import function_op, method_op, op_named

X = contiguous((2, 3), DType.F32)


def sample() -> Graph:
    size = symbol("s0")
    wide = TensorMeta((size, const(4)), (const(4), const(1)), DType.BF16, "cuda:0", size * 2 + 1, True)
    return Graph(
        (Input("n", size), Input("x", X, "L['x']"), Input("w", wide, "", True)),
        (
            Node("add", op_named("aten.add.Tensor"), (Var("x"), 1.5), {"alpha": 2}, X),
            Node("sort", op_named("aten.sort.default"), (Var("add"), -1, False), {}, (X, X)),
            Node("view", method_op("view"), (Var("sort", (0,)), (3, -1), [None, slice(1, None, 2)]), {}, X),
            Node(
                "full",
                function_op("torch.full", torch.full),
                ([size * 3, const(2)], float("-inf")),
                {"dtype": torch.float16, "device": torch.device("cpu"), "layout": torch.strided},
                X,
            ),
            Node("size", method_op("size"), (Var("x"), 0, ..., 1 + 2j, {"k": (Var("x"),)}), {}, const(2)),
            Node("none", method_op("zero_"), (Var("x"),), {}, Constant(None)),
            Node("empty", method_op("unbind"), (Var("x"),), {}, ()),
        ),
        (Var("view"), None, 3, (Var("sort", (1,)),)),
    )


def test_parse_inverts_text() -> None:
    graph = sample()
    assert parse(text(graph)) == graph


def symbolic() -> Graph:
    """Return a graph with integer and float inputs, and symbols that nodes define."""
    found = TensorMeta((U0, const(2)), (const(2), const(1)), DType.I64)
    scale = Real("*", (Real("input", ("f0",)), S0))
    return Graph(
        (
            Input("s0", S0, "L['x'].size()[0]"),
            Input("f0", Real("input", ("f0",)), "L['f']"),
            Input("x", ROWS, "L['x']"),
        ),
        (
            Node("nonzero", op_named("aten.nonzero.default"), (Var("x"),), {}, found),
            Node("item", method_op("item"), (Var("x"),), {}, symbol("u1")),
            Node("full", method_op("f"), ([U0 + S0, S0 % 3], scale, slice(None, S0 // 2)), {}, ROWS),
        ),
        (U0 * 2, scale, Var("full"), Real("/", (symbol("u1"), 2))),
    )


def test_graphs_with_symbols_are_well_formed_and_read_back() -> None:
    graph = symbolic()
    check(graph)
    assert parse(text(graph)) == graph


def test_the_text_declares_a_symbol_where_it_is_met_first() -> None:
    graph = symbolic()
    lines = text(graph).splitlines()
    assert "s0: \"int s0[0:] from L['x'].size()[0]\"" in lines[0]
    assert 'f0: "float f0 from' in lines[0]
    assert "x: \"f32[s0,4](4,1) from L['x']\"" in lines[0]  # DYN17
    assert 'nonzero: "i64[u0[0:100],2](2,1)"' in lines[1]
    assert "size('f0 * s0')" in lines[3]


@pytest.mark.parametrize("place", ["args", "meta", "outputs"])
def test_symbols_of_the_caller_are_inputs(place: str) -> None:
    meta, args = (ROWS, (Var("x"),)) if place == "meta" else (X, (Var("x"), S0))
    nodes = (Node("a", ADD, args, {}, meta),) if place != "outputs" else ()
    with pytest.raises(SpecError, match="gives s0"):
        check(Graph((Input("x", X),), nodes, (S0,)))


def test_text_is_a_python_function() -> None:
    graph = sample()
    compile(text(graph), "graph", "exec")


def test_objects_without_literal_are_passed_beside_the_text() -> None:
    thing = object()
    graph = Graph((), (Node("a", method_op("f"), (thing,)),), ())
    assert parse(text(graph), [thing]) == graph


@pytest.mark.parametrize("content", ["", "f32", "f32[2", "f32[2](1", "zz[2](1)"])
def test_wrong_metadata_text_is_an_error(content: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_meta(content)


@pytest.mark.parametrize(
    "source",
    [
        "x = 1",
        "def graph():\n    a = f(1)\n    return ()\n",
        "def graph():\n    a: 'value 1' = no.such(1)\n    return ()\n",
    ],
)
def test_text_that_is_no_graph_is_an_error(source: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse(source)


ADD = op_named("aten.add.Tensor")
S0, U0 = symbol("s0", minimum=0), symbol("u0", minimum=0, maximum=99)
ROWS = contiguous((S0, 4), DType.F32)
BROKEN = {
    "symbols are defined before use": Graph((Input("x", ROWS), Input("s0", S0)), (), ()),
    "unique names": Graph((Input("x", X), Input("x", X)), (), ()),
    "defined before use": Graph((), (), (Var("x"),)),
    "paths exist": Graph((Input("x", X),), (), (Var("x", (0,)),)),
    "only ATen operators": Graph((Input("x", X),), (Node("a", method_op("sin"), (Var("x"),), {}, X),), ()),
    "nothing is written": Graph(
        (Input("x", X),), (Node("a", op_named("aten.add_.Tensor"), (Var("x"), 1), {}, X),), ()
    ),
    "arguments are plain": Graph((Input("x", X),), (Node("a", ADD, (Var("x"), object()), {}, X),), ()),
    "results are known": Graph((Input("x", X),), (Node("a", ADD, (Var("x"), 1)),), ()),
    "operands of a pointwise op have one dtype": Graph(
        (Input("x", X), Input("y", contiguous((2, 3), DType.F64))),
        (Node("a", ADD, (Var("x"), Var("y")), {}, X),),
        (),
    ),
    "dimensions count from the front": Graph(
        (Input("x", X),), (Node("a", op_named("aten.amax.default"), (Var("x"), [-1], False), {}, X),), ()
    ),
}


@pytest.mark.parametrize("rule", BROKEN)
def test_a_broken_rule_is_named(rule: str) -> None:
    with pytest.raises(SpecError, match=rule):
        check_core(BROKEN[rule])


def test_metadata_that_the_rule_does_not_give_is_refused() -> None:
    graph = Graph((Input("x", X),), (Node("a", ADD, (Var("x"), 1), {}, X),), (Var("a"),))
    check_aten(graph, lambda node, metas: X)
    with pytest.raises(SpecError, match="metadata"):
        check_aten(graph, lambda node, metas: contiguous((3, 2), DType.F32))


def test_a_graph_of_functions_and_methods_is_well_formed() -> None:
    check(sample())

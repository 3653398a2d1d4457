"""Passes over graphs, and the interpreter."""

import pytest
import torch

from supple.expr import const, maximum, symbol
from supple.expr.real import Real
from supple.ir.dtypes import DType
from supple.ir.graph.interp import compile_python, last_uses, run, run_node
from supple.ir.graph.nodes import Constant, Graph, Input, Node, Var
from supple.ir.graph.rewrite import without_dead, without_repeats
from supple.ir.graph.spec import check
from supple.ir.meta import TensorMeta, contiguous
from supple.ir.ops import function_op, method_op, op_named

X = contiguous((2, 3), DType.F32)
SIN, COS, RAND = method_op("sin"), method_op("cos"), op_named("aten.bernoulli.default")


def node(name: str, op: object, *args: object) -> Node:
    return Node(name, op, args, {}, X)  # pyright: ignore[reportArgumentType]


def graph(nodes: list[Node], *outputs: object) -> Graph:
    return Graph((Input("x", X),), tuple(nodes), outputs)


def test_nodes_nobody_needs_go_away() -> None:
    before = graph([node("a", SIN, Var("x")), node("b", COS, Var("x"))], Var("b"))
    assert without_dead(before).nodes == before.nodes[1:]


def test_random_and_writing_nodes_stay() -> None:
    writes = method_op("add_", is_pure=False)
    before = graph([node("a", RAND, Var("x")), node("b", writes, Var("x"), 1)], Var("x"))
    assert without_dead(before) == before


def test_equal_calls_become_one() -> None:
    add = op_named("aten.add.Tensor")
    before = graph(
        [node("a", SIN, Var("x")), node("b", SIN, Var("x")), node("c", add, Var("a"), Var("b"))], Var("c")
    )
    after = graph([node("a", SIN, Var("x")), node("c", add, Var("a"), Var("a"))], Var("c"))
    assert without_repeats(before) == after


@pytest.mark.parametrize("other", [1.0, True, [1], torch.float32, slice(1)])
def test_calls_with_different_constants_stay(other: object) -> None:
    add = op_named("aten.add.Tensor")
    before = graph([node("a", add, Var("x"), 1), node("b", add, Var("x"), other)], Var("a"), Var("b"))
    assert without_repeats(before) == before


def test_random_calls_are_never_merged() -> None:
    before = graph([node("a", RAND, Var("x")), node("b", RAND, Var("x"))], Var("a"), Var("b"))
    assert without_repeats(before) == before


def test_values_are_dropped_after_their_last_use() -> None:
    chain = graph([node("a", SIN, Var("x")), node("b", COS, Var("a")), node("c", COS, Var("a"))], Var("b"))
    assert last_uses(chain) == [["x"], [], ["a", "c"]]


def test_the_interpreter_reads_sizes_from_inputs() -> None:
    size = symbol("s0")
    view = Node("v", method_op("view"), (Var("x"), size * 3), {}, X)
    meta = TensorMeta((size, X.sizes[1]), X.strides, DType.F32)
    program = Graph((Input("x", meta),), (view,), (Var("v"), size + 1))
    result, count = run(program, [torch.zeros(2, 3)])
    assert isinstance(result, torch.Tensor)
    assert result.shape == (6,)
    assert count == 3


S0, U0 = symbol("s0", minimum=0), symbol("u0", minimum=0)
F0 = Real("input", ("f0",))
ROWS = contiguous((S0, 3), DType.F32)
FOUND = TensorMeta((U0, const(2)), (const(2), const(1)), DType.I64)


def echo(*args: object, **kwargs: object) -> tuple[object, ...]:
    return args, kwargs


def symbolic() -> Graph:
    """Return a graph that computes with sizes, a float, a size that exists at run time only, and a number."""
    size, half = maximum(S0 * 2, 1), slice(None, S0 // 2)
    last = TensorMeta((S0 * 3,), (const(1),), DType.F32)
    return Graph(
        (Input("s0", S0), Input("scale", F0), Input("x", ROWS)),
        (
            Node("nonzero", op_named("aten.nonzero.default"), (Var("x"),), {}, FOUND),
            Node("count", method_op("numel"), (Var("nonzero"),), {}, symbol("u1")),
            Node("view", method_op("view"), (Var("x"), S0 * 3), {}, last),
            Node(
                "e",
                function_op("tests.numbers", echo),
                ([size, Var("view")], half, Real("*", (F0, S0))),
                {"k": (size, U0 - S0, Real("/", (symbol("u1"), 4)))},
                (Constant(None), Constant(None)),
            ),
        ),
        (Var("e", (0,)), Var("e", (1,)), U0, Var("count"), Real("sqrt", (S0,))),
    )


@pytest.mark.parametrize("rows", [0, 1, 4, 9])
def test_numbers_are_computed_from_the_inputs_and_from_results(rows: int) -> None:
    graph = symbolic()
    check(graph)
    x = torch.ones(rows, 3)
    got = run(graph, [rows, 2.5, x])
    count = rows * 3
    (sizes, half, scaled), named = got[0], got[1]  # pyright: ignore[reportGeneralTypeIssues]
    assert (sizes[0], half, scaled) == (max(2 * rows, 1), slice(None, rows // 2), 2.5 * rows)
    assert named == {"k": (sizes[0], count - rows, 2 * count / 4)}
    assert got[2:] == (count, 2 * count, rows**0.5)
    assert str(compile_python(graph)(rows, 2.5, x)) == str(got)


def test_numbers_are_left_to_the_caller_where_it_says_how() -> None:
    node = symbolic().nodes[-1]
    args, named = run_node(node, {"view": 7}, str)  # pyright: ignore[reportGeneralTypeIssues]
    assert args == (["max(2*s0, 1)", 7], slice(None, "s0 // 2"), "f0 * s0")
    assert named["k"][1] == "-s0 + u0"


def test_a_node_whose_size_is_needed_lives() -> None:
    nodes = [
        Node("a", op_named("aten.nonzero.default"), (Var("x"),), {}, FOUND),
        Node("b", op_named("aten.nonzero.default"), (Var("x"),), {}, FOUND),
        Node("c", op_named("aten.zeros.default"), ([U0],), {}, contiguous((U0,), DType.F32)),
    ]
    assert without_dead(graph(nodes, Var("c"))).nodes == (nodes[0], nodes[2])
    assert without_repeats(graph(nodes, Var("b"))).nodes == (nodes[0], nodes[1], nodes[2])


def test_a_wrong_number_of_inputs_is_an_error() -> None:
    with pytest.raises(TypeError, match="takes 1 inputs, not 2"):
        run(graph([]), [1, 2])


def test_generated_python_takes_constants_of_any_kind() -> None:
    thing = object()
    echo = function_op("tests.echo", lambda *args, **kwargs: (args, kwargs))
    args = (thing, float("inf"), -1, "a'b", None, [slice(1, None)], {"k": (Var("x"),)}, torch.float32)
    program = graph([Node("a", echo, args, {"dtype": torch.int64}, X)], Var("a", (0,)), Var("a", (1,)))
    given = torch.zeros(1)
    assert str(compile_python(program)(given)) == str(run(program, [given]))


@pytest.mark.parametrize(
    "name", ["ne.Tensor", "sub.Tensor", "maximum.default", "remainder.Tensor", "where.self"]
)
def test_core_operators_take_numbers_in_any_place(name: str) -> None:
    op = op_named(f"aten.{name}")
    args = (Var("c"), 0.5, Var("x")) if "where" in name else (2, Var("x"))
    inputs = (Input("x", X), Input("c", contiguous((2, 3), DType.BOOL)))
    program = Graph(inputs, (Node("a", op, args, {}, X),), (Var("a"),))
    x = torch.randn(2, 3)
    condition = x > 0
    operands = (condition, torch.tensor(0.5), x) if "where" in name else (torch.tensor(2.0), x)
    wanted = op.call(*operands)
    for got in (run(program, [x, condition]), compile_python(program)(x, condition)):
        assert torch.equal(torch.as_tensor(got[0]), torch.as_tensor(wanted))

"""Passes over graphs, and the interpreter."""

import pytest
import torch

from supple.expr import symbol
from supple.ir.dtypes import DType
from supple.ir.graph.interp import compile_python, last_uses, run
from supple.ir.graph.nodes import Graph, Input, Node, Var
from supple.ir.graph.rewrite import Pattern, rewrite, without_dead, without_repeats
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


def test_patterns_apply_until_none_holds() -> None:
    def drop(made: dict[str, Node], now: Node) -> object:
        source = made.get(now.args[0].name) if isinstance(now.args[0], Var) else None
        return source.args[0] if source is not None and source.op is SIN else None

    chain = [
        node("a", SIN, Var("x")),
        node("b", COS, Var("a")),
        node("c", SIN, Var("b")),
        node("d", COS, Var("c")),
    ]
    after = without_dead(rewrite(graph(chain, Var("d")), [Pattern("Tensor.cos", drop)]))
    assert after == graph([], Var("x"))


def test_patterns_that_never_end_are_an_error() -> None:
    flip = Pattern("Tensor.sin", lambda made, now: node(now.name, SIN, *now.args))
    with pytest.raises(RuntimeError, match="still change"):
        rewrite(graph([node("a", SIN, Var("x"))], Var("a")), [flip])


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

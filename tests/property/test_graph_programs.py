"""Random programs of views, writes and arithmetic: metadata, traces and decomposed graphs equal eager."""

from collections.abc import Callable
from functools import partial
from typing import Final

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from supple.autograd import NotFunctional, bind, is_atomic, split
from supple.base.options import Options
from supple.ir.graph.interp import compile_python, run
from supple.ir.graph.nodes import Graph, Input, Node, Var
from supple.ir.graph.spec import check_core
from supple.ir.graph.text import parse, text
from supple.ir.ops import function_op, method_op
from supple.runtime.undo import Ways
from supple.shapes.errors import NoShapeRule
from supple.shapes.fake import fake_like, faking, meta_of

# Eager warns where it lets a program write to a tensor that shows an element twice.
pytestmark = pytest.mark.filterwarnings("ignore:.*expanded tensors")

Tensor = torch.Tensor
Step = tuple[str, int, int]

#: Operations on a tensor and another (often ignored); they fail on shapes that do not fit.
OPERATIONS: Final[dict[str, Callable[[Tensor, Tensor], Tensor]]] = {
    "neg": lambda x, y: -x,
    "exp": lambda x, y: torch.sigmoid(x),
    "relu": lambda x, y: torch.relu(x),
    "add": lambda x, y: x + y,
    "mul": lambda x, y: x * y,
    "where": lambda x, y: torch.where(x > y, x, y),
    "half": lambda x, y: x.to(torch.float16),
    "number": lambda x, y: 1.5 - x,
    "sum": lambda x, y: x.sum(-1, keepdim=True),
    "softmax": lambda x, y: x.softmax(0),
    "mean": lambda x, y: x.mean(),
    "t": lambda x, y: x.transpose(0, -1),
    "flat": lambda x, y: x.reshape(-1),
    "view": lambda x, y: x.view(2, -1),
    "row": lambda x, y: x[0],
    "column": lambda x, y: x[..., 1],
    "part": lambda x, y: x[..., 1:3],
    "odd": lambda x, y: x[::2],
    "wide": lambda x, y: x.unsqueeze(0),
    "narrow": lambda x, y: x.squeeze(0),
    "expand": lambda x, y: x.expand(2, *x.shape),
    "expand_as": lambda x, y: x.expand_as(y),
    "diagonal": lambda x, y: x.diagonal(),
    "split": lambda x, y: x.split(2, -1)[-1],
    "cat": lambda x, y: torch.cat([x, y], -1),
    "clone": lambda x, y: x.clone(),
    "flip": lambda x, y: x.flip(0),
    "add_": lambda x, y: x.add_(y),
    "mul_": lambda x, y: x.mul_(0.5),
    "copy_": lambda x, y: x.copy_(y),
    "zero_": lambda x, y: x.zero_(),
    "set_row": lambda x, y: x.index_fill_(0, torch.tensor([0]), 2.0),
    "masked_": lambda x, y: x.masked_fill_(x > 0.5, 0.25),
    "detach": lambda x, y: x.detach(),
}
STEPS: Final = st.lists(
    st.tuples(st.sampled_from(sorted(OPERATIONS)), st.integers(0, 7), st.integers(0, 7)),
    min_size=1,
    max_size=8,
)


def ran(steps: list[Step], inputs: list[Tensor]) -> list[Tensor]:
    """Return every tensor that a program makes; a step that eager refuses is left out."""
    values = list(inputs)
    for name, first, second in steps:
        try:
            values.append(OPERATIONS[name](values[first % len(values)], values[second % len(values)]))
        except (RuntimeError, IndexError):
            values.append(values[first % len(values)])
    return values


def examples() -> list[Tensor]:
    return [torch.arange(12.0).reshape(3, 4) / 5 - 1, torch.arange(4.0) / 3, torch.tensor(0.5)]


def graph_of(steps: list[Step], count: int) -> Graph:
    inputs = tuple(Input(f"x{place}", meta_of(item)) for place, item in enumerate(examples()))

    def program(*given: Tensor) -> tuple[Tensor, ...]:
        return tuple(ran(steps, list(given)))

    node = Node("r", function_op(f"tests.{id(program)}", program), tuple(Var(item.name) for item in inputs))
    return Graph(inputs, (node,), tuple(Var("r", (place,)) for place in range(count)))


@given(STEPS)
def test_fakes_have_the_metadata_that_eager_gives(steps: list[Step]) -> None:
    wanted = ran(steps, examples())
    with faking():
        try:
            got = ran(steps, [fake_like(item) for item in examples()])
        except NoShapeRule:
            return
    assert [str(meta_of(item)) for item in got] == [str(meta_of(item)) for item in wanted]


@given(STEPS)
def test_a_split_program_does_what_eager_does(steps: list[Step]) -> None:
    mine, theirs = examples(), examples()
    wanted = ran(steps, theirs)
    graph = graph_of(steps, len(wanted))
    try:
        found = split(graph, Options())
    except (NotFunctional, NoShapeRule):
        return
    check_core(found.forward)
    whole = bind(found.convention, compile_python(found.forward))
    ways = Ways(partial(is_atomic, found.convention), whole, compile_python(graph))
    got = ways.function(is_asked=True)(*mine)
    tolerance = 1e-2 if any(name == "half" for name, _, _ in steps) else 1e-5
    for left, right in zip([*theirs, *wanted], [*mine, *got], strict=True):
        assert isinstance(right, Tensor)
        torch.testing.assert_close(right, left, rtol=tolerance, atol=tolerance, equal_nan=True)
        assert right.stride() == left.stride()


@given(STEPS)
def test_text_of_a_core_graph_parses_back(steps: list[Step]) -> None:
    try:
        core = split(graph_of(steps, len(ran(steps, examples()))), Options()).forward
    except NotFunctional:
        return
    assert parse(text(core)) == core


UNARY: Final = ("sin", "relu", "neg", "t", "sum", "exp")


@given(
    st.lists(st.tuples(st.sampled_from(UNARY), st.integers(0, 9)), min_size=1, max_size=8), st.integers(0, 9)
)
def test_compiled_python_equals_the_interpreter(steps: list[tuple[str, int]], returned: int) -> None:
    values = ["x"]
    nodes: list[Node] = []
    for place, (name, source) in enumerate(steps):
        nodes.append(Node(f"v{place}", method_op(name), (Var(values[source % len(values)]),)))
        values.append(f"v{place}")
    x = torch.arange(6.0).reshape(2, 3)
    outputs = (Var(values[returned % len(values)]), None, [Var(values[-1]), 3])
    graph = Graph((Input("x", meta_of(x)),), tuple(nodes), outputs)
    first, second = run(graph, [x]), compile_python(graph)(x)
    assert str(first) == str(second)

"""A traced graph run by its convention does what the program does: results, aliases, writes, refusals."""

from collections.abc import Callable, Sequence
from functools import partial

import pytest
import torch
import torch.nn.functional as F

from supple.autograd import NeedsGrad, NotFunctional, Split, bind, is_atomic, split
from supple.autograd.convention import InputItself, Origin, Plain, Result, SameAs, ViewItem
from supple.autograd.errors import Raises, Refused
from supple.autograd.functionalize import undo_view
from supple.base.options import Options
from supple.ir.graph.interp import compile_python, run
from supple.ir.graph.nodes import Graph, Input, Node, Var
from supple.ir.graph.spec import check_core
from supple.ir.ops import function_op, op_named
from supple.runtime.undo import Ways
from supple.shapes.fake import meta_of

Tensor = torch.Tensor
Program = Callable[..., tuple[object, ...]]


def captured(program: Program, inputs: Sequence[Tensor], count: int) -> Graph:
    """Return a graph of one node that calls a program with `count` results."""
    named = tuple(Input(f"x{place}", meta_of(item)) for place, item in enumerate(inputs))
    node = Node("r", function_op(f"tests.{id(program)}", program), tuple(Var(item.name) for item in named))
    return Graph(named, (node,), tuple(Var("r", (place,)) for place in range(count)))


def compiled(program: Program, inputs: Sequence[Tensor]) -> tuple[Split, Callable[..., Sequence[object]]]:
    count = len(program(*(item.detach().clone() for item in inputs)))
    graph = captured(program, inputs, count)
    found = split(graph, Options())
    check_core(found.forward)
    whole = bind(found.convention, compile_python(found.forward))
    return found, Ways(partial(is_atomic, found.convention), whole, compile_python(graph)).function(
        is_asked=True
    )


def storages(values: Sequence[object]) -> list[int]:
    """Return, for each tensor, the place of the first tensor whose memory it shares."""
    keys = [v.untyped_storage().data_ptr() if isinstance(v, Tensor) else -1 for v in values]
    return [keys.index(key) for key in keys]


def check(program: Program, *inputs: Tensor) -> Split:
    """Compare results, strides, identity, sharing and the inputs afterwards with eager."""
    found, run = compiled(program, inputs)
    theirs, mine = [item.clone() for item in inputs], [item.clone() for item in inputs]
    wanted, got = program(*theirs), run(*mine)
    assert len(wanted) == len(got)
    for left, right in zip(wanted, got, strict=True):
        if not isinstance(left, Tensor):
            assert left == right
            continue
        assert isinstance(right, Tensor)
        torch.testing.assert_close(right, left)
        assert right.stride() == left.stride()
        assert right.requires_grad == left.requires_grad
    assert storages([*mine, *got]) == storages([*theirs, *wanted])
    torch.testing.assert_close(mine, theirs)
    return found


X = torch.arange(12.0).reshape(3, 4) / 7
W = torch.arange(16.0).reshape(4, 4) / 5


def test_a_program_without_writes_is_called_as_it_is() -> None:
    found = check(lambda x, w: (x @ w, x + 1), X, W)
    assert found.convention.is_plain


def test_writes_through_views_reach_the_base() -> None:
    def program(x: Tensor, w: Tensor) -> tuple[object, ...]:
        y = x @ w
        y[:, 1] += 2
        y[1:, ::2] *= 3
        y.t()[0].fill_(5)
        y.unsqueeze(0).squeeze(0).view(-1)[3] = 7
        y.diagonal().zero_()
        first, second = y.split(2, 1)
        first.add_(second)
        y.unbind(1)[3].neg_()
        y.permute(1, 0)[2].exp_()
        return (y, y.sum())

    check(program, X, W)


def test_a_view_taken_before_a_write_shows_it() -> None:
    def program(x: Tensor) -> tuple[object, ...]:
        y = x + 1
        view = y[1:]
        y.mul_(2)
        return (view + 0, y)

    check(program, X)


def test_writes_to_inputs_are_done() -> None:
    def program(x: Tensor, w: Tensor) -> tuple[object, ...]:
        x[0] = 7
        w.copy_(w.t().clone())
        return (x.sum(), w * 2)

    found = check(program, X, W)
    assert [mutation.input for mutation in found.convention.mutations] == [0, 1]


def test_two_inputs_can_be_swapped() -> None:
    def program(x: Tensor, y: Tensor) -> tuple[object, ...]:
        kept = x.clone()
        x.copy_(y)
        y.copy_(kept)
        return (1,)

    check(program, X, X + 1)


def test_written_inputs_that_share_memory_run_eager() -> None:
    def program(x: Tensor, y: Tensor) -> tuple[object, ...]:
        x.add_(1)
        return (y * 2,)

    _, run = compiled(program, (X, X + 0))
    shared = X.clone()
    (result,) = run(shared, shared)
    assert isinstance(result, Tensor)
    assert torch.equal(result, (X + 1) * 2)


def test_an_input_returned_is_the_same_object() -> None:
    found, run = compiled(lambda x: (x, x, x.mul_(2)), (X,))
    mine = X.clone()
    results = run(mine)
    assert all(result is mine for result in results)
    assert found.convention.outputs == (InputItself(0), SameAs(0), SameAs(0))


def test_views_of_inputs_share_their_memory() -> None:
    found = check(lambda x: (x[1:], x.t(), x.detach(), x.view(-1)[2:5]), X)
    assert all(isinstance(output, ViewItem) for output in found.convention.outputs)
    assert [view.base for view in found.convention.views] == [*[InputItself(0)] * 4, ViewItem(3, None)]


def test_a_view_of_an_input_with_an_offset_lies_where_eager_puts_it() -> None:
    _, run = compiled(lambda x: (x[1],), (X,))
    inside = torch.arange(40.0)[4:16].view(3, 4)
    (result,) = run(inside)
    assert isinstance(result, Tensor)
    assert torch.equal(result, inside[1])
    assert result.data_ptr() == inside[1].data_ptr()


def test_results_that_share_memory_share_it() -> None:
    def program(x: Tensor) -> tuple[object, ...]:
        y = x + 1
        return (y, y.t(), y[1:], x * 2)

    found = check(program, X)
    kinds = [type(output) for output in found.convention.outputs]
    assert kinds == [Result, ViewItem, ViewItem, Result]


def test_equal_results_are_different_tensors() -> None:
    check(lambda x: (x + 1, x + 1, x.clone(), x.clone()), X)


def test_python_values_are_returned() -> None:
    found = check(lambda x: (None, 3, x.shape[0], x + 1), X)
    assert found.convention.outputs[:2] == (Plain(None), Plain(3))


def test_tensors_made_from_numbers_are_fresh_on_each_call() -> None:
    _, run = compiled(lambda x: (torch.tensor([1.0, 2.0]), torch.tensor(3), x + torch.tensor(0.5)), (X,))
    first, second = run(X), run(X)
    assert isinstance(first[0], Tensor)
    first[0].add_(1)
    assert torch.equal(torch.as_tensor(second[0]), torch.tensor([1.0, 2.0]))
    assert torch.equal(torch.as_tensor(run(X)[0]), torch.tensor([1.0, 2.0]))


def test_a_tensor_that_the_program_holds_is_a_constant() -> None:
    table = torch.randn(4)
    found = check(lambda x: (x + table, table), X)
    assert found.convention.constants == (table,)


def test_a_write_to_a_tensor_that_the_program_holds_is_refused() -> None:
    table = torch.zeros(4)
    with pytest.raises(NotFunctional):
        compiled(lambda x: (table.add_(1) + x,), (X,))


def test_out_arguments_are_written() -> None:
    def program(x: Tensor, w: Tensor) -> tuple[object, ...]:
        out = torch.empty(3, 4)
        torch.mm(x, w, out=out)
        torch.add(out, 1, out=out)
        return (out,)

    check(program, X, W)


def test_operators_that_reshape_in_place_are_views() -> None:
    def program(x: Tensor) -> tuple[object, ...]:
        y = x.clone()
        y.t_()
        y.add_(1)
        return (y.unsqueeze_(0), y)

    check(program, X)
    with pytest.raises(NotFunctional, match="reshaped in place"):
        split(captured(lambda x: ((x * 2).t_()[0], x.sin().t_()), (X,), 2), Options())


def test_random_numbers_are_those_of_eager() -> None:
    def program(x: Tensor) -> tuple[object, ...]:
        noise = torch.rand(3)
        return (
            noise,
            F.dropout(x, 0.5),
            torch.empty(3).normal_(),
            torch.bernoulli(x.sigmoid()),
            noise.uniform_(),
        )

    _, run = compiled(program, (X,))
    torch.manual_seed(5)
    wanted = program(X)
    torch.manual_seed(5)
    for left, right in zip(wanted, run(X), strict=True):
        assert torch.equal(torch.as_tensor(left), torch.as_tensor(right))


def test_autocast_is_recorded_as_casts() -> None:
    def program(x: Tensor, w: Tensor) -> tuple[object, ...]:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return (F.linear(x, w),)

    found = check(program, X, W)
    assert any(node.op.name == "aten._to_copy.default" for node in found.forward.nodes)


def test_state_changed_by_the_graph_is_put_back() -> None:
    disable = Node("off", function_op("torch._C._set_grad_enabled", torch.set_grad_enabled), (False,))
    double = Node("y", op_named("aten.mul.Tensor"), (Var("x"), 2))
    weight = X.clone().requires_grad_()
    split(Graph((Input("x", meta_of(weight)),), (disable, double), (Var("y"),)), Options())
    assert torch.is_grad_enabled()


def test_an_output_that_requires_gradients_has_a_backward() -> None:
    weight = X.clone().requires_grad_()
    found = split(captured(lambda w: (w.sin() * 2,), (weight,), 1), Options())
    assert found.backward is not None
    assert found.backward.flows.flows[0].inputs == (0,)
    tangent = torch.ones_like(X)
    (grad,) = run(found.backward.parts.backs[0].graph, [weight, tangent])
    assert isinstance(grad, Tensor)
    assert torch.equal(grad, 2 * X.cos())


def test_outputs_that_share_memory_and_require_gradients_are_made_of_one_result() -> None:
    weight = X.clone().requires_grad_()

    def halves(w: Tensor) -> tuple[Tensor, Tensor]:
        y = w * 2
        return y[0], y[1]

    found = split(captured(halves, (weight,), 2), Options())
    assert found.backward is not None
    assert found.backward.flows.results == 1
    assert found.convention.outputs == (ViewItem(0, None), ViewItem(1, None))
    assert found.convention.sources == (Origin(output=0, is_base=True),)


def test_a_leaf_made_in_the_graph_is_refused() -> None:
    weight = X.clone().requires_grad_()
    with pytest.raises(NeedsGrad, match="leaf"):
        split(captured(lambda w: (w * torch.ones(4, requires_grad=True),), (weight,), 1), Options())


def test_without_grad_mode_weights_need_no_backward() -> None:
    weight = X.clone().requires_grad_()
    with torch.no_grad():
        found = split(captured(lambda w: (w * 2, w), (weight,), 2), Options())
    assert found.backward is None


def test_a_write_that_would_repeat_an_element_is_left_to_eager() -> None:
    def program(x: Tensor) -> tuple[object, ...]:
        return (x[:1].expand(3, 4).add_(1),)

    with pytest.raises(Refused):
        split(captured(program, (X,), 1), Options())


def test_an_operand_that_overlaps_what_is_written_is_left_to_eager_which_raises() -> None:
    with pytest.raises(Raises, match="refer to a single memory location"):
        split(captured(lambda x: (x.add_(x[0]),), (X,), 1), Options())


def test_wrong_shapes_are_left_to_eager_which_raises() -> None:
    with pytest.raises(Raises, match="must match the size"):
        split(captured(lambda x, w: (x + w[:2, :3],), (X, W), 1), Options())


def test_every_view_that_can_be_written_through_is_an_operator() -> None:
    assert all(op_named(str(name)).is_view for name in undo_view)

"""Results that eager keeps for backward and the program writes: backward says what eager's says."""

# pyright: reportUnknownMemberType=false

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

import supple

MAKERS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "exp": torch.exp,
    "softmax": lambda t: t.softmax(-1),
    "square root": lambda t: (t * t + 1).sqrt(),
    "clone": torch.clone,
    "product": lambda t: t * 2,
    "checkpointed": lambda t: checkpoint(torch.tanh, t, use_reentrant=False),
}
WRITES: dict[str, Callable[[Tensor], object]] = {
    "nothing": lambda t: None,
    "add nothing": lambda t: t.add_(0),
    "part": lambda t: t[:1].add_(1),
    "fill": lambda t: t.fill_(1),
    "data": lambda t: t.data.add_(1),
    "detached": lambda t: t.detach().add_(1),
}


Write = Callable[[Tensor], object]
Step = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]


def in_the_graph(make: Callable[[Tensor], Tensor], write: Write) -> Step:
    def run(w: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        made = make(w * x)
        later = made * 2
        with torch.no_grad():
            write(made)
        return later, made

    return run


def behind_the_call(make: Callable[[Tensor], Tensor], _: Write) -> Step:
    def run(w: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        made = make(w * x)
        return made * 2, made

    return run


def trained(run: Step, write: Write) -> tuple[Tensor, ...] | str:
    """Return results and gradient of a step that writes to a result, or what backward says of it."""
    w = torch.tensor([[1.0, -2.0, 0.5]], requires_grad=True)
    later, made = run(w, torch.full((1, 3), 2.0))
    with torch.no_grad():
        write(made)
    try:
        (later.sum() + (made * 3).sum()).backward()
    except RuntimeError as error:
        return str(error).partition(":")[0]
    assert w.grad is not None
    return later.detach(), made.detach(), w.grad


@pytest.mark.parametrize("program", [in_the_graph, behind_the_call])
@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("make", MAKERS)
def test_writes_to_what_eager_keeps_are_seen(
    make: str,
    write: str,
    program: Callable[[Callable[[Tensor], Tensor], Write], Step],
) -> None:
    run = program(MAKERS[make], WRITES[write])
    wanted = trained(run, WRITES[write])
    compiled = supple.compile(run)
    for _ in range(2):
        found = trained(compiled, WRITES[write])
        if isinstance(wanted, str):
            assert found == wanted
        else:
            torch.testing.assert_close(found, wanted)


def a_view_then_the_whole(y: Tensor) -> tuple[Tensor, ...]:
    view = y[0]
    earlier = y * 3
    view.mul_(3)
    between, of_view = y * 5, view * 2
    view.mul_(2)
    return y, earlier, between, of_view, view * 2, y * 7


def parts_one_after_the_other(y: Tensor) -> tuple[Tensor, ...]:
    earlier = y * 3
    y[0].mul_(3)
    between = y * 5
    y.view(-1)[1:].mul_(2)
    return y, earlier, between, y * 2


def views_of_views(y: Tensor) -> tuple[Tensor, ...]:
    flat, turned = y.view(-1), y.t()
    of_flat = flat * 2
    flat[1:].mul_(3)
    of_turned = turned * 2
    turned[0].mul_(2)
    return y, flat, turned, of_flat, of_turned, y * 2


def the_whole_under_its_views(y: Tensor) -> tuple[Tensor, ...]:
    row, column = y[0], y[:, 0]
    first, second = y.chunk(2)
    of_part = first * 2 + second
    y.mul_(2)
    return y, row, column, of_part, row * 3, column * 5, y * 7


def a_view_behind_a_detached_one(y: Tensor) -> tuple[Tensor, ...]:
    detached, view = y.detach(), y[0]
    earlier = y * 3
    detached.add_(1)
    view.mul_(2)
    return y, earlier, y * 5, detached * 2


def a_view_without_gradients_that_gains_them(y: Tensor) -> tuple[Tensor, ...]:
    made = torch.zeros(2, 2)
    view, other = made[0], made.t()
    view.add_(y[0])
    of_all, of_other = made * 5, other * 3
    other[1].mul_(3)
    return made, of_all, of_other, view * 2, other * 7


def nothing_is_returned_but_views(y: Tensor) -> tuple[Tensor, ...]:
    flat, turned = y.view(-1), y.t()
    of_flat = flat * 2
    flat.mul_(3)
    of_turned = turned * 2
    turned.mul_(2)
    return flat, turned, of_flat, of_turned, y * 2


def a_view_of_a_view_before_the_write(y: Tensor) -> tuple[Tensor, ...]:
    row = y.unsqueeze(0)
    flat = row.view(-1)
    row.mul_(3)
    return y, row, flat


def a_view_of_a_view_behind_a_write_without_gradients(y: Tensor) -> tuple[Tensor, ...]:
    flat = y.view(-1)
    with torch.no_grad():
        flat.mul_(2)
    part = flat[1:]
    y.mul_(3)
    return y, flat, part


def a_view_of_a_view_behind_the_write(y: Tensor) -> tuple[Tensor, ...]:
    flat = y.view(-1)
    flat.mul_(2)
    return y, flat, flat[1:]


def a_view_of_a_view_and_a_write_by_a_detached_one(y: Tensor) -> tuple[Tensor, ...]:
    row = y.narrow(0, 0, 1)
    turned = row.t()
    row.detach().add_(1)
    return y, row, turned, turned[1:]


def a_view_that_is_written_without_gradients(y: Tensor) -> tuple[Tensor, ...]:
    row = y[0]
    with torch.no_grad():
        row.mul_(2)
    return row, (row * 2).sum()


def a_view_and_a_part_of_it(y: Tensor) -> tuple[Tensor, ...]:
    row = y.view_as(y)
    y.mul_(3)
    with torch.no_grad():
        row[0].mul_(2)
    return row, row * 3, torch.cat([row.reshape(-1), y.reshape(-1)])


def a_detached_one_that_gains_gradients_by_its_view(y: Tensor) -> tuple[Tensor, ...]:
    detached = y.detach()
    row = detached.squeeze()
    detached.detach().add_(1)
    part = y[1:]
    row.add_(part.sum())
    return y, detached, row, part, (row * 2).sum()


INSIDE: dict[str, Callable[[Tensor], object]] = {
    "as a whole": lambda t: t.mul_(3),
    "a view of all": lambda t: t.view(-1).mul_(3),
    "a row": lambda t: t[0].mul_(3),
    "an item": lambda t: t.__setitem__((0, 1), 3),
    "a view of a view": lambda t: t.t()[1:].add_(1),
    "a part of a detached one": lambda t: t.detach()[0].add_(1),
}


@pytest.mark.parametrize("name", INSIDE)
def test_what_flows_into_a_written_input_from_a_result_made_of_it_is_seen(name: str) -> None:
    def program(t: Tensor) -> tuple[Tensor, ...]:
        INSIDE[name](t)
        return t, t.exp()

    assert_gradients_of_results_are_eagers(program)


@pytest.mark.parametrize(
    "program",
    [
        a_view_then_the_whole,
        parts_one_after_the_other,
        views_of_views,
        the_whole_under_its_views,
        a_view_behind_a_detached_one,
        a_view_without_gradients_that_gains_them,
        nothing_is_returned_but_views,
        a_view_of_a_view_before_the_write,
        a_view_of_a_view_behind_a_write_without_gradients,
        a_view_of_a_view_behind_the_write,
        a_view_of_a_view_and_a_write_by_a_detached_one,
        a_view_that_is_written_without_gradients,
        a_view_and_a_part_of_it,
        a_detached_one_that_gains_gradients_by_its_view,
    ],
)
@pytest.mark.parametrize("is_made_inside", [False, True], ids=["of an input", "of a result"])
def test_what_flows_into_results_written_in_part_is_seen(
    program: Callable[[Tensor], tuple[Tensor, ...]],
    is_made_inside: bool,
) -> None:
    def inside(t: Tensor) -> tuple[Tensor, ...]:
        return program(t * 2)

    assert_gradients_of_results_are_eagers(inside if is_made_inside else program)


def assert_gradients_of_results_are_eagers(program: Callable[[Tensor], tuple[Tensor, ...]]) -> None:
    """Check results, their own gradients, and those of what they were computed of."""
    seen: list[list[Tensor | None]] = []
    compiled = supple.compile(program, fullgraph=True)
    for run in (program, compiled, compiled):
        x = torch.arange(1.0, 5.0).view(2, 2).requires_grad_()
        results = run(x * 1)
        asked = [one for one in results if one.requires_grad]
        for one in asked:
            one.retain_grad()
        torch.autograd.backward(asked, [torch.full_like(one, 2.0**k) for k, one in enumerate(asked)])
        seen.append([*(one.detach() for one in results), *(one.grad for one in asked), x.grad])
    torch.testing.assert_close(seen[1:], [seen[0]] * 2)


@pytest.mark.parametrize("is_counted", [True, False])
@pytest.mark.parametrize("is_written_before", [True, False])
def test_a_view_of_an_argument_that_is_a_view(is_written_before: bool, is_counted: bool) -> None:
    """Behind a write it is one of the argument's own base: nothing flows into the argument from it."""

    def program(row: Tensor) -> tuple[Tensor, ...]:
        written = row.detach() if is_counted else row.data
        if is_written_before:
            written.add_(1)
        turned = row.t()
        if not is_written_before:
            written.add_(1)
        return turned, row * 3

    seen: list[list[Tensor | None]] = []
    for run in (program, supple.compile(program)):
        x = torch.ones(2, 2, requires_grad=True)
        row = (x * 1)[:1]
        row.retain_grad()
        turned, made = run(row)
        (turned.sum() + made.sum()).backward()
        seen.append([turned.detach(), made.detach(), row.grad, x.grad])
    torch.testing.assert_close(*seen)


def older_view(x: Tensor) -> tuple[Tensor, ...]:
    made = torch.ones(3, 3) + x.detach()
    view = made.unsqueeze(0)[0]
    made.zero_()
    return made, view, made[1]


def views_of_several_ages(x: Tensor) -> tuple[Tensor, ...]:
    made = x.detach() * 2
    view = made.t()
    row = view[0]
    made.mul_(2)
    flat = made.view(9)
    made.add_(1)
    return made, view, row, flat, flat[3:]


def parts(x: Tensor) -> tuple[Tensor, ...]:
    made = x.detach() * 2
    found = made.unbind(0)
    made.mul_(2)
    return (made, *found)


def no_older_view(x: Tensor) -> tuple[Tensor, ...]:
    made = x.detach() * 2
    made.mul_(2)
    return made, made.t()


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "native"])
@pytest.mark.parametrize("program", [older_view, views_of_several_ages, parts, no_older_view])
def test_views_older_than_a_write_are_looked_at_again(
    program: Callable[[Tensor], tuple[Tensor, ...]], backend: str
) -> None:
    """A base that gets gradients later gives them to views that are older than its last write."""

    def seen(run: Callable[[Tensor], tuple[Tensor, ...]]) -> object:
        results = run(torch.ones(3, 3))
        results[0].requires_grad_()
        try:
            said = [(one.requires_grad, one.is_leaf, one._is_view()) for one in results]
        except RuntimeError as error:
            return str(error)
        roots = [one for one in results if not one.is_leaf]
        if roots:
            torch.autograd.backward(roots, [torch.ones_like(one) for one in roots])
        grad = results[0].grad
        return said, None if grad is None else grad.tolist()

    assert seen(supple.compile(program, backend=backend)) == seen(program)

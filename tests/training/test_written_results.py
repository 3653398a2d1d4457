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


INSIDE: dict[str, Callable[[Tensor], object]] = {
    "as a whole": lambda t: t.mul_(3),
    "a view of all": lambda t: t.view(-1).mul_(3),
    "a row": lambda t: t[0].mul_(3),
}


@pytest.mark.parametrize(
    "name",
    [
        "as a whole",
        *(
            pytest.param(one, marks=pytest.mark.xfail(strict=True, reason="only its own gradient is seen"))
            for one in ("a view of all", "a row")
        ),
    ],
)
def test_what_flows_into_a_written_input_from_a_result_made_of_it_is_seen(name: str) -> None:
    def program(t: Tensor) -> tuple[Tensor, Tensor]:
        INSIDE[name](t)
        return t, t.sin()

    seen: list[Tensor | None] = []
    for run in (program, supple.compile(program)):
        written, result = run(torch.ones(2, 2, requires_grad=True) * 1)
        written.retain_grad()
        torch.autograd.backward([written, result], [torch.ones(2, 2), torch.ones(2, 2)])
        seen.append(written.grad)
    torch.testing.assert_close(*seen)

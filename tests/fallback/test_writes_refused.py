"""A write that autograd refuses for how its tensor was made: every effect before it is there, none twice."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

import supple

pytestmark = pytest.mark.sweep

Write = Callable[[torch.Tensor], object]


def leaf() -> torch.Tensor:
    return torch.arange(6.0).reshape(2, 3).requires_grad_()


def computed() -> torch.Tensor:
    return leaf() * 1


def without_grad(view: Callable[[torch.Tensor], torch.Tensor], of: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        return view(of)


def in_inference(view: Callable[[torch.Tensor], torch.Tensor], of: torch.Tensor) -> torch.Tensor:
    with torch.inference_mode():
        return view(of)


class Flat(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x.view(-1)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        return grad.view(2, 3)


class Halves(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x[:1], x[1:]

    @staticmethod
    def backward(ctx: Any, one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        return torch.cat([one, other])


MADE: dict[str, Callable[[], torch.Tensor]] = {
    "plain": computed,
    "leaf": leaf,
    "view of computed": lambda: computed().view(-1),
    "view of a leaf": lambda: leaf().view(-1),
    "view of a view": lambda: leaf().view(-1)[:2],
    "complex view": lambda: torch.view_as_complex(leaf().reshape(3, 2)),
    "view without grad of a leaf": lambda: without_grad(torch.ravel, leaf()),
    "view without grad": lambda: without_grad(torch.ravel, computed()),
    "unbound without grad": lambda: without_grad(lambda x: x.unbind()[0], computed()),
    "unbound": lambda: computed().unbind()[0],
    "view of unbound": lambda: computed().unbind()[0].view(-1),
    "split": lambda: computed().split(1)[0],
    "view of a function": lambda: Flat.apply(computed()),
    "views of a function": lambda: Halves.apply(computed())[0],
    "inference": lambda: in_inference(torch.ones_like, torch.ones(2, 3)),
    "inference view": lambda: in_inference(torch.ravel, torch.ones(2, 3)),
    "inference view of a leaf": lambda: in_inference(torch.ravel, leaf()),
    "expanded": lambda: torch.ones(1, 3).expand(2, 3),
    "detached": lambda: leaf().detach(),
}


def multiplied(x: torch.Tensor) -> None:
    x.mul_(2)


def view_multiplied(x: torch.Tensor) -> None:
    x.view(-1)[:1].mul_(2)


def item_set(x: torch.Tensor) -> None:
    x[0] = 1


def multiplied_without_grad(x: torch.Tensor) -> None:
    with torch.no_grad():
        x.mul_(2)


def filled_as_out(x: torch.Tensor) -> None:
    torch.mul(torch.ones(x.shape), 2, out=x)


def data_multiplied(x: torch.Tensor) -> None:
    x.data.mul_(2)


def resized(x: torch.Tensor) -> None:
    x.resize_(0)


def frozen(x: torch.Tensor) -> None:
    x.requires_grad_(requires_grad=False)


def detached(x: torch.Tensor) -> None:
    x.detach_()


def set_to_another(x: torch.Tensor) -> None:
    x.set_(torch.ones(2))


def unsqueezed(x: torch.Tensor) -> None:
    x.unsqueeze_(0)


def transposed(x: torch.Tensor) -> None:
    x.t_()


def multiplied_in_a_list(x: torch.Tensor) -> None:
    torch._foreach_mul_([x], 2)


def given_a_constant(x: torch.Tensor) -> None:
    x.copy_(torch.ones(()))


def given_a_gradient(x: torch.Tensor) -> None:
    x.copy_(torch.ones((), requires_grad=True))


WRITES: list[Write] = [
    multiplied,
    view_multiplied,
    item_set,
    multiplied_without_grad,
    filled_as_out,
    data_multiplied,
    resized,
    frozen,
    detached,
    set_to_another,
    unsqueezed,
    transposed,
    multiplied_in_a_list,
    given_a_constant,
    given_a_gradient,
]


def caught(state: torch.Tensor, x: torch.Tensor, log: list[str], write: Write) -> torch.Tensor:
    try:
        state.add_(1)
        log.append("added")
        write(x)
        log.append("written")
    except RuntimeError as error:
        log.append(str(error))
    return state + 1


def passed_on(state: torch.Tensor, x: torch.Tensor, log: list[str], write: Write) -> torch.Tensor:
    state.add_(1)
    log.append("added")
    write(x)
    log.append("written")
    return state + 1


def outcome(run: Callable[..., torch.Tensor], made: str, write: Write) -> list[object]:
    state, x, log = torch.ones(2), MADE[made](), list[str]()
    try:
        result: object = run(state, x, log, write).tolist()
    except RuntimeError as error:
        result = str(error)
    try:
        held: object = x.detach().tolist()
        version = None if x.is_inference() else x._version
    except RuntimeError as error:
        held, version = str(error), None
    return [result, state.tolist(), log, held, version, x.shape, x.requires_grad]


@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("program", [caught, passed_on], ids=lambda item: item.__name__)
@pytest.mark.parametrize("write", WRITES, ids=lambda item: item.__name__)
@pytest.mark.parametrize("made", MADE)
def test_effects_before_a_refused_write_are_as_eager(
    made: str, write: Write, program: Callable[..., torch.Tensor], backend: str
) -> None:
    want = outcome(program, made, write)
    for first in ("", "plain", "leaf", "view without grad of a leaf"):
        supple.reset()
        compiled = supple.compile(program, backend=backend)
        if first:
            outcome(compiled, first, write)
        assert outcome(compiled, made, write) == want, first


HISTORIES: dict[str, Callable[[], torch.Tensor]] = {
    "a leaf": lambda: torch.arange(6.0).reshape(2, 3).clone(),
    "a view": lambda: torch.arange(6.0).reshape(2, 3),
    "computed": lambda: torch.ones(2, 3, requires_grad=True) * 2,
    "a view of what is computed": lambda: (torch.ones(6, requires_grad=True) * 2).view(2, 3),
}


@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("is_asked", [False, True], ids=["", "requires_grad_"])
@pytest.mark.parametrize("make", HISTORIES.values(), ids=HISTORIES)
def test_a_history_that_is_written_before_an_exception(
    make: Callable[[], torch.Tensor], is_asked: bool, backend: str
) -> None:
    def program(weight: torch.Tensor, target: torch.Tensor, rows: torch.Tensor, places: torch.Tensor) -> bool:
        try:
            if is_asked:
                weight.requires_grad_()
            target.mul_(weight)
            rows.index_fill_(0, places, 2.0)
        except IndexError:
            return False
        return True

    def outcome(run: Callable[..., bool], place: int) -> object:
        weight, target, rows = torch.full((3,), 2.0, requires_grad=not is_asked), make(), torch.zeros(2, 3)
        found = run(weight, target, rows, torch.tensor(place))
        target.sum().backward()
        assert weight.grad is not None
        return found, target.tolist(), rows.tolist(), target.is_leaf, weight.grad.tolist()

    compiled = supple.compile(program, backend=backend)
    for place in (2, 0, 2):
        assert outcome(compiled, place) == outcome(program, place)

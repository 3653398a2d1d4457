"""Inputs without gradients that gain a history in a call: what eager says of them, and their gradients."""

# pyright: reportUnknownMemberType=false, reportIncompatibleMethodOverride=false

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

import supple
from tests.guards.change import same


class Marked(torch.autograd.Function):
    """Gives its first input back, marked as written; writes to it only where that is asked."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor, is_written: bool = False) -> Tensor:
        ctx.mark_dirty(x)
        return x.add_(y) if is_written else x

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None]:
        return grad * 3, grad * 5, None


class Dead(torch.autograd.Function):
    """Needs a gradient, of which nothing flows on."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor) -> Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return grad * 3, None


def marked(x: Tensor, w: Tensor) -> object:
    return Marked.apply(x, w * 2)


def marked_and_written(x: Tensor, w: Tensor) -> object:
    return Marked.apply(x, w * 2, True)


def marked_and_dropped(x: Tensor, w: Tensor) -> object:
    Marked.apply(x, w)
    return w.sin()


def marked_and_used(x: Tensor, w: Tensor) -> object:
    Marked.apply(x, w)
    return x * w


def marked_twice(x: Tensor, w: Tensor) -> object:
    return Marked.apply(Marked.apply(x, w), w.sin())


def marked_behind_a_print(x: Tensor, w: Tensor) -> object:
    y = x.sin()
    print(y.sum().item() > 100)
    return y, Marked.apply(y, w)


def marked_with_a_dead_one(x: Tensor, w: Tensor) -> object:
    return Marked.apply(x, Dead.apply(torch.ones(3), w))


def dead_is_added(x: Tensor, w: Tensor) -> object:
    return x.add_(Dead.apply(torch.ones(3), w))


def dead_is_copied(x: Tensor, w: Tensor) -> object:
    x.copy_(Dead.apply(torch.ones(3), w))
    return w.sin()


def dead_of_the_input(x: Tensor, w: Tensor) -> object:
    dead = Dead.apply(x, w)
    x.add_(dead)
    return dead, x


def added(x: Tensor, w: Tensor) -> object:
    return x.add_(w), w.sin()


PROGRAMS = (
    *(marked, marked_and_written, marked_and_dropped, marked_and_used, marked_twice, marked_behind_a_print),
    *(marked_with_a_dead_one, dead_is_added, dead_is_copied, dead_of_the_input, added),
)
INPUTS: dict[str, Callable[[Tensor], Tensor]] = {
    "whole": lambda x: x,
    "a view": lambda x: x.expand(2, 3).clone()[0],
}


def outcome(program: Callable[..., object], make: Callable[[Tensor], Tensor]) -> object:
    """Return what a call gives, what it leaves of its input, and the gradients of each."""
    x, w = make(torch.tensor([0.5, 1.0, 2.0])), torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    try:
        found = program(x, w)
    except RuntimeError as error:
        return str(error), x
    tensors = [*(found if isinstance(found, tuple) else (found,)), x]
    grads: list[object] = []
    for one in tensors:
        if one.requires_grad:
            grads += torch.autograd.grad(one.sum(), [w], retain_graph=True, allow_unused=True)
    facts = [(one.requires_grad, one.is_leaf, one.grad_fn is None, one._version) for one in tensors]
    return [one.detach() for one in tensors], facts, [one is x for one in tensors], grads


@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("kind", INPUTS)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda one: one.__name__)
def test_an_input_gains_the_history_of_eager(program: Any, kind: str, backend: str) -> None:
    compiled = supple.compile(program, backend=backend)
    for _ in range(2):
        expected, found = outcome(program, INPUTS[kind]), outcome(compiled, INPUTS[kind])
        assert same(found, expected), (found, expected)
    assert "I001" not in str(supple.stats()["fallback_reasons"])


# -- Views of one tensor among the inputs: torch says of each what it says of their base ---------------------


class Doubled(torch.autograd.Function):
    """Is recorded where its operand requires gradients."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return grad * 3


Related = Callable[[Tensor, Tensor, Tensor], object]
RELATED: dict[str, Related] = {
    "asked, said": lambda t, v, w: (t.requires_grad_(), v.requires_grad, v.is_leaf),
    "asked, computed": lambda t, v, w: (t.requires_grad_(), (v * 2).requires_grad),
    "asked, a function": lambda t, v, w: (t.requires_grad_(), Doubled.apply(v)),
    "asked of the other": lambda t, v, w: (v.requires_grad_(), t.requires_grad),
    "asked, after use": lambda t, v, w: (v * 1, t.requires_grad_(), v.requires_grad),
    "asked, after a view": lambda t, v, w: (t[:2], t.requires_grad_(), t[:2].requires_grad),
    "a view, asked": lambda t, v, w: [y := t[:2], t.requires_grad_(), y.requires_grad, Doubled.apply(y)],
    "written, said": lambda t, v, w: (t.mul_(w), v.requires_grad, v.is_leaf),
    "written, a function": lambda t, v, w: (t.mul_(w), Doubled.apply(v)),
    "written, computed": lambda t, v, w: (t.mul_(w), v * 2),
    "a part is written": lambda t, v, w: (t[:2].mul_(w[:2]), Doubled.apply(v)),
    "the other is written": lambda t, v, w: (v.mul_(w[: len(v)]), t.requires_grad, Doubled.apply(t)),
    "written, after use": lambda t, v, w: (v * 1, t.mul_(w), v.requires_grad, v * 2),
    "written by a function": lambda t, v, w: (Marked.apply(t, w), v.requires_grad, Doubled.apply(v)),
    "written without gradients": lambda t, v, w: (t.mul_(w.detach()), v.requires_grad, Doubled.apply(v)),
}


def family(kind: str) -> tuple[Tensor, Tensor, Tensor]:
    """Return two tensors that are related in some way, and one that requires gradients."""
    base = torch.arange(1.0, 7.0)
    t, v = {
        "strangers": lambda: (base.clone()[:3].clone(), base[:2].clone()),
        "a view": lambda: (whole := base[:3].clone(), whole[:2]),
        "all of it": lambda: (whole := base[:3].clone(), whole.view(3)),
        "detached": lambda: (whole := base[:3].clone(), whole.detach()[:2]),
        "two views": lambda: (base[:3], base[1:4]),
        "its base": lambda: (base[:3], base),
    }[kind]()
    return t, v, torch.tensor([1.0, 2.0, 3.0], requires_grad=True)


KINDS = ("strangers", "a view", "all of it", "detached", "two views", "its base")


def facts(found: object) -> object:
    """Return what is seen of a result: its numbers, and what autograd says of it."""
    if isinstance(found, Tensor):
        return found.requires_grad, found.is_leaf, found.tolist()
    return [facts(one) for one in found] if isinstance(found, tuple | list) else found


def tried(program: Related, kind: str) -> object:
    t, v, w = family(kind)
    try:
        return facts(program(t, v, w)), facts((t, v))
    except RuntimeError as error:
        return str(error)


@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("name", RELATED)
def test_relatives_of_what_gains_a_history_show_it(name: str, backend: str) -> None:
    for order in (KINDS, KINDS[::-1]):
        compiled = supple.compile(RELATED[name], backend=backend)
        for kind in (*order, order[0]):
            assert tried(compiled, kind) == tried(RELATED[name], kind), kind
        assert "I001" not in str(supple.stats()["fallback_reasons"])
        supple.reset()


def test_arguments_that_a_function_inside_reads_are_relatives_too() -> None:
    def program(x: Tensor, y: Tensor, w: Tensor) -> object:
        x.mul_(w)
        return [one.requires_grad for one in map(lambda _: y * 2, range(2))]  # a cell holds y

    compiled = supple.compile(program, backend="eager")
    for make in (lambda x: x[:2], lambda x: x.clone(), lambda x: x):
        x, w = torch.ones(3), torch.ones(3, requires_grad=True)
        wanted = program(x, make(x), w)
        x = torch.ones(3)
        assert compiled(x, make(x), w) == wanted
    assert not supple.stats()["fallback_reasons"]

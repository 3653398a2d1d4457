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

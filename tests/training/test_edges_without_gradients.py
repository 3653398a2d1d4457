"""Inputs into which nothing flows and that autograd reaches all the same: what made them is told."""

# pyright: reportUnknownMemberType=false, reportIncompatibleMethodOverride=false

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

import supple


class Told(torch.autograd.Function):
    """Notes what its backward is called with."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, calls: list[object], materialized: bool) -> Tensor:
        ctx.calls = calls
        ctx.set_materialize_grads(materialized)
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: Tensor | None) -> tuple[Tensor | None, None, None]:
        ctx.calls.append(grad if grad is None else grad.tolist())
        return grad, None, None


class First(torch.autograd.Function):
    """Lets nothing flow into its second input."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor) -> Tensor:
        return x + y

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return grad * 3, None


def ended(x: Tensor, y: Tensor) -> object:
    return First.apply(x * 2, y)


def ended_later(x: Tensor, y: Tensor) -> object:
    return First.apply(x, (y * 2).square()).square()


def ended_in_part(x: Tensor, y: Tensor) -> object:
    return First.apply(x, y) * y


def ended_in_one_of_two(x: Tensor, y: Tensor) -> object:
    return First.apply(x, y), x * y


def ended_in_a_write(x: Tensor, y: Tensor) -> object:
    z = x * 1
    z.add_(First.apply(x, y))
    return z


def unconnected(x: Tensor, y: Tensor) -> object:
    return First.apply(x, y.detach())


def in_both(x: Tensor, y: Tensor) -> object:
    return First.apply(y, x) + First.apply(x, y)


FUNCTIONS: list[Callable[..., object]] = [
    ended,
    ended_later,
    ended_in_part,
    ended_in_one_of_two,
    ended_in_a_write,
    unconnected,
    in_both,
]


def told(function: Callable[..., object], *, materialized: bool, is_both: bool) -> list[object]:
    """Return what autograd tells what made the inputs, and the gradients at the end."""
    calls: list[object] = []
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    w = torch.tensor([0.5, 3.0], requires_grad=True)
    y = Told.apply(w, calls, materialized)
    result = function(Told.apply(x, calls, materialized) if is_both else x, y)
    first, *others = result if isinstance(result, tuple) else (result,)
    first.sum().backward(retain_graph=bool(others))
    for other in others:
        calls.append("other")
        other.sum().backward()
    return [calls, *(one.grad if one.grad is None else one.grad.tolist() for one in (x, w))]


@pytest.mark.parametrize("is_both", [False, True])
@pytest.mark.parametrize("materialized", [False, True])
@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_what_made_an_input_is_told_that_nothing_flows(
    function: Callable[..., object], backend: str, materialized: bool, is_both: bool
) -> None:
    compiled = supple.compile(function, backend=backend, fullgraph=True)
    expected = told(function, materialized=materialized, is_both=is_both)
    assert told(compiled, materialized=materialized, is_both=is_both) == expected
    assert told(compiled, materialized=materialized, is_both=is_both) == expected


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_a_leaf_into_which_nothing_flows_has_no_gradient(function: Callable[..., object]) -> None:
    compiled = supple.compile(function, fullgraph=True)
    grads = []
    for call in (function, compiled, compiled):
        x, y = (torch.tensor([1.0, 2.0], requires_grad=True) for _ in range(2))
        result = call(x, y)
        (result[0] if isinstance(result, tuple) else result).sum().backward()
        grads.append([one.grad if one.grad is None else one.grad.tolist() for one in (x, y)])
    assert grads[1:] == [grads[0]] * 2

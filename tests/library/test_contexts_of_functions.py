"""What the context of an `autograd.Function` refuses, it refuses in compiled code."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

import supple

GIVEN: dict[str, object] = {
    "a number": 3,
    "none": None,
    "a truth": True,
    "a function": sorted,
    "a list": [1],
    "a tensor": torch.ones(1),
    "a float": 1.5,
}
METHODS = (
    "set_materialize_grads", "mark_dirty", "mark_non_differentiable", "save_for_backward", "save_for_forward",
)  # fmt: skip


class Named(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        there = [name for name in ("dirty", "is_misused", "fills_undefined", "told") if hasattr(ctx, name)]
        ctx.dirty = ctx.is_misused = ctx.fills_undefined = ctx.told = 3
        return x * (len(there) + ctx.dirty + ctx.told)

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> Any:
        return grads[0] * 3


class Assigned(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.saved_tensors = (x,)
        return x * 2

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> Any:
        return grads[0] * 2


@pytest.mark.parametrize("function", [Named, Assigned])
def test_attributes_of_a_context_are_the_programs_own(function: type[torch.autograd.Function]) -> None:
    def program(x: torch.Tensor) -> object:
        try:
            return function.apply(x).tolist()
        except AttributeError as error:
            return str(error)

    compiled = supple.compile(program)
    assert compiled(torch.ones(2)) == program(torch.ones(2))
    assert supple.stats()["breaks"] <= 1  # of tolist()


@pytest.mark.parametrize("has_grad", [False, True])
@pytest.mark.parametrize("is_caught", [False, True])
@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("method", METHODS)
def test_a_context_refuses_what_it_refuses_in_eager(
    method: str, given: str, is_caught: bool, has_grad: bool
) -> None:
    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor, value: object) -> torch.Tensor:
            if not is_caught:
                getattr(ctx, method)(value)
                return x * 2
            try:
                getattr(ctx, method)(value)
            except (TypeError, RuntimeError, AssertionError):
                return x * 3
            return x * 2

        @staticmethod
        def backward(ctx: Any, *grads: torch.Tensor) -> Any:
            return grads[0] * 2, None

    def program(x: torch.Tensor) -> torch.Tensor:
        return Doubled.apply(x, GIVEN[given])

    def told(run: Callable[[torch.Tensor], torch.Tensor]) -> object:
        try:
            return run(torch.ones(2, requires_grad=has_grad)).tolist()
        except (TypeError, RuntimeError, AssertionError) as error:
            return type(error), str(error)

    assert told(supple.compile(program)) == told(program)

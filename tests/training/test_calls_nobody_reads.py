"""Calls whose results nobody reads, before an argument of theirs is made to require gradients."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

import supple


class Same(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor) -> Tensor:
        return x

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return grads[0], grads[0]


class Scaled(Same):
    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor) -> Tensor:
        return x * y


CALLS: dict[str, Callable[[Tensor, Tensor], object]] = {
    "a function that returns its argument": lambda x, y: Same.apply(x, y),
    "a function": lambda x, y: Scaled.apply(x, y),
    "a parameter": lambda x, y: torch.nn.Parameter(x),
    "a product": lambda x, y: x * y,
    "random numbers": lambda x, y: torch.rand_like(x),
    "dropout": lambda x, y: torch.nn.functional.dropout(x * y),
    "a write": lambda x, y: x.mul_(2),
}
ENDS: dict[str, Callable[[Tensor, Tensor], tuple[Tensor, ...]]] = {
    "itself": lambda x, y: (x,),
    "one result of another": lambda x, y: (made := x * 2, made * 3, x),
    "results of the other": lambda x, y: (made := x * y, made * 3, x),
}


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "native"])
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("name", CALLS)
def test_an_argument_requires_gradients_as_in_eager(name: str, end: str, backend: str) -> None:
    def plain(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
        CALLS[name](x, y)
        return ENDS[end](x, y)

    def flagged(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
        CALLS[name](x, y)
        x.requires_grad_()
        return ENDS[end](x, y)

    for program in (plain, flagged):
        found: list[object] = []
        for run in (program, supple.compile(program, backend=backend)):
            x, y = torch.ones(2), torch.full((2,), 3.0, requires_grad=True)
            results = run(x, y)
            found.append([(one.requires_grad, one.is_leaf, one.tolist()) for one in (*results, x, y)])
        assert found[1] == found[0]

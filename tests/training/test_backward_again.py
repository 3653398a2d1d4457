"""Backward goes through a second time, without `retain_graph`, where eager keeps nothing for it."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.autograd import Function

import supple


class Doubled(Function):
    """Twice a tensor, with nothing kept."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return grads[0] * 2


class Kept(Function):
    """A square, for which its argument is kept."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        (x,) = ctx.saved_tensors
        return grads[0] * x * 2


PROGRAMS: dict[str, Callable[[Tensor, Tensor], Any]] = {
    "a sum": lambda x, w: x + w,
    "views": lambda x, w: x.view(2, 2).t(),
    "a multiple": lambda x, w: x * 2,
    "a product": lambda x, w: x * w,
    "a write": lambda x, w: x.add_(w),
    "a write to a part": lambda x, w: (x[1:].add_(w[1:]), x)[1],
    "a sum and a multiple": lambda x, w: (x.sum(), x.mul(3)),
    "a sum and a product": lambda x, w: (x + w, x * w),
    "a sum of a product": lambda x, w: x + x * w,
    "relu": lambda x, w: x.relu(),
    "what is joined": lambda x, w: torch.cat([x, w]).sum(0, keepdim=True),
    "a function that keeps nothing": lambda x, w: Doubled.apply(x) + w,
    "a function that keeps its argument": lambda x, w: Kept.apply(x),
}


def told(run: Callable[..., Any], again: tuple[str, ...]) -> list[Any]:
    """Return what each of several backwards through the results says, and the gradients after it."""
    leaf, w = torch.ones(4, requires_grad=True), torch.full((4,), 3.0, requires_grad=True)
    made = run(leaf + 1, w)
    results = made if isinstance(made, tuple) else (made,)
    said: list[Any] = []
    for how in again:
        for result in results:
            try:
                torch.autograd.backward(result, torch.ones_like(result), retain_graph=how == "retained")
                said.append("done")
            except RuntimeError as error:
                said.append(str(error)[:50])
            said.append([None if one.grad is None else one.grad.tolist() for one in (leaf, w)])
    return said


@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize(
    "again", [("once", "once", "once"), ("retained", "once", "once"), ("once", "retained")]
)
@pytest.mark.parametrize("name", PROGRAMS)
def test_backward_again_is_eagers(name: str, again: tuple[str, ...], backend: str) -> None:
    program = PROGRAMS[name]
    compiled = supple.compile(program, backend=backend)
    for _ in range(2):
        assert told(compiled, again) == told(program, again)

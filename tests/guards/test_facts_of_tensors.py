"""What eager refuses, or counts otherwise, of a tensor that looks like an earlier one."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.utils.checkpoint import checkpoint

import supple

LEAF = torch.ones(3, 4, requires_grad=True)

ARGUMENTS: dict[str, Callable[[], torch.Tensor]] = {
    "plain": lambda: torch.ones(3, 4),
    "leaf": lambda: torch.ones(3, 4, requires_grad=True),
    "result": lambda: LEAF * 2,
    "view of a leaf": lambda: LEAF[:2],
    "view": lambda: torch.ones(4, 4)[1:],
    "detached": lambda: (LEAF * 2).detach(),
    "no columns": lambda: torch.ones(3, 0),
    "one column": lambda: torch.ones(3, 1),
    "two rows": lambda: torch.ones(2, 5),
    "inference": lambda: inference(),
}


def inference() -> torch.Tensor:
    with torch.inference_mode():
        return torch.ones(3, 4)


def grad_is_set(x: torch.Tensor) -> Any:
    x.requires_grad = True
    y = x * 2
    return y.requires_grad, y.sum().item()


def grad_is_unset(x: torch.Tensor) -> Any:
    x.requires_grad = False
    return (x * 2).requires_grad


def grad_is_unset_by_a_method(x: torch.Tensor) -> Any:
    return (x.requires_grad_(False) * 2).requires_grad


def detached_in_place(x: torch.Tensor) -> Any:
    return (x.detach_() * 2).requires_grad


def places_of_views(x: torch.Tensor) -> Any:
    return x[1].storage_offset(), x[1:].t()[:0].storage_offset(), x.stride()


def checkpointed(x: torch.Tensor) -> Any:
    found = checkpoint(lambda t: t.sin() + 1, x, use_reentrant=False)
    return found.sum().item()


PROGRAMS = [
    *(grad_is_set, grad_is_unset, grad_is_unset_by_a_method, detached_in_place, places_of_views),
    checkpointed,
]


def told(program: Callable[[torch.Tensor], Any], name: str) -> str:
    try:
        return str(program(ARGUMENTS[name]()))
    except RuntimeError as error:
        return str(error)


@pytest.mark.parametrize("first", ARGUMENTS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_each_tensor_is_taken_or_refused_as_in_eager(
    program: Callable[[torch.Tensor], Any], first: str
) -> None:
    # X-SND01
    compiled = supple.compile(program, backend="eager")
    for name in (first, *ARGUMENTS):
        assert told(compiled, name) == told(program, name), name


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(x: torch.Tensor, factor: float = 2.0) -> torch.Tensor:
        return x * factor

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.factor = inputs[1]

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return gradients[0] * ctx.factor, None


def test_defaults_of_a_function_of_autograd_are_those_of_now(monkeypatch: pytest.MonkeyPatch) -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        return Scaled.apply(x)

    compiled, x = supple.compile(program, backend="eager"), torch.ones(2)
    assert compiled(x).tolist() == [2.0, 2.0]
    monkeypatch.setattr(Scaled.forward, "__defaults__", (5.0,))
    assert compiled(x).tolist() == [5.0, 5.0]
    monkeypatch.setattr(Scaled, "_backward_cls", None)
    with pytest.raises(TypeError, match="not callable"):
        compiled(x)

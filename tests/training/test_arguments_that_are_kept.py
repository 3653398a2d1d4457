"""Eager keeps what an operator in place gives in the argument that it wrote: a later write is an error."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

import supple


def function(x: Tensor, w: Tensor) -> Tensor:
    return x.exp_()


def several_writes(x: Tensor, w: Tensor) -> Tensor:
    x.mul_(w)
    return x.sigmoid_()


def then_something_else(x: Tensor, w: Tensor) -> Tensor:
    x.mul_(w).tanh_()
    return x * 1


def factor(x: Tensor, w: Tensor) -> Tensor:
    x.mul_(2)
    return x * w


def buffer(x: Tensor, w: Tensor) -> Tensor:
    x.detach().mul_(2)
    return x * w


def two_views(x: Tensor, w: Tensor) -> Tensor:
    first, last = x[:2], x[2:]
    supple.graph_break()
    first.exp_()
    last.exp_()
    supple.graph_break()
    return first.sum() + last.sum()


def not_kept(x: Tensor, w: Tensor) -> Tensor:
    return x.add_(w)


LATER: dict[str, Callable[[Tensor], Any]] = {
    "nothing": lambda x: None,
    "a write": lambda x: x.mul_(2),
    "a write to a part": lambda x: x[1:].add_(1),
}


def told(run: Callable[..., Tensor], later: Callable[[Tensor], Any], *, is_buffer: bool) -> Any:
    """Return the gradients, or the beginning of what backward says."""
    leaf, w = torch.full((4,), 0.5, requires_grad=True), torch.full((4,), 3.0, requires_grad=True)
    x = torch.full((4,), 0.5) if is_buffer else leaf * 2
    result = run(x, w)
    with torch.no_grad():
        later(x)
    try:
        result.sum().backward()
    except RuntimeError as error:
        return str(error)[:80]
    return leaf.grad, w.grad


@pytest.mark.parametrize("is_buffer", [False, True])
@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("later", LATER)
@pytest.mark.parametrize(
    "program",
    [function, several_writes, then_something_else, factor, buffer, two_views, not_kept],
    ids=lambda one: one.__name__,
)
def test_a_later_write_is_told_as_in_eager(
    program: Callable[..., Tensor], later: str, backend: str, is_buffer: bool
) -> None:
    if is_buffer and program in (function, two_views):
        pytest.skip("nothing requires gradients")
    supple.reset()
    compiled = supple.compile(program, backend=backend)
    for _ in range(2):
        want, got = (told(run, LATER[later], is_buffer=is_buffer) for run in (program, compiled))
        if isinstance(want, str) or isinstance(got, str):
            assert want == got
        else:
            torch.testing.assert_close(got, want)


def test_backward_goes_through_twice() -> None:
    def program(x: Tensor) -> Tensor:
        return x.exp_()

    compiled = supple.compile(program)
    leaf = torch.ones(3, requires_grad=True)
    x = leaf * 1
    result = compiled(x)
    result.sum().backward(retain_graph=True)
    with torch.no_grad():
        x.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        result.sum().backward()

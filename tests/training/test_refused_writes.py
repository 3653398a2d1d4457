"""Writes that eager refuses for how a view was made: compiled, they raise what eager raises.

Autograd knows of each view in which mode it was made, and by an operator of how many results. A view of what
the graph computes is none once it is a result, so nothing refuses a write to it behind a graph break.
"""

from collections.abc import Callable

import pytest
import torch

import supple

Program = Callable[[torch.Tensor], object]


def made_without(view: Program, write: Callable[[torch.Tensor, torch.Tensor], object]) -> Program:
    """Return a program that makes a view without gradients, and writes to it with them."""

    def program(x: torch.Tensor) -> object:
        with torch.no_grad():
            made = view(x)
        assert isinstance(made, torch.Tensor)
        write(made, x)
        return x, made

    return program


VIEWS: dict[str, Program] = {
    "transposed": lambda x: (x * 2).t(),
    "the same": lambda x: (x * 2).view(3, 3),
    "reshaped": lambda x: (x * 2).reshape(3, 3),
    "sliced": lambda x: torch.cat([x, x])[1:4],
    "unbound": lambda x: torch.stack([x, x]).unbind(0)[1],
    "of an argument": lambda x: x.t(),
    "of a detached argument": lambda x: x.detach().t(),
    "no view": lambda x: x * 2,
    "contiguous": lambda x: (x * 2).contiguous(),
}
WRITES: dict[str, Callable[[torch.Tensor, torch.Tensor], object]] = {
    "by a tensor with gradients": lambda made, x: made.add_(x),
    "by itself": lambda made, _: made.mul_(2),
    "to an item": lambda made, x: made.__setitem__(0, x[0]),
    "to a view of it": lambda made, x: made[1].mul_(x[1]),
    "by copying": lambda made, x: made.copy_(x),
    "without gradients": lambda made, x: made.copy_(x.detach()),
}


def said(program: Program, x: torch.Tensor) -> object:
    try:
        return program(x)
    except RuntimeError as error:
        return str(error).partition("\n")[0]


def check(program: Program, backend: str) -> None:
    compiled = supple.compile(program, backend=backend)
    for requires_grad in (False, True, False):
        want = said(program, torch.ones(3, 3).requires_grad_(requires_grad) * 1)
        got = said(compiled, torch.ones(3, 3).requires_grad_(requires_grad) * 1)
        if isinstance(want, str):
            assert got == want
        else:
            torch.testing.assert_close(got, want)


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "native"])
@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("view", VIEWS)
def test_a_view_made_without_gradients(view: str, write: str, backend: str) -> None:
    check(made_without(VIEWS[view], WRITES[write]), backend)


def of_several(x: torch.Tensor) -> object:
    return (x.detach() * 2).unbind(0)[1].add_(x[0])


def of_inference(x: torch.Tensor) -> object:
    y = x * 2
    with torch.inference_mode():
        view = y.t()
    return view.add_(1)


def in_a_helper(x: torch.Tensor) -> object:
    return made_without(VIEWS["transposed"], WRITES["by a tensor with gradients"])(x)


def caught(x: torch.Tensor) -> object:
    with torch.no_grad():
        view = (x * 2).t()
    try:
        return view.add_(x)
    except RuntimeError:
        return x * 3


def behind_a_write(x: torch.Tensor) -> object:
    y = x * 2
    y.add_(1)
    with torch.no_grad():
        view = y.detach().t()
    view.mul_(x)
    return y


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "native"])
@pytest.mark.parametrize("program", [of_several, of_inference, in_a_helper, caught, behind_a_write])
def test_other_views(program: Program, backend: str) -> None:
    check(program, backend)

"""Inputs that the program writes between forward and backward: gradients are those of eager."""

# pyright: reportUnknownMemberType=false

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

import supple

Function = Callable[[Tensor, Tensor], Tensor]
FUNCTIONS: dict[str, Function] = {
    "where": lambda x, w: torch.where(x > 0, w, w * 2),
    "masked": lambda x, w: w.masked_fill(x < 0, 0.0),
    "masked later": lambda x, w: (w * 2).masked_fill(x < 0, 0.0) * w,
    "a relu of both": lambda x, w: (x + w).relu(),
    "a sigmoid": lambda x, w: (x + w).sigmoid(),
    "a gelu": lambda x, w: torch.nn.functional.gelu(x + w),
    "a factor": lambda x, w: w * (x + 1),
    "a cosine": lambda x, w: w * x.cos(),
    "a sum": lambda x, w: x.sum() * w,
    "a matrix": lambda x, w: w @ (x * 2),
    "places": lambda x, w: w[(x > 0).long()],
    "an embedding": lambda x, w: torch.nn.functional.embedding((x > 0).long(), w),
    "in place": lambda x, w: (w * 2).mul_(x + 1),
    "a maximum": lambda x, w: torch.maximum(x * 2, w),
    "a norm": lambda x, w: torch.nn.functional.layer_norm(x * 2, (3,), w[0], w[1]),
    "a dropout": lambda x, w: torch.nn.functional.dropout(x + w),
    "another type": lambda x, w: w * x.double(),
    "a copy": lambda x, w: w * x.clone(),
    "a copy of a part": lambda x, w: w * x[:1].clone(),
    "a copy of what is detached": lambda x, w: w * x.detach().clone(),
    "a copy by to": lambda x, w: w * x.to(x.dtype, copy=True),
    "copied into": lambda x, w: w * torch.empty_like(x).copy_(x),
    "a copy of a copy": lambda x, w: w * x.clone().view(-1).clone().view(3, 3),
    "a copy in a product": lambda x, w: w @ x.clone(),
    "saved by eager": lambda x, w: w * x,
    "saved in part": lambda x, w: w * x[:1],
    "not saved": lambda x, w: w + x,
}


def after(function: Function, x: Tensor, w: Tensor) -> object:
    """Return the gradients after a write, or what autograd says of it."""
    torch.manual_seed(0)
    result = function(x, w)
    with torch.no_grad():
        x.copy_(torch.full((3, 3), -2.0))
    try:
        result.sum().backward()
    except RuntimeError as error:
        return "refused" if "modified by an inplace operation" in str(error) else str(error)
    assert w.grad is not None
    return w.grad.tolist()


@pytest.mark.parametrize("needs_grad", [False, True])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_after_a_write_are_eagers(name: str, needs_grad: bool) -> None:
    def inputs() -> tuple[Tensor, Tensor]:
        torch.manual_seed(1)
        return torch.randn(3, 3, requires_grad=needs_grad), torch.randn(3, 3, requires_grad=True)

    compiled = supple.compile(FUNCTIONS[name], fullgraph=True)
    expected = after(FUNCTIONS[name], *inputs())
    for _ in range(2):
        found = after(compiled, *inputs())
        if expected == "refused":  # what compiled code does not need may be written
            continue
        assert isinstance(found, list)
        torch.testing.assert_close(torch.tensor(found), torch.tensor(expected))


def kept_beside_a_result(x: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    made = x * 2
    return w * made.clone(), made


def kept_beside_a_written_input(x: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    x.add_(1)
    return w * x.clone(), x


def kept_between_two_writes(x: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    x.add_(1)
    y = w * x.clone()
    z = y * y
    x.mul_(2)
    return z * x.clone(), x


def kept_over_a_break(x: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    y = w * x.clone()
    supple.graph_break()
    x.mul_(2)
    return y * y, x


def kept_beside_a_view(x: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    made = (x * 2).view(-1)
    return w * made.clone().view(3, 3), made[1:]


COPYING = (
    *(kept_beside_a_result, kept_beside_a_written_input, kept_between_two_writes),
    *(kept_over_a_break, kept_beside_a_view),
)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("backend", ["aot_eager_decomp", "native"])
@pytest.mark.parametrize("program", COPYING, ids=lambda one: one.__name__)
def test_a_copy_keeps_what_is_written_later(
    program: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]], backend: str, dynamic: bool
) -> None:
    found: list[Tensor | None] = []
    for run in (program, supple.compile(program, backend=backend, dynamic=dynamic)):
        torch.manual_seed(1)
        x, w = torch.randn(3, 3), torch.randn(3, 3, requires_grad=True)
        result, written = run(x, w)
        written.mul_(3)
        result.sum().backward()
        found.append(w.grad)
    torch.testing.assert_close(found[1], found[0])

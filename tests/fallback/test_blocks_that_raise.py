"""A graph that raises inside of a block of modes, behind a write, leaves the modes as it found them."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

import supple
from tests.modes import modes_now

NONE = torch.zeros(1, 1, dtype=torch.int64)


def autocast(x: Tensor) -> None:
    with torch.autocast("cpu"):
        x.scatter_(0, NONE, 2.0)


def nested_autocast(x: Tensor) -> None:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        x.add_(1)
        with torch.autocast("cpu", enabled=False):
            x.scatter_(0, NONE, 2.0)


def no_grad(x: Tensor) -> None:
    with torch.no_grad():
        x.add_(1)
        x.scatter_(0, NONE, 2.0)


def inference(x: Tensor) -> None:
    with torch.inference_mode():
        x.add_(1)
        x.scatter_(0, NONE, 2.0)


def after_a_break(x: Tensor) -> None:
    with torch.autocast("cpu"):
        x.add_(1)
        supple.graph_break()
        x.scatter_(0, NONE, 2.0)


@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("program", [autocast, nested_autocast, no_grad, inference, after_a_break])
def test_a_graph_that_raises_leaves_the_modes_as_they_were(
    program: Callable[[Tensor], None], backend: str
) -> None:
    compiled = supple.compile(program, backend=backend)
    compiled(torch.zeros(2, 3))
    before = modes_now()
    with pytest.raises(RuntimeError, match="out of bounds"):
        compiled(torch.zeros(0, 3))
    assert modes_now() == before

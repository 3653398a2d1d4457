"""Programs that look at frames: capture leaves the whole call to Python, so that they see eager's."""

import inspect
import sys
import traceback
from collections.abc import Callable

import pytest
import torch

import supple


def names_of_the_caller() -> list[str]:
    return sorted(sys._getframe(1).f_locals)


def place_of_the_caller() -> tuple[str, int]:
    frame = inspect.currentframe()
    assert frame is not None and frame.f_back is not None
    return frame.f_back.f_code.co_name, frame.f_back.f_lineno


def first(x: torch.Tensor) -> object:
    y = x + 1
    return y, names_of_the_caller()


def second(x: torch.Tensor) -> object:
    y = x + 1
    return y, place_of_the_caller()


def third(x: torch.Tensor) -> object:
    y = x + 1
    return y, sorted(locals())


def fourth(x: torch.Tensor) -> object:
    y = x + 1
    return y, [line.name for line in traceback.extract_stack()][-1:]


def fifth(x: torch.Tensor) -> object:
    y = x + 1
    return y, [line.function for line in inspect.stack()][:1]


def sixth(x: torch.Tensor) -> object:
    y = x + 1
    return y, sys._getframe().f_code.co_name


def seventh(x: torch.Tensor) -> object:
    y = x + 1
    z = y * 2
    return z, eval("y + z"), sorted(vars())


# B10
@pytest.mark.parametrize("program", [first, second, third, fourth, fifth, sixth, seventh])
def test_frames_are_eagers(program: Callable[[torch.Tensor], tuple[torch.Tensor, object]]) -> None:
    compiled = supple.compile(program)
    for _ in range(2):
        got, want = compiled(torch.ones(2)), program(torch.ones(2))
        assert torch.equal(got[0], want[0])
        assert str(got[1:]).replace("compiled", program.__name__) == str(want[1:])

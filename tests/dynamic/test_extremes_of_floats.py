"""min and max of floats that vary: of equal numbers the first, and NaN where it comes first, as in eager."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

import supple

NUMBERS = (0.5, -0.0, 0.0, math.nan, -1.0, math.inf)


def first_constant(x: torch.Tensor, number: float) -> Any:
    return min(0.0, number * 1.0), max(0.0, number * 1.0), x


def last_constant(x: torch.Tensor, number: float) -> Any:
    return min(number * 1.0, -0.0), max(number * 1.0, -0.0), x


def in_a_list(x: torch.Tensor, number: float) -> Any:
    return min([-0.0, number * 1.0, 0.0]), max([0.0, -0.0, number * 1.0]), x


def of_two(x: torch.Tensor, number: float) -> Any:
    return min(-number, number), max(-number, number), min(number, -number), max(number, -number), x


def of_torch(x: torch.Tensor, number: float) -> Any:
    return torch.sym_min(-0.0, number), torch.sym_max(number, 0.0), torch.sym_min(number, 0), x


def in_a_graph(x: torch.Tensor, number: float) -> Any:
    return x * min(0.0, number), x * max(-0.0, number), x / max(0.0, number * 1.0)


PROGRAMS = (first_constant, last_constant, in_a_list, of_two, of_torch, in_a_graph)


def shown(result: Any) -> list[Any]:
    return [repr(part.tolist() if isinstance(part, torch.Tensor) else part) for part in result]


@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda one: one.__name__)
def test_extremes_of_floats_that_vary_are_pythons(program: Callable[..., Any], backend: str) -> None:
    for numbers in itertools.permutations(NUMBERS, 3):
        compiled = supple.compile(program, backend=backend)
        for number in numbers:
            x = torch.ones(1)
            assert shown(compiled(x, number)) == shown(program(x, number)), (numbers, number)

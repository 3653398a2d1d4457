"""Arithmetic of sizes and floats that raises: where Python raises it, and with its words."""

import math
import operator
from collections.abc import Callable
from typing import Any

import pytest
import torch

import supple

Number = int | float

FORMS: dict[str, Callable[[Any], Any]] = {
    "n // (n - 3)": lambda n: n // (n - 3),
    "n % (n - 3)": lambda n: n % (n - 3),
    "n / (n - 3)": lambda n: n / (n - 3),
    "divmod(n, n - 3)": lambda n: divmod(n, n - 3),
    "7 // (n - 3)": lambda n: 7 // (n - 3),
    "7 % (n - 3)": lambda n: 7 % (n - 3),
    "7 / (n - 3)": lambda n: 7 / (n - 3),
    "divmod(7, n - 3)": lambda n: divmod(7, n - 3),
    "7.5 // (n - 3)": lambda n: 7.5 // (n - 3),
    "7.5 % (n - 3)": lambda n: 7.5 % (n - 3),
    "7.5 / (n - 3)": lambda n: 7.5 / (n - 3),
    "divmod(7.5, n - 3)": lambda n: divmod(7.5, n - 3),
    "n // 0": lambda n: n // 0,
    "n % 0": lambda n: n % 0,
    "n / 0": lambda n: n / 0,
    "n // 0.0": lambda n: n // 0.0,
    "n % 0.0": lambda n: n % 0.0,
    "n / 0.0": lambda n: n / 0.0,
    "n % False": lambda n: n % False,
    "True % (n - 3)": lambda n: True % (n - 3),
    "operator.mod(n, n - 3)": lambda n: operator.mod(n, n - 3),
    "(n - 3) ** -1": lambda n: (n - 3) ** -1,
    "(n - 3) ** -2": lambda n: (n - 3) ** -2,
    "(n - 3) ** -0.5": lambda n: (n - 3) ** -0.5,
    "(n - 3) ** 0.5": lambda n: (n - 3) ** 0.5,
    "(n - 3) ** (n - 4)": lambda n: (n - 3) ** (n - 4),
    "2 ** (n - 3)": lambda n: 2 ** (n - 3),
    "0 ** (n - 3)": lambda n: 0 ** (n - 3),
    "0.0 ** (n - 3)": lambda n: 0.0 ** (n - 3),
    "10.0 ** (n * 100)": lambda n: 10.0 ** (n * 100),
    "pow(n - 3, -1)": lambda n: pow(n - 3, -1),
    "pow(7, n - 4, n - 3)": lambda n: pow(7, n - 4, n - 3),
    "math.pow(n - 3, -1)": lambda n: math.pow(n - 3, -1),
    "math.pow(n - 3, 0.5)": lambda n: math.pow(n - 3, 0.5),
    "math.sqrt(n - 3)": lambda n: math.sqrt(n - 3),
    "math.isqrt(n - 3)": lambda n: math.isqrt(int(n) - 3),
    "math.log(n - 3)": lambda n: math.log(n - 3),
    "math.log1p(n - 4)": lambda n: math.log1p(n - 4),
    "math.log(n, n - 2)": lambda n: math.log(n, n - 2),
    "math.exp(n * 500)": lambda n: math.exp(n * 500),
    "math.acos(n - 3)": lambda n: math.acos(n - 3),
    "math.asin(n - 3)": lambda n: math.asin(n - 3),
    "math.atanh(n - 3)": lambda n: math.atanh(n - 3),
    "math.gamma(n - 3)": lambda n: math.gamma(n - 3),
    "math.lgamma(n - 3)": lambda n: math.lgamma(n - 3),
    "math.fmod(7, n - 3)": lambda n: math.fmod(7, n - 3),
    "math.remainder(7, n - 3)": lambda n: math.remainder(7, n - 3),
    "math.cos(n * inf)": lambda n: math.cos((n - 3) * math.inf),
    "math.sin(n * inf)": lambda n: math.sin((n - 3) * math.inf),
    "math.floor(n * inf)": lambda n: math.floor((n - 3) * math.inf),
    "int(n * inf)": lambda n: int((n - 3) * math.inf),
    "1 << (n - 3)": lambda n: 1 << (int(n) - 3),
    "round(n / (n - 3))": lambda n: round(n / (n - 3)),
    "float(n) % (n - 3)": lambda n: float(n) % (n - 3),
    "7 % float(n - 3)": lambda n: 7 % float(n - 3),
    "divmod(float(n), n - 3)": lambda n: divmod(float(n), n - 3),
    "float(n) // (n - 3)": lambda n: float(n) // (n - 3),
}


def caught(x: torch.Tensor, n: Number, form: Callable[[Any], Any]) -> tuple[torch.Tensor, object]:
    """Compute inside of the program's own `try`."""
    try:
        return x * 2, form(n)
    except (ArithmeticError, ValueError, TypeError) as error:
        return x + 1, (type(error), str(error))


def of_a_size(x: torch.Tensor, n: Number, form: Callable[[Any], Any]) -> tuple[torch.Tensor, object]:
    """Compute the same with a number that is a size."""
    try:
        return x * 2, form(x.shape[0])
    except (ArithmeticError, ValueError, TypeError) as error:
        return x + 1, (type(error), str(error))


def uncaught(x: torch.Tensor, n: Number, form: Callable[[Any], Any]) -> tuple[torch.Tensor, object]:
    """Let the error leave the program."""
    return x * 2, form(n)


def outcome(program: Callable[..., Any], *args: Any) -> object:
    """Return what a call gives or raises, as something that compares."""
    try:
        tensor, number = program(*args)
    except (ArithmeticError, ValueError, TypeError) as error:
        return type(error), str(error)
    return tensor.tolist(), type(number), repr(number)


VALUES: dict[Callable[..., Any], list[list[Number]]] = {
    caught: [[3, 5, 2], [3.0, 5.5, 2.0]],
    of_a_size: [[3, 5, 2]],
    uncaught: [[3, 5, 2], [3.0, 5.5, 2.0]],
}


@pytest.mark.parametrize("program", VALUES, ids=lambda program: program.__name__)
@pytest.mark.parametrize("form", FORMS)
def test_numbers_raise_what_python_raises(form: str, program: Callable[..., Any]) -> None:
    for values in VALUES[program]:
        for start in range(len(values)):
            order = values[start:] + values[:start]
            supple.reset()
            compiled = supple.compile(program, dynamic=True)
            for n in (*order, *order):
                x = torch.ones(int(n))
                assert outcome(compiled, x, n, FORMS[form]) == outcome(program, x, n, FORMS[form]), (order, n)


@pytest.mark.parametrize("first", [3, 1, 0, -2])
def test_what_torch_asks_of_a_number_is_asked_of_this_one(first: int) -> None:
    """The columns of `vander` are more than one, which no size has to be."""

    def program(x: torch.Tensor, n: int) -> tuple[torch.Tensor, int]:
        return torch.linalg.vander(x, N=n), n

    def told(run: Callable[..., Any], n: int) -> object:
        try:
            return outcome(run, torch.arange(3.0), n)
        except RuntimeError as error:
            return str(error).partition("\n")[0]

    compiled = supple.compile(program, dynamic=True)
    for n in (first, 5, 1, 2, -1, 3):
        assert told(compiled, n) == told(program, n)

"""A condition on numbers that cannot be computed for a call's numbers fails as a guard: it never raises."""

import math
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F

import supple

FLOATS: dict[str, Callable[[float], object]] = {
    "quotient": lambda f: 1.0 / f > 1.5,
    "quotient, not": lambda f: not (3.0 / (f - 2.0) < 1.0),
    "floor": lambda f: 5.0 // f > 2,
    "rest": lambda f: 5.0 % f > 0.5,
    "power": lambda f: f**-1.0 > 1.5,
    "large power": lambda f: 10.0**f > 2.0,
    "root": lambda f: math.sqrt(f) > 0.5,
    "logarithm": lambda f: math.log(f) > -1.0,
    "exponential": lambda f: math.exp(f * 100) > 1.0,
    "integer": lambda f: int(f * 3) > 0,
    "rounded": lambda f: round(f * 3) > 0,
    "floor of math": lambda f: math.floor(f * 3) > 0,
    "two": lambda f: f > 0.1 and 1.0 / (f - 0.5) != 2.0,
}
INTEGERS: dict[str, Callable[[int], object]] = {
    "quotient": lambda n: 1 / n > 0.4,
    "floor": lambda n: 7 // n > 2,
    "rest": lambda n: 7 % n == 1,
    "power": lambda n: 2**n > 5,
    "shift": lambda n: 1 << n > 5,
    "root": lambda n: math.isqrt(n) > 1,
    "root of a float": lambda n: math.sqrt(n) > 1.2,
    "rest of a difference": lambda n: 7 % (n - 2) == 1,
}


def agree(condition: Callable[..., object], numbers: tuple[float, ...], *, is_caught: bool) -> None:
    def program(x: torch.Tensor, number: float) -> object:
        if not is_caught:
            return x * 2 if condition(number) else x * 3
        try:
            return x * 2 if condition(number) else x * 3
        except (ArithmeticError, ValueError, TypeError) as error:
            return str(error)

    def outcome(run: Callable[..., object], number: float) -> object:
        try:
            found = run(torch.ones(2), number)
        except (ArithmeticError, ValueError, TypeError) as error:
            return type(error), str(error)
        return found.tolist() if isinstance(found, torch.Tensor) else found

    compiled = supple.compile(program, backend="eager", dynamic=True)
    with supple.config.patch(suppress_errors=False):
        for number in numbers:
            assert outcome(compiled, number) == outcome(program, number), number


@pytest.mark.parametrize("is_caught", [False, True])
@pytest.mark.parametrize("name", FLOATS)
def test_conditions_on_floats(name: str, is_caught: bool) -> None:
    numbers = (0.6, 0.0, 2.5, 2.0, -1.0, 0.5, 400.0, math.inf, math.nan, -0.5, 0.6)
    agree(FLOATS[name], numbers, is_caught=is_caught)


@pytest.mark.parametrize("is_caught", [False, True])
@pytest.mark.parametrize("name", INTEGERS)
def test_conditions_on_integers(name: str, is_caught: bool) -> None:
    agree(INTEGERS[name], (3, 0, 2, 4, -1, 5, 2000, 3), is_caught=is_caught)


@pytest.mark.parametrize("backend", ["eager", "native"])
def test_conditions_of_operators(backend: str) -> None:
    def program(x: torch.Tensor, norm: float) -> object:
        try:
            return F.lp_pool1d(x, norm, 2)
        except (ZeroDivisionError, ValueError) as error:  # ValueError from torch 2.14
            return str(error)

    compiled = supple.compile(program, backend=backend, dynamic=True)
    x = torch.ones(1, 1, 3)
    for norm in (0.5, 0.0, 2.0):
        found, expected = compiled(x, norm), program(x, norm)
        assert torch.equal(found, expected) if norm else found == expected

"""Operators of Python's numbers where each number is symbolic: what they give and raise is Python's."""

import itertools
import operator
from collections.abc import Callable
from typing import Any, Final

import pytest

import supple

OPERATORS: Final = (
    *(operator.pow, operator.floordiv, operator.mod, operator.truediv, operator.lshift, operator.rshift),
    *(operator.and_, operator.or_, operator.xor, operator.add, operator.sub, operator.mul, divmod, pow),
)
NUMBERS: Final = (-3, -2, -1, 0, 1, 2, 7, -0.0, 0.0, 1.5, -1.5, 1e308, 2**62, -(2**63))
LARGEST: Final = 100
"""Beyond it a power or a shift takes too long."""

Operator = Callable[[Any, Any], Any]


def told(function: Operator, left: float, right: float) -> str:
    """What a program says that handles the errors of an operator."""
    try:
        return repr(function(left, right))
    except Exception as error:
        return repr(error)


@pytest.mark.sweep
@pytest.mark.parametrize("left", NUMBERS)
@pytest.mark.parametrize("function", OPERATORS, ids=lambda one: one.__name__)
def test_two_symbolic_numbers(function: Operator, left: float) -> None:
    is_large = function in (operator.pow, operator.lshift, pow)
    for right in NUMBERS:
        if is_large and isinstance(left, int) and isinstance(right, int) and max(abs(left), right) > LARGEST:
            continue
        supple.reset()
        found = supple.compile(lambda a, b: told(function, a, b), backend="eager", dynamic=True)(left, right)
        assert found == told(function, left, right), right


@pytest.mark.sweep
@pytest.mark.parametrize("function", OPERATORS, ids=lambda one: one.__name__)
def test_a_number_beside_constants(function: Operator) -> None:
    constants = (-2, 2, 0, 1.5, True)

    def program(number: float) -> list[str]:
        pairs = [*((one, number) for one in constants), *((number, one) for one in constants)]
        return [told(function, left, right) for left, right in pairs]

    for number in itertools.takewhile(lambda one: abs(one) < LARGEST, NUMBERS):
        supple.reset()
        assert supple.compile(program, backend="eager", dynamic=True)(number) == program(number), number

"""Operators and functions of numbers where each number is symbolic: what they give and raise is Python's."""

import itertools
import math
import operator
import types
from collections.abc import Callable
from typing import Any, Final

import pytest

import supple

OPERATORS: Final = (
    *(operator.pow, operator.floordiv, operator.mod, operator.truediv, operator.lshift, operator.rshift),
    *(operator.and_, operator.or_, operator.xor, operator.add, operator.sub, operator.mul, divmod, pow),
)
NUMBERS: Final = (-3, -2, -1, 0, 1, 2, 7, -0.0, 0.0, 1.5, -1.5, 1e308, 2**62, -(2**63))
SPECIAL: Final = (0.5, 2.5, 171, 1000, 1e300, -1e308, 5e-324, math.inf, -math.inf, math.nan, True)
OF_MATH: Final = [one for one in vars(math).values() if isinstance(one, types.BuiltinFunctionType)]
OF_KINDS: Final = (
    *(float.is_integer, float.hex, float.as_integer_ratio, int.bit_length, float.__round__, float.__trunc__),
    *(abs, round, int, float, bool, complex, hash, repr, str, bin, hex, chr, format, min, max, sum),
    *(float.__pow__, float.__rpow__, float.__floordiv__, int.__pow__, int.__rsub__, float.__lt__, int.__eq__),
)
LARGEST: Final = 100
"""Beyond it a power or a shift takes too long."""

Operator = Callable[[Any, Any], Any]


def told(function: Operator, *numbers: object, **named: object) -> str:
    """What a program says that handles the errors of an operator."""
    try:
        return repr(function(*numbers, **named))
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


@pytest.mark.sweep
@pytest.mark.parametrize("function", [*OF_MATH, *OF_KINDS], ids=lambda one: one.__qualname__)
def test_a_function_of_symbolic_numbers(function: Operator) -> None:
    def program(left: float, right: float) -> list[str]:
        return [told(function, left), told(function, left, right)]

    for left, right in itertools.product((2, -2, 1.5, 0, 1e300, 171), (*SPECIAL, 0, 3, -0.0)):
        supple.reset()
        found = supple.compile(program, backend="eager", dynamic=True)(left, right)
        assert found == program(left, right), (left, right)


IN_A_BASE: Final[list[Operator]] = [
    lambda number, base: told(int, "12", base),
    lambda number, base: told(int, b"11", base=base),
    lambda number, base: told(int, bytearray(b"11"), base),
    lambda number, base: told(int, [number], base),
    lambda number, base: told(int, number, base),
    lambda number, base: told(int, number, base=base),
    lambda number, base: told(int, number, base=10),
    lambda number, base: told(int, True, base),
    lambda number, base: told(int, base=base),
    lambda number, base: told(float, number, base),
    lambda number, base: told(float, x=number),
    lambda number, base: told(complex, number, base),
    lambda number, base: told(str, number, base),
    lambda number, base: told(pow, number, base, 3),
]


@pytest.mark.parametrize("place", range(len(IN_A_BASE)))
def test_a_number_in_a_symbolic_base(place: int) -> None:
    program = IN_A_BASE[place]
    for number, base in itertools.product((2, 7.5, -1, 0), (10, 3, 2.0, 1, 0, -1, 37, True)):
        supple.reset()
        found = supple.compile(program, backend="eager", dynamic=True)(number, base)
        assert found == program(number, base), (number, base)

"""Numbers and conditions that depend on sizes: ints, floats and bools without a known value."""

import math
import operator
from collections.abc import Mapping, Sequence
from typing import Any, Final

import torch

from supple.capture.machine import Machine
from supple.capture.source import Source
from supple.capture.values.base import Value
from supple.capture.values.constant import ConstantValue, fold
from supple.expr import Expr, as_expr
from supple.expr.real import Real
from supple.shapes.symnode import Symbolic, SymNode, plain

#: The Python type that each kind of symbolic number stands for.
TYPES: Final[dict[type, type]] = {torch.SymInt: int, torch.SymFloat: float, torch.SymBool: bool}
#: Operators that stay symbolic; all others are on the number that it is in this call.
POW: Final[object] = vars(operator)["pow"]
OWN: Final = {POW: SymNode.pow, vars(operator)["floordiv"]: SymNode.floordiv}
_ORDERS: Final = "eq ne lt le gt ge".split()
_NAMES: Final = (*"add sub mul truediv floordiv mod pow neg pos".split(), *_ORDERS)
SYMBOLIC: Final = frozenset((abs, *(vars(operator)[name] for name in _NAMES)))
COMPARISONS: Final = {
    vars(operator)[name]: sign for name, sign in zip(_ORDERS, ("==", "!=", "<", "<=", ">", ">="), strict=True)
}
DIVISIONS: Final = frozenset(vars(operator)[name] for name in ("truediv", "floordiv", "mod"))


class SymbolicValue(Value):
    """A number that depends on sizes. What asks for its value specialises it, under a guard.

    Attributes:
        number: torch's object for it, which computes symbolically.
    """

    __slots__ = ("number",)

    def __init__(self, number: Symbolic, source: Source | None = None) -> None:
        super().__init__(source)
        self.number = number

    @property
    def expr(self) -> Expr | Real:
        """The number in terms of symbols."""
        found = plain(self.number)
        assert isinstance(found, Expr | Real), found
        return found

    def python_type(self) -> type:
        return TYPES[type(self.number)]

    def describe(self) -> str:
        return f"{self.python_type().__name__} {self.expr}"

    def as_python(self) -> object:
        return self.python_type()(self.number)

    def identity(self) -> object:
        return ("symbolic", self.python_type(), self.expr)

    def key(self, machine: Machine) -> object:
        return self.as_python()

    def truth(self, machine: Machine) -> bool:
        return bool(self.number != 0 if isinstance(self.number, torch.SymFloat) else self.number)

    def get_attr(self, machine: Machine, name: str) -> Value:
        if name == "__class__":
            return machine.wrap(self.python_type(), None)
        return ConstantValue(self.as_python()).get_attr(machine, name)

    def get_item(self, machine: Machine, key: Value) -> Value:
        machine.throw(TypeError, f"{self.python_type().__name__!r} object is not subscriptable")

    def call(self, machine: Machine, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
        machine.throw(TypeError, f"{self.python_type().__name__!r} object is not callable")


def numeric(value: Value) -> object | None:
    """Return the number that a value is, symbolic or plain; None for other values."""
    if isinstance(value, SymbolicValue):
        return value.number
    if isinstance(value, ConstantValue) and isinstance(value.value, int | float):
        return value.value
    return None


def decided(number: object) -> object:
    """Return an operand of arithmetic: 0 or 1 for a condition, any other as it is."""
    return int(bool(number)) if isinstance(number, bool | torch.SymBool) else number


def applied(machine: Machine, function: object, values: Sequence[Value]) -> Value | None:
    """Return a function of numbers of which one at least is symbolic; None when it does not stay symbolic."""
    if function not in SYMBOLIC or not any(isinstance(value, SymbolicValue) for value in values):
        return None
    numbers = [decided(numeric(value)) for value in values]
    if None in numbers:
        return None
    is_float = any(isinstance(number, float | torch.SymFloat) for number in numbers)
    has_hints = all(type(number) not in TYPES or vars(number)["node"].has_hint() for number in numbers)
    if is_float and has_hints and function in COMPARISONS:
        # Torch's own makes a float of an integer; Python compares what they are.
        some = next(vars(number)["node"] for number in numbers if type(number) in TYPES)
        left, right = (as_expr(one) if isinstance(one, int) else one for one in map(plain, numbers))
        return machine.wrap(some.env.decide_real(COMPARISONS[function], left, right), None)
    if has_hints and not (_is_smooth if is_float else _is_defined)(function, *numbers):
        return fold(machine, function, *(value.as_python() for value in values))
    if is_float and has_hints and function in OWN:
        # Of floats torch's own `**` loads its symbolic engine, its `//` rounds a quotient.
        some = next(vars(number)["node"] for number in numbers if type(number) in TYPES)
        left, right = (
            vars(number)["node"] if type(number) in TYPES else some.wrap_float(number) for number in numbers
        )
        return machine.wrap(torch.SymFloat(OWN[function](left, right)), None)
    return fold(machine, function, *numbers)


def _is_smooth(function: object, left: Any, right: Any = None) -> bool:
    """Decide that an operator of floats gives a float, for these and what the guards let through."""
    if function is POW:
        is_positive = bool(left >= 0 if type(right) not in TYPES and right > 0 else left > 0)
        return is_positive and is_finite_power(left, right)
    return function not in DIVISIONS or bool(right != 0 and abs(left) < math.inf and abs(right) < math.inf)


def _is_defined(function: object, left: Any, right: Any = None) -> bool:
    """Decide that an operator of integers raises nothing, for these and what the guards let through."""
    if function in DIVISIONS:
        return bool(right != 0)
    # A negative power is a float, which torch's own `**` gives for positive numbers only.
    return function is not POW or bool(right >= 0) or bool(left > 0)


def is_finite_power(base: Any, exponent: Any) -> bool:
    """Decide that a power of a positive number is below the largest float: Python raises an error above."""
    if type(exponent) not in TYPES:
        bound = math.exp(_LARGEST / abs(exponent)) if abs(exponent) > 1 else math.inf
        return bool(base < bound if exponent > 0 else base > 1 / bound)
    if type(base) not in TYPES:
        bound = _LARGEST / abs(math.log(base)) if base != 1 else math.inf
        return bool(exponent < bound if base > 1 else exponent > -bound)
    return bool(base > 1e-10 and base < 1e10 and abs(exponent) < 30)


_LARGEST: Final = 709.0
"""A little below the natural logarithm of the largest float."""

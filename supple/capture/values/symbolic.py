"""Numbers and conditions that depend on sizes: ints, floats and bools without a known value."""

import operator
from collections.abc import Mapping, Sequence
from typing import Final, cast

import torch

from supple.capture.machine import Machine
from supple.capture.source import Source
from supple.capture.values.base import Value
from supple.capture.values.constant import ConstantValue, fold
from supple.expr import Expr
from supple.expr.real import Real
from supple.shapes.symnode import Symbolic, SymNode, plain

#: The Python type that each kind of symbolic number stands for.
TYPES: Final[dict[type, type]] = {torch.SymInt: int, torch.SymFloat: float, torch.SymBool: bool}
#: Operators that stay symbolic; all others are on the number that it is in this call.
POW: Final[object] = vars(operator)["pow"]
SYMBOLIC: Final[frozenset[object]] = frozenset(
    (
        abs,
        *(
            getattr(operator, name)
            for name in "add sub mul truediv floordiv mod pow eq ne lt le gt ge neg pos".split()
        ),
    )
)


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

    def length(self, machine: Machine) -> Value:
        machine.throw(TypeError, f"object of type {self.python_type().__name__!r} has no len()")

    def get_attr(self, machine: Machine, name: str) -> Value:
        if name == "__class__":
            return machine.wrap(self.python_type(), None)
        return ConstantValue(self.as_python()).get_attr(machine, name)

    def get_item(self, machine: Machine, key: Value) -> Value:
        machine.throw(TypeError, f"{self.python_type().__name__!r} object is not subscriptable")

    def iterate(self, machine: Machine) -> Value:
        machine.throw(TypeError, f"{self.python_type().__name__!r} object is not iterable")

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
    base, *rest = numbers
    if function is POW and isinstance(rest[0], float) and isinstance(base, torch.SymInt | torch.SymFloat):
        # torch's own `**` of a symbolic float loads its symbolic engine.
        node = cast("SymNode", vars(base)["node"])
        return machine.wrap(torch.SymFloat(node.float_pow(node.wrap_float(rest[0]))), None)
    return fold(machine, function, *numbers)

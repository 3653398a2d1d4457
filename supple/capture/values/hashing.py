"""Keys of dicts and members of sets whose classes say themselves what they are equal to."""

from supple.capture.machine import Machine
from supple.capture.values.base import Value
from supple.capture.values.constant import ConstantValue


def as_hash(number: int) -> int:
    """Return what `hash` makes of the number that a class's `__hash__` gives."""
    return number if -(2**63) <= number < 2**63 and number != -1 else hash(number)


class HashKey:
    """The dict key of an object whose class defines `__hash__`: equality is the program's `==`."""

    __slots__ = ("_machine", "hash", "value")

    def __init__(self, machine: Machine, value: Value, number: int) -> None:
        self._machine = machine
        self.value = value
        self.hash = number

    def __hash__(self) -> int:
        return self.hash

    def __eq__(self, other: object) -> bool:
        value = other.value if isinstance(other, HashKey) else ConstantValue(other)
        if self.value is value:
            return True
        return self._machine.compare("==", self.value, value).truth(self._machine)

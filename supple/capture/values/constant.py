"""Immutable leaves: numbers, strings, None, dtypes, devices, enums, code objects, ranges of ints."""

import enum
import sys
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import contains, getitem
from typing import Final, cast

import numpy as np
import torch

from supple.base.errors import SuppleError
from supple.base.interrupts import is_interrupt
from supple.capture.machine import Machine
from supple.capture.source import Source
from supple.capture.values.base import Value, module_of, name_in_c, name_of, qualified_name_of

NUMPY_NUMBERS: Final[frozenset[type]] = frozenset(
    (np.bool_, np.uint8, np.int8, np.int16, np.int32, np.int64, np.float16, np.float32, np.float64)
)
#: Types whose objects are immutable, compared by value, and free of references to user objects.
LITERALS: Final[frozenset[type]] = frozenset(
    (
        type(None),
        bool,
        int,
        float,
        complex,
        str,
        bytes,
        type(...),
        type(NotImplemented),
        torch.dtype,
        torch.device,
        torch.layout,
        torch.memory_format,
        range,
        types.CodeType,
        *NUMPY_NUMBERS,
    )
)


class ConstantValue(Value):
    """A known immutable object."""

    __slots__ = ("value",)

    def __init__(self, value: object, source: Source | None = None) -> None:
        super().__init__(source)
        self.value = value

    def python_type(self) -> type:
        return type(self.value)

    def describe(self) -> str:
        return f"{type(self.value).__name__} {self.value!r}"

    def as_python(self) -> object:
        return self.value

    def identity(self) -> object:
        value = self.value
        singleton = value is None or isinstance(value, bool | enum.Enum | type(...) | type(NotImplemented))
        return value if singleton else (type(value), value)

    def key(self, machine: Machine) -> object:
        return self.value

    def truth(self, machine: Machine) -> bool:
        return bool(self.value)

    def length(self, machine: Machine) -> Value:
        return fold(machine, len, self.value)

    def get_attr(self, machine: Machine, name: str) -> Value:
        return wrap_folded(machine, fold_raw(machine, getattr, self.value, name))

    def get_item(self, machine: Machine, key: Value) -> Value:
        return fold(machine, getitem, self.value, key.as_python())

    def contains(self, machine: Machine, item: Value) -> Value:
        return fold(machine, contains, self.value, item.as_python())

    def iterate(self, machine: Machine) -> Value:
        items = fold_raw(machine, list, self.value)
        assert isinstance(items, list)
        return ConstantIterator(self, items)  # pyright: ignore[reportUnknownArgumentType]  # items of a constant

    def call(self, machine: Machine, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
        machine.throw(TypeError, f"{name_in_c(machine, type(self.value))!r} object is not callable")


class ConstantIterator(Value):
    """An iterator over a string, bytes, a range or another constant, of the class that `iter` gives.

    Attributes:
        position: how many items it gave; `FINISHED` once it has given that there are no more.
    """

    __slots__ = ("constant", "items", "position")

    def __init__(self, constant: ConstantValue, items: Sequence[object]) -> None:
        super().__init__()
        self.constant = constant
        self.items = items
        self.position = 0

    def python_type(self) -> type:
        return type(iter(cast("Iterable[object]", self.constant.value)))

    def iterate(self, machine: Machine) -> Value:
        return self

    def advance(self, machine: Machine) -> Value | None:
        place = self.position
        is_over = place >= len(self.items)
        machine.heap.set_field(self, "position", FINISHED if is_over else place + 1)
        return None if is_over else machine.wrap(self.items[place], None)


FINISHED: Final = 1 << 60
"""The position of an iterator that has ended: it gives nothing, although its list may grow."""


def fold_raw(machine: Machine, function: object, *args: object, **kwargs: object) -> object:
    """Return `function(*args, **kwargs)` on Python objects; its exception becomes one of the program."""
    assert callable(function)
    try:
        found = function(*args, **kwargs)
    except (RecursionError, SuppleError):
        raise
    except Exception as error:  # whatever the constant operation raises, the program raises
        if is_interrupt(error):
            raise
        guard_digits(machine, args, kwargs)
        guard_names(machine, args, kwargs)
        machine.throw(type(error), *error.args)
    if isinstance(found, str):
        guard_digits(machine, args, kwargs)
        guard_names(machine, args, kwargs)
    elif function is int:
        guard_digits(machine, args)
    return found


FEWEST_DIGITS: Final = sys.int_info.str_digits_check_threshold
"""Up to so many digits Python reads and writes every integer, whatever its limit."""
_FEWEST_BITS: Final = (10**FEWEST_DIGITS).bit_length() - 1


def guard_digits(machine: Machine, *objects: object) -> None:
    """Guard Python's limit on digits where a text of objects, or an integer read from them, may exceed it."""
    for one in with_parts(*objects):
        is_long = isinstance(one, str | bytes | bytearray) and len(one) > FEWEST_DIGITS
        if is_long or (isinstance(one, int) and one.bit_length() > _FEWEST_BITS):
            machine.ask_state("int_digits")


def guard_names(machine: Machine, *objects: object) -> None:
    """Guard the names of all classes that a text about some objects may have: theirs, and themselves."""
    for one in with_parts(*objects):
        name_of(machine, type(one))
        if isinstance(one, type):
            name_of(machine, one)
            qualified_name_of(machine, one)
            module_of(machine, one)


def with_parts(*objects: object) -> Iterator[object]:
    """Yield some objects, and what is in them where they are containers, as their texts have it."""
    pending = list(objects)
    while pending:
        one = pending.pop()
        yield one
        if isinstance(one, dict):
            pending += [*one.keys(), *one.values()]
        elif isinstance(one, list | tuple | set | frozenset):
            pending += one


def fold(machine: Machine, function: object, *args: object, **kwargs: object) -> Value:
    """Return the wrapped result of a pure function on constants."""
    return wrap_folded(machine, fold_raw(machine, function, *args, **kwargs))


def wrap_folded(machine: Machine, result: object) -> Value:
    """Return the value of an object computed from constants."""
    return ConstantValue(result) if type(result) in LITERALS else machine.wrap(result, None)

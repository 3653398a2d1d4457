"""Items that arrive from an iterable: how many are announced, and what runs between two of them.

What fills a container from an iterator that runs code of the program stores each item before it asks for the
next one: the iterator may look at the container, and what has arrived before an error stays.
"""

import operator
import types
from collections.abc import Iterator
from typing import Any

from supple.capture.machine import Machine
from supple.capture.values.attributes import lookup, special
from supple.capture.values.base import Raised, Value, drain, take_all
from supple.capture.values.constant import ConstantValue, fold_raw
from supple.capture.values.instance import InstanceValue, container
from supple.capture.values.mapping import DictValue, DictView, SetValue
from supple.capture.values.sequence import SequenceValue
from supple.capture.values.tensor import TensorValue

_STILL = SequenceValue | DictValue | DictView | SetValue | ConstantValue | TensorValue
"""What gives its items without running code of the program."""


def arriving(
    machine: Machine, value: Value, *, into: Value | None = None, is_counted: bool = False
) -> Iterator[list[Value]]:
    """Yield the items of an iterable, those together between which no code of the program runs.

    Args:
        into: the container that is filled; filled from itself it takes what it has at the beginning.
        is_counted: ask it first how many they are, as CPython does for a list.
    """
    if isinstance(value, _STILL) or (into is not None and container(value) is into):
        yield take_all(machine, value)
        return
    iterator = value.iterate(machine)
    if is_counted:
        _ask_for_length(machine, value)
    for item in drain(machine, iterator):
        yield [item]


def take_counted(machine: Machine, value: Value) -> list[Value]:
    """Return all items of an iterable for a new list; its class is asked how many, if it can tell."""
    return [item for items in arriving(machine, value, is_counted=True) for item in items]


def _ask_for_length(machine: Machine, value: Value) -> None:
    """Run `__len__`, else `__length_hint__`, of a class of the program; its TypeError is no answer."""
    if not isinstance(value, InstanceValue):
        return
    try:
        if isinstance(lookup(value.cls, "__len__"), types.FunctionType):
            value.length(machine)
            return
    except Raised as raised:
        if not raised.is_a(TypeError):
            raise
    hint = special(machine, value, "__length_hint__")
    if hint is None:
        return
    try:
        found = machine.call(hint)
    except Raised as raised:
        if not raised.is_a(TypeError):
            raise
        return
    if found.python_type() is not int or isinstance(found, ConstantValue):
        fold_raw(machine, operator.length_hint, _Announcing(found.as_python()))


class _Announcing:
    """An object with a length hint."""

    def __init__(self, hint: object) -> None:
        self.hint = hint

    def __length_hint__(self) -> Any:
        return self.hint

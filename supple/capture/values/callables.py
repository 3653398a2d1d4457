"""Callables of functools: partial objects, and functions behind lru_cache."""

import functools
from collections.abc import Mapping, Sequence

from supple.capture import breaks
from supple.capture.guards.kinds import Kind
from supple.capture.machine import Machine
from supple.capture.source import Source, attribute
from supple.capture.values.base import NotConstant, Value
from supple.capture.values.constant import ConstantValue
from supple.capture.values.function import LeafValue
from supple.capture.values.instance import InstanceValue
from supple.capture.values.mapping import DictValue
from supple.capture.values.sequence import new_tuple


class PartialValue(InstanceValue):
    """functools.partial(function, *args, **kwargs), made during capture."""

    __slots__ = ("args", "function", "kwargs")

    def __init__(self, function: Value, args: Sequence[Value], kwargs: Mapping[str, Value]) -> None:
        super().__init__(functools.partial)
        self.function = function
        self.args = tuple(args)
        self.kwargs = dict(kwargs)

    def call(self, machine: Machine, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
        return machine.call(self.function, [*self.args, *args], {**self.kwargs, **kwargs})

    def generic_get(self, machine: Machine, name: str) -> Value:
        if name == "func":
            return self.function
        if name == "args":
            return new_tuple(self.args)
        if name == "keywords":
            made = DictValue()
            for key, value in self.kwargs.items():
                made.set_item(machine, ConstantValue(key), value)
            return made
        return super().generic_get(machine, name)

    def set_attr(self, machine: Machine, name: str, new: Value) -> None:
        machine.unsupported(breaks.SIDE_EFFECT, name=f"attribute {name} of {self.describe()}")


class MemoizedValue(LeafValue):
    """A function behind `functools.lru_cache`: inlined where it gives a constant and changes nothing."""

    __slots__ = ()

    def call(self, machine: Machine, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
        inner = getattr(self.obj, "__wrapped__", None)
        source = attribute(self.source, "__wrapped__") if self.source else None
        before = len(machine.heap.dirty), len(machine.heap.effects)
        result = machine.call(machine.wrap(inner, source), args, kwargs)
        if (len(machine.heap.dirty), len(machine.heap.effects)) != before:
            machine.unsupported(breaks.CALL, name=f"{self.describe()}, which is cached and has side effects")
        try:
            result.as_python()
        except NotConstant:
            machine.unsupported(breaks.CALL, name=f"{self.describe()}, which is cached and makes an object")
        return result


def wrap_memoized(machine: Machine, obj: object, source: Source | None) -> MemoizedValue:
    """Return the value of a function behind lru_cache, known by identity."""
    machine.guard(source, Kind.IS, obj)
    return MemoizedValue(obj, source)

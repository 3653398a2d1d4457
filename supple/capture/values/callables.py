"""Callables of functools: partial objects, and functions behind lru_cache."""

import functools
from collections.abc import Mapping, Sequence

from supple.capture import breaks
from supple.capture.guards.kinds import Kind
from supple.capture.machine import Machine
from supple.capture.source import Source, attribute
from supple.capture.values.base import NotConstant, Value
from supple.capture.values.constant import ConstantValue, fold
from supple.capture.values.function import LeafValue
from supple.capture.values.instance import InstanceValue
from supple.capture.values.mapping import DictValue
from supple.capture.values.sequence import SequenceValue, make_tuple, new_tuple
from supple.capture.values.symbolic import SymbolicValue


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
    """A function behind `functools.lru_cache`, whose results are the same objects each time.

    On constants it is called, as the program would: the cache may answer. On other arguments the function
    itself is inlined.
    """

    __slots__ = ()

    def call(self, machine: Machine, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
        try:
            plain = [_constant(value) for value in args]
            named = {name: _constant(value) for name, value in kwargs.items()}
        except NotConstant:
            inner = getattr(self.obj, "__wrapped__", None)
            source = attribute(self.source, "__wrapped__") if self.source else None
            return machine.call(machine.wrap(inner, source), args, kwargs)
        return fold(machine, self.obj, *plain, **named)


def _constant(value: Value) -> object:
    """Return the object of a value made of constants; a number that depends on sizes is none."""
    if isinstance(value, SymbolicValue):
        raise NotConstant
    if isinstance(value, SequenceValue):
        items = [_constant(item) for item in value.items]
        return items if value.is_mutable else make_tuple(value.kind, items)
    return value.as_python()


def wrap_memoized(machine: Machine, obj: object, source: Source | None) -> MemoizedValue:
    """Return the value of a function behind lru_cache, known by identity."""
    machine.guard(source, Kind.IS, obj)
    return MemoizedValue(obj, source)

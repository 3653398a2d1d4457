"""Callables of functools and operator: partial objects and getters."""

import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from supple.capture import breaks
from supple.capture.machine import Machine
from supple.capture.source import Source
from supple.capture.values.attributes import lookup, type_attr
from supple.capture.values.base import Value
from supple.capture.values.constant import ConstantValue, fold_raw
from supple.capture.values.instance import InstanceValue
from supple.capture.values.mapping import DictValue
from supple.capture.values.sequence import new_tuple


class PartialValue(InstanceValue):
    """functools.partial(function, *args, **kwargs), or of a subclass, made during capture."""

    __slots__ = ("args", "function", "kwargs")

    def __init__(self, function: Value, args: Sequence[Value], kwargs: Mapping[str, Value]) -> None:
        super().__init__(functools.partial)
        self.function = function
        self.args = tuple(args)
        self.kwargs = dict(kwargs)

    def call(self, machine: Machine, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
        if lookup(self.cls, "__call__") is not functools.partial.__dict__["__call__"]:
            return super().call(machine, args, kwargs)
        return machine.call(self.function, [*self.args, *args], {**self.kwargs, **kwargs})

    def generic_get(self, machine: Machine, name: str) -> Value:
        is_own = lookup(self.cls, name) is functools.partial.__dict__.get(name)
        if name == "func" and is_own:
            return self.function
        if name == "args" and is_own:
            return new_tuple(self.args)
        if name == "keywords" and is_own:
            made = DictValue()
            for key, value in self.kwargs.items():
                made.set_item(machine, ConstantValue(key), value)
            return made
        return super().generic_get(machine, name)

    def set_attr(self, machine: Machine, name: str, new: Value) -> None:
        if name in ("func", "args", "keywords") and self.cls is functools.partial:
            machine.unsupported(breaks.SIDE_EFFECT, name=f"attribute {name} of {self.describe()}")
        super().set_attr(machine, name, new)


def _item(owner: Any, *keys: object) -> object:
    """operator.itemgetter(*keys)(owner)."""
    return owner[keys[0]] if len(keys) == 1 else tuple([owner[key] for key in keys])


def _attribute(owner: object, *paths: str) -> object:
    """operator.attrgetter(*paths)(owner)."""
    found = [owner] * len(paths)
    for place, path in enumerate(paths):
        for name in path.split("."):
            found[place] = getattr(found[place], name)
    return found[0] if len(paths) == 1 else tuple(found)


def _result(owner: object, name: str, *args: object, **kwargs: object) -> object:
    """operator.methodcaller(name, *args, **kwargs)(owner)."""
    return getattr(owner, name)(*args, **kwargs)


GETTER_CALLS: Final[Mapping[type, Callable[..., object]]] = {
    operator.itemgetter: _item,
    operator.attrgetter: _attribute,
    operator.methodcaller: _result,
}
"""Classes of the operator module -> what a call of an object of them does, with what it is made of."""


class GetterValue(Value):
    """An operator.itemgetter, attrgetter or methodcaller: of which class, and of what it is made.

    Attributes:
        kind: the class.
        args, kwargs: what the class is called with.
    """

    __slots__ = ("args", "kind", "kwargs")

    def __init__(
        self, kind: type, args: Sequence[Value], kwargs: Mapping[str, Value], source: Source | None = None
    ) -> None:
        super().__init__(source)
        self.kind = kind
        self.args = tuple(args)
        self.kwargs = dict(kwargs)

    def python_type(self) -> type:
        return self.kind

    def describe(self) -> str:
        return f"operator.{self.kind.__name__}"

    def truth(self, machine: Machine) -> bool:
        return True

    def call(self, machine: Machine, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
        if len(args) != 1 or kwargs:
            # One of its class says which arguments it takes.
            fold_raw(machine, self.kind("name"), *([None] * len(args)), **dict.fromkeys(kwargs))
        return machine.call(machine.wrap(GETTER_CALLS[self.kind], None), [*args, *self.args], self.kwargs)

    def get_attr(self, machine: Machine, name: str) -> Value:
        return type_attr(machine, self, self.kind, name)

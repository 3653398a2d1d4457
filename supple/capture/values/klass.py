"""Classes as values, known by identity, and `super()`: attributes looked up on types along an MRO."""

import types
from collections.abc import Mapping, Sequence
from operator import getitem
from typing import Final, cast

from supple.capture import breaks
from supple.capture.guards.reads import note_bases
from supple.capture.machine import Machine
from supple.capture.source import Source, attribute
from supple.capture.values.attributes import (
    MISSING,
    SLOT_KINDS,
    bind,
    class_source,
    guard_lookup,
    is_data_descriptor,
    is_odd,
    lookup,
    may_change,
    special,
    unbound,
)
from supple.capture.values.base import Unique, Value, name_of
from supple.capture.values.constant import ConstantValue, fold_raw
from supple.capture.values.function import BoundMethodValue, LeafValue
from supple.capture.values.instance import InstanceValue, checked
from supple.torch_private import autograd_function_apply


class SuperValue(Value):
    """`super(cls, owner)`: attributes of `owner` looked up after `cls` in the MRO."""

    __slots__ = ("after", "is_on_class", "owner", "start")

    def __init__(self, after: type, owner: Value, source: Source | None = None) -> None:
        super().__init__(source)
        self.after = after
        self.owner = owner
        is_class = isinstance(owner, ClassValue) and issubclass(owner.cls, after)
        self.start = owner.cls if isinstance(owner, ClassValue) and is_class else owner.python_type()
        self.is_on_class = is_class

    def python_type(self) -> type:
        return super

    def get_attr(self, machine: Machine, name: str) -> Value:
        if name == "__class__":  # alone of all names it is not looked up behind the class
            return machine.wrap(super, None)
        note_bases(self.start)
        mro = self.start.__mro__
        for cls in mro[mro.index(self.after) + 1 :]:
            lookup(cls, name)
            if name in cls.__dict__:
                return self._bind(machine, cls, name, cls.__dict__[name])
        machine.throw(AttributeError, f"'super' object has no attribute {name!r}")

    def _bind(self, machine: Machine, cls: type, name: str, found: object) -> Value:
        if self.is_on_class and isinstance(found, types.FunctionType):
            return machine.wrap(found, attribute(class_source(cls), name) if may_change(cls) else None)
        if isinstance(found, classmethod | types.ClassMethodDescriptorType):
            of_python = isinstance(found, classmethod)
            inner = machine.wrap(unbound(cast("object", found)), None) if of_python else LeafValue(found)
            owner = self.owner if self.is_on_class else machine.wrap(self.start, None)
            return BoundMethodValue(owner, inner)
        if isinstance(found, SLOT_KINDS) and isinstance(self.owner, InstanceValue):
            return self.owner.generic_get(machine, name)
        return bind(machine, self.owner, cls, name, found)


def super_of(machine: Machine, after: Value, owner: Value) -> SuperValue:
    """Return `super(after, owner)`; what Python refuses is left to Python, for its text."""
    cls = after.as_python()
    if not isinstance(cls, type):
        machine.unsupported(breaks.LEAF_ERROR, name="super", error=f"{after.describe()} is no class")
    found = SuperValue(cls, owner)
    if not issubclass(found.start, cls):
        error = f"{owner.describe()} is no instance of {cls.__name__}"
        machine.unsupported(breaks.LEAF_ERROR, name="super", error=error)
    return found


_METHODS: Final = types.FunctionType | types.MethodDescriptorType | types.WrapperDescriptorType
"""Kinds of functions that a metaclass binds to the class."""


class ClassValue(Unique):
    """A class; known by identity."""

    __slots__ = ("cls",)

    def __init__(self, cls: type, source: Source | None = None) -> None:
        super().__init__(source)
        self.cls = cls

    def python_type(self) -> type:
        return type(self.cls)

    def describe(self) -> str:
        return f"class {self.cls.__name__}"

    def as_python(self) -> object:
        return self.cls

    def call(self, machine: Machine, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
        return machine.construct(self.cls, self.source, args, kwargs)

    def get_item(self, machine: Machine, key: Value) -> Value:
        found = self._on_metaclass(machine, "__getitem__", key)
        if found is not None:
            return found
        own = lookup(self.cls, "__class_getitem__")
        function = getattr(own, "__func__", own)
        guard_lookup(machine, self.cls, "__class_getitem__", own)
        if own is not MISSING and not _is_of_library(function):
            return machine.call(self.get_attr(machine, "__class_getitem__"), [key])
        if own is MISSING:
            name_of(machine, self.cls)  # which the refusal says
        alias = fold_raw(machine, getitem, self.cls, key.as_python())  # list[int] and its kin
        return machine.wrap(alias, None)

    def iterate(self, machine: Machine) -> Value:
        return self._on_metaclass(machine, "__iter__") or super().iterate(machine)

    def contains(self, machine: Machine, item: Value) -> Value:
        return self._on_metaclass(machine, "__contains__", item) or super().contains(machine, item)

    def length(self, machine: Machine) -> Value:
        return self._on_metaclass(machine, "__len__") or super().length(machine)

    def truth(self, machine: Machine) -> bool:
        for name in ("__bool__", "__len__"):
            found = self._on_metaclass(machine, name)
            if found is not None:
                return checked(machine, bool if name == "__bool__" else len, name, found).truth(machine)
        return True

    def _on_metaclass(self, machine: Machine, name: str, *args: Value) -> Value | None:
        method = special(machine, self, name)
        return None if method is None else machine.call(method, args)

    def get_attr(self, machine: Machine, name: str) -> Value:
        found = lookup(self.cls, name)
        meta = lookup(type(self.cls), name)
        if found is MISSING or (meta is not MISSING and is_data_descriptor(meta)):
            return self._meta_attr(machine, name, meta)
        if is_odd(lookup(type(found), "__get__")):
            machine.unsupported(breaks.ATTRIBUTE, name=name, owner=self.describe())
        source = guard_lookup(machine, self.cls, name, found)
        match found:
            case types.FunctionType():
                return machine.wrap(found, source)
            case staticmethod():
                return machine.wrap(unbound(cast("object", found)), source)
            case classmethod():
                inner = machine.wrap(
                    unbound(cast("object", found)), attribute(source, "__func__") if source else None
                )
                return BoundMethodValue(self, inner)
            case _ if found is autograd_function_apply:
                return BoundMethodValue(self, LeafValue(found))
            case types.ClassMethodDescriptorType() | types.BuiltinFunctionType():
                return LeafValue(getattr(self.cls, name))
            case _ if isinstance(lookup(type(found), "__get__"), types.FunctionType):
                getter = special(machine, machine.wrap(found, source), "__get__")
                assert getter is not None, name
                return machine.call(getter, [ConstantValue(None), self])
            case _:
                return machine.wrap(getattr(self.cls, name), source)

    def _meta_attr(self, machine: Machine, name: str, meta: object) -> Value:
        if isinstance(meta, _METHODS | property):
            return bind(machine, self, type(self.cls), name, meta)
        fallback = lookup(type(self.cls), "__getattr__")
        if meta is MISSING and isinstance(fallback, types.FunctionType):
            getter = bind(machine, self, type(self.cls), "__getattr__", fallback)
            return machine.call(getter, [ConstantValue(name)])
        if name == "__dict__":
            machine.unsupported(breaks.ATTRIBUTE, name=name, owner=self.describe())
        try:
            found = getattr(self.cls, name)
        except AttributeError as error:  # the name of a class in C has its module in such a text
            name_of(machine, self.cls)
            guard_lookup(machine, self.cls, name, MISSING)
            machine.throw(AttributeError, str(error))
        source = attribute(class_source(self.cls), name) if may_change(self.cls) else None
        return machine.wrap(found, source)

    def set_attr(self, machine: Machine, name: str, new: Value) -> None:
        machine.unsupported(breaks.SIDE_EFFECT, name=f"attribute {name} of {self.describe()}")


def _is_of_library(function: object) -> bool:
    """Tell whether a method is Python's own, so that it may be called while capturing: for `list[int]`."""
    return not isinstance(function, types.FunctionType) or function.__module__ == "typing"

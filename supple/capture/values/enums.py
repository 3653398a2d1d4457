"""Members of enumerations."""

import types
from typing import cast

from supple.capture import breaks
from supple.capture.machine import Machine
from supple.capture.source import attribute, pinned
from supple.capture.values.attributes import bind, lookup
from supple.capture.values.base import Value
from supple.capture.values.constant import ConstantValue
from supple.capture.values.hashing import HashKey, as_hash
from supple.capture.values.instance import InstanceValue, checked


class EnumValue(ConstantValue):
    """A member of an enumeration: constant, with attributes of its class."""

    __slots__ = ()

    def identity(self) -> object:
        return type(self.value), id(self.value)  # members may say themselves what they are equal to

    def key(self, machine: Machine) -> object:
        kind = self.python_type()
        hasher, equal = lookup(kind, "__hash__"), lookup(kind, "__eq__")
        is_own = isinstance(hasher, types.FunctionType) and hasher.__module__ != "enum"
        if hasher is None:
            return super(ConstantValue, self).key(machine)
        if not is_own and not isinstance(equal, types.FunctionType):
            return self.value
        number = machine.call(self.get_attr(machine, "__hash__")) if is_own else None
        given = hash(self.value) if number is None else checked(machine, hash, "__hash__", number).as_python()
        return HashKey(machine, self, as_hash(cast("int", given)))

    def get_attr(self, machine: Machine, name: str) -> Value:
        kind = type(self.value)
        source = pinned(f"{kind.__qualname__}@{id(self.value):x}", self.value)
        if not hasattr(self.value, "_value_"):
            machine.unsupported(breaks.OBJECT, name=kind.__name__, detail="a new member of an enumeration")
        if name in ("value", "name", "_value_", "_name_"):
            return machine.wrap(getattr(self.value, name), attribute(source, name))
        found = lookup(kind, name)
        if isinstance(found, types.FunctionType | property | types.MethodDescriptorType):
            return bind(machine, self, kind, name, found)
        return InstanceValue(kind, source, self.value).get_attr(machine, name)

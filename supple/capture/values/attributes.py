"""Attribute lookup on types: the MRO, descriptors, binding; guarded where a class could change."""

import types
from typing import Final

from supple.capture.guards.kinds import Kind
from supple.capture.machine import Machine
from supple.capture.source import Source, attribute, pinned
from supple.capture.values.base import Value
from supple.capture.values.constant import ConstantValue
from supple.capture.values.function import BoundMethodValue, LeafValue

MISSING: Final = object()

_HEAP_TYPE: Final = 1 << 9  # Py_TPFLAGS_HEAPTYPE: made by a class statement, so its dict may change
_IMMUTABLE: Final = 1 << 8  # Py_TPFLAGS_IMMUTABLETYPE

#: Descriptors of slots and of fields of C structs.
SLOT_KINDS: Final = (types.MemberDescriptorType, types.GetSetDescriptorType)

#: Types of callables without Python code.
C_CALLABLES: Final = (
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.ClassMethodDescriptorType,
    types.MethodWrapperType,
)


def may_change(cls: type) -> bool:
    """Tell whether attributes of the class can be assigned."""
    return bool(cls.__flags__ & _HEAP_TYPE) and not cls.__flags__ & _IMMUTABLE


def lookup(cls: type, name: str) -> object:
    """Return the attribute as it lies in the dict of the first class of the MRO that has it, or MISSING."""
    for owner in cls.__mro__:
        if name in owner.__dict__:
            return owner.__dict__[name]
    return MISSING


def is_data_descriptor(found: object) -> bool:
    """Tell whether a class attribute comes before the instance's own."""
    return isinstance(found, property | types.MemberDescriptorType | types.GetSetDescriptorType) or (
        lookup(type(found), "__set__") is not MISSING
    )


def class_source(cls: type) -> Source:
    """Return the source of a class, held by the entry."""
    return pinned(f"C[{cls.__module__}.{cls.__qualname__}@{id(cls):x}]", cls)


def guard_lookup(machine: Machine, cls: type, name: str, found: object) -> Source | None:
    """Guard that `cls.name` stays what it is; return its source, None for classes that cannot change."""
    if not may_change(cls):
        return None
    source = attribute(class_source(cls), name)
    if found is MISSING:
        machine.guard(class_source(cls), Kind.LACKS_CLASS_ATTRIBUTE, name)
    return source


def bind(machine: Machine, value: Value, cls: type, name: str, found: object) -> Value:
    """Return what `value.name` gives when the class attribute `found` provides it."""
    source = guard_lookup(machine, cls, name, found)
    match found:
        case types.FunctionType():
            return BoundMethodValue(value, machine.wrap(found, source))
        case staticmethod():
            return machine.wrap(found.__func__, source)  # pyright: ignore[reportUnknownMemberType]  # open
        case classmethod():
            inner = attribute(source, "__func__") if source else None
            return BoundMethodValue(machine.wrap(cls, None), machine.wrap(found.__func__, inner))  # pyright: ignore[reportUnknownMemberType]  # open
        case property():
            return _read_property(machine, value, found, source)
        case types.MethodDescriptorType() | types.WrapperDescriptorType():
            return BoundMethodValue(value, LeafValue(found))
        case types.ClassMethodDescriptorType():
            return BoundMethodValue(machine.wrap(cls, None), LeafValue(found))
        case _:
            return _bind_other(machine, value, cls, found, source)


def _read_property(machine: Machine, value: Value, found: property, source: Source | None) -> Value:
    if found.fget is None:
        machine.throw(AttributeError, "the property has no getter")
    return machine.call(machine.wrap(found.fget, attribute(source, "fget") if source else None), [value])


def _bind_other(machine: Machine, value: Value, cls: type, found: object, source: Source | None) -> Value:
    getter = lookup(type(found), "__get__")
    if isinstance(getter, types.FunctionType):
        return machine.call(
            machine.wrap(getter, None), [machine.wrap(found, source), value, machine.wrap(cls, None)]
        )
    return machine.wrap(found, source)


def type_attr(machine: Machine, value: Value, cls: type, name: str) -> Value:
    """Return `value.name` as found on the class alone; raises AttributeError in the program."""
    if name == "__class__":
        return machine.wrap(cls, None)
    if name == "__doc__":
        return ConstantValue(cls.__doc__)
    found = lookup(cls, name)
    if found is MISSING:
        machine.throw(AttributeError, f"{cls.__name__!r} object has no attribute {name!r}")
    return bind(machine, value, cls, name, found)

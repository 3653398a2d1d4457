"""Attribute lookup on types: the MRO, descriptors, binding; guarded where a class could change."""

import functools
import types
from collections.abc import Callable
from typing import Final, NamedTuple, NoReturn, cast

from supple.capture import breaks
from supple.capture.guards.kinds import Kind
from supple.capture.guards.reads import note_lookup
from supple.capture.machine import Machine
from supple.capture.source import Source, attribute, class_source, item
from supple.capture.values.base import Value, qualified_name_of, refuse_attribute
from supple.capture.values.function import BoundMethodValue, LeafValue
from supple.runtime import classes
from supple.runtime.classes import MISSING as MISSING
from supple.runtime.classes import may_change as may_change

#: Descriptors of slots and of fields of C structs.
SLOT_KINDS: Final = (types.MemberDescriptorType, types.GetSetDescriptorType)


class Record(NamedTuple):
    """A named tuple like any other."""

    field: object


#: Descriptors of the fields of named tuples.
_FIELD: Final[type[object]] = type(cast("object", vars(Record)["field"]))

#: Names of the types of methods that pybind11 and Cython make: each binds as a Python function does.
METHODS_OF_EXTENSIONS: Final = ("instancemethod", "cython_function_or_method")

#: Types of callables without Python code.
C_CALLABLES: Final = (
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.ClassMethodDescriptorType,
    types.MethodWrapperType,
)


def lookup(cls: type, name: str) -> object:
    """Return the attribute as it lies in the dict of the first class of the MRO that has it, or MISSING.

    What is found, or not, is a fact of the capture that runs (`guards.reads`).
    """
    found = classes.lookup(cls, name)
    note_lookup(cls, name, found)
    return found


def says_class(cls: type) -> bool:
    """Tell whether a class has an own answer to which class its objects are of."""
    return lookup(cls, "__class__") is not _CLASS


_CLASS: Final = vars(object)["__class__"]


def is_asked(cls: type) -> bool:
    """Tell whether a function in Python answers for all attributes of a class's objects."""
    return not isinstance(lookup(cls, "__getattribute__"), types.WrapperDescriptorType)


def place_of_field(cls: type, name: str) -> int | None:
    """Return which item of a tuple a name stands for: in a named tuple, or in one of torch's results."""
    found = lookup(cls, name)
    if isinstance(found, _FIELD):
        reduced: object = found.__reduce__()
        return cast("tuple[type, tuple[int, str]]", reduced)[1][0]
    names = lookup(cls, "__match_args__") if isinstance(found, SLOT_KINDS) else None
    return cast("tuple[str, ...]", names).index(name) if isinstance(names, tuple) and name in names else None


def is_data_descriptor(found: object) -> bool:
    """Tell whether a class attribute comes before the instance's own."""
    return isinstance(found, property | types.MemberDescriptorType | types.GetSetDescriptorType) or any(
        lookup(type(found), name) is not MISSING for name in _SETTERS
    )


_SETTERS: Final = ("__set__", "__delete__")


def guard_no_setter(machine: Machine, found: object) -> None:
    """Guard that a class attribute does not become a data descriptor."""
    for name in _SETTERS:
        guard_lookup(machine, type(found), name, MISSING)


def guard_not_first(machine: Machine, cls: type, name: str, found: object) -> None:
    """Guard that what a class has under a name, if anything, comes after the instance's own."""
    if found is MISSING:
        guard_lookup(machine, cls, name, found)
    else:
        machine.guard(_raw_source(machine, cls, name), Kind.TYPE, type(found))


def guard_lookup(machine: Machine, cls: type, name: str, found: object) -> Source | None:
    """Guard that `cls.name` stays what it is; return its source, None for classes that cannot change."""
    if not may_change(cls):
        return None
    getter = lookup(type(found), "__get__")
    # What reading `cls.name` gives is not what objects have where the metaclass answers, as for `__class__`.
    is_of_metaclass = is_data_descriptor(lookup(type(cls), name))
    if isinstance(getter, types.FunctionType) or is_odd(getter) or is_of_metaclass:
        return _raw_source(machine, cls, name)
    source = attribute(class_source(cls), name)
    if found is MISSING:
        machine.guard(class_source(cls), Kind.LACKS_CLASS_ATTRIBUTE, name)
    return source


def _raw_source(machine: Machine, cls: type, name: str) -> Source | None:
    """Return the source of what lies in a class's dict, where ordinary reading would call a descriptor."""
    for owner in cls.__mro__:
        if name in owner.__dict__:
            names = attribute(class_source(owner), "__dict__")
            return item(names, name, types.MappingProxyType) if may_change(owner) else None
        if may_change(owner):
            machine.guard(class_source(owner), Kind.LACKS_ATTRIBUTE, name)
    return None


def special(machine: Machine, value: Value, name: str) -> Value | None:
    """Return the Python-coded special method of a value's type, bound; None when it has none (guarded).

    A method in C of another name, as in `__setattr__ = dict.__setitem__`, is one of the program. What is
    neither a function nor a method in C, as None or a partial, leads to a graph break.
    """
    cls = value.python_type()
    found = lookup(cls, name)
    is_renamed = isinstance(found, IN_C) and found.__name__ != name
    if isinstance(found, types.FunctionType) or is_renamed:
        return bind(machine, value, cls, name, found)
    if is_odd(found):
        machine.unsupported(breaks.OBJECT, name=cls.__name__, detail=f"its {name} is no function")
    if isinstance(found, IN_C) and value.has_own_in_c(name, found):
        machine.unsupported(breaks.OBJECT, name=cls.__name__, detail=f"its {name} is in C")
    guard_lookup(machine, cls, name, found)
    return None


IN_C: Final = (
    types.WrapperDescriptorType,
    types.MethodDescriptorType,
    types.BuiltinFunctionType,
    types.ClassMethodDescriptorType,
    types.GetSetDescriptorType,
)
"""What a class in C has for its methods."""


def is_odd(found: object) -> bool:
    """Tell whether a special method is not missing, no function and no method in C: None, a partial."""
    of_c = isinstance(found, IN_C) or type(found).__name__ in METHODS_OF_EXTENSIONS
    return found is not MISSING and not of_c and not isinstance(found, types.FunctionType)


def is_of_program(found: object) -> bool:
    """Tell whether a special method is no method in C: a function, None, any object."""
    return isinstance(found, types.FunctionType) or is_odd(found)


def unbound(found: object) -> object:
    """Return the function in a `staticmethod` or `classmethod`."""
    assert isinstance(found, staticmethod | classmethod), found
    return cast("object", found.__func__)  # pyright: ignore[reportUnknownMemberType]  # its parameters are open


def bind(machine: Machine, value: Value, cls: type, name: str, found: object) -> Value:
    """Return what `value.name` gives when the class attribute `found` provides it."""
    source = guard_lookup(machine, cls, name, found)
    match found:
        case types.FunctionType():
            return BoundMethodValue(value, machine.wrap(found, source))
        case _ if _has_own_get(found):
            return _bind_other(machine, value, cls, found, source)
        case staticmethod():
            return machine.wrap(unbound(cast("object", found)), source)
        case classmethod():
            inner = attribute(source, "__func__") if source else None
            return BoundMethodValue(
                machine.wrap(cls, None), machine.wrap(unbound(cast("object", found)), inner)
            )
        case property():
            return _read_property(machine, value, found, source)
        case types.MethodDescriptorType() | types.WrapperDescriptorType():
            machine.guard(source, Kind.IS, found)
            return BoundMethodValue(value, LeafValue(found))
        case types.ClassMethodDescriptorType():
            return BoundMethodValue(machine.wrap(cls, None), LeafValue(found))
        case _:
            return _bind_other(machine, value, cls, found, source)


def _has_own_get(found: object) -> bool:
    """Tell whether a builtin descriptor is of a subclass that says itself what it gives."""
    is_builtin = isinstance(found, staticmethod | classmethod | property)
    return is_builtin and isinstance(lookup(type(found), "__get__"), types.FunctionType)  # pyright: ignore[reportUnknownArgumentType]  # an open class


def _read_property(machine: Machine, value: Value, found: property, source: Source | None) -> Value:
    if found.fget is None:
        refuse_property(machine, value.python_type(), found, lambda one: found.__get__(one, object))
    return machine.call(machine.wrap(found.fget, attribute(source, "fget") if source else None), [value])


def refuse_property(
    machine: Machine, cls: type, found: property, ask: Callable[[object], object]
) -> NoReturn:
    """Raise in the program what a property says that lacks the function that is asked for."""
    try:
        ask(object())
    except AttributeError as error:
        machine.throw(AttributeError, str(error).replace("'object'", repr(qualified_name_of(machine, cls))))
    raise AssertionError(found)


def _bind_other(machine: Machine, value: Value, cls: type, found: object, source: Source | None) -> Value:
    if isinstance(found, SLOT_KINDS):
        machine.unsupported(breaks.ATTRIBUTE, name=getattr(found, "__name__", "?"), owner=value.describe())
    if type(found).__name__ in METHODS_OF_EXTENSIONS:
        machine.guard(source, Kind.IS, found)
        return BoundMethodValue(value, LeafValue(found))
    if isinstance(found, functools._lru_cache_wrapper):  # pyright: ignore[reportPrivateUsage]  # it has no public name
        return BoundMethodValue(value, machine.wrap(cast("object", found), source))
    getter_of_class = lookup(type(found), "__get__")
    if getter_of_class is not MISSING and not isinstance(getter_of_class, types.FunctionType):
        if not isinstance(found, types.MethodType):  # which is bound already
            machine.unsupported(breaks.ATTRIBUTE, name=type(found).__name__, owner=value.describe())
    descriptor = machine.wrap(found, source)
    if not isinstance(getter_of_class, types.FunctionType):
        guard_lookup(machine, type(found), "__get__", getter_of_class)
        return descriptor
    getter = special(machine, descriptor, "__get__")
    assert getter is not None, descriptor.describe()
    return machine.call(getter, [value, machine.wrap(cls, None)])


def type_attr(machine: Machine, value: Value, cls: type, name: str) -> Value:
    """Return `value.name` as found on the class alone; raises AttributeError in the program."""
    if name == "__class__":
        return machine.wrap(cls, None)
    if name == "__doc__":
        return machine.wrap(cls.__doc__, attribute(class_source(cls), name) if may_change(cls) else None)
    found = lookup(cls, name)
    if found is MISSING:
        refuse_attribute(machine, cls, name)
    return bind(machine, value, cls, name, found)

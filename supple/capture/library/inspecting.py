"""What looks into functions and classes: all that it reads of them is guarded."""

import builtins
import inspect
import sys
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Final, cast

from supple.capture import breaks
from supple.capture.guards.kinds import Kind
from supple.capture.guards.reads import builtin, note_whole
from supple.capture.library.calls import folded
from supple.capture.library.refusals import reason_for
from supple.capture.library.table import Args, Kwargs, call
from supple.capture.machine import Machine
from supple.capture.source import Source, attribute, class_source, item, pinned
from supple.capture.values.attributes import guard_lookup, lookup
from supple.capture.values.base import Value
from supple.capture.values.function import BoundMethodValue, FunctionValue
from supple.capture.values.klass import ClassValue

PARAMETERS: Final = ("__defaults__", "__kwdefaults__", "__annotations__")
_HINTS: Final = ("__annotations__",)
"""What is read of functions."""


@call.on(inspect.signature)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """The parameters of a function, or of what a class is made by."""
    return _folded(
        machine, inspect.signature, args, kwargs, ("__defaults__", "__kwdefaults__", "__annotations__")
    )


@call.on(typing.get_type_hints)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """Annotations, of which those that are texts are evaluated."""
    return _folded(machine, typing.get_type_hints, args, kwargs, _HINTS)


def _members(function: Callable[..., object], machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """What `isinstance` asks a protocol."""
    return _folded(machine, function, args, kwargs, ())


for _name in ("_get_protocol_attrs", "_is_callable_members_only"):
    if hasattr(typing, _name):
        call.on(getattr(typing, _name))(partial(_members, getattr(typing, _name)))


def _folded(
    machine: Machine, function: Callable[..., object], args: Args, kwargs: Kwargs, parts: tuple[str, ...]
) -> Value:
    """Call a function that looks at these parts of its first argument."""
    given = args[0] if args else None
    if isinstance(given, BoundMethodValue):
        given = given.function
    if isinstance(given, FunctionValue):
        _hold_function(machine, given, parts)
    elif isinstance(given, ClassValue):
        _hold_class(machine, given.cls, parts)
    found = folded(machine, function, args, kwargs)
    if found is None:
        machine.unsupported(reason_for(function), name=f"inspect.{function.__name__}")
    return found


def _hold_function(machine: Machine, value: FunctionValue, parts: tuple[str, ...]) -> None:
    """Guard these parts of an existing function, and of what it wraps."""
    if value.fn is None or value.source is None:
        return
    for name in parts:
        _hold(machine, attribute(value.source, name), getattr(value.fn, name))
    _refuse_names(machine, value.fn.__module__, value.fn.__annotations__, parts)
    for name in _STAND_INS:
        if name in value.fn.__dict__:
            machine.unsupported(breaks.ATTRIBUTE, name=name, owner=value.describe())
        machine.guard(value.source, Kind.LACKS_ATTRIBUTE, name)
    if "__wrapped__" not in value.fn.__dict__:
        machine.guard(value.source, Kind.LACKS_ATTRIBUTE, "__wrapped__")
        return
    wrapped = value.get_attr(machine, "__wrapped__")
    if not isinstance(wrapped, FunctionValue):
        machine.unsupported(breaks.ATTRIBUTE, name="__wrapped__", owner=value.describe())
    _hold_function(machine, wrapped, parts)


_STAND_INS: Final = ("__signature__", "__text_signature__")
"""Attributes that say what the parameters are, whatever the code says."""


def hold_method(machine: Machine, cls: type, name: str, parts: tuple[str, ...] = PARAMETERS) -> None:
    """Guard these parts of a function that a class has under a name, if it has one."""
    found = lookup(cls, name)
    function: object = getattr(found, "__func__", found)
    if isinstance(function, types.FunctionType):
        value = machine.wrap(function, guard_lookup(machine, cls, name, found))
        if isinstance(value, FunctionValue):
            _hold_function(machine, value, parts)


def _hold_class(machine: Machine, cls: type, parts: tuple[str, ...]) -> None:
    """Guard all of a class and its metaclass, what makes its objects, and annotations of its bases."""
    note_whole(cls)
    note_whole(type(cls))
    for one, name in ((cls, "__new__"), (cls, "__init__"), (type(cls), "__call__")):
        hold_method(machine, one, name, parts)
    for one in cls.__mro__:
        annotations = cast("dict[str, object] | None", vars(one).get("__annotations__"))
        if annotations is not None:
            _hold(machine, attribute(class_source(one), "__annotations__"), annotations)
            _refuse_names(machine, one.__module__, annotations, parts)


def _hold(machine: Machine, place: Source, part: object) -> None:
    """Guard a part of a function or class: what a dict holds, or which object it is."""
    if not isinstance(part, dict):
        machine.guard(place, Kind.IS, part)
        return
    members = cast("dict[object, object]", part)
    machine.guard(place, Kind.TYPE, dict)
    machine.guard(place, Kind.KEYS, tuple(members))
    for key, found in members.items():
        machine.guard(item(place, key, dict), Kind.IS, found)


def _refuse_names(
    machine: Machine, module: str, annotations: Mapping[str, object], parts: tuple[str, ...]
) -> None:
    """Break where an annotation is a text that names more than builtins; those it names are guarded."""
    if parts != _HINTS:
        return
    names = vars(sys.modules[module])
    for name in (name for text in annotations.values() if isinstance(text, str) for name in _named(text)):
        if name in names or name not in vars(builtins):
            machine.unsupported(breaks.ATTRIBUTE, name=name, owner=f"an annotation of {module}")
        builtin(name)
        machine.guard(pinned(f"G[{module}]", names), Kind.LACKS_KEY, name)


def _named(text: str) -> Iterator[str]:
    """Yield the names in an annotation."""
    yield from compile(text, "<annotation>", "eval").co_names

"""Callables of functools and operator: partial objects, functions behind lru_cache, getters."""

import functools
import operator
import random
import sys
import sysconfig
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import torch

from supple.base.interrupts import is_interrupt
from supple.capture import breaks
from supple.capture.guards.kinds import Identity, Kind
from supple.capture.machine import Machine
from supple.capture.source import Source, answer, attribute, pinned
from supple.capture.values.attributes import lookup, type_attr
from supple.capture.values.base import NotConstant, Value
from supple.capture.values.constant import LITERALS, ConstantValue, fold_raw
from supple.capture.values.function import LeafValue
from supple.capture.values.instance import InstanceValue
from supple.capture.values.mapping import DictValue
from supple.capture.values.sequence import SequenceValue, make_tuple, new_tuple
from supple.capture.values.symbolic import SymbolicValue
from supple.torch_private import no_torch_dispatch


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


class MemoizedValue(LeafValue):
    """A function behind `functools.lru_cache`, whose results are the same objects each time.

    On constants and objects it is called, as the program would: the cache may answer. Guards call it again,
    since another answer may come once the cache was cleared. On other arguments the function itself is
    inlined. One that may read what capture has written is called by Python, and so is one that raises.
    """

    __slots__ = ()

    def call(self, machine: Machine, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
        inner = getattr(self.obj, "__wrapped__", None)
        objects = [one for one in (*args, *kwargs.values()) if isinstance(one, InstanceValue)]
        has_objects = not all(_is_of_a_library(one.cls) for one in objects)  # a logger holds none of them
        if _shares(machine, inner, has_objects=has_objects):
            name = getattr(inner, "__qualname__", "a function")
            machine.unsupported(breaks.CALL, name=f"the cache of {name}, which shares variables")
        try:
            plain = [_constant(machine, value) for value in args]
            named = {name: _constant(machine, value) for name, value in kwargs.items()}
        except NotConstant:
            if any(map(_is_unhashable, (*args, *kwargs.values()))):
                machine.unsupported(breaks.CALL, name="a cache, of what has no hash")
            source = attribute(self.source, "__wrapped__") if self.source else None
            return machine.call(machine.wrap(inner, source), args, kwargs)
        assert callable(self.obj)
        found = _answer(machine, self.obj, *plain, **named)
        if self.source is not None:
            return machine.wrap(found, answer(self.source, tuple(plain), named))
        return machine.wrap(found, None if type(found) in LITERALS else pinned(f"lru[{id(found):x}]", found))


def _is_unhashable(value: Value) -> bool:
    """Tell whether a cache refuses a container as a part of its key."""
    if isinstance(value, SequenceValue) and not value.is_mutable:
        return any(map(_is_unhashable, value.items))
    return value.python_type().__hash__ is None


def _answer(machine: Machine, function: Callable[..., object], *args: object, **kwargs: object) -> object:
    """Return what a function behind a cache gives; one that raises runs again, as no cache keeps errors.

    Then the generators of the process have their states back.
    """
    of_torch, of_python, of_numpy = torch.get_rng_state(), random.getstate(), np.random.get_state()
    try:
        with no_torch_dispatch():  # what a cache keeps is no fake
            return function(*args, **kwargs)
    except Exception as error:
        if is_interrupt(error):
            raise
        torch.set_rng_state(of_torch)
        random.setstate(of_python)
        np.random.set_state(of_numpy)
        name = getattr(function, "__qualname__", "a function")
        machine.unsupported(breaks.CALL, name=f"the cache of {name}, which raises {type(error).__name__}")


def _shares(machine: Machine, function: object, *, has_objects: bool) -> bool:
    """Tell whether a function may read what capture has written, in this call or in one that guards let pass.

    An object that is written here may be one that the function reaches in a later call. So where one is, the
    function may name none.

    Args:
        has_objects: objects of the program are among its arguments.
    """
    globals_written = {
        id(scope.names): {*scope.written} for scope in machine.written_globals() if scope.written
    }
    changed = {id(getattr(one, "obj", None)) for one in machine.heap.dirty.values() if one.source is not None}
    is_written = bool(globals_written or changed)
    if not isinstance(function, types.FunctionType):
        return is_written and type(function) is not types.BuiltinFunctionType
    return bool(function.__closure__) or (
        is_written and (has_objects or _may_read(function, globals_written, changed, set()))
    )


def _may_read(
    function: types.FunctionType,
    globals_written: Mapping[int, set[str]],
    changed: set[int],
    seen: set[types.FunctionType],
) -> bool:
    """Tell whether a function, or one that it calls, names what was written or may hold what was.

    Args:
        globals_written: by the identity of a module's dict, the variables that were.
        changed: identities of objects that were.
        seen: functions that were looked at.
    """
    seen.add(function)
    names, defaults = function.__globals__, (function.__defaults__, function.__kwdefaults__)
    read = names.keys() & _names_in(function.__code__)
    if function.__closure__ or any(defaults) or read & globals_written.get(id(names), set()):
        return True
    values = [names[name] for name in read]
    if function.__code__.co_filename.startswith(_INSTALLED):
        return any(id(one) in changed for one in values)  # a library reaches what it names, not the program's
    for one in values:
        if isinstance(one, types.FunctionType):
            if one not in seen and _may_read(one, globals_written, changed, seen):
                return True
        elif id(one) in changed or not (type(one) in LITERALS or _is_of_a_library(one)):
            return True
    return False


def _names_in(code: types.CodeType) -> set[str]:
    """Return the names of globals and attributes that a code object reads, with those of functions in it."""
    inner = (_names_in(one) for one in code.co_consts if isinstance(one, types.CodeType))
    return set(code.co_names).union(*inner)


def _is_of_a_library(value: object) -> bool:
    """Tell whether a module, a class or a function in C is torch's, NumPy's or Python's."""
    if not isinstance(value, types.ModuleType | types.BuiltinFunctionType | type):
        return False
    owner = value.__name__ if isinstance(value, types.ModuleType) else value.__module__
    return str(owner).partition(".")[0] in _LIBRARIES


def _constant(machine: Machine, value: Value) -> object:
    """Return the object of a value made of constants, or that is itself what a cache tells objects apart by.

    A number that depends on sizes is none, nor is an object that capture has changed.
    """
    if isinstance(value, InstanceValue) and value.obj is not None and id(value) not in machine.heap.dirty:
        if lookup(type(value.obj), "__hash__") is object.__hash__:
            machine.guard(value.source, Kind.ID, Identity(id(value.obj), repr(value.obj)))
            return value.obj
    if isinstance(value, SymbolicValue):
        raise NotConstant
    if isinstance(value, SequenceValue):
        items = [_constant(machine, item) for item in value.items]
        return items if value.is_mutable else make_tuple(value.kind, items)
    return value.as_python()


_INSTALLED: Final = tuple(sysconfig.get_paths()[name] for name in ("purelib", "platlib", "stdlib"))
_LIBRARIES: Final = frozenset({*sys.stdlib_module_names, "torch", "numpy"}) - {"__main__"}

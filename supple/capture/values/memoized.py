"""Functions behind `functools.lru_cache`: when capture may ask the cache, and when Python has to call it."""

import random
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np
import torch

from supple.base.interrupts import is_interrupt
from supple.capture import breaks
from supple.capture.guards.kinds import Identity, Kind
from supple.capture.machine import Machine
from supple.capture.source import answer, attribute, global_variable, pinned
from supple.capture.values.attributes import lookup
from supple.capture.values.base import NotConstant, Value
from supple.capture.values.constant import LITERALS, ConstantValue
from supple.capture.values.function import LeafValue
from supple.capture.values.instance import InstanceValue
from supple.capture.values.reach import Reach, is_of_a_library
from supple.capture.values.sequence import SequenceValue, make_tuple
from supple.capture.values.symbolic import SymbolicValue
from supple.torch_private import no_torch_dispatch


class MemoizedValue(LeafValue):
    """A function behind `functools.lru_cache`, whose results are the same objects each time.

    On constants and objects it is called, as the program would: the cache may answer. Guards call it again,
    since another answer may come once the cache was cleared. On sizes the function itself is inlined, if it
    gives numbers, and so is one whose cache keeps nothing.

    Capture and guards call it at another time than the program does, and one that raises twice. So one that
    may read what capture has written, or that may have effects, is called by Python.
    """

    __slots__ = ()

    def call(self, machine: Machine, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
        cached: Any = self.obj
        given = (*args, *kwargs.values())
        if any(map(_is_unhashable, given)):
            machine.unsupported(breaks.CALL, name="a cache, of what has no hash")
        if cached.cache_parameters()["maxsize"] == 0:
            return machine.call(self._inner(machine), args, kwargs)
        reach = self._checked(machine, given)
        try:
            plain = [_constant(machine, value) for value in args]
            named = {name: _constant(machine, value) for name, value in kwargs.items()}
        except NotConstant:
            if reach.reads_variables():
                self._break(machine, "may keep what it made of other variables for a size")
            return self._inlined(machine, args, kwargs)
        found = _answer(machine, cached, *plain, **named)
        if self.source is not None:
            return machine.wrap(found, answer(self.source, tuple(plain), named))
        return machine.wrap(found, None if type(found) in LITERALS else pinned(f"lru[{id(found):x}]", found))

    def _inner(self, machine: Machine) -> Value:
        """Return the function behind the cache."""
        source = attribute(self.source, "__wrapped__") if self.source else None
        return machine.wrap(getattr(self.obj, "__wrapped__", None), source)

    def _inlined(self, machine: Machine, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
        """Return what the function gives for sizes, of which no constant is to be made.

        What it makes for a size would be another object in each call, of which the program may see the
        writes of earlier calls.
        """
        found = machine.call(self._inner(machine), args, kwargs)
        if not all(map(_is_number, (*args, *kwargs.values(), found))):
            self._break(machine, "gives an object for a size or a tensor")
        return found

    def _checked(self, machine: Machine, given: Sequence[Value]) -> Reach:
        """Return what the function reaches; break where it may read what is written, or have effects."""
        inner: object = getattr(self.obj, "__wrapped__", None)
        objects = [one for one in given if isinstance(one, InstanceValue) and not is_of_a_library(one.cls)]
        reach = Reach()
        reach.enter(inner)
        if _shares(machine, inner, reach, has_objects=bool(objects)):
            self._break(machine, "may read what is written here")
        for one in objects:
            reach.give(one.obj)
        if reach.has_effects():
            self._break(machine, "may have effects")
        for (
            names,
            name,
            function,
        ) in reach.called():  # before the cache is asked: another one may have effects
            scope = pinned(f"globals[{id(names):x}]", names)
            machine.guard(global_variable(scope, name), Kind.IS, function)
        return reach

    def _break(self, machine: Machine, why: str) -> NoReturn:
        machine.unsupported(breaks.CACHED, name=self.describe(), why=why)


def _is_number(value: Value) -> bool:
    """Tell whether a value is a constant or a number of sizes, or a tuple of them."""
    if isinstance(value, SequenceValue):
        return not value.is_mutable and all(map(_is_number, value.items))
    return isinstance(value, SymbolicValue | ConstantValue)


def _is_unhashable(value: Value) -> bool:
    """Tell whether a cache refuses a container as a part of its key."""
    if isinstance(value, SequenceValue) and not value.is_mutable:
        return any(map(_is_unhashable, value.items))
    return value.python_type().__hash__ is None


def _answer(machine: Machine, function: Callable[..., object], *args: object, **kwargs: object) -> object:
    """Return what a function behind a cache gives; one that raises runs again, as no cache keeps errors.

    It has no effects but those on the generators of the process, which have their states back.
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
        name = str(getattr(function, "__qualname__", "a function"))
        machine.unsupported(breaks.CACHED, name=name, why=f"raises {type(error).__name__}")


def _shares(machine: Machine, function: object, reach: Reach, *, has_objects: bool) -> bool:
    """Tell whether a function may read what capture has written, in this call or in one that guards let pass.

    An object that is written here may be one that the function reaches in a later call. So where one is, the
    function may name none.

    Args:
        reach: what the function names.
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
        is_written and (has_objects or reach.may_read(globals_written, changed))
    )


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

"""Ends of objects that a program sees: by a finalizer, or by a weak reference.

What captured code lets go of lives until the code has run. So where a program would see it, capture breaks:
Python runs the instruction, and what came before is over and holds nothing.
"""

import types
import weakref
from collections.abc import Container, Iterable, Iterator
from itertools import islice
from typing import Final, cast

import torch

from supple.capture import breaks
from supple.capture.guards.kinds import Kind
from supple.capture.machine import Machine
from supple.capture.source import Called, Local, Source
from supple.capture.values.base import LazyValue, PassedValue, Value
from supple.capture.values.constant import ConstantValue
from supple.capture.values.function import BoundMethodValue, FunctionValue, WeakReferenceValue
from supple.capture.values.generator import is_generator
from supple.capture.values.instance import DELETED, InstanceValue
from supple.capture.values.klass import ClassValue
from supple.capture.values.mapping import DictValue, SetValue
from supple.capture.values.sequence import SequenceValue
from supple.capture.values.symbolic import SymbolicValue
from supple.capture.values.tensor import TensorValue
from supple.runtime import classes
from supple.runtime.classes import MISSING, is_passing
from supple.runtime.entries import Watch

LOOKED_AT: Final = 64
"""How many objects that a dying object holds are looked at."""
_PLAIN: Final = frozenset((type(None), bool, int, float, complex, str, bytes))
"""Classes of objects that hold nothing, and of which nobody sees the end."""
_SHARED: Final = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.CodeType)
"""Classes of objects that others hold too."""


def let_go(machine: Machine, value: Value | None) -> None:
    """Break where an object or a name loses a value whose end the program would see, and guard where not."""
    for obj, source in _existing(value):
        seen = end_seen(obj)
        if seen is not None:
            machine.unsupported(breaks.OBJECT, name=seen[0], detail=seen[1])
        if source is not None:
            machine.guard(Called(f"end_seen({source.name})", source, end_seen), Kind.EQUALS, None)


def let_go_of_name(machine: Machine, value: Value | None) -> None:
    """Break where a frame loses such a value that it alone may hold: an argument of the captured function."""
    if value is not None and isinstance(value.source, Local):
        let_go(machine, value)


def remainder(value: Value, stays: Container[int]) -> Value | None:
    """Return what stands for the value of a name that nothing reads any more, None where nobody misses it.

    Who refers weakly to an object sees that a name still holds it. Nobody refers to what only the frame holds
    and the call has made, but to what such an object holds.

    Args:
        stays: ids of the values that others hold too, so that they are made or loaded anyway.
    """
    if _is_missed(value, stays):
        return _passed(value)
    found: list[Value] = []
    seen = {id(value)}
    waiting = [value]
    while waiting and len(seen) < LOOKED_AT:
        for part in _values_in(waiting.pop()):
            if id(part) not in seen:
                seen.add(id(part))
                (found if _is_missed(part, stays) else waiting).append(part)
    return SequenceValue(tuple, [_passed(part) for part in found]) if found else None


def _passed(value: Value) -> Value:
    """Return what hands an object over without a look at it, where none was taken so far."""
    return PassedValue(value.source) if isinstance(value, LazyValue) else value


def _is_missed(value: Value, stays: Container[int]) -> bool:
    """Tell whether others refer to an object, or its end runs code.

    Bases know their subclasses weakly; a weak reference takes its callback along.
    """
    if isinstance(value, ConstantValue | SymbolicValue):
        return False  # nothing tells one such object from another
    if isinstance(value, ClassValue):
        return is_passing(value.cls)
    if value.source is not None or id(value) in stays or is_generator(value):
        return True
    is_reference = isinstance(value, InstanceValue) and issubclass(value.cls, weakref.ReferenceType)
    return is_reference or isinstance(value, WeakReferenceValue)


def _values_in(value: Value) -> Iterable[Value]:
    match value:
        case BoundMethodValue():
            return (value.owner,)
        case SequenceValue():
            return value.items
        case DictValue():
            return (part for pair in value.items.values() for part in pair)
        case SetValue():
            return value.items.values()
        case InstanceValue():
            return (part for part in value.attrs.values() if part is not DELETED)
        case _:
            return ()


def end_seen(obj: object) -> tuple[str, str] | None:
    """Return what would end with an object, by its class, and how the program would see that; None if not.

    Guards ask this in each call, so LOOKED_AT parts of a container are looked at, and as many in all.
    """
    if _is_unseen(obj):
        return None
    waiting = [obj]
    seen = {id(obj)}
    for one in waiting:  # which grows meanwhile
        found = _own_end_seen(one)
        if found is not None:
            return found
        for part in islice(_parts(one), LOOKED_AT):
            is_looked_at = not _is_unseen(part) and not issubclass(type(part), _SHARED)
            if is_looked_at and id(part) not in seen and len(seen) < LOOKED_AT:
                seen.add(id(part))
                waiting.append(part)
    return None


def _is_unseen(obj: object) -> bool:
    """Tell of most objects at once that nobody sees their end, and that they hold nothing."""
    kind = type(obj)
    return kind in _PLAIN or (kind is torch.Tensor and not weakref.getweakrefcount(obj))


def _own_end_seen(obj: object) -> tuple[str, str] | None:
    """Return the class of an object and how the program would see its end, None if it would not."""
    kind = type(obj)
    if classes.lookup(kind, "__del__") is not MISSING:
        return kind.__name__, "its class has a finalizer, which runs when the last reference goes"
    if issubclass(kind, torch.nn.Module | torch.nn.Parameter):
        return None  # torch itself refers weakly to them: its compiler to every module
    if kind.__weakrefoffset__ and not all(isinstance(r, Watch) for r in weakref.getweakrefs(obj)):
        return kind.__name__, "a weak reference to it tells when the last other reference goes"
    return None


def _existing(value: Value | None) -> Iterator[tuple[object, Source | None]]:
    """Yield the existing objects that a value stands for, itself or what a new container holds, and where."""
    match value:
        case LazyValue():
            yield value.obj, value.source
        case InstanceValue() | TensorValue() | DictValue() | SetValue() if value.obj is not None:
            yield value.obj, value.source
        case FunctionValue() if value.fn is not None:
            yield value.fn, value.source
        case SequenceValue():
            for item in value.items[:LOOKED_AT]:
                yield from _existing(item)
        case _:
            pass


def _parts(obj: object) -> Iterable[object]:
    """Return what an object holds, by attributes or as a plain container."""
    kind = type(obj)
    if kind in (list, tuple, set, frozenset):
        return cast("list[object]", obj)
    if kind is dict:
        return cast("dict[object, object]", obj).values()
    if kind.__dictoffset__ and not issubclass(kind, torch.Tensor | torch.nn.Module):
        return classes.own_dict(obj).values()
    return ()

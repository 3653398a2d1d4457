"""Ends of objects that a program sees: by a finalizer, or by a weak reference.

What captured code lets go of lives until the code has run. So where a program would see it, capture breaks:
Python runs the instruction, and what came before is over and holds nothing.
"""

import types
import weakref
from collections.abc import Iterator
from typing import Final, cast

import torch

from supple.capture import breaks
from supple.capture.machine import Machine
from supple.capture.source import Local
from supple.capture.values.attributes import MISSING, lookup
from supple.capture.values.base import LazyValue, Value
from supple.capture.values.function import FunctionValue
from supple.capture.values.instance import InstanceValue
from supple.capture.values.mapping import DictValue
from supple.capture.values.sequence import SequenceValue
from supple.capture.values.tensor import TensorValue
from supple.runtime.entries import Watch

LOOKED_AT: Final = 64
"""How many objects that a dying object holds are looked at."""
_SHARED: Final = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.CodeType)
"""Classes of objects that others hold too."""


def let_go(machine: Machine, value: Value | None) -> None:
    """Break where an object or a name loses a value whose end the program would see."""
    for obj in _existing(value):
        _let_go_of_object(machine, obj)


def let_go_of_name(machine: Machine, value: Value | None) -> None:
    """Break where a frame loses such a value that it alone may hold: an argument of the captured function."""
    if value is not None and isinstance(value.source, Local):
        let_go(machine, value)


def _let_go_of_object(machine: Machine, obj: object) -> None:
    """Break where an existing object may die, and the program would see it."""
    for one in _held(obj):
        if lookup(type(one), "__del__") is not MISSING:
            detail = "its class has a finalizer, which runs when the last reference goes"
            machine.unsupported(breaks.OBJECT, name=type(one).__name__, detail=detail)
        if isinstance(one, torch.nn.Module | torch.nn.Parameter):
            continue  # torch itself refers weakly to them: its compiler to every module
        if type(one).__weakrefoffset__ and not all(isinstance(r, Watch) for r in weakref.getweakrefs(one)):
            detail = "a weak reference to it tells when the last other reference goes"
            machine.unsupported(breaks.OBJECT, name=type(one).__name__, detail=detail)


def _existing(value: Value | None) -> Iterator[object]:
    """Yield the existing objects that a value stands for: itself, or what a new container holds."""
    match value:
        case LazyValue() | InstanceValue() | TensorValue() if value.obj is not None:
            yield value.obj
        case DictValue() if value.obj is not None:
            yield value.obj
        case FunctionValue() if value.fn is not None:
            yield value.fn
        case SequenceValue():
            for item in value.items[:LOOKED_AT]:
                yield from _existing(item)
        case _:
            pass


def _held(obj: object) -> Iterator[object]:
    """Yield an object and what it holds, by attributes and as a plain container."""
    seen = {id(obj)}
    waiting = [obj]
    while waiting:
        one = waiting.pop()
        yield one
        for part in _parts(one):
            if len(seen) < LOOKED_AT and id(part) not in seen and not isinstance(part, _SHARED):
                seen.add(id(part))
                waiting.append(part)


def _parts(obj: object) -> Iterator[object]:
    kind = type(obj)
    if kind in (list, tuple, set, frozenset):
        yield from cast("list[object]", obj)
    elif kind is dict:
        yield from cast("dict[object, object]", obj).values()
    elif kind.__dictoffset__ and not isinstance(obj, torch.Tensor | torch.nn.Module):
        names: object = getattr(obj, "__dict__", None)
        if type(names) is dict:
            yield from cast("dict[str, object]", names).values()

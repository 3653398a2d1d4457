"""Python object -> Value: the table by class, then by base; literals, which need none."""

import enum
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeVar, cast

from supple.base.errors import Unsupported
from supple.base.memo import of_object
from supple.base.rules import Rules
from supple.capture import breaks
from supple.capture.guards.kinds import Kind
from supple.capture.guards.reads import note_whole
from supple.capture.source import Local, Source, is_weak
from supple.capture.values.attributes import is_of_program, lookup
from supple.capture.values.base import Value
from supple.capture.values.constant import LITERALS, NUMPY_NUMBERS, ConstantValue
from supple.capture.values.enums import EnumValue
from supple.capture.values.function import CellValue
from supple.capture.values.symbolic import TYPES, SymbolicValue
from supple.shapes.symnode import Symbolic

if TYPE_CHECKING:
    from supple.capture.interp.engine import Engine

Wrap = Callable[["Engine", object, Source | None], Value]
wrap_rules: Final[Rules[Wrap]] = Rules("wrap")
T = TypeVar("T")


def wraps(*classes: type[T]) -> "Callable[[Callable[[Engine, T, Source | None], Value]], object]":
    """Return a decorator that makes a function the rule for objects of these classes."""
    return cast("Callable[[Callable[[Engine, T, Source | None], Value]], object]", wrap_rules.on(*classes))


def wrap(engine: "Engine", obj: object, source: Source | None) -> Value:
    """Return the value of an existing object; the same object gives the same value.

    When an object is reached by a second path, a guard ties the two paths together.
    """
    try:
        return _wrapped(engine, obj, source)
    except Unsupported:  # calls with objects of other classes need not run eager
        engine.guard(source, Kind.TYPE, type(obj))
        raise


def _wrapped(engine: "Engine", obj: object, source: Source | None) -> Value:
    kind = type(obj)
    if type(kind) is not type or issubclass(kind, type):
        _refuse_own_hash(engine, kind)
    if kind in LITERALS and not (isinstance(source, Local) and kind in NUMPY_NUMBERS):
        return _literal(engine, obj, source)
    if kind in TYPES:
        return SymbolicValue(cast("Symbolic", obj), source)
    if issubclass(kind, enum.Enum):
        engine.guard(source, Kind.IS, obj)
        note_whole(kind)
        return EnumValue(cast("enum.Enum", obj), source)
    known = engine.objects.get(id(obj))
    if known is not None:
        value = known[1]
        # The source of a cell names its contents.
        there = value.source.base if isinstance(value, CellValue) and value.source else value.source
        if source is None or source == there:
            return value
        if there is not None:
            engine.guard_same(source, there)
            if is_weak(there) and isinstance(source, Local):
                value.source = source  # the argument is what holds it
            return value
    value = _rule(kind)(engine, obj, source)
    if not (source is None and kind in (list, dict, tuple, set)):
        engine.objects[id(obj)] = (obj, value)
    return value


def _refuse_own_hash(engine: "Engine", kind: type) -> None:
    """Leave a class whose metaclass says what it is equal to, and its instances, to Python."""
    metaclass = type(cast("object", kind))
    for cls in (metaclass, kind) if issubclass(kind, type) else (metaclass,):
        if any([is_of_program(lookup(cls, name)) for name in ("__hash__", "__eq__")]):
            engine.unsupported(breaks.OBJECT, name=cls.__name__, detail="it says which classes are equal")


def _literal(engine: "Engine", obj: object, source: Source | None) -> Value:
    if source is not None and type(obj) in (int, float):
        number = engine.sizes.number(cast("float", obj), source)
        if number is not None:
            engine.guard(source, Kind.TYPE, type(obj))
            return SymbolicValue(number, source)
    kind = Kind.IS if obj is None or isinstance(obj, bool | types.CodeType) else Kind.EQUALS
    engine.guard(source, kind, obj)
    return ConstantValue(obj, source)


@of_object
def _rule(kind: type) -> Wrap:
    for cls in kind.__mro__:
        rule = wrap_rules.find(cls)
        if rule is not None:
            return rule
    raise AssertionError(kind)

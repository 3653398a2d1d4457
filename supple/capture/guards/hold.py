"""What guards hold: entries keep no user object alive, so guards are weakened before they are stored."""

import types
from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import Enum
from typing import cast

from supple.capture.guards.kinds import Guard, Identity, Kind
from supple.capture.source import Pinned, Source, type_of, value_at
from supple.runtime.classes import HAS_TAGS, ClassFacts, PassingClassFacts, is_passing
from supple.runtime.entries import Watch


def is_weak(value: object) -> bool:
    """Tell whether an entry must not hold `value`: a Python function, or any weakly referable instance.

    Of classes only those that a call has made end while the program runs.
    """
    if isinstance(value, types.FunctionType):
        return True
    if isinstance(value, type):
        return is_passing(value)
    if isinstance(value, types.ModuleType | types.BuiltinFunctionType | types.CodeType | Enum):
        return False
    return type(value).__weakrefoffset__ != 0


def weakened(guards: Sequence[Guard]) -> tuple[Guard, ...]:
    """Return the same conditions without strong references to functions and instances.

    A pinned object becomes a weak reference, identity with an object becomes its id, and so do the classes
    that a call has made.
    """
    made: dict[str, Source] = {}
    return tuple(_weak_guard(guard, made) for guard in guards)


def _weak_guard(guard: Guard, made: dict[str, Source]) -> Guard:
    source = _weak_source(guard.source, made)
    others = tuple(_weak_source(other, made) for other in guard.others)
    if guard.kind is Kind.IS and is_weak(guard.expected):
        identity = Identity(id(guard.expected), _label(guard.expected))
        return replace(guard, source=source, kind=Kind.ID, expected=identity, others=others)
    if guard.kind is Kind.TYPE and is_weak(guard.expected):
        identity = Identity(id(guard.expected), _label(guard.expected))
        return replace(guard, source=type_of(source), kind=Kind.ID, expected=identity)
    if guard.kind is Kind.CLASS and HAS_TAGS:
        facts = cast("ClassFacts", guard.expected)
        if is_weak(facts.cls):
            return replace(guard, source=source, expected=PassingClassFacts(facts))
    if guard.kind is Kind.ALL:
        parts = tuple(_weak_guard(part, made) for part in cast("tuple[Guard, ...]", guard.expected))
        return replace(guard, source=source, expected=parts)
    if source is guard.source and not others:
        return guard
    return replace(guard, source=source, others=others)


def _label(value: object) -> str:
    name: object = getattr(value, "__qualname__", None)
    return name if isinstance(name, str) else f"a {type(value).__name__}"


def _weak_source(source: Source, made: dict[str, Source]) -> Source:
    known = made.get(source.name)
    if known is None:
        known = source
        if isinstance(source, Pinned) and is_weak(source.value):
            known = replace(source, value=Watch(source.value))
        elif source.base is not None:
            base = _weak_source(source.base, made)
            known = source if base is source.base else replace(source, base=base)
        made[source.name] = known
    return known


def _is_by_id(guard: Guard) -> bool:
    return guard.kind is Kind.ID or isinstance(guard.expected, PassingClassFacts)


def watched(
    guards: Sequence[Guard], values: Mapping[str, object]
) -> tuple[tuple[object, ...], tuple[object, ...]]:
    """Return the objects that guards know by their places in memory, as they are found in this call.

    An entry must be dropped when one of the first dies, and holds the second: they take no weak reference,
    and their ids must not be used again.
    """
    found = [value_at(guard.source, values) for guard in guards if _is_by_id(guard)]
    weak = tuple(value for value in found if type(value).__weakrefoffset__ != 0)
    return weak, tuple(value for value in found if type(value).__weakrefoffset__ == 0)

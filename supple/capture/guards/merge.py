"""Fewer guards with the same meaning: small conditions on one object become one guard, repeated ones go.

before                                          after
x: LACKS_ATTRIBUTE 'forward'                    x: ALL(LACKS_ATTRIBUTE 'forward', EMPTY x._hooks)
x._hooks: EMPTY
a: SAME c                                       c: SAME a, b
b: SAME c
d: KEYS ('k',)                                  d: KEYS ('k',)
d: LACKS_KEY 'j'
d: LENGTH 1
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, cast

from supple.base.rules import Rules
from supple.capture.guards.kinds import Guard, Kind
from supple.capture.source import InstanceAttr, Source

Group = Callable[[Guard], tuple[str, Source] | None]
group_rules: Final[Rules[Group]] = Rules("guard group")
"""The name of the group that a guard joins, and the source of the merged guard; None to stay alone."""


def merged(guards: Sequence[Guard]) -> tuple[Guard, ...]:
    """Return guards that hold exactly when all of `guards` do.

    Each object that a guard reads is still made safe by a guard before it: a merged guard stands where
    the first of its parts stood and reads no more than its source; one of SAME stands where the last stood.
    """
    return _together(_one_object(_needed(guards)))


def _needed(guards: Sequence[Guard]) -> list[Guard]:
    """Drop what a guard on all keys of a dict says too."""
    keys = {
        guard.source.name: cast("tuple[object, ...]", guard.expected)
        for guard in guards
        if guard.kind is Kind.KEYS
    }
    return [guard for guard in guards if not _is_implied(guard, keys.get(guard.source.name))]


def _is_implied(guard: Guard, keys: tuple[object, ...] | None) -> bool:
    if keys is None:
        return False
    return (
        (guard.kind is Kind.LENGTH and guard.expected == len(keys))
        or (guard.kind is Kind.LACKS_KEY and guard.expected not in keys)
        or (guard.kind is Kind.HAS_KEY and guard.expected in keys)
        or (guard.kind is Kind.EMPTY and not keys)
    )


def _one_object(guards: Sequence[Guard]) -> list[Guard]:
    """Merge the SAME guards with one object, where the last of them stood."""
    paths: dict[str, list[Source]] = {}
    last: dict[str, int] = {}
    for index, guard in enumerate(guards):
        if guard.kind is Kind.SAME and len(guard.others) == 1:
            name = guard.others[0].name
            paths.setdefault(name, []).append(guard.source)
            last[name] = index
    kept: list[Guard] = []
    for index, guard in enumerate(guards):
        if guard.kind is not Kind.SAME or len(guard.others) != 1:
            kept.append(guard)
        elif last[guard.others[0].name] == index:
            first = guard.others[0]
            kept.append(replace(guard, source=first, others=tuple(paths[first.name])))
    return kept


def _together(guards: Sequence[Guard]) -> tuple[Guard, ...]:
    """Merge conditions on one object, where the first of them stood."""
    places: dict[str, int] = {}
    parts: list[tuple[Source, list[Guard]]] = []
    for guard in guards:
        rule = group_rules.find(guard.kind)
        found = rule(guard) if rule else None
        name, source = found or (str(len(parts)), guard.source)
        if name in places:
            parts[places[name]][1].append(guard)
            continue
        places[name] = len(parts)
        parts.append((source, [guard]))
    return tuple(_all_of(source, group) for source, group in parts)


def _all_of(source: Source, group: list[Guard]) -> Guard:
    if len(group) == 1:
        return group[0]
    return Guard(source, Kind.ALL, tuple(group), group[0].where)


@group_rules.on(Kind.LACKS_ATTRIBUTE)
def _(guard: Guard) -> tuple[str, Source] | None:
    """What an object has not, and what of it is empty."""
    return f"own {guard.source.name}", guard.source


@group_rules.on(Kind.EMPTY)
def _(guard: Guard) -> tuple[str, Source] | None:
    """An empty attribute goes with its object."""
    if isinstance(guard.source, InstanceAttr) and guard.source.base is not None:
        return f"own {guard.source.base.name}", guard.source.base
    return None


@group_rules.on(Kind.LACKS_KEY, Kind.HAS_KEY)
def _(guard: Guard) -> tuple[str, Source] | None:
    """Single keys of one dict."""
    return f"keys {guard.source.name}", guard.source


@group_rules.on(Kind.LACKS_CLASS_ATTRIBUTE)
def _(guard: Guard) -> tuple[str, Source] | None:
    """What one class has not."""
    return f"class {guard.source.name}", guard.source

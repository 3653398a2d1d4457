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

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, cast

from supple.capture.guards.kinds import Guard, Kind
from supple.capture.source import Source, owner_of


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
    paths: dict[Source, list[Source]] = {}
    for guard in filter(_is_pair, guards):
        paths.setdefault(guard.others[0], []).append(guard.source)
    kept: list[Guard] = []
    for guard in reversed(guards):
        if not _is_pair(guard):
            kept.append(guard)
        elif others := paths.pop(guard.others[0], None):
            kept.append(replace(guard, source=guard.others[0], others=tuple(others)))
    return kept[::-1]


def _is_pair(guard: Guard) -> bool:
    return guard.kind is Kind.SAME and len(guard.others) == 1


def _together(guards: Sequence[Guard]) -> tuple[Guard, ...]:
    """Merge conditions on one object, where the first of them stood."""
    groups: dict[object, tuple[Source, list[Guard]]] = {}
    for guard in guards:
        group = _GROUPS.get(guard.kind)
        source = owner_of(guard.source) if guard.kind is Kind.EMPTY else guard.source
        key = (group, source) if group and source else len(groups)
        groups.setdefault(key, (source or guard.source, []))[1].append(guard)
    return tuple(
        group[0] if len(group) == 1 else Guard(source, Kind.ALL, tuple(group), group[0].where)
        for source, group in groups.values()
    )


_GROUPS: Final[Mapping[Kind, str]] = {
    Kind.LACKS_ATTRIBUTE: "own",
    Kind.EMPTY: "own",
    Kind.LACKS_KEY: "keys",
    Kind.HAS_KEY: "keys",
    Kind.LACKS_CLASS_ATTRIBUTE: "class",
}
"""Kinds that are merged for one object: what it has not and what of it is empty; what keys a dict has."""

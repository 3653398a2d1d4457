"""Memo tables: what a function has answered, kept no longer than somebody can ask for it again.

`memo` keeps the answers to the last few questions, `of_object` one answer for each living object; `forget`,
which `supple.reset` calls, empties all tables. None grows with the number of functions that are compiled.
"""

import functools
import weakref
from collections.abc import Callable
from typing import Final, TypeVar, cast

F = TypeVar("F", bound=Callable[..., object])
K = TypeVar("K")
R = TypeVar("R")

OBJECTS: Final = 4096
"""How many objects one table of `of_object` has answers for; the oldest goes first."""

_MEMOS: Final[list[Callable[[], object]]] = []
"""What empties each memo table; modules add theirs when they are imported."""


def memo(size: int) -> Callable[[F], F]:
    """Return a decorator that keeps a pure function's last `size` results; the arguments are hashable."""

    def kept(function: F) -> F:
        table = functools.lru_cache(size)(function)
        _MEMOS.append(table.cache_clear)
        return cast("F", table)

    return kept


def forget() -> None:
    """Empty every memo table. Calls that run in other threads find their results again."""
    for clear in _MEMOS:
        clear()


def of_object(function: Callable[[K], R]) -> Callable[[K], R]:
    """Keep a function's result for each object, known by identity, for as long as the object lives.

    Where a result refers to its object, both live until the table is emptied.
    """
    table: dict[int, tuple[weakref.ref[K], R]] = {}
    _MEMOS.append(table.clear)

    def drop(number: int, reference: weakref.ref[K]) -> None:
        held = table.get(number)
        if held is not None and held[0] is reference:
            table.pop(number, None)

    @functools.wraps(function)
    def found(obj: K) -> R:
        number = id(obj)
        held = table.get(number)
        if held is not None and held[0]() is obj:
            return held[1]
        result = function(obj)
        if len(table) >= OBJECTS:
            table.pop(next(iter(tuple(table))), None)
        table[number] = (weakref.ref(obj, functools.partial(drop, number)), result)
        return result

    return found

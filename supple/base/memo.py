"""Memo tables: what a function has answered, kept no longer than somebody can ask for it again.

`memo` keeps the answers to the last few questions, `of_object` one answer for each living object; `forget`,
which `supple.reset` calls, empties all tables. None grows with the number of functions that are compiled.
"""

import functools
import weakref
from collections.abc import Callable
from typing import Final, Generic, TypeVar, cast

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


class ByObject(Generic[K, R]):
    """A table of what belongs to objects, each known by identity, for as long as the object lives.

    `weakref.WeakKeyDictionary` takes objects that compare equal for one: of two code objects with the same
    instructions it would forget what belongs to the second when the first one ends.
    """

    def __init__(self) -> None:
        self._held: dict[int, tuple[weakref.ref[K], R]] = {}
        self.clear: Final = self._held.clear

    def __len__(self) -> int:
        return len(self._held)

    def get(self, obj: K) -> R | None:
        """Return what belongs to an object, None if nothing does."""
        held = self._held.get(id(obj))
        return held[1] if held is not None and held[0]() is obj else None

    def put(self, obj: K, result: R) -> None:
        """Say what belongs to an object from now on."""
        number = id(obj)
        self._held[number] = (weakref.ref(obj, functools.partial(self._drop, number)), result)

    def drop_oldest(self) -> None:
        """Forget what was put first."""
        self._held.pop(next(iter(tuple(self._held))), None)

    def _drop(self, number: int, reference: weakref.ref[K]) -> None:
        held = self._held.get(number)
        if held is not None and held[0] is reference:
            self._held.pop(number, None)


def of_object(function: Callable[[K], R]) -> Callable[[K], R]:
    """Keep a function's result for each object, known by identity, for as long as the object lives.

    The function returns no None. Where a result refers to its object, both live until the table is emptied.
    """
    table = ByObject[K, R]()
    _MEMOS.append(table.clear)

    @functools.wraps(function)
    def found(obj: K) -> R:
        held = table.get(obj)
        if held is not None:
            return held
        result = function(obj)
        if len(table) >= OBJECTS:
            table.drop_oldest()
        table.put(obj, result)
        return result

    return found

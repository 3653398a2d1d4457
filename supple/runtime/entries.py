"""Entries: the guarded versions of one code object of one compiled object; safe under threads.

Readers take `all`, an immutable tuple, without a lock. Whoever changes it holds the lock. The first entry is
the one that was used last, or nearly so: hits behind it are counted, and many of them move it to the front.
"""

import threading
import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

Check = Callable[..., int | None]
Run = Callable[..., object]
Dropped = Callable[["Entry", str], object]

_HITS_TO_FRONT: Final = 16


@dataclass(eq=False, slots=True, weakref_slot=True)
class Entry:
    """One version of a function.

    Attributes:
        check: takes the call's arguments; None when every guard holds, else the index of one that fails.
        run: takes the same arguments and does what the function does.
        about: what the owner wants to remember: guards for explanations.
        hits: hits behind the front.
    """

    check: Check
    run: Run
    about: object = None
    hits: int = 0


def never(*_args: object, **_kwargs: object) -> int | None:
    """The check of a dead entry: its first guard fails."""
    return 0


class Watch(weakref.ref[object]):
    """A weak reference of ours, which a program does not see."""

    __slots__ = ()


class Entries:
    """The entries of one code object.

    Attributes:
        all: the entries to try, in order.
    """

    __slots__ = ("__weakref__", "_dropped", "_lock", "_watches", "all")

    def __init__(self, dropped: Dropped) -> None:
        self.all: tuple[Entry, ...] = ()
        self._dropped = dropped
        # A weak reference's callback may come while this thread holds the lock.
        self._lock = threading.RLock()
        self._watches: dict[int, tuple[weakref.ref[object], ...]] = {}

    def insert(self, entry: Entry, watched: Iterable[object] = ()) -> None:
        """Put an entry in front. It is removed when one of the `watched` objects dies."""
        watches = tuple(Watch(obj, _Death(self, entry)) for obj in watched)
        with self._lock:
            self._watches[id(entry)] = watches
            self.all = (entry, *(one for one in self.all if one.check is not never))

    def hit_behind(self, entry: Entry) -> None:
        """Note the use of an entry that is not the first."""
        entry.hits += 1
        if entry.hits >= _HITS_TO_FRONT and self._lock.acquire(blocking=False):
            try:
                if entry in self.all:
                    entry.hits = 0
                    self.all = (entry, *(one for one in self.all if one is not entry))
            finally:
                self._lock.release()

    def clear(self) -> None:
        """Forget all entries."""
        with self._lock:
            self.all = ()
            self._watches.clear()

    def remove(self, entry: Entry, why: str) -> None:
        """Remove an entry, if it is still there; its check fails from now on, wherever it is still held."""
        entry.check = never
        with self._lock:
            is_here = entry in self.all
            self.all = tuple(one for one in self.all if one is not entry)
            self._watches.pop(id(entry), None)
        if is_here:
            self._dropped(entry, why)


class _Death:
    """What is called when a watched object dies."""

    __slots__ = ("_entries", "_entry")

    def __init__(self, entries: Entries, entry: Entry) -> None:
        self._entries = weakref.ref(entries)
        self._entry = weakref.ref(entry)

    def __call__(self, _: object) -> None:
        entry = self._entry()
        entries = self._entries()
        if entry is not None:
            entry.check = never
        if entry is not None and entries is not None:
            entries.remove(entry, "an object that it depended on was deleted")

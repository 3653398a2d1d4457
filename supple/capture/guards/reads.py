"""What the running capture has read of classes and builtins; each read becomes a part of a guard.

To look a name up and to note what was found are one act (`values.attributes.lookup`), so that no rule can use
the one and forget the other.
"""

import builtins
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from supple.capture.guards.kinds import Guard, Kind
from supple.capture.source import BUILTINS, pinned
from supple.runtime.classes import ClassFacts, may_change


@dataclass(slots=True)
class Reads:
    """What one capture has read.

    Attributes:
        classes: for each class, what was found under each name.
        whole: classes of which all counts.
        builtins: the builtins that were used, by name.
    """

    classes: dict[type, dict[str, object]] = field(default_factory=dict[type, dict[str, object]])
    whole: set[type] = field(default_factory=set[type])
    builtins: dict[str, object] = field(default_factory=dict[str, object])

    def guards(self) -> tuple[Guard, ...]:
        """Return the conditions under which all of this would be read again."""
        found = [
            Guard(pinned(_label(cls), cls), Kind.CLASS, ClassFacts(cls, names, is_whole=cls in self.whole))
            for cls, names in self.classes.items()
            if any(map(may_change, cls.__mro__))
        ]
        if self.builtins:
            found.append(Guard(BUILTINS, Kind.BUILTINS, tuple(self.builtins.items())))
        return tuple(found)


def _label(cls: type) -> str:
    return f"C[{cls.__module__}.{cls.__qualname__}@{id(cls):x}]"


class _Active(threading.local):
    reads: Reads | None = None


_ACTIVE = _Active()


@contextmanager
def reading() -> Generator[Reads]:
    """Collect what the capture inside reads."""
    before, _ACTIVE.reads = _ACTIVE.reads, Reads()
    try:
        yield _ACTIVE.reads
    finally:
        _ACTIVE.reads = before


def note_lookup(cls: type, name: str, found: object) -> None:
    """Note what a class has under a name."""
    reads = _ACTIVE.reads
    if reads is not None:
        reads.classes.setdefault(cls, {})[name] = found


def note_bases(cls: type) -> None:
    """Note that the bases of a class were looked at."""
    reads = _ACTIVE.reads
    if reads is not None:
        reads.classes.setdefault(cls, {})


def note_whole(cls: type) -> None:
    """Note that a function was called that may look at all that a class and its bases have."""
    reads = _ACTIVE.reads
    if reads is not None:
        reads.classes.setdefault(cls, {})
        reads.whole.add(cls)


def builtin(name: str) -> object:
    """Return a builtin, and note it.

    Raises:
        KeyError: there is none of this name.
    """
    found = vars(builtins)[name]
    reads = _ACTIVE.reads
    if reads is not None:
        reads.builtins[name] = found
    return found

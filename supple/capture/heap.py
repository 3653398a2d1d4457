"""What capture changed: values are mutable handles whose every change is journalled and, for objects that
existed before the call, noted as dirty, to be replayed by the residual code.

Only the heap writes the mutable fields of values.
"""

from typing import TYPE_CHECKING, Protocol, TypeVar

import torch

from supple.base.journal import Journal, Mark

if TYPE_CHECKING:
    from supple.capture.values.base import Value

K = TypeVar("K")
V = TypeVar("V")


class Effect(Protocol):
    """A call to be made when the captured code has run, in program order: a print, a log line."""

    callee: "Value"
    args: "tuple[Value, ...]"
    kwargs: "dict[str, Value]"


class Heap:
    """Owner of all changes of one capture."""

    def __init__(self) -> None:
        self.journal = Journal()
        self.dirty: dict[int, Value] = {}
        self.effects: list[Effect] = []
        self.devices: list[torch.device] = []  # entered as contexts

    def mark(self) -> Mark:
        """Return a point to roll back to."""
        return self.journal.mark()

    def rollback(self, mark: Mark) -> None:
        """Undo all changes since the mark."""
        self.journal.rollback(mark)

    def touch(self, value: "Value") -> None:
        """Note that an object which existed before the call was changed."""
        if id(value) not in self.dirty:
            self.dirty[id(value)] = value
            self.journal.record(lambda: self.dirty.pop(id(value), None))

    def put(self, store: dict[K, V], key: K, new: V) -> None:
        """store[key] = new, with undo. Undo of an insertion restores the key's absence, not dict order."""
        if key in store:
            old = store[key]
            self.journal.record(lambda: store.__setitem__(key, old))
        else:
            self.journal.record(lambda: store.pop(key, None))
        store[key] = new

    def drop(self, store: dict[K, V], key: K) -> None:
        """Del store[key], with undo that restores the order too."""
        before = dict(store)

        def undo() -> None:
            store.clear()
            store.update(before)

        self.journal.record(undo)
        del store[key]

    def replace(self, store: list[V], new: list[V]) -> None:
        """store[:] = new, with undo."""
        old = list(store)
        self.journal.record(lambda: store.__setitem__(slice(None), old))
        store[:] = new

    def append(self, store: list[V], new: V) -> None:
        """Append with undo."""
        self.journal.record(store.pop)
        store.append(new)

    def set_field(self, owner: object, name: str, new: object) -> None:
        """owner.name = new, with undo."""
        old = getattr(owner, name)
        self.journal.record(lambda: setattr(owner, name, old))
        setattr(owner, name, new)

    def defer(self, effect: Effect) -> None:
        """Append a call to be replayed after the graph."""
        self.append(self.effects, effect)

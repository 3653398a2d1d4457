"""An undo log: state that changes during a capture can go back to a mark, in time linear in the changes."""

from collections.abc import Callable
from typing import NewType

Mark = NewType("Mark", int)


class Journal:
    """Records how to undo each change. Owners of state call `record` before they change it."""

    __slots__ = ("_undo",)

    def __init__(self) -> None:
        self._undo: list[Callable[[], object]] = []

    def mark(self) -> Mark:
        """Return a point to which `rollback` can return."""
        return Mark(len(self._undo))

    def record(self, undo: Callable[[], object]) -> None:
        """Remember `undo`, to be called when a mark taken earlier is rolled back to."""
        self._undo.append(undo)

    def rollback(self, mark: Mark) -> None:
        """Undo every change recorded since `mark`, newest first."""
        while len(self._undo) > mark:
            self._undo.pop()()

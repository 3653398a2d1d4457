"""Loaded artifacts of this process, by the digest of their sources: none that lives is built again."""

import weakref
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from supple.runtime.load import Run  # loads llvmlite, which other backends do without


class Loaded:
    """Runs by key, for as long as somebody has them; safe under threads."""

    def __init__(self) -> None:
        self._runs: weakref.WeakValueDictionary[str, Run] = weakref.WeakValueDictionary()

    def find(self, key: str) -> "Run | None":
        """Return what was kept under a key, or None."""
        return self._runs.get(key)

    def keep(self, key: str, run: "Run") -> None:
        """Let a run be found under its key."""
        self._runs[key] = run

    def clear(self) -> None:
        """Forget all."""
        self._runs.clear()


LOADED: Final = Loaded()

"""Loaded artifacts of this process, by the digest of what they were made from: none is built twice."""

import threading
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from supple.runtime.load import Run  # loads llvmlite, which other backends do without


class Loaded:
    """Runs by key; safe under threads."""

    def __init__(self) -> None:
        self._runs: dict[str, Run] = {}
        self._lock = threading.Lock()

    def find(self, key: str) -> "Run | None":
        """Return what was kept under a key, or None."""
        return self._runs.get(key)

    def keep(self, key: str, run: "Run") -> None:
        """Keep a run under its key."""
        with self._lock:
            self._runs[key] = run

    def clear(self) -> None:
        """Forget all."""
        with self._lock:
            self._runs.clear()


LOADED: Final = Loaded()

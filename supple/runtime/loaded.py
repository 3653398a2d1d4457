"""Loaded artifacts of this process, by the digest of what they were made from: none is built twice."""

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from supple.runtime.load import Run  # loads llvmlite, which other backends do without


class Loaded:
    """Runs by key; safe under threads, as each method is one operation of a dict."""

    def __init__(self) -> None:
        self._runs: dict[str, Run] = {}

    def find(self, key: str) -> "Run | None":
        """Return what was kept under a key, or None."""
        return self._runs.get(key)

    def keep(self, key: str, run: "Run") -> None:
        """Keep a run under its key."""
        self._runs[key] = run

    def clear(self) -> None:
        """Forget all."""
        self._runs.clear()


LOADED: Final = Loaded()

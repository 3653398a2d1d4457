"""Results as text: one line a mutant, then the shares."""

from collections import Counter
from collections.abc import Sequence
from typing import Any


def table(entries: Sequence[dict[str, Any]], *, head: bool = True) -> str:
    """Return the results as lines; with `head` also what the columns are, and how many were found."""
    lines = [_line(entry) for entry in entries]
    if not head:
        return "\n".join(lines)
    found = Counter(entry["generator"] for entry in entries if entry["generator"])
    share = 100 * found.total() / max(len(entries), 1)
    by = ", ".join(f"{name} {count}" for name, count in found.most_common())
    return "\n".join(
        [
            f"{'area':11} {'mutant':34} {'found by':12} {'seconds':>7}  all, with those before it",
            *lines,
            f"{found.total()} of {len(entries)} found ({share:.0f} %): {by}",
        ]
    )


def summary(entries: Sequence[dict[str, Any]]) -> str:
    """Return the results of a shared run: the mutant, how many programs reach it, when one found it."""
    rows = ((one["mutant"], one["reached by"], one["seconds"]) for one in entries)
    return "\n".join(
        f"{name:40} reached by {count:5}  {'NOT FOUND' if when is None else f'{when:7.0f} s'}"
        for name, count, when in rows
    )


def _line(entry: dict[str, Any]) -> str:
    generator = entry["generator"] or "NOT FOUND"
    own = f"{entry['own_seconds']:7.0f}" if entry["generator"] else " " * 7
    return f"{entry['area']:11} {entry['mutant']:34} {generator:12} {own}  {', '.join(entry['ran'])}"

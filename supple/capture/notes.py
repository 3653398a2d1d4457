"""What a report of a compiler failure needs, in a file of the cache folder: one for each distinct failure."""

import logging
import os
import platform
import traceback
from pathlib import Path
from typing import Final

import torch

from supple.base import files
from supple.base.config import Settings, config
from supple.base.errors import Explained, Where, one_line
from supple.base.stable import digest
from supple.capture.compilation import Call

_log: Final = logging.getLogger("supple")
NOTES: Final = 50
"""How many notes the folder holds; the oldest goes first."""


def write_note(call: Call, error: Exception) -> str:
    """Write what a report of a failure needs; return where it is, or why it is nowhere.

    An exception of one class from one place has one file, which tells of the last time.
    """
    at = traceback.extract_tb(error.__traceback__)[-1:]
    place = "".join(f"{frame.filename}:{frame.lineno}" for frame in at)
    folder = files.folder_of(config.now()) / "failures"
    path = folder / f"supple-failure-{digest(type(error).__qualname__, place)[:12]}.txt"
    lines = [
        f"function: {call.function.__qualname__} at {call.where.filename}:{call.where.line}",
        f"versions: Python {platform.python_version()}, torch {torch.__version__}",
        *(f"argument {name}: {_described(value)}" for name, value in call.values.items()),
        "",
        *traceback.format_exception(error),
    ]
    try:
        files.replace(path, "\n".join(lines).encode(errors="replace"))
        _forget_the_oldest(folder)
    except OSError as reason:
        return f"its traceback (verbose=True shows it; {path} was not written: {reason})"
    return str(path)


_LIBRARIES: Final = tuple(f"{Path(str(module.__file__)).parent}{os.sep}" for module in (torch, os))
"""Folders of code that users do not change: torch's and Python's own."""


def tell(name: str, reason: Explained, what: str, told: set[str], settings: Settings) -> None:
    """Say why a function runs eager or breaks, in one line: once per place, or per file of a library.

    Args:
        told: what was said of the compiled object.
    """
    called = [at.filename for at in reason.stack if at.filename.startswith(_LIBRARIES)]
    is_in_library = bool(called) and reason.stack[-1].filename == called[-1]
    place = f"library {called[0]}" if is_in_library else f"{reason.reason.code} {reason.stack[-1:]}"
    if place not in told:
        told.add(place)
        whole = "".join(traceback.format_exception(reason)) if settings.verbose else ""
        if settings.log_level <= logging.WARNING:
            _log.warning("%s", whole or one_line(name, reason, what))


LONG: Final = 20.0
"""After how many seconds a compilation is worth a word."""


def tell_long(name: str, where: Where, seconds: float, told: set[str]) -> None:
    """Say, once for each compiled object, that a compilation took long, and what to do about it."""
    if seconds < LONG or "long" in told:
        return
    told.add("long")
    _log.warning(
        "%s took %.0f seconds to compile, at %s:%d. Loops are unrolled: each turn is captured anew. "
        "Do: where a loop has many turns, compile the function that it calls in place of the whole.",
        *(name, seconds, where.filename, where.line),
    )


def _forget_the_oldest(folder: Path) -> None:
    notes = sorted(folder.glob("supple-failure-*.txt"), key=lambda note: note.stat().st_mtime_ns)
    for note in notes[:-NOTES]:
        note.unlink(missing_ok=True)


def _described(value: object) -> str:
    is_tensor = issubclass(type(value), torch.Tensor)  # a dead proxy has no `__class__` to ask
    if is_tensor and isinstance(value, torch.Tensor):
        return f"{type(value).__name__} {tuple(value.shape)} {value.dtype} {value.device}"
    return type(value).__qualname__

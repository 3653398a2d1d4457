"""Files of the compiler, in folders that others may write to: bounded reads, safe writes, locks.

Nothing is read but a regular file of bounded size, so that no pipe or device holds a program up. Nothing is
written through a symbolic link, or into a folder where somebody else could put other files in place of ours.
"""

import errno
import fcntl
import os
import re
import stat
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from supple.base.config import Settings

LARGEST: Final = 1 << 24
"""Bytes of the largest file that is read."""
_COMMON: Final = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def folder_of(settings: Settings) -> Path:
    """Return the cache folder."""
    return Path(os.path.expanduser(settings.cache_dir or os.path.join("~", ".cache", "supple")))


def read(path: Path) -> bytes:
    """Return what a file holds.

    Raises:
        FileNotFoundError: there is none.
        OSError: it cannot be read, is a symbolic link or no regular file, or is larger than `LARGEST`.
    """
    with os.fdopen(_opened(path, os.O_RDONLY), "rb") as file:
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise OSError(errno.EFBIG, f"it has more than {LARGEST} bytes", str(path))
    return data


def replace(path: Path, data: bytes) -> None:
    """Put a file in the place of what is there, in one step: whoever reads sees the old or the new.

    Raises:
        OSError: it cannot be written, or others could replace it.
    """
    made, name = tempfile.mkstemp(prefix=f"{path.name}.", dir=safe(path.parent))
    try:
        with os.fdopen(made, "wb") as file:
            file.write(data)
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise


def safe(folder: Path) -> Path:
    """Return a folder, made where there is none, in which nobody else can exchange our files.

    Raises:
        OSError: it cannot be made; others own it, or may write to it and delete what is ours.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = os.stat(folder)
    is_open = found.st_mode & stat.S_IWOTH or found.st_uid not in (os.geteuid(), 0)
    if is_open and not found.st_mode & stat.S_ISVTX:
        raise OSError(errno.EPERM, "other users can exchange files in this folder", str(folder))
    return folder


@contextmanager
def locked(path: Path, patience_s: float) -> Generator[bool]:
    """Hold the lock of a file, or give up after some time; tells which.

    Raises:
        OSError: the lock's file cannot be made, or is no regular file.
    """
    safe(path.parent)
    with os.fdopen(_opened(Path(f"{path}.lock"), os.O_RDWR | os.O_CREAT), "rb+") as file:
        until = time.monotonic() + patience_s
        is_held = False
        while not is_held and time.monotonic() < until:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                is_held = True
            except BlockingIOError:
                time.sleep(0.005)
        yield is_held


def _opened(path: Path, flags: int) -> int:
    number = os.open(path, flags | _COMMON, 0o600)
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise OSError(errno.EINVAL, "it is no regular file", str(path))
    return number


def named(text: str) -> str:
    """Return a text as a part of a file's name."""
    return re.sub(r"[^\w.-]", "_", text)

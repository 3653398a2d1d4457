"""What a segmentation fault says while kernels run between guard pages: the kernel, and whose guard was hit.

The handler is Python. It may be: a kernel faults in its own instructions, where its thread holds neither the
GIL nor a lock of the C library. It prints a line, puts the handler back that was there before and returns, so
that the instruction faults once more: the process dies as it would have, or `faulthandler` shows the stack.
"""

import ctypes
import os
import platform
import signal
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar, Final

SA_SIGINFO: Final = 4
ADDRESS_AT: Final = 16
"""Where siginfo_t holds the address."""
ERROR_AT: Final = 192
"""Where ucontext_t holds the error code of a page fault, on x86-64."""
BY_WRITE: Final = 2
"""The bit of that code which says that the access was a write."""

Handler: Final = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


class Action(ctypes.Structure):
    """struct sigaction of Linux's C libraries."""

    _fields_: ClassVar = [
        ("handler", ctypes.c_void_p),
        ("mask", ctypes.c_ulong * 16),
        ("flags", ctypes.c_int),
        ("restorer", ctypes.c_void_p),
    ]


@dataclass(frozen=True, slots=True)
class Fenced:
    """Memory between two guards, as addresses.

    Attributes:
        first: where the guard before it begins.
        begin, end: the bytes that may be touched.
        last: where the guard behind it ends.
        operands: whose memory it is, for people.
    """

    first: int
    begin: int
    end: int
    last: int
    operands: str


@dataclass(frozen=True, slots=True)
class Running:
    """A kernel that runs, as people know it, and its memory."""

    kernel: str
    memory: Sequence[Fenced]

    def holds(self, address: int) -> bool:
        """Tell whether an address lies in this memory or in its guards."""
        return any(one.first <= address < one.last for one in self.memory)


def sentence(running: Running, address: int, does: str) -> str:
    """Return what a kernel `does` at an address: "reads", "writes"."""
    for one in running.memory:
        size, at = one.end - one.begin, address - one.begin
        if one.first <= address < one.begin:
            return f"{running.kernel} {does} before the beginning of {one.operands}, at byte {at}"
        if one.end <= address < one.last:
            place = f"at byte {at} or before: it has {size}"
            return f"{running.kernel} {does} behind the end of {one.operands}, {place}"
    return f"{running.kernel} {does} memory at {address:#x}, far from all of its operands"


class Watch:
    """Which kernels run, and the handler of faults while any of them does. Safe under threads."""

    def __init__(self) -> None:
        self._running: list[Running] = []
        self._lock = threading.Lock()
        self._libc = ctypes.CDLL(None)
        self._handler = Handler(self._say)
        self._ours = Action(handler=ctypes.cast(self._handler, ctypes.c_void_p).value, flags=SA_SIGINFO)
        self._before = Action()

    @contextmanager
    def over(self, running: Running) -> Generator[None]:
        """Name the kernel and the operand if the body faults."""
        with self._lock:
            if not self._running:
                self._libc.sigaction(signal.SIGSEGV, ctypes.byref(self._ours), ctypes.byref(self._before))
            self._running.append(running)
        try:
            yield
        finally:
            with self._lock:
                self._running.remove(running)
                if not self._running:
                    self._put_back()

    def _put_back(self) -> None:
        self._libc.sigaction(signal.SIGSEGV, ctypes.byref(self._before), None)

    def _say(self, _: int, info: int, context: int) -> None:
        """Handle SIGSEGV; takes no lock, as the thread that faults may hold it."""
        address = ctypes.c_uint64.from_address(info + ADDRESS_AT).value
        does = "touches"
        if platform.machine() == "x86_64":
            is_write = ctypes.c_uint64.from_address(context + ERROR_AT).value & BY_WRITE
            does = "writes" if is_write else "reads"
        hit = [one for one in self._running if one.holds(address)] or self._running
        for one in hit:
            os.write(2, f"supple: {sentence(one, address, does)}\n".encode())
        self._put_back()


WATCH: Final = Watch()

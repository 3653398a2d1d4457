"""Kernels between guard pages: with `check="memory"` each runs on copies that end at unmapped memory.

A kernel runs twice. In the first run the last byte of each operand lies before a page that nobody may touch,
in the second run the first byte lies behind one; what is left of the pages holds poison. So a read or a write
out of bounds is a fault, which `fault` gives a name, or poison that is gone. The results of both runs must be
equal bit for bit; only elements of operands that the kernel is to write may have changed. Then the results
are copied to where they belong.

Operands of one launch whose memory overlaps are copied as one piece, so they overlap in the copy as well.
"""

import ctypes
import mmap
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import torch

from supple.base.errors import MemoryFault
from supple.runtime.fault import WATCH, Fenced, Running

PAGE: Final = mmap.PAGESIZE
GUARD: Final = 16 * PAGE
"""The least length of a guard."""
POISON: Final = 0x5A
NAN: Final = 0xFF
"""A byte of which floats are NaN."""
PROT_NONE: Final = 0

Operand = tuple[torch.Tensor, str, bool]
"""A tensor, its name, whether the kernel writes it."""

_libc: Final = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *(ctypes.c_int,) * 3, ctypes.c_long)
_libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
_libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes that operands of a launch lie in, which may overlap.

    Attributes:
        begin, end: addresses of the first byte and of that behind the last.
        operands: in the order of their addresses.
    """

    begin: int
    end: int
    operands: tuple[Operand, ...]

    @property
    def size(self) -> int:
        """How many bytes."""
        return self.end - self.begin

    @property
    def is_written(self) -> bool:
        """Whether the kernel writes any of it."""
        return any(is_written for _, _, is_written in self.operands)

    @property
    def alignment(self) -> int:
        """The size of its largest elements."""
        return max(tensor.element_size() for tensor, _, _ in self.operands)

    def __str__(self) -> str:
        shown = (
            f"`{name}` ({tensor.dtype} {tuple(tensor.shape)}, strides {tensor.stride()})"
            for tensor, name, _ in self.operands
        )
        return " or ".join(dict.fromkeys(shown))

    def changeable(self) -> npt.NDArray[np.bool_]:
        """Return which bytes the kernel may change: those of the elements of what it writes."""
        may = np.zeros(self.size, np.bool_)
        for tensor, _, is_written in self.operands:
            if is_written and tensor.numel():
                width = tensor.element_size()
                steps = (*(step * width for step in tensor.stride()), 1)
                at = tensor.data_ptr() - self.begin
                np.lib.stride_tricks.as_strided(may[at:], (*tensor.shape, width), steps)[...] = True
        return may


class Zone:
    """Pages between two guards, with a copy of one piece at the end of the pages, or at their beginning.

    Elements in the copy are as aligned as in the piece: a few bytes of poison may lie between copy and guard.

    Attributes:
        content: what the piece holds.
        odd: how far the piece begins behind an aligned address, mostly 0.
    """

    def __init__(self, piece: Piece) -> None:
        self.piece = piece
        self.content = ctypes.string_at(piece.begin, piece.size)
        self.odd = piece.begin % piece.alignment
        self.length = (self.odd + piece.size + PAGE - 1) // PAGE * PAGE
        self.guard = max(GUARD, self.length)
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        whole: int | None = _libc.mmap(None, self.length + 2 * self.guard, PROT_NONE, flags, -1, 0)
        if whole is None or whole == ctypes.c_void_p(-1).value:
            raise MemoryError(f"no room for {piece.size} bytes between guard pages")
        self.whole = whole
        self.pages = whole + self.guard
        if _libc.mprotect(self.pages, self.length, mmap.PROT_READ | mmap.PROT_WRITE):
            _libc.munmap(whole, self.length + 2 * self.guard)
            raise MemoryError(f"no memory for {piece.size} bytes between guard pages")

    def __enter__(self) -> "Zone":
        return self

    def __exit__(self, *_: object) -> None:
        _libc.munmap(self.whole, self.length + 2 * self.guard)

    def place(self, *, is_at_end: bool) -> int:
        """Make the copy at its place, poison around it; return its address."""
        slack = self.length - self.piece.size
        before = slack - (slack - self.odd) % self.piece.alignment if is_at_end else self.odd
        for start, length in self._around(before):
            ctypes.memset(start, POISON, length)
        ctypes.memmove(self.pages + before, self.content, self.piece.size)
        return self.pages + before

    def _around(self, before: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return where the poison before and behind a copy begins, and its length; `before` is the former."""
        behind = self.pages + before + self.piece.size
        return (self.pages, before), (behind, self.pages + self.length - behind)

    def wounds(self, address: int) -> Iterator[str]:
        """Yield on which sides of the copy at an address the poison was overwritten."""
        sides = ("before the beginning", "behind the end")
        for side, (start, length) in zip(sides, self._around(address - self.pages), strict=True):
            if ctypes.string_at(start, length) != bytes((POISON,)) * length:
                yield side

    def fenced(self, address: int) -> Fenced:
        """Return the memory for the handler of faults, with the copy at an address."""
        end = address + self.piece.size
        return Fenced(self.whole, address, end, self.pages + self.length + self.guard, str(self.piece))


def poisoned(tensor: torch.Tensor) -> torch.Tensor:
    """Return a fresh tensor with its memory full of NaN, or of a number that is no sensible one."""
    is_number = tensor.is_floating_point() or tensor.is_complex()
    storage = tensor.untyped_storage()
    ctypes.memset(storage.data_ptr(), NAN if is_number else POISON, storage.nbytes())
    return tensor


def between_guards(
    kernel: Callable[..., None], about: str, operands: Sequence[Operand], sizes: Sequence[int]
) -> None:
    """Run a kernel on its tensors, between guard pages.

    Args:
        about: what people know the kernel by.

    Raises:
        MemoryFault: it wrote what it may not, or its results depend on where its operands lie. The tensors
            are as they were.
    """
    with ExitStack() as stack:
        zones = [stack.enter_context(Zone(piece)) for piece in pieces(operands)]
        results = _run(kernel, about, operands, sizes, zones, is_at_end=True)
        again = _run(kernel, about, operands, sizes, zones, is_at_end=False)
    for zone, after, other in zip(zones, results, again, strict=True):
        _require_own(about, zone.piece, zone.content, after)
        if after != other:
            raise MemoryFault(f"{about} gives other bits in {zone.piece} when its operands lie elsewhere")
    for zone, after in zip(zones, results, strict=True):
        if zone.piece.is_written:
            ctypes.memmove(zone.piece.begin, after, zone.piece.size)


def _run(
    kernel: Callable[..., None],
    about: str,
    operands: Sequence[Operand],
    sizes: Sequence[int],
    zones: Sequence[Zone],
    *,
    is_at_end: bool,
) -> list[bytes]:
    """Return what a run of a kernel on fresh copies makes of each.

    Raises:
        MemoryFault: poison beside a copy was overwritten.
    """
    places = [zone.place(is_at_end=is_at_end) for zone in zones]
    addresses = {
        id(tensor): place + tensor.data_ptr() - zone.piece.begin
        for zone, place in zip(zones, places, strict=True)
        for tensor, _, _ in zone.piece.operands
    }
    memory = [zone.fenced(place) for zone, place in zip(zones, places, strict=True)]
    with WATCH.over(Running(about, memory)):
        kernel(*(addresses[id(tensor)] for tensor, _, _ in operands), *sizes)
    for zone, place in zip(zones, places, strict=True):
        for side in zone.wounds(place):
            raise MemoryFault(f"{about} writes {side} of {zone.piece}")
    return [ctypes.string_at(one.begin, one.end - one.begin) for one in memory]


def _require_own(about: str, piece: Piece, before: bytes, after: bytes) -> None:
    """Raise MemoryFault where a kernel has changed more than the elements that it is to write."""
    if before == after or (len(piece.operands) == 1 and piece.is_written and _fills(piece)):
        return
    old, new = (np.frombuffer(content, np.uint8) for content in (before, after))
    changed = np.flatnonzero((old != new) & ~piece.changeable())
    if changed.size:
        raise MemoryFault(f"{about} writes byte {changed[0]} of {piece}, which it may only read")


def _fills(piece: Piece) -> bool:
    tensor, _, _ = piece.operands[0]
    return tensor.is_contiguous() and tensor.numel() * tensor.element_size() == piece.size


def pieces(operands: Sequence[Operand]) -> list[Piece]:
    """Return the memory of operands, those that overlap in one piece."""
    alone = [_alone(operand) for operand in operands]
    found = [piece for piece in alone if not piece.size]
    for piece in sorted((piece for piece in alone if piece.size), key=lambda one: one.begin):
        if found and piece.begin < found[-1].end:
            last = found.pop()
            both = (*last.operands, *piece.operands)
            found.append(Piece(last.begin, max(last.end, piece.end), both))
        else:
            found.append(piece)
    return found


def _alone(operand: Operand) -> Piece:
    begin = operand[0].data_ptr()
    return Piece(begin, begin + extent(operand[0]), (operand,))


def extent(tensor: torch.Tensor) -> int:
    """Return how many bytes lie between the first byte of a tensor and the one behind its last element."""
    if not tensor.numel():
        return 0
    steps = sum((size - 1) * step for size, step in zip(tensor.shape, tensor.stride(), strict=True))
    return (steps + 1) * tensor.element_size()

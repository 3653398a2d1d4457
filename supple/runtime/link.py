"""Link the objects of artifacts into this process: each distinct object once; its functions stay for good.

External functions are looked up in libtorch_cpu and what it depends on: its vector mathematics, the OpenMP
library whose thread pool eager uses, the C library.
"""

import ctypes
import struct
import threading
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final, cast

import llvmlite.binding as llvm
import torch

from supple.base.errors import SuppleError
from supple.base.stable import digest
from supple.runtime.artifact import Artifact


class LinkError(SuppleError):
    """Machine code needs a function that this process does not have."""


@cache
def _libraries() -> tuple[ctypes.CDLL, ...]:
    """Return the libraries that kernels may call, in the order they are searched."""
    torch_cpu = Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"
    return ctypes.CDLL(str(torch_cpu)), ctypes.CDLL(None)


@cache
def external(symbol: str) -> int | None:
    """Return the address of an external function, or None where no library has it."""
    for library in _libraries():
        if hasattr(library, symbol):
            return ctypes.cast(getattr(library, symbol), ctypes.c_void_p).value
    return None


class Linker:
    """One JIT engine and what it has linked. Safe under threads."""

    __slots__ = ("_engine", "_linked", "_lock")

    def __init__(self) -> None:
        self._engine: llvm.LLJIT | None = None
        self._linked: dict[str, dict[str, int]] = {}
        self._lock = threading.Lock()

    def link(self, data: bytes) -> Mapping[str, int]:
        """Return the addresses of the public functions of an ELF object.

        Raises:
            LinkError: it needs a function that no library has.
        """
        key = digest(data)
        with self._lock:
            found = self._linked.get(key)
            if found is None:
                found = self._linked[key] = self._fresh(data, key)
            return found

    def _fresh(self, data: bytes, key: str) -> dict[str, int]:
        if self._engine is None:
            llvm.initialize_native_target()
            llvm.initialize_native_asmprinter()
            self._engine = llvm.create_lljit_compiler()
        builder = llvm.JITLibraryBuilder().add_object_img(data)
        public: list[str] = []
        for name, is_defined in symbols(data):
            if is_defined:
                public.append(name)
                builder.export_symbol(name)
                continue
            address = external(name)
            if address is None:
                msg = f"machine code needs {name}, which neither libtorch_cpu nor the C library has"
                raise LinkError(msg)
            builder.import_symbol(name, address)
        tracker = builder.link(self._engine, key)
        _KEPT.append(tracker)
        return {name: tracker[name] for name in public}


_KEPT: Final[list[llvm.ResourceTracker]] = []
"""Owners of linked code; dropping one would unmap its functions."""

LINKER: Final = Linker()


def addresses(artifact: Artifact) -> Mapping[str, int]:
    """Return the address of each public function of the artifact's objects.

    Raises:
        LinkError: an object needs a function that no library has.
    """
    return {name: place for data in artifact.objects for name, place in LINKER.link(data).items()}


_SYMBOL: Final = struct.Struct("<IBBHQQ")
_Section = tuple[int, int, int, int, int, int, int, int, int, int]
_SECTION: Final = struct.Struct("<IIQQQQIIQQ")
_SYMBOL_TABLE: Final = 2
_GLOBAL: Final = 1


def symbols(data: bytes) -> Iterator[tuple[str, bool]]:
    """Yield each global symbol of a 64-bit little-endian ELF object, and whether it is defined there."""
    (offset,) = struct.unpack_from("<Q", data, 0x28)
    size, count = struct.unpack_from("<HH", data, 0x3A)
    sections = [cast("_Section", _SECTION.unpack_from(data, offset + size * n)) for n in range(count)]
    for _, kind, _, _, start, length, link, *_ in sections:
        if kind != _SYMBOL_TABLE:
            continue
        for place in range(start, start + length, _SYMBOL.size):
            name, info, _, section, _, _ = _SYMBOL.unpack_from(data, place)
            if info >> 4 == _GLOBAL:
                text = sections[link][4] + name
                yield data[text : data.index(b"\0", text)].decode(), section != 0

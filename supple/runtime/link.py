"""Link the objects of artifacts into this process: each distinct object once, while somebody holds it.

External functions are looked up in libtorch_cpu and what it depends on: its vector mathematics, the OpenMP
library whose thread pool eager uses, the C library.
"""

import ctypes
import itertools
import struct
import threading
import weakref
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


_HELD: Final[dict[int, list[object]]] = {}
"""What each hold keeps, by its number. The table is never freed: at exit it would go before functions do."""
ctypes.pythonapi.Py_IncRef(ctypes.py_object(_HELD))


class Hold(int):
    """What keeps linked code and what belongs to it: its death, and nothing else, frees them.

    Note [When machine code is freed]. A kernel's function refers to its hold, and Python holds a function
    while it calls it, in whatever thread. So a function whose hold is dead does not run. The collector of
    cycles calls finalizers, also the program's, on all garbage before it frees any; one of them may call a
    kernel. Hence the collector does not track holds: one dies when the last function that refers to it is
    freed, and what it keeps stands in a table, where it is no garbage before.
    """

    __slots__ = ()

    def add(self, held: object) -> None:
        """Keep one more object."""
        _HELD[self].append(held)

    def __del__(self, _held: dict[int, list[object]] = _HELD) -> None:
        _held.pop(int(self), None)


_NUMBERS: Final = itertools.count()


def hold(*held: object) -> Hold:
    """Return a new hold of objects."""
    made = Hold(next(_NUMBERS))
    ctypes.pythonapi.PyObject_GC_UnTrack(ctypes.py_object(made))
    _HELD[int(made)] = list(held)
    return made


class Engine:
    """A JIT engine for a number of objects; each leaves about 9 kB in it, which goes with the engine."""

    __slots__ = ("_jit", "room")

    def __init__(self) -> None:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        self._jit = llvm.create_lljit_compiler()
        self.room = OBJECTS_PER_ENGINE

    def link(self, data: bytes, name: str) -> llvm.ResourceTracker:
        """Return what owns the code of an object in memory; its public names can be looked up in it.

        Raises:
            LinkError: it needs a function that no library has.
        """
        self.room -= 1
        builder = llvm.JITLibraryBuilder().add_object_img(data)
        for symbol, is_defined in symbols(data):
            if is_defined:
                builder.export_symbol(symbol)
                continue
            address = external(symbol)
            if address is None:
                msg = f"machine code needs {symbol}, which neither libtorch_cpu nor the C library has"
                raise LinkError(msg)
            builder.import_symbol(symbol, address)
        return builder.link(self._jit, name)


OBJECTS_PER_ENGINE: Final = 32


class _Code:
    """Code in an engine; it goes before its engine does.

    Nothing refers weakly to it: while a finalizer runs, weak references to its object still give it.
    """

    __slots__ = ("engine", "tracker")

    def __init__(self, engine: Engine, data: bytes, name: str) -> None:
        self.engine: Engine | None = engine
        self.tracker: llvm.ResourceTracker | None = engine.link(data, name)

    def __del__(self) -> None:
        self.tracker = None
        self.engine = None


class Linked:
    """The code of one object in memory, for as long as this object lives.

    Attributes:
        addresses: of its public functions.
    """

    __slots__ = ("__weakref__", "_code", "addresses")

    def __init__(self, engine: Engine, data: bytes, name: str) -> None:
        self._code = _Code(engine, data, name)
        tracker = self._code.tracker
        assert tracker is not None, "the code was freed before anybody had it"
        self.addresses = {symbol: tracker[symbol] for symbol, is_defined in symbols(data) if is_defined}


class Linker:
    """The engine that links now, and what is linked and lives. Safe under threads."""

    __slots__ = ("_engine", "_linked", "_lock")

    def __init__(self) -> None:
        self._engine: Engine | None = None
        self._linked: weakref.WeakValueDictionary[str, Linked] = weakref.WeakValueDictionary()
        self._lock = threading.RLock()  # the collector may run finalizers meanwhile, which may compile

    def link(self, data: bytes) -> Linked:
        """Return the code of an ELF object in memory.

        Raises:
            LinkError: it needs a function that no library has.
        """
        key = digest(data)
        with self._lock:
            found = self._linked.get(key)
            if found is None:
                if self._engine is None or not self._engine.room:
                    self._engine = Engine()
                # A name is used once in an engine, even when its code has gone.
                found = self._linked[key] = Linked(self._engine, data, f"{key}.{self._engine.room}")
            return found


LINKER: Final = Linker()


def linked(artifact: Artifact) -> tuple[Mapping[str, int], Hold]:
    """Return the address of each public function of the artifact's objects, and the hold of their code.

    Raises:
        LinkError: an object needs a function that no library has.
    """
    parts = [LINKER.link(data) for data in artifact.objects]
    return {name: place for part in parts for name, place in part.addresses.items()}, hold(*parts)


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

"""LLVM text -> object code; equal kernels that follow each other within KERNELS are compiled once."""

import threading
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import llvmlite.binding as llvm

from supple.base.stable import digest
from supple.codegen.cpu.emit import SYMBOL
from supple.codegen.cpu.target import Cpu, machine

KERNELS: Final = 256
"""How many kernels a compiler remembers, about 6 kB each."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """The machine code of one kernel: an ELF object with one public function."""

    symbol: str
    object: bytes


@dataclass(frozen=True)
class Compiler:
    """Compiles module texts for one processor and remembers the newest by their hash. Safe under threads."""

    cpu: Cpu
    _known: dict[str, Compiled] = field(default_factory=dict[str, Compiled])
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, text: str) -> Compiled:
        """Return the object code of a module whose public function is named SYMBOL."""
        symbol = f"k{digest(text, str(self.cpu))}"
        with self._lock:
            found = self._known.get(symbol)
            if found is None:
                found = Compiled(symbol, self.object_code(text.replace(SYMBOL, symbol)))
                self._known[symbol] = found
                if len(self._known) > KERNELS:
                    del self._known[next(iter(self._known))]
            return found

    @cached_property
    def _machine(self) -> llvm.TargetMachine:
        return machine(self.cpu)

    def object_code(self, text: str) -> bytes:
        """Return the ELF object of a module.

        No optimiser runs over the text: what it would find is written that way already.
        """
        context = llvm.create_context()  # types and constants go with it
        with llvm.parse_assembly(text, context) as module:
            return self._machine.emit_object(module)


def assembly(text: str, cpu: Cpu) -> str:
    """Return the assembly of a module, for people and tests."""
    with llvm.parse_assembly(text) as module:
        return machine(cpu).emit_assembly(module)

"""What this machine's CPU has, and the LLVM target machine for it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Final

import llvmlite.binding as llvm

from supple.base.config import config
from supple.base.errors import OptionsError
from supple.base.options import cpu_level
from supple.codegen.cpu import x86
from supple.ir.program import Target

PARALLEL_WORK: Final = 1 << 17
"""Simple scalar operations that take one core some microseconds: about what starting the threads costs."""


@dataclass(frozen=True, slots=True)
class Cpu:
    """A processor as LLVM names it.

    Attributes:
        triple: "x86_64-unknown-linux-gnu".
        name: "cascadelake".
        features: "+avx512f,-amx-tile,...".
    """

    triple: str
    name: str
    features: str

    def has(self, feature: str) -> bool:
        """Tell whether a feature is on."""
        return f"+{feature}" in self.features.split(",")

    @property
    def vector_bytes(self) -> int:
        """The width of its vector registers."""
        if all(map(self.has, x86.AVX_512)):
            return 64
        return 32 if self.has("avx2") else 16

    def __str__(self) -> str:
        return f"{self.triple} {self.name} {self.features}"


def level(name: str) -> Cpu:
    """Return a processor that has what its level of x86-64 has, and nothing more."""
    return Cpu(x86.TRIPLE, name, ",".join(f"+{feature}" for feature in x86.LEVELS[name]))


def host_cpu() -> Cpu:
    """Return the processor this process runs on, or what `config.cpu` says to use of it.

    Raises:
        OptionsError: there is no such level, or this processor is of a lower one.
    """
    return limited(_host(), cpu_level(config.now().cpu))


@cache
def _host() -> Cpu:
    _initialize()
    return Cpu(llvm.get_process_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())


@cache
def limited(host: Cpu, name: str) -> Cpu:
    """Return what a level says to use of a processor; all of it for "native".

    Raises:
        OptionsError: the processor is of a lower level.
    """
    if name == "native":
        return host
    lacking = [feature for feature in x86.LEVELS[name] if not host.has(feature)]
    if lacking:
        raise OptionsError(f"cpu (SUPPLE_CPU) is {name!r}, but this {host.name} has no {', '.join(lacking)}")
    return level(name)


def host_target() -> Target:
    """Return what schedule and codegen may assume of this machine.

    Raises:
        OptionsError: as for `host_cpu`.
    """
    return Target(vector_bytes=host_cpu().vector_bytes, parallel_work=PARALLEL_WORK)


def machine(cpu: Cpu) -> llvm.TargetMachine:
    """Return a code generator for position-independent code."""
    _initialize()
    target = llvm.Target.from_triple(cpu.triple)
    return target.create_target_machine(
        cpu=cpu.name, features=cpu.features, opt=2, reloc="pic", codemodel="small"
    )


@cache
def _initialize() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


@dataclass(frozen=True, slots=True)
class Features:
    """What the code generator may use.

    Attributes:
        cpu: the processor.
        vector_bytes: width of the vectors to write; LLVM splits those that are wider than the processor's.
        has_function: whether a library function of this name can be linked.
    """

    cpu: Cpu
    vector_bytes: int
    has_function: Callable[[str], bool]

    @property
    def lanes(self) -> int:
        """Elements of a vector, for all dtypes: LLVM splits vectors of 64-bit elements in two."""
        return self.vector_bytes // 4

    @property
    def register_bytes(self) -> int:
        """Width of the vectors that a library function can be given: they must lie in registers."""
        return min(self.vector_bytes, self.cpu.vector_bytes)

    @property
    def converts_halves(self) -> bool:
        """Whether the processor converts f16: where it does not, LLVM would call a function for it."""
        return not self.cpu.triple.startswith("x86_64") or self.cpu.has(x86.HALVES)

    @property
    def has_masked_loads(self) -> bool:
        """Whether LLVM's masked loads of 4 and 8 bytes become AVX2's."""
        return self.cpu.vector_bytes == 32

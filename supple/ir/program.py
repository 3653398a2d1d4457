"""What passes between schedule and codegen: the kernels and the host program, and what the device has."""

from dataclasses import dataclass

from supple.ir.host.nodes import Host
from supple.ir.loops.nodes import Nest


@dataclass(frozen=True, slots=True)
class Target:
    """What schedule and codegen may assume of the device.

    Attributes:
        vector_bytes: width of a vector register (64 with AVX-512, 32 with AVX2).
        parallel_work: scalar operations below which a kernel stays on one thread.
        scratch_bytes: per-thread scratch that a kernel may keep on its stack.
    """

    vector_bytes: int
    parallel_work: int = 32768
    scratch_bytes: int = 65536


@dataclass(frozen=True, slots=True)
class Scheduled:
    """A graph as kernels and the host program that runs them."""

    nests: tuple[Nest, ...]
    host: Host

"""Stage 4: kernels and the host program -> machine code and Python text, in one artifact."""

from supple.codegen.backend import emit
from supple.codegen.cpu.target import host_cpu, host_target

__all__ = ["emit", "host_cpu", "host_target"]

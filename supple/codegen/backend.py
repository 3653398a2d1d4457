"""The stage's front door: kernels and a host program -> Artifact."""

from collections.abc import Mapping, Sequence
from functools import cache

from supple.base import events
from supple.base.memo import memo
from supple.codegen.cpu import launcher
from supple.codegen.cpu.emit import emit as emit_nest
from supple.codegen.cpu.jit import Compiler
from supple.codegen.cpu.target import Cpu, Features, host_cpu
from supple.codegen.host_python import Fence, host_source
from supple.ir.loops.nodes import Access, Nest
from supple.ir.program import Scheduled, Target
from supple.runtime.artifact import Artifact, Kernel
from supple.runtime.link import external


def emit(scheduled: Scheduled, target: Target, guarded: Mapping[str, str] | None = None) -> Artifact:
    """Return the machine code and the host text of a scheduled graph.

    Args:
        guarded: kernels run between guard pages (`runtime.guard_pages`); what people know each of them by.

    Raises:
        CodegenError: a nest asks for something that the CPU backend has no code for.
    """
    fences = None
    if guarded is not None:
        fences = {nest.name: _fence(nest, guarded[nest.name]) for nest in scheduled.nests}
    return kernel_artifact(scheduled.nests, target, host_source(scheduled.host, fences))


def _fence(nest: Nest, about: str) -> Fence:
    accesses = (buffer.access for buffer in nest.buffers if buffer.access is not Access.SCRATCH)
    return Fence(about, tuple(access is not Access.READ for access in accesses))


def host_compiler() -> Compiler:
    """Return the compiler for this machine; it remembers what it has compiled."""
    return _compiler(host_cpu())


@memo(8)
def _compiler(cpu: Cpu) -> Compiler:
    return Compiler(cpu)


@cache
def launcher_object(cpu: Cpu) -> bytes:
    """Return the machine code of the launcher, which belongs to no program: `supple.reset` leaves it."""
    return Compiler(cpu).object_code(launcher.TEXT)


def has_function(name: str) -> bool:
    """Tell whether a kernel may call the external function."""
    return external(name) is not None


def kernel_artifact(nests: Sequence[Nest], target: Target, host_source: str = "") -> Artifact:
    """Return the artifact of kernels and a host text; equal kernels share one object."""
    compiler = host_compiler()
    features = Features(compiler.cpu, target.vector_bytes, has_function)
    kernels: list[Kernel] = []
    objects: dict[str, tuple[int, bytes]] = {}
    for nest in nests:
        emitted = emit_nest(nest, target, features)
        if events.listening():
            events.emit(events.CodeEmitted("llvm", nest.name, emitted.text))
        made = compiler(emitted.text)
        number, _ = objects.setdefault(made.symbol, (len(objects), made.object))
        parameters = sum(buffer.access is not Access.SCRATCH for buffer in nest.buffers) + len(nest.sizes)
        kernels.append(Kernel(nest.name, made.symbol, number, parameters, emitted.units, emitted.chunk))
    if not kernels:
        return Artifact((), (), host_source)
    blobs = (*(data for _, data in objects.values()), launcher_object(compiler.cpu))
    return Artifact(tuple(kernels), blobs, host_source, launcher.SYMBOL, str(compiler.cpu))

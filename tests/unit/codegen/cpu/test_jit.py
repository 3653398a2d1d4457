"""Compiling: each kernel once, the same bytes in every process, vectors of the processor's width."""

import hashlib
import os
import re
import subprocess
import sys

import pytest

from supple.base import events
from supple.codegen.backend import has_function, kernel_artifact
from supple.codegen.cpu.emit import SYMBOL, emit
from supple.codegen.cpu.jit import Compiler, assembly
from supple.codegen.cpu.target import Cpu, Features, host_cpu, host_target
from supple.ir.dtypes import DType
from supple.runtime.artifact import to_bytes
from tests.unit.codegen.cpu.kernels import pointwise

F32 = DType.F32


def features() -> Features:
    return Features(host_cpu(), host_target().vector_bytes, has_function)


def test_kernels_that_differ_in_name_only_share_an_object() -> None:
    first = pointwise("add", (F32, F32), F32, 100)
    second = type(first)("other", *(getattr(first, name) for name in ("buffers", "sizes", "axes", "body")))
    artifact = kernel_artifact([first, second], host_target())
    assert [kernel.object for kernel in artifact.kernels] == [0, 0]
    assert len(artifact.objects) == 2, "one for both kernels, one for the launcher"


def test_a_text_is_compiled_once() -> None:
    compiler = Compiler(host_cpu())
    text = emit(pointwise("add", (F32, F32), F32, 100), host_target(), features()).text
    assert compiler(text) is compiler(text)
    assert compiler(text + "\n") is not compiler(text)


PROGRAM = """
import hashlib
from supple.codegen.backend import kernel_artifact
from supple.codegen.cpu.target import host_target
from supple.ir.dtypes import DType
from supple.runtime.artifact import to_bytes
from tests.unit.codegen.cpu.kernels import pointwise
nests = [pointwise(op, (DType.F32,), DType.F32, 99) for op in ("tanh", "log")]
print(hashlib.sha256(to_bytes(kernel_artifact(nests, host_target()))).hexdigest())
"""


def test_artifacts_do_not_depend_on_the_process(level: str) -> None:
    nests = [pointwise(op, (F32,), F32, 99) for op in ("tanh", "log")]
    here = hashlib.sha256(to_bytes(kernel_artifact(nests, host_target()))).hexdigest()
    env = {
        **os.environ,
        "PYTHONHASHSEED": "77",
        "SUPPLE_CPU": level,
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    }
    ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, env=env)
    assert ran.stdout.strip() == here


@pytest.mark.parametrize("op", ["exp", "tanh", "erf", "sqrt", "neg"])
def test_a_long_loop_has_whole_vectors_and_no_spills(op: str) -> None:
    if host_target().vector_bytes != 64:
        pytest.skip("this processor has no AVX-512")
    text = emit(pointwise(op, (F32,), F32, 4096), host_target(), features()).text
    code = assembly(text, host_cpu())
    assert "zmm" in code
    assert re.findall(r"\(%rsp\), %zmm|%zmm\d+, -?\d*\(%rsp\)", code) == []


@pytest.mark.parametrize("has", ["+sse4.2", "+avx2,+fma,+f16c"])
def test_code_for_a_smaller_processor_has_no_larger_vectors(has: str) -> None:
    cpu = Cpu(host_cpu().triple, "x86-64", f"+sse2,{has}")
    small = Features(cpu, cpu.vector_bytes, has_function)
    target = type(host_target())(vector_bytes=cpu.vector_bytes)
    for dtype in (F32, DType.F64, DType.I32, DType.BF16):
        nest = pointwise("where", (DType.BOOL, dtype, dtype), dtype, 100)
        code = assembly(emit(nest, target, small).text, cpu)
        assert "zmm" not in code
        assert ("ymm" in code) == (cpu.vector_bytes == 32)


def test_listeners_see_the_text_of_each_kernel() -> None:
    seen: list[events.Event] = []
    stop = events.listen(seen.append)
    try:
        kernel_artifact([pointwise("add", (F32, F32), F32, 100)], host_target())
    finally:
        stop()
    (event,) = seen
    assert isinstance(event, events.CodeEmitted)
    assert event.name == "op_add"
    assert SYMBOL in event.text

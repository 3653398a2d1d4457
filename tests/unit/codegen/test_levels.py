"""Code for processors other than this one, of each level of x86-64 and of aarch64: it is read, not run.
What `config.cpu` says counts for what is compiled under it.
"""

import re

import llvmlite.binding as llvm
import pytest
import torch

import supple
from supple.base import events
from supple.base.config import config
from supple.base.errors import OptionsError
from supple.codegen.cpu import launcher, x86
from supple.codegen.cpu.emit import emit
from supple.codegen.cpu.jit import Compiler, assembly
from supple.codegen.cpu.math import ACCURACY, BY_LANE
from supple.codegen.cpu.target import Cpu, Features, host_cpu, level, limited
from supple.ir.dtypes import DType
from supple.ir.loops.nodes import Nest
from supple.ir.program import Target
from tests.unit.codegen.cpu.kernels import pointwise

llvm.initialize_all_targets()  # pyright: ignore[reportAttributeAccessIssue]  # not in its stubs
llvm.initialize_all_asmprinters()  # pyright: ignore[reportAttributeAccessIssue]  # not in its stubs

AARCH64 = Cpu("aarch64-unknown-linux-gnu", "generic", "+neon")
CPUS = {**{name: level(name) for name in x86.LEVELS}, "aarch64": AARCH64}
REGISTERS = {
    "x86-64-v2": r"%xmm",
    "x86-64-v3": r"%ymm",
    "x86-64-v4": r"%zmm",
    "aarch64": r"\bv\d+\.(4s|2d|16b|8h)",
}
"""What the widest vectors of a processor are called in its assembly."""
WIDER = {"x86-64-v2": r"%[yz]mm", "x86-64-v3": r"%zmm", "x86-64-v4": r"^$", "aarch64": r"%[xyz]mm"}
LIBRARY = sorted({*ACCURACY, *BY_LANE} - {"pow", "atan2", "hypot"})


def nests() -> list[Nest]:
    kinds = (DType.F32, DType.F64, DType.I32, DType.I64, DType.BF16, DType.F16)
    made = [pointwise("where", (DType.BOOL, dtype, dtype), dtype, 100) for dtype in kinds]
    made += [pointwise("add", (dtype, dtype), dtype, 100) for dtype in kinds[:4]]
    return [*made, *(pointwise(name, (dtype,), dtype, 37) for name in LIBRARY for dtype in kinds[:2])]


@pytest.mark.parametrize("name", CPUS)
@pytest.mark.parametrize("has_sleef", [False, True])
def test_every_kernel_has_code_for_a_processor(name: str, has_sleef: bool) -> None:
    cpu = CPUS[name]
    features = Features(cpu, cpu.vector_bytes, lambda _: has_sleef)
    seen = ""
    for nest in nests():
        text = emit(nest, Target(vector_bytes=cpu.vector_bytes), features).text
        assert ("llvm.x86." in text) <= (cpu.triple == x86.TRIPLE), nest.name
        seen += assembly(text, cpu)
    assert re.search(REGISTERS[name], seen)
    assert not re.search(WIDER[name], seen)


def test_the_launcher_is_of_no_processor() -> None:
    for cpu in CPUS.values():
        assert Compiler(cpu).object_code(launcher.TEXT)


def test_a_function_is_compiled_for_the_level_that_the_configuration_names() -> None:
    seen: list[events.Event] = []
    x = torch.linspace(-4, 4, 1001)
    texts: list[str] = []
    kept: list[object] = []  # kernels are there as long as who calls them
    stop = events.listen(seen.append)
    try:
        for name in ("x86-64-v2", "native", "x86-64-v2"):
            with config.patch(cpu=name):
                compiled = supple.compile(lambda x: torch.exp(x) * 2)
                torch.testing.assert_close(compiled(x), torch.exp(x) * 2)
            kept.append(compiled)
            texts.append("".join(event.text for event in seen if isinstance(event, events.CodeEmitted)))
            seen.clear()
    finally:
        stop()
    at_v2, native, again = texts
    lanes = f"<{host_cpu().vector_bytes // 4} x float>"
    assert lanes in native
    assert "<4 x float>" in at_v2
    assert (lanes in at_v2) == (host_cpu().vector_bytes == 16)
    assert again == "", "the kernels of a level are loaded once"


def test_a_level_that_there_is_not_is_refused() -> None:
    with config.patch(cpu="x86-64-v9"), pytest.raises(OptionsError, match="'x86-64-v2', 'x86-64-v3'"):
        supple.compile(lambda x: x + 1)
    compiled = supple.compile(lambda x: x + 1)
    with config.patch(cpu="x86-64-v9", suppress_errors=False), pytest.raises(OptionsError, match="x86-64-v9"):
        compiled(torch.ones(3))


def test_a_level_above_the_processors_is_refused() -> None:
    with pytest.raises(OptionsError, match="is 'x86-64-v4', but this x86-64-v3 has no avx512bw, "):
        limited(level("x86-64-v3"), "x86-64-v4")
    assert limited(level("x86-64-v4"), "x86-64-v2") == level("x86-64-v2")

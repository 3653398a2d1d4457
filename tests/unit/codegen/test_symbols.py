"""Which functions kernels ask the process for: of any C library, of SLEEF where torch has it, of OpenMP."""

import pytest

from supple.codegen.cpu import launcher, x86
from supple.codegen.cpu.emit import emit
from supple.codegen.cpu.jit import Compiler
from supple.codegen.cpu.target import Features, level
from supple.ir.program import Target
from supple.runtime.link import external, symbols
from tests.unit.codegen.cpu.kernels import pointwise
from tests.unit.codegen.cpu.test_scalars import CASES

OF_PYTHON = """
    PyBytes_AsString PyErr_BadArgument PyErr_Occurred PyEval_RestoreThread PyEval_SaveThread PyLong_AsLongLong
    Py_IncRef _Py_NoneStruct
"""
OF_OPENMP = "GOMP_parallel omp_get_num_threads omp_get_thread_num"
OF_C99 = """
    acos acosh asin asinh atan atan2 atanh ceil cos cosh erf erfc exp exp2 expm1 fabs floor fma fmax fmin fmod
    hypot ldexp lgamma log log10 log1p log2 nearbyint nextafter pow rint round sin sinh sqrt tan tanh tgamma
    trunc
"""
"""Functions that the C standard of 1999 has, in glibc, in musl and on macOS; with `f` those of floats."""
OF_C = {
    *OF_C99.split(),
    *(f"{name}f" for name in OF_C99.split()),
    "free",
    "malloc",
    "memcpy",
    "memmove",
    "memset",
}


def undefined(data: bytes) -> set[str]:
    return {name for name, is_defined in symbols(data) if not is_defined}


@pytest.mark.parametrize("has_sleef", [False, True])
@pytest.mark.parametrize("name", x86.LEVELS)
def test_kernels_ask_for_functions_that_every_c_library_has(name: str, has_sleef: bool) -> None:
    cpu = level(name)
    features = Features(cpu, cpu.vector_bytes, lambda _: has_sleef)
    compiler, target = Compiler(cpu), Target(vector_bytes=cpu.vector_bytes)
    found: set[str] = set()
    for op, inputs, result in CASES:
        text = emit(pointwise(op, inputs, result, 37), target, features).text
        found |= undefined(compiler(text).object)
    of_sleef = {one for one in found if one.startswith("Sleef_")}
    assert bool(of_sleef) == has_sleef
    assert sorted(found - of_sleef - OF_C) == []


def test_the_launcher_asks_for_python_and_openmp() -> None:
    asked = undefined(Compiler(level("x86-64-v2")).object_code(launcher.TEXT))
    assert asked <= {*OF_PYTHON.split(), *OF_OPENMP.split()}
    assert [name for name in asked if external(name) is None] == []

"""Mathematical functions: accuracy of the inline ones, SLEEF's names, and libm where SLEEF is missing."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from supple.codegen.backend import has_function
from supple.codegen.cpu.emit import emit
from supple.codegen.cpu.math import ACCURACY, BY_LANE, INLINE, INLINE_NEAR, sleef_name
from supple.codegen.cpu.target import Cpu, Features, host_cpu, host_target
from supple.ir.dtypes import DType
from supple.ir.program import Target
from supple.runtime.link import external
from tests.unit.codegen.cpu.kernels import pointwise, run_compiled

RANGES = {
    "exp": (-103.0, 89.0),
    "tanh": (-12.0, 12.0),
    "erf": (-6.0, 6.0),
    "sin": (-40_000.0, 40_000.0),
    "cos": (-40_000.0, 40_000.0),
}
LENGTH = 100_003


def ulps(got: torch.Tensor, exact: torch.Tensor) -> float:
    """Return the largest error in units of the last place of the exact results (normal numbers only)."""
    smallest = torch.finfo(torch.float32).tiny
    exponent = torch.floor(torch.log2(exact.abs().clamp(min=smallest)))
    unit = torch.exp2(exponent) * torch.finfo(torch.float32).eps
    return ((got.double() - exact).abs() / unit)[exact.abs() < 3e38].max().item()


@pytest.mark.parametrize("name", sorted(RANGES))
@pytest.mark.parametrize("part", [1.0, 1e-3])
def test_an_inline_function_is_within_two_ulp(name: str, part: float) -> None:
    low, high = (bound * part for bound in RANGES[name])
    x, out = torch.empty(LENGTH).uniform_(low, high), torch.empty(LENGTH)
    run_compiled(pointwise(name, (DType.F32,), DType.F32, LENGTH), {"x0": x, "out": out}, {})
    assert ulps(out, getattr(torch, name)(x.double())) < 2.2


@pytest.mark.parametrize("name", sorted(RANGES))
def test_an_inline_function_of_special_values_is_eager(name: str) -> None:
    special = [
        0.0,
        -0.0,
        float("inf"),
        -float("inf"),
        float("nan"),
        1e-45,
        -1e-40,
        3e38,
        -3e38,
        1e6,
        88.72,
        -103.9,
    ]
    x = torch.tensor(special * 3)
    out = torch.empty_like(x)
    run_compiled(pointwise(name, (DType.F32,), DType.F32, len(x)), {"x0": x, "out": out}, {})
    expected = getattr(torch, name)(x)
    torch.testing.assert_close(out, expected, rtol=3e-7, atol=1e-44, equal_nan=True)
    assert torch.equal(torch.signbit(out[:2]), torch.signbit(expected[:2]))


FUNCTIONS = sorted({*ACCURACY, *BY_LANE} - {"pow", "atan2", "hypot"})


def none_has(*prefixes: str) -> Callable[[str], bool]:
    return lambda name: external(name) is not None and not name.startswith(prefixes)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_without_sleef_calls_libm(name: str) -> None:
    features = Features(host_cpu(), host_target().vector_bytes, none_has("Sleef_"))
    text = emit(pointwise(name, (DType.F64,), DType.F64, 16), host_target(), features).text
    assert f"@{name}(double)" in text
    assert "Sleef" not in text


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", [DType.F32, DType.F64])
def test_narrow_vectors_without_sleef_give_the_same(name: str, dtype: DType) -> None:
    """SLEEF has no functions of 16-byte vectors in libtorch_cpu."""
    x = torch.linspace(0.1, 0.9, 37, dtype=dtype.torch)
    x = x + 1 if name == "acosh" else x
    out = torch.empty_like(x)
    run_compiled(pointwise(name, (dtype,), dtype, 37), {"x0": x, "out": out}, {}, Target(vector_bytes=16))
    torch.testing.assert_close(
        out, getattr(torch, name)(x), rtol=1e-6 if dtype is DType.F32 else 1e-13, atol=0
    )


@pytest.mark.parametrize("name", sorted({**INLINE, **INLINE_NEAR}))
def test_a_processor_without_fma_takes_no_inline_function(name: str) -> None:
    plain = replace(host_cpu(), features=host_cpu().features.replace("+fma,", "-fma,"))
    features = Features(plain, 16, none_has("Sleef_"))
    text = emit(pointwise(name, (DType.F32,), DType.F32, 16), Target(vector_bytes=16), features).text
    assert f"@{name}f(float)" in text


ISAS = {"avx2": "+avx2", "avx512f": "+avx2,+avx512f,+avx512bw,+avx512dq,+avx512vl"}


@pytest.mark.parametrize(("width", "isa"), [(64, "avx512f"), (32, "avx2")])
def test_sleef_has_every_function_at_the_width(width: int, isa: str) -> None:
    features = Features(Cpu("x86_64", "any", ISAS[isa]), width, lambda name: True)
    names = [sleef_name(name, dtype, features) for name in ACCURACY for dtype in (DType.F32, DType.F64)]
    assert all(name.endswith(isa) for name in names)
    assert [name for name in names if external(name) is None] == []


@pytest.mark.parametrize("name", FUNCTIONS)
def test_vectors_wider_than_the_processors_are_given_in_its_own(name: str) -> None:
    """A function for AVX-512 is an illegal instruction on a processor without."""
    nest = pointwise(name, (DType.F32,), DType.F32, 37)
    features = Features(Cpu("x86_64", "any", ISAS["avx2"]), 64, has_function)
    assert "avx512" not in emit(nest, Target(vector_bytes=64), features).text
    x = torch.linspace(0.1, 0.9, 37)
    x = x + 1 if name == "acosh" else x
    out = torch.empty_like(x)
    run_compiled(nest, {"x0": x, "out": out}, {}, Target(vector_bytes=64))
    torch.testing.assert_close(out, getattr(torch, name)(x), rtol=1e-6, atol=0)

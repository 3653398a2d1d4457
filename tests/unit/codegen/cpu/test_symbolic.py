"""Kernels of symbolic sizes: coordinates, comparisons, quotients and floats, against the interpreter."""

import pytest
import torch

from supple.codegen.cpu.emit import emit
from supple.codegen.cpu.target import Features, host_cpu, host_target
from supple.expr import Expr, const, symbol
from supple.ir.dtypes import DType
from supple.ir.loops.nodes import Axis, Compute, IndexValue, Load, Nest, Role, Store
from tests.unit.codegen.cpu.kernels import reading, run_compiled, run_interpreted, writing

M, N, K = (symbol(name, minimum=0) for name in ("m", "n", "k"))
H, J, L = (symbol(name, minimum=0) for name in ("i", "j", "l"))
MODES = (Role.PARALLEL, Role.VECTOR)


def agree(nest: Nest, sizes: dict[str, float], length: int) -> None:
    """Assert that compiled and interpreted kernels write the same numbers into `out`."""
    made: list[torch.Tensor] = []
    for run in (run_interpreted, run_compiled):
        buffers = {"out": torch.full((length,), -1, dtype=nest.buffers[-1].dtype.torch)}
        buffers["x"] = torch.arange(length, dtype=torch.float32)
        run(nest, buffers, sizes)
        made.append(buffers["out"])
    torch.testing.assert_close(*made, rtol=0, atol=0)


@pytest.mark.parametrize("sizes", [(1, 1, 1), (2, 3, 4), (5, 1, 7), (3, 0, 2), (0, 2, 2), (17, 9, 33)])
@pytest.mark.parametrize("last", MODES)
def test_coordinates_are_counted_from_unit_to_unit(sizes: tuple[int, int, int], last: Role) -> None:
    axes = (Axis(H, M, Role.PARALLEL), Axis(J, N, Role.PARALLEL), Axis(L, K, last))
    place, value = (H * N + J) * K + L, H * 10000 + J * 100 + L
    body = (IndexValue("t", DType.I64, value), Store("out", (place,), "t"))
    nest = Nest("count", (writing("out", DType.I64, M * N * K),), (M, N, K), axes, body)
    length = sizes[0] * sizes[1] * sizes[2]
    agree(nest, dict(zip("mnk", sizes, strict=True)), length)


@pytest.mark.parametrize("op", ["lt", "le", "gt", "ge", "eq", "ne"])
@pytest.mark.parametrize("bound", [M - 20, M, N - 3, const(5), const(0), const(-1)])
@pytest.mark.parametrize("start", [-H, H * 7 - 3, const(0)])
def test_coordinates_compare_with_bounds(op: str, bound: Expr, start: Expr) -> None:
    axes = (Axis(H, M, Role.PARALLEL), Axis(J, N, Role.VECTOR))
    compared = Compute("c", DType.BOOL, op, ("a", bound.value if bound.is_const else "b"))
    body = (IndexValue("a", DType.I64, start + J), IndexValue("b", DType.I64, bound), compared)
    store = Store("out", (H * N + J,), "c")
    nest = Nest("compare", (writing("out", DType.BOOL, M * N),), (M, N), axes, (*body, store))
    for m, n in ((3, 5), (2, 16), (4, 70), (1, 1)):
        agree(nest, {"m": m, "n": n}, m * n)


@pytest.mark.parametrize("e", [J // K, J % K, (J * 3 + 1) // (K * 2), (J - 7) // (K + 1), (J - 7) % (K + 1)])
def test_a_quotient_by_a_size_rounds_down(e: Expr) -> None:
    body = (IndexValue("t", DType.I64, e), Store("out", (J,), "t"))
    nest = Nest("divide", (writing("out", DType.I64, N),), (N, K), (Axis(J, N, Role.VECTOR),), body)
    for n, k in ((40, 1), (40, 3), (5, 16), (64, 64)):
        agree(nest, {"n": n, "k": k}, n)


def test_a_quotient_by_0_that_is_masked_out_does_not_trap() -> None:
    body = (
        IndexValue("n", DType.I64, K),
        Compute("c", DType.BOOL, "gt", ("n", 0)),
        Load("t", DType.F32, "x", (J // K,), "c", 0.5),
        Store("out", (J,), "t"),
    )
    buffers = (reading("x", DType.F32, N), writing("out", DType.F32, N))
    nest = Nest("masked", buffers, (N, K), (Axis(J, N, Role.VECTOR),), body)
    out = torch.zeros(40)
    run_compiled(nest, {"x": torch.ones(40), "out": out}, {"n": 40, "k": 0})
    assert out.tolist() == [0.5] * 40


@pytest.mark.parametrize("value", [0.1, -0.0, 3.0, float("inf"), 1e-310])
def test_a_float_is_passed_as_its_bits(value: float) -> None:
    bits = symbol("bits0")
    body = (
        IndexValue("i", DType.I64, bits),
        Compute("t", DType.F64, "float_of_bits", ("i",)),
        Store("out", (J,), "t"),
    )
    nest = Nest("bits", (writing("out", DType.F64, N),), (bits, N), (Axis(J, N, Role.VECTOR),), body)
    out = torch.zeros(20, dtype=torch.float64)
    run_interpreted(nest, {"out": out}, {"bits0": value, "n": 20})
    assert out.tolist() == [value] * 20
    agree(nest, {"bits0": value, "n": 20}, 20)


def test_rows_of_symbolic_length_are_read_as_vectors() -> None:
    body = (Load("t", DType.F32, "x", (H * N + J,)), Store("out", (H * N + J,), "t"))
    buffers = (reading("x", DType.F32, M * N), writing("out", DType.F32, M * N))
    axes = (Axis(H, M, Role.PARALLEL), Axis(J, N, Role.VECTOR))
    nest = Nest("copy", buffers, (M, N), axes, body)
    target = host_target()
    text = emit(nest, target, Features(host_cpu(), target.vector_bytes, lambda _: False)).text
    assert "masked.gather" not in text
    assert "udiv" not in text

"""Loops: tails, copies, blocks, wide vectors, and the forms of access, against the interpreter or eager."""

from dataclasses import replace

import pytest
import torch

from supple.codegen import backend
from supple.codegen.cpu.emit import emit
from supple.codegen.cpu.jit import Compiler
from supple.codegen.cpu.target import Features, host_cpu, host_target
from supple.expr import const, symbol
from supple.ir.dtypes import DType
from supple.ir.loops.nodes import (
    Access,
    Axis,
    Buffer,
    Compute,
    IndexValue,
    Load,
    Loop,
    Nest,
    Reduce,
    Role,
    Store,
)
from supple.ir.program import Target
from tests.unit.codegen.cpu.kernels import axis, reading, run_compiled, run_interpreted, values, writing

F32 = DType.F32
LOADED = (F32, DType.F64, DType.I64, DType.I32, DType.I16, DType.I8)
ROWS = ((1, 1), (3, 5), (2, 16), (2, 63), (5, 64), (3, 200), (2, 1023))


def row_reduction(op: str, dtype: DType, rows: int, columns: int) -> Nest:
    """Return `out[r] = op over k of x[r, k]`."""
    r, k = axis("r", rows, Role.PARALLEL), axis("k", columns, Role.VECTOR)
    result = DType.I64 if op.startswith("arg") else dtype
    load = Load("t", dtype, "x", (r.symbol * columns + k.symbol,))
    loop = Loop((k,), (load,), (Reduce("s", result, op, "t"),))
    buffers = (reading("x", dtype, rows * columns), writing("out", result, rows))
    return Nest("rows", buffers, (), (r,), (loop, Store("out", (r.symbol,), "s")))


def column_reduction(op: str, dtype: DType, rows: int, columns: int) -> Nest:
    """Return `out[k] = op over r of x[r, k]`."""
    r, k = axis("r", rows), axis("k", columns, Role.VECTOR)
    result = DType.I64 if op.startswith("arg") else dtype
    load = Load("t", dtype, "x", (r.symbol * columns + k.symbol,))
    loop = Loop((r,), (load,), (Reduce("s", result, op, "t"),))
    buffers = (reading("x", dtype, rows * columns), writing("out", result, columns))
    return Nest("columns", buffers, (), (k,), (loop, Store("out", (k.symbol,), "s")))


EAGER = {
    "sum": lambda x, dim: x.sum(dim, dtype=x.dtype),
    "prod": lambda x, dim: x.prod(dim, dtype=x.dtype),
    "min": torch.amin,
    "max": torch.amax,
    "any": torch.any,
    "all": torch.all,
    "argmin": torch.argmin,
    "argmax": torch.argmax,
}
CASES = [
    (op, dtype)
    for op in EAGER
    for dtype in ((DType.BOOL,) if op in ("any", "all") else (F32, DType.F64, DType.I64, DType.I32, DType.U8))
]


def operands(op: str, dtype: DType, shape: tuple[int, int], seed: int) -> torch.Tensor:
    """Return numbers whose reduction neither overflows nor depends on the order by more than rounding."""
    x = values(dtype, shape[0] * shape[1], seed, extremes=False).view(shape)
    return 1 + x / 1000 if op == "prod" and dtype.is_float else x


@pytest.mark.parametrize(("op", "dtype"), CASES)
@pytest.mark.parametrize("shape", ROWS)
def test_a_row_reduction_is_eager(op: str, dtype: DType, shape: tuple[int, int]) -> None:
    x = operands(op, dtype, shape, 3)
    expected = EAGER[op](x, 1)
    out = torch.empty(shape[0], dtype=expected.dtype)
    run_compiled(row_reduction(op, dtype, *shape), {"x": x, "out": out}, {})
    torch.testing.assert_close(out, expected)


@pytest.mark.parametrize(("op", "dtype"), CASES)
@pytest.mark.parametrize("shape", [(1, 1), (5, 3), (7, 16), (4, 100), (9, 200)])
def test_a_column_reduction_is_eager(op: str, dtype: DType, shape: tuple[int, int]) -> None:
    x = operands(op, dtype, shape, 4)
    expected = EAGER[op](x, 0)
    out = torch.empty(shape[1], dtype=expected.dtype)
    run_compiled(column_reduction(op, dtype, *shape), {"x": x, "out": out}, {})
    torch.testing.assert_close(out, expected)


@pytest.mark.parametrize("op", ["min", "max", "sum", "prod"])
@pytest.mark.parametrize("place", [0, 15, 16, 69])
def test_nan_spreads_through_a_reduction(op: str, place: int) -> None:
    x = torch.ones(70)
    x[place] = float("nan")
    out = torch.zeros(1)
    run_compiled(row_reduction(op, F32, 1, 70), {"x": x, "out": out}, {})
    assert out.isnan().all()


@pytest.mark.parametrize("op", ["argmin", "argmax"])
def test_the_first_nan_is_the_extreme_position(op: str) -> None:
    x = torch.arange(70.0)
    x[[37, 5, 69]] = float("nan")
    out = torch.empty(1, dtype=torch.int64)
    run_compiled(row_reduction(op, F32, 1, 70), {"x": x, "out": out}, {})
    assert out.item() == 5


@pytest.mark.parametrize("op", ["argmin", "argmax"])
def test_the_first_of_equals_is_the_extreme_position(op: str) -> None:
    x = torch.zeros(2, 133)
    x[1, 100:] = 1 if op == "argmax" else -1
    out = torch.empty(2, dtype=torch.int64)
    run_compiled(row_reduction(op, F32, 2, 133), {"x": x, "out": out}, {})
    assert out.tolist() == [0, 100]


@pytest.mark.parametrize("columns", [1_000_000, 999_983])
def test_a_long_sum_is_as_accurate_as_eager(columns: int) -> None:
    x = torch.rand(1, columns)
    exact = x.double().sum(1)
    out = torch.empty(1)
    run_compiled(row_reduction("sum", F32, 1, columns), {"x": x, "out": out}, {})
    ulp = exact.item() * torch.finfo(torch.float32).eps
    assert (out - exact).abs().item() <= max(2 * (x.sum(1) - exact).abs().item(), ulp)


def test_a_long_column_sum_is_as_accurate_as_eager() -> None:
    x = torch.rand(20_000, 64)
    exact = x.double().sum(0)
    out = torch.empty(64)
    run_compiled(column_reduction("sum", F32, 20_000, 64), {"x": x, "out": out}, {})
    ulp = exact.max().item() * torch.finfo(torch.float32).eps
    assert (out - exact).abs().max() <= max(2 * (x.sum(0) - exact).abs().max().item(), ulp)


DIVISORS = (
    3.0,
    1 / 3,
    -7.0,
    1e-30,
    1e30,
    2e-38,
    1e-40,
    1e-45,
    3e38,
    0.0,
    -0.0,
    float("inf"),
    float("nan"),
    1024.0,
)


@pytest.mark.parametrize("dtype", [F32, DType.F64])
@pytest.mark.parametrize("divisor", DIVISORS)
def test_division_by_one_number_has_the_bits_of_division(dtype: DType, divisor: float) -> None:
    k = axis("k", 4003, Role.VECTOR)
    index = (k.symbol,)
    body = (
        Load("a", dtype, "x", index),
        Load("b", dtype, "y", (const(0),)),
        Compute("q", dtype, "div", ("a", "b")),
        Store("out", index, "q"),
    )
    buffers = (reading("x", dtype, 4003), reading("y", dtype, 1), writing("out", dtype, 4003))
    scale = torch.logspace(-37, 38, 4003, dtype=torch.float64)
    x = (torch.randn(4003, dtype=torch.float64) * scale).to(dtype.torch)
    x[:5] = torch.tensor([0.0, -0.0, float("inf"), -float("inf"), float("nan")])
    y, out = torch.tensor([divisor], dtype=dtype.torch), torch.empty(4003, dtype=dtype.torch)
    run_compiled(Nest("quotient", buffers, (), (k,), body), {"x": x, "y": y, "out": out}, {})
    expected = x / y
    info = torch.finfo(dtype.torch)
    tiny = (x.abs() < info.tiny / info.eps * 4) | (expected.abs() < info.tiny * 4)
    torch.testing.assert_close(out[~tiny], expected[~tiny], rtol=0, atol=0, equal_nan=True)
    torch.testing.assert_close(
        out[tiny], expected[tiny], rtol=info.eps, atol=info.tiny * info.eps, equal_nan=True
    )


@pytest.mark.parametrize("columns", [0, 1, 17])
def test_a_reduction_over_nothing_is_neutral(columns: int) -> None:
    x, out = torch.ones(2, columns), torch.full((2,), 7.0)
    run_compiled(row_reduction("sum", F32, 2, columns), {"x": x, "out": out}, {})
    assert out.tolist() == [columns, columns]


def symbolic(rows_then_columns: tuple[str, str] = ("s0", "s1")) -> Nest:
    """Return a row sum whose sizes are symbols, with each row divided by its sum."""
    rows, columns = (symbol(name, minimum=0) for name in rows_then_columns)
    r, k = (
        Axis(symbol("r", minimum=0), rows, Role.PARALLEL),
        Axis(symbol("k", minimum=0), columns, Role.VECTOR),
    )
    index = (r.symbol * columns + k.symbol,)
    total = Loop((k,), (Load("t", F32, "x", index),), (Reduce("s", F32, "sum", "t"),))
    share = Loop(
        (k,), (Load("u", F32, "x", index), Compute("v", F32, "div", ("u", "s")), Store("out", index, "v"))
    )
    buffers = (reading("x", F32, rows * columns), writing("out", F32, rows * columns))
    return Nest("symbolic", buffers, (rows, columns), (r,), (total, share))


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (1, 1), (3, 7), (4, 64), (300, 1000)])
def test_one_kernel_serves_all_sizes(shape: tuple[int, int]) -> None:
    x = torch.rand(shape)
    out = torch.empty(shape)
    run_compiled(symbolic(), {"x": x, "out": out}, {"s0": shape[0], "s1": shape[1]})
    torch.testing.assert_close(out, x / x.sum(1, keepdim=True))


def test_a_reshape_of_whole_vectors_stays_contiguous() -> None:
    k = axis("k", 4096, Role.VECTOR)
    index = k.symbol // 64 * 128 + k.symbol % 64
    body = (Load("t", F32, "x", (index,)), Store("out", (k.symbol,), "t"))
    nest = Nest("pick", (reading("x", F32, 8192), writing("out", F32, 4096)), (), (k,), body)
    features = Features(host_cpu(), host_target().vector_bytes, lambda name: True)
    assert "gather" not in emit(nest, host_target(), features).text
    x, out = torch.randn(64, 128), torch.empty(4096)
    run_compiled(nest, {"x": x, "out": out}, {})
    assert torch.equal(out, x[:, :64].reshape(-1))


def test_indices_from_memory_gather() -> None:
    i, k = axis("i", 5, Role.PARALLEL), axis("k", 33, Role.VECTOR)
    row = symbol("row")
    body = (
        Load("row", DType.I64, "ids", (i.symbol,)),
        Load("t", F32, "table", (row * 33 + k.symbol,)),
        Store("out", (i.symbol * 33 + k.symbol,), "t"),
    )
    buffers = (reading("ids", DType.I64, 5), reading("table", F32, 330), writing("out", F32, 165))
    ids, table, out = torch.tensor([9, 0, 3, 3, 1]), torch.randn(10, 33), torch.empty(5, 33)
    run_compiled(Nest("embedding", buffers, (), (i, k), body), {"ids": ids, "table": table, "out": out}, {})
    assert torch.equal(out, table[ids])


@pytest.mark.parametrize("width", [w for w in (64, 32, 16) if w <= host_target().vector_bytes])
def test_masked_elements_are_not_touched(width: int) -> None:
    i = axis("i", 40, Role.VECTOR)
    body = (
        IndexValue("n", DType.I64, i.symbol),
        Compute("inside", DType.BOOL, "lt", ("n", 1)),
        Load("t", F32, "x", (i.symbol * 1_000_000_000,), "inside", 5.0),
        Store("out", (i.symbol,), "t", "inside"),
    )
    nest = Nest("mask", (reading("x", F32, 40_000_000_000), writing("out", F32, 40)), (), (i,), body)
    x, out = torch.tensor([2.0]), torch.full((40,), 9.0)
    run_compiled(nest, {"x": x, "out": out}, {}, Target(vector_bytes=width))
    assert out.tolist() == [2.0] + [9.0] * 39


@pytest.fixture(params=["its own", "AVX2"])
def vectors(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The processor as it is, and as one without AVX-512."""
    if request.param == "AVX2":
        smaller = replace(host_cpu(), features=host_cpu().features.replace("+avx512", "-avx512"))
        monkeypatch.setattr(backend, "host_compiler", lambda: Compiler(smaller))


@pytest.mark.usefixtures("vectors")
@pytest.mark.parametrize("width", [64, 32, 16])
@pytest.mark.parametrize("dtype", LOADED)
@pytest.mark.parametrize("other", [0, 5])
@pytest.mark.parametrize("is_whole", [False, True])
def test_lanes_that_are_certainly_masked_are_not_read(
    width: int, dtype: DType, other: int, is_whole: bool
) -> None:
    """LLVM 22 reads the whole half of a vector whose mask it finds to be false, when AVX2 has to split it."""
    lanes = width // 4
    for present in range(1, lanes):
        extent = lanes if is_whole else present
        p, r, i = axis("p", 2, Role.PARALLEL), axis("r", 40), axis("i", extent, Role.VECTOR)
        body = (
            IndexValue("row", DType.I64, r.symbol),
            IndexValue("lane", DType.I64, i.symbol),
            Compute("first", DType.BOOL, "lt", ("row", 1)),
            Compute("present", DType.BOOL, "lt", ("lane", present)),
            Compute("inside", DType.BOOL, "and", ("first", "present")),
            Load("t", dtype, "x", (i.symbol,), "inside" if is_whole else "first", other),
        )
        largest = Loop((r,), body, (Reduce("s", dtype, "max", "t"),))
        columns = Loop((i,), (largest, Store("out", (p.symbol * extent + i.symbol,), "s")))
        buffers = (reading("x", dtype, present), writing("out", dtype, 2 * extent))
        x, out = torch.arange(1, present + 1).to(dtype.torch), torch.empty(2, extent, dtype=dtype.torch)
        run_compiled(Nest("masked", buffers, (), (p,), (columns,)), {"x": x, "out": out}, {}, Target(width))
        expected = torch.full_like(out, other)
        expected[:, :present] = x.clamp(min=other)
        assert torch.equal(out, expected), (extent, present)


def test_scratch_holds_what_was_stored() -> None:
    r, k = axis("r", 3, Role.PARALLEL), axis("k", 50, Role.VECTOR)
    scratch = Buffer("tmp", F32, Access.SCRATCH, const(50))
    buffers = (reading("x", F32, 150), writing("out", F32, 150), scratch)
    fill = Loop(
        (k,),
        (
            Load("t", F32, "x", (r.symbol * 50 + k.symbol,)),
            Compute("u", F32, "mul", ("t", 2.0)),
            Store("tmp", (k.symbol,), "u"),
        ),
    )
    flip = Loop(
        (k,), (Load("v", F32, "tmp", (49 - k.symbol,)), Store("out", (r.symbol * 50 + k.symbol,), "v"))
    )
    nest = Nest("through_scratch", buffers, (), (r,), (fill, flip))
    x, out, same = torch.randn(3, 50), torch.empty(3, 50), torch.empty(3, 50)
    run_compiled(nest, {"x": x, "out": out}, {})
    run_interpreted(nest, {"x": x, "out": same}, {})
    assert torch.equal(out, (x * 2).flip(1))
    assert torch.equal(same, out)

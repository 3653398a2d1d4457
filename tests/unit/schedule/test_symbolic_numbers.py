"""Numbers of the host program in kernels: integers, floats, sizes that only library results show."""

import pytest
import torch

from supple.expr import less
from supple.expr.real import Real
from supple.ir.dtypes import DType
from supple.ir.graph.nodes import Var
from supple.ir.meta import TensorMeta, contiguous
from tests.unit.schedule.aten_graphs import compiled, interpreted
from tests.unit.schedule.symbolic_graphs import Sketch, checked

CHECK = "_assert_scalar.default"


@pytest.mark.parametrize("dtype", [DType.F32, DType.F64, DType.BF16, DType.I64, DType.I32])
def test_a_size_is_an_operand_in_the_dtype_of_the_others(dtype: DType) -> None:  # SYM05
    s = Sketch()
    n = s.size()
    x = s.input(n, 3, dtype=dtype)
    y = s("add.Tensor", s("mul.Tensor", x, n * 2 - 1), n // 2)
    checked(s, y, s("maximum.default", x, s("full.default", [], n % 3, dtype=dtype.torch)), kernels=1)


@pytest.mark.parametrize("op", ["add", "sub", "mul", "div", "lt", "remainder", "pow"])
def test_a_float_input_is_an_operand(op: str) -> None:
    s = Sketch()
    n, f = s.size(), s.float(2.5)
    overload = "pow.Tensor_Tensor" if op == "pow" else f"{op}.Tensor"
    x = s("abs.default", s.input(n, 3))
    at = [(n, f) for n in (0, 1, 17) for f in (2.5, -0.1, 3.0, float("inf"))]
    checked(s, s(overload, x, f), at=at, kernels=1)


def test_floats_are_computed_from_sizes_as_python_does() -> None:
    s = Sketch()
    n, f = s.size(), s.float(2.5)
    root = Real("sqrt", (Real("float", (n + 1,)),))
    scale = Real("/", (f, Real("**", (root, 2.0))))
    x = s.input(n, 3)
    values = s("full.default", [n], Real("+", (scale, n)), dtype=torch.float64)
    made = checked(
        s, s("mul.Tensor", x, scale), values, scale, n + 1, at=[(0, 0.5), (1, 1.5), (9, -3.0)], kernels=2
    )
    assert [type(size) for step in made.host.steps for size in getattr(step, "sizes", ())].count(Real) == 2


def test_ranges_start_and_step_by_sizes() -> None:
    s = Sketch()
    n, k = s.size(), s.size(3)
    x = s.node("arange.start_step", (n, n + k * n, k), {}, contiguous([n], DType.I64))
    y = s("arange.start_step", 0, n, 1, dtype=torch.float32)
    checked(s, s("mul.Tensor", x, 2), s("add.Tensor", y, k), at=[(0, 1), (1, 4), (8, 2), (64, 3)], kernels=1)


def nonzero(s: Sketch, x: Var) -> tuple[Var, object]:
    """The places that are not 0; how many there are is known at run time only."""
    u = s.env.create("nonzero", None)
    meta = TensorMeta((u, s.meta(x).sizes[0] * 0 + 1), (u * 0 + 1, u), DType.I64)
    return s.node("nonzero.default", (x,), {}, meta), u


def test_the_size_of_a_library_result_is_read_from_it() -> None:  # SYM10
    s = Sketch()
    n = s.size()
    x = s.input(n)
    some, u = nonzero(s, s("gt.Tensor", x, 0.0))
    assert not isinstance(u, int)
    doubled = s("mul.Tensor", some, 2)
    counts = s.node("full.default", ([u], u), {"dtype": torch.int64}, contiguous([u], DType.I64))
    made = checked(s, s("sum.dim_IntList", doubled, [0], False), counts, u)
    assert [step.number for step in made.host.steps if hasattr(step, "number")] == ["s0", "u0"]


def item(s: Sketch, x: Var) -> object:
    u = s.env.create("item", None, minimum=None)
    s.node("_local_scalar_dense.default", (x,), {}, u)
    return u


def test_an_integer_of_a_tensor_is_a_size() -> None:
    s = Sketch()
    x, place = s.input(5, 20), s.input(dtype=DType.I64)
    u = s.env.create("item", None, maximum=19)
    s.node("_local_scalar_dense.default", (place,), {}, u)
    piece = s.node(
        "slice.Tensor",
        (s("abs.default", x), 1, 0, u, 1),
        {},
        TensorMeta((s.meta(x).sizes[0], u), (u * 0 + 20, u * 0 + 1), DType.F32),
    )
    total = s("sum.dim_IntList", piece, [1], False)
    checked(s, s("add.Tensor", total, u), at=[()], make=lambda shape: torch.full(shape, 7.0), kernels=1)
    checked(s, s("add.Tensor", total, u), at=[()], make=lambda shape: torch.zeros(shape))


def test_a_condition_is_checked_before_what_relies_on_it() -> None:  # SYM11
    s = Sketch()
    place = s.input(dtype=DType.I64)
    u = s.env.create("item", None)
    s.node("_local_scalar_dense.default", (place,), {}, u)
    s.node(CHECK, (less(u, 9), "too many\n  at user.py:3 in f"), {}, s.meta(place))
    made = s.scheduled(s.node("full.default", ([u], 1.0), {}, contiguous([u], DType.F32)))
    for execute in (compiled, interpreted):
        assert execute(made, [torch.tensor(3)])[0].shape == (3,)  # pyright: ignore[reportAttributeAccessIssue]  # a tensor
        with pytest.raises(RuntimeError, match=r"too many\n  at user\.py:3 in f"):
            execute(made, [torch.tensor(9)])


def test_what_only_a_size_of_a_dead_value_needs_is_kept() -> None:
    s = Sketch()
    n = s.size()
    _, u = nonzero(s, s.input(n))
    checked(s, s.node("full.default", ([u, 2], 1.0), {}, contiguous([u, 2], DType.F32)))  # pyright: ignore[reportArgumentType]  # a symbol


@pytest.mark.parametrize(
    "op", ["div.Tensor_mode", "remainder.Tensor", "pow.Tensor_Tensor", "bitwise_left_shift.Tensor"]
)
@pytest.mark.parametrize("is_first", [False, True])
def test_integer_arithmetic_with_a_size_that_a_kernel_does_not_do_is_a_library_call(
    op: str, is_first: bool
) -> None:
    s = Sketch()
    n = s.size(minimum=1)
    x = s.input(n, 3, dtype=DType.I64)
    options = {"rounding_mode": "floor"} if op == "div.Tensor_mode" else {}
    y = s("add.Tensor", s("abs.default", x), 1)
    made = s.node(op, (n, y) if is_first else (y, n), options, s.meta(y))
    checked(s, s("mul.Tensor", made, 2), at=[(1,), (2,), (5,)], kernels=2)

"""Every core operator is lowered or declared a library call, and a lowered one computes what eager does."""

from dataclasses import replace

import pytest
import torch

from supple.ir.core_ops import CORE_OPS
from supple.schedule import schedule
from supple.schedule.extern import DECLARED_EXTERN
from supple.schedule.lower import lowerings
from tests.unit.schedule.aten_graphs import TARGET, Program, checked, launches

POSITIVE = "sqrt rsqrt log log2 log10 log1p lgamma reciprocal acosh".split()
SMALL = "asin acos atanh".split()
UNARY = [op.name for op in CORE_OPS.values() if op.text == f"{op.name.split('.')[1]}(a)"]
BINARY = "add sub mul div remainder fmod pow atan2 hypot copysign maximum minimum eq ne lt le gt ge".split()


def overload(name: str) -> str:
    """The core op of a short name, without its namespace."""
    return next(op for op in CORE_OPS if op.split(".")[1] == name).removeprefix("aten.")


def test_every_core_op_is_lowered_or_declared_a_library_call() -> None:
    assert lowerings.unclaimed(CORE_OPS) == set(DECLARED_EXTERN)


def test_no_rule_is_for_an_op_outside_the_core() -> None:
    assert set(lowerings) <= set(CORE_OPS)


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
def test_unary(name: str, dtype: torch.dtype) -> None:
    short = name.split(".")[1]
    x = torch.randn(3, 21)
    x = x.abs() + 1.1 if short in POSITIVE else x.tanh() if short in SMALL else x
    p = Program()
    scheduled = checked(
        p, p(name.removeprefix("aten."), p.input(x.to(dtype))), rtol=2e-2 if dtype.itemsize == 2 else 1e-5
    )
    assert launches(scheduled) == 1


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.int32])
def test_binary_broadcasts(name: str, dtype: torch.dtype) -> None:
    p = Program()
    floats_only = name in ("div", "pow", "atan2", "hypot", "copysign")
    if floats_only and not dtype.is_floating_point:
        return
    x, y = torch.randn(3, 1, 7) * 9, torch.randn(5, 7) * 9
    if name == "pow":
        x = x.abs()
    y = torch.where(y.abs() < 1, 3.0, y)
    checked(
        p,
        p(overload(name), p.input(x.to(dtype)), p.input(y.to(dtype))),
        rtol=2e-2 if dtype.itemsize == 2 else 1e-5,
    )


@pytest.mark.parametrize("name", "add sub mul div lt eq remainder".split())
def test_binary_with_a_number(name: str) -> None:
    p = Program()
    checked(p, p(overload(name), p.input(torch.randn(5, 7)), 2.5))


@pytest.mark.parametrize("name", "sub div lt maximum".split())
def test_binary_with_a_number_first(name: str) -> None:
    p = Program()
    x = torch.randn(5, 7)
    result = p(overload(name), p.input(torch.tensor(2.5)), p.input(x))
    node = p.nodes[0]
    p.nodes[0] = replace(node, args=(2.5, node.args[1]))
    checked(p, result)


@pytest.mark.parametrize("dtype", [torch.int64, torch.uint8, torch.bool])
def test_bits(dtype: torch.dtype) -> None:
    p = Program()
    x, y = (p.input(torch.randint(0, 100, (4, 9)).to(dtype)) for _ in range(2))
    outputs = [p(overload(f"bitwise_{op}"), x, y) for op in ("and", "or", "xor")]
    checked(p, *outputs, p("bitwise_not.default", x), p("logical_not.default", x))


def test_shifts() -> None:
    p = Program()
    x = p.input(torch.randint(-100, 100, (4, 9)))
    checked(p, p("bitwise_left_shift.Tensor", x, 3), p("bitwise_right_shift.Tensor", x, 2))


@pytest.mark.parametrize("mode", ["floor", "trunc"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.int32])
def test_division_by_a_number_rounds(mode: str, dtype: torch.dtype) -> None:
    p = Program()
    x = p.input((torch.randn(4, 9) * 20).to(dtype))
    checked(p, p("div.Tensor_mode", x, 3, rounding_mode=mode), p("remainder.Tensor", x, -3))


def test_integer_division_by_a_tensor_is_a_library_call() -> None:
    p = Program()
    x, y = p.input(torch.arange(1, 9)), p.input(torch.arange(1, 9))
    assert launches(checked(p, p("div.Tensor_mode", x, y, rounding_mode="floor"))) == 0


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 0.5, -0.5, -1, -2, 2.5])
def test_powers_with_a_fixed_exponent(exponent: float) -> None:
    p = Program()
    checked(p, p("pow.Tensor_Tensor", p.input(torch.rand(4, 9) + 0.1), exponent), rtol=1e-5)


@pytest.mark.parametrize(
    "source", [torch.float32, torch.bfloat16, torch.int64, torch.int32, torch.uint8, torch.bool]
)
@pytest.mark.parametrize(
    "target", [torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.int8, torch.bool]
)
def test_conversion(source: torch.dtype, target: torch.dtype) -> None:
    p = Program()
    x = p.input((torch.randn(4, 9).abs() * 5).to(source))
    checked(p, p("_to_copy.default", x, dtype=target))


def test_where_isnan_isinf() -> None:
    p = Program()
    x = p.input(torch.tensor([1.0, float("nan"), float("inf"), -float("inf")]))
    bad = p("isnan.default", x)
    y = p.input(torch.zeros(4))
    checked(p, p("where.self", bad, y, x), p("isinf.default", x), bad)


@pytest.mark.parametrize("dims", [[0], [1], [2], [0, 1], [1, 2], [0, 2], [0, 1, 2]])
@pytest.mark.parametrize("keepdim", [True, False])
@pytest.mark.parametrize("name", ["sum.dim_IntList", "amax.default", "amin.default", "any.dims", "all.dims"])
def test_reduction(name: str, dims: list[int], keepdim: bool) -> None:
    p = Program()
    x = torch.randn(3, 4, 18)
    x = x > 1 if name.startswith("a") and name.endswith("dims") else x
    checked(p, p(name, p.input(x), dims, keepdim), rtol=1e-5)


@pytest.mark.parametrize("dim", [0, 1, None])
@pytest.mark.parametrize("name", ["argmax.default", "argmin.default"])
def test_position_of_the_extreme_is_the_first(name: str, dim: int | None) -> None:
    p = Program()
    x = torch.randint(0, 5, (6, 21)).float()
    x[2, 3] = float("nan")
    checked(p, p(name, p.input(x), dim, False))


def test_product_and_sums_of_other_dtypes() -> None:
    p = Program()
    x, y = p.input(torch.randn(4, 9)), p.input(torch.randn(4, 9).bfloat16())
    z = p.input(torch.randint(0, 9, (4, 9)))
    sums = [p("sum.dim_IntList", v, [1], False) for v in (y, z)]
    checked(p, p("prod.dim_int", x, 0, False), *sums, p("sum.dim_IntList", z, [0], dtype=torch.float32))


def test_an_empty_sum_is_zero_and_a_result_without_elements_needs_no_kernel() -> None:
    p = Program()
    x = p.input(torch.randn(4, 0))
    checked(p, p("sum.dim_IntList", x, [1], False))
    assert launches(checked(p, p("exp.default", x))) == 0


@pytest.mark.parametrize(
    ("shape", "dims"), [((65536,), [0]), ((4, 256, 256), [1, 2]), ((4096, 40), [0]), ((64, 64, 6), [0, 1])]
)
@pytest.mark.parametrize("name", ["sum.dim_IntList", "amax.default"])
def test_a_long_reduction_with_few_results_has_two_stages(
    name: str, shape: tuple[int, ...], dims: list[int]
) -> None:
    p = Program()
    x = p("abs.default", p.input(torch.randn(shape)))
    assert launches(checked(p, p(name, x, dims, False), interpret=False, rtol=1e-4)) == 2


VIEWS = [
    ("view.default", [6, 20]),
    ("view.default", [120]),
    ("view.default", [3, 2, 2, 10]),
    ("view.default", [5, 24]),
    ("permute.default", [2, 0, 1]),
    ("slice.Tensor", 1, 1, 3),
    ("slice.Tensor", 2, 1, 9, 3),
    ("slice.Tensor", 2, -2, 2**63 - 1),
    ("select.int", 1, 2),
    ("unsqueeze.default", 1),
    ("squeeze.dims", [0]),
    ("expand.default", [2, 6, 4, 5]),
    ("diagonal.default", 1, 1, 2),
    ("unfold.default", 2, 3, 2),
    ("as_strided.default", [4, 3], [2, 7], 3),
    ("flip.default", [0, 2]),
    ("roll.default", [2, -1], [1, 2]),
    ("constant_pad_nd.default", [1, 2, -1, 0], 0.5),
]


@pytest.mark.parametrize("view", VIEWS, ids=str)
def test_view_is_only_coordinates(view: tuple[object, ...]) -> None:
    p = Program()
    name, *args = view
    x = p.input(torch.randn(6, 4, 5))
    changed = p(str(name), x, *args)
    scheduled = checked(p, p("add.Tensor", changed, 1), changed)
    assert launches(scheduled) == 1


@pytest.mark.parametrize("view", VIEWS, ids=str)
def test_view_of_a_computed_value_feeds_a_library_call(view: tuple[object, ...]) -> None:
    p = Program()
    name, *args = view
    changed = p(str(name), p("abs.default", p.input(torch.randn(6, 4, 5))), *args)
    checked(p, p("cumsum.default", changed, 0))


def test_cat_of_several_pieces() -> None:
    p = Program()
    pieces = [p("abs.default", p.input(torch.randn(3, n, 5))) for n in (2, 1, 4)]
    assert launches(checked(p, p("cat.default", pieces, 1))) == 1


def test_cat_of_integers_along_the_last_dimension() -> None:
    p = Program()
    pieces = [p.input(torch.randint(0, 9, (3, n))) for n in (2, 7)]
    checked(p, p("cat.default", pieces, -1))


def test_slice_and_select_scatter() -> None:
    p = Program()
    x, y, z = p.input(torch.randn(5, 8)), p.input(torch.randn(5, 3)), p.input(torch.randn(8))
    checked(p, p("slice_scatter.default", x, y, 1, 1, 7, 2), p("select_scatter.default", x, z, 0, 2))


def test_creation_ops_are_computed_where_they_are_read() -> None:
    p = Program()
    x = p.input(torch.randn(6, 4))
    ones = p("full.default", [6, 4], 2.0)
    places = p("arange.start_step", 1, 9, 2)
    mask = p("lt.Tensor", places, 5)
    assert launches(checked(p, p("where.self", mask, x, ones))) == 1


def test_creation_ops_as_results() -> None:
    p = Program()
    checked(
        p,
        p("full.default", [3], 7, dtype=torch.int64),
        p("arange.start_step", 0, 5, 1),
        p("arange.start_step", 0.0, 1.0, 0.25),
    )


def test_lookups_stay_library_calls() -> None:
    p = Program()
    weight, places = p.input(torch.randn(9, 4)), p.input(torch.tensor([[1, 2], [8, 0]]))
    rows = p("embedding.default", weight, places)
    picked = p("index.Tensor", weight, [places])
    scheduled = checked(p, p("add.Tensor", rows, picked))
    assert launches(scheduled) == 1


def test_an_op_without_a_rule_is_a_library_call() -> None:
    p = Program()
    x = p.input(torch.randn(4, 4))
    assert not schedule(p.graph(p("tril.default", x)), TARGET).nests


def test_items_of_a_tuple_result() -> None:
    p = Program()
    result = p("topk.default", p("abs.default", p.input(torch.randn(4, 9))), 3)
    values = type(result)(result.name, (0,))
    checked(p, p("mul.Tensor", values, 2.0))


def test_complex_numbers_are_left_to_the_library() -> None:
    p = Program()
    x = p.input(torch.randn(4, dtype=torch.complex64))
    assert launches(checked(p, p("mul.Tensor", x, x))) == 0

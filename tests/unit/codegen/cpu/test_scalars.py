"""Every scalar operator in every dtype: compiled == interpreted, and both == eager."""

import math
from collections.abc import Callable, Iterator

import pytest
import torch

from supple.codegen.cpu.scalars import scalars
from supple.codegen.cpu.statements import SCALAR_RULES
from supple.ir.dtypes import DType
from supple.ir.loops.meaning import meanings
from supple.ir.loops.scalar_ops import SCALAR_OPS, Operands, ScalarOp
from tests.unit.codegen.cpu.kernels import (
    FLOATS,
    INTEGERS,
    LOW,
    pointwise,
    run_compiled,
    run_interpreted,
    values,
)

LENGTH = 203
NUMBERS = FLOATS + INTEGERS
ALL = (*NUMBERS, *LOW, DType.BOOL)
INTEGER_TOO = frozenset("neg abs sign add sub mul div floordiv mod fmod min max pow".split())
RELATIVE = {DType.F32: 4e-7, DType.F64: 2e-15}

Case = tuple[str, tuple[DType, ...], DType]


def cases_of(op: ScalarOp) -> Iterator[Case]:
    """Yield (name, operand dtypes, result dtype) for each dtype that an operator takes."""
    match op.operands:
        case Operands.SAME:
            for dtype in NUMBERS if op.name in INTEGER_TOO else FLOATS:
                yield op.name, (dtype,) * op.arity, dtype
        case Operands.COMPARE:
            for dtype in ALL:
                yield op.name, (dtype,) * op.arity, DType.BOOL
        case Operands.WHERE:
            for dtype in ALL:
                yield op.name, (DType.BOOL, dtype, dtype), dtype
        case Operands.BITS:
            for dtype in INTEGERS if op.name in ("shl", "shr") else (*INTEGERS, DType.BOOL):
                yield op.name, (dtype,) * op.arity, dtype
        case Operands.CAST:
            for source in ALL:
                for result in ALL:
                    yield op.name, (source,), result


CASES = [case for op in SCALAR_OPS.values() for case in cases_of(op)]


def label(case: Case) -> str:
    name, inputs, result = case
    return f"{name}-{'-'.join(dtype.value for dtype in inputs)}-{result.value}"


def assert_same(mine: torch.Tensor, theirs: torch.Tensor, dtype: DType) -> None:
    """Assert equality: exact for integers, within an ulp or two for floats."""
    relative = RELATIVE.get(dtype, 0.0)
    smallest = torch.finfo(dtype.torch).tiny * 2 if dtype.is_float else 0
    torch.testing.assert_close(mine, theirs, rtol=relative, atol=smallest, equal_nan=True)


def test_every_scalar_operator_has_code_and_a_meaning() -> None:
    assert SCALAR_RULES
    assert scalars.unclaimed(SCALAR_OPS) == set()
    assert meanings.unclaimed(SCALAR_OPS) == set()


@pytest.mark.parametrize("case", CASES, ids=label)
def test_compiled_is_interpreted(case: Case) -> None:
    name, inputs, result = case
    nest = pointwise(name, inputs, result, LENGTH)
    buffers = {f"x{n}": values(dtype, LENGTH, n + 1) for n, dtype in enumerate(inputs)}
    compiled, interpreted = torch.empty(2, LENGTH, dtype=result.torch)
    run_compiled(nest, {**buffers, "out": compiled}, {})
    run_interpreted(nest, {**buffers, "out": interpreted}, {})
    assert_same(compiled, interpreted, result)


EAGER: dict[str, Callable[..., torch.Tensor]] = {
    "div": torch.div,
    "floordiv": lambda a, b: torch.div(a, b, rounding_mode="floor"),
    "mod": torch.remainder,
    "min": torch.minimum,
    "max": torch.maximum,
    "and": torch.bitwise_and,
    "or": torch.bitwise_or,
    "xor": torch.bitwise_xor,
    "not": torch.bitwise_not,
    "shl": torch.bitwise_left_shift,
    "shr": torch.bitwise_right_shift,
    "where": torch.where,
}


def eager(case: Case, args: list[torch.Tensor]) -> torch.Tensor:
    """Return what eager gives; integer division by 0, an error there, is left out by the caller."""
    name, inputs, result = case
    if name == "cast":
        return args[0].to(result.torch)
    if name == "div" and not inputs[0].is_float:
        return torch.div(*args, rounding_mode="trunc")
    function = EAGER.get(name) or getattr(torch, name)
    return function(*args)


def eager_arguments(case: Case) -> list[torch.Tensor]:
    """Return arguments for which eager defines the result."""
    name, inputs, result = case
    args = [values(dtype, LENGTH, n + 1) for n, dtype in enumerate(inputs)]
    if not inputs[0].is_float and name in ("div", "floordiv", "mod", "fmod"):
        args[1][args[1] == 0] = 3
    if name == "cast" and inputs[0].is_float and not result.is_float and result is not DType.BOOL:
        # C leaves floats that no integer is near to undefined.
        args[0] = args[0].nan_to_num(0).clamp(0 if result is DType.U8 else -100, 100)
    if name in ("fmod", "mod") and inputs[0].is_float:
        # Eager's vector fmod gives NaN for quotients of more than 2**100 or so.
        args[0] = args[0].clamp(-1e10, 1e10)
    if name == "pow" and not inputs[0].is_float:
        args[1] = args[1].abs().clamp(0, 40)
    return args


def test_an_argument_is_outside_what_eager_defines() -> None:
    assert math.isnan(values(DType.F32, LENGTH, 1).sum().item())


@pytest.mark.parametrize("case", [case for case in CASES if case[0] != "fma"], ids=label)
def test_compiled_is_eager(case: Case) -> None:
    name, inputs, result = case
    args = eager_arguments(case)
    out = torch.empty(LENGTH, dtype=result.torch)
    buffers = {f"x{n}": arg for n, arg in enumerate(args)}
    run_compiled(pointwise(name, inputs, result, LENGTH), {**buffers, "out": out}, {})
    assert_same(out, eager(case, args), result)


def converted(x: torch.Tensor, source: DType, result: DType) -> torch.Tensor:
    out = torch.empty(len(x), dtype=result.torch)
    run_compiled(pointwise("cast", (source,), result, len(x)), {"x0": x, "out": out}, {})
    return out


def bits_of(x: torch.Tensor) -> torch.Tensor:
    """Return the bits of floats; one NaN is as good as another."""
    whole = torch.int32 if x.dtype is torch.float32 else torch.int16
    return torch.where(x.isnan(), -1, x.view(whole))


def test_every_half_is_converted_exactly() -> None:
    halves = torch.arange(1 << 16, dtype=torch.int32).to(torch.int16).view(torch.float16)
    assert torch.equal(bits_of(converted(halves, DType.F16, DType.F32)), bits_of(halves.float()))


def test_floats_beside_every_half_and_between_two_are_rounded_as_eager_rounds_them() -> None:
    halves = torch.arange(1 << 15, dtype=torch.int16).view(torch.float16).float()
    # Half of the last place of a half is 0x1000 of a float; of the small ones it is more.
    beside = [
        (halves.view(torch.int32) + step).view(torch.float32)
        for step in (-0x1000, -1, 1, 0xFFF, 0x1000, 0x1001)
    ]
    small = torch.arange(-(1 << 12), 1 << 12) * 2.0**-27
    x = torch.cat([*beside, *(-one for one in beside), small, torch.tensor([65519.996, 65520.0, 3e38])])
    assert torch.equal(bits_of(converted(x, DType.F32, DType.F16)), bits_of(x.half()))

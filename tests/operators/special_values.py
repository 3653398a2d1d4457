"""Special values through every operator that kernels compute element by element: native code against eager.

The operators come from the package's tables, so a new one is swept by itself. `python -m
tests.operators.special_values` sweeps 10,000 random bit patterns of each dtype and prints what differs.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

import click
import torch

import supple
from supple.autograd.lowering import decompositions
from supple.ir.core_ops import CORE_OPS, Kind
from supple.ir.ops import op_named

DTYPES: Final = {
    torch.float32: torch.int32,
    torch.float64: torch.int64,
    torch.bfloat16: torch.int16,
    torch.float16: torch.int16,
    torch.int64: torch.int64,
    torch.int32: torch.int32,
    torch.int16: torch.int16,
    torch.int8: torch.int8,
    torch.uint8: torch.uint8,
    torch.bool: torch.bool,
}
"""Element types, and the integers that have their bits."""

SCALARS: Final = (0.0, -0.0, 1.0, 2.0, 3.0, -1.0, -2.0, 0.5, -0.5, 0.1, 1.5, -3.0)
"""Numbers that stand in place of a second tensor."""

Function = Callable[..., Any]


@dataclass(frozen=True)
class Swept:
    """One operator and how it is called on one or two tensors."""

    name: str
    call: Function
    tensors: int


def special(dtype: torch.dtype) -> torch.Tensor:
    """Return the numbers at which functions and arithmetic are special."""
    if dtype is torch.bool:
        return torch.tensor([True, False])
    if not dtype.is_floating_point:
        info = torch.iinfo(dtype)
        numbers = {0, 1, 2, 3, 7, info.min, info.min + 1, info.max, info.max - 1, -1, -2, -3, info.max // 2}
        return torch.tensor([n for n in sorted(numbers) if info.min <= n <= info.max], dtype=dtype)
    limits = torch.finfo(dtype)
    smallest = torch.nextafter(torch.zeros((), dtype=torch.float64), torch.ones((), dtype=torch.float64))
    sizes = [0.0, 1.0, 2.0, 3.0, 0.5, 1.5, 2.5, 0.1, 20.0, 88.7, 104.0, 709.8, 1e4, 65504.0, 3e38]
    sizes += [
        limits.max,
        limits.tiny,
        limits.tiny * limits.eps,
        limits.eps,
        1 - limits.eps / 2,
        1 + limits.eps,
    ]
    sizes += [math.pi, math.pi / 2, math.inf, math.nan, smallest.item(), 2.0**31, 2.0**63]
    return torch.tensor([sign * size for size in sizes for sign in (1.0, -1.0)], dtype=torch.float64).to(
        dtype
    )


def patterns(dtype: torch.dtype, count: int, seed: int) -> torch.Tensor:
    """Return numbers with random bits."""
    generator = torch.Generator().manual_seed(seed)
    bits = DTYPES[dtype]
    if bits is torch.bool:
        return torch.rand(count, generator=generator) < 0.5
    info = torch.iinfo(bits)
    low, high = max(info.min, -(2**62)), min(info.max, 2**62)
    drawn = torch.randint(low, high, (count,), generator=generator, dtype=torch.int64)
    if bits is torch.int64:  # the sign bit as well
        drawn = drawn * 2 + torch.randint(0, 2, (count,), generator=generator)
    return drawn.to(bits).view(dtype)


def values(dtype: torch.dtype, tensors: int, count: int) -> tuple[torch.Tensor, ...]:
    """Return operands: special numbers, all pairs of them for two tensors, then random bit patterns.

    The length is odd, so that the elements go through the body of a vector loop and through its tail.
    """
    found = special(dtype)
    if tensors == 1:
        operands = (torch.cat([found, patterns(dtype, count, 0), found]),)
    else:
        left, right = (part.reshape(-1) for part in torch.meshgrid(found, found, indexing="ij"))
        operands = tuple(torch.cat([one, patterns(dtype, count, n)]) for n, one in enumerate((left, right)))
        operands = (operands[0], defined(*operands))
    return tuple(one if len(one) % 2 else one[:-1] for one in operands)


def defined(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """Return divisors of integers that eager takes: it raises for 0, and dies for the smallest one by -1."""
    if right.dtype.is_floating_point or right.dtype is torch.bool:
        return right
    is_out = (right == 0) | ((right == -1) & (left == torch.iinfo(left.dtype).min))
    return torch.where(is_out, torch.tensor(3, dtype=right.dtype), right)


def operators() -> Iterator[Swept]:
    """Yield the operators of one or two tensors (and numbers) that kernels compute element by element."""
    pointwise = {name for name, op in CORE_OPS.items() if op.kind is Kind.POINTWISE}
    for name in sorted(pointwise | {str(name) for name in decompositions}):
        op = op_named(name)
        schema = op.call._schema
        kinds = [str(one.type) for one in schema.arguments if not one.has_default_value()]
        if kinds in (["Tensor"], ["Tensor", "Tensor"]) and name not in SHAPED:
            yield Swept(name, op.call, len(kinds))
        elif kinds == ["Tensor", "number"]:
            for number in SCALARS:
                yield Swept(f"{name} {number}", lambda x, call=op.call, n=number: call(x, n), 1)
    for name, modes in MODES.items():
        for mode, tensors in product(modes, (1, 2)):
            call = op_named(f"aten.{name}").call
            if tensors == 2:
                yield Swept(f"{name} {mode}", lambda x, y, call=call, m=mode: call(x, y, rounding_mode=m), 2)
            else:
                yield Swept(f"{name} {mode} 3", lambda x, m=mode: torch.div(x, 3, rounding_mode=m), 1)


SHAPED: Final = frozenset(
    f"aten.{name}.default"
    for name in "argmax argmin max min prod sum mean any all t empty_like copy one_hot".split()
) | {"aten.std.correction", "aten.var.correction", "aten.std_mean.correction", "aten.var_mean.correction"}
"""Operators whose elements depend on more than one element, or on none."""
MODES: Final = {"div.Tensor_mode": ("floor", "trunc")}


def eager(swept: Swept, operands: tuple[torch.Tensor, ...]) -> torch.Tensor | None:
    """Return what eager gives; None where it has no kernel for the dtype."""
    try:
        result = swept.call(*(one.clone() for one in operands))
    except (RuntimeError, NotImplementedError, IndexError):
        return None
    is_one = isinstance(result, torch.Tensor) and result.shape == operands[0].shape
    return result if is_one and not result.is_complex() else None


def same(got: torch.Tensor, want: torch.Tensor) -> torch.Tensor:
    """Return where two tensors have the same bits; one NaN is another."""
    if not want.dtype.is_floating_point:
        return got == want
    equal = (got == want) & (got.signbit() == want.signbit())
    return equal | (got.isnan() & want.isnan())


def exact(swept: Swept, operands: tuple[torch.Tensor, ...], want: torch.Tensor) -> torch.Tensor:
    """Return what the operator gives in float64."""
    try:
        return swept.call(*(one.double() for one in operands))
    except (RuntimeError, NotImplementedError):
        return want.double()


def is_rounding(
    swept: Swept, operands: tuple[torch.Tensor, ...], got: torch.Tensor, want: torch.Tensor
) -> torch.Tensor:
    """Return where results differ by rounding alone: both are finite and near what float64 gives."""
    if not want.dtype.is_floating_point:
        return torch.zeros_like(want, dtype=torch.bool)
    truth = exact(swept, operands, want)
    limits = torch.finfo(want.dtype)
    one_step = truth.abs() * limits.eps + 8 * limits.tiny * limits.eps
    error, eagers = (got.double() - truth).abs(), (want.double() - truth).abs()
    has_sign = (got.signbit() == want.signbit()) | (truth.abs() < limits.tiny)
    return (error <= torch.maximum(4 * one_step, 2 * eagers)) & has_sign & (got.isfinite() == want.isfinite())


@dataclass(frozen=True)
class Found:
    """A difference: the operator, the dtype, one operand list, and the two results."""

    name: str
    dtype: torch.dtype
    operands: tuple[float, ...]
    want: float
    got: float

    def __str__(self) -> str:
        return f"{self.name} {self.dtype}{self.operands}: eager {self.want}, native {self.got}"


def differences(dtype: torch.dtype, tensors: int, count: int, group: int = 40) -> Iterator[Found]:
    """Yield one difference of each operator that differs by more than rounding."""
    operands = values(dtype, tensors, count)
    swept = [(one, eager(one, operands)) for one in operators() if one.tensors == tensors]
    known = [(one, want) for one, want in swept if want is not None]
    for start in range(0, len(known), group):
        part = known[start : start + group]
        calls = [one.call for one, _ in part]

        def together(*given: torch.Tensor, calls: list[Function] = calls) -> tuple[torch.Tensor, ...]:
            return tuple([call(*given) for call in calls])

        results = supple.compile(together, dynamic=False, fullgraph=True)(*operands)
        assert not supple.stats()["refusals"], supple.stats()["refusals"]
        for (one, want), got in zip(part, results, strict=True):
            assert got.dtype is want.dtype, one.name
            is_fine = same(got, want) | is_rounding(one, operands, got, want)
            for place in (~is_fine).nonzero().flatten().tolist()[:1]:
                at = tuple(operand[place].item() for operand in operands)
                yield Found(one.name, dtype, at, want[place].item(), got[place].item())


@click.command()
@click.option("--count", default=10_000, help="random bit patterns of each dtype")
def main(count: int) -> None:
    """Print the operators that differ from eager by more than rounding."""
    for dtype, tensors in product(DTYPES, (1, 2)):
        for found in differences(dtype, tensors, count):
            click.echo(str(found))
        click.echo(f"{dtype}, {tensors} tensors: done")


if __name__ == "__main__":
    main()

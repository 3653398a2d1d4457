"""Small nests, numbers for them, and how to run them: interpreted and compiled."""

from collections.abc import Mapping, Sequence

import torch

from supple.codegen.backend import kernel_artifact
from supple.codegen.cpu.target import host_target
from supple.expr import Expr, const, symbol
from supple.ir.dtypes import DType
from supple.ir.loops import interp
from supple.ir.loops.nodes import Access, Axis, Buffer, Compute, Load, Nest, Role, Store
from supple.ir.program import Target
from supple.runtime.guard_pages import between_guards
from supple.runtime.load import float_bits, kernels

FLOATS = (DType.F32, DType.F64)
LOW = (DType.BF16, DType.F16)
INTEGERS = (DType.I64, DType.I32, DType.I16, DType.I8, DType.U8)
SPECIAL = (0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, 7.0, 100.0, -100.0, 88.5, -88.5)
EXTREME = (1e-30, 1e10, -1e10, 3e38, float("inf"), -float("inf"), float("nan"))


def reading(name: str, dtype: DType, size: Expr | int) -> Buffer:
    return Buffer(name, dtype, Access.READ, const(size) if isinstance(size, int) else size)


def writing(name: str, dtype: DType, size: Expr | int) -> Buffer:
    return Buffer(name, dtype, Access.WRITE, const(size) if isinstance(size, int) else size)


def axis(name: str, extent: int, role: Role = Role.SERIAL) -> Axis:
    return Axis(symbol(name, minimum=0, maximum=max(extent - 1, 0)), const(extent), role)


def pointwise(op: str, inputs: Sequence[DType], result: DType, length: int) -> Nest:
    """Return `out[i] = op(x0[i], x1[i], ...)`."""
    over = axis("i", length, Role.VECTOR)
    index = (over.symbol,)
    loads = [Load(f"a{n}", dtype, f"x{n}", index) for n, dtype in enumerate(inputs)]
    value = Compute("r", result, op, tuple(load.name for load in loads))
    buffers = [reading(f"x{n}", dtype, length) for n, dtype in enumerate(inputs)]
    body = (*loads, value, Store("out", index, "r"))
    return Nest(f"op_{op}", (*buffers, writing("out", result, length)), (), (over,), body)


def run_compiled(
    nest: Nest, buffers: Mapping[str, torch.Tensor], sizes: Mapping[str, float], target: Target | None = None
) -> None:
    """Compile the nest and run it on tensors, between guard pages."""
    artifact = kernel_artifact([nest], target or host_target())
    operands = [
        (buffers[b.name], b.name, b.access is not Access.READ)
        for b in nest.buffers
        if b.access is not Access.SCRATCH
    ]
    numbers = [sizes[size.name] for size in nest.sizes]
    integers = [float_bits(number) if isinstance(number, float) else number for number in numbers]
    between_guards(kernels(artifact)[nest.name], nest.name, operands, integers)


def run_interpreted(nest: Nest, buffers: Mapping[str, torch.Tensor], sizes: Mapping[str, float]) -> None:
    interp.run(nest, buffers, sizes)


def values(dtype: DType, length: int, seed: int, *, extremes: bool = True) -> torch.Tensor:
    """Return numbers of the dtype, those that are special to it among them."""
    generator = torch.Generator().manual_seed(seed)
    if dtype is DType.BOOL:
        return torch.randint(0, 2, (length,), generator=generator).bool()
    places = torch.randperm(length, generator=generator)
    if dtype.is_float:
        made = torch.randn(length, generator=generator, dtype=torch.float64) * 4
        special = torch.tensor(SPECIAL + (EXTREME if extremes else ()), dtype=torch.float64)[: length // 3]
        made[places[: len(special)]] = special
        made[places[length - len(special) :]] = special
        return made.to(dtype.torch)
    info = torch.iinfo(dtype.torch)
    made = torch.randint(max(info.min, -9), 10, (length,), generator=generator).to(dtype.torch)
    if extremes and length >= 16:
        wide = torch.randint(info.min // 2, info.max // 2, (length // 4,), generator=generator).to(
            dtype.torch
        )
        made[places[: len(wide)]] = wide
        made[places[-1]], made[places[-2]] = info.min, info.max
    return made

"""Run a nest with plain Python loops over Python numbers: slow, obvious, the oracle of code generation."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final, cast

import torch

from supple.base.rules import Rules
from supple.expr import Expr, evaluate
from supple.ir.dtypes import DType
from supple.ir.loops import nodes
from supple.ir.loops.meaning import meanings
from supple.ir.loops.numbers import Number, float_bits, greatest, least, rounded
from supple.ir.loops.types import operand_dtypes


def run(nest: nodes.Nest, buffers: Mapping[str, torch.Tensor], numbers: Mapping[str, float]) -> None:
    """Run the nest on tensors: element 0 of a buffer is the first element of its tensor.

    A float among the numbers is passed as its bits. Values are rounded to their dtype after each operator;
    sums are exact and rounded once.

    Raises:
        IndexError: an access outside a buffer.
    """
    sizes = {name: float_bits(n) if isinstance(n, float) else n for name, n in numbers.items()}
    env: dict[str, Number] = dict(sizes)
    memory: dict[str, list[Number]] = {}
    for buffer in nest.buffers:
        length = evaluate(buffer.size, sizes)
        tensor = buffers.get(buffer.name)
        memory[buffer.name] = [0] * length if tensor is None else _numbers(_flat(tensor, length))
    machine = Machine(memory, {buffer.name: buffer for buffer in nest.buffers}, {})
    for point in _points(nest.axes, env):
        machine.run(nest.body, {**env, **point})
    for buffer in nest.buffers:
        if buffer.access in (nodes.Access.WRITE, nodes.Access.UPDATE):
            values = torch.tensor(memory[buffer.name], dtype=buffer.dtype.torch)
            _flat(buffers[buffer.name], len(memory[buffer.name])).copy_(values)


def _flat(tensor: torch.Tensor, length: int) -> torch.Tensor:
    """Return `length` elements of the tensor's storage from its first element on."""
    return tensor.detach().as_strided((length,), (1,))


def _numbers(tensor: torch.Tensor) -> list[Number]:
    return cast("list[Number]", tensor.tolist())  # pyright: ignore[reportUnknownMemberType]  # torch's list[Any]


def _points(axes: Sequence[nodes.Axis], env: Mapping[str, Number]) -> "list[dict[str, Number]]":
    """Return the values of the axes at each of their points, the last axis running fastest."""
    ranges = [range(evaluate(axis.extent, _integers(env))) for axis in axes]
    names = [axis.symbol.name for axis in axes]
    return [dict(zip(names, point, strict=True)) for point in product(*ranges)]


@dataclass(frozen=True, slots=True)
class Machine:
    """The memory that statements read and write, and the dtypes of the scalars defined so far."""

    memory: Mapping[str, list[Number]]
    buffers: Mapping[str, nodes.Buffer]
    dtypes: dict[str, DType]

    def run(self, statements: Sequence[nodes.Statement], env: dict[str, Number]) -> None:
        """Run statements in order; the names they define are added to `env`."""
        for statement in statements:
            runners[type(statement)](self, statement, env)

    def place(self, buffer: str, index: Sequence[Expr], env: Mapping[str, Number]) -> int:
        """Return the position that an index means.

        Raises:
            IndexError: it is outside the buffer.
        """
        (offset,) = [evaluate(each, _integers(env)) for each in index]
        if not 0 <= offset < len(self.memory[buffer]):
            raise IndexError(f"{buffer}[{offset}] of {len(self.memory[buffer])} elements")
        return offset


def _integers(env: Mapping[str, Number]) -> Mapping[str, int]:
    """Return the environment of index expressions: the spec lets them name integers only."""
    return cast("Mapping[str, int]", env)


#: Kind of statement -> (machine, statement, names) -> None.
runners: Final[Rules[Callable[..., None]]] = Rules("run statement")


@runners.on(nodes.Load)
def _(machine: Machine, statement: nodes.Load, env: dict[str, Number]) -> None:
    """A load that is masked out reads nothing."""
    machine.dtypes[statement.name] = statement.dtype
    if statement.mask is not None and not env[statement.mask]:
        env[statement.name] = rounded(statement.dtype, statement.other)
        return
    place = machine.place(statement.buffer, statement.index, env)
    env[statement.name] = machine.memory[statement.buffer][place]


@runners.on(nodes.Compute)
def _(machine: Machine, statement: nodes.Compute, env: dict[str, Number]) -> None:
    """Numbers among the operands are rounded to the dtype they stand for."""
    dtypes = operand_dtypes(statement, machine.dtypes)
    operands = [
        env[arg] if isinstance(arg, str) else rounded(dtype, arg)
        for arg, dtype in zip(statement.args, dtypes, strict=True)
    ]
    machine.dtypes[statement.name] = statement.dtype
    env[statement.name] = rounded(statement.dtype, meanings[statement.op](statement.dtype, *operands))


@runners.on(nodes.IndexValue)
def _(machine: Machine, statement: nodes.IndexValue, env: dict[str, Number]) -> None:
    """An index expression wraps to its dtype."""
    machine.dtypes[statement.name] = statement.dtype
    env[statement.name] = rounded(statement.dtype, evaluate(statement.value, _integers(env)))


@runners.on(nodes.Store)
def _(machine: Machine, statement: nodes.Store, env: dict[str, Number]) -> None:
    """A store that is masked out writes nothing."""
    if statement.mask is not None and not env[statement.mask]:
        return
    place = machine.place(statement.buffer, statement.index, env)
    value = env[statement.value] if isinstance(statement.value, str) else statement.value
    machine.memory[statement.buffer][place] = rounded(machine.buffers[statement.buffer].dtype, value)


@runners.on(nodes.Loop)
def _(machine: Machine, statement: nodes.Loop, env: dict[str, Number]) -> None:
    """Names defined in a loop end with the iteration; reduces see the value of each."""
    seen: dict[str, list[Number]] = {reduce.name: [] for reduce in statement.reduces}
    for point in _points(statement.axes, env):
        inside = {**env, **point}
        machine.run(statement.body, inside)
        for reduce in statement.reduces:
            seen[reduce.name].append(inside[reduce.value])
    for reduce in statement.reduces:
        machine.dtypes[reduce.name] = reduce.dtype
        env[reduce.name] = rounded(reduce.dtype, reductions[reduce.op](reduce, seen[reduce.name]))


reductions: Final[Rules[Callable[[nodes.Reduce, list[Number]], Number]]] = Rules("reduce numbers")


@reductions.on("sum")
def _(reduce: nodes.Reduce, values: list[Number]) -> Number:
    """The sum, exact for finite floats."""
    if not reduce.dtype.is_float:
        return sum(values)
    return math.fsum(values) if all(map(math.isfinite, values)) else sum(values, 0.0)


reductions.on("prod")(lambda reduce, values: math.prod(values))
reductions.on("any")(lambda reduce, values: any(values))
reductions.on("all")(lambda reduce, values: all(values))


@reductions.on("max", "min")
def _(reduce: nodes.Reduce, values: list[Number]) -> Number:
    """The largest or smallest; NaN where one is NaN."""
    nans = [value for value in values if value != value]
    most, neutral = (max, least) if reduce.op == "max" else (min, greatest)
    return nans[0] if nans else most(values, default=neutral(reduce.dtype))


@reductions.on("argmax", "argmin")
def _(reduce: nodes.Reduce, values: list[Number]) -> Number:
    """The first position of a NaN, else of the largest or smallest; 0 where there is none."""
    nans = [place for place, value in enumerate(values) if value != value]
    most = max if reduce.op == "argmax" else min
    return nans[0] if nans else values.index(most(values)) if values else 0

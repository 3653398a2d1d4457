"""Nest, Axis, Loop and the scalar statements: frozen.

A nest is one kernel. Its `axes` are independent of each other and may run in parallel; the body is a list of
statements run at each point. A statement names one scalar (SSA; a name is visible from its definition to the
end of the block it is in, and in blocks inside it) or stores one. Inner `Loop`s run in order and may reduce.

    nest layer_norm(x: f32 in, out: f32 out) over r < 128 parallel:
      for k < 768 vector reducing s = sum(t0):
        t0 = load f32 x[768*r + k]
      m = mul f32 s, 0.00130208
      for k < 768 vector:
        t1 = load f32 x[768*r + k]
        t2 = sub f32 t1, m
        store out[768*r + k] = t2

Two address forms exist. Before `linearise` (inside schedule) an index is a tuple with one Expr per dimension
of the buffer; a nest that leaves schedule has exactly one Expr: the element offset from its data pointer.
Exprs range over axis symbols, size symbols and, for gathers, integer scalars named by earlier statements.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

from supple.expr import Expr, Symbol
from supple.ir.dtypes import DType

Scalar = str | int | float | bool
"""An operand: the name of an earlier scalar (str), or a number of the statement's dtype."""


class Role(Enum):
    """How an axis runs."""

    PARALLEL = "parallel"
    VECTOR = "vector"
    SERIAL = "serial"


@dataclass(frozen=True, slots=True)
class Axis:
    """A loop variable: `symbol` runs from 0 to `extent` - 1 (possibly not at all: extent may be 0)."""

    symbol: Symbol
    extent: Expr
    role: Role = Role.SERIAL


class Access(Enum):
    """What a kernel does with a buffer."""

    READ = "in"
    WRITE = "out"
    UPDATE = "inout"
    SCRATCH = "scratch"


@dataclass(frozen=True, slots=True)
class Buffer:
    """A parameter of a kernel, or per-thread scratch.

    Attributes:
        name: unique in the nest.
        size: elements that may be addressed, for SCRATCH the elements to reserve per thread.
    """

    name: str
    dtype: DType
    access: Access
    size: Expr


@dataclass(frozen=True, slots=True)
class Load:
    """name = buffer[index], or `other` where the b1 named `mask` is false; the memory is not touched then.

    `dtype` is the buffer's; b1 is one byte in memory, 0 or 1.
    """

    name: str
    dtype: DType
    buffer: str
    index: tuple[Expr, ...]
    mask: str | None = None
    other: int | float | bool = 0


@dataclass(frozen=True, slots=True)
class Compute:
    """name = op(args) in `dtype`; `op` is a name of `SCALAR_OPS`, whose rule fixes the operands' dtypes.

    Arithmetic is never written in bf16 or f16: values are cast to f32, and cast back where eager rounds.
    """

    name: str
    dtype: DType
    op: str
    args: tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class IndexValue:
    """name = the value of an index expression, as an integer of `dtype` (i64 or i32)."""

    name: str
    dtype: DType
    value: Expr


@dataclass(frozen=True, slots=True)
class Store:
    """buffer[index] = value (the name of a scalar of the buffer's dtype, or a number)."""

    buffer: str
    index: tuple[Expr, ...]
    value: Scalar
    mask: str | None = None


@dataclass(frozen=True, slots=True)
class Reduce:
    """name = op over all iterations of the loop of the scalar `value`; visible after the loop.

    op: sum, prod, min, max, any, all (b1), argmin, argmax (i64 result: the first position, counted in the
    order of the loop's axes; a NaN wins), and `welford` is written as two loops instead.
    The neutral element starts it, so an empty loop gives it. min and max propagate NaN.
    """

    name: str
    dtype: DType
    op: str
    value: str


@dataclass(frozen=True, slots=True)
class Loop:
    """Run `body` for each point of `axes` (first axis outermost; only the last may be VECTOR)."""

    axes: tuple[Axis, ...]
    body: tuple["Statement", ...]
    reduces: tuple[Reduce, ...] = ()


Statement = Load | Compute | IndexValue | Store | Loop


def flat(body: Iterable[Statement]) -> Iterator[Statement]:
    """Yield statements and, after a loop, those inside it."""
    for statement in body:
        yield statement
        if isinstance(statement, Loop):
            yield from flat(statement.body)


@dataclass(frozen=True, slots=True)
class Nest:
    """One kernel.

    Attributes:
        name: a C identifier, unique in its program.
        buffers: in the order of the kernel's pointer parameters; SCRATCH ones are not parameters.
        sizes: symbols that the host passes as 64-bit integers, after the pointers.
        axes: PARALLEL ones first, then SERIAL ones; the last may be VECTOR (then the whole body is, and inner
            loops are SERIAL).
        origin: names of the graph nodes it computes, for people.
    """

    name: str
    buffers: tuple[Buffer, ...]
    sizes: tuple[Symbol, ...]
    axes: tuple[Axis, ...]
    body: tuple[Statement, ...]
    origin: tuple[str, ...] = ()

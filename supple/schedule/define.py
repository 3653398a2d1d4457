"""Definition: one graph value as a scalar body over logical coordinates; and Body, which writes such bodies.

A definition's loads name graph values (not buffers) and give one coordinate per dimension of that value, so a
definition can be computed at any point: inlining is the substitution of its axes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from supple.expr import Expr, Symbol, as_expr, free_symbols, interval, less_equal, symbol
from supple.ir.dtypes import DType
from supple.ir.loops.nodes import Axis, Compute, IndexValue, Load, Scalar
from supple.ir.meta import TensorMeta
from supple.ir.ops import Op
from supple.shapes.decide import is_known

BodyStatement = Load | Compute | IndexValue
TRANSCENDENTAL: Final = frozenset(
    (
        "exp exp2 log log2 log10 log1p expm1 sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh "
        "erf erfc lgamma pow atan2 hypot"
    ).split()
)
CHECK: Final = "aten._assert_scalar.default"
"""The op that raises where a condition on sizes does not hold."""
PLACES: Final = ("argmax", "argmin")
"""Reductions that give a place: an integer, counted in the order of the inner axes."""
SLOW: Final = frozenset("sqrt rsqrt div floordiv mod fmod reciprocal".split())
SLOW_COST: Final = 4
TRANSCENDENTAL_COST: Final = 20


def cost_of(op: str) -> int:
    """Return the rough cost of a scalar op; an addition costs 1."""
    if op in TRANSCENDENTAL:
        return TRANSCENDENTAL_COST
    return SLOW_COST if op in SLOW else 1


def coordinate(prefix: str, position: int, extent: Expr) -> Symbol:
    """Return the symbol of one coordinate, with the range that a constant extent gives it."""
    top = max(extent.value - 1, 0) if extent.is_const else None
    return symbol(f"{prefix}{position}", minimum=0, maximum=top)


def coordinates(sizes: Sequence[Expr], prefix: str = "i") -> tuple[Symbol, ...]:
    """Return one coordinate symbol per dimension."""
    return tuple(coordinate(prefix, position, extent) for position, extent in enumerate(sizes))


@dataclass(frozen=True, slots=True)
class Definition:
    """How one value is computed.

    Attributes:
        name: of the graph value, `str(Var)`; or of an auxiliary value, "<name>.<word>".
        meta: sizes, strides and dtype it has when it is in memory.
        axes: one coordinate symbol per dimension.
        body: loads of other values at logical coordinates, and arithmetic.
        result: the body's result; for a reduction the operand that is reduced.
        domain: for a reduction all coordinates, reduced ones included, in the operand's order; else `axes`.
        inner: the reduced axes, empty unless `reduce` is set.
        reduce: the op of `Reduce`.
        alias_of: the value whose storage eager shares with this one.
        may_trap: the body divides integers by a value that a masked-off lane could make 0.
        origin: the graph node.
    """

    name: str
    meta: TensorMeta
    axes: tuple[Symbol, ...]
    body: tuple[BodyStatement, ...]
    result: Scalar
    domain: tuple[Axis, ...]
    inner: tuple[Axis, ...] = ()
    reduce: str | None = None
    alias_of: str | None = None
    may_trap: bool = False
    origin: str = ""

    @property
    def loads(self) -> tuple[Load, ...]:
        """The loads of the body."""
        return tuple(item for item in self.body if isinstance(item, Load))

    @property
    def numbers(self) -> frozenset[str]:
        """The names of the sizes that it is made with."""
        found = [*self.meta.sizes, *self.meta.strides, *(axis.extent for axis in self.domain)]
        for item in self.body:
            found += (
                item.index if isinstance(item, Load) else [item.value] if isinstance(item, IndexValue) else []
            )
        return frozenset(s.name for e in found if not e.is_const for s in free_symbols(e))

    @property
    def arithmetic(self) -> int:
        """Rough scalar cost of the body without its loads."""
        work = (item for item in self.body if not isinstance(item, Load))
        return sum(cost_of(item.op) if isinstance(item, Compute) else 1 for item in work)

    @property
    def is_map(self) -> bool:
        """Whether the body only renames coordinates: one load, or nothing but a number."""
        return self.reduce is None and len(self.body) <= 1 and all(isinstance(s, Load) for s in self.body)


@dataclass(frozen=True, slots=True)
class Call:
    """A library call: the values it defines are tensors that exist in memory.

    Attributes:
        names: one value name per result; None for results that have no metadata.
        args, kwargs: as in the graph node: constants, Exprs, Vars and containers of them.
        metas: of each result that is a tensor.
        reads: names of the values it takes, or whose sizes it needs.
        writes: names of the values it writes in place.
    """

    names: tuple[str | None, ...]
    op: Op
    args: tuple[object, ...]
    kwargs: Mapping[str, object]
    is_tuple: bool
    metas: Mapping[str, TensorMeta]
    reads: tuple[str, ...]
    writes: tuple[str, ...] = ()
    origin: str = ""

    @property
    def has_effects(self) -> bool:
        """Whether it must run, in the order of the graph, even if nobody needs its results."""
        return not self.op.is_pure or self.op.name == CHECK


class Body:
    """Writes the scalar body of a definition; every scalar it names has a known dtype."""

    def __init__(self, meta: TensorMeta, inner: Sequence[Axis] = ()) -> None:
        self.meta = meta
        self.axes = coordinates(meta.sizes)
        self.inner = tuple(inner)
        self.statements: list[BodyStatement] = []
        self.dtypes: dict[str, DType] = {}
        self.may_trap = False
        self.last: Scalar = 0

    def _name(self, dtype: DType) -> str:
        name = f"v{len(self.statements)}"
        self.dtypes[name] = dtype
        self.last = name
        return name

    def load(
        self, value: str, dtype: DType, index: Sequence[Expr], mask: Scalar | None = None, other: float = 0
    ) -> str:
        """Return the scalar `value[index]`, `other` where `mask` is false."""
        assert mask is None or isinstance(mask, str), f"the mask {mask!r} is no scalar name"
        name = self._name(dtype)
        self.statements.append(Load(name, dtype, value, tuple(index), mask, other))
        return name

    def compute(self, op: str, dtype: DType, *args: Scalar) -> str:
        """Return the scalar `op(args)`."""
        name = self._name(dtype)
        self.statements.append(Compute(name, dtype, op, args))
        return name

    def index(self, value: Expr | int) -> str:
        """Return the value of an index expression, in i32 where its range allows, else i64."""
        expr = as_expr(value)
        bounds = interval(expr)
        low, high = bounds.lo, bounds.hi
        is_small = low is not None and high is not None and -(2**31) <= low and high < 2**31
        dtype = DType.I32 if is_small else DType.I64
        name = self._name(dtype)
        self.statements.append(IndexValue(name, dtype, expr))
        return name

    def cast(self, value: Scalar, dtype: DType) -> Scalar:
        """Return `value` as `dtype`; a number stays a number of that kind."""
        if not isinstance(value, str):
            return number(value, dtype)
        return value if self.dtypes[value] is dtype else self.compute("cast", dtype, value)

    def named(self, value: Scalar, dtype: DType) -> str:
        """Return `value` as the name of a scalar of `dtype`."""
        cast = self.cast(value, dtype)
        return cast if isinstance(cast, str) else self.compute("cast", dtype, cast)

    def definition(
        self,
        name: str,
        meta: TensorMeta,
        result: Scalar | None = None,
        *,
        reduce: str | None = None,
        alias_of: str | None = None,
        domain: Sequence[Axis] | None = None,
    ) -> Definition:
        """Return the finished definition; `result` defaults to the scalar written last."""
        plain = tuple(Axis(axis, extent) for axis, extent in zip(self.axes, meta.sizes, strict=True))
        return Definition(
            name,
            meta,
            self.axes,
            tuple(self.statements),
            self.last if result is None else result,
            plain if domain is None else tuple(domain),
            self.inner,
            reduce,
            alias_of,
            self.may_trap,
            name.split("[")[0].split(".")[0],
        )


def number(value: float, dtype: DType) -> int | float | bool:
    """Return a Python number as a constant of `dtype`, with eager's conversion."""
    if dtype is DType.BOOL:
        return bool(value)
    if dtype.is_integer:
        return int(value)
    return dtype.nearest(value)


def broadcast_index(axes: Sequence[Expr], sizes: Sequence[Expr]) -> tuple[Expr, ...]:
    """Return the coordinates at which an operand of `sizes` is read for the result's `axes`."""
    lead = len(axes) - len(sizes)
    zero = as_expr(0)
    return tuple(
        zero if is_known(less_equal(size, 1)) else axis for axis, size in zip(axes[lead:], sizes, strict=True)
    )

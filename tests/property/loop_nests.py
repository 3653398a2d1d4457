"""Strategies of nests that are legal by construction and exact in every dtype they use.

Numbers are small integers, so that sums and products are exact in float32 and the order of a reduction does
not matter; every buffer is as large as the indices into it reach.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import prod

import torch
from hypothesis import strategies as st

from supple.expr import Expr, const, interval, symbol
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
    Statement,
    Store,
)
from tests.unit.codegen.cpu.kernels import axis

DTYPES = (
    *(DType.F32, DType.F32, DType.F64, DType.BF16, DType.F16),
    *(DType.I64, DType.I32, DType.I16, DType.I8, DType.U8, DType.BOOL),
)
BOOL_OPS = ("compare", "where", "cast", "and", "and", "not")
LOW_OPS = ("compare", "where", "cast", "cast")
OPS = ("compare", "where", "cast", "min", "max", "neg")
EXTENTS = (0, 1, 2, 3, 8, 15, 16, 17, 33, 64, 70, 130)
MOST_POINTS = 400
"""Iterations of all axes around a statement, so that the interpreter is done in milliseconds."""
REDUCTIONS = ("sum", "min", "max", "argmin", "argmax")


@dataclass
class Draft:
    """A nest under construction."""

    draw: st.DrawFn
    buffers: list[Buffer] = field(default_factory=list)
    count: int = 0

    def fresh(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def pick(self, options: tuple) -> object:
        return self.draw(st.sampled_from(options))

    def extent(self, options: tuple[int, ...], around: tuple[Axis, ...]) -> int:
        """Return an extent that keeps the iterations below MOST_POINTS."""
        points = prod(max(over.extent.value, 1) for over in around)
        return self.pick(tuple(extent for extent in options if extent * points <= MOST_POINTS))


def number(e: Expr, axes: tuple[Axis, ...]) -> Expr:
    """Return the row-major number of a point of the axes; all points differ."""
    for over in axes:
        e = e * max(over.extent.value, 1) + over.symbol
    return e


def index(draft: Draft, axes: tuple[Axis, ...]) -> Expr:
    """Return an index that is never negative: any mix of the axes, maybe through // and %."""
    total = const(draft.pick((0, 0, 0, 1, 7, 16)))
    for over in axes:
        shape = draft.pick(("plain", "plain", "plain", "none", "stride", "flip", "div", "mod"))
        k = over.symbol
        match shape:
            case "plain":
                total = total * max(over.extent.value, 1) + k
            case "stride":
                total = total + k * draft.pick((2, 3, 16))
            case "flip":
                total = total + (max(over.extent.value, 1) - 1 - k)
            case "div":
                total = total + k // draft.pick((2, 16, 64))
            case "mod":
                total = total + k % draft.pick((3, 16, 32))
            case _:
                pass
    return total


def reading(draft: Draft, dtype: DType, e: Expr) -> str:
    """Return a buffer that `e` may be read from: a new one, or an old one that is large enough."""
    size = const((interval(e).hi or 0) + 1)
    known = [
        b.name
        for b in draft.buffers
        if b.access is Access.READ and b.dtype is dtype and b.size.value >= size.value
    ]
    if known and draft.draw(st.booleans()):
        return draft.draw(st.sampled_from(known))
    name = draft.fresh("x")
    draft.buffers.append(Buffer(name, dtype, Access.READ, size))
    return name


Names = dict[str, DType]


def loads(draft: Draft, axes: tuple[Axis, ...], names: Names) -> list[Statement]:
    """Return one to three loads, some under a mask, some gathers."""
    made: list[Statement] = []
    for _ in range(draft.draw(st.integers(1, 3))):
        dtype = draft.pick(DTYPES)
        e = index(draft, axes)
        name = draft.fresh("t")
        masks = [known for known, kind in names.items() if kind is DType.BOOL]
        mask = draft.draw(st.sampled_from(masks)) if masks and draft.draw(st.booleans()) else None
        made.append(Load(name, dtype, reading(draft, dtype, e), (e,), mask, draft.pick((0, 1))))
        names[name] = dtype
    if draft.draw(st.booleans()) and axes:
        name = draft.fresh("t")
        made.append(IndexValue(name, draft.pick((DType.I64, DType.I32)), index(draft, axes)))
        names[name] = made[-1].dtype
    return made


def computes(draft: Draft, names: Names) -> list[Statement]:
    """Return up to four operators on what is visible; values stay below 100 so that products are exact."""
    made: list[Statement] = []
    for _ in range(draft.draw(st.integers(0, 4))):
        name = draft.fresh("t")
        left = draft.draw(st.sampled_from(sorted(names)))
        dtype = names[left]
        same = sorted(other for other, kind in names.items() if kind is dtype)
        right = draft.draw(st.sampled_from([*same, 1]))
        masks = sorted(other for other, kind in names.items() if kind is DType.BOOL)
        op = draft.pick(BOOL_OPS if dtype is DType.BOOL else LOW_OPS if dtype.is_low_precision else OPS)
        if op == "where" and not masks:
            op = "cast"
        match op:
            case "compare":
                relation = draft.pick(("lt", "le", "eq", "ne", "gt", "ge"))
                made.append(Compute(name, DType.BOOL, relation, (left, right)))
            case "where":
                mask = draft.draw(st.sampled_from(masks))
                made.append(Compute(name, dtype, "where", (mask, left, right)))
            case "cast":
                made.append(Compute(name, draft.pick(DTYPES), "cast", (left,)))
            case "neg" | "not":
                made.append(Compute(name, dtype, op, (left,)))
            case _:
                made.append(Compute(name, dtype, op, (left, right)))
        names[name] = made[-1].dtype
    return made


def store(draft: Draft, axes: tuple[Axis, ...], names: Names) -> Store:
    """Return a store of some scalar to a place of its own for each point."""
    value = draft.draw(st.sampled_from(sorted(names)))
    place = number(const(0), axes)
    name = draft.fresh("out")
    draft.buffers.append(Buffer(name, names[value], Access.WRITE, const((interval(place).hi or 0) + 1)))
    masks = sorted(other for other, kind in names.items() if kind is DType.BOOL)
    mask = draft.draw(st.sampled_from(masks)) if masks and draft.draw(st.booleans()) else None
    return Store(name, (place,), value, mask)


def inner(draft: Draft, outer: tuple[Axis, ...], names: Names, *, may_vector: bool) -> Loop:
    """Return a loop over one or two axes that loads, computes, maybe stores, and reduces."""
    axes: tuple[Axis, ...] = ()
    for _ in range(draft.pick((1, 1, 2))):
        axes = (*axes, axis(draft.fresh("k"), draft.extent(EXTENTS, outer + axes)))
    if may_vector and draft.draw(st.booleans()):
        axes = (*axes[:-1], Axis(axes[-1].symbol, axes[-1].extent, Role.VECTOR))
    inside = dict(names)
    body = [*loads(draft, outer + axes, inside), *computes(draft, inside)]
    if draft.draw(st.booleans()):
        body.append(store(draft, outer + axes, inside))
    own = sorted(name for name in set(inside) - set(names) if not inside[name].is_low_precision)
    reduces: list[Reduce] = []
    for _ in range(draft.draw(st.integers(0, 3)) if own else 0):
        value = draft.draw(st.sampled_from(own))
        dtype = inside[value]
        op = draft.pick(("any", "all") if dtype is DType.BOOL else REDUCTIONS)
        kind = DType.I64 if op.startswith("arg") else dtype
        reduces.append(Reduce(draft.fresh("r"), kind, op, value))
        names[reduces[-1].name] = kind
    return Loop(axes, tuple(body), tuple(reduces))


@st.composite
def nests(draw: st.DrawFn) -> Nest:
    """A nest of up to three axes and up to two loops."""
    draft = Draft(draw)
    roles = draw(
        st.sampled_from([(), ("p",), ("p", "p"), ("s",), ("p", "s"), ("v",), ("p", "v"), ("p", "s", "v")])
    )
    kinds = {"p": Role.PARALLEL, "s": Role.SERIAL, "v": Role.VECTOR}
    axes: tuple[Axis, ...] = ()
    for role in roles:
        options = EXTENTS if role == "v" else (0, 1, 2, 3, 7)
        axes = (*axes, axis(draft.fresh("i"), draft.extent(options, axes), kinds[role]))
    names: Names = {}
    body: list[Statement] = [*loads(draft, axes, names), *computes(draft, names)]
    for _ in range(draw(st.integers(0, 2))):
        body.append(inner(draft, axes, names, may_vector="v" not in roles))
        body += computes(draft, names)
    body.append(store(draft, axes, names))
    return Nest("nest", tuple(draft.buffers), (), axes, tuple(body), ("random",))


def with_sizes(nest: Nest) -> tuple[Nest, dict[str, int]]:
    """Return the nest with each extent as a size symbol, and the values that make it the same."""
    sizes: dict[str, int] = {}

    def unknown(over: Axis) -> Axis:
        name = f"n_{over.symbol.name}"
        sizes[name] = over.extent.value
        return replace(over, extent=symbol(name, minimum=0))

    def rewritten(statement: Statement) -> Statement:
        if not isinstance(statement, Loop):
            return statement
        return replace(
            statement, axes=tuple(map(unknown, statement.axes)), body=tuple(map(rewritten, statement.body))
        )

    axes, body = tuple(map(unknown, nest.axes)), tuple(map(rewritten, nest.body))
    return replace(nest, axes=axes, body=body, sizes=tuple(symbol(name, minimum=0) for name in sizes)), sizes


def memory(nest: Nest, seed: int) -> Mapping[str, torch.Tensor]:
    """Return a tensor for each buffer: small integers to read, and a pattern where nothing may be written."""
    generator = torch.Generator().manual_seed(seed)
    made: dict[str, torch.Tensor] = {}
    for buffer in nest.buffers:
        low, high = (0, 2) if buffer.dtype is DType.BOOL else (0 if buffer.dtype is DType.U8 else -4, 5)
        numbers = torch.randint(low, high, (buffer.size.value,), generator=generator)
        made[buffer.name] = numbers.to(buffer.dtype.torch)
    return made

"""Reductions: a value over an inner domain, and what eager computes from it.

Sums of bf16 and f16 accumulate in f32 and are rounded once, as in eager. A long reduction with few results is
done in two stages, so that it runs on all threads.
"""

from dataclasses import replace
from typing import Final

from supple.expr import Expr, Symbol, const, product
from supple.ir.dtypes import DType
from supple.ir.graph.nodes import Node
from supple.ir.loops.nodes import Axis, Load, Scalar
from supple.ir.loops.numbers import greatest, least
from supple.ir.meta import TensorMeta, contiguous
from supple.schedule.coordinates import estimate
from supple.schedule.define import PLACES, Body, Definition, coordinate, coordinates, number
from supple.schedule.deps import at
from supple.schedule.lower import Lowering, NotLowered, lowerings
from supple.schedule.views import argument, dimension, listed, unlinear

LONG_ROW: Final = 32768
FEW_ROWS: Final = 8
LONG_COLUMN: Final = 2048
WIDE_COLUMN: Final = 8192
CHUNKS: Final = (32, 16, 24, 20, 30, 28, 25, 27, 21, 18, 12, 10, 14, 15, 9, 8)


class Reduction:
    """The domain of one reduction: which coordinates of the operand are outer, which inner."""

    def __init__(self, operand: TensorMeta, dims: object, *, keepdim: bool) -> None:
        chosen = _dims(dims, operand.rank)
        inner = coordinates(operand.sizes, "j")
        left = [dim for dim in range(operand.rank) if keepdim or dim not in chosen]
        self.sizes = tuple(const(1) if dim in chosen else operand.sizes[dim] for dim in left)
        outer = dict(zip(left, coordinates(self.sizes), strict=True))
        position = [inner[dim] if dim in chosen else outer[dim] for dim in range(operand.rank)]
        self.index: tuple[Expr, ...] = tuple(position)
        self.inner = tuple(Axis(inner[dim], operand.sizes[dim]) for dim in sorted(chosen))
        self.is_single = all(axis.extent is const(1) for axis in self.inner)
        self.domain = tuple(Axis(s, size) for s, size in zip(position, operand.sizes, strict=True))

    @property
    def is_outer(self) -> bool:
        """Whether the operand's last dimension is kept, so that vectors run across results."""
        return bool(self.domain) and self.domain[-1] not in self.inner

    @property
    def chunks(self) -> int | None:
        """Into how many chunks to divide a long reduction with few results; None when it is short enough."""
        count, results = product([axis.extent for axis in self.inner]), product(self.sizes)
        longest, most = (LONG_COLUMN, WIDE_COLUMN) if self.is_outer else (LONG_ROW, FEW_ROWS)
        if estimate(count) < longest or estimate(results) > most:
            return None
        if not count.is_const:
            return CHUNKS[0] if estimate(self.divided.extent) >= CHUNKS[0] else None
        return next((n for n in CHUNKS if count.value % n == 0), None)

    @property
    def divided(self) -> Axis:
        """The inner axis that chunks divide: the outermost one that is long enough."""
        return max(self.inner, key=lambda axis: min(estimate(axis.extent), CHUNKS[0]))


def position_symbol(position: Expr) -> Symbol:
    """Return a coordinate, which is a symbol."""
    assert isinstance(position, Symbol), f"{position} is no symbol"
    return position


def _dims(dims: object, rank: int) -> frozenset[int]:
    """Return the reduced dimensions; None and an empty list mean all."""
    given = [] if dims is None else listed(dims)
    return frozenset(dimension(dim, rank) for dim in given) if given and rank else frozenset(range(rank))


def _accumulate(state: Lowering, node: Node, reduction: Reduction, op: str, dtype: DType) -> str:
    """Define the auxiliary value `<node>.acc`: the reduction of the operand in `dtype`; return its name."""
    operand = state.tensor(node.args[0])
    meta = contiguous(reduction.sizes, dtype)
    chunks = reduction.chunks
    if chunks is not None:
        partial = contiguous((chunks, *reduction.sizes), dtype)
        is_fixed = all(axis.extent.is_const for axis in reduction.inner)
        state.define((_equal_chunks if is_fixed else _chunks)(state, node, reduction, op, partial))
        return _of_chunks(state, node, op, partial)
    body = Body(meta, reduction.inner)
    x: Scalar = body.load(str(node.args[0]), operand.dtype, reduction.index)
    x = body.named(body.cast(x, operand.dtype.compute), dtype)
    name = f"{node.name}.acc"
    state.define(_reduced(body, name, x, op, reduction))
    return name


def _equal_chunks(state: Lowering, node: Node, reduction: Reduction, op: str, meta: TensorMeta) -> Definition:
    """Return `<node>.part`, the reductions of as many chunks as the first size of `meta` says."""
    operand = state.tensor(node.args[0])
    sizes = [axis.extent for axis in reduction.inner]
    count, chunks = product(sizes).value, meta.sizes[0].value
    step = Axis(coordinate("j", 0, const(count // chunks)), const(count // chunks))
    part = Body(meta, (step,))
    place: dict[Symbol, Expr] = dict(zip(coordinates(reduction.sizes), part.axes[1:], strict=True))
    inner = unlinear(part.axes[0] * step.extent + step.symbol, sizes)
    place.update((axis.symbol, e) for axis, e in zip(reduction.inner, inner, strict=True))
    x: Scalar = part.load(str(node.args[0]), operand.dtype, at(reduction.index, place))
    x = part.named(part.cast(x, operand.dtype.compute), meta.dtype)
    rows = [Axis(axis, size) for axis, size in zip(part.axes, meta.sizes, strict=True)]
    domain = (rows[0], step, *rows[1:]) if reduction.is_outer else (*rows, step)
    return part.definition(f"{node.name}.part", meta, x, reduce=op, domain=domain)


def _chunks(state: Lowering, node: Node, reduction: Reduction, op: str, meta: TensorMeta) -> Definition:
    """Return what `_equal_chunks` does of one axis: the last chunks are shorter, or empty."""
    operand, along = state.tensor(node.args[0]), reduction.divided
    length = (along.extent + meta.sizes[0] - 1) // meta.sizes[0]
    step = Axis(coordinate("j", operand.rank, length), length)
    part = Body(meta, [step if axis is along else axis for axis in reduction.inner])
    position = part.axes[0] * length + step.symbol
    place: dict[Symbol, Expr] = dict(zip(coordinates(reduction.sizes), part.axes[1:], strict=True))
    place[along.symbol] = position
    scalar = part.index(position)
    end = part.cast(part.index(along.extent), part.dtypes[scalar])
    index, mask = at(reduction.index, place), part.compute("lt", DType.BOOL, scalar, end)
    x: Scalar = part.load(str(node.args[0]), operand.dtype, index, mask, _neutral(op, operand.dtype))
    x = part.named(part.cast(x, operand.dtype.compute), meta.dtype)
    axes = [
        step
        if axis.symbol is along.symbol
        else Axis(position_symbol(place.get(axis.symbol, axis.symbol)), axis.extent)
        for axis in reduction.domain
    ]
    domain = (Axis(part.axes[0], meta.sizes[0]), *axes)
    return part.definition(f"{node.name}.part", meta, x, reduce=op, domain=domain)


def _neutral(op: str, dtype: DType) -> float:
    """Return the number that changes no result of a reduction."""
    return {"max": least, "min": greatest}[op](dtype) if op in ("max", "min") else _NEUTRAL[op]


def _of_chunks(state: Lowering, node: Node, op: str, meta: TensorMeta) -> str:
    """Define `<node>.acc`: the reduction of the chunks' results, of metadata `meta`; return its name."""
    chunk = Axis(coordinate("j", 0, meta.sizes[0]), meta.sizes[0])
    whole = contiguous(meta.sizes[1:], meta.dtype)
    body = Body(whole, (chunk,))
    result = body.load(f"{node.name}.part", meta.dtype, (chunk.symbol, *body.axes))
    rows = [Axis(axis, size) for axis, size in zip(body.axes, whole.sizes, strict=True)]
    name = f"{node.name}.acc"
    state.define(body.definition(name, whole, result, reduce=op, domain=(chunk, *rows)))
    return name


def _reduced(body: Body, name: str, operand: Scalar, op: str, reduction: Reduction) -> Definition:
    """Return the definition of a reduction; one of single elements is the element, at place 0."""
    if not reduction.is_single:
        return body.definition(name, body.meta, operand, reduce=op, domain=reduction.domain)
    if op == "sum" and body.meta.dtype.is_float and isinstance(operand, str):
        operand = body.compute("add", body.meta.dtype, operand, 0.0)  # no sum is -0.0
    single = Body(body.meta)
    place = {axis.symbol: const(0) for axis in reduction.inner}
    single.statements = [
        replace(s, index=at(s.index, place)) if isinstance(s, Load) else s for s in body.statements
    ]
    return single.definition(name, body.meta, 0 if op in PLACES else operand)


_PLAIN: Final = {
    "aten.sum.dim_IntList": "sum",
    "aten.prod.dim_int": "prod",
    **{f"aten.a{op}.default": op for op in ("max", "min")},
    **{f"aten.{op}.dims": op for op in ("any", "all")},
    **{f"aten.{op}.default": op for op in ("argmax", "argmin")},
}
_NEUTRAL: Final = {"sum": 0, "prod": 1, "any": False, "all": True}


@lowerings.on(*_PLAIN)
def _(state: Lowering, node: Node) -> None:
    """One reduction of the operand, in the dtype in which eager accumulates."""
    op = _PLAIN[node.op.name]
    meta = state.result(node)
    keepdim = bool(argument(node, 2, "keepdim", False))
    reduction = Reduction(state.tensor(node.args[0]), argument(node, 1, "dim", None), keepdim=keepdim)
    if any(axis.extent is const(0) for axis in reduction.inner):
        is_greatest_float = op == "max" and meta.dtype.is_float
        if op not in _NEUTRAL and not is_greatest_float:
            raise NotLowered(f"{op} of nothing raises in eager")
        state.define(Body(meta).definition(node.name, meta, number(_neutral(op, meta.dtype), meta.dtype)))
        return
    if op in PLACES:
        state.define(_position(state, node, meta, reduction, op))
        return
    dtype = DType.BOOL if op in ("any", "all") else meta.dtype.compute
    body = Body(meta)
    x = body.load(_accumulate(state, node, reduction, op, dtype), dtype, body.axes)
    state.define(body.definition(node.name, meta, body.cast(x, meta.dtype)))


def _position(state: Lowering, node: Node, meta: TensorMeta, reduction: Reduction, op: str) -> Definition:
    """Return the position of the greatest or least element, in the operand's row-major order."""
    operand = state.tensor(node.args[0])
    body = Body(meta, reduction.inner)
    loaded = body.load(str(node.args[0]), operand.dtype, reduction.index)
    x = body.cast(loaded, DType.U8 if operand.dtype is DType.BOOL else operand.dtype.compute)
    return _reduced(body, node.name, x, op, reduction)

"""Reductions: a value over an inner domain, and what eager computes from it.

Sums of bf16 and f16 accumulate in f32 and are rounded once, as in eager.
"""

from dataclasses import replace
from typing import Final

from supple.expr import Expr, Symbol, const
from supple.ir.dtypes import DType
from supple.ir.graph.nodes import Node
from supple.ir.loops.nodes import Axis, Load, Scalar
from supple.ir.meta import TensorMeta, contiguous
from supple.schedule.define import Body, Definition, coordinates, number
from supple.schedule.deps import at
from supple.schedule.lower import Lowering, NotLowered, lowerings
from supple.schedule.views import argument, dimension, listed


class Reduction:
    """The domain of one reduction: which coordinates of the operand are outer, which inner."""

    def __init__(self, operand: TensorMeta, dims: object, *, keepdim: bool) -> None:
        chosen = _dims(dims, operand.rank)
        inner = coordinates(operand.sizes, "j")
        kept: list[Expr] = []
        position: list[Expr] = []
        for dim, size in enumerate(operand.sizes):
            if dim not in chosen or keepdim:
                kept.append(const(1) if dim in chosen else size)
        outer = coordinates(kept)
        place = 0
        for dim in range(operand.rank):
            position.append(inner[dim] if dim in chosen else outer[place])
            place += keepdim or dim not in chosen
        self.sizes = tuple(kept)
        self.index = tuple(position)
        self.inner = tuple(Axis(inner[dim], operand.sizes[dim]) for dim in sorted(chosen))
        self.is_single = all(axis.extent is const(1) for axis in self.inner)
        self.domain = tuple(
            Axis(inner[dim] if dim in chosen else position_symbol(position[dim]), operand.sizes[dim])
            for dim in range(operand.rank)
        )


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
    body = Body(meta, reduction.inner)
    x: Scalar = body.load(str(node.args[0]), operand.dtype, reduction.index)
    x = body.named(body.cast(x, operand.dtype.compute), dtype)
    name = f"{node.name}.acc"
    state.define(_reduced(body, name, x, op, reduction))
    return name


def _reduced(body: Body, name: str, operand: Scalar, op: str, reduction: Reduction) -> Definition:
    """Return the definition of a reduction; one of single elements is the element, at place 0."""
    if not reduction.is_single:
        return body.definition(name, body.meta, operand, reduce=op, domain=reduction.domain)
    single = Body(body.meta)
    place = {axis.symbol: const(0) for axis in reduction.inner}
    single.statements = [
        replace(s, index=at(s.index, place)) if isinstance(s, Load) else s for s in body.statements
    ]
    return single.definition(name, body.meta, 0 if op in _PLACES else operand)


def _finish(state: Lowering, name: str, meta: TensorMeta, source: str) -> None:
    """Define `name` as the auxiliary value `source` in the result's dtype."""
    accumulated = state.tensor_named(source)
    body = Body(meta)
    x = body.load(source, accumulated.dtype, body.axes)
    state.define(body.definition(name, meta, body.cast(x, meta.dtype)))


_PLAIN: Final = {
    "aten.sum.dim_IntList": "sum",
    "aten.prod.dim_int": "prod",
    "aten.amax.default": "max",
    "aten.amin.default": "min",
    "aten.any.dims": "any",
    "aten.all.dims": "all",
    "aten.argmax.default": "argmax",
    "aten.argmin.default": "argmin",
}
_PLACES: Final = ("argmax", "argmin")
_NEUTRAL: Final = {"sum": 0, "prod": 1, "any": False, "all": True}


def _reduction(state: Lowering, node: Node, keepdim_at: int = 2) -> Reduction:
    operand = state.tensor(node.args[0])
    keepdim = bool(argument(node, keepdim_at, "keepdim", False))
    return Reduction(operand, argument(node, 1, "dim", None), keepdim=keepdim)


@lowerings.on(*_PLAIN)
def _(state: Lowering, node: Node) -> None:
    """One reduction of the operand, in the dtype in which eager accumulates."""
    op = _PLAIN[node.op.name]
    meta = state.result(node)
    reduction = _reduction(state, node)
    if _is_empty(reduction):
        if op not in _NEUTRAL:
            msg = f"{op} of nothing raises in eager"
            raise NotLowered(msg)
        state.define(Body(meta).definition(node.name, meta, number(_NEUTRAL[op], meta.dtype)))
        return
    if op in _PLACES:
        _argument(state, node, node.name, meta, reduction, op)
        return
    dtype = DType.BOOL if op in ("any", "all") else meta.dtype.compute
    _finish(state, node.name, meta, _accumulate(state, node, reduction, op, dtype))


def _argument(
    state: Lowering, node: Node, name: str, meta: TensorMeta, reduction: Reduction, op: str
) -> None:
    """Define the position of the greatest or least element, in the operand's row-major order."""
    operand = state.tensor(node.args[0])
    body = Body(meta, reduction.inner)
    loaded = body.load(str(node.args[0]), operand.dtype, reduction.index)
    x = body.cast(loaded, DType.U8 if operand.dtype is DType.BOOL else operand.dtype.compute)
    state.define(_reduced(body, name, x, op, reduction))


def _is_empty(reduction: Reduction) -> bool:
    return any(axis.extent is const(0) for axis in reduction.inner)

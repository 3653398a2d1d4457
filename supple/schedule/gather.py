"""Values read at chosen places: masked pieces (cat, pad, scatter), integer tensors as coordinates."""

from collections.abc import Sequence
from functools import partial, reduce
from typing import Final

from supple.expr import Expr, const
from supple.ir.dtypes import DType
from supple.ir.graph.nodes import Node
from supple.ir.loops.nodes import Scalar
from supple.schedule.define import Body, number
from supple.schedule.lower import Lowering, NotLowered, as_fixed, lowerings
from supple.schedule.views import argument, dimension, integer, listed, place_from_front

MOST_PIECES: Final = 256
"""So many tensors are joined by one kernel; it asks at each point in which of them that lies."""


def _inside(
    body: Body, place: Expr, size: Expr, *, from_zero: bool = True, to_end: bool = True
) -> str | None:
    """Return the b1 scalar `0 <= place < size`, leaving out the ends that hold; None if both do."""
    scalar = body.index(place)
    tests: list[str] = []
    if from_zero:
        tests.append(body.compute("ge", DType.BOOL, scalar, 0))
    if to_end:
        tests.append(body.compute("lt", DType.BOOL, scalar, _bound(body, scalar, size)))
    return _all(body, tests)


def _bound(body: Body, scalar: str, size: Expr) -> Scalar:
    return size.value if size.is_const else body.cast(body.index(size), body.dtypes[scalar])


@lowerings.on("aten.cat.default")
def _(state: Lowering, node: Node) -> None:
    """The piece in whose range the coordinate lies."""
    meta = state.result(node)
    pieces = [(str(arg), state.tensor(arg)) for arg in listed(node.args[0])]
    if any(piece.dtype is not meta.dtype for _, piece in pieces):
        raise NotLowered("pieces of several dtypes")
    if len(pieces) > MOST_PIECES:
        raise NotLowered("a kernel of so many pieces takes seconds to compile")
    dim = dimension(argument(node, 1, "dim", 0), meta.rank)
    body = Body(meta)
    start = const(0)
    loaded: list[tuple[str, str | None]] = []
    for number_, (name, piece) in enumerate(pieces):
        place = body.axes[dim] - start
        is_last = number_ == len(pieces) - 1
        mask = _inside(body, place, piece.sizes[dim], from_zero=number_ > 0, to_end=not is_last)
        index = (*body.axes[:dim], place, *body.axes[dim + 1 :])
        loaded.append((body.load(name, meta.dtype, index, mask), mask))
        start = start + piece.sizes[dim]
    result = loaded[-1][0]
    for scalar, mask in reversed(loaded[:-1]):
        assert mask is not None, "only the last piece has no end"
        result = body.compute("where", meta.dtype, mask, scalar, result)
    state.define(body.definition(node.name, meta, result))


@lowerings.on("aten.constant_pad_nd.default")
def _(state: Lowering, node: Node) -> None:
    """The operand inside its old bounds, a number outside."""
    meta = state.result(node)
    base = state.tensor(node.args[0])
    body = Body(meta)
    value = argument(node, 2, "value", 0)
    if not isinstance(value, (int, float)):
        raise NotLowered("the padding is no fixed number")
    index: list[Expr] = list(body.axes)
    masks: list[str] = []
    amounts = listed(node.args[1])
    for pair in range(len(amounts) // 2):
        dim = meta.rank - 1 - pair
        left, right = integer(amounts[2 * pair]), integer(amounts[2 * pair + 1])
        index[dim] = body.axes[dim] - left
        grows = [not (amount.is_const and amount.value <= 0) for amount in (left, right)]
        mask = _inside(body, index[dim], base.sizes[dim], from_zero=grows[0], to_end=grows[1])
        masks += [mask] if mask is not None else []
    fill = number(value, meta.dtype)
    padded = body.load(str(node.args[0]), meta.dtype, index, _all(body, masks), fill)
    state.define(body.definition(node.name, meta, padded))


def _all(body: Body, masks: Sequence[str]) -> str | None:
    """Return the conjunction of b1 scalars; None of none."""
    return reduce(partial(body.compute, "and", DType.BOOL), masks) if masks else None


@lowerings.on("aten.slice_scatter.default")
def _(state: Lowering, node: Node) -> None:
    """The source inside the slice, else the operand."""
    meta = state.result(node)
    base, source = state.tensor(node.args[0]), state.tensor(node.args[1])
    dim = dimension(argument(node, 2, "dim", 0), meta.rank)
    start_arg = argument(node, 3, "start", None)
    start = place_from_front(0 if start_arg is None else start_arg, base.sizes[dim])
    step = as_fixed(argument(node, 5, "step", 1))
    body = Body(meta)
    place = body.axes[dim] - start
    mask = _inside(body, place // step, source.sizes[dim])
    assert mask is not None, "both ends were asked for"
    if step != 1:
        on_step = body.compute("eq", DType.BOOL, body.index(place % step), 0)
        mask = body.compute("and", DType.BOOL, mask, on_step)
    _replaced(state, node, body, mask, (*body.axes[:dim], place // step, *body.axes[dim + 1 :]))


@lowerings.on("aten.select_scatter.default")
def _(state: Lowering, node: Node) -> None:
    """The source in one row, else the operand."""
    meta = state.result(node)
    dim = dimension(node.args[2], meta.rank)
    row = place_from_front(node.args[3], meta.sizes[dim])
    body = Body(meta)
    scalar = body.index(body.axes[dim])
    mask = body.compute("eq", DType.BOOL, scalar, _bound(body, scalar, row))
    _replaced(state, node, body, mask, (*body.axes[:dim], *body.axes[dim + 1 :]))


def _replaced(state: Lowering, node: Node, body: Body, mask: str, index: Sequence[Expr]) -> None:
    """Define the first operand with the second, read at `index`, where the mask holds."""
    meta, source = state.result(node), state.tensor(node.args[1])
    new = body.load(str(node.args[1]), source.dtype, index, mask)
    outside = body.compute("not", DType.BOOL, mask)
    old = body.load(str(node.args[0]), meta.dtype, body.axes, outside)
    state.define(body.definition(node.name, meta, body.compute("where", meta.dtype, mask, new, old)))

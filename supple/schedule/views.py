"""Views as coordinate maps: reading the view at a point is reading its base at another. They cost nothing.

A rule returns, for the result's coordinates, those of the base. Ops that share storage in eager
(`op.is_view`) become aliases, so that a library call gets the same strided tensor as in eager; flip, roll
and the like do not.
"""

from collections.abc import Callable, Sequence
from typing import Final, cast

from supple.base.rules import Rules
from supple.expr import Expr, as_expr, const, exact_quotient, less, less_equal, maximum
from supple.ir.graph.nodes import Node
from supple.ir.meta import TensorMeta, contiguous_strides
from supple.schedule.coordinates import dotted
from supple.schedule.define import Body, broadcast_index
from supple.schedule.lower import Lowering, NotLowered, as_fixed, lowerings
from supple.shapes.decide import is_known

Index = tuple[Expr, ...]
ViewRule = Callable[[TensorMeta, TensorMeta, Index, Node], Index]
views: Final[Rules[ViewRule]] = Rules("views")


def view(*names: str) -> Callable[[ViewRule], ViewRule]:
    """Return a decorator that registers a map (base, result, result's coordinates, node) -> base's."""

    def register(rule: ViewRule) -> ViewRule:
        views.on(*names)(rule)
        lowerings.on(*names)(_lower_view)
        return rule

    return register


def _lower_view(state: Lowering, node: Node) -> None:
    meta = state.result(node)
    base, name = state.tensor(node.args[0]), str(node.args[0])
    body = Body(meta)
    body.load(name, base.dtype, views[node.op.name](base, meta, body.axes, node))
    state.define(body.definition(node.name, meta, alias_of=name if node.op.is_view else None))


def linear(index: Sequence[Expr], sizes: Sequence[Expr]) -> Expr:
    """Return the row-major position of a point."""
    return dotted(index, contiguous_strides(sizes))


def unlinear(position: Expr, sizes: Sequence[Expr]) -> Index:
    """Return the point at a row-major position."""
    index: list[Expr] = []
    for number, (size, stride) in enumerate(zip(sizes, contiguous_strides(sizes), strict=True)):
        if size is const(1):
            index.append(const(0))
            continue
        quotient = position // stride
        index.append(quotient if all(s is const(1) for s in sizes[:number]) else quotient % size)
    return tuple(index)


def reshaped(index: Sequence[Expr], sizes: Sequence[Expr], onto: Sequence[Expr]) -> Index:
    """Return the point of a tensor of sizes `onto` that a reshape to `sizes` shows at `index`.

    Runs of dimensions with equal products are mapped by themselves, so that equal dimensions stay untouched.
    """
    if any(size is const(0) for size in (*sizes, *onto)):
        return tuple(const(0) for _ in onto)
    result: list[Expr] = []
    here = there = 0
    while there < len(onto):
        mine, theirs = here + 1, there + 1
        left = sizes[here] if here < len(sizes) else const(1)
        right = onto[there]
        while left is not right:
            grow_left = _grows_first(left, right)
            if grow_left is None:
                return unlinear(linear(index, sizes), onto)
            if grow_left and mine < len(sizes):
                left, mine = left * sizes[mine], mine + 1
            elif theirs < len(onto):
                right, theirs = right * onto[theirs], theirs + 1
            elif mine < len(sizes):
                left, mine = left * sizes[mine], mine + 1
            else:
                return unlinear(linear(index, sizes), onto)
        result.extend(unlinear(linear(index[here:mine], sizes[here:mine]), onto[there:theirs]))
        here, there = mine, theirs
    return tuple(result)


def _grows_first(left: Expr, right: Expr) -> bool | None:
    """Tell whether the left product must grow to become equal; None where neither divides the other."""
    if left.is_const and right.is_const:
        return left.value < right.value
    if exact_quotient(right, left) is not None:
        return True
    return None if exact_quotient(left, right) is None else False


def dimension(arg: object, rank: int) -> int:
    """Return a dimension argument as an index from the front."""
    dim = as_fixed(arg)
    return dim + rank if dim < 0 else dim


def listed(arg: object) -> list[object]:
    """Return a list argument; one item stands for a list of one."""
    if isinstance(arg, (list, tuple)):
        return list(cast("list[object]", arg))
    return [arg]


def argument(node: Node, position: int, name: str, default: object) -> object:
    """Return an argument given by position or by name."""
    return node.args[position] if position < len(node.args) else node.kwargs.get(name, default)


@view("aten.view.default", "aten.unsqueeze.default", "aten.squeeze.dims")
def _(base: TensorMeta, meta: TensorMeta, index: Index, node: Node) -> Index:
    """The same elements in row-major order under other sizes."""
    return reshaped(index, meta.sizes, base.sizes)


@view("aten.permute.default")
def _(base: TensorMeta, meta: TensorMeta, index: Index, node: Node) -> Index:
    """Dimensions in another order."""
    result = list(index)
    for mine, theirs in enumerate(listed(node.args[1])):
        result[dimension(theirs, base.rank)] = index[mine]
    return tuple(result)


@view("aten.expand.default")
def _(base: TensorMeta, meta: TensorMeta, index: Index, node: Node) -> Index:
    """A dimension of size 1 read again and again."""
    return broadcast_index(index, base.sizes)


@view("aten.slice.Tensor")
def _(base: TensorMeta, meta: TensorMeta, index: Index, node: Node) -> Index:
    """Every step-th element from start."""
    dim = dimension(argument(node, 1, "dim", 0), base.rank)
    start = argument(node, 2, "start", None)
    step = argument(node, 4, "step", 1)
    first = place_from_front(0 if start is None else start, base.sizes[dim])
    result = list(index)
    result[dim] = index[dim] * integer(step) + first
    return tuple(result)


def integer(arg: object) -> Expr:
    """Return an integer argument as an expression.

    Raises:
        NotLowered: it is none.
    """
    if isinstance(arg, (int, Expr)):
        return as_expr(arg)
    raise NotLowered(f"{arg} is no integer")


def place_from_front(position: object, size: Expr) -> Expr:
    """Return a position counted from the front; beyond the size there is nothing that is read.

    Raises:
        NotLowered: it is not known whether the position counts from the end.
    """
    place = integer(position)
    if is_known(less_equal(0, place)):
        return place
    if not is_known(less(place, 0)):
        raise NotLowered(f"{place} may be negative or not")
    return size + place if is_known(less_equal(0, size + place)) else maximum(size + place, 0)


@view("aten.select.int")
def _(base: TensorMeta, meta: TensorMeta, index: Index, node: Node) -> Index:
    """One position of a dimension, which disappears."""
    dim = dimension(node.args[1], base.rank)
    place = place_from_front(node.args[2], base.sizes[dim])
    return (*index[:dim], place, *index[dim:])


@view("aten.flip.default")
def _(base: TensorMeta, meta: TensorMeta, index: Index, node: Node) -> Index:
    """Dimensions read backwards."""
    result = list(index)
    for dim in listed(node.args[1]):
        place = dimension(dim, base.rank)
        result[place] = base.sizes[place] - 1 - index[place]
    return tuple(result)


@view("aten.roll.default")
def _(base: TensorMeta, meta: TensorMeta, index: Index, node: Node) -> Index:
    """Dimensions rotated; without dimensions the flattened tensor."""
    shifts = listed(node.args[1])
    dims = listed(argument(node, 2, "dims", []))
    if not dims:
        total = meta.numel
        return unlinear((linear(index, meta.sizes) - integer(shifts[0])) % total, base.sizes)
    result = list(index)
    for shift, dim in zip(shifts, dims, strict=True):
        place = dimension(dim, base.rank)
        result[place] = (result[place] - integer(shift)) % base.sizes[place]
    return tuple(result)


@view("aten.diagonal.default")
def _(base: TensorMeta, meta: TensorMeta, index: Index, node: Node) -> Index:
    """The elements with equal coordinates in two dimensions, moved to the end."""
    offset = as_fixed(argument(node, 1, "offset", 0))
    first = dimension(argument(node, 2, "dim1", 0), base.rank)
    second = dimension(argument(node, 3, "dim2", 1), base.rank)
    others = iter(index[:-1])
    along = index[-1]
    places = {first: along + max(-offset, 0), second: along + max(offset, 0)}
    return tuple(places[dim] if dim in places else next(others) for dim in range(base.rank))


@view("aten.unfold.default")
def _(base: TensorMeta, meta: TensorMeta, index: Index, node: Node) -> Index:
    """Windows of a dimension; the place in the window is the last dimension."""
    if not base.rank:
        raise NotLowered("a window of a number")
    dim = dimension(node.args[1], base.rank)
    place = index[dim] * integer(node.args[3]) + index[-1]
    return (*index[:dim], place, *index[dim + 1 : -1])


@view("aten.as_strided.default")
def _(base: TensorMeta, meta: TensorMeta, index: Index, node: Node) -> Index:
    """Elements of the storage, of a base that is its whole storage in row-major order."""
    if not base.is_contiguous or base.offset is not const(0):
        raise NotLowered("as_strided of a tensor that is not its storage in order")
    if not is_known(less_equal(meta.offset + meta.reach, base.numel)):
        raise NotLowered("as_strided may go beyond the tensor, and torch knows whether beyond its memory")
    return unlinear(meta.offset + dotted(index, meta.strides), base.sizes)

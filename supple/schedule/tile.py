"""Tile: a kernel's statements at logical coordinates become a nest over element offsets.

In order: coordinates become offsets by the buffers' strides; axes are split where an offset divides by a
fixed number, so that views leave no divisions; the vector axis is chosen (unit strides, stores count
double); rows are ordered by the strides of what is stored; neighbouring axes that every offset walks as one
are joined.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from supple import expr
from supple.expr import Expr, Symbol, const, exact_quotient, free_symbols, sort_key, substitute
from supple.ir.loops import nodes
from supple.ir.loops.nodes import flat
from supple.ir.loops.types import definitions
from supple.ir.meta import TensorMeta
from supple.schedule.build import Built
from supple.schedule.coordinates import Ranges, dotted, estimate, has_division, ranges_of
from supple.schedule.define import PLACES, coordinate
from supple.schedule.exact import exact

STORE_WEIGHT: Final = 4
LOAD_WEIGHT: Final = 2
Map = Callable[[Expr], Expr]
Change = Callable[[nodes.Statement], nodes.Statement]


@dataclass(frozen=True, slots=True)
class Space:
    """The axes of a kernel and its statements."""

    rows: tuple[nodes.Axis, ...]
    loops: tuple[nodes.Axis, ...]
    body: tuple[nodes.Statement, ...]


def changed(body: Sequence[nodes.Statement], change: Change) -> tuple[nodes.Statement, ...]:
    """Return statements with all but loops changed; loops keep their axes."""
    return tuple(
        replace(s, body=changed(s.body, change)) if isinstance(s, nodes.Loop) else change(s) for s in body
    )


def mapped(body: Sequence[nodes.Statement], change: Map) -> tuple[nodes.Statement, ...]:
    """Return statements with every index expression changed."""

    def with_index(statement: nodes.Statement) -> nodes.Statement:
        match statement:
            case nodes.Load() | nodes.Store():
                return replace(statement, index=tuple(change(e) for e in statement.index))
            case nodes.IndexValue():
                return replace(statement, value=change(statement.value))
            case _:
                return statement

    return changed(body, with_index)


def exprs(body: Sequence[nodes.Statement]) -> Iterator[Expr]:
    """Yield every index expression."""
    for statement in flat(body):
        if isinstance(statement, (nodes.Load, nodes.Store)):
            yield from statement.index
        elif isinstance(statement, nodes.IndexValue):
            yield statement.value


def linearised(
    body: Sequence[nodes.Statement], strides: Mapping[str, tuple[Expr, ...]], known: Ranges
) -> tuple[nodes.Statement, ...]:
    """Return statements whose loads and stores have one index: the element offset in the buffer."""

    def with_offset(statement: nodes.Statement) -> nodes.Statement:
        if not isinstance(statement, (nodes.Load, nodes.Store)):
            return statement
        offset = dotted(statement.index, strides[statement.buffer])
        return replace(statement, index=(known(offset),))

    return changed(body, with_offset)


# Splitting.


def _divisors(e: Expr, axis: Symbol) -> Iterator[Expr]:
    """Yield the numbers by which `e` divides `axis` itself."""
    if axis not in free_symbols(e):
        return
    if isinstance(e, (expr.FloorDiv, expr.Mod)):
        numerator, divisor = e.args
        if numerator is axis:
            yield divisor
        elif isinstance(numerator, expr.FloorDiv) and numerator.args[0] is axis:
            yield divisor * numerator.args[1]
    for arg in e.args:
        yield from _divisors(arg, axis)


def _steps(axis: nodes.Axis, found: set[Expr]) -> list[Expr]:
    """Return those numbers, ascending, that divide one another and the extent."""
    steps: list[Expr] = []
    last = const(1)
    for step in sorted(found, key=lambda e: (estimate(e), sort_key(e))):
        is_whole = exact_quotient(step, last) is not None and exact_quotient(axis.extent, step) is not None
        if step is not last and step is not axis.extent and is_whole:
            steps.append(step)
            last = step
    return steps


def split(space: Space) -> Space:
    """Return the space with axes split where an index divides them by a fixed number."""
    everything = tuple(dict.fromkeys(exprs(space.body)))
    if not any(map(has_division, everything)):
        return space
    replacements: dict[Symbol, Expr] = {}
    parts: dict[Symbol, tuple[nodes.Axis, ...]] = {}
    fresh = 0
    for axis in (*space.rows, *space.loops):
        steps = _steps(axis, {d for e in everything for d in _divisors(e, axis.symbol)})
        if not steps:
            continue
        pieces: list[nodes.Axis] = []
        whole = const(0)
        for low, high in zip([const(1), *steps], [*steps, axis.extent], strict=True):
            extent = exact_quotient(high, low)
            assert extent is not None, f"{low} does not divide {high}"
            piece = coordinate("y", fresh, extent)
            fresh += 1
            pieces.insert(0, nodes.Axis(piece, extent))
            whole = whole + piece * low
        replacements[axis.symbol] = whole
        parts[axis.symbol] = tuple(pieces)
    if not replacements:
        return space
    rows = tuple(piece for axis in space.rows for piece in parts.get(axis.symbol, (axis,)))
    loops = tuple(piece for axis in space.loops for piece in parts.get(axis.symbol, (axis,)))
    known = ranges_of((*rows, *loops))
    return Space(rows, loops, mapped(space.body, lambda e: known(substitute(e, replacements))))


# Choosing the vector axis and the order of the rows.


def _score(body: Sequence[nodes.Statement], axis: Symbol) -> int:
    """Return how well an axis suits vectors: unit strides count for it, other strides against it."""
    score = 0
    for statement in flat(body):
        if isinstance(statement, (nodes.Load, nodes.Store)):
            weight = STORE_WEIGHT if isinstance(statement, nodes.Store) else LOAD_WEIGHT
            step = _step(statement.index[0], axis)
            score += weight if step is const(1) else 0 if step is const(0) else -weight
    return score


def _step(e: Expr, axis: Symbol) -> Expr | None:
    """Return how far `e` moves when the axis does; None when that varies."""
    if axis not in free_symbols(e):
        return const(0)
    found = expr.coefficient(e, axis)
    return None if found is None else found[0]


def vector_axis(space: Space) -> nodes.Axis | None:
    """Return the axis for vectors: the one with the best score, the later of equals; None without axes."""
    axes = (*space.loops[::-1], *space.rows[::-1])
    return max(axes, key=lambda axis: _score(space.body, axis.symbol), default=None)


def _stride_key(body: Sequence[nodes.Statement], axis: nodes.Axis) -> tuple[int, ...]:
    """Return a key that puts axes with large steps in the stored buffers first."""
    stores = (statement for statement in flat(body) if isinstance(statement, nodes.Store))
    steps = (_step(store.index[0], axis.symbol) for store in stores)
    return tuple(-(2**62) if step is None else -estimate(step) for step in steps)


def arranged(space: Space) -> tuple[Space, nodes.Axis | None]:
    """Return the space with rows ordered by what they store and the vector axis last, and that axis."""
    vector = vector_axis(space)
    rows = sorted(space.rows, key=lambda axis: _stride_key(space.body, axis))
    loops = list(space.loops)
    if vector in rows:
        rows.remove(vector)
        rows.append(vector)
    elif vector in loops:
        reduces = (r for s in flat(space.body) if isinstance(s, nodes.Loop) for r in s.reduces)
        if any(reduce.op in PLACES for reduce in reduces):
            vector = loops[-1]
        else:
            loops.remove(vector)
            loops.append(vector)
    return Space(tuple(rows), tuple(loops), space.body), vector


# Joining.


def _joins(everything: Sequence[Expr], outer: nodes.Axis, inner: nodes.Axis) -> bool:
    """Tell whether every expression depends on the two axes only by `outer * extent(inner) + inner`."""
    for e in everything:
        symbols = free_symbols(e)
        if outer.symbol not in symbols and inner.symbol not in symbols:
            continue
        big, small = _step(e, outer.symbol), _step(e, inner.symbol)
        if big is None or small is None or big is not small * inner.extent:
            return False
    return True


def joined(space: Space) -> Space:
    """Return the space with neighbouring axes that are walked as one joined into one."""
    rows, body = _joined(space.rows, space.body)
    loops, body = _joined(space.loops, body)
    return Space(rows, loops, body)


def _joined(
    axes: tuple[nodes.Axis, ...], body: tuple[nodes.Statement, ...]
) -> tuple[tuple[nodes.Axis, ...], tuple[nodes.Statement, ...]]:
    fresh = 0
    for place in reversed(range(len(axes) - 1)):
        outer, inner = axes[place], axes[place + 1]
        if _joins(tuple(dict.fromkeys(exprs(body))), outer, inner):
            extent = outer.extent * inner.extent
            whole = coordinate(f"z{fresh}_{inner.symbol.name}_", 0, extent)
            fresh += 1
            change = {outer.symbol: const(0), inner.symbol: whole}
            body = mapped(body, lambda e, change=change: expr.simplify(substitute(e, change)))
            axes = (*axes[:place], nodes.Axis(whole, extent), *axes[place + 2 :])
    return axes, body


# The nest.


def tile(
    built: Built, metas: Mapping[str, TensorMeta], name: Callable[[Expr], Symbol] | None = None
) -> nodes.Nest:
    """Return the kernel as a nest; its name is empty, its buffers are named by the values they hold.

    Args:
        name: gives the symbol for a number that the host computes (see `exact`).
    """
    strides: dict[str, tuple[Expr, ...]] = {item.name: (const(1),) for item in built.scratch}
    for statement in flat(built.body):
        if isinstance(statement, (nodes.Load, nodes.Store)) and statement.buffer not in strides:
            strides[statement.buffer] = metas[statement.buffer].strides
    kernel = built.kernel
    space = Space(kernel.rows, kernel.loops, linearised(built.body, strides, ranges_of(kernel.axes)))
    space, vector = arranged(split(space))
    is_in_loop = vector is not None and vector in space.loops
    space = joined(space)
    loops = _with_roles(space.loops, nodes.Role.SERIAL, is_vector=is_in_loop)
    rows = _with_roles(space.rows, nodes.Role.PARALLEL, is_vector=vector is not None and not is_in_loop)
    body = tuple(replace(s, axes=loops) if isinstance(s, nodes.Loop) else s for s in space.body)
    buffers = _buffers(body, built, metas)
    nest = nodes.Nest("", buffers, _sizes(rows, body, buffers), rows, body, _origin(built))
    return nest if name is None else _with_numbers(nest, name)


def _with_numbers(nest: nodes.Nest, name: Callable[[Expr], Symbol]) -> nodes.Nest:
    """Return the nest with numbers of the host in place of arithmetic that 64 bits may not hold."""
    sizes = frozenset(nest.sizes)

    def change(e: Expr) -> Expr:
        return exact(e, sizes, name)

    def axes(found: tuple[nodes.Axis, ...]) -> tuple[nodes.Axis, ...]:
        return tuple(replace(axis, extent=change(axis.extent)) for axis in found)

    body = tuple(
        replace(s, axes=axes(s.axes)) if isinstance(s, nodes.Loop) else s for s in mapped(nest.body, change)
    )
    buffers = tuple(replace(buffer, size=change(buffer.size)) for buffer in nest.buffers)
    rows = axes(nest.axes)
    return replace(nest, buffers=buffers, axes=rows, body=body, sizes=_sizes(rows, body, buffers))


def _with_roles(axes: tuple[nodes.Axis, ...], role: nodes.Role, *, is_vector: bool) -> tuple[nodes.Axis, ...]:
    last = len(axes) - 1
    return tuple(
        replace(axis, role=nodes.Role.VECTOR if is_vector and place == last else role)
        for place, axis in enumerate(axes)
    )


def _sizes(
    rows: tuple[nodes.Axis, ...], body: tuple[nodes.Statement, ...], buffers: tuple[nodes.Buffer, ...]
) -> tuple[Symbol, ...]:
    """Return the size symbols of a nest: those that are neither axes nor scalars."""
    axes = [*rows, *(axis for s in flat(body) if isinstance(s, nodes.Loop) for axis in s.axes)]
    scalars = {name for name, _ in definitions(body)}
    found = (*(axis.extent for axis in axes), *exprs(body), *(buffer.size for buffer in buffers))
    used = {s for e in found for s in free_symbols(e)} - {axis.symbol for axis in axes}
    return tuple(sorted((s for s in used if s.name not in scalars), key=sort_key))


def _origin(built: Built) -> tuple[str, ...]:
    return tuple(dict.fromkeys(member.definition.origin for member in built.kernel.members.values()))


def _buffers(
    body: tuple[nodes.Statement, ...], built: Built, metas: Mapping[str, TensorMeta]
) -> tuple[nodes.Buffer, ...]:
    """Return the buffers in the order of their first use, outputs last, then scratch."""
    read = dict.fromkeys(s.buffer for s in flat(body) if isinstance(s, nodes.Load))
    written = dict.fromkeys(s.buffer for s in flat(body) if isinstance(s, nodes.Store))
    scratch = {item.name for item in built.scratch}
    buffers = [
        nodes.Buffer(name, metas[name].dtype, nodes.Access.READ, metas[name].span)
        for name in read
        if name not in written
    ]
    for name in written:
        if name not in scratch:
            access = nodes.Access.UPDATE if name in read else nodes.Access.WRITE
            buffers.append(nodes.Buffer(name, metas[name].dtype, access, metas[name].span))
    points = expr.product(axis.extent for axis in built.kernel.loops)
    buffers += [nodes.Buffer(item.name, item.dtype, nodes.Access.SCRATCH, points) for item in built.scratch]
    return tuple(buffers)

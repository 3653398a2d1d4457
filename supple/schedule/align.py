"""Align: how the points of one kernel correspond to the points of another.

A correspondence gives, for each axis of the guest kernel, an expression over the host's axes; it is one to
one between the guest's points and either all points of the host or its rows.
"""

from collections.abc import Iterator, Mapping, Sequence

from supple.expr import Expr, Symbol, const, product, simplify
from supple.ir.loops.nodes import Axis
from supple.schedule.build import Kernel
from supple.schedule.coordinates import ranges_of
from supple.schedule.views import linear, unlinear

Place = Mapping[Symbol, Expr]
Coordinates = tuple[Expr, ...]


def is_same(left: Coordinates, right: Coordinates, axes: tuple[Axis, ...]) -> bool:
    """Tell whether two lists of coordinates are known to be equal at all points of axes."""
    known = ranges_of(axes)
    return all(a is b or simplify(known(a) - known(b)) is const(0) for a, b in zip(left, right, strict=True))


def candidates(
    host: Kernel, guest: Kernel, crossings: Sequence[tuple[Coordinates, Coordinates]]
) -> Iterator[Place]:
    """Yield correspondences worth trying, most specific first.

    Args:
        host, guest: the guest has inner axes only if the host has, too.
        crossings: coordinates of one value over the guest's axes and over the host's.
    """
    seen: list[Place] = []
    levels = [host.axes] if guest.inner or not host.inner else [host.axes, host.rows]
    for level in levels:
        for place in (
            *_from_reads(level, guest, crossings),
            _by_position(level, guest),
            _linear(level, guest),
        ):
            if place is not None and place not in seen and _keeps_inner(host, guest, place):
                seen.append(place)
                yield place


def _keeps_inner(host: Kernel, guest: Kernel, place: Place) -> bool:
    """Tell whether inner axes of the guest run along those of the host, in order."""
    if not guest.inner:
        return True
    inner = [place[axis.symbol] for axis in guest.loops]
    return inner == [axis.symbol for axis in host.loops]


def _from_reads(
    level: tuple[Axis, ...], guest: Kernel, crossings: Sequence[tuple[Coordinates, Coordinates]]
) -> Iterator[Place]:
    """Yield the correspondences in which one read is at the point where the value is computed."""
    extents = {axis.symbol: axis.extent for axis in level}
    for theirs, ours in crossings:
        place: dict[Symbol, Expr] = {}
        for mine, yours in zip(theirs, ours, strict=True):
            if isinstance(mine, Symbol) and mine not in place:
                place[mine] = yours
        place = {s: e for s, e in place.items() if isinstance(e, Symbol) and e in extents}
        filled = _filled(place, level, guest)
        if filled is not None:
            yield filled


def _filled(place: dict[Symbol, Expr], level: tuple[Axis, ...], guest: Kernel) -> Place | None:
    """Match the axes that are left over in order, by equal extents; None when that is not one to one."""
    used = set(place.values())
    if len(used) < len(place):
        return None
    free = [axis for axis in level if axis.symbol not in used]
    extents = {axis.symbol: axis.extent for axis in level}
    result = dict(place)
    for axis in guest.axes:
        if axis.symbol in result:
            matched = result[axis.symbol]
            if not isinstance(matched, Symbol) or extents[matched] is not axis.extent:
                return None
            continue
        if not free or free[0].extent is not axis.extent:
            return None
        result[axis.symbol] = free.pop(0).symbol
    return result if not free else None


def _by_position(level: tuple[Axis, ...], guest: Kernel) -> Place | None:
    """Return the correspondence axis by axis, where all extents are equal."""
    if [axis.extent for axis in level] != [axis.extent for axis in guest.axes]:
        return None
    return {mine.symbol: axis.symbol for mine, axis in zip(guest.axes, level, strict=True)}


def _linear(level: tuple[Axis, ...], guest: Kernel) -> Place | None:
    """Return the correspondence by row-major position, where both have the same number of points."""
    ours = [axis.extent for axis in level]
    theirs = [axis.extent for axis in guest.axes]
    if product(ours) is not product(theirs):
        return None
    position = linear([axis.symbol for axis in level], ours)
    return {axis.symbol: e for axis, e in zip(guest.axes, unlinear(position, theirs), strict=True)}

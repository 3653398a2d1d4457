"""Fuse: which values get a kernel of their own, and which kernels become one.

Every value that must be in memory, every reduction, and every pointwise value that is dear to recompute for
its several readers is a seed; all others are inlined. Seeds start as kernels of their own. Then producers
and consumers are merged where they run over the same points (vertical), and kernels over the same points
that read the same memory (horizontal). A merged value that nobody outside reads never reaches memory. Gain
is counted in reads and writes saved; a merge that would serialise work, or recompute a dear value many
times, is refused.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

from supple.expr import Expr, Symbol, const, product, symbol
from supple.ir.graph.nodes import vars_of
from supple.ir.loops.nodes import Axis, Load
from supple.schedule.align import candidates, is_same
from supple.schedule.build import Kernel, Member
from supple.schedule.coordinates import estimate, ranges_of
from supple.schedule.define import Definition
from supple.schedule.deps import Access, Reach, at, base_of, through_maps
from supple.schedule.lower import Lowered

CHEAP: Final = 4
BROADCAST_CHEAP: Final = 6
RECOMPUTE_CHEAP: Final = 16
FEW_TIMES: Final = 4
MOST_SOURCES: Final = 24
SMALL_POINTS: Final = 65536
COLUMN_LIMIT: Final = 1024
MOST_TWINS: Final = 8
"""More kernels that do the same with other values share their code, and so are not merged."""
PIECES_CHEAP: Final = 64
"""What costs more to compute is in memory where a reader takes it in several pieces, such as `cat`."""
DEEPEST: Final = 64
"""So many values, each computed from the one before, are inlined; twice as many are in one kernel."""


@dataclass(frozen=True, slots=True)
class Fused:
    """Kernels and library calls in an order in which they can run.

    Attributes:
        units: `Kernel`s and indices into `Lowered.calls`.
        sources: names of values that are in memory or in a kernel's members.
    """

    units: tuple[Kernel | int, ...]
    sources: frozenset[str]


def in_memory(lowered: Lowered) -> frozenset[str]:
    """Return the defined values that must be in memory: bases of outputs and of what library calls take."""
    needed = [*map(str, vars_of(lowered.outputs)), *(name for call in lowered.calls for name in call.reads)]
    bases = frozenset(base_of(name, lowered.definitions) for name in needed)
    return bases.intersection(lowered.definitions)


def _readers(lowered: Lowered) -> Mapping[str, tuple[Definition, ...]]:
    """Return, by value, the definitions that read it, directly or through views."""
    readers: dict[str, dict[str, Definition]] = {}
    for name, definition in lowered.definitions.items():
        if definition.is_map and definition.body:
            continue
        for load in definition.loads:
            readers.setdefault(through_maps(load.buffer, lowered.definitions), {})[name] = definition
    return {name: tuple(found.values()) for name, found in readers.items()}


def _in_pieces(lowered: Lowered) -> frozenset[str]:
    """Return the values that one definition reads at several places, each for a part of its points.

    Where many such definitions follow one another, as many times as there are ways through the parts, the
    same would be computed: twice as many with each of them.
    """
    found: set[str] = set()
    for definition in lowered.definitions.values():
        masked = {(load.buffer, load.index) for load in definition.loads if load.mask is not None}
        counts = Counter(through_maps(buffer, lowered.definitions) for buffer, _ in masked)
        found.update(name for name, count in counts.items() if count > 1)
    return frozenset(found)


def numel(axes: Iterable[Axis]) -> Expr:
    """Return the number of points of axes."""
    return product(axis.extent for axis in axes)


def seeds_of(lowered: Lowered, *, fusion: bool = True) -> tuple[str, ...]:
    """Return the values that get a kernel, operands before users; without `fusion` all that are computed."""
    memory = in_memory(lowered)
    readers = _readers(lowered)
    pieces = _in_pieces(lowered)
    costs: dict[str, int] = {}
    streams: dict[str, int] = {}
    depths: dict[str, int] = {}
    seeds: set[str] = set()
    for name, definition in lowered.definitions.items():
        costs[name] = definition.arithmetic + sum(costs.get(load.buffer, 1) for load in definition.loads)
        streams[name] = sum(_streams(load, definition, lowered, streams) for load in definition.loads)
        depths[name] = 1 + max((depths.get(load.buffer, 0) for load in definition.loads), default=0)
        if name in memory or definition.reduce is not None:
            seeds.add(name)
        elif definition.is_map:
            continue
        elif not fusion or depths[name] == DEEPEST or (name in pieces and costs[name] > PIECES_CHEAP):
            seeds.add(name)
        elif _is_seed(definition, readers.get(name, ()), costs[name], streams[name]):
            seeds.add(name)
        if name in seeds:
            costs[name], streams[name], depths[name] = 1, 1, 0
    return tuple(name for name in lowered.definitions if name in seeds)


def _streams(load: Load, definition: Definition, lowered: Lowered, streams: Mapping[str, int]) -> int:
    """Return how many values of the definition's size a load reads; broadcast ones do not count."""
    read, mine = lowered.metas[load.buffer].numel, numel(definition.domain)
    is_smaller = read is not mine and estimate(read) < estimate(mine)
    return 0 if is_smaller else streams.get(load.buffer, 1)


def _is_seed(definition: Definition, readers: tuple[Definition, ...], cost: int, streams: int) -> bool:
    """Tell whether a pointwise value that need not be in memory is too dear to inline into its readers."""
    if definition.may_trap:
        return True
    if not definition.loads and cost <= CHEAP:
        return False
    for reader in readers:
        limit = RECOMPUTE_CHEAP if _repeats(definition, reader) <= FEW_TIMES else BROADCAST_CHEAP
        if cost > limit and _repeats(definition, reader) > 1:
            return True
    return len(readers) > 1 and (cost > CHEAP or streams > 1)


def _repeats(definition: Definition, reader: Definition) -> int:
    """Return how many times a reader's points are more than the value's."""
    mine, theirs = definition.meta.numel, numel(reader.domain)
    return 1 if mine is theirs else estimate(theirs) // max(estimate(mine), 1)


class Fusion:
    """Kernels being merged. Unit numbers stay; a merged unit is gone from `kernels`."""

    def __init__(self, lowered: Lowered, seeds: tuple[str, ...]) -> None:
        self.lowered = lowered
        self.seeds = seeds
        self.ranks = {name: rank for rank, name in enumerate(seeds)}
        results = {name for call in lowered.calls for name in call.names if name is not None}
        inputs = {item.name for item in lowered.inputs}
        self.sources = frozenset(seeds) | results | inputs
        self.reach = Reach(lowered, self.sources)
        self.kernels: dict[int, Kernel] = {}
        self.unit_of: dict[str, int] = {}
        self.call_units: dict[int, int] = {}
        self.effects: dict[int, tuple[str, ...]] = {}
        self._reads: dict[int, frozenset[str]] = {}
        self._depth = cache(self._depth_of)
        self._add_units()

    def _add_units(self) -> None:
        """Number seeds and calls in graph order."""
        entries: list[tuple[int, int, str | int]] = [
            (self.lowered.order[name], place, name) for place, name in enumerate(self.seeds)
        ]
        entries += [
            (self.lowered.order[call.origin], -1, number) for number, call in enumerate(self.lowered.calls)
        ]
        for unit, (_, _, item) in enumerate(sorted(entries, key=lambda entry: entry[:2])):
            if isinstance(item, int):
                self.call_units[unit] = item
                if self.lowered.calls[item].has_effects:
                    self.effects[unit] = self.lowered.calls[item].writes
                for name in self.lowered.calls[item].names:
                    if name is not None:
                        self.unit_of[name] = unit
            else:
                self.kernels[unit] = _alone(self.lowered.definitions[item])
                self.unit_of[item] = unit

    # Dependencies.

    def reads(self, unit: int) -> frozenset[str]:
        """Return the sources that a unit reads."""
        known = self._reads.get(unit)
        if known is None:
            known = self._reads[unit] = frozenset(self._read(unit))
        return known

    def _read(self, unit: int) -> Iterator[str]:
        if unit in self.call_units:
            for name in self.lowered.calls[self.call_units[unit]].reads:
                yield base_of(name, self.lowered.definitions)
                yield from self.reach.showing(name)
            return
        for name in self.kernels[unit].members:
            yield from self.reach.showing(name)
            for access in self.reach.accesses(name):
                yield access.source

    def needs(self, unit: int) -> set[int]:
        """Return the units whose results a unit reads, and those that a call's writes must follow."""
        found = {self.unit_of[name] for name in self.reads(unit) & self.unit_of.keys()}
        if unit in self.effects:
            found |= self._before(unit)
        found.discard(unit)
        return found

    def _before(self, unit: int) -> set[int]:
        """Return what a call with effects must follow: earlier ones, and readers of what it writes."""
        writes = {base_of(name, self.lowered.definitions) for name in self.effects[unit]}
        found = {other for other in self.effects if other < unit}
        for other in (*self.kernels, *self.call_units):
            if other != unit and other not in self.effects and not writes.isdisjoint(self.reads(other)):
                found.add(other)
        return found

    def is_between(self, first: int, last: int) -> bool:
        """Tell whether some third unit needs `first` and is needed by `last`."""
        todo = [unit for unit in self.needs(last) if unit != first]
        seen = set(todo)
        while todo:
            for unit in self.needs(todo.pop()):
                if unit == first:
                    return True
                if unit not in seen:
                    seen.add(unit)
                    todo.append(unit)
        return False

    def is_needed(self, first: int, last: int) -> bool:
        """Tell whether `last` needs `first`, directly or not."""
        return first in self.needs(last) or self.is_between(first, last)

    # Merging.

    def try_merge(self, first: int, last: int) -> bool:
        """Merge two kernels into the number of the later one, if that is legal; `last` may need `first`."""
        if self.is_between(first, last) or self.is_between(last, first):
            return False
        host, guest = self.kernels[first], self.kernels[last]
        if guest.inner and not host.inner:
            host, guest = guest, host
        for place in candidates(host, guest, list(self._cross(host, guest))):
            merged = self._merged(host, guest, place)
            if merged is not None:
                del self.kernels[first]
                self.kernels[last] = merged
                self._reads.pop(last, None)
                for name in merged.members:
                    self.unit_of[name] = last
                return True
        return False

    def _cross(self, host: Kernel, guest: Kernel) -> Iterator[tuple[tuple[Expr, ...], tuple[Expr, ...]]]:
        """Yield pairs of coordinates of one value: over the guest's axes and over the host's."""
        ours, theirs = ranges_of(host.axes), ranges_of(guest.axes)
        for name, member in guest.members.items():
            for access in self.reach.accesses(name):
                if access.source in host.members:
                    yield theirs.all(at(access.index, member.place)), host.members[access.source].index
        for name, member in host.members.items():
            for access in self.reach.accesses(name):
                if access.source in guest.members:
                    yield guest.members[access.source].index, ours.all(at(access.index, member.place))

    def _merged(self, host: Kernel, guest: Kernel, place: Mapping[Symbol, Expr]) -> Kernel | None:
        """Return both kernels as one over the host's axes; None when a value would be read elsewhere."""
        known = ranges_of(host.axes)
        moved = {
            name: Member(member.definition, {s: known(at((e,), place)[0]) for s, e in member.place.items()})
            for name, member in guest.members.items()
        }
        together = {**host.members, **moved}
        members = {name: together[name] for name in sorted(together, key=self.ranks.__getitem__)}
        merged = Kernel(host.axes, host.inner, members, frozenset())
        if not self._is_profitable(merged, guest):
            return None
        aligned = 0
        for name, member in members.items():
            for access in self.reach.accesses(name):
                found = self._check(
                    Access(access.source, at(access.index, member.place), access.masked), merged
                )
                if found is None:
                    return None
                aligned += found and (access.source in host.members) != (name in host.members)
        crossing = any(True for _ in self._cross(host, guest))
        return merged if aligned or not crossing else None

    def _check(self, access: Access, merged: Kernel, depth: int = 0) -> bool | None:
        """Return whether a read is where the kernel is (True), elsewhere (False), or illegal (None)."""
        member = merged.members.get(access.source)
        if member is None:
            return False
        definition = member.definition
        if is_same(access.index, member.index, merged.axes) and not (access.masked and definition.may_trap):
            return True
        is_cheap = self._cost(access.source) <= RECOMPUTE_CHEAP and depth < 2
        if definition.reduce is not None or definition.may_trap or not is_cheap:
            return None
        place = dict(zip(definition.axes, access.index, strict=True))
        reads = self.reach.accesses(access.source)
        behind = (Access(read.source, at(read.index, place), True) for read in reads)
        return None if any(self._check(one, merged, depth + 1) is None for one in behind) else False

    def _cost(self, name: str) -> int:
        definition = self.lowered.definitions[name]
        loads = (1 if load.buffer in self.sources else self._cost(load.buffer) for load in definition.loads)
        return definition.arithmetic + sum(loads)

    def _depth_of(self, name: str) -> int:
        """Return how many values, each computed from the one before, are inlined to compute a value."""
        loads = (load.buffer for load in self.lowered.definitions[name].loads)
        return 1 + max((self._depth(read) for read in loads if read not in self.sources), default=0)

    def _is_profitable(self, merged: Kernel, guest: Kernel) -> bool:
        """Refuse kernels with too many streams or steps, and stores down the columns of a long reduction."""
        reads = {name: {access.source for access in self.reach.accesses(name)} for name in merged.members}
        depths: dict[str, int] = {}
        for name, sources in reads.items():
            depths[name] = self._depth(name) + max(depths.get(source, 0) for source in sources or ("",))
        if len(set[str]().union(*reads.values())) > MOST_SOURCES or max(depths.values()) > 2 * DEEPEST:
            return False
        if not merged.inner or merged.axes[-1].symbol in merged.inner:
            return True
        is_full = any(
            member.is_inner(merged.inner)
            for member in merged.members.values()
            if not member.definition.reduce
        )
        return not is_full or estimate(numel(merged.loops)) <= COLUMN_LIMIT

    # The passes.

    def vertical(self) -> None:
        """Merge each kernel with the kernels it reads, nearest first."""
        for last in sorted(self.kernels):
            while True:
                nearest = sorted((u for u in self.needs(last) if u in self.kernels), reverse=True)
                if not any(self.try_merge(first, last) for first in nearest):
                    break

    def horizontal(self) -> None:
        """Merge kernels over the same points that share a read or are small."""
        shapes: dict[object, list[int]] = {}
        works = {unit: _work(kernel) for unit, kernel in self.kernels.items()}
        twins = Counter(works.values())
        for unit in sorted(self.kernels):
            is_alone = twins[works[unit]] <= MOST_TWINS
            for other in shapes.setdefault(works[unit][0], []):
                if not self._is_sibling(other, unit, is_alone=is_alone):
                    continue
                is_free = not self.is_needed(other, unit) and not self.is_needed(unit, other)
                if is_free and self.try_merge(other, unit):
                    shapes[works[unit][0]].remove(other)
                    break
            shapes[works[unit][0]].append(unit)

    def _is_sibling(self, first: int, last: int, *, is_alone: bool) -> bool:
        """Tell whether two kernels read a value in common, or are pointwise and not worth two launches."""
        axes = self.kernels[first].axes
        if is_alone and not self.kernels[first].inner and estimate(numel(axes)) <= SMALL_POINTS:
            return True
        inputs = set(self.reads(first)) - set(self.kernels[first].members)
        return not inputs.isdisjoint(self.reads(last))

    def ordered(self) -> tuple[Kernel | int, ...]:
        """Return kernels and calls, each after what it needs, else in graph order."""
        stored = self._stored()
        waiting = {unit: self.needs(unit) for unit in (*self.kernels, *self.call_units)}
        order: list[Kernel | int] = []
        done: set[int] = set()
        todo = sorted(waiting)
        while todo:
            unit = next(u for u in todo if waiting[u] <= done)
            todo.remove(unit)
            done.add(unit)
            if unit in self.call_units:
                order.append(self.call_units[unit])
            else:
                kernel = self.kernels[unit]
                order.append(replace(kernel, stored=stored.intersection(kernel.members)))
        return tuple(order)

    def _stored(self) -> frozenset[str]:
        """Return the seeds that must be in memory, and those that another kernel reads."""
        stored = set(in_memory(self.lowered))
        for unit in self.kernels:
            stored.update(name for name in self.reads(unit) if self.unit_of.get(name, unit) != unit)
        return frozenset(stored) & frozenset(self.seeds)


def _work(kernel: Kernel) -> tuple[object, object]:
    """Return the points that a kernel runs over, and roughly what it does at each, whatever it reads."""
    definitions = [member.definition for member in kernel.members.values()]
    points = tuple((axis.extent, axis.symbol in kernel.inner) for axis in kernel.axes)
    return points, (points, tuple((one.arithmetic, len(one.loads), one.meta.dtype) for one in definitions))


def _alone(definition: Definition) -> Kernel:
    """Return the kernel of one definition; dimensions of size 1 have no axis."""
    place: dict[Symbol, Expr] = {}
    axes: list[Axis] = []
    inner: set[Symbol] = set()
    reduced = {axis.symbol for axis in definition.inner}
    for axis in definition.domain:
        if axis.extent is const(1):
            place[axis.symbol] = const(0)
            continue
        own = symbol(f"x{len(axes)}", minimum=axis.symbol.minimum, maximum=axis.symbol.maximum)
        place[axis.symbol] = own
        axes.append(Axis(own, axis.extent))
        if axis.symbol in reduced:
            inner.add(own)
    for axis in definition.axes:
        place.setdefault(axis, const(0))
    return Kernel(
        tuple(axes),
        frozenset(inner),
        {definition.name: Member(definition, place)},
        frozenset((definition.name,)),
    )


def fuse(lowered: Lowered, *, fusion: bool = True) -> Fused:
    """Return the kernels and calls of a lowered graph, in order."""
    state = Fusion(lowered, seeds_of(lowered, fusion=fusion))
    if fusion:
        state.vertical()
        state.horizontal()
    return Fused(state.ordered(), state.sources)

"""Who reads what, where: sources, and accesses to them through inlined definitions.

A source is a value in memory or in a kernel of its own (an input, a library call's result, a seed); every
other definition is inlined into its readers. An access is a source and the coordinates at which it is read.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from supple.expr import Expr, Symbol, substitute
from supple.expr.real import names_of
from supple.schedule.coordinates import ranges_of
from supple.schedule.define import Definition
from supple.schedule.lower import Lowered

Index = tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Access:
    """A read of `source` at `index`; `masked` when it happens at some points only."""

    source: str
    index: Index
    masked: bool = False


def at(index: Iterable[Expr], replacements: Mapping[Symbol, Expr]) -> Index:
    """Return coordinates with symbols replaced."""
    return tuple(
        replacements.get(e, e) if isinstance(e, Symbol) else e if e.is_const else substitute(e, replacements)
        for e in index
    )


def base_of(name: str, definitions: Mapping[str, Definition]) -> str:
    """Return the value whose storage `name` shares: itself unless it is a view."""
    while True:
        definition = definitions.get(name)
        if definition is None or definition.alias_of is None:
            return name
        name = definition.alias_of


def through_maps(name: str, definitions: Mapping[str, Definition]) -> str:
    """Return the value behind views and other pure coordinate maps."""
    while True:
        definition = definitions.get(name)
        if definition is None or not (definition.is_map and definition.body):
            return name
        name = definition.loads[0].buffer


class Reach:
    """Accesses of definitions, given which values are sources; remembers what it found."""

    def __init__(self, lowered: Lowered, sources: frozenset[str]) -> None:
        self.definitions = lowered.definitions
        self.sources = sources
        self.shown = lowered.shown
        self._parts = {bits.name: names_of(real) for bits, real in lowered.reals.items()}
        self._parts.update((found.name, names_of(number)) for number, found in lowered.numbers.items())
        self.accesses = cache(self._accesses)
        self.showing = cache(self._showing)

    def _accesses(self, name: str) -> tuple[Access, ...]:
        """Return what one point of `name` reads, at coordinates over its own domain."""
        return tuple(dict.fromkeys(self._walk(self.definitions[name])))

    def _showing(self, name: str) -> frozenset[str]:
        """Return the results of library calls that show the sizes with which `name` is made."""
        definition = self.definitions.get(name) if self.shown else None
        if definition is None:
            return frozenset()
        inlined = (load.buffer for load in definition.loads if load.buffer not in self.sources)
        numbers = (part for number in definition.numbers for part in self._parts.get(number, (number,)))
        found = frozenset(self.shown[number] for number in numbers if number in self.shown)
        return found.union(*map(self.showing, inlined))

    def _walk(self, definition: Definition) -> Iterator[Access]:
        known = ranges_of(definition.domain)
        for load in definition.loads:
            if load.buffer in self.sources:
                yield Access(load.buffer, load.index, load.mask is not None)
                continue
            behind = self.definitions[load.buffer]
            place = dict(zip(behind.axes, load.index, strict=True))
            for access in self.accesses(load.buffer):
                masked = access.masked or load.mask is not None
                yield Access(access.source, known.all(at(access.index, place)), masked)

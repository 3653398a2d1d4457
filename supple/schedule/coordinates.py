"""Coordinates below symbolic extents: index expressions in the form that they have at the points of a nest.

At a point each coordinate is below its extent, so no extent is 0. The algebra knows ranges that are numbers;
this module knows those that are sizes: where k < n, `(i*n + k) // n` is `i`.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from supple import expr
from supple.base.memo import memo
from supple.expr import Expr, FloorDiv, Max, Min, Mod, Symbol, const, exact_quotient, interval, symbol
from supple.expr.divide import content, split
from supple.expr.nodes import construct
from supple.ir.loops.nodes import Axis
from supple.shapes.env import active

TYPICAL_SIZE: Final = 128
ZERO: Final = const(0)


def estimate(e: Expr) -> int:
    """Return about what `e` is: its value in the call that is compiled, where sizes are known then."""
    if type(e) is expr.Const:
        return e.value
    env = active()
    if env is not None and env.is_backed(e):
        return env.hint(e)
    return expr.substitute(e, {s: max(TYPICAL_SIZE, s.minimum or 0) for s in expr.free_symbols(e)}).value


def dotted(index: Iterable[Expr], strides: Iterable[Expr]) -> Expr:
    """Return the offset of a point: the sum of its coordinates times the strides."""
    return expr.total(place * stride for place, stride in zip(index, strides, strict=True))


def has_division(e: Expr) -> bool:
    """Tell whether an expression is more than a polynomial of symbols."""
    return isinstance(e, (FloorDiv, Mod, Min, Max)) or any(map(has_division, e.args))


def factors(e: Expr) -> tuple[Expr, ...]:
    """Return the factors of a product, its number first; of a sum the sum itself."""
    if len(e.terms) != 1 or e.constant:
        return (e,)
    mono, number = e.terms[0]
    return (*(() if number == 1 else (const(number),)), *(mono.args or (mono,)))


@memo(1024)
def ranges_of(axes: tuple[Axis, ...]) -> "Ranges":
    """Return what is known at the points of axes."""
    return Ranges(axes)


class Ranges:
    """What is known at the points of axes; remembers what it found."""

    def __init__(self, axes: Sequence[Axis]) -> None:
        self._extents = {axis.symbol: axis.extent for axis in axes}
        self._known: dict[Expr, Expr] = {}

    def __call__(self, e: Expr) -> Expr:
        """Return the simplest form of an expression at the points."""
        found = self._known.get(e)
        if found is None:
            found = self._known[e] = self._simplified(e) if has_division(e) else e
        return found

    def all(self, index: Iterable[Expr]) -> tuple[Expr, ...]:
        """Return expressions in their simplest forms."""
        return tuple(map(self, index))

    def _simplified(self, e: Expr) -> Expr:
        used = expr.free_symbols(e)
        if all(s.maximum is not None or s not in self._extents for s in used):
            return expr.simplify(Point({})(e))
        sizes = {f for s in used & self._extents.keys() for f in factors(self._extents[s])}
        narrow: dict[Symbol, Symbol] = {
            s: symbol(s.name, minimum=1, maximum=s.maximum)
            for s in sizes
            if isinstance(s, Symbol) and s.minimum == 0 and s.maximum != 0
        }
        point = Point({s: expr.substitute(extent, narrow) for s, extent in self._extents.items()})
        found, before = expr.substitute(e, narrow), e
        while found is not before:
            before, found = found, expr.simplify(point(found))
        return expr.substitute(found, {new: old for old, new in narrow.items()})


class Point:
    """Simplifies at one point: 0 <= symbol < extent holds for each of `extents`."""

    def __init__(self, extents: dict[Symbol, Expr]) -> None:
        self.extents = extents
        self._known: dict[Expr, Expr] = {}

    def __call__(self, e: Expr) -> Expr:
        """Return `e` with quotients, remainders and extremes that are known here replaced."""
        if e not in self._known:
            self._known[e] = self._replaced(e) if has_division(e) else e
        return self._known[e]

    def _replaced(self, e: Expr) -> Expr:
        args = tuple(map(self, e.args))
        match e:
            case FloorDiv() | Mod():
                return self._divided(type(e), *args)
            case Min() | Max():
                sign = 1 if isinstance(e, Min) else -1
                return construct[type(e)](*self._pruned(list(args), sign))
            case _:
                return construct[type(e)](*args)

    def _divided(self, kind: type[FloorDiv | Mod], x: Expr, d: Expr) -> Expr:
        """Return x // d or x % d: whole multiples of d go, then parts below a factor of d.

        Of nothing there are no points, so that d is not 0: `0 // d`, which the host would compute, is 0.
        """
        if x is ZERO:
            return ZERO
        if not self._is_positive(d):
            return construct[kind](x, d)
        whole, rest = split(x, d)
        for step in (0, 1):
            if self._is_below(rest + step * d, d):
                return whole - step if kind is FloorDiv else rest + step * d
        for g in {*factors(d), const(content(d))}:
            u, r = split(x, g)
            left = exact_quotient(d, g)
            if g in (d, const(1)) or left is None or u is ZERO or not self._is_below(r, g):
                continue
            inner = self._divided(kind, u, left)
            return inner if kind is FloorDiv else g * inner + r
        return construct[kind](x, d)

    def _pruned(self, args: list[Expr], sign: int) -> list[Expr]:
        """Drop operands that are never below another one (for sign -1: above)."""
        for x in args:
            if any(y is not x and self._is_natural((x - y) * sign) for y in args):
                return self._pruned([arg for arg in args if arg is not x], sign)
        return args

    def _is_positive(self, d: Expr) -> bool:
        low = interval(d).lo
        if low is None or low < 0:
            return False
        return low > 0 or any(exact_quotient(extent, d) is not None for extent in self.extents.values())

    def _is_below(self, r: Expr, d: Expr) -> bool:
        """Tell whether 0 <= r < d."""
        return r is ZERO or (self._is_natural(r) and self._is_natural(d - 1 - r))

    def _is_natural(self, e: Expr) -> bool:
        """Tell whether `e` is known not to be negative."""
        least = self._extreme(e, 0)
        low = None if least is None else interval(least).lo
        return low is not None and low >= 0

    def _extreme(self, e: Expr, side: int) -> Expr | None:
        """Return the least (side 0) or greatest (side 1) value of `e`, over sizes; None when not known."""
        parts: list[Expr] = [const(e.constant)]
        for mono, number in e.terms:
            bounds = [self._bounds(atom) for atom in (mono.args or (mono,))]
            known = [pair[side if number > 0 else 1 - side] for pair in bounds if pair is not None]
            if len(known) < len(bounds):
                return None
            parts.append(number * expr.product(known))
        return expr.total(parts)

    def _bounds(self, atom: Expr) -> tuple[Expr, Expr] | None:
        """Return the least and greatest value of an atom, over sizes; None unless it is a natural number."""
        low = interval(atom).lo
        if low is None or low < 0:
            return None
        match atom:
            case Symbol():
                extent = self.extents.get(atom)
                return (atom, atom) if extent is None else (ZERO, extent - 1)
            case Mod(args=(_, d)):
                return ZERO, d - 1
            case FloorDiv(args=(x, d)):
                top = self._extreme(x, 1)
                return None if top is None else (ZERO, top // d)
            case _:
                return None

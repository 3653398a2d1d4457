"""Value ranges: the least interval that one operator at a time can prove for an expression.

A bound of None is unbounded. Ranges come from the ranges of symbols alone; facts about several symbols
are not known here.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from supple.base.memo import memo
from supple.base.rules import Rules
from supple.expr.nodes import Add, Const, Expr, FloorDiv, Max, Min, Mod, Mul, Symbol, factors_of
from supple.expr.polynomial import MEMO_SIZE, product


@dataclass(frozen=True, slots=True)
class Interval:
    """The integers from `lo` to `hi` inclusive; None is unbounded on that side."""

    lo: int | None
    hi: int | None

    def __contains__(self, value: int) -> bool:
        return (self.lo is None or self.lo <= value) and (self.hi is None or value <= self.hi)


EVERYTHING: Final = Interval(None, None)
#: Kind of expression -> (expression) -> its interval.
transfer: Final[Rules[Callable[..., Interval]]] = Rules("interval")


@memo(MEMO_SIZE)
def interval(e: Expr) -> Interval:
    """Return an interval that holds every value of the number `e` within the ranges of its symbols."""
    return transfer[type(e)](e)


def excludes_zero(e: Expr) -> bool:
    """Tell whether `e` is known not to be 0."""
    return 0 not in interval(e)


def is_positive(e: Expr) -> bool:
    """Tell whether `e` is known to be at least 1."""
    lo = interval(e).lo
    return lo is not None and lo >= 1


def plus(a: Interval, b: Interval) -> Interval:
    """Return the sums of a value of `a` and a value of `b`."""
    lo = None if a.lo is None or b.lo is None else a.lo + b.lo
    hi = None if a.hi is None or b.hi is None else a.hi + b.hi
    return Interval(lo, hi)


def scale(a: Interval, factor: int) -> Interval:
    """Return the products of the values of `a` and a factor, which is not 0."""
    lo = None if a.lo is None else a.lo * factor
    hi = None if a.hi is None else a.hi * factor
    return Interval(lo, hi) if factor > 0 else Interval(hi, lo)


def times(a: Interval, b: Interval) -> Interval:
    """Return the hull of the products of a value of `a` and a value of `b`."""
    if a.lo == a.hi == 0 or b.lo == b.hi == 0:
        return Interval(0, 0)
    if a.lo is not None and a.lo >= 0 and b.lo is not None and b.lo >= 0:
        hi = None if a.hi is None or b.hi is None else a.hi * b.hi
        return Interval(a.lo * b.lo, hi)
    infinite = float("inf")
    lows = (-infinite if a.lo is None else a.lo, infinite if a.hi is None else a.hi)
    highs = (-infinite if b.lo is None else b.lo, infinite if b.hi is None else b.hi)
    products = [x * y if x and y else 0 for x in lows for y in highs]
    return Interval(_finite(min(products)), _finite(max(products)))


def _finite(bound: float) -> int | None:
    """Return an exact integer bound, or None for an infinite one."""
    return bound if isinstance(bound, int) else None


def power(a: Interval, exponent: int) -> Interval:
    """Return the hull of `value ** exponent`, exponent at least 1."""
    if exponent % 2:
        return Interval(None if a.lo is None else a.lo**exponent, None if a.hi is None else a.hi**exponent)
    if a.lo is not None and a.lo >= 0:
        return Interval(a.lo**exponent, None if a.hi is None else a.hi**exponent)
    if a.hi is not None and a.hi <= 0:
        return Interval(a.hi**exponent, None if a.lo is None else a.lo**exponent)
    if a.lo is None or a.hi is None:
        return Interval(0, None)
    return Interval(0, max(a.lo**exponent, a.hi**exponent))


@transfer.on(Const)
def _(e: Expr) -> Interval:
    """A constant is itself."""
    return Interval(e.value, e.value)


@transfer.on(Symbol)
def _(e: Symbol) -> Interval:
    """A symbol brings its range."""
    return Interval(e.minimum, e.maximum)


@transfer.on(Mul)
def _(e: Expr) -> Interval:
    """Powers first, so that a square is not negative; then the product, then the coefficient."""
    ((mono, coefficient),) = e.terms
    bounds = Interval(1, 1)
    for atom, exponent in factors_of(mono):
        bounds = times(bounds, power(interval(atom), exponent))
    return scale(bounds, coefficient)


@transfer.on(Add)
def _(e: Expr) -> Interval:
    """The sum of the intervals of the terms; where that says nothing, see `_shifted`."""
    bounds = Interval(e.constant, e.constant)
    for mono, coefficient in e.terms:
        bounds = plus(bounds, scale(interval(mono), coefficient))
    if bounds.lo is not None and bounds.hi is not None:
        return bounds
    shifted = _shifted(e)
    if shifted is None:
        return bounds
    signs = {coefficient > 0 for _, coefficient in shifted.terms}
    lo = shifted.constant if bounds.lo is None and signs == {True} else bounds.lo
    hi = shifted.constant if bounds.hi is None and signs == {False} else bounds.hi
    return Interval(lo, hi)


def _shifted(e: Expr) -> Expr | None:
    """Return a sum with products as a polynomial in what each atom has above its lower bound, under its name.

    With a, b >= 2, a*b - a is (a + 2)*(b + 2) - (a + 2) = a*b + a + 2*b + 2: at least 2. None where no atom
    is multiplied, an atom has no lower bound, or all have 0.
    """
    low = {atom: interval(atom).lo for mono, _ in e.terms for atom, _ in factors_of(mono)}
    if not any(low.values()) or None in low.values() or all(type(mono) is not Mul for mono, _ in e.terms):
        return None
    shifted: Expr = Const(e.constant)
    for mono, coefficient in e.terms:
        factors = [(atom + (low[atom] or 0)) ** power for atom, power in factors_of(mono)]
        shifted += product((coefficient, *factors))
    return shifted


@transfer.on(FloorDiv)
def _(e: Expr) -> Interval:
    """The quotients of the two ranges."""
    return quotients(interval(e.args[0]), interval(e.args[1]))


def quotients(x: Interval, d: Interval) -> Interval:
    """Return the hull of `value // divisor`; everything where the sign of the divisor is not known.

    Monotone in both operands as long as the divisor keeps its sign.
    """
    if d.lo is not None and d.lo >= 1:
        return _quotients(x, d.lo, d.hi)
    if d.hi is not None and d.hi <= -1:
        return _quotients(scale(x, -1), -d.hi, None if d.lo is None else -d.lo)
    return EVERYTHING


def _quotients(x: Interval, least: int, most: int | None) -> Interval:
    """Return the hull of `value // d` for d from `least` >= 1 to `most`."""
    lo = None if x.lo is None else _quotient(x.lo, least if x.lo < 0 else most)
    hi = None if x.hi is None else _quotient(x.hi, most if x.hi < 0 else least)
    return Interval(lo, hi)


def _quotient(value: int, divisor: int | None) -> int:
    """Return `value // divisor`; without a divisor its limit for large ones."""
    if divisor is None:
        return -1 if value < 0 else 0
    return value // divisor


@transfer.on(Mod)
def _(e: Expr) -> Interval:
    """Between 0 and the divisor, with its sign; for 0 <= x also at most x."""
    x, d = interval(e.args[0]), interval(e.args[1])
    if d.lo is not None and d.lo >= 1:
        hi = None if d.hi is None else d.hi - 1
        if x.lo is not None and x.lo >= 0 and x.hi is not None:
            hi = x.hi if hi is None else min(hi, x.hi)
        return Interval(0, hi)
    if d.hi is not None and d.hi <= -1:
        return Interval(None if d.lo is None else d.lo + 1, 0)
    return EVERYTHING


@transfer.on(Min)
def _(e: Expr) -> Interval:
    """The least of the lower bounds, the least of the upper bounds that are known."""
    return _least([interval(arg) for arg in e.args])


@transfer.on(Max)
def _(e: Expr) -> Interval:
    """The greatest of the lower bounds that are known, the greatest of the upper bounds."""
    return scale(_least([scale(interval(arg), -1) for arg in e.args]), -1)


def _least(bounds: list[Interval]) -> Interval:
    """Return the interval of the least of numbers."""
    lows = [b.lo for b in bounds if b.lo is not None]
    highs = [b.hi for b in bounds if b.hi is not None]
    return Interval(min(lows) if len(lows) == len(bounds) else None, min(highs, default=None))

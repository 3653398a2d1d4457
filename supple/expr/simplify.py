"""Rewrite rules, one table, each with its side condition; and `simplify`, which applies all of them.

A key is (kind, what the rule is about). The rules of one kind are asked in the order of this file; any order
is sound, the order decides only which form is found. All kinds but Add are rewritten when they are built;
sums when `simplify` is called, so that a sum built by operators is a polynomial and nothing else.

In the docstrings x, u, r are any numbers, a, b, d, g, m are divisors or factors; "known" means by intervals.
A rule that could lose a division by 0 asks for a divisor that is known not to be 0.
"""

from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Final, TypeAlias

from supple.base.memo import memo
from supple.base.rules import Rules
from supple.expr.divide import aligned, common_factor, content, divided_by_int, exact_quotient, split, steps
from supple.expr.interval import excludes_zero, interval, is_positive, quotients
from supple.expr.nodes import (
    FALSE,
    TRUE,
    Add,
    And,
    Const,
    Eq,
    Expr,
    FloorDiv,
    Le,
    Lt,
    Max,
    Min,
    Mod,
    Mul,
    Ne,
    Or,
    Symbol,
    Truth,
    construct,
    monomial,
    scaled,
)
from supple.expr.polynomial import MEMO_SIZE, polynomial

Rule: TypeAlias = Callable[..., Expr | None]
simplifications: Final[Rules[Rule]] = Rules("simplification")
ZERO: Final = Const(0)
COMPARISONS: Final = (Eq, Ne, Lt, Le)
PAIRWISE_LIMIT: Final = 8


@cache
def _rules_of(kind: type[Expr]) -> tuple[Rule, ...]:
    """Return the rules for nodes of `kind`."""
    return tuple(simplifications[key] for key in simplifications if isinstance(key, tuple) and key[0] is kind)


def rewritten(kind: type[Expr], args: tuple[Expr, ...]) -> Expr | None:
    """Return what the first rule that applies to `kind(*args)` makes of it; None when none applies."""
    for rule in _rules_of(kind):
        found = rule(*args)
        if found is not None:
            return found
    return None


@memo(MEMO_SIZE)
def simplify(e: Expr) -> Expr:
    """Return an equal expression, all parts of which are simplified and to which no rule applies."""
    if not e.args:
        return e
    kind = type(e)
    if kind in COMPARISONS:
        found = construct[kind](simplify(e.args[0] - e.args[1]), 0)
    else:
        found = construct[kind](*map(simplify, e.args))
    better = rewritten(Add, (found,)) if type(found) is Add else None
    found = found if better is None else better
    return found if found is e else simplify(found)


# Division. Both kinds split off the same parts, so that a quotient and its remainder meet again in a sum.


@simplifications.on((FloorDiv, "constants"))
def _(x: Expr, d: Expr) -> Expr | None:
    """x // d is computed for constants, d not 0."""
    return Const(x.value // d.value) if x.is_const and d.is_const and d.value else None


@simplifications.on((Mod, "constants"))
def _(x: Expr, d: Expr) -> Expr | None:
    """x % d is computed for constants, d not 0."""
    return Const(x.value % d.value) if x.is_const and d.is_const and d.value else None


@simplifications.on((FloorDiv, "one"))
def _(x: Expr, d: Expr) -> Expr | None:
    """x // 1 -> x."""
    return x if d.is_const and d.value == 1 else None


@simplifications.on((Mod, "one"))
def _(x: Expr, d: Expr) -> Expr | None:
    """x % 1 -> 0."""
    return ZERO if d.is_const and d.value == 1 else None


@simplifications.on((FloorDiv, "negative divisor"))
def _(x: Expr, d: Expr) -> Expr | None:
    """x // d -> (-x) // (-d), d known negative."""
    return -x // -d if _is_negative(d) else None


@simplifications.on((Mod, "negative divisor"))
def _(x: Expr, d: Expr) -> Expr | None:
    """x % d -> -((-x) % (-d)), d known negative."""
    return -(-x % -d) if _is_negative(d) else None


def _is_negative(e: Expr) -> bool:
    """Tell whether `e` is known to be at most -1."""
    hi = interval(e).hi
    return hi is not None and hi < 0


def _known_quotient(x: Expr, d: Expr) -> int | None:
    """Return x // d where it is the same for all values; None when it is not or d may be 0."""
    if not is_positive(d):
        return 0 if x is ZERO and excludes_zero(d) else None
    bounds = quotients(interval(x), interval(d))
    if bounds.lo is not None and bounds.lo == bounds.hi:
        return bounds.lo
    if d.is_const or bounds.lo != 0:
        return None
    return 0 if is_positive(d - x) else None


@simplifications.on((FloorDiv, "range"))
def _(x: Expr, d: Expr) -> Expr | None:
    """x // d -> q, q*d <= x < (q + 1)*d known; in particular 0 for 0 <= x < d."""
    q = _known_quotient(x, d)
    return None if q is None else Const(q)


@simplifications.on((Mod, "range"))
def _(x: Expr, d: Expr) -> Expr | None:
    """x % d -> x - q*d, q*d <= x < (q + 1)*d known; in particular x for 0 <= x < d."""
    q = _known_quotient(x, d)
    return None if q is None else x - q * d


@simplifications.on((FloorDiv, "multiples"))
def _(x: Expr, d: Expr) -> Expr | None:
    """(d*u + r) // d -> u + r // d, d known not to be 0."""
    u, r = split(x, d)
    return None if u is ZERO or not excludes_zero(d) else u + r // d


@simplifications.on((Mod, "multiples"))
def _(x: Expr, d: Expr) -> Expr | None:
    """(d*u + r) % d -> r % d, d known not to be 0."""
    u, r = split(x, d)
    return None if u is ZERO or not excludes_zero(d) else r % d


@simplifications.on((FloorDiv, "common factor"))
def _(x: Expr, d: Expr) -> Expr | None:
    """(g*u) // (g*d) -> u // d, g a product of atoms that are known not to be 0."""
    g = common_factor(x, d)
    return None if g is None else split(x, g)[0] // split(d, g)[0]


@simplifications.on((Mod, "common factor"))
def _(x: Expr, d: Expr) -> Expr | None:
    """(g*u) % (g*d) -> g*(u % d), g a product of atoms that are known not to be 0."""
    g = common_factor(x, d)
    return None if g is None else g * (split(x, g)[0] % split(d, g)[0])


def _low_part(x: Expr, d: Expr) -> tuple[int, Expr, Expr] | None:
    """Return (g, u, r) with x == g*u + r, 0 <= r < g known, g > 1 dividing d, d positive unless r is 0."""
    for g in steps(x, d):
        found = aligned(x, g)
        if found is not None and (found[1] is ZERO or is_positive(d)):
            return g, *found
    return None


@simplifications.on((FloorDiv, "low part"))
def _(x: Expr, d: Expr) -> Expr | None:
    """(g*u + r) // (g*d) -> u // d, 0 <= r < g known, d known positive or r = 0, g an integer."""
    found = _low_part(x, d)
    if found is None:
        return None
    g, u, _ = found
    return u // divided_by_int(d, g)


@simplifications.on((Mod, "low part"))
def _(x: Expr, d: Expr) -> Expr | None:
    """(g*u + r) % (g*d) -> g*(u % d) + r, 0 <= r < g known, d known positive or r = 0, g an integer."""
    found = _low_part(x, d)
    if found is None:
        return None
    g, u, r = found
    return g * (u % divided_by_int(d, g)) + r


@simplifications.on((FloorDiv, "quotient of a quotient"))
def _(x: Expr, d: Expr) -> Expr | None:
    """(u // a + c) // d -> (u + a*c) // (a*d), d known positive, c an integer; where a is 0 both fail."""
    if len(x.terms) != 1 or x.terms[0][1] != 1 or type(x.terms[0][0]) is not FloorDiv or not is_positive(d):
        return None
    u, a = x.terms[0][0].args
    return (u + a * x.constant) // (a * d)


@simplifications.on((FloorDiv, "quotient of a remainder"))
def _(x: Expr, d: Expr) -> Expr | None:
    """(u % (d*b)) // d -> (u // d) % b, b known positive; where d is 0 both fail."""
    if type(x) is not Mod:
        return None
    u, m = x.args
    b = exact_quotient(m, d)
    return (u // d) % b if b is not None and is_positive(b) else None


@simplifications.on((Mod, "remainder of a remainder"))
def _(x: Expr, d: Expr) -> Expr | None:
    """(c*(u % m) + r) % d -> (c*u + r) % d, c*m a multiple of d, m known not to be 0; d = 0 fails in both."""
    change = ZERO
    for mono, coefficient in x.terms:
        for atom, cofactor in _atoms_of(mono, coefficient, Mod):
            u, m = atom.args
            if excludes_zero(m) and exact_quotient(cofactor * m, d) is not None:
                change += cofactor * (u - atom)
                break
    return None if change is ZERO else (x + change) % d


def _atoms_of(mono: Expr, coefficient: int, kind: type[Expr]) -> Iterator[tuple[Expr, Expr]]:
    """Yield (atom, cofactor) with `atom * cofactor == coefficient * mono` for the atoms of `kind`."""
    if type(mono) is kind:
        yield mono, Const(coefficient)
    elif type(mono) is Mul:
        for atom, power in mono.factors:
            if type(atom) is kind and power == 1:
                rest = monomial(tuple(factor for factor in mono.factors if factor[0] is not atom))
                yield atom, scaled(coefficient, rest)


# Sums.


class Sum:
    """The terms of a sum while rules take parts out and put others in."""

    __slots__ = ("constant", "is_changed", "terms")

    def __init__(self, e: Expr) -> None:
        self.terms = dict(e.terms)
        self.constant = e.constant
        self.is_changed = False

    def holds(self, part: Expr) -> bool:
        """Tell whether every term of `part`, one at least, is a term here with the same coefficient."""
        return bool(part.terms) and all(self.terms.get(mono) == c for mono, c in part.terms)

    def replace(self, old: Expr, new: Expr) -> None:
        """Add `new - old`."""
        self.is_changed = True
        self.constant += new.constant - old.constant
        for e, sign in ((old, -1), (new, 1)):
            for mono, c in e.terms:
                self.terms[mono] = self.terms.get(mono, 0) + sign * c

    def result(self) -> Expr | None:
        """Return the sum; None when nothing was replaced."""
        return polynomial(self.constant, self.terms) if self.is_changed else None


def _remainders(x: Expr) -> list[tuple[Expr, Expr]]:
    """Return (u % d, m) for every term m * (u % d) of a sum, d known not to be 0."""
    found = [pair for mono, c in x.terms for pair in _atoms_of(mono, c, Mod)]
    return [(atom, m) for atom, m in found if excludes_zero(atom.args[1])]


@simplifications.on((Add, "quotient and remainder"))
def _(x: Expr) -> Expr | None:
    """m*d*(u // d) + m*(u % d) -> m*u, d known not to be 0."""
    terms = Sum(x)
    for atom, m in _remainders(x):
        u, d = atom.args
        whole, low = m * d * (u // d), m * atom
        if terms.holds(low) and terms.holds(whole):
            terms.replace(whole + low, m * u)
    return terms.result()


@simplifications.on((Add, "whole and quotient"))
def _(x: Expr) -> Expr | None:
    """m*u - m*d*(u // d) -> m*(u % d), d known not to be 0."""
    terms = Sum(x)
    for mono, c in x.terms:
        for atom, cofactor in _atoms_of(mono, c, FloorDiv):
            u, d = atom.args
            m = exact_quotient(-cofactor, d)
            if m is None or not excludes_zero(d):
                continue
            whole, part = m * u, cofactor * atom
            if terms.holds(part) and terms.holds(whole):
                terms.replace(whole + part, m * (u % d))
    return terms.result()


@simplifications.on((Add, "two remainders"))
def _(x: Expr) -> Expr | None:
    """m*a*((u // a) % b) + m*(u % a) -> m*(u % (a*b)), a known not to be 0, b known positive."""
    remainders = _remainders(x)
    if len(remainders) < 2:
        return None
    terms = Sum(x)
    by_numerator: dict[Expr, list[Expr]] = {}
    for atom, _ in remainders:
        by_numerator.setdefault(atom.args[0], []).append(atom)
    for low, m in remainders:
        u, a = low.args
        for high in by_numerator.get(u // a, ()):
            b, parts = high.args[1], m * a * high
            if is_positive(b) and terms.holds(m * low) and terms.holds(parts):
                terms.replace(parts + m * low, m * (u % (a * b)))
    return terms.result()


# Least and greatest. The operands are different, flat and sorted, two at least.


def _pruned(kind: type[Min | Max], sign: int, *args: Expr) -> Expr | None:
    """min(x, y) -> x, the highest x known to be at most the lowest y (for Max: all negated)."""
    bounds = [interval(arg if sign == 1 else -arg) for arg in args]
    known = [b.hi for b in bounds if b.hi is not None]
    if not known:
        return None
    least = min(known)
    keeper = next(i for i, b in enumerate(bounds) if b.hi == least)
    kept = [
        arg
        for i, (arg, b) in enumerate(zip(args, bounds, strict=True))
        if i == keeper or b.lo is None or b.lo < least
    ]
    return construct[kind](*kept) if len(kept) < len(args) else None


def _ordered(kind: type[Min | Max], sign: int, *args: Expr) -> Expr | None:
    """min(x, y) -> y, x - y known to be at least 0 (for Max: at most 0), for few operands."""
    if len(args) > PAIRWISE_LIMIT:
        return None
    for x in args:
        for y in args:
            if x is not y:
                lo = interval((x - y) * sign).lo
                if lo is not None and lo >= 0:
                    return construct[kind](*[arg for arg in args if arg is not x])
    return None


def _absorbed(kind: type[Min | Max], other: type[Min | Max], *args: Expr) -> Expr | None:
    """min(x, max(x, y)) -> x, and max(x, min(x, y)) -> x."""
    here = set(args)
    kept = [arg for arg in args if type(arg) is not other or here.isdisjoint(arg.args)]
    return construct[kind](*kept) if len(kept) < len(args) else None


for _kind, _other, _sign in ((Min, Max, 1), (Max, Min, -1)):
    simplifications.on((_kind, "interval"))(partial(_pruned, _kind, _sign))
    simplifications.on((_kind, "difference"))(partial(_ordered, _kind, _sign))
    simplifications.on((_kind, "absorption"))(partial(_absorbed, _kind, _other))


# Comparisons: u is the difference of the sides; no term is on both sides of the result.


def _sides(u: Expr) -> tuple[Expr, Expr]:
    """Return (left, right) with `left - right == u` and no negative coefficient on either side.

    The constant goes to a side that is otherwise empty or, if both have terms, where it is positive.
    """
    positive = {mono: c for mono, c in u.terms if c > 0}
    negative = {mono: -c for mono, c in u.terms if c < 0}
    to_right = u.constant < 0 if positive and negative else bool(positive)
    left = polynomial(0 if to_right else u.constant, positive)
    return left, polynomial(-u.constant if to_right else 0, negative)


def _over_common(u: Expr, *, positive: bool) -> Expr:
    """Return u without the atoms that all terms share and that are known not to be 0, or to be positive."""
    g = common_factor(u, u)
    return u if g is None or (positive and not is_positive(g)) else split(u, g)[0]


def _equation(x: Expr, y: Expr) -> Expr:
    """x == y is decided by interval and divisor of x - y, or an order, or has its normal sides."""
    u = _over_common(x - y, positive=False)
    bounds = interval(u)
    if 0 not in bounds:
        return FALSE
    if bounds.lo == bounds.hi == 0:
        return TRUE
    g = content(polynomial(0, dict(u.terms)))
    if u.constant % g:
        return FALSE
    u = divided_by_int(u, g if u.terms[0][1] > 0 else -g)
    bounds = interval(u)
    order = inside(u, 0) if bounds.hi == 0 else inside(-u, 0) if bounds.lo == 0 else None
    return Eq(*_sides(u)) if order is None else order


simplifications.on((Eq, "difference"))(_equation)


@simplifications.on((Ne, "difference"))
def _(x: Expr, y: Expr) -> Expr:
    """x != y is the opposite of x == y; s != c, c the least or greatest value of s, is an order."""
    found = _equation(x, y)
    if type(found) is not Eq:
        return negated(found)
    left, right = found.args
    if isinstance(left, Symbol) and right.is_const and right.value in (left.minimum, left.maximum):
        return Le(right + 1, left) if right.value == left.minimum else Le(left, right - 1)
    return Ne(left, right)


def _at_least(u: Expr, least: int) -> Expr:
    """Return `u >= least`: decided by the interval of u, or divided by the common divisor, with normal sides.

    A comparison with a constant is always a Le, or an Eq where u is never more than `least`.
    """
    bounds = interval(u)
    if bounds.lo is not None and bounds.lo >= least:
        return TRUE
    if bounds.hi is not None and bounds.hi < least:
        return FALSE
    terms = polynomial(0, dict(u.terms))
    g = content(terms)
    terms = divided_by_int(terms, g)
    least = -((u.constant - least) // g)
    if least in (0, 1):
        simpler = _over_common(terms, positive=True)
        if simpler is not terms:
            return _at_least(simpler, least)
    order = inside(terms, least)
    if order is not None:
        return order
    if interval(terms).hi == least:
        return _equation(terms, Const(least))
    right, left = _sides(terms)
    if least == 1 and not (left.is_const or right.is_const):
        return Lt(left, right)
    right, left = _sides(terms - least)
    return Le(left, right)


NESTING: Final = (FloorDiv, Min, Max)


def inside(u: Expr, least: int) -> Expr | None:
    """Return `u >= least` as a statement about the operands of the one quotient, Min or Max in it.

    x // d >= y is x >= y*d, x // d <= y is x < (y + 1)*d, d known positive; min(x, y) >= z is x >= z and
    y >= z, min(x, y) <= z is x <= z or y <= z. None where there is none, or more than one.
    """
    found = [(mono, c) for mono, c in u.terms if type(mono) in NESTING]
    if len(found) != 1 or abs(found[0][1]) != 1 or any(type(mono) is Mul for mono, _ in u.terms):
        return None
    atom, sign = found[0]
    rest = u - sign * atom - least
    if type(atom) is FloorDiv:
        x, d = atom.args
        if not is_positive(d):
            return None
        return _at_least(x + d * rest, 0) if sign > 0 else _at_least(d * rest + d - 1 - x, 0)
    if any(type(mono) in NESTING for arg in atom.args for mono, _ in arg.terms):
        return None
    kind = And if (type(atom) is Min) == (sign > 0) else Or
    return construct[kind](*[_at_least(sign * arg + rest, 0) for arg in atom.args])


@simplifications.on((Lt, "difference"))
def _(x: Expr, y: Expr) -> Expr:
    """x < y is y - x >= 1."""
    return _at_least(y - x, 1)


@simplifications.on((Le, "difference"))
def _(x: Expr, y: Expr) -> Expr:
    """x <= y is y - x >= 0."""
    return _at_least(y - x, 0)


OPPOSITES: Final[dict[type[Expr], type[Expr]]] = {Eq: Ne, Ne: Eq, Lt: Le, Le: Lt, And: Or, Or: And}


@memo(MEMO_SIZE)
def negated(e: Expr) -> Expr:
    """Return the condition that is true where `e` is false."""
    if e.is_const:
        return Truth(not e.value)
    opposite = construct[OPPOSITES[type(e)]]
    if type(e) in (And, Or):
        return opposite(*map(negated, e.args))
    left, right = e.args
    return opposite(left, right) if type(e) in (Eq, Ne) else opposite(right, left)

"""What follows from a state of the facts: decide a condition, simplify with inequalities.

Owns `Known`, the state, and never changes one. Proofs are sound and incomplete.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from math import gcd
from typing import Final, TypeAlias

from supple.base.memo import memo
from supple.base.rules import Rules
from supple.expr import nodes
from supple.expr.build import negate
from supple.expr.interval import interval, is_positive
from supple.expr.nodes import FALSE, TRUE, Const, Expr, FloorDiv, Max, Min, Mod, Symbol, construct
from supple.expr.polynomial import MEMO_SIZE
from supple.expr.simplify import simplify
from supple.expr.walk import free_symbols, substitute

SEARCH_LIMIT: Final = 50
ONE: Final = Const(1)

Reasons: TypeAlias = frozenset[int]
NO_REASON: Final[Reasons] = frozenset()


class Answer(Enum):
    """What is known about the truth of a condition."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


Row: TypeAlias = dict[Expr, int]
"""A number as monomial -> coefficient; ONE stands for the constant. Unlike an Expr it is not interned."""


@dataclass(slots=True)
class Known:
    """The state of the facts. Entries about symbols that were replaced stay, and are never met again.

    Attributes:
        assumed: the facts as they were given; reasons are indices into it.
        replacements: symbol -> what it is in current symbols, and why.
        meanings: current symbol -> what it is in the symbols of the user.
        bounds: numbers that are not negative, in current symbols, and why.
        truths: conditions that are true, in current symbols, and why.
        by_term: (monomial, whether its coefficient is positive) -> bounds with that term; some are forgotten.
        users: symbol -> what it occurs in: symbols by their replacement, bounds, truths; some are forgotten.
    """

    assumed: list[Expr] = field(default_factory=list[Expr])
    replacements: dict[Symbol, tuple[Expr, Reasons]] = field(
        default_factory=dict[Symbol, tuple[Expr, Reasons]]
    )
    meanings: dict[Symbol, Expr] = field(default_factory=dict[Symbol, Expr])
    bounds: dict[Expr, Reasons] = field(default_factory=dict[Expr, Reasons])
    truths: dict[Expr, Reasons] = field(default_factory=dict[Expr, Reasons])
    by_term: dict[tuple[Expr, bool], dict[Expr, Row]] = field(
        default_factory=dict[tuple[Expr, bool], dict[Expr, Row]]
    )
    users: dict[Symbol, dict[Expr, None]] = field(default_factory=dict[Symbol, dict[Expr, None]])


def current(known: Known, e: Expr) -> tuple[Expr, Reasons]:
    """Return `e` in current symbols, simplified, and why it is the same."""
    found = {s: known.replacements[s] for s in free_symbols(e) if s in known.replacements}
    if not found:
        return simplify(e), NO_REASON
    reasons = NO_REASON.union(*(why for _, why in found.values()))
    return simplify(substitute(e, {s: new for s, (new, _) in found.items()})), reasons


def slack(e: Expr) -> Expr:
    """Return the number that is not negative exactly if a Le or Lt is true."""
    return e.args[1] - e.args[0] - int(type(e) is nodes.Lt)


Verdict: TypeAlias = tuple[Answer, Reasons]
Prover: TypeAlias = Callable[[Known, Expr], Verdict]
provers: Final[Rules[Prover]] = Rules("prove")
UNDECIDED: Final[Verdict] = (Answer.UNKNOWN, NO_REASON)
OPPOSITE: Final = {Answer.YES: Answer.NO, Answer.NO: Answer.YES, Answer.UNKNOWN: Answer.UNKNOWN}


def proved(known: Known, e: Expr) -> Verdict:
    """Decide a condition in the symbols of the user."""
    now, reasons = current(known, e)
    answer, more = _decided(known, now)
    if answer is Answer.UNKNOWN:
        simpler, why = collapsed(known, now)
        if simpler is not now:
            answer, more = _decided(known, simpler)
            more |= why
    return (answer, reasons | more) if answer is not Answer.UNKNOWN else UNDECIDED


def _decided(known: Known, e: Expr) -> Verdict:
    """Decide a condition in current symbols."""
    if e is TRUE or e is FALSE:
        return (Answer.YES if e is TRUE else Answer.NO), NO_REASON
    if e in known.truths:
        return Answer.YES, known.truths[e]
    opposite = negate(e)
    if opposite in known.truths:
        return Answer.NO, known.truths[opposite]
    return provers[type(e)](known, e)


@provers.on(nodes.Le, nodes.Lt)
def _(known: Known, e: Expr) -> Verdict:
    """u >= 0 is true if that is shown, false if -u - 1 >= 0 is."""
    u = slack(e)
    return _first(known, ((u, Answer.YES), (-u - 1, Answer.NO)))


@provers.on(nodes.Eq)
def _(known: Known, e: Expr) -> Verdict:
    """x == y is false if x < y or y < x is shown, true if x <= y and y <= x are."""
    u = e.args[0] - e.args[1]
    answer, reasons = _first(known, ((u - 1, Answer.NO), (-u - 1, Answer.NO)))
    if answer is not Answer.UNKNOWN:
        return answer, reasons
    low, high = _not_negative(known, u), _not_negative(known, -u)
    return UNDECIDED if low is None or high is None else (Answer.YES, low | high)


@provers.on(nodes.Ne)
def _(known: Known, e: Expr) -> Verdict:
    """The opposite of Eq."""
    answer, reasons = _decided(known, negate(e))
    return OPPOSITE[answer], reasons


@provers.on(nodes.And)
def _(known: Known, e: Expr) -> Verdict:
    """False if one part is, true if all are."""
    return _all(known, e.args, Answer.YES)


@provers.on(nodes.Or)
def _(known: Known, e: Expr) -> Verdict:
    """True if one part is, false if all are."""
    return _all(known, e.args, Answer.NO)


def _all(known: Known, parts: Iterable[Expr], answer: Answer) -> Verdict:
    """Return `answer` if all parts have it, its opposite if one part has that."""
    reasons, is_open = NO_REASON, False
    for part in parts:
        found, why = _decided(known, part)
        if found is OPPOSITE[answer]:
            return found, why
        is_open |= found is Answer.UNKNOWN
        reasons |= why
    return UNDECIDED if is_open else (answer, reasons)


def _first(known: Known, claims: Iterable[tuple[Expr, Answer]]) -> Verdict:
    """Return the answer of the first number that is shown not to be negative."""
    for u, answer in claims:
        reasons = _not_negative(known, u)
        if reasons is not None:
            return answer, reasons
    return UNDECIDED


def _not_negative(known: Known, u: Expr) -> Reasons | None:
    """Return why u >= 0, None when no proof is found.

    Searches for integers a > 0, b >= 0, ... with a*u - b*v - ... > -a by intervals, where v, ... are kept
    bounds, or what follows from the meaning of a part; a step subtracts the bound that cancels one term.
    """
    row = row_of(u)
    rows: list[tuple[Row, int, Reasons]] = [(row, 1, NO_REASON)]
    seen = {frozenset(row.items())}
    for row, factor, reasons in rows:
        lo = _lowest(row)
        if lo is not None and lo > -factor:
            return reasons
        for found, a, why in _steps(known, row) if len(rows) < SEARCH_LIMIT else ():
            key = frozenset(found.items())
            if key not in seen:
                seen.add(key)
                rows.append((found, factor * a, reasons | why))
    return None


def row_of(u: Expr) -> Row:
    """Return a number as a row."""
    row = dict(u.terms)
    if u.constant:
        row[ONE] = u.constant
    return row


def _least(mono: Expr, c: int) -> int | None:
    """Return the lower bound of a term, by intervals."""
    bound = interval(mono).lo if c > 0 else interval(mono).hi
    return None if bound is None else c * bound


def _lowest(row: Row) -> int | None:
    """Return the lower bound of a number, by intervals."""
    total = 0
    for mono, c in row.items():
        least = _least(mono, c)
        if least is None:
            return None
        total += least
    return total


def _steps(known: Known, row: Row) -> Iterator[tuple[Row, int, Reasons]]:
    """Yield a*u - b*v, a > 0, b > 0, that lacks a term of u, for each bound v; and a, and why v >= 0.

    A term without a lower bound must go, so the first of these is tried alone.
    """
    meant = [row_of(v) for mono in row for v in _meant(mono)]
    unbounded = [(mono, c) for mono, c in row.items() if _least(mono, c) is None]
    for mono, c in unbounded[:1] or row.items():
        for v, other in known.by_term.get((mono, c > 0), {}).items():
            if v in known.bounds:
                yield *_cancelled(row, other, mono), known.bounds[v]
        for other in meant:
            if (c > 0) == (other.get(mono, -c) > 0):
                yield *_cancelled(row, other, mono), NO_REASON


def _cancelled(row: Row, other: Row, mono: Expr) -> tuple[Row, int]:
    """Return a*row - b*other, a > 0, b > 0, without the term; and a."""
    common = gcd(row[mono], other[mono])
    a, b = abs(other[mono]) // common, abs(row[mono]) // common
    made = {key: a * row.get(key, 0) - b * other.get(key, 0) for key in (*row, *other)}
    return {key: c for key, c in made.items() if c}, a


@memo(MEMO_SIZE)
def _meant(e: Expr) -> tuple[Expr, ...]:
    """Return numbers that are not negative by what an atom means; no more than its interval says for most."""
    if type(e) is Min:
        return tuple(arg - e for arg in e.args)
    if type(e) is Max:
        return tuple(e - arg for arg in e.args)
    if type(e) not in (FloorDiv, Mod) or not is_positive(e.args[1]):
        return ()
    x, d = e.args
    if type(e) is FloorDiv:
        return x - d * e, d * e + d - 1 - x
    lo = interval(x).lo
    return (d - 1 - e, x - e) if lo is not None and lo >= 0 else (d - 1 - e,)


# Simplifying with inequalities: what intervals alone do not decide inside an expression.

Collapse: TypeAlias = Callable[[Known, tuple[Expr, ...]], tuple[Expr, Reasons] | None]
collapses: Final[Rules[Collapse]] = Rules("collapse")


def collapsed(known: Known, e: Expr) -> tuple[Expr, Reasons]:
    """Return an expression in current symbols, the parts simplified that kept bounds decide, and why."""
    if not known.bounds or known.users.keys().isdisjoint(free_symbols(e)):
        return e, NO_REASON
    return _collapsed(known, e, {})


def _collapsed(known: Known, e: Expr, done: dict[Expr, tuple[Expr, Reasons]]) -> tuple[Expr, Reasons]:
    """Return `e` with its parts collapsed first; `done` maps parts that were met before."""
    if not e.args:
        return e, NO_REASON
    if e not in done:
        parts = [_collapsed(known, arg, done) for arg in e.args]
        args, reasons = tuple(part for part, _ in parts), NO_REASON.union(*(why for _, why in parts))
        rule = collapses.find(type(e))
        found = rule(known, args) if rule is not None else None
        made, why = (construct[type(e)](*args), NO_REASON) if found is None else found
        done[e] = simplify(made), reasons | why
    return done[e]


def _divided(kind: type[FloorDiv | Mod], known: Known, args: tuple[Expr, ...]) -> tuple[Expr, Reasons] | None:
    """x // d -> 0, and x % d -> x, 0 <= x < d."""
    x, d = args
    low = _not_negative(known, x)
    high = None if low is None else _not_negative(known, d - x - 1)
    return None if low is None or high is None else (x if kind is Mod else Const(0), low | high)


def _extreme(kind: type[Min | Max], sign: int, known: Known, args: tuple[Expr, ...]) -> tuple[Expr, Reasons]:
    """min(x, y, ...) -> min(y, ...), y <= x (for Max: x <= y)."""
    kept, reasons = list(args), NO_REASON
    for x in args:
        for y in kept:
            why = None if x is y else _not_negative(known, (x - y) * sign)
            if why is not None:
                kept.remove(x)
                reasons |= why
                break
    return construct[kind](*kept), reasons


for _kind in (FloorDiv, Mod):
    collapses.on(_kind)(partial(_divided, _kind))
for _kind, _sign in ((Min, 1), (Max, -1)):
    collapses.on(_kind)(partial(_extreme, _kind, _sign))

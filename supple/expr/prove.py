"""What follows from a state of the facts: decide a condition, simplify with inequalities.

Owns `Known`, the immutable state, and never changes one. Proofs are sound and incomplete.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias

from supple.base.rules import Rules
from supple.expr.build import negate
from supple.expr.interval import interval
from supple.expr.nodes import (
    FALSE,
    TRUE,
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
    Ne,
    Not,
    Or,
    Symbol,
    construct,
)
from supple.expr.simplify import simplify
from supple.expr.walk import free_symbols, substitute

SEARCH_DEPTH: Final = 8
SEARCH_LIMIT: Final = 200

Reasons: TypeAlias = frozenset[int]
NO_REASON: Final[Reasons] = frozenset()


class Answer(Enum):
    """What is known about the truth of a condition."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Known:
    """One immutable state of the facts.

    Attributes:
        assumed: the facts as they were given; reasons are indices into it.
        replacements: symbol -> what it is in current symbols, and why.
        meanings: current symbol -> what it is in the symbols of the user.
        bounds: numbers that are not negative, in current symbols, and why.
        truths: conditions that are true, in current symbols, and why.
    """

    assumed: tuple[Expr, ...]
    replacements: Mapping[Symbol, tuple[Expr, Reasons]]
    meanings: Mapping[Symbol, Expr]
    bounds: Mapping[Expr, Reasons]
    truths: Mapping[Expr, Reasons]


def current(known: Known, e: Expr) -> tuple[Expr, Reasons]:
    """Return `e` in current symbols, simplified, and why it is the same."""
    found = {s: known.replacements[s] for s in free_symbols(e) if s in known.replacements}
    if not found:
        return simplify(e), NO_REASON
    reasons = NO_REASON.union(*(why for _, why in found.values()))
    return simplify(substitute(e, {s: new for s, (new, _) in found.items()})), reasons


def slack(e: Expr) -> Expr:
    """Return the number that is not negative exactly if a Le or Lt is true."""
    return e.args[1] - e.args[0] - int(type(e) is Lt)


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
        simpler = collapsed(known, now)
        if simpler is not now:
            answer, more = _decided(known, simpler)
            more = more.union(*known.bounds.values())
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


@provers.on(Le, Lt)
def _(known: Known, e: Expr) -> Verdict:
    """u >= 0 is true if that is shown, false if -u - 1 >= 0 is."""
    u = slack(e)
    return _first(known, ((u, Answer.YES), (-u - 1, Answer.NO)))


@provers.on(Eq)
def _(known: Known, e: Expr) -> Verdict:
    """x == y is false if x < y or y < x is shown, true if x <= y and y <= x are."""
    u = e.args[0] - e.args[1]
    answer, reasons = _first(known, ((u - 1, Answer.NO), (-u - 1, Answer.NO)))
    if answer is not Answer.UNKNOWN:
        return answer, reasons
    low, high = _not_negative(known, u), _not_negative(known, -u)
    return UNDECIDED if low is None or high is None else (Answer.YES, low | high)


@provers.on(Ne)
def _(known: Known, e: Expr) -> Verdict:
    """The opposite of Eq."""
    answer, reasons = _decided(known, negate(e))
    return OPPOSITE[answer], reasons


@provers.on(Not)
def _(known: Known, e: Expr) -> Verdict:
    """The opposite of the operand."""
    answer, reasons = _decided(known, e.args[0])
    return OPPOSITE[answer], reasons


@provers.on(And)
def _(known: Known, e: Expr) -> Verdict:
    """False if one part is, true if all are."""
    return _all(known, e.args, Answer.YES)


@provers.on(Or)
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

    Searches for integers a > 0, b >= 0, ... with a*u - b*v - ... >= 0 by intervals, where v, ... are kept
    bounds; a step subtracts the bound that cancels one term. At most SEARCH_DEPTH steps and SEARCH_LIMIT
    numbers.
    """
    level: list[tuple[Expr, Reasons]] = [(u, NO_REASON)]
    seen = {u}
    for _ in range(SEARCH_DEPTH + 1):
        for e, reasons in level:
            lo = interval(e).lo
            if lo is not None and lo >= 0:
                return reasons
        steps = [(e, why) for found, reasons in level for e, why in _steps(known, found, reasons)]
        level = []
        for e, why in steps:
            if e not in seen and len(seen) < SEARCH_LIMIT:
                seen.add(e)
                level.append((e, why))
    return None


def _steps(known: Known, u: Expr, reasons: Reasons) -> list[tuple[Expr, Reasons]]:
    """Return the numbers a*u - b*v, a > 0, b > 0, that lack a term of u, for each kept bound v."""
    terms = dict(u.terms)
    return [
        (abs(c) * u - abs(terms[mono]) * v, reasons | why)
        for v, why in known.bounds.items()
        for mono, c in v.terms
        if mono in terms and (c > 0) == (terms[mono] > 0)
    ]


# Simplifying with inequalities: what intervals alone do not decide inside an expression.

collapses: Final[Rules[Callable[[Known, tuple[Expr, ...]], Expr | None]]] = Rules("collapse")


def collapsed(known: Known, e: Expr) -> Expr:
    """Return an expression in current symbols with the parts simplified that the kept bounds decide."""
    return _collapsed(known, e, {}) if known.bounds else e


def _collapsed(known: Known, e: Expr, done: dict[Expr, Expr]) -> Expr:
    """Return `e` with its parts collapsed first; `done` maps parts that were met before."""
    if not e.args:
        return e
    result = done.get(e)
    if result is None:
        args = tuple(_collapsed(known, arg, done) for arg in e.args)
        rule = collapses.find(type(e))
        found = rule(known, args) if rule is not None else None
        result = simplify(construct[type(e)](*args) if found is None else found)
        done[e] = result
    return result


def _is_below(known: Known, x: Expr, d: Expr) -> bool:
    """Tell whether 0 <= x < d."""
    return _not_negative(known, x) is not None and _not_negative(known, d - x - 1) is not None


@collapses.on(FloorDiv)
def _(known: Known, args: tuple[Expr, ...]) -> Expr | None:
    """x // d -> 0, 0 <= x < d."""
    return Const(0) if _is_below(known, *args) else None


@collapses.on(Mod)
def _(known: Known, args: tuple[Expr, ...]) -> Expr | None:
    """x % d -> x, 0 <= x < d."""
    return args[0] if _is_below(known, *args) else None


def _winners(known: Known, sign: int, args: tuple[Expr, ...]) -> list[Expr]:
    """Return the operands of a Min (sign 1) or Max (sign -1) that are not known to lose against another."""
    kept = list(args)
    for x in args:
        if any(x is not y and _not_negative(known, (x - y) * sign) is not None for y in kept):
            kept.remove(x)
    return kept


@collapses.on(Min)
def _(known: Known, args: tuple[Expr, ...]) -> Expr | None:
    """min(x, y, ...) -> min(y, ...), y <= x."""
    return construct[Min](*_winners(known, 1, args))


@collapses.on(Max)
def _(known: Known, args: tuple[Expr, ...]) -> Expr | None:
    """max(x, y, ...) -> max(y, ...), x <= y."""
    return construct[Max](*_winners(known, -1, args))

"""What is assumed about symbols beyond their ranges.

`Facts` keeps assumptions in three forms. Note [Current symbols]: an equality, a divisibility or a bound of
one symbol becomes a replacement of the symbol (by an expression, by a multiple of a hidden quotient symbol,
by itself with a smaller range), so that the constructors simplify with it. A linear inequality between
several symbols is kept as a number that is not negative; a proof subtracts such numbers until intervals
decide. Everything else is kept as a truth that is found again when the same expression is asked.

Facts do not know who assumed them.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeVar

from supple.base.errors import SuppleError
from supple.base.journal import Journal, Mark
from supple.base.memo import memo
from supple.base.rules import Rules
from supple.expr import nodes
from supple.expr.build import less, less_equal
from supple.expr.divide import exact_quotient
from supple.expr.interval import Interval, excludes_zero, interval
from supple.expr.nodes import FALSE, TRUE, Const, Expr, FloorDiv, Mod, Symbol, sort_key
from supple.expr.polynomial import MEMO_SIZE
from supple.expr.prove import Answer, Known, Reasons, collapsed, current, proved, row_of, slack
from supple.expr.simplify import inside, simplify
from supple.expr.text import text
from supple.expr.walk import coefficient, free_symbols, substitute


@dataclass(frozen=True, slots=True)
class Proof:
    """An answer and the assumed facts that it may rest on, in the order of assumption; none for UNKNOWN."""

    answer: Answer
    used: tuple[Expr, ...]


class Contradiction(SuppleError):
    """A fact was assumed that is known to be false."""


class Facts:
    """Assumptions about symbols; `prove` and `known` use them, `rollback` forgets the latest ones."""

    __slots__ = ("_forms", "_journal", "_known", "_proofs")

    def __init__(self, journal: Journal | None = None) -> None:
        self._journal = Journal() if journal is None else journal
        self._known = Known()
        self._proofs: dict[Expr, Proof] = {}
        self._forms: dict[Expr, Expr] = {}

    @property
    def assumed(self) -> tuple[Expr, ...]:
        """The facts that were assumed and did not follow from earlier ones, in order."""
        return tuple(self._known.assumed)

    def mark(self) -> Mark:
        """Return a point to which `rollback` can return."""
        return self._journal.mark()

    def rollback(self, mark: Mark) -> None:
        """Forget what was assumed since `mark`; undoes other owners of the same journal too."""
        self._journal.rollback(mark)

    def assume(self, fact: Expr) -> None:
        """Take a condition for true.

        Raises:
            Contradiction: the fact is known to be false; nothing has changed.
        """
        proof = self.prove(fact)
        if proof.answer is Answer.YES:
            return
        if proof.answer is Answer.NO:
            raise Contradiction(_contradiction((*proof.used, fact)))
        mark = self.mark()
        self._journal.record(self._forget)
        self._journal.record(self._known.assumed.pop)
        self._known.assumed.append(fact)
        try:
            Draft(self._known, self._journal).settle(fact, frozenset((len(self._known.assumed) - 1,)))
        except Contradiction:
            self.rollback(mark)
            raise
        self._forget()

    def _forget(self) -> None:
        """Forget answers that were given."""
        self._proofs.clear()
        self._forms.clear()

    def prove(self, e: Expr) -> Proof:
        """Return whether `e` follows from the facts, its negation does, or neither was found."""
        found = self._proofs.get(e)
        if found is None:
            answer, reasons = proved(self._known, e)
            found = Proof(answer, tuple(self._known.assumed[i] for i in sorted(reasons)))
            self._proofs[e] = found
        return found

    def bounds(self, e: Expr) -> Interval:
        """Return an interval that holds the number `e` wherever the facts are true."""
        return interval(collapsed(self._known, current(self._known, e)[0])[0])

    def known(self, e: Expr) -> Expr:
        """Return what equals `e` wherever the facts are true: the simplest form that was found."""
        found = self._forms.get(e)
        if found is None:
            found = self._forms[e] = self._simplest(e)
        return found

    def _simplest(self, e: Expr) -> Expr:
        plain = simplify(e)
        now, _ = collapsed(self._known, current(self._known, e)[0])
        if now is plain:
            return plain
        meanings = {s: self._known.meanings[s] for s in free_symbols(now) if s in self._known.meanings}
        other = simplify(substitute(_whole_again(now, meanings), meanings))
        return min(plain, other, key=lambda found: (not found.is_const, _size(found), found.sort_key))


def _whole_again(e: Expr, meanings: Mapping[Symbol, Expr]) -> Expr:
    """Return a number m*d*q + r as m*x + r, for the hidden symbols q that mean x // d with x % d == 0."""
    if isinstance(e, nodes.BoolExpr):
        return e
    for s in sorted(meanings, key=sort_key):
        meaning = meanings[s]
        found = coefficient(e, s) if type(meaning) is FloorDiv else None
        m = None if found is None else exact_quotient(found[0], meaning.args[1])
        if found is not None and m is not None:
            e = found[1] + m * meaning.args[0]
    return e


def _contradiction(facts: Iterable[Expr]) -> str:
    """Return the message of a Contradiction."""
    return f"these facts cannot all be true: {', '.join(map(str, facts))}"


@memo(MEMO_SIZE)
def _size(e: Expr) -> int:
    """Return the number of operands in `e`, at any depth; a shared part counts each time."""
    return 1 + sum(map(_size, e.args))


# Assuming: a rule says how a condition of its kind, in current symbols and not decided, is kept.


K = TypeVar("K", bound=Expr)
V = TypeVar("V")


class Draft:
    """Takes one fact into the state."""

    __slots__ = ("_journal", "_pending", "known")

    def __init__(self, known: Known, journal: Journal) -> None:
        self.known = known
        self._journal = journal
        self._pending: list[tuple[Expr, Reasons]] = []

    def settle(self, fact: Expr, reasons: Reasons) -> None:
        """Take in a fact and all that it changes.

        Raises:
            Contradiction: the fact and the earlier ones cannot all be true.
        """
        self.add(fact, reasons)
        while self._pending:
            e, why = self._pending.pop()
            e, more = current(self.known, e)
            why |= more
            if e is FALSE:
                raise Contradiction(_contradiction(self.known.assumed[i] for i in sorted(why)))
            if e is not TRUE:
                keep[type(e)](self, e, why)

    def add(self, fact: Expr, reasons: Reasons) -> None:
        """Take in a fact before this draft is settled."""
        self._pending.append((fact, reasons))

    def put(self, table: dict[K, V], key: K, value: V, about: Expr = TRUE) -> None:
        """Enter something, to be looked at when a symbol of `about` is replaced."""
        old = table.get(key)
        self._journal.record(lambda: table.pop(key) if old is None else table.__setitem__(key, old))
        table[key] = value
        for s in free_symbols(about):
            self.known.users.setdefault(s, {})[key] = None

    def bound(self, u: Expr, reasons: Reasons) -> None:
        """Keep a number that is not negative."""
        if u not in self.known.bounds:
            self.put(self.known.bounds, u, reasons, u)
            row = row_of(u)
            for mono, c in u.terms:
                self.known.by_term.setdefault((mono, c > 0), {})[u] = row

    def truth(self, e: Expr, reasons: Reasons) -> None:
        """Keep a condition as it is."""
        if e not in self.known.truths:
            self.put(self.known.truths, e, reasons, e)

    def replace(self, old: Symbol, new: Expr, reasons: Reasons) -> None:
        """Replace a current symbol everywhere; what contained it is taken in again."""
        known = self.known
        users = list(known.users.get(old, ()))
        self.put(known.replacements, old, (new, reasons), new)
        for user in users:
            if isinstance(user, Symbol) and user in known.replacements:
                value, why = known.replacements[user]
                if old in free_symbols(value):
                    value = substitute(value, {old: new})
                    self.put(known.replacements, user, (value, why | reasons), value)
            if user in known.bounds:
                self.add(less_equal(0, user), known.bounds[user])
            if user in known.truths:
                self.add(user, known.truths[user])

    def narrow(self, old: Symbol, bounds: Interval, reasons: Reasons) -> None:
        """Replace a current symbol by one with smaller bounds."""
        lo = bounds.lo if old.minimum is None or bounds.lo is None else max(old.minimum, bounds.lo)
        hi = bounds.hi if old.maximum is None or bounds.hi is None else min(old.maximum, bounds.hi)
        lo, hi = (old.minimum if lo is None else lo), (old.maximum if hi is None else hi)
        if lo is not None and lo == hi:
            self.replace(old, Const(lo), reasons)
            return
        new = Symbol(old.name, lo, hi)
        self.put(self.known.meanings, new, self.known.meanings.get(old, old))
        self.replace(old, new, reasons)

    def eliminate(self, old: Symbol, value: Expr, reasons: Reasons) -> None:
        """Replace a current symbol by its value, which takes over its range."""
        self.replace(old, value, reasons)
        if old.minimum is not None:
            self.add(less_equal(old.minimum, value), reasons)
        if old.maximum is not None:
            self.add(less_equal(value, old.maximum), reasons)


Keep: TypeAlias = Callable[[Draft, Expr, Reasons], None]
keep: Final[Rules[Keep]] = Rules("keep fact")


@keep.on(nodes.And)
def _(draft: Draft, e: Expr, reasons: Reasons) -> None:
    """Both parts are facts."""
    for part in e.args:
        draft.add(part, reasons)


@keep.on(nodes.Or)
def _(draft: Draft, e: Expr, reasons: Reasons) -> None:
    """Kept as it is."""
    draft.truth(e, reasons)


@keep.on(nodes.Ne)
def _(draft: Draft, e: Expr, reasons: Reasons) -> None:
    """x != y is x < y or y < x where one of them is never less; others are kept as they are."""
    u = e.args[0] - e.args[1]
    bounds = interval(u)
    if 0 in (bounds.lo, bounds.hi):
        draft.add(less(0, u) if bounds.lo == 0 else less(u, 0), reasons)
    else:
        draft.truth(e, reasons)


@keep.on(nodes.Le, nodes.Lt)
def _(draft: Draft, e: Expr, reasons: Reasons) -> None:
    """A bound of one symbol narrows it; other inequalities are kept as numbers that are not negative."""
    left, right = e.args
    if isinstance(left, Symbol) and right.is_const:
        draft.narrow(left, Interval(None, right.value), reasons)
    elif isinstance(right, Symbol) and left.is_const:
        draft.narrow(right, Interval(left.value, None), reasons)
    else:
        draft.bound(slack(e), reasons)


@keep.on(nodes.Eq)
def _(draft: Draft, e: Expr, reasons: Reasons) -> None:
    """An equation eliminates a symbol or makes it a multiple; others are kept, also as two inequalities."""
    u = e.args[0] - e.args[1]
    solved = _solved(u)
    if solved is not None:
        draft.eliminate(*solved, reasons)
        return
    multiple = _multiple(draft, e)
    if multiple is not None:
        draft.eliminate(*multiple, reasons)
        return
    draft.truth(e, reasons)
    for side in (u, -u):
        draft.bound(side, reasons)
        order = inside(side, 0)
        if order is not None:
            draft.add(order, reasons)


def _solved(u: Expr) -> tuple[Symbol, Expr] | None:
    """Return (s, value) with s == value wherever u == 0, for the last symbol that has a factor of 1 or -1."""
    for s in sorted(free_symbols(u), key=sort_key, reverse=True):
        found = coefficient(u, s)
        if found is not None and found[0].is_const and abs(found[0].value) == 1:
            return s, -found[1] * found[0].value
    return None


def _multiple(draft: Draft, e: Expr) -> tuple[Symbol, Expr] | None:
    """Return (s, value) for x % d == c, d known not to be 0: s such that x - c is d times a new symbol.

    The new symbol means (x - c) // d.
    """
    left, right = e.args
    if type(left) is not Mod or not right.is_const or not excludes_zero(left.args[1]):
        return None
    x, d = left.args[0] - right, left.args[1]
    solved = _solved(x)
    if solved is None or solved[0] in free_symbols(d):
        return None
    s, value = solved
    whole = x // d
    bounds = interval(whole)
    quotient = Symbol(f"({text(whole)})", bounds.lo, bounds.hi)
    meanings = {t: draft.known.meanings[t] for t in free_symbols(whole) if t in draft.known.meanings}
    draft.put(draft.known.meanings, quotient, substitute(whole, meanings))
    found = coefficient(x, s)
    assert found is not None, f"{x} is affine in {s}, as it was solved for it"
    return s, value + found[0] * d * quotient

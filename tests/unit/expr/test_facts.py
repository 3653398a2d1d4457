"""What follows from assumed facts, which of them were used, and forgetting them again."""

import pytest

from supple.base.journal import Journal
from supple.expr import (
    Answer,
    BoolExpr,
    Contradiction,
    Expr,
    Facts,
    Interval,
    both,
    either,
    equal,
    less,
    less_equal,
    maximum,
    minimum,
    negate,
    not_equal,
    symbol,
)
from supple.expr.facts import keep
from supple.expr.nodes import TRUE, Truth
from supple.expr.prove import provers

a, b, c = (symbol(name, minimum=2) for name in "abc")
t, n = symbol("t", minimum=0), symbol("n", minimum=1)
k = symbol("k", minimum=0, maximum=767)
u, v, w = symbol("u"), symbol("v"), symbol("w")


def assuming(*facts: Expr) -> Facts:
    """Return the facts, assumed in order."""
    known = Facts()
    for fact in facts:
        known.assume(fact)
    return known


def divisible(x: Expr, d: Expr | int) -> Expr:
    """Return the condition that d divides x."""
    return equal(x % d, 0)


@pytest.mark.parametrize(
    ("facts", "claim"),
    [
        ((equal(a, b),), equal(b, a)),
        ((equal(a, b), equal(b, c)), equal(a, c)),
        ((equal(a, b + 1),), less(b, a)),
        ((equal(2 * a, b),), divisible(b, 2)),
        ((equal(a * b, c),), divisible(c, a)),
        ((divisible(a, 8),), divisible(a, 4)),
        ((divisible(a, 8),), divisible(3 * a * b, 8)),
        ((divisible(a, 2), divisible(a, 3)), divisible(a, 2)),
        ((divisible(a, 8), divisible(a, 16)), divisible(a, 16)),
        ((divisible(a + b, 4),), divisible(2 * a + 2 * b, 8)),
        ((equal(a % 4, 3),), divisible(a + 1, 4)),
        ((divisible(a, 8),), less_equal(8, a)),
        ((divisible(u, n),), equal(n * (u // n), u)),
        ((less_equal(a, 5), less_equal(5, a)), equal(a, 5)),
        ((not_equal(a, 2),), less(2, a)),
        ((not_equal(a, 7),), not_equal(7, a)),
        ((less(a, b), less(b, c)), less(a + 1, c)),
        ((less_equal(a, b), less_equal(b, c), less_equal(c, a)), equal(a, c)),
        ((less(t, n),), less(768 * t + k, 768 * n)),
        ((less(t, n),), equal((768 * t + k) // (768 * n), 0)),
        ((less(u, 2 * v), less(v, w)), less(u + 1, 2 * w)),
        ((less(u, v),), not_equal(u, v)),
        ((less(u, v),), either(equal(u, w), less(u, v + 1))),
        ((both(less(u, v), less(v, w)),), both(less(u, w), negate(equal(u, w)))),
        ((either(equal(u, 1), equal(v, 1)),), either(equal(v, 1), equal(u, 1))),
        ((equal(u * v, 12),), less(u * v, 13)),
    ],
)
def test_claim_follows(facts: tuple[Expr, ...], claim: Expr) -> None:
    assert Facts().prove(claim).answer is Answer.UNKNOWN
    known = assuming(*facts)
    assert known.prove(claim).answer is Answer.YES
    assert known.prove(negate(claim)).answer is Answer.NO


@pytest.mark.parametrize(
    ("facts", "claim"),
    [
        ((equal(a, b),), equal(a, c)),
        ((less_equal(a, b),), less(a, b)),
        ((divisible(a, 4),), divisible(a, 8)),
        ((divisible(u, v),), equal(v * (u // v), u)),
        ((less(u, v), less(u, w)), less(v, w)),
        ((either(equal(u, 1), equal(v, 1)),), equal(u, 1)),
        ((less_equal(t, n),), equal(t // n, 0)),
    ],
)
def test_claim_does_not_follow(facts: tuple[Expr, ...], claim: Expr) -> None:
    proof = assuming(*facts).prove(claim)
    assert proof.answer is Answer.UNKNOWN
    assert proof.used == ()


def test_proof_names_the_facts_that_it_used() -> None:
    facts = equal(a, b), less(t, n), less_equal(n, c), divisible(b, 8)
    known = assuming(*facts)
    assert known.prove(less(t, c)).used == (facts[1], facts[2])
    assert known.prove(equal(b, a)).used[0] is facts[0]
    assert facts[1] not in known.prove(divisible(a, 4)).used
    assert {facts[0], facts[3]} <= set(known.prove(divisible(a, 4)).used)


def test_proof_of_an_equality_uses_both_inequalities() -> None:
    facts = less_equal(u, v), less_equal(v, w), less_equal(w, u)
    assert assuming(*facts).prove(equal(u, v)).used == facts


def test_proof_of_a_conjunction_uses_the_facts_of_all_parts() -> None:
    facts = equal(a, b), less(t, n), divisible(c, 4)
    assert assuming(*facts).prove(both(equal(b, a), less(t, n + 1), divisible(c, 2))).used == facts


def test_proof_over_a_chain_of_equalities_uses_all_of_them() -> None:
    facts = equal(c, b), equal(b, a)
    assert assuming(*facts).prove(equal(c, a)).used == facts


def test_proof_without_facts_uses_none() -> None:
    proof = assuming(equal(a, b)).prove(less(1, c))
    assert proof.answer is Answer.YES
    assert proof.used == ()


def test_fact_that_follows_is_not_assumed_again() -> None:
    known = assuming(equal(a, b), equal(b, a), less_equal(2, a))
    assert known.assumed == (equal(a, b),)


@pytest.mark.parametrize(
    "facts",
    [
        (equal(a, b), less(a, b)),
        (less(a, b), less(b, a)),
        (equal(a, 4), divisible(a, 3)),
        (less_equal(a, 5), equal(a, b), less(6, b)),
        (less_equal(a, 7), divisible(a, 8)),
        (less(c, 2),),
        (not_equal(u, v), equal(u, v)),
        (equal(a, b + 4), less_equal(a, 5)),
    ],
)
def test_contradiction_is_an_error_and_changes_nothing(facts: tuple[Expr, ...]) -> None:
    known = assuming(*facts[:-1])
    with pytest.raises(Contradiction, match="cannot all be true"):
        known.assume(facts[-1])
    assert known.assumed == facts[:-1]


def test_rollback_forgets() -> None:
    known = assuming(equal(a, b))
    mark = known.mark()
    known.assume(divisible(a, 8))
    known.assume(less(a, c))
    known.rollback(mark)
    assert known.assumed == (equal(a, b),)
    assert known.prove(divisible(b, 8)).answer is Answer.UNKNOWN
    assert known.prove(less(b, c)).answer is Answer.UNKNOWN
    assert known.prove(equal(a, b)).answer is Answer.YES


def test_facts_share_a_journal_with_other_state() -> None:
    journal, seen = Journal(), [1]
    known = Facts(journal)
    mark = journal.mark()
    journal.record(seen.clear)
    known.assume(equal(a, b))
    journal.rollback(mark)
    assert known.assumed == ()
    assert seen == []


@pytest.mark.parametrize(
    ("fact", "e", "expected"),
    [
        (equal(a, b), 2 * b + a, 3 * a),
        (less(t, n), (768 * t + k) // (768 * n), t - t),
        (less(t, n), (u * n + t) % n, t),
        (less(t, n), minimum(t, n, u), minimum(t, u)),
        (less(t, n), maximum(t, n), n),
        (divisible(a, 8), a % 4 + a, a),
        (divisible(a, 8), a + 1, a + 1),
        (less_equal(k, 63), (64 * u + k) // 64, u),
    ],
)
def test_known_is_the_simplest_form(fact: Expr, e: Expr, expected: Expr) -> None:
    assert assuming(fact).known(e) is expected


def test_known_form_of_a_condition() -> None:
    assert assuming(divisible(a, 8)).known(less(a % 4, b)) is TRUE
    assert assuming(less_equal(a, 5)).known(less(a, b)) is less(a, b)


def test_shared_parts_are_simplified_once() -> None:
    e: Expr = u
    for _ in range(60):
        e = minimum(e // 3, maximum(e % 7, v - e // 5))
    known = assuming(less(v, w))
    assert known.prove(less(e, v)).answer is Answer.UNKNOWN


def test_bounds_use_the_facts() -> None:
    assert assuming(less_equal(a, 9)).bounds(3 * a) == Interval(6, 27)
    assert assuming(equal(u, a + 3)).bounds(u) == Interval(5, None)
    assert assuming(divisible(a, 8), less(a, 30)).bounds(a) == Interval(8, 24)


def test_every_kind_of_condition_can_be_assumed_and_proved() -> None:
    kinds = set(BoolExpr.__subclasses__()) - {Truth}
    assert keep.unclaimed(kinds) == set()
    assert provers.unclaimed(kinds) == set()
    assert assuming(TRUE).assumed == ()

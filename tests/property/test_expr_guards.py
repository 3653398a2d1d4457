"""Guards of typical programs: what is proved about them is what z3 says, and true at every small point."""

import contextlib
import itertools
from collections.abc import Iterator
from typing import Final

import pytest
from hypothesis import given, settings

from supple.expr import (
    Answer,
    Expr,
    Facts,
    Symbol,
    equal,
    evaluate,
    free_symbols,
    less,
    less_equal,
    negate,
    not_equal,
    parse,
    substitute,
    symbol,
)
from tests.property.expr_trees import Tree, built, environments
from tests.property.expr_z3 import follows
from tests.property.test_expr_facts import facts_at, facts_lists, simple_conditions

#: Sizes (s0, ..., u0), a free integer, sizes of which one element is known to exist, a bounded one.
SYMBOLS: Final = {
    s.name: s
    for s in (
        *(symbol(name, minimum=0) for name in ("s0", "s1", "s2", "u0")),
        symbol("n"),
        symbol("g", minimum=2),
        symbol("h", minimum=2),
        symbol("b", minimum=1, maximum=64),
    )
}
#: (facts between semicolons, claim)
CORPUS: Final = (
    ("", "0 <= s0"),
    ("", "s0 == -1"),
    ("", "s0 + s1 == s1 + s0"),
    ("", "2*s0 == 2*s1 + 1"),
    ("", "s0 + 1 == 0"),
    ("s0 == 33", "s0 <= 40"),
    ("s0 == 33", "s0*2 == 66"),
    ("s0 <= 30; s0 != 10", "s0 < 31"),
    ("s0 <= 30", "s0 == 40"),
    ("2 <= s0", "s0 == 1"),
    ("2 <= s0", "s0 == 0"),
    ("1 <= s0", "s0 == 0"),
    ("s0 != 0", "1 <= s0"),
    ("s0 != 0; s0 != 1", "2 <= s0"),
    ("s0 == s1", "s0*s2 == s1*s2"),
    ("s0 == s1; s1 == s2", "s0 == s2"),
    ("s0 == s1 + s2", "s1 <= s0"),
    ("s0 + s1 == s2", "s1 == s2 - s0"),
    ("s0 == 4*s1", "s0 % 4 == 0"),
    ("s0 == 4*s1", "s0 // 4 == s1"),
    ("s0 % 4 == 0", "s0 % 2 == 0"),
    ("s0 % 2 == 0", "(s0 // 2)*2 == s0"),
    ("s0 % 2 == 0; s1 == s0 // 2", "2*s1 == s0"),
    ("s0 % 8 == 0", "(s0 // 4) % 2 == 0"),
    ("s0 % 8 == 0", "s0*s1 % 8 == 0"),
    ("s0 % 3 == 1", "(s0 + 2) % 3 == 0"),
    ("", "16*s0*s1 % 16 == 0"),
    ("1 <= s0", "(16*s0*s1) // s0 == 16*s1"),
    ("1 <= s1", "(s0*s1) // s1 == s0"),
    ("1 <= s0", "(s0*12*64) // (s0*12) == 64"),
    ("", "(s0*768) // 12 == 64*s0"),
    ("", "(s0 + 1) // 2 == 0"),
    ("1 <= s0", "(s0 + 1) // 2 == 0"),
    ("(s0 + 1) // 2 == 0", "s0 == 0"),
    ("(s0 + 1) // 2 == 3", "s0 <= 6"),
    ("(s0 + 1) // 2 == 3", "5 <= s0"),
    ("", "(s0 + 1) // 2 <= s0"),
    ("", "s0 // 2 <= s0"),
    ("3 <= s0", "(s0 - 3) // 2 + 1 == 0"),
    ("3 <= s0", "1 <= (s0 - 3) // 2 + 1"),
    ("", "s0 // 2 + (s0 + 1) // 2 == s0"),
    ("s0 < 2", "s0 // 2 == 0"),
    ("", "min(1, s0) <= 1"),
    ("1 <= s0", "min(1, s0) == 1"),
    ("min(1, s0) == 0", "s0 == 0"),
    ("", "min(s0, 128) <= s0"),
    ("s0 <= 128", "min(s0, 128) == s0"),
    ("", "s0 <= max(s0, s1)"),
    ("s0 <= s1", "max(s0, s1) == s1"),
    ("max(s0, s1) <= 8", "s0 <= 8"),
    ("max(s0, s1) <= 8", "s1 == 9"),
    ("", "max(0, s0 - 4) <= s0"),
    ("4 <= s0", "max(0, s0 - 4) == s0 - 4"),
    ("", "max(1, s0) == 0"),
    ("", "min(s0, 5) + max(s0, 5) == s0 + 5"),
    ("s0 < s1; s1 < s2", "s0 + 1 < s2"),
    ("s0 <= s1; s1 <= s2; s2 <= s0", "s0 == s2"),
    ("s0 + s1 <= 2048; 2000 <= s0", "s1 <= 48"),
    ("s0 + s1 <= 2048", "s0 <= 2048"),
    ("s0 + 3 <= s1", "s0 < s1"),
    ("2*s0 <= s1; s1 <= 2*s0", "s1 == 2*s0"),
    ("s0 <= s1", "s0 // 2 <= s1 // 2"),
    ("u0 <= s0", "u0 < s0 + 1"),
    ("u0 <= s0; s0 == 5", "u0 <= 5"),
    ("u0 < s0", "s0 == 0"),
    ("u0 < s0", "1 <= s0"),
    ("", "g*h == 1"),
    ("", "g <= g*h"),
    ("", "g*h < g*h*4"),
    ("", "g*h*3 == g*3"),
    ("", "g*h - g == 0"),
    ("1 <= s0; 1 <= s1", "s1 <= s0*s1"),
    ("1 <= s1", "s0 <= s0*s1"),
    ("s0*s1 == 12; s0 == 3", "s1 == 4"),
    ("s0*s1 == 0; 1 <= s0", "s1 == 0"),
    ("s0*s1 == s0*s2; 1 <= s0", "s1 == s2"),
    ("768*s0 == 768*s1", "s0 == s1"),
    ("", "b <= 64"),
    ("", "b == 65"),
    ("", "b // 65 == 0"),
    ("", "b % 65 == b"),
    ("s0 < b", "s0 <= 63"),
    ("s0 % b == 0; s0 < b", "s0 == 0"),
    ("n % 4 == 0", "n % 2 == 0"),
    ("-3 <= n; n < 0", "n + 3 < 3"),
    ("n < 5 and 2 <= n", "n == 5"),
    ("n == 1 or n == 2", "n <= 2"),
    ("s0 == 1 or s0 == s1; 2 <= s0", "s0 == s1"),
    ("s0 % 2 == 1", "s0 == 4"),
    ("s0 % 2 == 1", "1 <= s0"),
    ("s0 % 2 != 0", "s0 % 2 == 1"),
    ("s0 % 16 == 0; 1 <= s0", "16 <= s0"),
)
#: Claims that are true and that no rule shows.
BEYOND: Final = (
    ("", "s0 // 2 + (s0 + 1) // 2 == s0"),
    ("", "min(s0, 5) + max(s0, 5) == s0 + 5"),
    ("n == 1 or n == 2", "n <= 2"),
)
SMALL: Final = range(-4, 14)


def read(line: str) -> Expr:
    """Return a condition on the symbols above."""
    e = parse(line)
    return substitute(e, {s: SYMBOLS[s.name] for s in free_symbols(e)})


def facts_of(lines: str) -> list[Expr]:
    """Return the facts between semicolons."""
    return [read(line) for line in lines.split(";") if line]


def answer(facts: list[Expr], claim: Expr) -> Answer:
    """Return what the facts say of a claim."""
    known = Facts()
    for fact in facts:
        known.assume(fact)
    return known.prove(claim).answer


def opinion(facts: list[Expr], claim: Expr) -> Answer:
    """Return what z3 says of a claim."""
    if follows(facts, claim):
        return Answer.YES
    return Answer.NO if follows(facts, negate(claim)) else Answer.UNKNOWN


@pytest.mark.parametrize(("facts", "claim"), [case for case in CORPUS if case not in BEYOND])
def test_guards_are_decided_as_by_z3(facts: str, claim: str) -> None:
    listed = facts_of(facts)
    assert answer(listed, read(claim)) is opinion(listed, read(claim))


@pytest.mark.parametrize(("facts", "claim"), BEYOND)
def test_what_lies_beyond_the_rules_is_left_open(facts: str, claim: str) -> None:
    assert answer(facts_of(facts), read(claim)) is Answer.UNKNOWN


def points(symbols: frozenset[Symbol]) -> Iterator[dict[str, int]]:
    """Yield small values of the symbols within their ranges."""
    names = sorted(s.name for s in symbols)
    for values in itertools.product(SMALL, repeat=len(names)):
        env = dict(zip(names, values, strict=True))
        if all((s.minimum is None or s.minimum <= env[s.name]) for s in symbols):
            yield env


@pytest.mark.parametrize(("facts", "claim"), CORPUS)
def test_answers_hold_at_every_small_point(facts: str, claim: str) -> None:
    listed, e = facts_of(facts), read(claim)
    found = answer(listed, e)
    known = Facts()
    for fact in listed:
        known.assume(fact)
    simplest = known.known(e)
    for env in points(frozenset().union(*map(free_symbols, (e, *listed)))):
        with contextlib.suppress(ZeroDivisionError):
            if all(evaluate(fact, env) for fact in listed):
                value = evaluate(e, env)
                assert found in (Answer.YES if value else Answer.NO, Answer.UNKNOWN)
                assert evaluate(simplest, env) == value


@settings(max_examples=60)
@given(facts_lists, simple_conditions, environments)
def test_what_is_proved_of_random_facts_z3_does_not_deny(
    listed: list[Tree], claim: Tree, env: dict[str, int]
) -> None:
    facts, e = list(facts_at(listed, env).assumed), built(claim)
    found = answer(facts, e)
    if found is not Answer.UNKNOWN:
        assert not follows(facts, negate(e) if found is Answer.YES else e, milliseconds=200)


def test_a_thousand_guards_are_taken_in_and_asked_again() -> None:
    sizes = [symbol(f"s{i}", minimum=0) for i in range(500)]
    known = Facts()
    for i, (left, right) in enumerate(itertools.pairwise(sizes)):
        known.assume(less_equal(left, right + i % 3))
        known.assume(not_equal(left, 5000 + i))
    known.assume(equal(sizes[-1], 100))
    assert known.prove(less(sizes[490], 110)).answer is Answer.YES
    assert known.prove(less(sizes[0], 600)).answer is Answer.UNKNOWN

"""Proofs against plain Python: what is proved from facts that are true at a point is true there."""

import contextlib

from hypothesis import given
from hypothesis import strategies as st

from supple.expr import Answer, Expr, Facts, evaluate, negate
from tests.property.expr_trees import Tree, built, conditions, environments, names, trees, value

simple = st.recursive(
    names | st.integers(-3, 12),
    lambda parts: (
        st.tuples(st.sampled_from(("+", "-")), parts, parts)
        | st.tuples(st.just("*"), st.integers(-3, 4), parts)
    ),
    max_leaves=3,
)
divisibilities = st.tuples(
    st.just("=="),
    st.tuples(st.just("%"), simple, st.sampled_from((2, 3, 4, 6, 8, "n", "d"))),
    st.integers(0, 2),
)
simple_conditions = st.tuples(st.sampled_from(("==", "!=", "<", "<=")), simple, simple) | divisibilities
facts_lists = st.lists(simple_conditions | conditions, max_size=6)


def facts_at(listed: list[Tree], env: dict[str, int]) -> Facts:
    """Return the facts made of those conditions, negated where needed, that have a value at `env`."""
    facts = Facts()
    for tree in listed:
        with contextlib.suppress(ZeroDivisionError):
            is_true = value(tree, env)
            facts.assume(built(tree) if is_true else negate(built(tree)))
    return facts


@given(facts_lists, simple_conditions | conditions, environments)
def test_what_is_proved_is_true(listed: list[Tree], claim: Tree, env: dict[str, int]) -> None:
    facts = facts_at(listed, env)
    proof = facts.prove(built(claim))
    assert set(proof.used) <= set(facts.assumed)
    with contextlib.suppress(ZeroDivisionError):
        expected = Answer.YES if value(claim, env) else Answer.NO
        assert proof.answer in (expected, Answer.UNKNOWN)


@given(facts_lists, simple_conditions | conditions, environments)
def test_the_used_facts_suffice(listed: list[Tree], claim: Tree, env: dict[str, int]) -> None:
    proof = facts_at(listed, env).prove(built(claim))
    again = Facts()
    for fact in proof.used:
        again.assume(fact)
    if proof.answer is not Answer.UNKNOWN:
        assert again.prove(built(claim)).answer in (proof.answer, Answer.UNKNOWN)


@given(facts_lists, simple | trees, environments)
def test_known_and_bounds_hold_where_the_facts_do(
    listed: list[Tree], tree: Tree, env: dict[str, int]
) -> None:
    facts = facts_at(listed, env)
    e = built(tree)
    with contextlib.suppress(ZeroDivisionError):
        expected = value(tree, env)
        assert evaluate(facts.known(e), env) == expected
        assert expected in facts.bounds(e)


@given(facts_lists, facts_lists, environments)
def test_rollback_restores_every_answer(first: list[Tree], second: list[Tree], env: dict[str, int]) -> None:
    facts = facts_at(first, env)
    claims: list[Expr] = [built(tree) for tree in second]
    before = [facts.prove(claim) for claim in claims], facts.assumed
    mark = facts.mark()
    for claim in claims:
        if evaluates_to_true(claim, env):
            facts.assume(claim)
    facts.rollback(mark)
    assert ([facts.prove(claim) for claim in claims], facts.assumed) == before


def evaluates_to_true(e: Expr, env: dict[str, int]) -> bool:
    """Tell whether a condition has a value at `env` and is true."""
    with contextlib.suppress(ZeroDivisionError):
        return bool(evaluate(e, env))
    return False

"""The engine against plain Python: each form of an expression has the value of its tree."""

import contextlib
import pickle
from collections.abc import Iterator

import pytest
from hypothesis import assume, given

from supple.expr import (
    coefficient,
    evaluate,
    free_symbols,
    interval,
    parse,
    simplify,
    sort_key,
    substitute,
    text,
)
from tests.property.expr_trees import SYMBOLS, Tree, built, conditions, environments, names, trees, value


@contextlib.contextmanager
def division_by_zero_discards() -> Iterator[None]:
    """Discard the example when the tree has no value."""
    try:
        yield
    except ZeroDivisionError:
        assume(False)


@given(trees | conditions, environments)
def test_a_built_expression_has_the_value_of_its_tree(tree: Tree, env: dict[str, int]) -> None:
    with division_by_zero_discards():
        expected = value(tree, env)
    assert evaluate(built(tree), env) == expected


@given(trees | conditions, environments)
def test_simplify_keeps_the_value(tree: Tree, env: dict[str, int]) -> None:
    with division_by_zero_discards():
        expected = value(tree, env)
    assert evaluate(simplify(built(tree)), env) == expected


@given(trees | conditions)
def test_simplify_twice_is_simplify_once(tree: Tree) -> None:
    once = simplify(built(tree))
    assert simplify(once) is once


@given(trees, environments)
def test_interval_contains_the_value(tree: Tree, env: dict[str, int]) -> None:
    e = built(tree)
    with division_by_zero_discards():
        assert evaluate(e, env) in interval(e)


@given(trees | conditions)
def test_parsed_text_is_the_expression(tree: Tree) -> None:
    e = built(tree)
    assert parse(text(e)) is e


@given(trees | conditions)
def test_rebuilding_an_expression_from_its_parts_returns_it(tree: Tree) -> None:
    e = built(tree)
    assert substitute(e, {s: symbol_again(s.name) for s in free_symbols(e)}) is e
    assert pickle.loads(pickle.dumps(e)) is e


def symbol_again(name: str) -> object:
    """Return the symbol, found by its name."""
    return SYMBOLS[name]


@given(trees | conditions, names, trees, environments)
def test_substitution_then_evaluation_is_evaluation_with_the_value(
    tree: Tree, name: str, replacement: Tree, env: dict[str, int]
) -> None:
    s = SYMBOLS[name]
    with division_by_zero_discards():
        new = value(replacement, env)
        assume((s.minimum is None or s.minimum <= new) and (s.maximum is None or new <= s.maximum))
        expected = value(tree, {**env, name: new})
        # The replacement may contain divisions that fail where the original has none left.
        actual = evaluate(substitute(built(tree), {s: built(replacement)}), env)
    assert actual == expected


@given(trees, trees, trees)
def test_equal_polynomials_are_the_same_object(a: Tree, b: Tree, c: Tree) -> None:
    x, y, z = built(a), built(b), built(c)
    assert x + y is y + x
    assert x * y is y * x
    assert (x + y) + z is x + (y + z)
    assert (x * y) * z is x * (y * z)
    assert (x + y) * z is x * z + y * z
    assert x - x is built(0)
    negated = -x
    assert -negated is x


@given(trees, names)
def test_coefficient_and_rest_make_the_expression_again(tree: Tree, name: str) -> None:
    e, s = built(tree), SYMBOLS[name]
    found = coefficient(e, s)
    if found is None:
        assert s in free_symbols(e)
        return
    slope, rest = found
    assert slope * s + rest is e
    assert s not in free_symbols(slope) | free_symbols(rest)


@given(trees, trees)
def test_the_order_is_total(a: Tree, b: Tree) -> None:
    x, y = built(a), built(b)
    assert [sort_key(x) < sort_key(y), x is y, sort_key(x) > sort_key(y)].count(True) == 1


@given(trees, trees, environments)
def test_a_decided_difference_is_decided_rightly(a: Tree, b: Tree, env: dict[str, int]) -> None:
    difference = simplify(built(a) - built(b))
    with division_by_zero_discards():
        expected = value(a, env) - value(b, env)
    if difference.is_const:
        assert difference.value == expected


def test_the_oracle_has_python_semantics() -> None:
    assert value(("//", -7, 2), {}) == -4
    assert value(("%", 7, -2), {}) == -1
    with pytest.raises(ZeroDivisionError):
        value(("%", "u", 0), {"u": 1})

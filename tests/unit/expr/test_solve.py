"""One symbol alone on one side of a comparison."""

import pytest

from supple.expr import Expr, Isolated, both, equal, isolate, less, less_equal, not_equal, parse, symbol

s, t = symbol("s"), symbol("t")
n = symbol("n", minimum=1)


@pytest.mark.parametrize(
    ("e", "relation", "value"),
    [
        (equal(2 * s + 6, 20), "==", "7"),
        (equal(s + t, 3 * t + 1), "==", "2*t + 1"),
        (equal(s * n, t * n + 2 * n), "==", "t + 2"),
        (not_equal(s, t), "!=", "t"),
        (less_equal(3 * s, t), "<=", "t // 3"),
        (less(3 * s, t), "<=", "(t - 1) // 3"),
        (less_equal(t, 3 * s), ">=", "(t + 2) // 3"),
        (less(t, s), ">=", "t + 1"),
        (less_equal(5, 2 * s), ">=", "3"),
    ],
)
def test_isolated_symbol(e: Expr, relation: str, value: str) -> None:
    found = isolate(e, s)
    assert found is not None
    assert (found.relation, found.value) == (relation, parse(value.replace("n", "n[1:]")))
    assert found == Isolated(s, relation, found.value)


@pytest.mark.parametrize(
    "e",
    [
        equal(2 * s, t),
        equal(s * t, 1),
        equal(s * t, t),
        equal(s * s, 4),
        equal(s // 2, t),
        less(s * n, t),
        equal(t, 1),
        less(t, 1),
        both(equal(s, 1), equal(t, 1)),
    ],
)
def test_what_has_no_exact_solution_is_none(e: Expr) -> None:
    assert isolate(e, s) is None

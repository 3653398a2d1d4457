"""Free symbols, substitution, coefficients, evaluation, exact quotients."""

import pytest

from supple.expr import (
    coefficient,
    const,
    equal,
    evaluate,
    exact_quotient,
    free_symbols,
    less,
    maximum,
    minimum,
    substitute,
    symbol,
)

x, y = symbol("x"), symbol("y")
i, k = symbol("i", minimum=0, maximum=767), symbol("k", minimum=0, maximum=63)


def test_free_symbols_are_found_everywhere() -> None:
    assert free_symbols(x * y + minimum(i, k // x)) == {x, y, i, k}
    assert free_symbols(const(3)) == frozenset()
    assert free_symbols(less(x, i)) == {x, i}


def test_substitution_is_simultaneous() -> None:
    assert substitute(x - 2 * y, {x: y, y: x}) is y - 2 * x


def test_substitution_simplifies() -> None:
    assert substitute((64 * x + y) // 64, {y: k}) is x
    assert substitute(less(x, 64), {x: k}).value is True
    assert substitute(x * y, {x: 0}) is const(0)


def test_substitution_that_touches_nothing_returns_the_expression() -> None:
    e = x * y + x // y
    assert substitute(e, {k: 3}) is e


@pytest.mark.parametrize(
    ("e", "slope", "rest"),
    [
        (i * 768 + k, 1, i * 768),
        (3 * k * x + 2 * k + y, 3 * x + 2, y),
        (k * (x // y) + x % y, x // y, x % y),
        (x + 1, 0, x + 1),
        (const(5), 0, 5),
    ],
)
def test_coefficient_is_the_stride(e: object, slope: object, rest: object) -> None:
    a, b = coefficient(e, k)
    assert a - slope is const(0)
    assert b - rest is const(0)


@pytest.mark.parametrize("e", [k * k, k // 5, k % 3 + k, minimum(k, x), k * (k // 2), x * maximum(k, x)])
def test_coefficient_of_what_is_not_affine_is_none(e: object) -> None:
    assert coefficient(e, k) is None


def test_evaluate_follows_python() -> None:
    assert evaluate((x // y) * 10 + x % y, {"x": -7, "y": 2}) == -39
    assert evaluate(maximum(x, y, 3), {"x": 1, "y": 2}) == 3
    assert evaluate(equal(x, y), {"x": 1, "y": 1}) is True


def test_evaluate_of_a_division_by_zero_fails() -> None:
    for e in (x // y, x % y, x // 0, x // x, y // y + 1):
        with pytest.raises(ZeroDivisionError):
            evaluate(e, {"x": 0, "y": 0})


def test_evaluate_without_a_value_fails() -> None:
    with pytest.raises(KeyError, match="y"):
        evaluate(x + y, {"x": 1})


def test_evaluate_meets_shared_parts_once() -> None:
    e = x
    for _ in range(100):
        e = minimum(e // 3, maximum(e % 7, y - e // 5))
    assert isinstance(evaluate(e, {"x": 10**6, "y": 3}), int)


def test_exact_quotient_is_a_polynomial_or_none() -> None:
    assert exact_quotient(x * y + y, x + 1) is y
    assert exact_quotient(6 * x * y, 3 * x) is 2 * y
    assert exact_quotient(6 * x, 4) is None
    assert exact_quotient(x + 1, y) is None
    assert exact_quotient(x, const(0)) is None

"""The printed form of expressions, and what the parser refuses."""

import pytest

from supple.expr import both, either, equal, less, maximum, minimum, negate, parse, symbol, text

x, y = symbol("x"), symbol("y")
k, s = symbol("k", minimum=0, maximum=63), symbol("s0", minimum=2)


@pytest.mark.parametrize(
    ("e", "expected"),
    [
        (768 * k + s, "768*k[0:64] + s0[2:]"),
        (-x, "-x"),
        (-x - 2 * y - 3, "-x - 2*y - 3"),
        (-3 * x**2 * y, "-3*x**2*y"),
        (4 * (x // 3), "4*(x // 3)"),
        (-(x // 3), "-(x // 3)"),
        ((x // 3) ** 2, "(x // 3)**2"),
        ((x + 1) % (y + 1), "(x + 1) % (y + 1)"),
        ((2 * x) // y, "(2*x) // y"),
        (x // 0, "x // 0"),
        (minimum(x, y + 1), "min(x, y + 1)"),
        (maximum(x, -5), "max(x, -5)"),
        (both(less(x, y), either(equal(x, 1), less(y, 0))), "x < y and (x == 1 or y <= -1)"),
        (negate(both(less(x, y), less(y, 9))), "y <= x or 9 <= y"),
        (equal(x, x), "True"),
        (symbol("u", maximum=-1), "u[:0]"),
    ],
)
def test_text_is_python_and_reads_back(e: object, expected: str) -> None:
    assert text(e) == expected
    assert parse(expected) is e


def test_repr_leaves_the_ranges_out() -> None:
    assert repr(768 * k + s) == "768*k + s0"
    assert text(768 * k + s, ranges=False) == "768*k + s0"


def test_very_long_numbers_read_back() -> None:
    for number in (2**20_000 + 1, -(3**20_000)):
        e = symbol("x") * 2 + number
        assert parse(text(e)) is e


def test_parsed_text_is_simplified() -> None:
    assert parse("(64*x + k[0:64]) // 64") is x
    assert parse("x + -y - -1") is x - y + 1


@pytest.mark.parametrize(
    "line",
    [
        "",
        "x +",
        "x / 2",
        "x.y",
        "f(x)",
        "min(x, key=y)",
        "x < y < 3",
        "1.5",
        "'x'",
        "x[0]",
        "x[0:2:1]",
        "f(x)[0:2]",
        "~x",
        "x @ y",
        "x if y else 3",
        "x = 3",
        "x[y:]",
        "x ** y",
        "x and y",
        "not x",
        "(x < y) + 1",
    ],
)
def test_what_text_never_prints_is_an_error(line: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        parse(line)

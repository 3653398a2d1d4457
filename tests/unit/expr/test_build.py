"""Nodes and constructors: one object for equal expressions, errors for what has no meaning."""

import copy
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from supple.expr import (
    FALSE,
    TRUE,
    Add,
    Expr,
    Mul,
    as_expr,
    both,
    const,
    either,
    equal,
    less,
    maximum,
    minimum,
    negate,
    product,
    sort_key,
    symbol,
    text,
    total,
)

x, y, z = symbol("x"), symbol("y"), symbol("z")


def test_equal_constants_are_one_object() -> None:
    assert const(5) is const(5)
    assert as_expr(5) is const(5)
    assert as_expr(x) is x
    assert const(True) is const(1)


def test_symbols_of_other_ranges_are_other_symbols() -> None:
    assert symbol("x") is x
    assert symbol("x", minimum=0) is symbol("x", minimum=0)
    assert symbol("x", minimum=0) is not x
    assert (symbol("x", minimum=0) - x) is not const(0)


@pytest.mark.parametrize("name", ["", "1x", "a b", "x.y", "if", "None", "min", "max"])
def test_symbol_needs_an_identifier(name: str) -> None:
    with pytest.raises(ValueError, match="not a name"):
        symbol(name)


def test_symbol_needs_a_range_with_a_value() -> None:
    with pytest.raises(ValueError, match="empty"):
        symbol("x", minimum=2, maximum=1)


def test_powers_are_multiplied_out() -> None:
    assert (x + y) ** 2 is x * x + 2 * x * y + y * y
    assert (x + 1) ** 3 is x**3 + 3 * x**2 + 3 * x + 1
    assert x**0 is const(1)
    assert (2 * x) ** 10 is 1024 * x**10
    with pytest.raises(ValueError, match="negative"):
        x**-1


def test_args_of_sums_and_products_make_them_again() -> None:
    e = 3 * x**2 * y - 2 * z + 7
    assert type(e) is Add
    assert total(e.args) is e
    assert [text(arg) for arg in e.args] == ["3*x**2*y", "-2*z", "7"]
    assert type(e.args[0]) is Mul
    assert e.args[0].args == (const(3), x, x, y)
    assert product(e.args[0].args) is e.args[0]
    assert total([]) is const(0)
    assert product([]) is const(1)


def test_zero_times_anything_is_zero() -> None:
    assert 0 * (x // y) is const(0)
    assert x * 0 is const(0)


def test_only_constants_have_a_value() -> None:
    assert (x - x + 3).value == 3
    assert TRUE.value is True
    assert not x.is_const
    with pytest.raises(TypeError, match="not a constant"):
        _ = (x + 1).value


def test_expression_has_no_truth() -> None:
    with pytest.raises(TypeError, match="truth"):
        bool(less(x, y))


def test_expression_is_immutable() -> None:
    with pytest.raises(AttributeError, match="immutable"):
        x.name = "y"  # type: ignore[misc]
    with pytest.raises(AttributeError, match="immutable"):
        del x.name
    assert copy.copy(x) is x
    assert copy.deepcopy([x + y]) == [x + y]


def test_numbers_and_booleans_do_not_mix() -> None:
    with pytest.raises(TypeError, match="not a number"):
        less(x, y) + 1
    with pytest.raises(TypeError, match="not a number"):
        minimum(x, TRUE)
    with pytest.raises(TypeError, match="not true or false"):
        both(x, TRUE)
    with pytest.raises(TypeError):
        x + 1.5
    with pytest.raises(TypeError, match="neither"):
        as_expr("x")


def test_foreign_operands_get_their_reflected_operator() -> None:
    class Foreign:
        def __radd__(self, other: object) -> str:
            return "reflected"

    assert x + Foreign() == "reflected"


def test_min_and_max_are_flat_sorted_sets() -> None:
    assert minimum(z, minimum(x, y)) is minimum(x, y, z)
    assert minimum(y, x, y) is minimum(x, y)
    assert maximum(x) is x
    assert minimum(3, 5, 4) is const(3)
    with pytest.raises(ValueError, match="nothing"):
        maximum()


def test_connectives_are_flat_sorted_sets_without_constants() -> None:
    p, q, r = less(x, y), less(y, z), equal(x, 3)
    assert both(p, both(q, r)) is both(r, q, p)
    assert both(p, TRUE) is p
    assert both(p, FALSE) is FALSE
    assert either(p, True) is TRUE
    assert either(p, FALSE, p) is p
    assert both() is TRUE
    assert either() is FALSE
    assert both(p, negate(p)) is FALSE
    assert either(p, q, negate(p)) is TRUE
    assert negate(both(p, q)) is either(negate(p), negate(q))
    assert negate(negate(both(p, q))) is both(p, q)


def test_order_of_symbols_is_natural() -> None:
    symbols = [symbol(name) for name in ("s10", "s2", "a", "s1")]
    assert [text(s) for s in sorted(symbols, key=sort_key)] == ["a", "s1", "s2", "s10"]


def test_one_thread_wins_when_many_build_the_same() -> None:
    barrier = Barrier(8)

    def build(_: int) -> list[Expr]:
        barrier.wait()
        return [(symbol(f"t{i}") * 7 + i) // 3 for i in range(300)]

    with ThreadPoolExecutor(8) as pool:
        first, *others = pool.map(build, range(8))
    assert all(a is b for other in others for a, b in zip(first, other, strict=True))


SCRIPT = """
from supple.expr import *
names = ["s%d" % i for i in range(12)]
{order}
a, b, c, *rest = [symbol(n, minimum=0, maximum=9) for n in names]
e = total(x * y // 3 + x % 5 for x in (a, b, c) for y in rest)
print(text(simplify(e * e)), text(minimum(*rest, e)), text(both(*(less(x, e) for x in rest))))
"""


def test_text_is_the_same_in_every_process() -> None:
    outputs = set()
    for seed, order in (
        ("0", ""),
        ("1", ""),
        ("2", "[symbol(n, minimum=0, maximum=9) for n in reversed(names)]"),
    ):
        process = subprocess.run(
            [sys.executable, "-c", SCRIPT.format(order=order)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        outputs.add(process.stdout)
    assert len(outputs) == 1
    assert len(outputs.pop()) > 1000

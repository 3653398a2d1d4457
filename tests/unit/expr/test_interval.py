"""Value ranges of every kind of number."""

import pytest

from supple.expr import (
    Add,
    Const,
    FloorDiv,
    Interval,
    Max,
    Min,
    Mod,
    Mul,
    Symbol,
    interval,
    maximum,
    minimum,
    symbol,
)
from supple.expr.interval import transfer

k, n = symbol("k", minimum=0, maximum=63), symbol("n", minimum=2, maximum=9)
d, m, u = symbol("d", minimum=1), symbol("m", minimum=-5, maximum=-1), symbol("u")
z = symbol("z", minimum=-3, maximum=2)


@pytest.mark.parametrize(
    ("e", "lo", "hi"),
    [
        (k, 0, 63),
        (64 * n + k, 128, 639),
        (-3 * k + 1, -188, 1),
        (k - d, None, 62),
        (u + k, None, None),
        (z * z, 0, 9),
        (u * u, 0, None),
        (z**3, -27, 8),
        (m * m, 1, 25),
        (m * z, -10, 15),
        (d * m, None, -1),
        (d * k, 0, None),
        (u * k, None, None),
        (k // 7, 0, 9),
        (k // n, 0, 31),
        (k // d, 0, 63),
        ((k - 5) // d, -5, 58),
        (z // d, -3, 2),
        (k // m, -63, 0),
        (k // u, None, None),
        (m // d, -5, -1),
        (u % 7, 0, 6),
        (k % n, 0, 8),
        (u % n, 0, 8),
        (u % d, 0, None),
        (k % d, 0, 63),
        (u % m, -4, 0),
        (u % u, None, None),
        (minimum(k, u), None, 63),
        (maximum(k, u), 0, None),
        (minimum(k, n + d), 0, 63),
        (maximum(z, k), 0, 63),
    ],
)
def test_interval_of_each_kind(e: object, lo: int | None, hi: int | None) -> None:
    assert interval(e) == Interval(lo, hi)


def test_every_kind_of_number_has_a_transfer_function() -> None:
    assert transfer.unclaimed({Const, Symbol, Add, Mul, FloorDiv, Mod, Min, Max}) == set()


def test_huge_bounds_stay_exact() -> None:
    big = symbol("big", minimum=-(10**40), maximum=10**40)
    assert interval(big * z) == Interval(-3 * 10**40, 3 * 10**40)

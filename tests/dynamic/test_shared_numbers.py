"""Numbers that are computed from shared numbers: small in memory, and as trees larger than memory.

Forty steps, each of which needs the one before it twice, are a tree of 2**40 leaves: whatever walks one, or
writes it as text, does not end.
"""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

import supple
from supple.expr import brief, maximum, minimum, shortened, symbol, text
from supple.expr.real import Comparison, Real, computed, evaluate_real, inputs_of, ratio, replaced
from supple.ir.key import key_of

STEPS = 40


def stencil(x: torch.Tensor) -> torch.Tensor:
    for _ in range(STEPS):
        x = x[1:] + x[:-1]
    return x


def rotated(x: torch.Tensor) -> torch.Tensor:
    for _ in range(STEPS // 2):
        x = torch.cat([x, x[:1]])[1:]
    return x


def joined(x: torch.Tensor) -> torch.Tensor:
    for _ in range(STEPS // 2):
        x = torch.cat([x[1:] + x[:-1], x[:1]])
    return x


def tenths(x: torch.Tensor) -> torch.Tensor:
    for _ in range(STEPS):
        x = x[: x.shape[0] - x.shape[0] // 10] * 2
    return x


SIZES = {function.__name__: function for function in (stencil, rotated, joined, tenths)}


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "native"])
@pytest.mark.parametrize("name", SIZES)
def test_sizes_of_shared_sizes_are_compiled(name: str, backend: str) -> None:
    compiled = supple.compile(SIZES[name], backend=backend, dynamic=True, fullgraph=True)
    for size in (80, 70, 91):
        x = torch.arange(float(size), dtype=torch.float64)
        assert torch.equal(compiled(x), SIZES[name](x))


def newton(x: torch.Tensor, s: float) -> tuple[torch.Tensor, float]:
    y = 1.0
    for _ in range(STEPS):
        y = 0.5 * (y + s / y)
    return x * y, y


def logistic(x: torch.Tensor, s: float) -> tuple[torch.Tensor, float]:
    for _ in range(STEPS):
        s = s * (1.0 - s) * 3.1
    return x + s, s


def of_sizes(x: torch.Tensor, s: float) -> tuple[torch.Tensor, float]:
    y = 1.0
    for _ in range(STEPS):
        y = 0.5 * (y + x.shape[0] / y)
    return x * y + s, y


def branching(x: torch.Tensor, s: float) -> tuple[torch.Tensor, float]:
    for _ in range(STEPS):
        s = s * (1.0 - s) * 3.1
        if s > 0.5:
            x = x + s
    return x, s


FLOATS = {function.__name__: function for function in (newton, logistic, of_sizes, branching)}


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "native"])
@pytest.mark.parametrize("name", FLOATS)
def test_floats_of_shared_floats_are_compiled(name: str, backend: str) -> None:
    compiled = supple.compile(FLOATS[name], backend=backend, dynamic=True, fullgraph=True)
    for size, s in ((80, 0.3), (70, 0.4), (80, 0.41)):
        x = torch.arange(float(size), dtype=torch.float64)
        got, want = compiled(x, s), FLOATS[name](x, s)
        assert torch.equal(got[0], want[0])
        assert got[1] == want[1]


def squared(steps: int) -> Real:
    real = Real("input", ("f0",))
    for _ in range(steps):
        real = Real("*", (real, real))
    return real


def test_equal_reals_are_one_object_and_negative_zero_is_no_zero() -> None:
    f = Real("input", ("f0",))
    assert Real("*", (f, 2.0)) is Real("*", (f, 2.0))
    assert Real("*", (f, 0.0)) is not Real("*", (f, -0.0))
    assert key_of(Real("*", (f, 0.0))) != key_of(Real("*", (f, -0.0)))
    with pytest.raises(AttributeError, match="immutable"):
        f.op = "+"


def test_whatever_walks_a_real_ends() -> None:
    real = squared(60)
    assert inputs_of(real) == {"f0"}
    assert evaluate_real(real, {}, {"f0": 1.0}) == 1.0
    assert evaluate_real(replaced(real, {}, {"f0": -1.0}), {}, {}) == 1.0
    assert replaced(real, {}) is real
    assert ratio(real) is None
    function, names = computed(real)
    assert (names, function(1.0)) == (("f0",), 1.0)
    assert key_of(real) != key_of(squared(61))


def test_what_is_long_is_three_dots_for_people() -> None:
    s0, s1 = symbol("s0", minimum=0), symbol("s1", minimum=0)
    size = s0
    for step in range(60):
        size = minimum(size - 1, maximum(size - step, s1))
    assert "..." in brief(size)
    assert len(brief(size)) < 200
    assert "..." in Comparison("<", squared(60), 1.0).text(lambda _, shown: shortened(shown))
    assert brief(s0 - 1) == text(s0 - 1, ranges=False) == "s0 - 1"


ZEROS: dict[str, Callable[[torch.Tensor, float], Any]] = {
    "products": lambda x, s: (x * (s * 0.0), x * (s * -0.0)),
    "made": lambda x, s: (torch.full((3,), s * 0.0), torch.full((3,), s * -0.0)),
    "returned": lambda _, s: (s * 0.0, s * -0.0),
    "extremes": lambda x, s: (x / max(s, 0.0), x / max(s, -0.0), x / min(s, -0.0), x / min(s, 0.0)),
    "of sizes": lambda x, _: (x.shape[0] * 0.0, x.shape[0] * -0.0, x * (x.shape[0] * -0.0)),
    "in a list": lambda _, s: torch.tensor([s * zero for zero in (0.0, -0.0)]),
    "sums": lambda x, s: (x / (s * 0.0 + 0.0), x / (s * 0.0 + -0.0)),
    "in a condition": lambda x, s: x if math.copysign(1.0, s * 0.0) != math.copysign(1.0, s * -0.0) else -x,
    "operators": lambda x, s: (torch.add(x, x, alpha=s * 0.0) * -1, torch.add(x, x, alpha=s * -0.0) * -1),
}


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "native"])
@pytest.mark.parametrize("name", ZEROS)
def test_numbers_that_differ_in_the_sign_of_a_zero_are_two(name: str, backend: str) -> None:
    compiled = supple.compile(ZEROS[name], backend=backend, dynamic=True)
    for s in (0.3, -0.4, 0.5):
        x = torch.ones(3)
        assert repr(compiled(x, s)) == repr(ZEROS[name](x, s))

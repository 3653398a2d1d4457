"""Integers that a program computes do not wrap at 64 bits, as Python's do not."""

import math
from collections.abc import Callable

import pytest
import torch

import supple
from supple.base.config import config

Program = Callable[[torch.Tensor, int], object]
PROGRAMS: dict[str, Program] = {
    "remainder": lambda x, n: x * (n * n % 7),
    "quotient": lambda x, n: x * (n * n // (n + 1) % 1000),
    "power of a size": lambda x, n: x * (x.size(0) ** 21 % 1000),
    "least": lambda x, n: x * min(n * n, 5),
    "greatest": lambda x, n: x * (max(n * n * n, 5) % 11),
    "absolute": lambda x, n: x * (abs(-n * n * n) % 13),
    "of integers": lambda x, n: x.long() + n * n % 7,
    "range": lambda x, n: torch.arange(n * n % 7, n * n % 7 + 3),
    "range by steps": lambda x, n: torch.arange(0, 10, n * n % 7 + 1),
    "full": lambda x, n: torch.full((3,), n * n % 7),
    "a size": lambda x, n: x.new_zeros(n * n * n % 7 + 1),
    "a shape": lambda x, n: x[: n * n * n % 5 + 1] * 2,
    "an index": lambda x, n: x[n * n * n % 9] * 2,
    "a shift": lambda x, n: torch.roll(x, n * n * n % 5),
    "a branch": lambda x, n: x + 1 if n * n % 7 > 3 else x - 1,
    "a sum": lambda x, n: x * (n * n - (n - 1) * (n + 1)),
    "too large": lambda x, n: x + n * n * n,
    "too large for integers": lambda x, n: x.long() + n * n,
    "as a float": lambda x, n: x * float(n * n),
    "divided": lambda x, n: x * (n * n / 7),
    "returned": lambda x, n: (x + 1, n * n * n, n**7 % 1009),
}
NUMBERS = (3, 2**32, 2**32 + 1, 2**33 + 5, 2**31 - 1, -(2**32) - 3)


def outcome(program: Program, n: int) -> object:
    try:
        return program(torch.ones(9), n)
    except (RuntimeError, ValueError, IndexError, OverflowError) as error:
        return type(error)


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.filterwarnings("ignore")
def test_integers_beyond_64_bits_are_those_of_python(name: str, dynamic: bool | None) -> None:
    program = PROGRAMS[name]
    compiled = supple.compile(program, dynamic=dynamic)
    for n in NUMBERS:
        got, want = outcome(compiled, n), outcome(program, n)
        if isinstance(want, torch.Tensor):
            assert isinstance(got, torch.Tensor), n
            torch.testing.assert_close(got, want)
        elif isinstance(want, tuple):
            assert isinstance(got, tuple), n
            assert got[1:] == want[1:]
        else:
            assert got is want, n


ROUNDED: dict[str, Callable[[int], object]] = {
    "quotient": lambda n: int(n / 3),
    "halved": lambda n: math.trunc(n / 2),
    "floor": lambda n: math.floor(n / 3),
    "ceil": lambda n: math.ceil(n / 3),
    "converted": lambda n: int(float(n)),
    "product": lambda n: int(n * 0.5 * 3),
    "difference": lambda n: int(n * 0.5 - (n - 1) * 0.5),
    "a float and a constant": lambda n: (n / 3 < 3002399751580331.5, float(n) < 1024, n / 2 > -0.5),
    "a float and an integer": lambda n: (float(n) == n, float(n) == n - 1, n / 1 < n, n / 1 > n),
    "an integer and a float": lambda n: (n == 2.0**53, n <= 2.0**53, n != 0.5, n > 1e30),
    "two floats": lambda n: (n / 3 == (n + 1) / 3, n / 3 < n / 4, float(n) >= float(n - 1)),
    "rounded": lambda n: round(n / 3),
    "whole": lambda n: (n / 3).is_integer(),
    "divided": lambda n: (n / 1 // 3, n * 1.0 % 3),
    "a range": lambda n: torch.arange(n - 3.0, n + 0.0, 0.5).shape[0],
}
BY_NUMBER = ("rounded", "whole", "two floats", "an integer and a float")
"""What depends on each number, or on where it lies."""
LARGE = (7, 8, -7, 2**53 - 1, 2**53 + 1, 2**53 + 3, 2**62, -(2**62) - 3, 2**60 + 7, 3 * 2**51, 2**54 + 3)


@pytest.mark.parametrize("name", ROUNDED)
@pytest.mark.filterwarnings("ignore")
def test_floats_of_large_integers_are_rounded_as_pythons(name: str) -> None:
    program = ROUNDED[name]
    compiled = supple.compile(lambda x, n: (x + 1, program(n)), backend="eager")
    for n in LARGE:
        assert compiled(torch.ones(2), n)[1] == program(n), n


@pytest.mark.parametrize("name", [name for name in ROUNDED if name not in BY_NUMBER])
def test_floats_of_small_integers_need_no_more_graphs(name: str) -> None:
    program = ROUNDED[name]
    compiled = supple.compile(lambda x, n: (x + 1, program(n)), backend="eager", dynamic=True)
    for n in range(1100, 1110):
        assert compiled(torch.ones(2), n)[1] == program(n), n
    assert supple.stats()["graphs"] == 1


TOO_LARGE: dict[str, Program] = {
    "filled": lambda x, n: x.fill_(n << 70),
    "filled integers": lambda x, n: x.long().fill_((n << 70) * n),
    "added": lambda x, n: x + (n << 70),
    "added to doubles": lambda x, n: x.double() + (n << 64),
    "a product": lambda x, n: x.bool() * (n * -(2**70)),
    "complex": lambda x, n: x.cfloat() - (n << 63),
    "of two bytes": lambda x, n: x.bfloat16().add(x, alpha=n << 70),
    "made": lambda x, n: torch.full((2,), n << 70),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("name", TOO_LARGE)
def test_an_integer_that_torch_does_not_take_is_refused_where_it_is_used(name: str, backend: str) -> None:
    def program(x: torch.Tensor, n: int) -> tuple[object, int]:
        try:
            return str(TOO_LARGE[name](x, n)), n << 3
        except (RuntimeError, OverflowError) as error:
            return str(error), n << 3

    compiled = supple.compile(program, backend=backend, dynamic=True)
    with config.patch(suppress_errors=False):
        for n in (3, 0, 5, -1):
            assert compiled(torch.ones(3), n) == program(torch.ones(3), n)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("backend", ["eager", "native"])
def test_a_number_of_sizes_that_torch_does_not_take_is_refused(backend: str) -> None:
    def program(x: torch.Tensor) -> object:
        try:
            return (x.long() + x.size(0) ** 21).sum().item()
        except (RuntimeError, OverflowError) as error:
            return str(error)

    compiled = supple.compile(program, backend=backend, dynamic=True)
    for n in (3, 7, 9, 2, 8, 12):
        assert compiled(torch.ones(n)) == program(torch.ones(n))


ALONE: dict[str, Program] = {
    "a sum": lambda x, n: torch.tensor(2.0) - sum([n, 3]),
    "a product": lambda x, n: torch.tensor(2.0) * (n * 4),
    "a power": lambda x, n: x[0] + n**2,
    "the number": lambda x, n: x.sum() - n,
    "of several": lambda x, n: x - (n + 3),
}


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("name", ALONE)
@pytest.mark.filterwarnings("ignore")
def test_an_integer_beyond_64_bits_may_be_a_float_beside_one(name: str, dynamic: bool | None) -> None:
    compiled = supple.compile(ALONE[name], backend="native", dynamic=dynamic)
    with config.patch(suppress_errors=False):
        for n in (5, 2**62, 2**63, 2**63 - 2, 2**64 + 1, -(2**63), -(2**70)):
            got, want = outcome(compiled, n), outcome(ALONE[name], n)
            if isinstance(want, torch.Tensor):
                torch.testing.assert_close(got, want)
            else:
                assert got is want

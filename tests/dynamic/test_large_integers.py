"""Integers that a program computes do not wrap at 64 bits, as Python's do not."""

from collections.abc import Callable

import pytest
import torch

import supple

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

"""Numbers that change from call to call and do not go into the type of the tensors: eager refuses them."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import supple
from supple.base.config import config

Function = Callable[[torch.Tensor, float], torch.Tensor]

AT_0 = torch.tensor([0])
OF_FLOATS: dict[str, Function] = {
    "fill_": lambda x, s: x.clone().fill_(s),
    "full": lambda x, s: torch.full((2,), s),
    "full, a type": lambda x, s: torch.full((2,), s, dtype=x.dtype),
    "full_like": torch.full_like,
    "new_full": lambda x, s: x.new_full((2,), s),
    "constant_": lambda x, s: torch.nn.init.constant_(x.clone(), s),
    "setitem": lambda x, s: _set(x.clone(), s),
    "masked_fill": lambda x, s: x.masked_fill(x > 1, s),
    "index_fill": lambda x, s: x.index_fill(0, AT_0, s),
    "scatter": lambda x, s: x.scatter(0, AT_0, s),
    "fill_diagonal_": lambda x, s: x[None].clone().fill_diagonal_(s),
    "pad": lambda x, s: F.pad(x, (1, 1), value=s),
    "add": lambda x, s: x + s,
    "sub": lambda x, s: x - s,
    "rsub": lambda x, s: s - x,
    "mul": lambda x, s: x * s,
    "div": lambda x, s: x / s,
    "rdiv": lambda x, s: s / x,
    "alpha": lambda x, s: torch.add(x, x, alpha=s),
    "pow": lambda x, s: x**s,
    "rpow": lambda x, s: s**x,
    "gt": lambda x, s: x > s,
    "eq": lambda x, s: x == s,
    "fmod": lambda x, s: x.fmod(s),
    "remainder": lambda x, s: x % s,
    "clamp": lambda x, s: x.clamp(min=s),
    "clamp_max": lambda x, s: x.clamp(max=s),
    "where": lambda x, s: torch.where(x > 1, x, s),
    "addcmul": lambda x, s: torch.addcmul(x, x, x, value=s),
    "addcdiv": lambda x, s: torch.addcdiv(x, x, x, value=s),
    "lerp": lambda x, s: torch.lerp(x, x, s),
    "addmm": lambda x, s: torch.addmm(x[:1], x[:1, None], x[None, :1], alpha=s),
    "leaky_relu": F.leaky_relu,
    "threshold": lambda x, s: F.threshold(x, s, s),
    "elu": F.elu,
    "celu": F.celu,
    "softplus": F.softplus,
    "hardtanh": lambda x, s: F.hardtanh(x, s, 2e300),
    "linspace": lambda x, s: torch.linspace(0, s, 3),
    "tensor": lambda x, s: x * torch.tensor(s),
}
OF_INTEGERS = (
    "fill_",
    "full_like",
    "setitem",
    "masked_fill",
    "add",
    "mul",
    "alpha",
    "clamp",
    "gt",
    "pow",
    "eq",
)
DTYPES = (torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int64, torch.uint8)


def _set(x: torch.Tensor, s: float) -> torch.Tensor:
    x[0] = s
    return x


def outcome(run: Function, x: torch.Tensor, number: float) -> tuple[Any, ...]:
    try:
        result = run(x, number)
    except (RuntimeError, ValueError) as error:
        return type(error), str(error)
    return result.dtype, result.tolist()


def check(function: Function, dtype: torch.dtype, numbers: tuple[float, ...], backend: str) -> None:
    compiled = supple.compile(function, backend=backend)
    x = torch.tensor([1, 2, 3]).to(dtype)
    with config.patch(suppress_errors=False):
        for number in numbers:
            wanted, got = outcome(function, x, number), outcome(compiled, x, number)
            if isinstance(wanted[0], type) or not wanted[0].is_floating_point:
                assert got == wanted, number
            else:
                assert got[0] is wanted[0], number
                found, eager = (torch.tensor(values, dtype=wanted[0]) for values in (got[1], wanted[1]))
                torch.testing.assert_close(found, eager, equal_nan=True)


@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", OF_FLOATS)
def test_floats(name: str, dtype: torch.dtype, backend: str) -> None:
    check(OF_FLOATS[name], dtype, (1.5, 2.5, 3.5, 1e300, -1e5, float("inf"), 0.5), backend)


@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("dtype", [*DTYPES, torch.int8, torch.int32], ids=str)
@pytest.mark.parametrize("name", OF_INTEGERS)
def test_integers(name: str, dtype: torch.dtype, backend: str) -> None:
    check(OF_FLOATS[name], dtype, (1, 2, 3, 300, 2**31, 2**20, 70000), backend)


def test_a_float_within_the_range_is_one_graph() -> None:
    compiled = supple.compile(lambda x, s: x.clamp(max=s) + torch.full((2,), s))
    for number in (1.5, 2.5, 3.5, -7.25, 1e10, 0.0):
        compiled(torch.ones(2), number)
    assert supple.stats()["graphs"] in (1, 2)


WIDEST = 2**63 - 1
OF_ONE_NUMBER: dict[str, Callable[[Any], torch.Tensor]] = {
    "full": lambda s: torch.full((2,), s),
    "full of integers": lambda s: torch.full((2,), s, dtype=torch.int64),
    "full of floats": lambda s: torch.full((2,), s, dtype=torch.float32),
    "full of halves": lambda s: torch.full((2,), s, dtype=torch.float16),
    "scalar_tensor": torch.scalar_tensor,
    "new_full": lambda s: torch.ones(2, dtype=torch.int64).new_full((2,), s),
    "arange from": lambda s: torch.arange(s, s + 3),
    "arange to": lambda s: torch.arange(s - 3, s),
    "arange in steps": lambda s: torch.arange(s, s + 30, s),
    "arange to a multiple": lambda s: torch.arange(0, 2 * s, s),
    "arange of floats": lambda s: torch.arange(s - 3, s, dtype=torch.float64),
    "linspace": lambda s: torch.linspace(0, s, 3),
    "tensor": torch.tensor,
}


@pytest.mark.sweep
@pytest.mark.parametrize("is_read", [True, False], ids=["read", "unread"])
@pytest.mark.parametrize("is_dynamic", [True, False], ids=["dynamic", "static"])
@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("name", OF_ONE_NUMBER)
def test_numbers_without_a_tensor_beside_them(
    name: str, backend: str, is_dynamic: bool, is_read: bool
) -> None:
    function = OF_ONE_NUMBER[name]

    def program(_: torch.Tensor, s: Any) -> torch.Tensor:
        made = function(s)
        return made if is_read else torch.ones(2)

    for number in (
        3 << 62,
        WIDEST,
        WIDEST - 3,
        2**63,
        -(2**63),
        -(2**63) - 1,
        2**64,
        2**53 + 3,
        1j,
        1.5,
        1e300,
        True,
    ):
        supple.reset()
        compiled = supple.compile(program, backend=backend)
        with config.patch(suppress_errors=False):
            for given in (3, 5, number) if is_dynamic else (number,):
                assert _told(compiled, given) == _told(program, given), given


def _told(run: Callable[..., torch.Tensor], number: Any) -> tuple[Any, ...]:
    try:
        made = run(torch.ones(1), number)
    except (RuntimeError, ValueError, TypeError, OverflowError) as error:
        return type(error), str(error)
    return made.dtype, made.tolist()


def caught(make: Callable[..., torch.Tensor], x: torch.Tensor, s: int) -> object:
    x.add_(1)
    try:
        y = make(x, s)
    except Exception as error:
        x.mul_(7)
        return type(error), str(error)
    x.add_(y.sum())
    return y.tolist()


def raised(make: Callable[..., torch.Tensor], x: torch.Tensor, s: int) -> object:
    x.add_(1)
    y = make(x, s)
    x.mul_(2)
    return y.tolist()


def dropped(make: Callable[..., torch.Tensor], x: torch.Tensor, s: int) -> object:
    x.add_(1)
    make(x, s)
    return x.mul_(2).tolist()


WIDE: dict[str, Function] = {
    "full": lambda x, s: torch.full((2,), s),
    "full of a square": lambda x, s: torch.full((2,), s * s),
    "full of floats": lambda x, s: torch.full((2,), s * s, dtype=torch.float32),
    "full of a power": lambda x, s: torch.full((2,), s * s * s * s, dtype=torch.int64),
    "arange from": lambda x, s: torch.arange(s * s, s * s + 2),
    "arange to": lambda x, s: torch.arange(s * s - 2, s * s),
    "integers times": lambda x, s: torch.ones(2, dtype=torch.int64) * (s * s),
    "floats times": lambda x, s: x * (s * s),
}
HISTORIES = (
    (3, 5, 2**31, 2**32, 7, -(2**40)),
    (3, 5, -(2**31) - 1, 3037000500),
    (3, 5, 2**63, 7, -(2**63) - 1),
)


@pytest.mark.sweep
@pytest.mark.parametrize("mode", [torch.enable_grad, torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("program", [caught, raised, dropped])
@pytest.mark.parametrize("name", WIDE)
def test_behind_a_write(name: str, program: Any, backend: str, mode: Any) -> None:
    def run(x: torch.Tensor, s: int) -> object:
        return program(WIDE[name], x, s)

    for numbers in HISTORIES:
        supple.reset()
        compiled = supple.compile(run, backend=backend)
        for number in numbers:
            with mode():
                assert _written(compiled, number) == _written(run, number), number


def _written(run: Callable[..., object], number: int) -> tuple[object, list[float]]:
    """Return what a program gives or raises, and what it leaves in a tensor."""
    x = torch.ones(2)
    try:
        found = run(x, number)
    except (RuntimeError, OverflowError) as error:
        found = type(error), str(error)
    return found, x.tolist()

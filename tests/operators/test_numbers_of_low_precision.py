"""Numbers, and tensors of no dimension, beside bfloat16 and float16: rounded where eager rounds them."""

# pyright: reportUnknownMemberType=false, reportPrivateUsage=false

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import supple

LOW = [torch.bfloat16, torch.float16]
NUMBERS: dict[str, Callable[[Tensor], Tensor]] = {
    "add": lambda x: x + 0.3,
    "add an int": lambda x: x + 1001,
    "subtract": lambda x: x - 0.3,
    "subtract from": lambda x: 1001 - x,
    "multiply": lambda x: x * 0.3,
    "multiply by an int": lambda x: x * 1001,
    "divide by an int": lambda x: x / 1001,
    "divide a number": lambda x: 0.3 / x,
    "less": lambda x: x < 0.3,
    "equal": lambda x: x == 0.3,
    "a power": lambda x: x.abs() ** 0.3,
    "clamp": lambda x: x.clamp(-0.3, 0.3),
    "where": lambda x: torch.where(x > 0, x, 0.3),
    "where, widened": lambda x: torch.where(x > 0, x, 0.3).float() * 3,
    "full": lambda x: torch.full_like(x, 0.3) + x.float(),
    "full, converted": lambda x: torch.full((3,), 0.3).to(x.dtype).float() * 3,
    "full, in float64": lambda x: torch.full((3,), 0.3).double() + x[0, 0],
    "a literal": lambda x: x.mul(torch.tensor(0.3)).add(torch.tensor(0.3)),
    "masked": lambda x: x.masked_fill(x > 0, 0.3),
    "addcdiv": lambda x: torch.addcdiv(x, x, x * 0.5 + 1, value=0.3),
    "leaky_relu": lambda x: F.leaky_relu(x, 0.3),
    "hardshrink": lambda x: F.hardshrink(x, 0.3),
    "threshold": lambda x: F.threshold(x, 0.3, 0.1),
    "dropout": lambda x: F.dropout(x, 0.3),
    "smooth_l1": lambda x: F.smooth_l1_loss(x, x.flip(1), beta=0.3, reduction="none"),
    "huber": lambda x: F.huber_loss(x, x.flip(1), delta=0.3, reduction="none"),
    "nan_to_num": lambda x: torch.nan_to_num(x, nan=0.3, posinf=0.7, neginf=0.1),
    "foreach": lambda x: torch._foreach_mul([x], 0.3)[0],
    "foreach in place": lambda x: _in_place(torch._foreach_mul_, x, 0.3),
    "foreach in place, each its number": lambda x: _in_place(torch._foreach_mul_, x, [0.3]),
    "foreach in place, a tensor": lambda x: _in_place(torch._foreach_mul_, x, torch.tensor(0.3)),
    "foreach divided in place": lambda x: _in_place(torch._foreach_div_, x, 7),
}
SCALED: dict[str, Callable[[Tensor, Any], Tensor]] = {
    "add": lambda x, y: torch.add(x, y, alpha=0.3),
    "subtract": lambda x, y: torch.sub(x, y, alpha=0.3),
    "subtract from": lambda x, y: torch.rsub(x, y, alpha=0.3),
    "a step": lambda x, y: x.clone().add_(y, alpha=-0.001),
}
BINARY: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "add": torch.add,
    "subtract": torch.sub,
    "multiply": torch.mul,
    "multiplied by": lambda x, y: y * x,
    "multiply in place": lambda x, y: x.clone().mul_(y),
    "divide": torch.div,
    "divide by": lambda x, y: y / x,
    "maximum": torch.maximum,
    "less": torch.lt,
    "where": lambda x, y: torch.where(x > 0, x, y),
    "hypot": torch.hypot,
    "scaled": lambda x, y: torch.add(x, y, alpha=3),
    "clamp": lambda x, y: x.clamp(min=y),
}
ELEMENTS: dict[str, Callable[[torch.dtype], Tensor]] = {
    "float64": lambda dtype: torch.tensor(0.1, dtype=torch.float64),
    "float32": lambda dtype: torch.tensor(0.1),
    "an integer": lambda dtype: torch.tensor(1001),
    "its own": lambda dtype: torch.tensor(0.1, dtype=dtype),
    "one element": lambda dtype: torch.full((1,), 0.1, dtype=dtype),
}


def _in_place(function: Callable[..., object], x: Tensor, number: object) -> Tensor:
    made = x.clone()
    function([made], number)
    return made


def numbers(dtype: torch.dtype) -> Tensor:
    """Return nearly all finite numbers of a type of 16 bits."""
    found = torch.arange(-(2**15), 2**15).to(torch.int16).view(dtype)
    return found[found.isfinite()][:63000].view(2, -1)


def differing(found: Tensor, expected: Tensor) -> int:
    """Return how many elements are not the same."""
    assert found.dtype == expected.dtype
    return int(((found != expected) & ~(found.isnan() & expected.isnan())).sum())


def compared(function: Callable[..., Tensor], *args: Tensor) -> int:
    """Return how many elements of a compiled function's result are not eager's."""
    results: list[Tensor] = []
    for run in (function, supple.compile(function, fullgraph=True)):
        torch.manual_seed(0)
        results.append(run(*args))
    return differing(*results)


@pytest.mark.parametrize("dtype", LOW)
@pytest.mark.parametrize("name", NUMBERS)
def test_numbers(name: str, dtype: torch.dtype) -> None:
    assert compared(NUMBERS[name], numbers(dtype)) == 0


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("name", BINARY)
def test_tensors_of_one_element(name: str, element: str) -> None:
    dtype = LOW[len(name + element) % 2]
    assert compared(BINARY[name], numbers(dtype), ELEMENTS[element](dtype)) == 0


@pytest.mark.parametrize("dtype", LOW)
@pytest.mark.parametrize("other", [*ELEMENTS, "a tensor"])
@pytest.mark.parametrize("name", SCALED)
def test_factors(name: str, other: str, dtype: torch.dtype) -> None:
    """Eager rounds once for the product and the sum: few elements show that."""
    values = numbers(dtype)
    second = values.flip(1) if other == "a tensor" else ELEMENTS[other](dtype)
    assert compared(SCALED[name], values, second) < 40


@pytest.mark.parametrize("dtype", LOW)
def test_numbers_that_vary(dtype: torch.dtype) -> None:
    def program(x: Tensor, n: int, f: float) -> Tensor:
        return torch.stack(
            [x + n, x * n, n - x, x / n, torch.add(x, x, alpha=f), x + f, torch.full_like(x, f)]
        )

    compiled = supple.compile(program, dynamic=True)
    for n, f in ((1001, 0.3), (1003, 0.7), (257, 0.1)):
        assert differing(compiled(numbers(dtype), n, f), program(numbers(dtype), n, f)) < 40
    assert supple.stats()["compilations"] == 1


@pytest.mark.parametrize("dtype", LOW)
@pytest.mark.parametrize("is_foreach", [False, True])
@pytest.mark.parametrize("kind", [torch.optim.SGD, torch.optim.RMSprop, torch.optim.AdamW])
def test_steps_of_optimizers(kind: Any, is_foreach: bool, dtype: torch.dtype) -> None:
    def trained(is_compiled: bool) -> list[Tensor]:
        torch.manual_seed(0)
        weights = [
            torch.nn.Parameter(torch.randn(37, 5).to(dtype)),
            torch.nn.Parameter(torch.randn(11).to(dtype)),
        ]
        more = {} if kind is torch.optim.AdamW else {"momentum": 0.9}
        optimizer = kind(weights, lr=0.0013, weight_decay=0.01, foreach=is_foreach, **more)
        step = supple.compile(optimizer.step) if is_compiled else optimizer.step
        for _ in range(3):
            for weight in weights:
                weight.grad = torch.randn(weight.shape).to(dtype)
            step()
        state = [
            found for one in optimizer.state.values() for found in one.values() if isinstance(found, Tensor)
        ]
        return [*weights, *state]

    pairs = zip(trained(True), trained(False), strict=True)
    assert sum(differing(found, expected) for found, expected in pairs) < 10

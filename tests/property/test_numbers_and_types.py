"""Numbers of every kind beside tensors of every type: eager converts one, promotes the other, or refuses."""

import math
from typing import Any

import pytest
import torch
from torch.nn import functional

import supple

pytestmark = pytest.mark.sweep

MASK, PLACES = torch.tensor([True, False, True]), torch.tensor([0, 2])
OPERATIONS = """
x + v | v + x | x - v | v - x | x * v | x / v | v / x | x // v | x % v | v % x | x**v | v**x
torch.fmod(x, v) | torch.remainder(v, x) | torch.true_divide(x, v) | torch.float_power(x, v)
torch.div(x, v, rounding_mode='trunc') | torch.div(x, v, rounding_mode='floor') | torch.copysign(x, v)
x == v | x < v | v >= x | x != v | x & v | x.bitwise_or(v) | x ^ v | x << v | x >> v
torch.bitwise_left_shift(x, v) | x.clamp(min=v) | x.clamp(0, v) | x.clamp_max(v) | x.clone().clamp_(min=v)
torch.xlogy(x, v) | torch.xlogy(v, x) | torch.where(MASK, x, v) | torch.where(MASK, v, x)
torch.where(MASK, v, 1) | x.masked_fill(MASK, v) | x.clone().masked_fill_(MASK, v)
x.index_fill(0, PLACES, v) | x.scatter(0, PLACES, v) | x.scatter(0, PLACES, v, reduce='add')
functional.pad(x, (1, 1), value=v) | torch.full_like(x, v) | x.new_full((2,), v)
torch.full((2,), v, dtype=x.dtype) | torch.full((2,), v) | x.clone().fill_(v)
x.clone().fill_(torch.tensor(v)) | torch.atan2(x, torch.full_like(x, v)) | torch.add(x, x, alpha=v)
torch.sub(x, 1, alpha=v) | torch.addcmul(x, x, x, value=v) | torch.lerp(x, x + 1, v)
torch.addcdiv(x, x, x + 1, value=v) | torch.addmm(x.expand(3, 3), x.expand(3, 3), x.expand(3, 3), beta=v)
functional.threshold(x, 0.5, v) | functional.leaky_relu(x, v) | functional.hardtanh(x, -1, v)
functional.elu(x, v) | functional.celu(x, v) | functional.softplus(x, beta=v)
functional.huber_loss(x, x + 1, delta=v) | functional.smooth_l1_loss(x, x + 1, beta=v)
torch.logit(x, eps=v) | torch.nan_to_num(x, v) | torch.arange(v, dtype=x.dtype) | torch.arange(0, v)
x.clone().add_(v) | x.clone().mul_(v) | x.clone().div_(v) | x + torch.tensor(v)
torch.maximum(x, torch.tensor(v)) | torch.cat([x, torch.tensor([v])]) | put(x, slice(1, None), v)
put(x, MASK, v) | put(x, PLACES, v) | (x * v).cumsum(0) | (x + v).prod() | (x * v).mean() | (x * v).int()
(x * v).bool() | (x * v).to(torch.uint8) | torch.sign(x - v) | -(x * v) | torch.logical_not(x * v)
"""
TYPES = (torch.bool, torch.uint8, torch.int8, torch.int64, torch.float16, torch.float32)
VALUES = (0, 2, 300, -1, True, 0.0, 2.7, -1.5, math.inf, math.nan, 1e6, 1e39)
NAMES = {"torch": torch, "functional": functional, "MASK": MASK, "PLACES": PLACES}


def put(x: torch.Tensor, where: Any, value: Any) -> torch.Tensor:
    x = x.clone()
    x[where] = value
    return x


def outcome(run: Any, x: torch.Tensor) -> Any:
    try:
        return run(x)
    except (RuntimeError, TypeError, IndexError, ValueError, OverflowError, ZeroDivisionError) as error:
        return type(error), str(error)[:40]


def is_same(mine: Any, eagers: Any) -> bool:
    if not isinstance(mine, torch.Tensor) or not isinstance(eagers, torch.Tensor):
        return mine == eagers
    if mine.dtype != eagers.dtype or mine.shape != eagers.shape:
        return False
    loose = 1e-2 if mine.dtype == torch.float16 else 1e-5
    return torch.allclose(mine.double(), eagers.double(), rtol=loose, atol=loose, equal_nan=True)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int32])
def test_places_that_are_no_numbers_of_the_type(dtype: torch.dtype) -> None:
    # X-SND01
    x = torch.zeros(400, 3, dtype=dtype)
    compiled = supple.compile(
        lambda x: (x[300], x[:350], x.narrow(0, 260, 40), x.roll(200, 0)), fullgraph=True
    )
    assert [part.shape for part in compiled(x)] == [(3,), (350, 3), (40, 3), (400, 3)]


LISTED = [text.strip() for line in OPERATIONS.strip().splitlines() for text in line.split(" | ")]


@pytest.mark.parametrize("text", LISTED)
def test_a_number_beside_a_tensor(text: str, caplog: pytest.LogCaptureFixture) -> None:
    # X-SND01
    run = eval(f"lambda v: lambda x: {text}", {**NAMES, "put": put})
    wrong: list[object] = []
    for dtype in TYPES:
        x = torch.tensor([0, 1, 3]).to(dtype)
        for value in VALUES:
            supple.reset()
            eagers = outcome(run(value), x)
            mine = outcome(supple.compile(run(value)), x)
            if supple.stats()["refusals"] or not is_same(mine, eagers):
                wrong.append((dtype, value, mine, eagers, supple.stats()["refusals"]))
    assert not wrong
    assert "I001" not in caplog.text

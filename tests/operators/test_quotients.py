"""Rounded quotients in low precision: what is rounded first depends on the divisor, as in eager."""

# pyright: reportUnknownMemberType=false

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

import supple

DIVISORS: dict[str, Callable[[Tensor], Tensor | float]] = {
    "an int": lambda x: 3,
    "a float": lambda x: -0.1,
    "a tensor of no dimension": lambda x: torch.tensor(0.1, dtype=x.dtype),
    "a number of another type": lambda x: torch.tensor(0.1, dtype=torch.float64),
    "an integer in a tensor": lambda x: torch.tensor(7),
    "a tensor of one element": lambda x: torch.full((1,), 3.0, dtype=x.dtype),
    "a column of one": lambda x: torch.full((1, 1), 3.0, dtype=x.dtype),
    "a tensor": lambda x: torch.full_like(x, 3.0),
    "a row": lambda x: torch.full_like(x[0], 0.1),
    "an expanded element": lambda x: torch.full((1,), 3.0, dtype=x.dtype).expand_as(x),
    "a wider tensor": lambda x: torch.full_like(x, 0.1, dtype=torch.float32),
}
CALLS: dict[str, Callable[[Tensor, Tensor | float], Tensor]] = {
    "trunc": lambda x, y: torch.div(x, y, rounding_mode="trunc"),
    "floor": lambda x, y: torch.div(x, y, rounding_mode="floor"),
    "true": lambda x, y: x / y,
    "//": lambda x, y: x // y,
    "in place": lambda x, y: x.clone().div_(y, rounding_mode="trunc") if not isinstance(y, Tensor) else x / y,
    "turned": lambda x, y: torch.div(y, x, rounding_mode="trunc") if isinstance(y, Tensor) else y / x,
}


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("divisor", DIVISORS)
@pytest.mark.parametrize("call", CALLS)
def test_quotients_are_eagers(call: str, divisor: str, dtype: torch.dtype) -> None:
    bits = torch.arange(-(2**15), 2**15).to(torch.int16).view(dtype)
    values = bits[bits.isfinite()][:63000].view(2, -1)
    other = DIVISORS[divisor](values)
    expected = CALLS[call](values, other)
    found = supple.compile(CALLS[call])(values, other)
    assert found.dtype == expected.dtype
    assert torch.equal(found.nan_to_num(7.0), expected.nan_to_num(7.0))

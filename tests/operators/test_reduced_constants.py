"""Reductions of tensors whose elements are one number, which the compiler knows."""

from collections.abc import Callable

import pytest
import torch

import supple

Reduction = Callable[[torch.Tensor], object]
REDUCTIONS: dict[str, Reduction] = {
    "sum": lambda x: (x.sum(), x.sum(1)),
    "prod": lambda x: (x.prod(), x.prod(1)),
    "extremes": lambda x: (x.amax(), x.amin(1), x.max(), x.min(1)),
    "places": lambda x: (x.argmax(), x.argmin(1), x.argmax(0) + 1),
    "truth": lambda x: (x.any(), x.all(1)),
    "mean": lambda x: (x.double().mean(), x.double().mean(1)),
    "running": lambda x: (x.cumsum(0), x.cummax(1), x.cumprod(1)),
    "order": lambda x: (x.sort(stable=True, dim=1), x.median(), x.topk(1)[0]),
    "softmax": lambda x: (x.double().softmax(0), x.double().logsumexp(1)),
    "norm": lambda x: (x.double().norm(), x.count_nonzero()),
}
NUMBERS = (1, 2.5, float("inf"), float("nan"), -3)
TYPES = (torch.float32, torch.bfloat16, torch.int64, torch.bool)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_a_number_repeated_is_reduced_as_in_eager(name: str, dtype: torch.dtype) -> None:
    reduction = REDUCTIONS[name]
    for value in NUMBERS:
        if not dtype.is_floating_point and not float(value).is_integer():
            continue

        def program(value: float = value) -> object:
            try:
                return reduction(torch.full((2, 3), value, dtype=dtype))
            except (RuntimeError, NotImplementedError) as error:
                return str(error)

        compiled = supple.compile(program, backend="native", options={"check": "memory"})
        with supple.config.patch(suppress_errors=False):
            assert str(compiled()) == str(program())

"""Functions that work with NumPy on numbers are left to Python as a whole."""

from typing import Any

import numpy as np
import pytest
import torch

import supple


def drawn(rows: int, columns: int, share: float) -> Any:
    chosen = [np.random.choice(np.arange(columns), int(share * columns), replace=False) for _ in range(rows)]
    mask = np.zeros((rows, columns), dtype=bool)
    for row, places in zip(mask, chosen, strict=True):
        row[places] = True
    return torch.from_numpy(mask)


def masked(x: torch.Tensor) -> torch.Tensor:
    x = x.sin()
    mask = drawn(*x.shape, share=0.5)
    return torch.where(mask, x.cos(), x)


# X-PY04
def test_a_function_of_numpy_without_tensors_costs_one_break() -> None:
    run = supple.compile(masked, backend="eager")
    x = torch.randn(3, 8)
    for number in range(3):
        np.random.seed(number)
        want = masked(x)
        np.random.seed(number)
        assert torch.equal(run(x), want)
    stats: Any = supple.stats()
    assert (stats["graphs"], stats["breaks"]) == (2, 1)


def scaled(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    return y * float(np.random.rand()) + y.numpy().shape[0]


def test_a_function_of_numpy_with_tensors_breaks_at_the_call() -> None:
    run = supple.compile(scaled, backend="eager")
    x = torch.randn(3)
    for number in range(2):
        np.random.seed(number)
        want = scaled(x)
        np.random.seed(number)
        assert torch.equal(run(x), want)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
@pytest.mark.parametrize("method", ["normal", "uniform", "standard_normal", "integers", "randint"])
def test_methods_of_extension_classes_keep_their_object(make: Any, method: str) -> None:
    if not hasattr(make(0), method):
        pytest.skip("it has no such method")
    arguments = () if method == "standard_normal" else (1, 5)
    want, source = make(3), make(3)
    compiled = supple.compile(lambda x: x * getattr(source, method)(*arguments))
    for _ in range(3):
        assert compiled(torch.ones(1)).item() == pytest.approx(getattr(want, method)(*arguments))

"""Variances whose divisor is corrected by any number, of no, one and several elements: as in eager."""

import pytest
import torch

import supple
from supple.base.config import config


@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("correction", [-5, -1, -0.5, 0, 0.5, 1, 2, 7])
@pytest.mark.parametrize("operator", [torch.var, torch.std, torch.var_mean, torch.std_mean])
def test_variances_with_a_correction(operator: object, correction: float, dynamic: bool) -> None:
    def program(x: torch.Tensor) -> object:
        return operator(x, 0, correction=correction), operator(x, correction=correction)  # type: ignore[operator]

    compiled = supple.compile(program, backend="native", dynamic=dynamic)
    with config.patch(suppress_errors=False):
        for rows in (3, 0, 1, 2):
            x = torch.arange(rows * 2.0).reshape(rows, 2)
            torch.testing.assert_close(compiled(x), program(x), equal_nan=True)

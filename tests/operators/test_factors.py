"""Numbers that scale a product or a sum, also those that make NaN of some elements and not of others."""

import math
from collections.abc import Callable

import pytest
import torch

import supple

A = torch.tensor([[1.0, -2.0, 3.0], [-1.0, 2.0, 0.0], [4.0, 5.0, -6.0]])
B = torch.tensor([[2.0, 0.0, -1.0], [3.0, 1.0, -4.0], [-2.0, -3.0, 5.0]])
C = torch.tensor([[0.0, 7.0, -8.0], [9.0, math.inf, math.nan], [-0.0, 1.0, 2.0]])

PROGRAMS: dict[str, Callable[[float], torch.Tensor]] = {
    "addmm alpha": lambda s: torch.addmm(C, A, B, alpha=s),
    "addmm beta": lambda s: torch.addmm(C, A, B, beta=s),
    "addmm both": lambda s: torch.addmm(C[0], A, B, beta=s, alpha=s),
    "addmm, used": lambda s: torch.addmm(C, A, B, beta=s, alpha=s).relu() + 1,
    "addmm_": lambda s: C.clone().addmm_(A, B, alpha=s),
    "baddbmm": lambda s: torch.baddbmm(C[None], A[None], B[None], beta=s, alpha=s),
    "addbmm": lambda s: torch.addbmm(C, A[None], B[None], beta=s, alpha=s),
    "addmv": lambda s: torch.addmv(C[0], A, B[0], beta=s, alpha=s),
    "addr": lambda s: torch.addr(C, A[0], B[0], beta=s, alpha=s),
    "add": lambda s: torch.add(C, A, alpha=s),
    "sub": lambda s: torch.sub(C, A, alpha=s),
    "rsub": lambda s: torch.rsub(C, A, alpha=s),
    "addcmul": lambda s: torch.addcmul(C, A, B, value=s),
    "addcdiv": lambda s: torch.addcdiv(C, A, B, value=s),
    "lerp": lambda s: torch.lerp(A, B, s),
    "scaled": lambda s: A @ B * s,
}
FACTORS = (0.0, -0.0, 1.0, 2.0, math.inf, -math.inf, math.nan)


@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_factors_are_eagers(name: str, backend: str) -> None:
    compiled = supple.compile(PROGRAMS[name], backend=backend)
    with supple.config.patch(suppress_errors=False):
        for factor in FACTORS:
            want = PROGRAMS[name](factor)
            torch.testing.assert_close(compiled(factor), want, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_constant_factors_are_eagers(name: str, factor: float) -> None:
    compiled = supple.compile(lambda: PROGRAMS[name](factor), backend="native")
    with supple.config.patch(suppress_errors=False):
        torch.testing.assert_close(compiled(), PROGRAMS[name](factor), rtol=0, atol=0, equal_nan=True)

"""Functions of tensors that hold one value alone: a large element would close the short way of a vector."""

import math

import pytest
import torch

import supple

FUNCTIONS = (
    "abs acos acosh asin asinh atan atanh ceil cos cosh deg2rad erf erfc erfinv exp exp2 expm1 floor frac "
    "lgamma log log10 log1p log2 neg reciprocal round rsqrt sigmoid sign sin sinc sinh sqrt square tan "
    "tanh trunc "
    "nn.functional.gelu nn.functional.silu nn.functional.softplus nn.functional.softsign nn.functional.mish "
    "nn.functional.hardswish nn.functional.elu nn.functional.selu nn.functional.celu nn.functional.relu "
    "nn.functional.leaky_relu nn.functional.logsigmoid special.i0 special.i1 special.entr special.ndtr"
).split()
VALUES = (0.0, -0.0, 1.0, -1.0, 0.5, -0.5, math.inf, -math.inf, math.nan, 1e-40, -1e-40, 2.0, -3.0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_one_value_gives_what_it_gives_in_eager(name: str, dtype: torch.dtype) -> None:
    function = torch
    for part in name.split("."):
        function = getattr(function, part)
    compiled = supple.compile(lambda x: function(x), backend="native", dynamic=True)  # C is not compiled
    wrong: list[object] = []
    for value in VALUES:
        # Eager's vectors give another gelu of infinity than its code for one element.
        wanted = [function(torch.full((size,), value, dtype=dtype))[:1] for size in (1, 17)]
        for size in (1, 17):
            got = compiled(torch.full((size,), value, dtype=dtype))
            if not any(is_same(got, want.expand(size)) for want in wanted):
                wrong.append((value, size, got[0].item(), [one.item() for one in wanted]))
    assert not wrong


def is_same(got: torch.Tensor, want: torch.Tensor) -> bool:
    """Tell whether results are equal but for rounding, with the same sign."""
    is_close = torch.allclose(got.double(), want.double(), rtol=1e-5, atol=1e-6, equal_nan=True)
    return is_close and bool(want.isnan().all() or torch.equal(got.signbit(), want.signbit()))


REDUCTIONS = (
    "sum", "prod", "mean", "amax", "amin", "logsumexp", "cumsum", "cumprod", "softmax", "log_softmax",
    "nansum", "nanmean", "norm", "nn.functional.normalize", "argmax", "any", "all",
)  # fmt: skip


@pytest.mark.parametrize("is_dynamic", [False, True])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_one_value_alone_in_its_row_gives_what_it_gives_in_eager(name: str, is_dynamic: bool) -> None:
    function = torch
    for part in name.split("."):
        function = getattr(function, part)
    compiled = supple.compile(lambda x, dim: function(x, dim=dim), backend="native", dynamic=is_dynamic)  # pyright: ignore[reportCallIssue]
    wrong: list[object] = []
    for value in VALUES:
        for sizes, dim in (((1, 17), 0), ((17, 1), 1), ((1,), 0), ((1, 1), 0), ((3, 17), 0)):
            x = torch.full(sizes, value)
            got, want = compiled(x, dim), function(x, dim=dim)
            if not (is_same(got, want) if got.is_floating_point() else torch.equal(got, want)):
                wrong.append((value, sizes, got, want))
    assert not wrong

"""Reductions of no elements, whose sizes are fixed or symbolic: a number, or the error, of eager."""

import itertools
import math
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F

import supple
from supple.base.config import config

pytestmark = pytest.mark.sweep

Program = Callable[[torch.Tensor], object]
SHAPES = ((2, 3), (0, 3), (2, 0), (0, 0))


def outcome(run: Program, x: torch.Tensor) -> object:
    try:
        return run(x)
    except (RuntimeError, IndexError) as error:
        return str(error)


def check(program: Program, *, dynamic: bool) -> None:
    """Compare the calls for all shapes with eager; with fixed sizes each has a graph of its own."""
    compiled = supple.compile(program, backend="native", dynamic=dynamic)
    for shape in SHAPES:
        x = torch.arange(float(math.prod(shape))).reshape(shape)
        wanted = outcome(program, x)
        with config.patch(suppress_errors=False):
            found = outcome(compiled, x)
        if isinstance(wanted, str):
            assert found == wanted
        else:
            torch.testing.assert_close(found, wanted, equal_nan=True)


@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("correction", [-5, -1, -0.5, 0, 0.5, 1, 2, 7])
@pytest.mark.parametrize("operator", [torch.var, torch.std, torch.var_mean, torch.std_mean])
def test_variances_with_a_correction(
    operator: Callable[..., object], correction: float, dynamic: bool
) -> None:
    check(
        lambda x: (operator(x, 0, correction=correction), operator(x, correction=correction)),
        dynamic=dynamic,
    )


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("order", [0, 1, 2, 3, 0.5, -1, -0.5, math.inf, -math.inf])
def test_norms(order: float, dynamic: bool) -> None:
    for dim in (None, 0, -1, (0,), (0, 1), ()):
        check(lambda x, dim=dim: torch.linalg.vector_norm(x, order, dim), dynamic=dynamic)


OF_ROWS: dict[str, Callable[[torch.Tensor, int], object]] = {
    "softmax": lambda x, dim: x.softmax(dim),
    "log_softmax": lambda x, dim: x.log_softmax(dim),
    "softmin": lambda x, dim: F.softmin(x, dim, dtype=torch.float64),
    "softmax of halves": lambda x, dim: x.to(torch.bfloat16).softmax(dim),
    "logsumexp": lambda x, dim: x.logsumexp(dim),
    "amax": lambda x, dim: x.amax(dim),
    "amin of integers": lambda x, dim: x.long().amin(dim),
    "max": lambda x, dim: x.max(dim),
    "argmin": lambda x, dim: x.argmin(dim),
    "prod": lambda x, dim: x.prod(dim),
    "any": lambda x, dim: (x > 1).any(dim),
    "all": lambda x, dim: (x > 1).all(dim),
    "mean": lambda x, dim: x.mean(dim),
    "median": lambda x, dim: x.median(dim),
    "cumsum": lambda x, dim: x.cumsum(dim),
    "layer_norm": lambda x, dim: F.layer_norm(x, x.shape[dim:]) if dim < 0 else F.layer_norm(x, x.shape),
    "normalize": lambda x, dim: F.normalize(x, dim=dim),
    "attention": lambda x, dim: F.scaled_dot_product_attention(x[None], x[None], x[None]),
}


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", OF_ROWS)
def test_rows(name: str, dynamic: bool) -> None:
    for dim, is_twice in itertools.product((0, -1), (False, True)):
        reduce = OF_ROWS[name]
        check(
            lambda x, dim=dim, reduce=reduce, is_twice=is_twice: (
                (reduce(x, dim), reduce(x + 1, dim)) if is_twice else reduce(x, dim)
            ),
            dynamic=dynamic,
        )

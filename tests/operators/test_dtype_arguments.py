"""A dtype that the program names is the result's, also where it is the operand's own."""

from collections.abc import Callable

import pytest
import torch

import supple

DTYPES = (
    torch.float32,
    torch.float64,
    torch.bfloat16,
    torch.float16,
    torch.int64,
    torch.int32,
    torch.int8,
    torch.uint8,
    torch.bool,
)
Program = Callable[[torch.Tensor, torch.dtype], torch.Tensor]
PROGRAMS: dict[str, Program] = {
    "sum": lambda x, dtype: x.sum(dtype=dtype),
    "sum of rows": lambda x, dtype: x.sum(0, dtype=dtype),
    "sum of nothing": lambda x, dtype: x[:0].sum(dtype=dtype),
    "sum of a scalar": lambda x, dtype: x[0, 0].sum(dtype=dtype),
    "nansum": lambda x, dtype: torch.nansum(x, dtype=dtype),
    "prod": lambda x, dtype: x.prod(dtype=dtype),
    "prod of rows": lambda x, dtype: x.prod(0, dtype=dtype),
    "cumsum": lambda x, dtype: x.cumsum(0, dtype=dtype),
    "cumprod": lambda x, dtype: x.cumprod(0, dtype=dtype),
    "mean": lambda x, dtype: x.mean(dtype=dtype),
    "softmax": lambda x, dtype: x.softmax(0, dtype=dtype),
    "log_softmax": lambda x, dtype: x.log_softmax(0, dtype=dtype),
    "vector_norm": lambda x, dtype: torch.linalg.vector_norm(x, dtype=dtype),
    "to": lambda x, dtype: x.to(dtype) + 1,
    "full_like": lambda x, dtype: torch.full_like(x, 3, dtype=dtype),
    "zeros_like": lambda x, dtype: torch.zeros_like(x, dtype=dtype),
    "new_full": lambda x, dtype: x.new_full((2,), 3, dtype=dtype),
    "arange": lambda x, dtype: torch.arange(5, dtype=dtype),
    "linspace": lambda x, dtype: torch.linspace(-2.0, 7.0, 6, dtype=dtype),
    "logspace": lambda x, dtype: torch.logspace(0.0, 2.0, 5, dtype=dtype),
    "eye": lambda x, dtype: torch.eye(3, dtype=dtype),
    "tensor": lambda x, dtype: torch.tensor([1, 0, 1], dtype=dtype),
}


def outcome(program: Program, x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor | type[Exception]:
    try:
        return program(x, dtype)
    except (RuntimeError, TypeError) as error:
        return type(error)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_the_dtype_is_the_one_that_is_named(name: str, dtype: torch.dtype) -> None:
    program = PROGRAMS[name]
    compiled = supple.compile(program, dynamic=False)
    for given in {dtype, torch.int8, torch.float32}:
        x = torch.tensor([[100, 100], [1, 0], [27, 3]]).to(given)
        want, got = (outcome(run, x, dtype) for run in (program, compiled))
        if not isinstance(want, torch.Tensor):
            assert got is want
            continue
        assert isinstance(got, torch.Tensor)
        assert got.dtype is want.dtype
        torch.testing.assert_close(got, want)


@pytest.mark.parametrize("dtype", [*DTYPES, torch.complex64], ids=str)
@pytest.mark.parametrize("make", ["linspace", "logspace", "arange", "full", "zeros"])
def test_steps_that_vary_give_numbers_of_the_dtype(make: str, dtype: torch.dtype) -> None:
    def program(steps: int) -> torch.Tensor:
        match make:
            case "linspace":
                return torch.linspace(-2.0, 7.0, steps, dtype=dtype)
            case "logspace":
                return torch.logspace(0.0, 2.0, steps, dtype=dtype)
            case "arange":
                return torch.arange(0, steps, dtype=dtype)
            case "full":
                return torch.full((steps,), 3, dtype=dtype)
            case _:
                return torch.zeros(steps, dtype=dtype)

    compiled = supple.compile(program)
    for steps in (3, 4, 5, 6):
        try:
            want = program(steps)
        except (RuntimeError, NotImplementedError) as error:
            with pytest.raises(type(error)):
                compiled(steps)
            continue
        got = compiled(steps)
        assert got.dtype is want.dtype
        torch.testing.assert_close(got, want)

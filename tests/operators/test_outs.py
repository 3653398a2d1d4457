"""Operators that write to tensors which they are given (`out=`), and what they read of what they write."""

from typing import Any, Final

import pytest
import torch

import supple
from tests.operators.test_samples import OPERATORS, samples, tensors

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.sweep]

NAMES: Final = [name for name, one in OPERATORS.items() if one.supports_out and "empty" not in name]


def others(dtype: torch.dtype) -> torch.dtype:
    """Return another dtype, which holds the numbers of the first."""
    if dtype.is_complex:
        return torch.complex128 if dtype is torch.complex64 else torch.complex64
    return torch.float64 if dtype is torch.float32 else torch.float32


def blank(like: torch.Tensor, how: str) -> torch.Tensor:
    """Return a tensor to write to instead of a result."""
    if how == "resized":
        return torch.zeros(0, dtype=like.dtype)
    dtype = others(like.dtype) if how == "another dtype" else like.dtype
    return torch.zeros_like(like, dtype=dtype)


@torch.no_grad()
@pytest.mark.parametrize("how", ["same dtype", "another dtype", "resized"])
@pytest.mark.parametrize("name", NAMES)
def test_out_is_written_or_refused_as_in_eager(name: str, how: str) -> None:
    def program(args: Any, kwargs: Any, outs: list[torch.Tensor]) -> None:
        OPERATORS[name].op(*args, **kwargs, out=outs[0] if len(outs) == 1 else tuple(outs))

    for args, kwargs in samples(name, 1):
        results = tensors(OPERATORS[name].op(*args, **kwargs))
        if not results or any(one.layout is not torch.strided for one in results):
            continue
        written: list[list[torch.Tensor]] = []
        raised: list[object] = []
        for function in (program, supple.compile(program, backend="native")):
            outs = [blank(one, how) for one in results]
            torch.manual_seed(0)
            try:
                function(args, kwargs, outs)
            except Exception as error:
                raised.append((type(error), str(error)))
                outs = []
            else:
                raised.append(None)
            written.append(outs)
        assert raised[1] == raised[0]
        torch.testing.assert_close(*written, rtol=1e-4, atol=1e-5, equal_nan=True)


AT_ZERO: Final = torch.zeros(4, 4, dtype=torch.int64)
TO_ROWS: Final = torch.tensor([0, 1, 2, 0])
OVERLAPPING: Final = [
    lambda x: x.scatter_(0, AT_ZERO, x),
    lambda x: x.scatter_add_(0, AT_ZERO, x),
    lambda x: x.scatter_reduce_(0, AT_ZERO, x, "amax"),
    lambda x: x.index_add_(0, TO_ROWS, x),
    lambda x: x.index_copy_(0, TO_ROWS, x),
    lambda x: x.index_reduce_(0, TO_ROWS, x, "mean"),
    lambda x: x.index_put_((TO_ROWS,), x),
    lambda x: x.put_(AT_ZERO, x),
    lambda x: x.masked_scatter_(x > 1, x),
    lambda x: x.copy_(x),
    lambda x: x.add_(x),
    lambda x: x.mul_(x[0]),
    lambda x: x.addmm_(x, x),
    lambda x: x.lerp_(x, 0.5),
    lambda x: x.cumsum_(0),
    lambda x: torch.gather(x, 0, AT_ZERO, out=x),
    lambda x: torch.gather(x, 0, AT_ZERO, out=x[:4]),
    lambda x: torch.index_select(x, 0, TO_ROWS, out=x),
    lambda x: torch.take(x, AT_ZERO, out=x),
    lambda x: torch.take_along_dim(x, AT_ZERO, 0, out=x),
    lambda x: torch.scatter(x, 0, AT_ZERO, x, out=x),
    lambda x: torch.scatter(x, 0, AT_ZERO, 1.0, out=x),
    lambda x: torch.scatter(x, 0, AT_ZERO, x.clone(), out=x),
    lambda x: torch.index_add(x, 0, TO_ROWS, x, out=x),
    lambda x: torch.cat([x[:2], x[:2]], out=x),
    lambda x: torch.outer(x[0], x[0], out=x),
    lambda x: torch.hstack([x[:, :2], x[:, :2]], out=x),
    lambda x: torch.addmm(x, x.clone(), x.clone(), out=x),
    lambda x: torch.mv(x, x[0], out=x[0]),
    lambda x: torch.sum(x, 0, out=x[0]),
    lambda x: torch.sum(x, 0, out=x[0, :1].expand(4)),
    lambda x: torch.mean(x, 0, out=x[0, :1].expand(4)),
    lambda x: torch.add(x, 1, out=x[0].expand(4, 4)),
    lambda x: torch.softmax(x, 0, out=x),
    lambda x: torch.where(x > 0.5, x, x * 2, out=x),
    lambda x: torch.kron(x[:2, :2], x[:2, :2], out=x),
    lambda x: torch.add(x.t(), x, out=x),
    lambda x: torch.triu(x, out=x),
]


@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("place", range(len(OVERLAPPING)))
def test_operand_that_is_written_is_read_or_refused_as_in_eager(place: int, backend: str) -> None:
    program, told = OVERLAPPING[place], []
    for function in (program, supple.compile(program, backend=backend)):
        x = torch.rand(4, 4, generator=torch.Generator().manual_seed(0)) + 0.5
        try:
            result = function(x)
        except RuntimeError as error:
            told.append((x, torch.tensor(0), str(error)))
        else:
            told.append((x, result, ""))
    torch.testing.assert_close(told[1][:2], told[0][:2])
    assert told[1][2] == told[0][2]

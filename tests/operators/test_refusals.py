"""What eager refuses for the type of the tensors, and what a write that fails in the middle leaves."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import supple
from supple.base.config import config

UNARY: tuple[Callable[..., Any], ...] = (
    torch.special.log_ndtr, torch.special.erfcx, torch.special.i0e, torch.special.bessel_j0, torch.digamma,
    torch.erfinv, torch.logit, torch.round, torch.frac, torch.sign, torch.sgn, torch.neg, torch.bitwise_not,
    torch.sigmoid, torch.relu, F.gelu, F.softplus, F.hardsigmoid, F.softsign, torch.cumsum, torch.cumprod,
    torch.median, torch.mode, torch.var, torch.logsumexp, torch.isnan, torch.frexp, torch.histc, torch.trace,
    torch.gcd, torch.nextafter, torch.bitwise_and, torch.bitwise_left_shift, torch.mm, torch.cdist,
)  # fmt: skip
DTYPES = (torch.bfloat16, torch.float16, torch.int64, torch.uint8, torch.bool, torch.complex64)


def outcome(run: Callable[..., Any], *args: Any) -> tuple[Any, str]:
    try:
        with config.patch(suppress_errors=False):
            return "returned", str(run(*args))
    except Exception as error:
        return type(error), str(error)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("function", UNARY, ids=lambda one: one.__name__)
def test_a_type_that_eager_does_not_take(
    function: Callable[..., Any], dtype: torch.dtype, backend: str
) -> None:
    x = torch.ones(3, 3).to(dtype)
    for args in ((x,), (x, x), (x, 1)):
        compiled = supple.compile(lambda *given: function(*given), backend=backend)
        wanted, got = outcome(function, *args), outcome(compiled, *args)
        assert got[0] == wanted[0], (wanted, got)


MIXED: tuple[Callable[..., Any], ...] = (
    torch.heaviside, torch.lerp, torch.gcd, torch.lcm, torch.copysign, torch.nextafter, torch.bitwise_or,
    torch.hypot, torch.special.zeta, torch.add, torch.where, torch.ldexp, torch.logaddexp, torch.mm,
    torch.dot,
)  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, *DTYPES], ids=str)
@pytest.mark.parametrize("function", MIXED, ids=lambda one: one.__name__)
def test_types_that_eager_does_not_take_together_though_nobody_reads_the_result(
    function: Callable[..., Any], dtype: torch.dtype, backend: str
) -> None:
    compiled = supple.compile(lambda *given: (function(*given), 0)[1], backend=backend)
    x, y = torch.ones(3), torch.ones(3).to(dtype)
    for args in ((x, y), (y, x), (x, y, y)):
        wanted, got = outcome(function, *args), outcome(compiled, *args)
        assert got[0] == wanted[0], (wanted, got)


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("size", [0, 1])
@pytest.mark.parametrize("dim", [0, -1])
@pytest.mark.parametrize("value", [3.0, [3.0, 4.0], [[1.0, 2.0], [3.0, 4.0]]])
def test_windows_of_each_rank(value: Any, dim: int, size: int, dynamic: bool | None) -> None:
    def windows(x: torch.Tensor) -> torch.Tensor:
        return x.unfold(dim, size, 1) * 2

    x = torch.tensor(value)
    assert torch.equal(supple.compile(windows, options={"check": "2"}, dynamic=dynamic)(x), windows(x))


ONES = torch.ones(3)
WRITES: tuple[Callable[[torch.Tensor, torch.Tensor], Any], ...] = (
    lambda t, i: t.index_add_(0, i, ONES),
    lambda t, i: t.index_copy_(0, i, ONES * 5),
    lambda t, i: t.index_fill_(0, i, 5.0),
    lambda t, i: t.scatter_(0, i, 5.0),
    lambda t, i: t.scatter_add_(0, i, ONES),
    lambda t, i: t.scatter_reduce_(0, i, ONES * 3, "prod"),
    lambda t, i: t.index_put_((i,), ONES * 4),
    lambda t, i: t.put_(i, ONES * 5),
    lambda t, i: t.masked_scatter_(i > 0, ONES[:1]),
)


@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("write", WRITES)
def test_a_write_that_fails_is_done_once(write: Callable[..., Any], backend: str) -> None:
    compiled = supple.compile(write, backend=backend)
    for run in (compiled, compiled):
        mine, theirs = torch.ones(3), torch.ones(3)
        index = torch.tensor([0, 1, 5])
        wanted, got = outcome(write, mine, index), outcome(run, theirs, index)
        assert got[0] == wanted[0]
        if backend == "eager":
            assert torch.equal(mine, theirs)


@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("index", [torch.tensor([0, 1, 2]), torch.ones(3), torch.ones(3, dtype=torch.bool)])
@pytest.mark.parametrize("write", WRITES)
def test_a_write_for_as_many_indices_as_a_tensor_says(
    write: Callable[..., Any], index: torch.Tensor, backend: str
) -> None:
    # C10: the check of sizes stands before the operator, whose own error is told
    def program(t: torch.Tensor, i: torch.Tensor, n: torch.Tensor) -> Any:
        return write(t, i[: n.item()])

    compiled = supple.compile(program, backend=backend)
    for count in (0, 3, 1):
        mine, theirs = torch.ones(3), torch.ones(3)
        wanted = outcome(program, mine, index, torch.tensor(count))
        got = outcome(compiled, theirs, index, torch.tensor(count))
        assert (got[0], str(got[1])) == (wanted[0], str(wanted[1]))
        assert torch.equal(mine, theirs)


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("backend", ["eager", "native"])
def test_windows_of_a_negative_size_are_refused_before_writes(backend: str, dynamic: bool | None) -> None:
    def program(x: torch.Tensor, size: int) -> torch.Tensor:
        windows = x.unfold(0, size, 1)
        x.add_(1)
        return windows

    compiled = supple.compile(program, backend=backend, dynamic=dynamic)
    for size in (-1, 2, -2, 0, 4):
        mine, theirs = torch.ones(3), torch.ones(3)
        wanted, got = outcome(program, mine, size), outcome(compiled, theirs, size)
        assert (got[0], str(got[1])) == (wanted[0], str(wanted[1]))
        assert torch.equal(mine, theirs)


def _arange_between(x: Any) -> Any:
    return torch.arange(x[0].long(), 5), torch.arange(-1, x[0].long() + 3, 2), torch.arange(x[1].long() + 2)


NUMBERS: tuple[tuple[Callable[..., Any], tuple[Any, ...]], ...] = (
    (_arange_between, (ONES,)),
    (lambda n: torch.arange(n, 5), (torch.tensor(1),)),
    (lambda n: torch.arange(-1, 5, n), (torch.tensor(2.0),)),
    (torch.linspace, (0.0, 1.0, 5.0)),
    (torch.linspace, (0.0, 1.0, True)),
    (torch.linspace, (-0.0, 1.0, 1)),
    (torch.linspace, (float("inf"), 1.0, 1)),
    (torch.broadcast_shapes, ((2, -1), (2, 1))),
    (torch.broadcast_shapes, ((2.0,), (1,))),
    (torch.broadcast_shapes, ((None,), (1,))),
    (torch.broadcast_shapes, ((2, 1), (1, 3))),
    (torch.broadcast_shapes, ((2,), (3,))),
    (torch.broadcast_shapes, (5, (1,))),
)


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize(("function", "args"), NUMBERS)
def test_numbers_and_sizes(
    function: Callable[..., Any], args: tuple[Any, ...], backend: str, dynamic: bool | None
) -> None:
    compiled = supple.compile(lambda *given: function(*given), backend=backend, dynamic=dynamic)
    wanted = outcome(function, *args)
    for _ in range(2):
        got = outcome(compiled, *args)
        assert got == wanted if wanted[0] == "returned" else got[0] is wanted[0]


@pytest.mark.parametrize("dynamic", [None, True])
def test_what_gives_several_tensors_gives_a_tuple_of_them(dynamic: bool | None) -> None:
    functions: tuple[Callable[..., Any], ...] = (
        lambda x: x.chunk(2),
        lambda x: torch.chunk(x, 3, 1),
        lambda x: x.split(2),
        lambda x: torch.split(x, [2, 3]),
        lambda x: x.unbind(),
        lambda x: torch.tensor_split(x, 2),
        lambda x: torch.broadcast_tensors(x, x),
        lambda x: torch.where(x > 0),
    )
    x = torch.ones(5, 5)
    for function in functions:
        compiled = supple.compile(function, backend="eager", dynamic=dynamic)
        assert type(compiled(x)) is type(function(x))


LAYOUTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "rows": lambda x: x,
    "channels last": lambda x: x.contiguous(memory_format=torch.channels_last),
    "turned": lambda x: x.transpose(2, 3),
    "with gaps": lambda x: x.repeat(1, 1, 1, 2)[..., ::2],
    "one for many": lambda x: x[:1].expand(2, 4, 3, 3),
}


@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_that_a_norm_of_groups_does_not_take(layout: str, backend: str) -> None:
    def program(x: torch.Tensor) -> object:
        try:
            return torch.native_group_norm(x, None, None, 2, 4, 9, 2, 1e-5)
        except RuntimeError as error:
            return str(error)

    x = LAYOUTS[layout](torch.arange(72.0).reshape(2, 4, 3, 3))
    with config.patch(suppress_errors=False):
        found, wanted = supple.compile(program, backend=backend)(x), program(x)
    if isinstance(wanted, str):
        assert found == wanted
    else:
        torch.testing.assert_close(found, wanted)

"""An operator that raises for what tensors hold raises though nobody reads its result; memory is not left."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import supple
from supple.base.config import config

Program = Callable[[torch.Tensor, torch.Tensor], Any]


def written(x: torch.Tensor, i: torch.Tensor) -> None:
    y = x.clone()
    y[i] = 1


DEAD: tuple[Program, ...] = (
    written,
    lambda x, i: x[i],
    lambda x, i: x.gather(0, i),
    lambda x, i: torch.embedding(x[:, None], i),
    lambda x, i: torch.histc(x, max=float("inf")),
    lambda x, i: torch.linalg.inv(x.new_zeros(2, 2)),
    lambda x, i: torch.multinomial(-x, 1),
    lambda x, i: F.one_hot(-i),
    lambda x, i: torch.bincount(-i),
    lambda x, i: torch.bernoulli(x + 5),
    lambda x, i: x.index_select(0, i),
    lambda x, i: x.index_add(0, i, x[:1]),
    lambda x, i: F.nll_loss(x[None].log_softmax(-1), i),
    lambda x, i: F.cross_entropy(x[None], i),
    lambda x, i: torch.linalg.cholesky(-torch.eye(2) * x[0]),
    lambda x, i: F.embedding_bag(i[None], x[:, None]),
    lambda x, i: x.take(i),
    lambda x, i: torch.normal(x, -x),
    lambda x, i: torch.poisson(-x),
    lambda x, i: i // 0,
    lambda x, i: i % 0,
    lambda x, i: i // (i - i),
    lambda x, i: torch.repeat_interleave(x[:1], -i),
    lambda x, i: torch.as_strided(x, (100,), (1,)),
    lambda x, i: torch.as_strided_copy(x.sum(), (2,), (1,)),
    lambda x, i: torch.as_strided_scatter(x * 2, x.new_ones(4), (4,), (1,)),
    lambda x, i: (i - i).reciprocal(),
    lambda x, i: i**-2,
    lambda x, i: torch.quantile(x, 3.0),
    lambda x, i: torch._assert_async(x.sum() < 0),
    lambda x, i: i.pow(-2),
    lambda x, i: torch.pow(i, -i),
    lambda x, i: F.binary_cross_entropy(x * 5, x),
    lambda x, i: torch.diagonal_scatter(x, x[:2]),
    lambda x, i: torch.diagonal_scatter(x.new_zeros(3, 3), x[:2]),
    lambda x, i: torch.diagonal_scatter(x.new_zeros(3, 3), x, 0, 0, 0),
    lambda x, i: torch.addmv(x, x.new_ones(2, 2), x[:2]),
    lambda x, i: torch.addmv(x[None, :2], x.new_ones(2, 2), x[:2]),
    lambda x, i: torch.addbmm(i.new_ones(2, 2), x.new_ones(1, 2, 2), x.new_ones(1, 2, 2)),
    lambda x, i: torch.cholesky(-x[:1, None]),
    lambda x, i: torch.cholesky_inverse(x.new_zeros(2, 2)),
    lambda x, i: torch.roll(x, ()),
    lambda x, i: torch.trace(x),
    lambda x, i: torch.bucketize(x, x[None]),
    lambda x, i: F.avg_pool2d(x[None, None], 1, divisor_override=0),
    lambda x, i: F.avg_pool1d(x[None], 2, padding=-1),
    lambda x, i: F.max_pool1d(x[None], 2, padding=-1),
    lambda x, i: F.max_pool2d(x[None, None], 1, padding=1),
    lambda x, i: torch.aminmax(x[(None,) * 64]),
    lambda x, i: torch.amax(x[(None,) * 64], 0),
    lambda x, i: torch.arange(0.0, 5.0, float("inf")),
    lambda x, i: F.pad(x, (-4, 9)),
    lambda x, i: F.pad(x, (3, -4)),
    lambda x, i: F.glu(x[:2], -7),
    lambda x, i: torch.mvlgamma(x, 0),
    lambda x, i: x.new_zeros((-1, 0)),
    lambda x, i: x.new_empty((2, -1)),
    lambda x, i: x.new_full((-2, -2), 1.0),
    lambda x, i: F.conv_transpose1d(x[None, None], x[:1, None, None], output_padding=9),
    lambda x, i: F.conv1d(x[None], x[None, :, None], x[None]),
)


def clone_is_written(x: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    y[i] = 1
    return y


OVERWRITTEN: tuple[Callable[[torch.Tensor], Any], ...] = (
    lambda y: y.zero_(),
    lambda y: y.fill_(2.0),
    lambda y: y.fill_(torch.tensor(2.0)),
    lambda y: y.copy_(torch.ones(3)),
    lambda y: y.__setitem__(slice(None), 0),
    lambda y: y.__setitem__(slice(0, 3), torch.ones(3)),
    lambda y: y.__setitem__(..., 3.0),
    lambda y: torch.nn.init.ones_(y),
    lambda y: torch.add(torch.ones(3), 1, out=y),
    lambda y: torch.zeros_like(y),
    lambda y: torch.full_like(y, 3.0),
    lambda y: y.new_ones(3),
    lambda y: torch.rand_like(y).shape,
    lambda y: y.uniform_().shape,
    lambda y: y.masked_fill_(torch.ones(3, dtype=torch.bool), 2.0),
    lambda y: y**0,
    lambda y: torch.addmm(y[None], y[None], torch.ones(3, 3), beta=0),
    lambda y: torch.addmm(y, torch.ones(3, 3), torch.ones(3, 3), beta=0),
    lambda y: y.long().isnan(),
    lambda y: y.long().isfinite(),
    lambda y: y.sum().argmax(),
    lambda y: torch.slice_scatter(y, torch.ones(3)),
    lambda y: torch.cat([y[:0], torch.ones(2, 2)]),
    lambda y: y.shape,
    lambda y: F.dropout(y, 1.0, training=True),
)
OF_NUMBERS: tuple[Callable[[torch.Tensor, float], torch.Tensor], ...] = (
    lambda x, a: F.celu(x, a),
    lambda x, a: F.softshrink(x, a),
    lambda x, a: F.huber_loss(x, x * 2, delta=a),
    lambda x, a: F.smooth_l1_loss(x, x * 2, beta=a),
    lambda x, a: torch.cdist(x[None], x[None], a),
    lambda x, a: F.hardtanh(x, a, 0.5),
    lambda x, a: F.dropout(x, a),
    lambda x, a: torch.normal(0.0, a, (3,)),
    lambda x, a: torch.bernoulli(x, a),
    lambda x, a: F.rrelu(x, 0.2, a, training=True),
    lambda x, a: x.clone().exponential_(a),
    lambda x, a: torch.quantile(x, a),
    lambda x, a: F.cross_entropy(x[None], torch.tensor([0]), label_smoothing=a),
    lambda x, a: torch.arange(0, 2, a),
    lambda x, a: x[None].renorm(2, 0, a),
    lambda x, a: F.interpolate(x[None, None], scale_factor=a),
    lambda x, a: torch.histc(x, 4, a, 1.0),
    lambda x, a: x.std(correction=a),  # type: ignore[call-overload]
)
OF_INTEGERS: tuple[Callable[[torch.Tensor, int], object], ...] = (
    lambda x, n: torch.full((), n),
    lambda x, n: torch.full_like(x, n),
    lambda x, n: x + n,
    lambda x, n: n - x,
    lambda x, n: torch.tensor(n),
    lambda x, n: torch.tensor([n, 1]),
    lambda x, n: torch.arange(n, n + 2),
    lambda x, n: x.clamp(max=n),
    lambda x, n: x.masked_fill(x > 0, n),
    lambda x, n: x.clone().fill_(n),
    lambda x, n: torch.where(x > 0, x, n),
    lambda x, n: x == n,
)
NUMBERS = (0.25, 0.0, -1.0, 1.5, float("nan"), float("inf"), -0.0, 0.75)
INTEGERS = (1, 2, 3, 0, -1, 5, 2**40)
BEYOND: tuple[Program, ...] = (
    lambda x, i: torch.as_strided(x, (100,), (1,)),
    lambda x, i: torch.as_strided(x, (100,), (1,)) + 1,
    lambda x, i: (x * 2).as_strided((100,), (1,)) + 1,
    lambda x, i: (x * 2).as_strided((2,), (1,), 2) + 1,
    lambda x, i: x.as_strided((2,), (1,), 1) + 1,
    lambda x, i: (x * 2).as_strided((2, 2), (1, 1)) + 1,
    lambda x, i: x.as_strided((0,), (1,), 7) + 1,
    lambda x, i: x[1:].as_strided((3,), (1,), 0) + 1,
    lambda x, i: x.clone().as_strided((x.shape[0], 2), (1, 0)) + 1,
    lambda x, i: F.pad(x, (-4, 9)),
    lambda x, i: F.pad(x, (3, -4)),
)


def outcome(program: Program, *, has_grad: bool) -> tuple[Any, ...]:
    try:
        with config.patch(suppress_errors=False):
            found = program(torch.arange(1.0, 4).requires_grad_(has_grad), torch.tensor([7]))
            return ("returned", found.tolist())
    except Exception as error:
        return type(error), str(error)


@pytest.mark.sweep
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("has_grad", [False, True])
@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("backend", ["eager", "aot_eager", "native"])
@pytest.mark.parametrize("dead", DEAD)
def test_what_nobody_reads_raises(dead: Program, backend: str, dynamic: bool | None, has_grad: bool) -> None:
    def program(x: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
        dead(x, i)
        return x + 1

    compiled = supple.compile(program, backend=backend, dynamic=dynamic)
    assert outcome(compiled, has_grad=has_grad) == outcome(program, has_grad=has_grad)


@pytest.mark.sweep
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("has_grad", [False, True])
@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("backend", ["eager", "aot_eager", "native"])
@pytest.mark.parametrize("beyond", BEYOND)
def test_no_view_goes_beyond_the_memory(
    beyond: Program, backend: str, dynamic: bool | None, has_grad: bool
) -> None:
    compiled = supple.compile(beyond, backend=backend, dynamic=dynamic)
    assert outcome(compiled, has_grad=has_grad) == outcome(beyond, has_grad=has_grad)


@pytest.mark.sweep
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("is_dead", [False, True], ids=["", "dead"])
@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("numbers", [NUMBERS, INTEGERS], ids=["floats", "integers"])
@pytest.mark.parametrize("function", OF_NUMBERS)
def test_numbers_are_refused_as_in_eager(
    function: Callable[[torch.Tensor, float], torch.Tensor],
    numbers: tuple[float, ...],
    backend: str,
    dynamic: bool | None,
    is_dead: bool,
) -> None:
    def program(x: torch.Tensor, number: float) -> torch.Tensor:
        y = function(x, number)
        return x if is_dead else y

    def outcome(run: Callable[[torch.Tensor, float], torch.Tensor], number: float) -> object:
        torch.manual_seed(0)
        try:
            with config.patch(suppress_errors=False):
                return run(torch.arange(1.0, 4) / 4, number)
        except Exception as error:
            return type(error), str(error)

    compiled = supple.compile(program, backend=backend, dynamic=dynamic)
    for number in numbers:
        got, want = outcome(compiled, number), outcome(program, number)
        if isinstance(want, torch.Tensor):
            torch.testing.assert_close(got, want, equal_nan=True)
        else:
            assert got == want


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("is_dead", [False, True], ids=["", "dead"])
@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("function", OF_INTEGERS)
def test_integers_beyond_64_bits_are_refused_as_in_eager(
    function: Callable[[torch.Tensor, int], object], backend: str, is_dead: bool
) -> None:
    def program(x: torch.Tensor, n: int) -> object:
        n *= n
        y = function(x, n)
        return x if is_dead else y

    def outcome(run: Callable[[torch.Tensor, int], object], n: int) -> object:
        try:
            with config.patch(suppress_errors=False):
                return run(torch.arange(1.0, 4), n)
        except Exception as error:
            return type(error), str(error)

    compiled = supple.compile(program, backend=backend)
    for n in (1, 2, 3, 2**32, 2**63 - 1, -(2**40), 5):
        got, want = outcome(compiled, n), outcome(program, n)
        if isinstance(want, torch.Tensor):
            torch.testing.assert_close(got, want)
        else:
            assert got == want


@pytest.mark.sweep
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("has_grad", [False, True])
@pytest.mark.parametrize("backend", ["eager", "aot_eager", "native"])
@pytest.mark.parametrize("overwrite", OVERWRITTEN)
def test_what_is_overwritten_before_anybody_reads_it_raises(
    overwrite: Callable[[torch.Tensor], Any], backend: str, has_grad: bool
) -> None:
    def program(x: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
        y = clone_is_written(x, i)
        with torch.no_grad():
            overwrite(y)
        return x + 1

    compiled = supple.compile(program, backend=backend)
    assert outcome(compiled, has_grad=has_grad) == outcome(program, has_grad=has_grad)

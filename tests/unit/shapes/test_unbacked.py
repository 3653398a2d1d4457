"""Results whose sizes or values are data: symbols without hints, their bounds, and what is checked later."""

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from supple.expr import Expr, evaluate, less_equal
from supple.expr.real import Real
from supple.ir.meta import TensorMeta
from supple.shapes.env import ShapeEnv, active
from supple.shapes.errors import DataDependent, Undecided
from supple.shapes.fake import fake_like, faking, meta_of
from supple.shapes.symnode import expr_of
from tests.unit.shapes.symbolic import Function, Recorded, at, eager, flat, record

ROWS = {"x": "a 4"}
COUNTS = {"x": "a 4", "i": "b"}


def deferred(recorded: Recorded) -> list[str]:
    return [str(condition.condition) for condition in recorded.env.deferred]


def kept(x: Tensor) -> Tensor:
    """Return the rows of x that do not start with 0."""
    return x[x[:, 0] != 0]


SIZED: dict[str, Function] = {
    "nonzero": torch.nonzero,
    "nonzero_tuple": lambda x: x.nonzero(as_tuple=True),
    "where": lambda x: torch.where(x > 0),
    "mask": lambda x: x[x != 0],
    "mask_of_rows": kept,
    "mask_of_columns": lambda x: x[:, x.sum(0) != 0],
    "masked_select": lambda x: x.masked_select(x != 0),
    "unique": lambda x: torch.unique(x, return_inverse=True, return_counts=True),
    "unique_rows": lambda x: torch.unique(x, dim=0),
    "unique_consecutive": lambda x: torch.unique_consecutive(x.flatten(), return_counts=True),
    "repeat_interleave": lambda x: torch.arange(x.shape[0]).repeat_interleave(x[:, 0].long()),
    "repeat_rows": lambda x: x.repeat_interleave(x[:, 0].long(), 0),
    "bincount": lambda x: torch.bincount(x.flatten().long()),
    "matmul": lambda x: kept(x) @ torch.ones(4, 3),
    "view": lambda x: (kept(x).view(-1, 2, 2), kept(x).flatten(), kept(x).unsqueeze(1), kept(x).t()),
    "cat": lambda x: torch.cat([kept(x), x]),
    "norm": lambda x: F.layer_norm(kept(x).softmax(-1), (4,)) + kept(x).sum(0),
    "slices": lambda x: (kept(x)[1:], kept(x)[:-1], kept(x)[:, 2]),
}


# UNB01, UNB04, DYN14
@pytest.mark.parametrize("name", SIZED)
def test_sizes_from_data_have_the_layout_of_eager(name: str) -> None:
    recorded = record(SIZED[name], ROWS)
    assert not recorded.guards
    assert not recorded.env.deferred
    data = torch.tensor([[1.0, 0.0, 2.0, 3.0], [0.0, 0.0, 0.0, 0.0], [2.0, 2.0, 2.0, 2.0]])
    wanted = flat(SIZED[name](data))
    # Two rows of the data are selected; other counts are seen in the sizes of the results.
    sizes = {"s0": 3, **{name: 2 for name in recorded.env.symbols if name.startswith("u")}}
    for got, real in zip(recorded.results, wanted, strict=True):
        assert isinstance(got, TensorMeta)
        assert isinstance(real, Tensor)
        for size, number in zip(got.sizes, real.shape, strict=True):
            if str(size).startswith("u"):
                sizes[str(size)] = number
        assert all(evaluate(fact, sizes) for fact in recorded.env.facts.assumed)
        assert at(got, sizes) == at(meta_of(real), {})


NUMBERS: dict[str, tuple[Function, list[str]]] = {
    "item": (lambda x, i: i[0].item(), []),
    "zeros": (lambda x, i: torch.zeros(i[0].item()), ["0 <= u0"]),
    "arange": (lambda x, i: torch.arange(i[0].item()), ["0 <= u0"]),
    "slice": (lambda x, i: (x[: i[0].item()], x[i[1].item() :]), []),
    "narrow": (lambda x, i: x.narrow(0, 0, i[0].item()), ["0 <= u0", "u0 <= s0"]),
    "select": (lambda x, i: x.select(0, i[0].item()), ["0 <= s0 + u0", "u0 < s0"]),
    "view": (lambda x, i: torch.zeros(i[0].item(), 4).view(-1), ["0 <= u0"]),
    "expand": (lambda x, i: x[:1].expand(i[0].item(), 4), ["0 <= u0"]),
    "repeat": (lambda x, i: x.repeat(i[0].item(), 1), ["0 <= u0"]),
    "split": (lambda x, i: x.split([i[0].item(), i[1].item()]), ["0 <= u0", "0 <= u1", "s0 == u0 + u1"]),
    "topk": (lambda x, i: x.topk(i[0].item()), ["0 <= u0", "u0 <= 4"]),
    "scaled": (lambda x, i: x * i[0].item() + x.sum().item() / 2, []),
    "max": (lambda x, i: x[x > 0].max(), ["1 <= u0"]),
}


# UNB01, UNB05, UNB06
@pytest.mark.parametrize("name", NUMBERS)
def test_what_a_number_from_data_must_be_is_checked_when_the_program_runs(name: str) -> None:
    function, wanted = NUMBERS[name]
    assert deferred(record(function, COUNTS)) == wanted


@pytest.mark.parametrize("n", [-9, -2, -1, 0, 1, 3, 6, 9])
def test_slices_up_to_a_number_from_data_are_those_of_eager(n: int) -> None:
    recorded = record(lambda x, i: (x[: i[0].item()], x[i[0].item() :]), COUNTS)
    given = {"a": 6, "b": 8}
    wanted = eager(lambda x, i: (x[:n], x[n:]), COUNTS, given)
    for got, real in zip(recorded.results, wanted, strict=True):
        assert isinstance(got, TensorMeta)
        assert isinstance(real, Tensor)
        assert at(got, {"s0": 6, "s1": 8, "u0": n, "u1": n}) == at(meta_of(real), {})


def test_numbers_from_data_have_the_range_of_their_type() -> None:
    def bounds(dtype: torch.dtype) -> str:
        result = record(lambda x: (x > 0).to(dtype)[0, 0].item(), ROWS)
        (found,) = result.results
        assert isinstance(found, Expr)
        interval = result.env.bounds(found)
        return f"{interval.lo}..{interval.hi}"

    assert bounds(torch.int64) == "None..None"
    assert bounds(torch.uint8) == "0..255"
    assert bounds(torch.int16) == "-32768..32767"
    (truth,) = record(lambda x: (x.sum() > 0).item(), ROWS).results
    assert str(truth) == "u0 == 1"
    (real,) = record(lambda x: x.sum().item(), ROWS).results
    assert real == Real("input", ("uf0",))


def test_a_selection_is_no_longer_than_what_it_is_taken_from() -> None:
    recorded = record(kept, ROWS)
    (result,) = recorded.results
    assert isinstance(result, TensorMeta)
    count = result.sizes[0]
    assert recorded.env.is_known(less_equal(0, count))
    assert recorded.env.is_known(less_equal(count, recorded.symbols["a"]))
    (fixed,) = record(lambda x: torch.zeros(5).nonzero(), ROWS).results
    assert str(fixed) == "i64[u0,1](1,u0)"


# UNB02
@pytest.mark.parametrize(
    "function",
    [
        lambda x: 1 if x[0, 0].long().item() > 3 else 2,
        lambda x: kept(x) + x,
        lambda x: kept(x).chunk(2),
        lambda x: kept(x).squeeze(0),
        lambda x: kept(x).unbind(0),
        lambda x: 1 if x.sum().item() > 3 else 2,
    ],
    ids=["branch", "add", "chunk", "squeeze", "unbind", "float"],
)
def test_a_decision_on_data_is_refused(function: Callable[[Tensor], object]) -> None:
    with pytest.raises(Undecided, match=r"u.*known only when the program runs \(uf?0 = aten\."):
        record(function, ROWS)


# UNB05
def test_a_condition_that_was_checked_decides() -> None:
    def function(x: Tensor, i: Tensor) -> object:
        env, n = active(), i[0].item()
        assert isinstance(env, ShapeEnv)
        assert isinstance(n, torch.SymInt)
        env.expect(less_equal(3, expr_of(n)))
        return torch.zeros(n) if n > 2 else x

    recorded = record(function, COUNTS)
    assert deferred(recorded) == ["3 <= u0"]


@pytest.mark.parametrize(
    "function",
    [torch.nonzero, lambda x: x[x > 0], lambda x: x.sum().item(), torch.unique],
    ids=["nonzero", "mask", "item", "unique"],
)
def test_without_a_compilation_there_are_no_symbols(function: Callable[[Tensor], object]) -> None:
    with faking(), pytest.raises(DataDependent):
        function(fake_like(torch.zeros(3)))

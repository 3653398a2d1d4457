"""An index that varies is a number like any other: one graph reads and writes at all of them."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

import supple
from tests.dynamic.harness import BACKENDS, difference

PLACES = torch.tensor([2, 0])
CUBE = torch.sin(torch.arange(5 * 6 * 7) * 1.7 + 0.3).reshape(5, 6, 7)
CALLS = (3, 2, 0, 4, 1, -1, -5)
"""Indices into each dimension; the first one is a constant of the graph."""
WRONG = (7, -8)
"""No indices into any."""

Key = Callable[[Any], Any]
KEYS: dict[str, Key] = {
    "a column": lambda t: (slice(None), t),
    "after an ellipsis": lambda t: (..., t),
    "before an ellipsis": lambda t: (t, ...),
    "around an ellipsis": lambda t: (t, ..., 1),
    "alone in a tuple": lambda t: (t,),
    "two": lambda t: (t, t),
    "an element": lambda t: (t, t - 1, 2),
    "after a new dimension": lambda t: (None, t, None),
    "after two new dimensions": lambda t: (None, None, t, 1),
    "after a new dimension and a part": lambda t: (None, slice(1, 3), t),
    "around a new dimension": lambda t: (t, None, t),
    "after an ellipsis and a new dimension": lambda t: (..., None, t),
    "after a new dimension, beside places": lambda t: (None, t, PLACES),
    "after a part": lambda t: (slice(1, 4), t, slice(None, None, 2)),
    "after a part up to it": lambda t: (slice(None, t), t),
    "beside places": lambda t: (PLACES, t),
    "between places": lambda t: (PLACES, t, PLACES),
    "beside a list": lambda t: (t, [2, 0]),
    "beside a tensor without dimensions": lambda t: (t, torch.tensor(1)),
    "before a mask": lambda t: (t, CUBE[0] > 0),
    "behind a mask": lambda t: (CUBE[:, 0, 0] > -2, t),
    "beside a truth": lambda t: (t, True),
}
SPECIALISED = {
    "behind a mask": "eager counts dimensions in a way of its own",
    "beside a truth": "eager counts dimensions in a way of its own",
    "beside a tensor without dimensions": "a write asks for the number, which breaks the graph",
}


def read(key: Key) -> Callable[..., Any]:
    def program(x: Tensor, t: int) -> Any:
        found = x[key(t)]
        return found * 2, found.shape, found

    return program


def written(key: Key) -> Callable[..., Any]:
    def program(x: Tensor, t: int) -> Any:
        x = x * 1
        x[key(t)] = 5
        x[key(t)] *= 2
        return x

    return program


def written_with_a_tensor(key: Key) -> Callable[..., Any]:
    def program(x: Tensor, t: int) -> Any:
        x[key(t)] = x[key(t)].sin()[None] + t
        return x * 2

    return program


def told(run: Callable[..., Any], t: int) -> Any:
    """Return the result and the argument after the call, or what was raised."""
    x = CUBE.clone()
    try:
        result = run(x, t)
    except Exception as error:  # its text too is eager's
        return repr(error)
    leaves = result if isinstance(result, tuple) else ()
    return result, [one.stride() for one in leaves if isinstance(one, Tensor) and one._is_view()], x


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("use", [read, written, written_with_a_tensor])
@pytest.mark.parametrize("key", KEYS)
def test_one_graph_reads_and_writes_at_all_places(
    key: str, use: Callable[[Key], Callable[..., Any]], backend: str
) -> None:
    supple.reset()
    program = use(KEYS[key])
    compiled = supple.compile(program, backend=backend)
    for t in CALLS:
        found = difference(told(program, t), told(compiled, t), 0)
        assert not found, f"{t}: {found}"
    # The first number is a constant; later ones are negative or not.
    compilations = supple.stats()["compilations"]
    assert isinstance(compilations, int)
    assert compilations <= (len(CALLS) if key in SPECIALISED else 4), supple.stats()["recompile_reasons"]
    for t in WRONG:
        found = difference(told(program, t), told(compiled, t), 0)
        assert not found, f"{t}: {found}"


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("key", KEYS)
def test_gradients_flow_to_the_place_that_was_read(key: str, backend: str) -> None:
    supple.reset()
    keyed = KEYS[key]

    def program(x: Tensor, t: int) -> Any:
        y = x.sin()
        y[keyed(t)] = x[keyed(t)].cos() * 2
        return (y[keyed(t)].exp().sum() * y[keyed(t - 1)]).sum()

    def gradient(run: Callable[..., Any], t: int) -> Any:
        x = CUBE.clone().requires_grad_()
        run(x, t).backward()
        return x.grad

    compiled = supple.compile(program, backend=backend)
    for t in (3, 2, 4, 1):
        found = difference(gradient(program, t), gradient(compiled, t), 1e-5)
        assert not found, f"{t}: {found}"


def test_a_key_value_cache_is_filled_by_one_graph() -> None:
    supple.reset()

    def step(cache: Tensor, x: Tensor, t: int) -> Tensor:
        cache[:, t] = x
        return (cache[:, : t + 1] * x[:, None]).sum(-1).softmax(-1)

    compiled = supple.compile(step, fullgraph=True)
    mine, theirs = torch.zeros(2, 12, 4), torch.zeros(2, 12, 4)
    for t in range(12):
        x = CUBE[0, :2, :4] + t
        torch.testing.assert_close(compiled(mine, x, t), step(theirs, x, t))
        assert torch.equal(mine, theirs)
    assert supple.stats()["graphs"] == 2

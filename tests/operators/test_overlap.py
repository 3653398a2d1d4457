"""Writes that eager refuses: what was done before stays done, and the handlers of the program run."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

import supple
from supple.base.config import config

Write = Callable[[torch.Tensor], object]


def _first_row(x: torch.Tensor) -> object:
    return x.mul_(x[0])


def _shifted(x: torch.Tensor) -> object:
    x = x.view(-1)
    return x[1:].add_(x[:-1])


def _shifted_backwards(x: torch.Tensor) -> object:
    x = x.view(-1)
    x[:-1] = x[1:]
    return x


def _halves(x: torch.Tensor) -> object:
    return x[:2].add_(x[2:])


def _columns(x: torch.Tensor) -> object:
    return x[:, 1:].add_(x[:, :-1])


def _transposed(x: torch.Tensor) -> object:
    return x.add_(x.t())


def _itself(x: torch.Tensor) -> object:
    return x.add_(x)


def _another_view_of_all(x: torch.Tensor) -> object:
    return x.add_(x[:])


def _expanded(x: torch.Tensor) -> object:
    return x[:1].expand(4, 4).add_(1)


def _filled(x: torch.Tensor) -> object:
    return x[0, :1].expand(3).fill_(2)


def _zeroed(x: torch.Tensor) -> object:
    return x[0, :1].expand(3).zero_()


def _expanded_to_one(x: torch.Tensor) -> object:
    return x[:1].expand(1, 4).add_(1)


def _item_of_expanded(x: torch.Tensor) -> object:
    y = x[:1].expand(4, 4)
    y[0] = 1.0
    return y


def _item_of_row_of_expanded(x: torch.Tensor) -> object:
    y = x[0, :1].expand(3)
    y[1:] = 7.0
    return y


def _empty(x: torch.Tensor) -> object:
    return x[2:2].add_(x[:0])


WRITES: tuple[Write, ...] = (
    _first_row, _shifted, _shifted_backwards, _halves, _columns, _transposed, _itself, _another_view_of_all,
    _expanded, _filled, _zeroed, _expanded_to_one, _item_of_expanded, _item_of_row_of_expanded, _empty,
)  # fmt: skip


def caught(write: Write) -> Callable[..., Any]:
    def program(x: torch.Tensor, other: torch.Tensor) -> Any:
        other.add_(1)
        try:
            result = write(x)
        except RuntimeError as error:
            return str(error), x * 2
        return result, x * 2

    return program


def free(write: Write) -> Callable[..., Any]:
    def program(x: torch.Tensor, other: torch.Tensor) -> Any:
        other.add_(1)
        result = write(x)
        other.add_(1)
        return result

    return program


def outcome(run: Callable[..., Any]) -> str:
    x, other = torch.arange(16.0).reshape(4, 4), torch.zeros(2)
    try:
        result = run(x, other)
    except RuntimeError as error:
        result = str(error)
    return repr((result, x, other))


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("around", [caught, free])
@pytest.mark.parametrize("write", WRITES, ids=lambda one: one.__name__)
def test_what_eager_refuses_is_refused_in_its_place(
    write: Write, around: Callable[[Write], Callable[..., Any]], backend: str, dynamic: bool | None
) -> None:
    program = around(write)
    compiled = supple.compile(program, backend=backend, dynamic=dynamic)
    with config.patch(suppress_errors=False):
        assert [outcome(compiled), outcome(compiled)] == [outcome(program)] * 2


@pytest.mark.parametrize("backend", ["eager", "native"])
def test_arguments_may_show_the_same_memory(backend: str) -> None:
    def program(x: torch.Tensor, other: torch.Tensor) -> Any:
        other.add_(1)
        try:
            x.mul_(other)
        except RuntimeError as error:
            return str(error), x * 2
        return x, other

    def called(run: Callable[..., Any]) -> str:
        x = torch.arange(6.0).reshape(2, 3)
        return repr((run(x, x[0]), x))

    compiled = supple.compile(program, backend=backend)
    with config.patch(suppress_errors=False):
        assert [called(compiled), called(compiled)] == [called(program)] * 2

"""What a graph raises when it runs comes at its place among the effects of the program, as in eager."""

from collections.abc import Callable

import pytest
import torch

import supple

X = torch.arange(3.0)
log: list[object] = []


def picks(x: torch.Tensor, place: torch.Tensor, *more: int, scale: int = 1, **named: int) -> torch.Tensor:
    log.append(len(more) + len(named))
    y = x * scale
    with torch.no_grad():
        y = y[place]
        log.append("after")
        return y + 1


def divides(x: torch.Tensor, n: int) -> torch.Tensor:
    with torch.no_grad():
        return x * (1 / n)


def divides_and_writes(x: torch.Tensor, n: int) -> torch.Tensor:
    y = x.clone()
    y[...] = 6 / n
    log.append("divided")
    return y


def writes(x: torch.Tensor, place: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        x.add_(1)
        return x[place]


def outcome(run: Callable[..., torch.Tensor], *args: object, **kwargs: int) -> tuple[object, list[object]]:
    log.clear()
    try:
        result: object = run(*args, **kwargs).tolist()
    except (IndexError, ZeroDivisionError) as error:
        result = repr(error)
    assert torch.is_grad_enabled()
    return result, list(log)


@pytest.mark.parametrize("backend", ["eager", "native"])
def test_effects_before_the_error_are_kept_and_those_after_it_are_not(backend: str) -> None:
    compiled = supple.compile(picks, backend=backend)
    for place in (torch.tensor([0, 1]), torch.tensor([0, 9]), torch.tensor([2, 1])):
        want = outcome(picks, X, place, 1, 2, scale=3, z=4)
        assert outcome(compiled, X, place, 1, 2, scale=3, z=4) == want


def divides_by_an_item(x: torch.Tensor) -> torch.Tensor:
    y = x + 1
    log.append("begun")
    y = y * (1 / x.sum().item())
    log.append("ended")
    return y


@pytest.mark.parametrize("backend", ["eager", "native"])
def test_an_item_that_is_divided_by_is_zero(backend: str) -> None:
    compiled = supple.compile(divides_by_an_item, backend=backend)
    for x in (X, 0 * X, X - 2):
        assert outcome(compiled, x) == outcome(divides_by_an_item, x)


def test_a_number_that_is_divided_by_is_zero() -> None:
    for function in (divides, divides_and_writes):
        compiled = supple.compile(function, backend="eager", dynamic=True)
        for n in (2, 3, 0, 4):
            assert outcome(compiled, X, n) == outcome(function, X, n)


def test_modes_are_put_back_where_tensors_were_written() -> None:
    compiled = supple.compile(writes, backend="eager")
    for place in (torch.tensor([0]), torch.tensor([9])):
        mine, theirs = X.clone(), X.clone()
        assert outcome(compiled, mine, place) == outcome(writes, theirs, place)
        assert torch.equal(mine, theirs)

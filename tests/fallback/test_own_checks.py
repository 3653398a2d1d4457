"""Checks that a program states itself, `torch._check` and its like: they raise what they raise in eager."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

import supple
from supple.torch_private import CHECKS
from tests.guards.change import same

Check = Callable[..., object]
BACKENDS = ("eager", "native")
checks = pytest.mark.parametrize("check", CHECKS, ids=lambda one: one.__name__)


def outcome(program: Callable[..., object], *args: Any) -> tuple[object, ...]:
    """Return what a call gives or raises, and what it leaves in its arguments."""
    try:
        return program(*args), args
    except Exception as error:
        return type(error), str(error), args


def agree(program: Callable[..., object], *calls: Callable[[], tuple[Any, ...]], **options: Any) -> None:
    """Assert that a compiled program does what eager does."""
    for backend in BACKENDS:
        compiled = supple.compile(program, backend=backend, **options)
        for make in calls:
            found, expected = outcome(compiled, *make()), outcome(program, *make())
            assert same(found, expected), (found, expected)
        assert "I001" not in str(supple.stats()["fallback_reasons"])


MESSAGES: dict[str, Any] = {
    "none": None,
    "text": lambda: "not like this",
    "number": lambda: 5,
    "nothing": lambda: None,
    "no function": "not like this",
    "raises": lambda: 1 // 0,
}


@checks
@pytest.mark.parametrize("message", MESSAGES.values(), ids=MESSAGES)
@pytest.mark.parametrize("is_caught", [False, True])
def test_a_check_says_what_it_says_in_eager(check: Check, message: Any, is_caught: bool) -> None:
    def program(x: torch.Tensor) -> object:
        check(x.shape[0] < 4, message)
        return x + 1

    def catching(x: torch.Tensor) -> object:
        try:
            check(x.shape[0] < 4, message)
        except Exception as error:
            return x * 2, type(error), str(error)
        return x + 1

    sizes = [lambda n=n: (torch.ones(n),) for n in (3, 5, 2, 6)]
    agree(catching if is_caught else program, *sizes)
    agree(catching if is_caught else program, *sizes, dynamic=True)


@checks
@pytest.mark.parametrize(
    "condition", [False, 1, 0, None, "yes", torch.tensor(True), torch.ones(2) > 0], ids=repr
)
def test_what_does_not_hold_or_is_no_truth_is_refused(check: Check, condition: object) -> None:
    def program(x: torch.Tensor) -> object:
        try:
            check(condition)
        except Exception as error:
            return x * 2, type(error), str(error)
        return x + 1

    agree(program, lambda: (torch.ones(2),))


@checks
@pytest.mark.parametrize("is_written", [False, True])
@pytest.mark.parametrize("is_caught", [False, True])
@pytest.mark.parametrize("is_told", [False, True])
def test_a_check_of_data_raises_what_it_raises_in_eager(
    check: Check, is_written: bool, is_caught: bool, is_told: bool
) -> None:
    def program(x: torch.Tensor, n: torch.Tensor) -> object:
        number = n.item()
        if is_written:
            x.add_(1)
        if is_told:
            check(number < 4, lambda: f"{number} is more than four")
        else:
            check(number < 4)
        return x + number

    def catching(x: torch.Tensor, n: torch.Tensor) -> object:
        try:
            return program(x, n)
        except Exception as error:
            return x * 2, type(error), str(error)

    calls = [lambda n=n: (torch.ones(2), torch.tensor(n)) for n in (3, 5, 2, 6)]
    if not (is_written and not is_caught and check is torch._check):
        agree(catching if is_caught else program, *calls)
        return
    for make in calls:  # the text names the user's line: test_unbacked
        found, expected = outcome(supple.compile(program), *make()), outcome(program, *make())
        assert found[0] == expected[0] if isinstance(expected[0], type) else same(found, expected)
        assert same(found[-1], expected[-1])


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("highest", [None, 3, 7])
def test_a_size_is_neither_negative_nor_too_large(highest: int | None) -> None:
    def program(x: torch.Tensor, n: Any) -> object:
        try:
            torch._check_is_size(n, lambda: f"{n} is no size", max=highest)
        except Exception as error:
            return x * 2, type(error), str(error)
        return x + n

    agree(program, *[lambda n=n: (torch.ones(2), n) for n in (3, 5, -1, 0, 9, 1.5, -0.5, True, "a", None)])


@checks
def test_the_message_of_a_check_that_holds_is_not_made(check: Check) -> None:
    def program(x: torch.Tensor, n: torch.Tensor, said: list[str]) -> object:
        check(x.shape[0] < 4, lambda: said.append("size"))
        check(n.item() < 4, lambda: said.append("number"))
        return x + n

    calls = [
        lambda m=m, n=n: (torch.ones(m), torch.tensor(n), []) for m, n in ((3, 3), (2, 2), (1, 5), (5, 1))
    ]
    agree(program, *calls)
    agree(program, *calls, dynamic=True)


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "native"])
@pytest.mark.parametrize("mode", [torch.no_grad, torch.enable_grad, torch.inference_mode])
def test_a_check_without_a_message_stands_before_the_writes_behind_it(mode: Any, backend: str) -> None:
    def program(p: torch.Tensor, g: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        p.data.mul_(2)
        torch._check(places.max().item() < 3)
        g.data.add_(1)
        return g[places]

    compiled = supple.compile(program, backend=backend)
    for places in ([0, 1], [0, 9], [0, 2]):
        seen: list[object] = []
        for run in (program, compiled):
            with mode():
                given = torch.ones(3), torch.ones(3)
                found: object
                try:
                    found = run(*given, torch.tensor(places)).tolist()
                except Exception as error:  # its class is compared
                    found = type(error)
            seen.append([found, *(one.tolist() for one in given)])
        assert seen[0] == seen[1]

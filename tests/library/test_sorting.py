"""list.sort: what it leaves when it raises, and what it asks."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

import supple

X = torch.ones(())


class Ranked:
    """Compares by a number, and refuses some."""

    def __init__(self, number: int, log: list[object]) -> None:
        self.number = number
        self.log = log

    def __lt__(self, other: "Ranked") -> bool:
        self.log.append((self.number, other.number))
        if other.number == 0:
            raise ValueError("no order")
        return self.number < other.number


LISTS: list[list[Any]] = [
    [7, 7, 7, 7, 1, "ab"],
    ["b", "a", 1, "c"],
    [3, 1, 2, None, 0],
    [(1, "a"), (1, 2), (0, 1)],
    [2.5, 1, True, -0.0, 0],
    [1j, 2],
    [],
    [float("nan"), 1.0, float("nan"), 0.0],
]
ARGUMENTS: dict[str, dict[str, Any]] = {
    "none": {},
    "reverse": {"reverse": True},
    "key": {"key": str},
    "a key that raises": {"key": lambda item: 1 // item},
    "one key for all, reverse": {"key": lambda item: 0, "reverse": True},
    "a key that is no function": {"key": 5},
    "reverse of a text": {"reverse": "a"},
}


def sort(items: list[Any], named: dict[str, Any]) -> object:
    try:
        items.sort(**named)
    except Exception as error:
        return type(error).__name__, error.args
    return None


@pytest.mark.parametrize("named", ARGUMENTS.values(), ids=ARGUMENTS)
@pytest.mark.parametrize("items", LISTS, ids=str)
def test_a_sort_leaves_what_eager_leaves(items: list[Any], named: dict[str, Any]) -> None:
    eager, compiled = [*items], [*items]
    want = sort(eager, named)
    assert supple.compile(sort, backend="eager")(compiled, named) == want
    assert repr(compiled) == repr(eager)


@pytest.mark.parametrize("numbers", [(3, 1, 2), (3, 1, 0, 2), (1, 0)], ids=str)
def test_objects_are_compared_as_often_as_in_eager_where_one_raises(numbers: tuple[int, ...]) -> None:
    def program(x: torch.Tensor, run: Callable[[list[Any], dict[str, Any]], object]) -> object:
        log: list[object] = []
        items = [Ranked(number, log) for number in numbers]
        told = run(items, {})
        return told, [item.number for item in items], log if told else None

    assert supple.compile(program, backend="eager")(X, sort) == program(X, sort)

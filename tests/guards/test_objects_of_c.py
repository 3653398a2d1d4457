"""Objects that code in C makes: nothing is made up of what they hold."""

import array
import collections
import datetime
import random
from collections.abc import Callable
from typing import Any, cast

import pytest
import torch

import supple


class Array(array.array):
    """An array with a method."""

    def twice(self) -> int:
        return self.itemsize * 2


class Dice(random.Random):
    """Random numbers of its own."""

    def roll(self) -> int:
        return self.randint(1, 6)


class Date(datetime.date):
    """A date with a method."""

    def next_year(self) -> int:
        return self.year + 1


class Queue(collections.deque[int]):
    """A deque with a method."""

    def total(self) -> int:
        return sum(self)


class Hashed:
    """An object with a hash of its own."""

    def __init__(self, number: object) -> None:
        self.number = number

    def __hash__(self) -> Any:
        return self.number


def _item_size(x: torch.Tensor) -> Any:
    found: list[Any] = []
    try:
        found.append(array.array("d").itemsize)
    except AttributeError as error:
        found.append(str(error))
    return x * 2, found


PROGRAMS: dict[str, Callable[[torch.Tensor], Any]] = {
    "array": _item_size,
    "items of an array": lambda x: (x * 2, list(array.array("d", [1.0, 2.0])), array.array("i").typecode),
    "subclass of an array": lambda x: (
        x * 2,
        cast("Any", Array)("d", [1.0]).twice(),
        len(Array("d", [1.0, 2.0])),
    ),
    "subclass of random": lambda x: (x * 2, Dice(3).roll()),
    "subclass of a date": lambda x: (x * 2, Date(2020, 1, 2).next_year(), str(Date(2020, 1, 2))),
    "subclass of a deque": lambda x: (x * 2, Queue([1, 2]).total(), list(Queue([3], 2))),
    "hash of -1": lambda x: (x * 2, hash(Hashed(-1)), hash(Hashed(2**64)), hash(Hashed(True))),
    "hash that is no int": lambda x: (x * 2, hash(Hashed("text"))),
}


def outcome(run: Callable[..., Any]) -> str:
    try:
        return repr(run(torch.ones(2)))
    except TypeError as error:
        return str(error)


@pytest.mark.parametrize("program", PROGRAMS)
def test_as_eager(program: str) -> None:
    compiled = supple.compile(PROGRAMS[program], backend="eager")
    wanted = outcome(PROGRAMS[program])
    assert [outcome(compiled), outcome(compiled)] == [wanted, wanted]

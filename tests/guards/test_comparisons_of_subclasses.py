"""Comparisons of containers, their subclasses and objects: who is asked first, and what is said then."""

import collections
import operator
from collections.abc import Callable
from typing import Any

import pytest

import supple

LOG: list[object] = []


class Row(list[Any]):
    """Adds nothing."""


class Asked(list[Any]):
    """Is asked, and does not know of an order."""

    def __le__(self, other: object) -> Any:
        LOG.append("le")
        return NotImplemented

    def __eq__(self, other: object) -> bool:
        LOG.append("eq")
        return True


class Pair(tuple[Any, ...]):
    """Adds nothing."""


class Table(dict[Any, Any]):
    """Adds nothing."""


class Item:
    """Notes what it is asked."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __lt__(self, other: Any) -> bool:
        LOG.append(("lt", self.number, other.number))
        return self.number < other.number

    def __gt__(self, other: Any) -> bool:
        LOG.append(("gt", self.number, other.number))
        return self.number > other.number

    def __eq__(self, other: object) -> bool:
        LOG.append(("eq", self.number))
        return self.number == getattr(other, "number", None)


class Same(Item):
    """Has the methods of its base: they are asked first all the same."""


class Unsure(Item):
    """Does not know."""

    def __gt__(self, other: Any) -> Any:
        LOG.append(("not known", self.number))
        return NotImplemented


OPERANDS: list[Callable[[], object]] = [
    lambda: [frozenset],
    lambda: Row((1,)),
    lambda: Asked([1]),
    lambda: (1,),
    lambda: Pair(("a",)),
    lambda: {1: 2},
    lambda: Table({1: Item(3)}),
    lambda: {1: Same(3)},
    lambda: collections.OrderedDict({1: Item(3)}),
    lambda: Item(1),
    lambda: Same(2),
    lambda: Unsure(1),
    lambda: [Item(1)],
    lambda: Row([Same(2)]),
    lambda: (Same(1),),
    lambda: Pair((Item(1),)),
    lambda: None,
]


@pytest.mark.parametrize("compare", ["lt", "le", "gt", "ge", "eq", "ne"])
def test_who_is_asked_and_what_is_said(compare: str) -> None:
    function = getattr(operator, compare)
    for left in OPERANDS:
        for right in OPERANDS:

            def program(left: Callable[[], object] = left, right: Callable[[], object] = right) -> object:
                try:
                    return function(left(), right())
                except (TypeError, AttributeError) as error:
                    return str(error)

            said: list[object] = []
            for run in (program, supple.compile(program, backend="eager")):
                LOG.clear()
                said.append((run(), list(LOG)))
            assert said[1] == said[0], (left(), right())

"""Which operations give the object itself, and which a new one; one object stays one across graph breaks."""

import collections
import copy
from collections.abc import Callable
from typing import Any

import pytest

import supple


class Frozen(frozenset[int]):
    pass


class Pair(tuple[int, int]):
    __slots__ = ()


Work = Callable[[Any], object]
OF_SETS: list[Work] = [
    lambda one: frozenset(one),
    lambda one: one.copy(),
    lambda one: one.union(),
    lambda one: one | one,
    lambda one: one & one,
    lambda one: one - frozenset(),
    lambda one: one ^ frozenset(),
    lambda one: copy.copy(one),
]
OF_TUPLES: list[Work] = [
    lambda one: tuple(one),
    lambda one: one[:],
    lambda one: one[::-1],
    lambda one: one[-9:9],
    lambda one: one + (),
    lambda one: () + one,
    lambda one: one * 1,
    lambda one: copy.copy(one),
]
MADE: list[tuple[Work, object]] = [
    *((work, one) for work in OF_SETS for one in (frozenset((1, 2)), frozenset(), Frozen((1, 2)))),
    *((work, one) for work in OF_TUPLES for one in ((1, [2]), ([1],), (), Pair((1, 2)))),
]


@pytest.mark.parametrize(("work", "one"), MADE)
def test_what_gives_itself_does_so(work: Work, one: object) -> None:
    def program(given: object) -> tuple[bool, object]:
        found = work(given)
        return found is given, found

    compiled, eager = supple.compile(program, backend="eager")(one), program(one)
    assert (compiled[0], type(compiled[1])) == (eager[0], type(eager[1]))
    assert (compiled[1] is one) == (eager[1] is one)


def test_there_is_one_empty_tuple() -> None:
    def program(items: list[int]) -> list[bool]:
        empty = tuple(items)
        return [other is empty for other in (tuple({}), (1, 2)[5:], (items,) * 0, ())]

    assert supple.compile(program, backend="eager")([]) == program([]) == [True] * 4


class Key:
    def __init__(self, number: int) -> None:
        self.number = number

    def __hash__(self) -> int:
        return hash(self.number)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Key) and self.number == other.number


def _holding_itself() -> Any:
    table: dict[int, object] = {1: 2}
    table[1] = iter(table)
    return table[1]


MAKERS: dict[str, Callable[[], Any]] = {
    "a set": lambda: {1, ()},
    "a set of keys": lambda: {Key(1), (Key(2), 1)},
    "a frozenset of keys": lambda: frozenset((Key(1), (Key(2), 1))),
    "an iterator of a dict": lambda: iter({1: 2}),
    "an iterator of a dict of keys": lambda: iter({Key(1): 2}),
    "an iterator of a deque": lambda: iter(collections.deque([1, 2])),
    "an iterator of a set": lambda: iter({1, ()}),
    "an iterator in its dict": _holding_itself,
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_what_is_in_a_cell_and_on_the_stack_is_one_object(make: Callable[[], Any]) -> None:
    def program() -> bool:
        made = make()

        def inner() -> bool:
            held = made
            supple.graph_break()
            return held is made

        return inner()

    assert supple.compile(program, backend="eager")()


def test_a_set_of_tuples_that_grows_while_it_is_read_is_noticed() -> None:
    def program() -> str:
        members = {1, ()}
        try:
            for _ in members:
                (lambda: members.add(0))()
        except RuntimeError as error:
            return str(error)
        return ""

    assert supple.compile(program, backend="eager")() == program() == "Set changed size during iteration"

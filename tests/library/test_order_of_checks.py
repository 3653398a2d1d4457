"""What functions written in C look at before they iterate, and what they say of it: as in eager."""

import collections
import functools
import itertools
from collections.abc import Callable
from typing import Any

import pytest

import supple


class Told:
    """An iterable that tells when it is asked for an iterator, and for each item."""

    def __init__(self, log: list[object]) -> None:
        self.log = log

    def __iter__(self):
        self.log.append("iter")
        for item in (1, 2):
            self.log.append(item)
            yield item


def tried(work: Callable[..., object], *args: object) -> object:
    try:
        found = work(*args)
    except Exception as error:
        return type(error).__name__, error.args
    return "an iterator" if hasattr(found, "__next__") else found


def told(work: Callable[[Any], object]) -> object:
    log: list[object] = []
    return tried(work, Told(log)), log


def check(function: Callable[..., Any], *args: object) -> None:
    assert supple.compile(function, backend="eager")(*args) == function(*args)


def assigned(place: slice, items: Any) -> object:
    target = [1, 2, 3]
    return tried(target.__setitem__, place, items), target


PLACES = [
    slice(0.0, None),
    slice(None, None, 0),
    slice(0, 1),
    slice(0, 3, 2),
    slice(None, None, -2),
    slice(5, 0),
]


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_a_slice_is_checked_before_items_are_taken(place: slice) -> None:
    check(told, lambda items: assigned(place, items))
    check(told, lambda items: assigned(place, 5))
    check(told, lambda items: tried(collections.deque([1]).__setitem__, place, items))


@pytest.mark.parametrize("place", [slice(2.5, None, 0), slice(None, None, 0), slice("a", None)], ids=str)
def test_a_slice_of_nothing_is_checked(place: slice) -> None:
    check(lambda: [tried(items.__getitem__, place) for items in ([], (), [1])])


CONSTRUCTIONS: list[Callable[[Any], object]] = [
    lambda items: itertools.product(items, repeat="a"),
    lambda items: itertools.product(items, repeat=-1),
    lambda items: itertools.combinations(items, "a"),
    lambda items: itertools.combinations(items, -1),
    lambda items: itertools.combinations_with_replacement(items, None),
    lambda items: itertools.permutations(items, "a"),
    lambda items: itertools.permutations(items, -1),
    lambda items: itertools.islice(items, "a"),
    lambda items: itertools.islice(items, -1),
    lambda items: itertools.islice(items, 1, 2.0),
    lambda items: itertools.islice(items, 1, 2, 0),
    lambda items: itertools.tee(items, -1),
    lambda items: itertools.tee(5, -1),
    lambda items: itertools.chain.from_iterable(5),
    lambda items: itertools.chain(5),
    lambda items: itertools.count(None),
    lambda items: itertools.count("a"),
    lambda items: itertools.count(1, items),
    lambda items: itertools.repeat(1, "a"),
    lambda items: itertools.repeat(1, times=None),
    lambda items: enumerate(items, "a"),
    lambda items: enumerate(items, start=1.0),
    lambda items: sum(items, "a"),
    lambda items: sum(items, b"a"),
    lambda items: sorted(items, reverse="a"),
    lambda items: [].sort(reverse="a"),
    lambda items: min(items, items, default=3),
    lambda items: max(items, key=5),
    lambda items: collections.deque(items, "a"),
    lambda items: [1].index(1, "a"),
    lambda items: [1].index(1, None),
    lambda items: (1,).index(1, 0, 1.0),
    lambda items: collections.deque([1]).index(1, None),
]


@pytest.mark.parametrize("work", CONSTRUCTIONS)
def test_other_arguments_are_checked_where_eager_checks_them(work: Callable[[Any], object]) -> None:
    check(told, work)


class Keyed:
    def __init__(self, **named: object) -> None:
        self.named = named

    def __call__(self, **named: object) -> object:
        return named

    def method(self, **named: object) -> object:
        return named


def named(**given: object) -> object:
    return given


CALLED: list[Callable[..., object]] = [
    *(named, Keyed, Keyed(), Keyed().method, functools.partial(named, b=1)),
    *(dict, max, functools.partial, [].sort),
]


@pytest.mark.parametrize("callee", CALLED, ids=lambda one: getattr(one, "__qualname__", type(one).__name__))
@pytest.mark.parametrize("keywords", [{True: 1}, {1.0: 2, "a": 1}], ids=str)
def test_keywords_must_be_strings(callee: Callable[..., object], keywords: dict[Any, object]) -> None:
    check(lambda: tried(lambda: callee(**keywords)))


@pytest.mark.parametrize("callee", [named, Keyed, Keyed().method, dict], ids=lambda one: one.__qualname__)
def test_a_keyword_given_twice_names_the_callee(callee: Callable[..., object]) -> None:
    check(lambda: tried(lambda: callee(a=1, **{"a": 2})))
    check(lambda: tried(lambda: callee(**{"a": 1}, **{"a": 2})))
    check(lambda: tried(lambda: callee(**{1: 1}, **{1: 2})))

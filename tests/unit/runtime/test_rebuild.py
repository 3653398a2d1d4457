"""Changes of objects that existed before the call, replayed, and iterators looked at without taking items."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from supple.runtime.rebuild import has_next, made_of, replace_mapping, upcoming


class Key:
    """A key that sees how many entries a dict has whenever it is looked up."""

    def __init__(self, name: str, watched: dict[object, int], seen: list[int]) -> None:
        self.name, self.watched, self.seen = name, watched, seen

    def __hash__(self) -> int:
        self.seen.append(len(self.watched))
        return hash(self.name)


def test_a_dict_is_never_without_the_entries_that_stay() -> None:
    target: dict[object, int] = {}
    seen: list[int] = []
    gone, first, second = (Key(name, target, seen) for name in ("gone", "first", "second"))
    target.update({gone: 0, first: 1, second: 2})
    wanted: dict[object, int] = {first: 1, second: 3}
    seen.clear()
    replace_mapping(target, wanted)
    assert list(target.items()) == [(first, 1), (second, 3)]
    assert min(seen) == 2


def test_entries_that_move_are_in_their_order() -> None:
    target: dict[object, int] = {"a": 1, "b": 2, "c": 3}
    wanted: dict[object, object] = {"c": 3, "a": 1, "d": 4}
    replace_mapping(target, wanted)
    assert list(target.items()) == [("c", 3), ("a", 1), ("d", 4)]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "made",
    [
        lambda: itertools.count(),
        lambda: itertools.count(5),
        lambda: itertools.count(1.5),
        lambda: itertools.count(3, -2),
        lambda: itertools.count(2**63 - 2),
        lambda: itertools.count(10**30),
        lambda: itertools.count(step=0),
        lambda: iter([1, 2, 3, 4]),
        lambda: reversed([1, 2, 3, 4]),
        lambda: iter((1, 2, 3, 4)),
        lambda: iter("abcd"),
        lambda: iter({1: 1, 2: 2, 3: 3, 4: 4}),
    ],
)
@pytest.mark.parametrize("taken", [0, 2])
def test_what_comes_next_is_looked_at_and_not_taken(made: Callable[[], Iterator[object]], taken: int) -> None:
    iterator = made()
    for _ in range(taken):
        next(iterator)
    assert has_next(iterator, 1)
    ahead = [upcoming(iterator, count) for count in range(2)]
    assert ahead == list(itertools.islice(iterator, 2))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "made",
    [
        lambda items: map(abs, items),
        lambda items: zip(items, items, strict=False),
        lambda items: filter(None, items),
        lambda items: itertools.starmap(abs, ((one,) for one in items)),
        lambda items: itertools.compress(items, items),
        lambda items: itertools.filterfalse(None, items),
    ],
)
def test_an_iterator_is_made_again_of_its_parts(
    made: Callable[[Iterator[int]], Iterator[object]],
) -> None:
    iterator = made(iter([1, 0, 2, 3]))
    kind: Any
    kind, args = made_of(iterator)[:2]
    assert kind is type(iterator)
    assert list(kind(*args)) == list(made(iter([1, 0, 2, 3])))

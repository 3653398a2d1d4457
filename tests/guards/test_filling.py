"""What fills a container stores each item before it asks for the next one, and asks how many there are."""

import collections
import copy
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import supple

Program = Callable[[torch.Tensor], object]

CONTAINERS: dict[str, Callable[[], Any]] = {
    "list": lambda: [1, 2],
    "deque": lambda: collections.deque([1, 2]),
    "short deque": lambda: collections.deque([1, 2], 4),
    "empty deque": lambda: collections.deque(maxlen=0),
    "set": lambda: {1, 2},
    "dict": lambda: {1: 1, 2: 2},
    "OrderedDict": lambda: collections.OrderedDict({1: 1, 2: 2}),
    "Counter": lambda: collections.Counter([1, 2]),
    "list of a class": lambda: Items([1, 2]),
    "set of a class": lambda: Members([1, 2]),
}


class Items(list[int]):
    pass


class Members(set[int]):
    pass


def extend(filled: Any, items: Any) -> None:
    filled.extend(items)


def extend_left(filled: Any, items: Any) -> None:
    filled.extendleft(items)


def add_in_place(filled: Any, items: Any) -> None:
    filled += items


def put_between(filled: Any, items: Any) -> None:
    filled[1:1] = items


def begin_again(filled: Any, items: Any) -> None:
    filled.__init__(items)


def update(filled: Any, items: Any) -> None:
    filled.update(items)


def update_pairs(filled: Any, items: Any) -> None:
    filled.update((n, n) for n in items)


def update_by_keys(filled: Any, items: Any) -> None:
    filled.update(Keys(items))


def take_away(filled: Any, items: Any) -> None:
    filled.difference_update(items)


def keep(filled: Any, items: Any) -> None:
    filled.intersection_update(items)


def swap(filled: Any, items: Any) -> None:
    filled.symmetric_difference_update(items)


class Keys:
    """A mapping that looks at nothing before it is asked."""

    def __init__(self, items: Any) -> None:
        self.items = items

    def keys(self) -> Any:
        return iter(self.items)

    def __getitem__(self, key: object) -> object:
        if key == 7:
            raise LookupError(key)
        return key


WAYS: dict[Callable[[Any, Any], None], str] = {
    extend: "list, deque, short deque, empty deque, list of a class",
    extend_left: "deque, short deque, empty deque",
    add_in_place: "list, deque, short deque, list of a class",
    put_between: "list, list of a class",
    begin_again: "list, list of a class, set of a class",
    update: "set, set of a class, Counter",
    update_pairs: "dict, OrderedDict",
    update_by_keys: "dict, OrderedDict",
    take_away: "set, set of a class",
    keep: "set, set of a class",
    swap: "set, set of a class",
}


def looking(filled: Any) -> Iterator[object]:
    yield 2
    yield len(filled)
    yield 10 + len(filled)


def failing(filled: Any) -> Iterator[object]:
    yield 1
    yield len(filled)
    yield 20 + len(filled)
    raise ZeroDivisionError


def unhashable(filled: Any) -> Iterator[object]:
    yield 5
    yield [len(filled)]


def writing(filled: Any) -> Iterator[object]:
    yield 5
    filled.clear()
    yield 6


def over_itself(filled: Any) -> Iterator[object]:
    for n in filled:
        if len(filled) > 5:
            return
        yield n


def itself(filled: Any) -> Any:
    return filled


def a_list(filled: Any) -> Any:
    return [5, 7, 6, len(filled)]


def bad_list(filled: Any) -> Any:
    return [5, [], 6]


def counted(filled: Any) -> Any:
    return map(lambda n: n + len(filled), [1, 2])


GIVEN = [looking, failing, unhashable, writing, over_itself, itself, a_list, bad_list, counted]
CASES = [
    pytest.param(way, kind, given, id=f"{way.__name__}-{kind}-{given.__name__}")
    for way, kinds in WAYS.items()
    for kind in kinds.split(", ")
    for given in GIVEN
]


def told(filled: Any) -> str:
    return repr(sorted(filled, key=repr) if isinstance(filled, set) else filled)


@pytest.mark.sweep
@pytest.mark.parametrize(("way", "kind", "given"), CASES)
@pytest.mark.parametrize("is_from_outside", [False, True])
def test_what_arrived_is_there(
    way: Callable[[Any, Any], None], kind: str, given: Callable[[Any], Any], *, is_from_outside: bool
) -> None:
    # X-SND01
    make = CONTAINERS[kind]

    def program(x: torch.Tensor, outside: Any) -> object:
        filled = outside if is_from_outside else make()
        try:
            way(filled, given(filled))
        except (TypeError, ZeroDivisionError, LookupError, RuntimeError) as error:
            return x + 1, told(filled), type(error)
        return x + 1, told(filled)

    compiled = supple.compile(program)
    for _ in range(2):
        mine, its = make(), make()
        want = program(torch.ones(2), mine)
        assert str(compiled(torch.ones(2), its)) == str(want)
        assert told(its) == told(mine)


class Announced:
    """It is asked how many items it has, by CPython in some places; it remembers each time."""

    def __init__(self, answer: object) -> None:
        self.answer = answer
        self.asked = 0
        self.given = 0

    def ask(self) -> Any:
        self.asked += 1
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class Sized(Announced):
    def __len__(self) -> int:
        return self.ask()

    def __iter__(self) -> Iterator[int]:
        return iter([3, 1, 2])


class Hinting(Announced):
    def __length_hint__(self) -> int:
        return self.ask()

    def __iter__(self) -> "Hinting":
        return self

    def __next__(self) -> int:
        self.given += 1
        if self.given > 3:
            raise StopIteration
        return self.given


def _slice(items: Any) -> object:
    made = [0]
    made[:] = items
    return made


def _extended(items: Any) -> object:
    made = [0]
    made.extend(items)
    return made


def _added(items: Any) -> object:
    made = [0]
    made += items
    return made


ASKING: dict[str, Callable[[Any], object]] = {
    "list": list,
    "tuple": tuple,
    "star": lambda items: [0, *items],
    "tuple of star": lambda items: (0, *items),
    "sorted": sorted,
    "set": lambda items: len(set(items)),
    "set of star": lambda items: len({*items}),
    "sum": sum,
    "call": lambda items: max(*items),
    "deque": collections.deque,
    "slice": _slice,
    "extend": _extended,
    "+=": _added,
    "comprehension": lambda items: [n for n in items],
    "join": lambda items: ",".join(map(str, items)),
    "unpack": lambda items: (lambda a, *b: (a, b))(*items),
    "dict": lambda items: dict.fromkeys(items),
    "zip": lambda items: list(zip(items, items, strict=False)),
}
ANSWERS: list[object] = [3, 0, -1, True, 2.5, "3", None, NotImplemented, TypeError("t"), ValueError("v")]


@pytest.mark.parametrize("way", ASKING)
@pytest.mark.parametrize("kind", [Sized, Hinting])
@pytest.mark.parametrize("answer", ANSWERS, ids=repr)
def test_a_class_is_asked_how_many(way: str, kind: type[Announced], answer: object) -> None:
    # X-SND01
    function = ASKING[way]

    def program(x: torch.Tensor) -> object:
        items = kind(answer)
        try:
            found = function(items)
        except (TypeError, ValueError) as error:
            return x + 1, str(error), items.asked
        return x + 1, found, items.asked

    want = program(torch.ones(2))
    assert str(supple.compile(program)(torch.ones(2))) == str(want)


def lengths_seen(x: torch.Tensor, items: list[int]) -> object:
    seen: list[object] = []

    def key(n: int) -> int:
        seen.append(len(items))
        return n % 3

    items.sort(key=key)
    return x + 1, seen, items


def modified(x: torch.Tensor, items: list[int]) -> object:
    def key(n: int) -> int:
        items.append(n)
        return n

    try:
        items.sort(key=key, reverse=True)
    except ValueError as error:
        return x + 1, str(error), items
    return x + 1, items


def failing_key(x: torch.Tensor, items: list[int]) -> object:
    def key(n: int) -> int:
        items.append(n)
        if n == 1:
            raise KeyError(len(items))
        return n

    try:
        items.sort(key=key)
    except KeyError as error:
        return x + 1, str(error), items
    return x + 1, items


def keys_before_comparisons(x: torch.Tensor, items: list[int]) -> object:
    try:
        return x, sorted([1, "a", None], key=lambda n: n + 1 if isinstance(n, str) else n)  # pyright: ignore
    except TypeError as error:
        return x, re.sub("[^a-z ]", "", str(error)), items


@pytest.mark.parametrize("program", [lengths_seen, modified, failing_key, keys_before_comparisons])
def test_a_list_is_empty_while_it_is_sorted(program: Callable[..., object]) -> None:
    # X-SND01
    compiled = supple.compile(program)
    for start in ([3, 1, 2], [5, 4, 1, 0], [], [1]):
        mine, its = list(start), list(start)
        assert str(compiled(torch.ones(2), its)) == str(program(torch.ones(2), mine))
        assert its == mine


def read_views(x: torch.Tensor, table: Any) -> object:
    names = [type(one).__name__ for one in (table.keys(), iter(table), table.items(), iter(table.values()))]
    return (
        x + 1,
        names,
        table.values(),
        "a" in table.keys(),
        table.keys() & {"a"},
        list(reversed(table.items())),
    )


def grow_while_iterating(x: torch.Tensor, table: Any) -> object:
    try:
        for key in table:
            table["new" + key] = 1
    except RuntimeError as error:
        return x + 1, str(error)
    return x


def kept_views(x: torch.Tensor, table: Any) -> object:
    made = collections.OrderedDict(table)
    made["z"] = 1
    iterator = iter(made.values())
    return x + 1, next(iterator), list(iterator), made.items(), len(made.keys())


@pytest.mark.parametrize("program", [read_views, grow_while_iterating, kept_views])
@pytest.mark.parametrize(
    "make",
    [dict, collections.OrderedDict, lambda **items: collections.defaultdict(int, items), collections.Counter],
    ids=["dict", "OrderedDict", "defaultdict", "Counter"],
)
def test_views_and_iterators_are_of_the_class_of_their_dict(
    program: Callable[..., object], make: Callable[..., Any]
) -> None:
    # X-SND01
    want = program(torch.ones(2), make(a=1, b=2))
    assert str(supple.compile(program)(torch.ones(2), make(a=1, b=2))) == str(want)


EQUALS: list[Any] = [
    {1, 2},
    {1.0},
    {True, 5},
    frozenset({1.0, 2.0}),
    {1: "a"},
    {1.0: "b", 2: "c"},
    [1.0],
    (True, 2),
]


def which_of_equals(x: torch.Tensor, left: Any, right: Any) -> object:
    found: list[object] = []
    for one, other in ((left, right), (right, left)):
        if isinstance(one, set | frozenset):
            found += [one.intersection(other), one.union(other), one.difference(other)]
            found += [one.symmetric_difference(other), one.issuperset(other), one.issubset(other)]
            found += [one.isdisjoint(other)]
    for one, other in ((left, right), (right, left)):
        first = one.keys() if isinstance(one, dict) else one
        second = other.keys() if isinstance(other, dict) else other
        try:
            found += [first & second, first | second, first - second, first ^ second]
            kept = first
            first |= second
            found += [first is kept, first]
            first &= second
            found += [first is kept, first]
            first ^= second
            found += [first is kept, first]
            first -= second
            found += [first is kept, first, kept]
        except TypeError as error:
            found.append(str(error))
    return x + 1, found


@pytest.mark.parametrize("left", EQUALS, ids=repr)
@pytest.mark.parametrize("right", EQUALS, ids=repr)
def test_of_two_equal_members_the_same_one_is_kept(left: Any, right: Any) -> None:
    # X-SND01
    want = which_of_equals(torch.ones(2), copy.copy(left), copy.copy(right))
    compiled = supple.compile(which_of_equals)
    assert str(compiled(torch.ones(2), copy.copy(left), copy.copy(right))) == str(want)


ASKED_SETS: list[Callable[[set[int], Any], object]] = [
    set.intersection,
    set.union,
    set.difference,
    set.symmetric_difference,
    set.isdisjoint,
    set.issuperset,
    set.issubset,
    lambda own, items: own.intersection(own, items),
    lambda own, items: own.difference([], items),
]


@pytest.mark.parametrize("number", range(len(ASKED_SETS)))
@pytest.mark.parametrize("start", [{1, 2}, set[int](), {1}, {9}])
def test_a_set_asks_for_no_more_items_than_it_needs(number: int, start: set[int]) -> None:
    # X-SND01
    method = ASKED_SETS[number]

    def program(x: torch.Tensor, own: set[int]) -> object:
        seen: list[int] = []

        def items() -> Iterator[int]:
            for n in (1, 2, 9, 3):
                seen.append(n)
                yield n
                own.add(100 + n)

        return x + 1, method(own, items()), seen, len(own)

    want = program(torch.ones(2), set(start))
    assert str(supple.compile(program)(torch.ones(2), set(start))) == str(want)

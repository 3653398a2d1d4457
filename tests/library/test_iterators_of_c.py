"""Iterators of classes written in C: what an error or an end leaves of them, and what changes they notice."""

import collections
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import supple


def attempt(work: Callable[[], object]) -> object:
    try:
        found = work()
    except Exception as error:
        return type(error).__name__, error.args
    if isinstance(found, tuple):
        return [attempt(lambda part=part: part) for part in found]
    return "an iterator" if hasattr(found, "__next__") else found


def inverse(number: int) -> int:
    return 1 // number


def check(program: Callable[..., object], *args: object) -> None:
    assert supple.compile(program, backend="eager")(*args) == program(*args)


FAILING: dict[str, Callable[[], Iterator[Any]]] = {
    "map": lambda: map(inverse, [1, 0, 2, 0]),
    "filter": lambda: filter(inverse, [1, 0, 2, 1]),
    "accumulate": lambda: itertools.accumulate([1, "a", 2, 3]),
    "takewhile": lambda: itertools.takewhile(inverse, [1, 0, 1, 2, 1]),
    "dropwhile": lambda: itertools.dropwhile(inverse, [2, 0, 2, 1, 2]),
    "dropwhile, fails": lambda: itertools.dropwhile(inverse, [1, 0, 1, 2, 1]),
    "filterfalse": lambda: itertools.filterfalse(inverse, [2, 0, 2, 1, 2]),
    "starmap": lambda: itertools.starmap(inverse, [(2,), 0, (2,), (0,), (2,)]),  # type: ignore[list-item]
    "groupby": lambda: itertools.groupby([2, 0, 2, 1, 2], key=inverse),
    "chain": lambda: itertools.chain([1], 5, [2]),  # type: ignore[arg-type]
    "chain.from_iterable": lambda: itertools.chain.from_iterable([[1], 5, [2]]),  # type: ignore[list-item]
    "chain, a part": lambda: itertools.chain(map(inverse, [1, 0, 2, 0, 1]), [5]),
    "chain, the parts": lambda: itertools.chain.from_iterable([inverse(n)] for n in (1, 0, 2)),
    "enumerate": lambda: enumerate(map(inverse, [1, 0, 2, 0])),
    "zip": lambda: zip(map(inverse, [1, 0, 2, 0]), [1, 2, 3], strict=False),
    "zip, strict": lambda: zip(map(inverse, [1, 0, 2, 0]), [1, 2, 3], strict=True),
    "pairwise": lambda: itertools.pairwise(map(inverse, [1, 0, 2, 0, 1, 1])),
    "zip_longest": lambda: itertools.zip_longest(map(inverse, [1, 0, 2, 0]), [1, 2, 3]),
    "islice": lambda: itertools.islice(map(inverse, [1, 0, 2, 0]), 4),
    "cycle": lambda: itertools.cycle(map(inverse, [1, 0, 2, 0])),
    "compress": lambda: itertools.compress(map(inverse, [1, 0, 2, 0]), [1, 1, 1, 1]),
    "iter of a function": lambda: iter([1, 0, 2].pop, 3),
    "iter, fails": lambda: iter(lambda: 1 // 0, 1),
    "tee": lambda: itertools.tee(map(inverse, [1, 0, 2, 0]))[0],
    "reversed": lambda: reversed([3, 2]),
}


@pytest.mark.parametrize("make", FAILING.values(), ids=FAILING)
def test_an_iterator_that_raised_goes_on_as_in_eager(make: Callable[[], Iterator[Any]]) -> None:
    def program() -> list[object]:
        iterator = make()
        return [attempt(lambda: next(iterator)) for _ in range(8)]

    check(program)


class Refilled:
    """An iterator that ends when its list is empty."""

    def __init__(self, items: list[int]) -> None:
        self.items = items

    def __iter__(self) -> "Refilled":
        return self

    def __next__(self) -> int:
        if not self.items:
            raise StopIteration
        return self.items.pop()


OVER: dict[str, Callable[[Any], Iterator[Any]]] = {
    "map": lambda it: map(str, it),
    "filter": lambda it: filter(None, it),
    "zip": lambda it: zip(it, it, strict=False),
    "enumerate": lambda it: enumerate(it, True),
    "chain": lambda it: itertools.chain(it),
    "chain.from_iterable": lambda it: itertools.chain.from_iterable([it]),
    "accumulate": lambda it: itertools.accumulate(it, initial=5),
    "takewhile": lambda it: itertools.takewhile(bool, it),
    "dropwhile": lambda it: itertools.dropwhile(bool, it),
    "filterfalse": lambda it: itertools.filterfalse(None, it),
    "starmap": lambda it: itertools.starmap(max, zip(it, [1, 2, 3], strict=False)),
    "groupby": lambda it: itertools.groupby(it),
    "pairwise": lambda it: itertools.pairwise(it),
    "zip_longest": lambda it: itertools.zip_longest(it),
    "islice": lambda it: itertools.islice(it, 5),
    "cycle": lambda it: itertools.cycle(it),
    "compress": lambda it: itertools.compress(it, [1, 1, 1, 1]),
    "tee": lambda it: itertools.tee(it)[0],
    "iter of a function": lambda it: iter(it.__next__, 9),
}


@pytest.mark.parametrize("make", OVER.values(), ids=OVER)
@pytest.mark.parametrize("first", [[], [2, 1], [0, 1, 0]], ids=str)
def test_an_iterator_that_ended_asks_again_where_eager_does(
    make: Callable[[Any], Iterator[Any]], first: list[int]
) -> None:
    def program() -> list[object]:
        items = [*first]
        iterator = make(Refilled(items))
        found = [attempt(lambda: next(iterator)) for _ in range(5)]
        items[:] = [4, 3]
        return found + [attempt(lambda: next(iterator)) for _ in range(5)]

    check(program)


def test_groups_of_tensors_are_told_apart_as_in_eager() -> None:
    def program(items: list[object]) -> list[tuple[object, list[object]]]:
        groups = [(key, list(group)) for key, group in itertools.groupby(items)]
        return [*groups, (None, list(next(itertools.groupby(items))[1]))]

    with supple.config.patch(suppress_errors=False):
        check(program, [1, 1, 2, 1])
        check(program, [torch.tensor(1), 1, 2, 2, 1])
        check(program, [torch.tensor(1), 3, torch.tensor(3), 2])


def test_groups_end_where_eager_ends_them() -> None:
    def program() -> list[object]:
        groups = itertools.groupby([1, 1, 2, 2, 2, 1, 3])
        first = next(groups)[1]
        found = [attempt(lambda: next(first)), attempt(lambda: next(groups)[0]), attempt(lambda: next(first))]
        second = [group for _, group in groups]
        return found + [attempt(lambda group=group: list(group)) for group in (first, *second)]

    check(program)


@pytest.mark.parametrize("make", [*FAILING.values()], ids=[*FAILING])
def test_an_iterator_has_its_own_class_and_attributes(make: Callable[[], Iterator[Any]]) -> None:
    def program() -> list[object]:
        iterator = make()
        return [type(iterator).__name__, attempt(lambda: iterator.close()), attempt(lambda: iterator.send(1))]  # type: ignore[attr-defined]

    check(program)


CONTAINERS: dict[str, Callable[[], Any]] = {
    "dict": lambda: {1: 2, 3: 4},
    "OrderedDict": lambda: collections.OrderedDict({1: 2, 3: 4}),
    "Counter": lambda: collections.Counter({1: 2, 3: 4}),
    "set": lambda: {1, 3},
    "deque": lambda: collections.deque([1, 3]),
    "list": lambda: [1, 3],
}
READ: dict[str, Callable[[Any], Any]] = {
    "iter": iter,
    "reversed": reversed,
    "items": lambda whole: iter(whole.items()),
    "reversed values": lambda whole: reversed(whole.values()),
}
CHANGES: dict[str, Callable[[Any], object]] = {
    "none": lambda whole: None,
    "one more": lambda whole: {dict: lambda: whole.update({9: 9}), set: lambda: whole.add(9)}.get(
        next((kind for kind in (dict, set) if isinstance(whole, kind)), list), lambda: whole.append(9)
    )(),
    "one less": lambda whole: whole.pop(3) if isinstance(whole, dict) else whole.pop(),
    "another": lambda whole: (whole.pop(3), whole.update({9: 9})) if isinstance(whole, dict) else None,
    "none left": lambda whole: whole.clear(),
    "moved": lambda whole: isinstance(whole, collections.OrderedDict) and whole.move_to_end(1, last=False),
    "written": lambda whole: whole.update({1: 5}) if isinstance(whole, dict) else None,
}


@pytest.mark.sweep
@pytest.mark.parametrize("taken", [0, 1, 2, 3])
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("read", READ.values(), ids=READ)
@pytest.mark.parametrize("make", CONTAINERS.values(), ids=CONTAINERS)
def test_changes_are_noticed_when_and_as_often_as_in_eager(
    make: Callable[[], Any], read: Callable[[Any], Any], change: Callable[[Any], object], taken: int
) -> None:
    def program() -> list[object]:
        whole = make()
        iterator = read(whole)
        found = [attempt(lambda: next(iterator)) for _ in range(taken)]
        attempt(lambda: change(whole))
        found += [attempt(lambda: next(iterator)) for _ in range(2)]
        attempt(lambda: whole.pop(9) if isinstance(whole, dict) else whole.pop())
        return found + [attempt(lambda: next(iterator)), attempt(lambda: next(iterator, 7)), whole]

    if attempt(lambda: read(make())) == "an iterator":
        check(program)


@pytest.mark.parametrize("taken", [0, 1])
def test_groups_that_python_asks_for_behind_a_break(taken: int) -> None:
    def program(items: list[int]) -> list[tuple[int, list[int]]]:
        groups = itertools.groupby(items)
        found = [next(groups)[0] for _ in range(taken)]
        supple.graph_break()
        return [*((key, []) for key in found), *((key, [*group]) for key, group in groups)]

    items = [1, 1, 2, 3, 3]
    assert supple.compile(program, backend="eager")(items) == program(items)


NAMED: dict[str, Callable[[list[int]], Any]] = {
    "accumulate": lambda items: itertools.accumulate(items, initial=3),
    "enumerate": lambda items: enumerate(items, start=2),
    "enumerate, by name": lambda items: enumerate(iterable=items, start=2),
    "groupby": lambda items: itertools.groupby(items, key=bool),
    "zip": lambda items: zip(items, items, strict=True),
    "zip_longest": lambda items: itertools.zip_longest(items, [1], fillvalue=7),
    "count": lambda items: itertools.count(start=2, step=3),
    "repeat": lambda items: itertools.repeat(items, times=2),
    "compress": lambda items: itertools.compress(data=items, selectors=items),
    "product": lambda items: itertools.product(items, repeat=2),
    "permutations": lambda items: itertools.permutations(items, r=2),
}


@pytest.mark.parametrize("make", NAMED.values(), ids=NAMED)
def test_an_iterator_made_with_keywords_is_of_its_class(make: Callable[[list[int]], Any]) -> None:
    def program(items: list[int]) -> Any:
        return [make(items)]

    items = [0, 1, 1]
    (got,), (want,) = supple.compile(program, backend="eager", fullgraph=True)(items), program(items)
    assert type(got) is type(want)
    found = [[*itertools.islice(one, 5)] for one in (got, want)]
    if isinstance(want, itertools.groupby):
        found = [[key for key, _ in one] for one in found]
    assert found[0] == found[1]


@pytest.mark.parametrize("make", [iter, reversed])
def test_an_iterator_at_its_end_is_not_one_that_has_ended(make: Callable[[list[int]], Any]) -> None:
    def program(items: list[int], iterator: Any) -> list[int]:
        items.append(1)
        return [*iterator]

    def begun(length: int, taken: int) -> tuple[list[int], Any]:
        items = [*range(length)]
        iterator = make(items)
        for _ in range(taken):
            next(iterator, None)
        return items, iterator

    compiled = supple.compile(program, backend="eager")
    for length, taken in ((0, 1), (0, 0), (2, 2), (2, 3), (2, 1), (0, 1)):
        mine, theirs = begun(length, taken), begun(length, taken)
        assert compiled(*mine) == program(*theirs)
        assert mine[0] == theirs[0]
        assert [*mine[1]] == [*theirs[1]]


Make = Callable[[list[Any]], Iterator[Any]]
LEAVING: dict[str, Make] = {
    "str": lambda items: iter("abc"),
    "not ASCII": lambda items: iter("ab\u0100"),
    "bytes": lambda items: iter(b"abc"),
    "range": lambda items: iter(range(0, 6, 2)),
    "long range": lambda items: iter(range(2**70, 2**70 + 3)),
    "tuple": lambda items: iter((1, 2, 3)),
    "list": lambda items: iter(items),
    "reversed list": lambda items: reversed(items),
    "reversed tuple": lambda items: reversed((1, 2, 3)),
    "reversed str": lambda items: reversed("abc"),
    "reversed range": lambda items: reversed(range(0, 6, 2)),
}


@pytest.mark.sweep
@pytest.mark.parametrize("write", [None, list.clear, lambda items: items.insert(0, 8)])
@pytest.mark.parametrize("is_own", [False, True])
@pytest.mark.parametrize("taken", [0, 1, 3, 4])
@pytest.mark.parametrize("make", LEAVING.values(), ids=LEAVING)
def test_an_iterator_that_leaves_the_call_keeps_its_class_and_place(
    make: Make, taken: int, is_own: bool, write: Callable[[Any], object] | None
) -> None:
    def program(items: list[int]) -> object:
        whole = [1, 2, 3] if is_own else items
        iterator = make(whole)
        for _ in range(taken):
            next(iterator, None)
        if write is not None:
            write(whole)
        return iterator, whole

    def seen(function: Callable[..., Any]) -> object:
        items = [4, 5, 6]
        iterator, whole = function(items)
        first = next(iterator, None)
        whole.append(9)
        return type(iterator), first, list(iterator), whole, items

    assert seen(supple.compile(program, backend="eager")) == seen(program)


GOING_ON: dict[str, Callable[[], Iterator[Any]]] = {
    "count": lambda: itertools.count(3),
    "takewhile": lambda: itertools.takewhile(lambda n: n < 4, [1, 2, 3, 4]),
    "map": lambda: map(abs, [1, 2, 3]),
    "filter": lambda: filter(None, [1, 2, 3]),
    "zip": lambda: zip([1, 2], [3, 4], strict=True),
    "reversed": lambda: reversed([1, 2, 3]),
    "repeat": lambda: itertools.repeat(5),
    "repeat, times": lambda: itertools.repeat(5, 2),
    "accumulate": lambda: itertools.accumulate([1, 2, 3]),
    "accumulate, a function": lambda: itertools.accumulate([1, 2, 3], func=lambda a, b: a * b + 1, initial=2),
    "accumulate, None": lambda: itertools.accumulate([1, 2], lambda a, b: None),
    "chain": lambda: itertools.chain([1, 2], (), "ab"),
    "chain.from_iterable": lambda: itertools.chain.from_iterable(map(range, range(4))),
    "cycle": lambda: itertools.cycle([1, 2, 3]),
    "cycle of nothing": lambda: itertools.cycle([]),
    "dropwhile": lambda: itertools.dropwhile(lambda n: n < 2, [1, 2, 1, 3]),
    "islice": lambda: itertools.islice(range(9), 6),
    "islice, steps": lambda: itertools.islice(range(20), 1, 12, 3),
    "islice, no end": lambda: itertools.islice(range(20), 2, None, 4),
    "pairwise": lambda: itertools.pairwise([1, 2, 3, 4]),
    "zip_longest": lambda: itertools.zip_longest([1], "abc", [], fillvalue=7),
    "product": lambda: itertools.product([1, 2], "ab", repeat=1),
    "combinations": lambda: itertools.combinations([1, 2, 3], 2),
    "permutations": lambda: itertools.permutations([1, 2, 3], r=2),
    "combinations_with_replacement": lambda: itertools.combinations_with_replacement("ab", 2),
    "starmap": lambda: itertools.starmap(pow, [(2, 3), (3, 2)]),
    "compress": lambda: itertools.compress("abc", [1, 0, 1]),
    "filterfalse": lambda: itertools.filterfalse(None, [0, 1, 0]),
    "iter of a function": lambda: iter([4, 3, 2, 1].pop, 4),
    "within": lambda: itertools.pairwise(
        itertools.chain(itertools.islice("abcd", 1, 3), itertools.repeat(1, 2))
    ),
}


@pytest.mark.parametrize("taken", [0, 1, 2, 3, 9])
@pytest.mark.parametrize("name", GOING_ON)
def test_an_iterator_that_had_begun_is_of_its_class_behind_a_break(name: str, taken: int) -> None:
    def program(x: torch.Tensor) -> tuple[torch.Tensor, list[Any], str, bool, list[Any]]:
        items = GOING_ON[name]()
        first = [next(items, None) for _ in range(taken)]
        supple.graph_break()
        return x + 1, first, type(items).__name__, hasattr(items, "throw"), list(itertools.islice(items, 9))

    x = torch.ones(1)
    assert supple.compile(program, backend="eager")(x)[1:] == program(x)[1:]


@pytest.mark.parametrize("taken", range(6))
@pytest.mark.parametrize("of_group", range(4))
@pytest.mark.parametrize("key", [None, abs])
def test_groups_that_had_begun_are_of_their_class_behind_a_break(
    key: Callable[[int], int] | None, of_group: int, taken: int
) -> None:
    def program(x: torch.Tensor, items: list[int]) -> tuple[torch.Tensor, object]:
        groups = itertools.groupby(iterable=items, key=key)
        group: Any = iter(())
        for _ in range(taken):
            group = next(groups, (None, iter(())))[1]
        last = next(groups, (None, iter(())))[1] if taken == 2 else iter(())
        first = [next(group, None) for _ in range(of_group)]
        supple.graph_break()
        kinds = [
            type(groups).__name__,
            type(group).__name__,
            hasattr(group, "throw"),
            hasattr(groups, "send"),
        ]
        found = [first, [*group], [(mark, [*one]) for mark, one in groups], [*group]]
        return x + 1, (kinds, found, [*last])

    x = torch.ones(1)
    run = supple.compile(program, backend="eager")
    for items in ([1, 1, 1, -1, 2, 3, 3, -3], [], [1]):
        assert run(x, items)[1] == program(x, items)[1]

"""What builtin containers and sizes give, and what they say of operations that they do not take: as eager."""

import collections
import copy
import functools
from collections.abc import Callable
from typing import Any

import pytest
import torch

import supple

Work = Callable[[Any], object]


def plain(value: object) -> object:
    if isinstance(value, list | tuple):
        return [type(value).__name__, *map(plain, value)]
    if isinstance(value, set | frozenset):
        return type(value).__name__, sorted(map(repr, value))
    return "an iterator" if hasattr(value, "__next__") else value


def tried(work: Work, whole: object) -> object:
    try:
        return plain(work(whole))
    except Exception as error:
        return type(error).__name__, error.args


def check(make: Callable[[], Any], works: list[Work]) -> None:
    def program(whole: Any) -> list[object]:
        return [tried(work, whole) for work in works]

    eager, compiled = make(), make()
    for place, (got, want) in enumerate(
        zip(supple.compile(program, backend="eager")(compiled), program(eager), strict=True)
    ):
        assert repr(got) == repr(want), place
    assert repr(compiled) == repr(eager)


OF_LISTS: list[Work] = [
    lambda w: w.append(),
    lambda w: w.extend(5),
    lambda w: w.extend({1: 2}),
    lambda w: w.insert(1.0, 2),
    lambda w: w.pop(1.0),
    lambda w: w.pop(9),
    lambda w: w.remove(9),
    lambda w: w.index(9),
    lambda w: w.__setitem__(9, 1),
    lambda w: w.__setitem__("a", 1),
    lambda w: w.__delitem__(9),
    lambda w: w.__delitem__("a"),
    lambda w: w[9],
    lambda w: w["a"],
    lambda w: w[1.0],
    lambda w: w + (1,),
    lambda w: w + {1: 2},
    lambda w: w.__iadd__(5),
    lambda w: w * "a",
    lambda w: w.__imul__(1.0),
    lambda w: w < (1,),
    lambda w: w == (3, 1),
    lambda w: w < 5,
    lambda w: sorted(w + ["a"]),
    lambda w: sum(w, []),
    lambda w: min([]),
    lambda w: max([], default=3),
    lambda w: max([], key=5),
    lambda w: max([1], key=5),
    lambda w: w.sort(5),
    lambda w: w.copy(1),
    lambda w: w.__contains__(),
    lambda w: w.count(),
    lambda w: [].pop(),
    lambda w: w.reverse(1),
    lambda w: w.clear(1),
    lambda w: w.__getitem__(slice(None, None, 0)),
    lambda w: w.__setitem__(slice(0, 2, 2), [1, 2, 3]),
    lambda w: w.__delitem__(slice(0.0, 1)),
    lambda w: hash(w),
    lambda w: {w: 1},
    lambda w: w(),
    lambda w: w.x,
    lambda w: setattr(w, "x", 1),
    lambda w: next(w),
    lambda w: -w,
    lambda w: w - w,
    lambda w: w & w,
    lambda w: int(w),
    lambda w: float(w),
    lambda w: "".join(w),
    lambda w: " ".join(["a", 1]),
    lambda w: dict(w),
    lambda w: dict([(1, 2, 3)]),
    lambda w: dict([1]),
    lambda w: dict(["ab"]),
    lambda w: set([[]]),
    lambda w: {*w, 5},
    lambda w: frozenset([{}]),
    lambda w: range(*w),
    lambda w: range(*[1, 2, 3, 4]),
    lambda w: slice(*[1, 2, 3, 4]),
    lambda w: zip(w, 5),
    lambda w: [*zip(w, [1], strict=True)],
    lambda w: [*zip([1], w, strict=True)],
    lambda w: bytes(w),
    lambda w: bytes([256]),
    lambda w: bytes(["a"]),
    lambda w: "a".join(5),
    lambda w: "a" in 5,
    lambda w: 5 in w,
    lambda w: "a" in "abc",
    lambda w: 5 in "abc",
    lambda w: isinstance(5, w),
    lambda w: divmod(w, 1),
    lambda w: abs(w),
    lambda w: round(w),
    lambda w: chr(w),
    lambda w: ord("ab"),
    lambda w: len(5),
    lambda w: list(5),
    lambda w: tuple(5),
    lambda w: enumerate(5),
    lambda w: w.__class__,
    lambda w: type(w)(5),
]
OF_DICTS: list[Work] = [
    lambda w: w[9],
    lambda w: w.pop(9),
    lambda w: w.pop(9, 1),
    lambda w: w.pop(),
    lambda w: w.popitem(1),
    lambda w: w.get(),
    lambda w: w.get([]),
    lambda w: w[[]],
    lambda w: w.setdefault([]),
    lambda w: w.__setitem__([], 1),
    lambda w: w.__delitem__([]),
    lambda w: w.__delitem__(9),
    lambda w: w.update(5),
    lambda w: w.update([1]),
    lambda w: w.update([(1,)]),
    lambda w: w.update([(1, 2, 3)]),
    lambda w: w.update(None),
    lambda w: w | 5,
    lambda w: w | [(1, 2)],
    lambda w: w.__ior__([(1, 2)]),
    lambda w: w.__ior__(5),
    lambda w: [] in w,
    lambda w: [] in w.keys(),
    lambda w: [] in w.values(),
    lambda w: [] in w.items(),
    lambda w: ([], 1) in w.items(),
    lambda w: w.keys() & [1],
    lambda w: w.keys() & 5,
    lambda w: w.keys() | [[]],
    lambda w: w.items() & [1],
    lambda w: w.items() - [(1, 2)],
    lambda w: w.keys() == {1, "a"},
    lambda w: w.keys() < {1, "a", 3},
    lambda w: w.keys() < [1],
    lambda w: w.values() == w.values(),
    lambda w: w.items() == w.items(),
    lambda w: w < w,
    lambda w: w == 5,
    lambda w: hash(w),
    lambda w: {w: 1},
    lambda w: w + w,
    lambda w: sorted(w),
    lambda w: max(w),
    lambda w: sum(w),
    lambda w: len(w.keys()),
    lambda w: w.keys()[0],
    lambda w: next(w),
    lambda w: next(iter(w)),
    lambda w: w.keys().isdisjoint([1]),
    lambda w: w.keys().mapping == w,
    lambda w: dict.fromkeys(5),
    lambda w: dict.fromkeys([[]]),
    lambda w: dict(5),
    lambda w: dict(a=1, **w),
    lambda w: {**w, **5},
    lambda w: {**[1]},
    lambda w: w.move_to_end(9),
    lambda w: w.move_to_end([]),
    lambda w: w.most_common("a"),
    lambda w: w.elements() and 1,
    lambda w: w.subtract(5),
    lambda w: w.total(),
    lambda w: reversed(w) and 1,
    lambda w: [*reversed(w.items())],
    lambda w: w.copy() == w,
    lambda w: type(w.copy()).__name__,
    lambda w: type(w | w).__name__,
    lambda w: w.clear(1),
    lambda w: w.popitem(),
    lambda w: w.popitem(),
    lambda w: w.popitem(),
    lambda w: w.popitem(),
    lambda w: repr(w),
    lambda w: w.popitem(last=False),
]
OF_SETS: list[Work] = [
    lambda w: w.add(),
    lambda w: w.add([]),
    lambda w: w.remove(9),
    lambda w: w.remove([]),
    lambda w: w.remove({1}),
    lambda w: w.discard([]),
    lambda w: w.discard({1}),
    lambda w: {1} in w,
    lambda w: [] in w,
    lambda w: w | [1],
    lambda w: w & 5,
    lambda w: w - (1,),
    lambda w: w ^ "a",
    lambda w: w.union(5),
    lambda w: w.union([[]]),
    lambda w: w.intersection([[]]),
    lambda w: w.difference([[]]),
    lambda w: w.symmetric_difference([[]]),
    lambda w: w.symmetric_difference(1, 2),
    lambda w: w.update(5),
    lambda w: w.update([[]]),
    lambda w: w.issubset(5),
    lambda w: w.issubset([[]]),
    lambda w: w.issuperset(5),
    lambda w: w.issuperset([[]]),
    lambda w: w.isdisjoint(5),
    lambda w: w.isdisjoint([[]]),
    lambda w: w < [1],
    lambda w: w <= 5,
    lambda w: w == [1],
    lambda w: hash(w) and 1,
    lambda w: {w: 1} and 1,
    lambda w: w[0],
    lambda w: w + w,
    lambda w: len(w),
    lambda w: next(w),
    lambda w: w.pop() and 1,
    lambda w: w.__iand__(5),
    lambda w: w.__ior__([1]),
    lambda w: w.intersection_update(5),
    lambda w: w.difference_update([[]]),
    lambda w: w.symmetric_difference_update([[]]),
    lambda w: sorted(w),
    lambda w: max(w),
    lambda w: type(w | {5}).__name__,
    lambda w: type({5} | w).__name__,
    lambda w: w.copy() == w,
    lambda w: set(5),
    lambda w: frozenset(5),
    lambda w: set([[]]),
]
OF_DEQUES: list[Work] = [
    lambda w: w.append(),
    lambda w: w[9],
    lambda w: w["a"],
    lambda w: w[0:1],
    lambda w: w.__setitem__(9, 1),
    lambda w: w.__delitem__(9),
    lambda w: w.__delitem__(slice(1)),
    lambda w: w.insert("a", 1),
    lambda w: w.insert(0, 1),
    lambda w: w.rotate("a"),
    lambda w: w.rotate(1.0),
    lambda w: w.rotate(None),
    lambda w: w.remove(9),
    lambda w: w.index(9),
    lambda w: w.index(1, 5),
    lambda w: w.extend(5),
    lambda w: w.extendleft(5),
    lambda w: w + [1],
    lambda w: w + w,
    lambda w: w * 2,
    lambda w: w * "a",
    lambda w: w.__iadd__(5),
    lambda w: w.__iadd__([7]),
    lambda w: w.__imul__(2),
    lambda w: w < [1],
    lambda w: w == [1, 2],
    lambda w: w < w,
    lambda w: hash(w),
    lambda w: w.maxlen,
    lambda w: setattr(w, "maxlen", 2),
    lambda w: collections.deque(5),
    lambda w: collections.deque(maxlen=-1),
    lambda w: collections.deque(maxlen="a"),
    lambda w: collections.deque(maxlen=1.0),
    lambda w: collections.deque([1, 2, 3], maxlen=0),
    lambda w: len(w),
    lambda w: bool(w),
    lambda w: repr(w),
    lambda w: 1 in w,
    lambda w: sorted(w),
    lambda w: w.copy(),
    lambda w: copy.copy(w).maxlen,
    lambda w: (w + w).maxlen,
    lambda w: (w * 2).maxlen,
    lambda w: w.count(1),
    lambda w: w.reverse(),
    lambda w: w.pop(),
    lambda w: w.popleft(),
    lambda w: w.pop(),
    lambda w: w.popleft(),
    lambda w: w.pop(),
    lambda w: w.popleft(),
    lambda w: w.clear(),
    lambda w: w.pop(),
    lambda w: w.popleft(),
    lambda w: next(w),
    lambda w: w.rotate(),
    lambda w: w.rotate(2),
]

MADE: dict[str, tuple[Callable[[], Any], list[Work]]] = {
    "list": (lambda: [3, 1], OF_LISTS),
    "dict": (lambda: {1: 2, "a": 3}, OF_DICTS),
    "OrderedDict": (lambda: collections.OrderedDict({1: 2, "a": 3}), OF_DICTS),
    "Counter": (lambda: collections.Counter("aab"), OF_DICTS),
    "defaultdict": (lambda: collections.defaultdict(list, a=1), OF_DICTS),
    "set": (lambda: {1, 2}, OF_SETS),
    "frozenset": (lambda: frozenset((1, 2)), OF_SETS),
    "deque": (lambda: collections.deque([1, 2]), OF_DEQUES),
    "deque of two": (lambda: collections.deque([1, 2], 2), OF_DEQUES),
    "deque of five": (lambda: collections.deque([1, 2], 5), OF_DEQUES),
}


@pytest.mark.parametrize(("make", "works"), MADE.values(), ids=MADE)
def test_containers_refuse_and_give_what_they_do_in_eager(make: Callable[[], Any], works: list[Work]) -> None:
    check(make, works)


@pytest.mark.parametrize("key", [None, (), (1, 2), ("a",), (None,), 3, KeyError("own")], ids=repr)
@pytest.mark.parametrize("kind", [dict, collections.OrderedDict, collections.Counter])
def test_a_key_that_is_lacked_is_in_the_error_as_the_class_puts_it(kind: type, key: object) -> None:
    works: list[Work] = [
        *(lambda w: w.pop(key), lambda w: w[key], lambda w: w.__delitem__(key), lambda w: w.popitem()),
        *(lambda w: w.move_to_end(key), lambda w: w.pop(key, 3)),
    ]
    check(kind, works)


def test_a_set_is_looked_for_as_a_frozenset() -> None:
    works: list[Work] = [
        *(lambda w: {1} in w, lambda w: {5} in w, lambda w: w.discard({5}), lambda w: w.remove({5})),
        *(lambda w: w.remove({1}), lambda w: {1} in {1: 2}, lambda w: len(w)),
    ]
    check(lambda: {frozenset((1,)), 2}, works)


def test_a_pair_is_looked_for_by_its_key() -> None:
    nan = float("nan")
    works: list[Work] = [
        *(lambda w: (1, 2) in w.items(), lambda w: (1, 3) in w.items(), lambda w: ([], 1) in w.items()),
        *(
            lambda w: [1, 2] in w.items(),
            lambda w: ("a", w["a"]) in w.items(),
            lambda w: ("a", nan) in w.items(),
        ),
    ]
    check(lambda: {1: 2, "a": float("nan")}, works)


SIZES = [torch.Size((2, 3)), torch.Size(()), (1,), (), [1], 5]


@pytest.mark.parametrize("left", SIZES, ids=str)
def test_sizes_are_joined_and_repeated_to_sizes(left: object) -> None:
    works: list[Work] = [lambda w: (type(left + w[0]).__name__, left + w[0])]  # type: ignore[operator]
    works += [lambda w: (type(left * 2).__name__, type(1 * left).__name__)]  # type: ignore[operator]
    for right in SIZES:
        check(lambda right=right: [right], works)


class Bare:
    """Has no items."""


class Slotted:
    """Has no items, and no attributes."""

    __slots__ = ()


class Readable:
    """Gives items, and takes none."""

    def __getitem__(self, place: object) -> int:
        return 1


BARE, SLOTTED, READABLE, ITERATOR = Bare(), Slotted(), Readable(), iter([1])
Pair = collections.namedtuple("Pair", "first second")

WITHOUT_ITEMS: dict[str, Callable[[], Any]] = {
    "an object": lambda: BARE,
    "a slotted object": lambda: SLOTTED,
    "one that gives items": lambda: READABLE,
    "a partial": lambda: functools.partial(max),
    "an integer": lambda: 3,
    "a float": lambda: 3.5,
    "nothing": lambda: None,
    "a text": lambda: "abc",
    "bytes": lambda: b"abc",
    "a tuple": lambda: (1, 2),
    "a named tuple": lambda: Pair(1, 2),
    "a set": lambda: {1},
    "a frozen set": lambda: frozenset({1}),
    "a range": lambda: range(3),
    "keys": lambda: {1: 2}.keys(),
    "a class": lambda: Bare,
    "a function": lambda: plain,
    "a slice": lambda: slice(1),
    "a truth": lambda: True,
    "a dtype": lambda: torch.float32,
    "an iterator": lambda: ITERATOR,
    "a size": lambda: torch.Size([1, 2]),
}


def deleted(whole: Any, key: object) -> None:
    del whole[key]


def assigned(whole: Any, key: object) -> None:
    whole[key] = 1


@pytest.mark.parametrize("name", WITHOUT_ITEMS)
def test_what_has_no_items_refuses_to_lose_one(name: str) -> None:
    keys: tuple[object, ...] = (0, "k", True, 1.5, None)
    works: list[Work] = [functools.partial(act, key=key) for act in (deleted, assigned) for key in keys]
    works.append(functools.partial(deleted, key=10**30))
    check(WITHOUT_ITEMS[name], works)
    assert not supple.stats()["fallback_reasons"]

"""Iterators, and effects in an order: what ends stays ended, what is deleted is gone, what dies is missed."""

import collections
import itertools
import weakref
from typing import Any

import torch
from torch import Tensor

import supple
from tests.mutation.worlds import Programs

program = Programs()


def numbers(count: int) -> Tensor:
    return torch.arange(count) * 0.7 + 0.3


class Thing:
    def __init__(self) -> None:
        self.a, self.b = 1, 2


@supple.disable
def nothing(*_: Any) -> None:
    return None


@program(lambda: (numbers(2), 1))
def counts_from(x, start):
    return x * next(itertools.count(start)), next(itertools.count(True)), next(itertools.count(start, True))


@program(lambda: (numbers(2), [1, 2]))
def ended_iterator(x, items):
    running = iter(items)
    total = sum(running)
    items.append(5)
    return x * (total + sum(running)), next(running, "over")


@program(lambda: (lambda items: (items, iter(items), numbers(2)))([1, 2, 3]))
def iterator_of_a_written_list(items, running, x):
    items[0] = 7
    first = x * next(running)
    items.append(4)
    return first, list(running)


@program(lambda: (lambda items: (items, iter(items), numbers(2)))([1, 2, 3]))
def iterator_of_a_shorter_list(items, running, x):
    first = next(running)
    del items[1:]
    return x * first, next(running, 0)


@program(lambda: (lambda items: (items, iter(items), numbers(2)))({"a": 1, "b": 2}))
def iterator_of_a_written_dict(items, running, x):
    items["a"] = 5
    return x * items[next(running)], list(running)


@program(lambda: (reversed([1, 2, 3]), zip([1, 2], [3, 4], strict=False), enumerate([5, 6], 1), numbers(2)))
def started_iterators(back, pairs, counted, x):
    return x * next(back) + next(pairs)[1] * next(counted)[0], list(back), list(pairs), list(counted)


@program(lambda: (Thing(), numbers(2)))
def attribute_deleted(thing, x):
    del thing.a
    return x * thing.b, hasattr(thing, "a")


@program(lambda: ({"a": 1, "b": 2}, collections.deque([1, 2, 3]), {1, 2}, numbers(2)))
def items_deleted(table, line, members, x):
    del table["a"]
    del line[0]
    members.discard(1)
    return x * len(table) * line[0], sorted(members)


@program(lambda: (numbers(3), torch.tensor([1])))
def index_behind_random_numbers(x, i):
    drawn = torch.rand(3)
    try:
        x = x[i]
    except IndexError:
        pass
    return x + drawn[:1], torch.rand(2)


@program(lambda: (torch.zeros(3), 1))
def writes_before_an_error(state, n):
    state.zero_()
    state.add_(n)
    return torch.nonzero(state).add_(n)[0]


@program(lambda: (Thing(), numbers(2)))
def object_that_is_dropped(thing, x):
    made = Thing()
    seen = weakref.ref(made)
    nothing()
    is_alive = seen() is not None
    del made
    nothing()
    return x * is_alive * thing.a, seen() is None


@program(lambda: (numbers(2), []))
def generator_that_is_dropped(x, told):
    def steps():
        try:
            yield 1
            yield 2
        finally:
            told.append("closed")

    running = steps()
    first = next(running)
    nothing()
    told.append("still there")
    del running
    told.append("gone")
    return x * first

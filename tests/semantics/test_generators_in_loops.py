"""Generators and iterators of a class in loops."""

import pytest
import torch

from tests.semantics.harness import Corpus

case = Corpus()
X = torch.arange(4.0)


@case(X)
def generator_as_iterable(x):
    def produce(n):
        for i in range(n):
            yield x * i

    return [y + 1 for y in produce(3)], sum(produce(3)), dict(zip("ab", produce(2), strict=True))


@case(X)
def generator_interleaves_with_its_consumer(x):
    events = []

    def produce():
        for i in range(3):
            events.append(("yield", i))
            yield i
        events.append("end")

    for item in produce():
        events.append(("got", item))
        if item == 1:
            break
    return events, x


@case(X)
def generator_send(x):
    def accumulate():
        total = 0
        while True:
            received = yield total
            total = total + received

    running = accumulate()
    next(running)
    return running.send(x), running.send(1), running.send(2)


@case(X)
def generator_throw_is_handled(x):
    def produce():
        try:
            yield 1
        except ValueError as error:
            yield str(error)

    running = produce()
    return next(running), running.throw(ValueError("thrown")), list(running), x


@case(X)
def generator_close_runs_finally(x):
    events = []

    def produce():
        try:
            yield 1
            yield 2
        finally:
            events.append("closed")

    running = produce()
    next(running)
    running.close()
    return events, list(running), x


@case(X)
def yield_from_delegates(x):
    def inner():
        got = yield 1
        yield ("inner", got)
        return "done"

    def outer():
        result = yield from inner()
        yield result
        yield from [x, 2]

    running = outer()
    return next(running), running.send("hello"), list(running)


@case(X)
def generator_expression_is_lazy(x):
    events = []

    def note(i):
        events.append(i)
        return i

    running = (note(i) for i in range(3))
    first = next(running)
    seen = list(events)
    return first, seen, list(running), events, x


@case(X)
def generator_return_leaves_the_loop(x):
    def produce():
        yield 1
        return
        yield 2

    return list(produce()), x


@case(X)
def stop_iteration_inside_a_generator_is_a_runtime_error(x):
    def produce():
        yield 1
        raise StopIteration

    try:
        return list(produce())
    except RuntimeError as error:
        return str(error), x


@case(X)
def iterator_class(x):
    class_events = []

    def countdown(n):
        while n:
            yield n
            n -= 1

    class_events.extend(countdown(3))
    return class_events, x


class Countdown:
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return self

    def __next__(self):
        if self.n == 0:
            raise StopIteration
        self.n -= 1
        return self.n


@case(X)
def user_iterator(x):
    countdown = Countdown(3)
    return list(countdown), next(countdown, "end"), [x * i for i in Countdown(2)], max(Countdown(4))


class ByIndex:
    def __getitem__(self, index):
        if index > 2:
            raise IndexError(index)
        return index * 10

    def __len__(self):
        return 3


@case(X)
def iteration_by_index(x):
    items = ByIndex()
    return list(items), 10 in items, len(items), list(reversed(items)), x


@case(X)
def iter_with_sentinel(x):
    items = [3, 2, 1]
    return list(iter(items.pop, 3)), x


def squares(x):
    for i in range(2):
        yield x * i


@case(X)
def generator_is_returned(x):
    return squares(x)


@case(X)
def started_generator_is_returned(x):
    made = squares(x)
    return next(made), made


@pytest.mark.parametrize("one", case.cases, ids=str)
def test_captured_like_eager(one):
    one.check()

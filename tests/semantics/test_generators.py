"""Generators and iterators, made and used in every way."""

import collections
import itertools

import pytest
import torch

import supple
from tests.semantics.harness import Case, Corpus

case = Corpus()
X = torch.arange(4.0)


def count_to(n, log=None):
    for i in range(n):
        if log is not None:
            log.append(i)
        yield i


def echo():
    received = []
    try:
        while True:
            item = yield len(received)
            received.append(item)
    except KeyError as error:
        yield ("caught", error.args)
    finally:
        received.append("closed")
    return received


@case(X)
def send_and_return_value(x):
    made = echo()
    found = [next(made), made.send("a"), made.send(x)]
    found.append(made.throw(KeyError("k")))
    try:
        next(made)
    except StopIteration as stop:
        return found, stop.value


@case(X)
def send_to_a_new_generator_is_a_type_error(x):
    try:
        echo().send(1)
    except TypeError as error:
        return str(error), x


@case(X)
def throw_into_a_new_generator(x):
    made = count_to(3)
    try:
        made.throw(ValueError("early"))
    except ValueError as error:
        return str(error), list(made), x


@case(X, breaks="B114")
def throw_a_class(x):
    made = echo()
    next(made)
    return made.throw(KeyError), x


@case(X)
def close_runs_finally_once(x):
    log = []

    def gen():
        try:
            yield 1
            yield 2
        finally:
            log.append("closed")

    made = gen()
    next(made)
    made.close()
    made.close()
    return log, next(made, "over"), x


@case(X)
def close_that_yields_is_a_runtime_error(x):
    def gen():
        try:
            yield 1
        except GeneratorExit:
            yield 2

    made = gen()
    next(made)
    try:
        made.close()
    except RuntimeError as error:
        return str(error), x


@case(X)
def yield_from_gives_the_return_value(x):
    def inner():
        got = yield 1
        yield got
        return "inner result"

    def outer():
        result = yield from inner()
        yield result

    made = outer()
    return next(made), made.send("sent"), next(made), x


@case(X)
def yield_from_passes_exceptions_in(x):
    def inner():
        try:
            yield 1
        except ValueError:
            yield "handled"

    def outer():
        yield from inner()
        yield "after"

    made = outer()
    return next(made), made.throw(ValueError), next(made), x


@case(X)
def yield_from_a_list_and_a_range(x):
    def gen():
        yield from [1, 2]
        yield from range(2)
        yield from "ab"
        yield from {"k": 1}

    return list(gen()), x


@case(X)
def generator_is_lazy(x):
    log = []
    made = count_to(5, log)
    log.append("made")
    next(made)
    next(made)
    return log, x


@case(X)
def partly_consumed_generator_goes_on(x):
    made = count_to(5)
    first = list(itertools.islice(made, 2))
    return first, 3 in made, list(made), x


@case(X)
def zip_stops_with_the_shortest(x):
    log = []
    made = count_to(5, log)
    pairs = list(zip([10, 20], made))
    return pairs, log, next(made), x


@case(X)
def zip_consumes_the_first_one_further(x):
    log = []
    pairs = list(zip(count_to(5, log), [10, 20]))
    return pairs, log, x


@case(X)
def generator_of_tensors(x):
    def scaled(n):
        for i in range(n):
            yield x * i

    return sum(scaled(4)), list(scaled(2))


@case(X)
def recursive_generator(x):
    def walk(tree):
        if isinstance(tree, list):
            for part in tree:
                yield from walk(part)
        else:
            yield tree

    return list(walk([1, [2, [3, x]], [[4]]]))


@case(X)
def generator_expression_binds_its_first_iterable(x):
    items = [1, 2, 3]
    scale = 2
    made = (item * scale for item in items)
    items = [10]
    scale = 3
    return list(made), x


@case(X)
def nested_generator_expressions(x):
    pairs = ((i, j) for i in range(3) for j in range(i))
    return list(pairs), sum(i for i in (j for j in range(4)) if i % 2), x


@case(X)
def generator_in_unpacking_and_calls(x):
    def f(*args, **kwargs):
        return args, kwargs

    a, *b = count_to(4)
    return a, b, f(*count_to(3)), {*count_to(2)}, dict(enumerate(count_to(2))), x


@case(X)
def generator_methods_in_a_class(x):
    class_of = Tree([Tree([], 1), Tree([Tree([], 2)], 3)], 4)
    return list(class_of), x


class Tree:
    def __init__(self, parts, value):
        self.parts = parts
        self.value = value

    def __iter__(self):
        yield self.value
        for part in self.parts:
            yield from part


@case(X)
def exception_inside_a_generator_ends_it(x):
    def gen():
        yield 1
        raise ValueError("inside")

    made = gen()
    first = next(made)
    try:
        next(made)
    except ValueError as error:
        return first, str(error), list(made), x


@case(X)
def generator_reads_changed_closures(x):
    n = 1

    def gen():
        while True:
            yield n

    made = gen()
    first = next(made)
    n = 5
    return first, next(made), x


@case(X)
def generator_is_an_argument_of_another(x):
    def doubled(items):
        for item in items:
            yield item * 2

    return list(doubled(doubled(count_to(3)))), x


@case(X)
def generator_returned_to_the_caller(x):
    def gen(n):
        for i in range(n):
            yield x + i

    return gen(3)


@case(X)
def two_generators_share_an_iterator(x):
    shared = iter(range(6))
    evens = (i for i in shared)
    return next(evens), next(shared), list(zip(evens, shared)), x


@case(X)
def iterators_of_builtins(x):
    table = {"a": 1, "b": 2}
    items = iter(table.items())
    return next(items), list(items), next(iter({5})), next(reversed([1, 2])), list(iter("ab")), x


@case(X)
def dict_changed_while_iterated(x):
    table = {"a": 1}
    try:
        for key in table:
            table[key + "b"] = 2
    except RuntimeError as error:
        return str(error), x


@case(X)
def set_changed_while_iterated(x):
    members = {1}
    try:
        for item in members:
            members.add(item + 1)
    except RuntimeError as error:
        return str(error), x


@case(X)
def deque_changed_while_iterated(x):
    queue = collections.deque([1, 2])
    try:
        for item in queue:
            queue.append(item)
    except RuntimeError as error:
        return str(error), x


@case(X)
def list_shrinks_while_iterated(x):
    items = [1, 2, 3, 4]
    seen = []
    for item in items:
        seen.append(item)
        items.remove(item)
    return seen, items, x


@case(X)
def dict_values_change_while_iterated(x):
    table = {"a": 1, "b": 2}
    for key in table:
        table[key] += 1
    return table, x


@case(X)
def iterators_have_their_own_classes(x):
    made = (map(str, [1]), zip([1]), enumerate([1]), filter(None, [1]), itertools.chain([1]))
    return [type(one).__name__ for one in made], isinstance(made[0], map), isinstance(made[1], list), x


@case(X)
def iterators_that_have_not_begun_are_given_back(x):
    rows = [(2, 3), (4, 5)]
    count, begun, pairs = itertools.count(3), itertools.count(0.5, 0.25), itertools.starmap(pow, rows)
    made = [
        *(enumerate("ab"), itertools.chain("ab", [1]), itertools.islice(rows, 1), itertools.pairwise("abc")),
        *(itertools.repeat("a", 3), itertools.product("ab", (1, 2)), itertools.permutations("abc", 2)),
        *(itertools.accumulate([1, 2]), itertools.takewhile(bool, [1, 0]), itertools.filterfalse(None, "")),
        *(itertools.compress("ab", [0, 1]), itertools.zip_longest("ab", "c"), itertools.groupby("aab")),
    ]
    return made, count, (next(begun), next(begun), begun), (next(pairs), pairs), x


@case(X)
def iterators_refuse_what_is_not_iterable_at_once(x):
    found = []
    for make in (lambda: map(str, 5), lambda: zip([1], 5), lambda: enumerate(5), lambda: filter(None, 5)):
        try:
            make()
            found.append("late")
        except TypeError as error:
            found.append(str(error))
    return found, x


@case(X)
def ended_list_iterator_stays_ended(x):
    items = [1]
    iterator = iter(items)
    list(iterator)
    items += [2, 3]
    return next(iterator, "end"), list(iterator), x


@case(X)
def unpacking_takes_one_item_too_many(x):
    numbers = iter(range(10))
    try:
        _a, _b = numbers
    except ValueError as error:
        return next(numbers), str(error), x


@case(X)
def group_ends_with_the_next_one(x):
    groups = itertools.groupby([1, 1, 2, 2, 3])
    (_, first), (key, second) = next(groups), next(groups)
    return list(first), key, list(second), [(key, list(group)) for key, group in groups], x


@case(X)
def groups_end_with_all_of_them(x):
    kept = [group for _, group in itertools.groupby([1, 1, 2, 2])]
    joined = itertools.chain(*kept)
    y = x + 1
    return [list(group) for group in kept], next(joined, "none"), y


@case(X)
def groups_that_leave_are_over(x):
    groups = itertools.groupby("aab")
    first, second = next(groups)[1], next(groups)[1]
    return first, second, [group for _, group in itertools.groupby("aab")], x + 1


@case(X)
def zip_longest_is_lazy(x):
    numbers = iter([1, 2, 3])
    rows = itertools.zip_longest([10], numbers)
    return next(rows), next(numbers), list(rows), x


class Counted:
    def __init__(self, count):
        self.count, self.asked = count, []

    def __getitem__(self, index):
        self.asked.append(index)
        if index >= self.count:
            raise IndexError(index)
        return index


@case(X)
def items_of_a_sequence_are_asked_one_by_one(x):
    sequence, seen = Counted(4), []
    for item in sequence:
        seen.append((item, list(sequence.asked)))
        if item == 2:
            break
    return seen, x * sequence.asked[-1]


@case(X)
def iterators_of_sequences_see_them_grow(x):
    sequence = Counted(3)
    ended, waiting = iter(sequence), iter(sequence)
    for _ in ended:
        next(waiting)
    sequence.count = 5
    return list(ended), list(waiting), x


@case(X)
def membership_asks_until_it_is_found(x):
    first, second, numbers = Counted(9), Counted(3), itertools.count()
    return 2 in first, first.asked, 7 in second, second.asked, 5 in numbers, next(numbers), x


@case(X)
def a_stop_ends_what_is_called_until_a_sentinel(x):
    numbers = iter([1, 2, 3])
    return list(iter(lambda: next(numbers), 7)), x


@case(X)
def a_generator_that_is_given_back(x):
    return count_to(2), (i for i in "a"), x


@case(X)
def generators_have_names(x):
    return count_to(2).__name__, (i for i in "a").__name__, x


@pytest.mark.parametrize("one", case.cases, ids=str)
def test_captured_like_eager(one):
    one.check()


def test_generators_that_are_given_back_have_names():
    found = supple.compile(a_generator_that_is_given_back, backend="eager")(X)
    for made, wanted in zip(found, a_generator_that_is_given_back(X)[:2], strict=False):
        assert (made.__name__, made.__qualname__) == (wanted.__name__, wanted.__qualname__)

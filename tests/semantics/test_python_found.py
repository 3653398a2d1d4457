"""Programs that CPython's own tests found to be another thing when compiled; see tests/cpython."""

import collections
import functools
import itertools
import sys
import weakref

import pytest
import torch

import supple
from tests.semantics.harness import Corpus
from tests.semantics.sessions import check_compiled

case = Corpus()
X = torch.arange(4.0)


class Left:
    def __init__(self, said):
        self.said = said

    def __eq__(self, other):
        self.said.append(f"{type(self).__name__} ==")
        return NotImplemented

    __hash__ = None


class Right(Left):
    def __ne__(self, other):
        self.said.append(f"{type(self).__name__} !=")
        return NotImplemented


class Other:
    def __eq__(self, other):
        return 0

    __hash__ = None


@case(X)
def unequal_asks_equal_where_it_is_not_defined(x):
    said = []
    answers = Left(said) != Right(said), Right(said) != Left(said), Left(said) != Left(said)
    return said, answers, Other() != 1, Other() != Other(), x


@case(X)
def union_of_dicts_of_two_classes(x):
    numbers, texts = collections.defaultdict(int, {1: 1}), collections.defaultdict(str, {2: ""})
    made = [numbers | texts, texts | numbers, numbers | {3: 3}, {3: 3} | numbers]
    made.append({1: 2} | collections.OrderedDict({2: 3}))
    numbers |= texts
    return made, [type(one) for one in made], [getattr(one, "default_factory", 0) for one in made], numbers, x


class Key:
    pass


@case(X)
def a_missing_key_is_in_the_exception(x):
    key, found = Key(), []
    for keys in ((1, 2), key, "a", (x,)):
        for ask in (dict.__getitem__, dict.pop, dict.__delitem__):
            try:
                ask({}, keys)
            except KeyError as error:
                found.append(error.args[0] is keys)
    return found, x


class Recent(collections.OrderedDict):
    def __init__(self):
        super().__init__()
        self.counts = {"get": 0, "set": 0, "del": 0}

    def __getitem__(self, key):
        self.counts["get"] += 1
        self.move_to_end(key)
        return super().__getitem__(key)

    def __setitem__(self, key, value):
        self.counts["set"] += 1
        super().__setitem__(key, value)
        while len(self) > 3:
            self.popitem(last=False)

    def __delitem__(self, key):
        self.counts["del"] += 1
        super().__delitem__(key)


class Loud(list):
    def __getitem__(self, index):
        raise IndexError("never")


@case(X)
def methods_in_c_call_no_method_of_a_subclass(x):
    recent = Recent()
    for key in "abcde":
        recent[key] = x
    popped = recent.popitem(last=False)[0], recent.popitem()[0], recent.pop("d") is x, recent.pop("z", 0)
    loud = Loud([3, 4, 4])
    loud.remove(3)
    return list(recent), recent.counts, popped, loud.index(4), loud.count(4), recent.setdefault("q", 1)


@case(X)
def a_method_is_called_by_its_call(x):
    def twice(value):
        return value * 2

    counter = collections.Counter("a")
    return x.sum.__call__(), counter.total.__call__(), "ab".upper.__call__(), x


@case(X, breaks="B102")
def weak_references_of_objects_that_are_not_read_again(x):
    weak = weakref.WeakKeyDictionary()
    first, second = Key(), Key()
    weak[first] = 1
    weak[second] = 2
    before = len(weak)
    print("there are", before)
    return before, len(weak), x


class Names:
    def __init__(self, **names):
        self.__dict__.update(names)

    def __eq__(self, other):
        return vars(self) == vars(other)

    __hash__ = None


@case(X)
def the_dicts_of_objects_are_compared(x):
    first, second, third = Names(a=1, b=2), Names(b=2), Names(a=1)
    second.a = 1
    alike = first == second, first != second, first == third, first != third
    return alike, vars(first) == {"b": 2, "a": 1}, {"a": 1} != third.__dict__, first.__dict__ == 3, x


@case(X, breaks="B109")
def a_part_of_a_group_is_handled(x):
    found = []
    try:
        try:
            raise ExceptionGroup("both", [ValueError(1), TypeError(2)])
        except* ValueError as error:
            found += [error is sys.exception(), error.exceptions]
    except ExceptionGroup as rest:
        found.append(rest.exceptions)
    return [str(one) for one in found], x


@case(X)
def a_generator_is_not_entered_twice(x):
    def one():
        yield 0
        try:
            yield next(made)
        except ValueError as error:
            yield str(error)
        yield 3

    made = one()
    return list(made), x


class OneShot:
    def __set__(self, owner, value):
        self.value = value


class Holder:
    shot = OneShot()


@case(X, breaks="B107")
def a_descriptor_without_a_getter(x):
    holder = Holder()
    before = holder.shot is Holder.__dict__["shot"]
    holder.shot = 5
    return before, Holder.__dict__["shot"].value, x


@case(X, breaks="B115")
def an_entry_below_a_descriptor(x):
    holder = Holder()
    holder.__dict__["shot"] = 42
    return holder.shot, x


@case(X)
def no_builtin_is_made_up(x):
    try:
        return __annotations__
    except NameError as error:
        return str(error), x


@case(X, breaks="B108")
def addresses_are_in_some_order(x):
    keys = [Key(), Key(), Key()]
    keys.sort(key=id)
    return id(keys[0]) < id(keys[1]) < id(keys[2]), x


@case(X)
def a_function_has_annotations(x):
    def add(left: int, right: "str" = "q", *, scale: float = 2.0) -> float:
        return left

    return add, add.__annotations__, sorted(add.__annotations__), x


@case(X)
def long_loops_over_dicts(x):
    squares = {number: number * number for number in range(100)}
    total = 0
    for key, value in squares.items():
        total += value - key
    while len(squares) > 10:
        squares.popitem()
    return total, squares, sorted(range(100), key=lambda number: -number)[:3], x


@case(X)
def sorting_is_stable(x):
    rows = [(number % 7, number) for number in range(40)]
    return sorted(rows, key=lambda row: row[0]), sorted(rows, key=lambda row: row[0], reverse=True), x


@case(X)
def iterators_know_their_length(x):
    made = [itertools.repeat(None, 5), enumerate("ab"), itertools.count(2)]
    return made, x


@case(X)
def counting_from_a_truth(x):
    by_one, by_two = itertools.count(True), itertools.count(True, 2)
    return [next(by_one), next(by_one)], [next(by_two), next(by_two)], x


@case([1, 2])
def ended_iterators_keep_their_class_behind_a_break(items):
    made = [
        itertools.combinations(items, 2),
        itertools.permutations(items),
        itertools.combinations_with_replacement(items, 2),
        itertools.product(items, items),
        itertools.islice(items, 1),
        itertools.pairwise(items),
        itertools.zip_longest(items, [3]),
        itertools.chain(items, items),
        itertools.chain.from_iterable([items]),
        itertools.compress(items, [1, 0]),
        itertools.filterfalse(bool, items),
        itertools.takewhile(bool, items),
    ]
    taken = [[*each] for each in made]
    print("a break")
    return (
        taken,
        [type(each) for each in made],
        [hasattr(each, "close") for each in made],
        [[*each] for each in made],
    )


@case([[1], [2, 3]])
def chain_of_rows_keeps_its_class_behind_a_break(rows):
    made = [itertools.chain.from_iterable(rows), itertools.chain.from_iterable([]), itertools.chain(*rows)]
    print("a break")
    return (
        [type(each) for each in made],
        [hasattr(each, "close") for each in made],
        [[*each] for each in made],
    )


@case([1, 2, 3, 0, 4])
def started_iterators_keep_their_class_behind_a_break(items):
    made = [
        itertools.compress(items, [1, 0, 1, 1, 1]),
        itertools.filterfalse(bool, items * 2),
        itertools.takewhile(bool, items),
        itertools.starmap(pow, [(1, 2), (3, 4)]),
    ]
    taken = [next(each) for each in made]
    print("a break")
    return taken, [type(each) for each in made], [[*each] for each in made]


def drawing(numbers):
    @functools.lru_cache
    def draw(number):
        return numbers.pop()

    return draw


@pytest.mark.parametrize("one", case.cases, ids=str)
def test_captured_like_eager(one):
    one.check()


@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("one", case.cases, ids=str)
def test_compiled_like_eager(one, backend):
    check_compiled(one, backend)


def test_a_cached_function_that_shares_variables_sees_what_was_written_before():
    numbers = [1, 2, 3]
    draw = drawing(numbers)

    def program(x):
        numbers.append(4)
        return x + draw(0), x + draw(len(x.shape)), draw(0)

    results = supple.compile(program, backend="eager")(X)
    assert (results[0] - X).unique().tolist() == [4]
    assert (results[1] - X).unique().tolist() == [3]
    assert (results[2], numbers) == (4, [1, 2])


HISTORY = [1]
LEVEL = 1


@functools.lru_cache
def length_of_history(number):
    return len(HISTORY) + number


@functools.lru_cache
def level_above(number):
    return LEVEL + number


def test_a_cached_function_sees_the_globals_that_were_written_before():
    def program(x):
        global LEVEL
        HISTORY.append(2)
        LEVEL = 5
        return x + length_of_history(0), level_above(1)

    tensor, level = supple.compile(program, backend="eager")(X)
    assert (tensor - X).unique().tolist() == [2]
    assert level == 6

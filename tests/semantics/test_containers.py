"""Lists, dicts, sets, tuples and their kin: reading, writing, comprehensions, unpacking, aliasing."""

import collections
from typing import NamedTuple

import pytest
import torch

from tests.semantics.harness import Corpus

case = Corpus()
X = torch.arange(4.0)
Y = torch.arange(4.0) + 1


class Point(NamedTuple):
    x: object
    y: object = 2


Pair = collections.namedtuple("Pair", "first second", defaults=[None])


class Stack(list):
    def push(self, item):
        self.append(item)
        return self


class Table(dict):
    def __missing__(self, key):
        return f"no {key}"


class Upper(collections.OrderedDict):
    def __getitem__(self, key):
        return super().__getitem__(key.upper())


@case([X, Y], changed=(([X],), ([X, Y, X],), ([Y, X],), ((X, Y),)))
def sums_a_list_argument(items):
    total = 0
    for item in items:
        total = total + item
    return total


@case(X, [1])
def append_to_an_argument_is_seen(x, items):
    items.append(x)
    items.append(items)
    return x + 1


@case(X, [3, 1, 2], changed=((X, [1, 2, 3]), (X, [3, 1])))
def list_methods(x, items):
    items.sort()
    items.insert(0, 9)
    items.extend([4, 5])
    items.remove(2)
    last = items.pop()
    first = items.pop(0)
    items.reverse()
    return items.index(3), items.count(1), last, first, items.copy(), x


@case(X)
def list_slices(x):
    items = list(range(10))
    items[2:4] = [20, 30, 40]
    del items[::3]
    items[-1] = x
    items += (7, 8)
    items *= 2
    return items, items[1:3], items[::-2], items[-2:], items[100:]


@case(X)
def list_concatenation_and_repetition(x):
    a = [1, x]
    b = a + [2]
    c = a * 2
    d = 2 * a
    return a, b, c, d, (1,) + (x,), (1, x) * 2, [] == [], a == [1, x], (1, 2) < (1, 3), [2] > [1, 5]


@case(X)
def list_extends_itself(x):
    a = [1, x]
    a.extend(a)
    a += a
    return a


@case(X)
def list_insert_negative_and_clear(x):
    a = [1, 2, 3]
    a.insert(-1, x)
    b = list(a)
    a.clear()
    return a, b


@case(X, [Y, Y], changed=((X, [Y, X]),))
def in_place_item_add(x, items):
    items[0] += x
    return items


@case(X, {"a": 1, "b": 2}, changed=((X, {"b": 2, "a": 1}), (X, {"a": 1}), (X, {"a": 1, "b": 3})))
def dict_iteration_depends_on_all(x, table):
    return [(key, value) for key, value in table.items()], x


@case(X, {"a": 1, "b": 2}, changed=((X, {"a": 1, "c": 5}), (X, {"a": 2, "b": 2}), (X, {"b": 1})))
def dict_get_reads_one_key(x, table):
    return x * table.get("a", 7), table.get("zz"), "a" in table, "q" not in table


@case(X, {"a": 1})
def dict_methods(x, table):
    table["b"] = x
    table.setdefault("c", []).append(1)
    table.setdefault("a", 5)
    popped = table.pop("a")
    gone = table.pop("zzz", None)
    table.update({"d": 4}, e=5)
    table.update([("f", 6)])
    del table["d"]
    last = table.popitem()
    return popped, gone, last, list(table), len(table), dict.fromkeys("ab", 0), table.copy()


@case(X)
def dict_views(x):
    table = {"a": 1, "b": x}
    keys = table.keys()
    table["c"] = 3
    return list(keys), list(table.values()), list(table.items()), "c" in keys, len(keys), keys & {"a"}


@case(X)
def dict_merges(x):
    a = {"a": 1, "b": 2}
    b = {"b": x, "c": 3}
    c = a | b
    a |= {"z": 0}
    return {**a, **b, "d": 4}, c, a, a == {"a": 1, "b": 2, "z": 0}, a != b


@case(X)
def dict_reversed_and_sorted(x):
    table = {"b": 1, "a": 2}
    return (
        list(reversed(table)),
        sorted(table),
        sorted(table.items(), key=lambda p: p[1]),
        max(table, key=table.get),
    )


@case(X)
def dict_key_order_after_delete(x):
    table = {"a": 1, "b": 2, "c": 3}
    del table["a"]
    table["a"] = x
    table["b"] = 5
    return table


@case({"a": X, "b": Y}, changed=(({"b": Y, "a": X},), ({"a": Y},)))
def dict_argument_is_rewritten(table):
    for key in list(table):
        table[key] = table[key] + 1
    table["sum"] = sum(table.values())
    return table


@case({"a": X, "b": Y})
def dict_argument_key_is_moved_last(table):
    table["a"] = table.pop("a")
    return list(table)


@case({1: X, (1, 2): Y, None: 3, True: 4})
def dict_with_mixed_keys(table):
    return table[1], table[(1, 2)], table[None], len(table), 1.0 in table


@case(X)
def true_and_one_are_the_same_key(x):
    table = {1: "a"}
    table[True] = "b"
    table[1.0] = "c"
    return table, {0: 1, False: 2}, {1}


@case(X)
def tensors_as_dict_keys(x):
    y = x + 1
    table = {x: 1, y: 2}
    return table[x], table[y], x in table, (x * 1) in table


@case(X)
def changing_a_dict_while_iterating_is_an_error(x):
    table = {"a": 1}
    try:
        for _ in table:
            table["b"] = 2
    except RuntimeError as error:
        return str(error), x


@case(X)
def missing_key_is_a_key_error(x):
    try:
        return {}["a"]
    except KeyError as error:
        return error.args, x


@case(X)
def index_error_and_slices_beyond(x):
    try:
        return [1][5]
    except IndexError as error:
        return str(error), (1, 2)[5:], x


@case(X, {1, 2}, changed=((X, {1, 3}), (X, {2, 1})))
def set_methods(x, numbers):
    numbers.add(5)
    numbers.discard(1)
    numbers.discard(77)
    numbers.update([6, 7])
    return (
        2 in numbers,
        len(numbers),
        sorted(numbers),
        numbers | {9},
        numbers & {5},
        numbers - {5},
        numbers ^ {5, 8},
    )


@case(X)
def set_operators_in_place(x):
    a = {1, 2, 3}
    b = a
    a |= {4}
    a &= {2, 3, 4}
    a -= {2}
    a ^= {9}
    return a, a is b, a <= {3, 4, 9, 1}, a < {3, 4, 9}, a == {3, 4, 9}, a.isdisjoint({1}), a.issuperset({3})


@case(X)
def frozenset_is_hashable(x):
    key = frozenset([1, 2])
    return {key: 1}[frozenset([2, 1])], key | {3}, key == {1, 2}, x


@case(X)
def set_pop_and_remove(x):
    a = {5}
    b = a.pop()
    a.add(3)
    a.remove(3)
    try:
        a.remove(4)
    except KeyError as error:
        return b, a, error.args


@case(X)
def comprehensions(x):
    return (
        [x * i for i in range(3) if i != 1],
        {i: x + i for i in range(2)},
        {i % 2 for i in range(5)},
        [(i, j) for i in range(2) for j in range(i)],
        [[j for j in range(i)] for i in range(3)],
        sum(i for i in range(4)),
    )


@case(X)
def comprehension_variable_stays_inside(x):
    i = 10
    squares = [i * i for i in range(3)]
    return i, squares


@case((X, [Y, 3]), changed=(((X, [Y, 4]),), ((X, [Y]),)))
def nested_unpacking(value):
    a, (b, *c) = value
    return a + b, c


@case(X)
def star_unpacking(x):
    first, *middle, last = [1, 2, 3, x]
    *init, end = (1, 2)
    (a, b), c = "ab", "c"
    return first, middle, last, init, end, a, b, c, [*middle, *init], (*"xy", 1), {*[1], *[2]}, {**{"a": 1}}


@case(X)
def swap_and_rotate(x):
    a, b, c = 1, 2, x
    a, b = b, a
    a, b, c = c, a, b
    return a, b, c


@case(X)
def unpacking_errors(x):
    try:
        a, b = [1]
    except ValueError as error:
        first = str(error)
    try:
        a, b = [1, 2, 3]
    except ValueError as error:
        return first, str(error)


@case(X)
def tensor_unpacks_by_rows(x):
    a, b, c, d = x
    first, *rest = x
    return a + b, c * d, first, rest


@case(X)
def zip_map_filter_enumerate(x):
    names = ["a", "b", "c"]
    return (
        list(zip(names, range(3), strict=True)),
        list(zip(names, [1])),
        dict(enumerate(names, 1)),
        list(map(lambda a, b: a * b, [x, x], [1, 2])),
        list(filter(None, [0, 1, "", "a"])),
        list(filter(lambda n: n > 1, range(4))),
        list(reversed(names)),
        sorted(names, reverse=True),
        list(zip()),
    )


@case(X)
def any_all_min_max_sum(x):
    return (
        any([]),
        all([]),
        any([0, 1]),
        all([1, 0]),
        min(3, 1, 2),
        max([1, 5, 2]),
        max([], default=x),
        min("b", "a"),
        max([(1, "a"), (1, "b")]),
        sum([1, 2], 10),
        sum([[1], [2]], []),
        min([3, -4], key=abs),
    )


@case(X)
def sort_is_stable(x):
    items = [(1, "b"), (0, "z"), (1, "a")]
    items.sort(key=lambda p: p[0])
    return items, sorted(items, key=lambda p: p[0], reverse=True), sorted([3, 1, 2], key=lambda n: -n)


@case(Point(X, 3), changed=((Point(X, 4),), (Point(Y),)))
def namedtuple_argument(point):
    a, b = point
    return point.x + a, point[1], b, point._replace(y=5), point._asdict(), len(point), point == (point.x, 3)


@case(X)
def namedtuple_is_made(x):
    p = Point(x)
    q = Pair(second=p, first=1)
    return (
        p,
        q,
        Pair(1),
        q.second.y,
        isinstance(p, tuple),
        Point._fields,
        Point._make([x, 1]),
        type(p) is Point,
    )


@case(X)
def list_subclass(x):
    stack = Stack([1])
    stack.push(x).push(2)
    return stack, len(stack), stack[1], list(stack), isinstance(stack, list), stack == [1, x, 2]


@case(Stack([1, X]), changed=((Stack([1]),), ([1, X],)))
def list_subclass_argument(stack):
    stack.append(5)
    return sum(stack)


@case(X)
def dict_subclass_with_missing(x):
    table = Table(a=x)
    return table["a"], table["b"], table.get("b"), "b" in table, table


@case(X)
def dict_subclass_with_getitem(x):
    table = Upper()
    table["A"] = x
    return table["a"], list(table), table.get("A") is x, list(table.values())


@case(collections.OrderedDict(a=X, b=Y), changed=((collections.OrderedDict(b=Y, a=X),),))
def ordered_dict_argument(table):
    table.move_to_end("a")
    table["c"] = 1
    return list(table), table.popitem(last=False)


@case(collections.defaultdict(list))
def defaultdict_argument(table):
    table["a"].append(1)
    return table["b"], table, len(table)


@case(X)
def defaultdict_is_made(x):
    table = collections.defaultdict(lambda: x)
    counts = collections.defaultdict(int)
    for letter in "abca":
        counts[letter] += 1
    return table["a"] + 1, counts, dict(counts), "zz" in counts


@case(X)
def counter_counts(x):
    counts = collections.Counter("abca")
    counts.update("a")
    return counts["a"], counts["missing"], counts.most_common(1), x


@case(X)
def deque_turns(x):
    queue = collections.deque([1, 2], maxlen=3)
    queue.append(x)
    queue.append(4)
    queue.appendleft(0)
    return queue, queue.popleft(), queue.pop(), len(queue), list(queue)


@case(X, collections.deque([1, 2]))
def deque_argument_is_mutated(x, queue):
    queue.append(x)
    return queue.popleft()


@case(X, collections.deque([1, 2], maxlen=2))
def deque_argument_with_bound(x, queue):
    queue.append(x)
    return x, queue[0]


@case(X)
def chain_map_looks_up_in_order(x):
    chain = collections.ChainMap({"a": 1}, {"a": 2, "b": x})
    return chain["a"], chain["b"], "c" in chain


@case(X)
def shared_and_cyclic_results(x):
    inner = [x]
    table = {"a": inner, "b": inner}
    table["self"] = table
    inner.append(inner)
    return table, inner, (inner, inner)


@case([X])
def result_is_the_argument(items):
    return items, [items], {"a": items[0]}


@case(X, [1], [1])
def is_compares_identity(x, a, b):
    return a is b, a is a, a == b, x is x, x is not a, [] == [], a is not b


@case([X, X], changed=(([X, Y],), ([X, X.clone()],)))
def same_tensor_twice(items):
    return items[0] is items[1], items[0] + items[1]


SAME = [1]


@case({"a": SAME, "b": SAME}, changed=(({"a": [1], "b": [1]},),))
def same_list_by_two_paths(table):
    table["a"].append(2)
    return table["b"]


@case((X, (1, "a", None, (2.5,))), changed=(((X, (1, "a", None, (2.0,))),), ((X, (1, "a", 0, (2.5,))),)))
def nested_constant_tuple(value):
    x, rest = value
    return x, rest, rest[3][0]


@case(X)
def chained_comparisons(x):
    n = x.shape[0]
    return 1 < n < 10, 1 < n > 10, 0 == 0 != 1, n in (4, 5) and n not in [1], 1 <= 1 <= 0


@case(X)
def nested_containers_keep_structure(x):
    return {"a": [(x, {"b": {1}}), []], "c": ((), {}, set(), frozenset([1]))}


@case(range(3), X, changed=((range(4), X), (range(0, 3, 2), X)))
def range_argument(steps, x):
    return [x * i for i in steps], len(steps), steps[1], 2 in steps, list(reversed(steps)), steps.stop


@case(slice(0, 2), X, changed=((slice(1, 3), X),))
def slice_argument(part, x):
    return x[part], [1, 2, 3][part], part.stop


@case(X, float("nan"), changed=((X, 1.0), (X, -0.0), (X, 0.0)))
def nan_and_signed_zero_are_guarded(x, value):
    return x + value, value, [value].count(value)


@case(X)
def tuple_subclass_equality_and_hash(x):
    return {Point(1, 2): 3}[(1, 2)], hash(1) == hash(1.0), x


@case(X)
def membership_by_identity_first(x):
    nan = float("nan")
    return nan in [nan], [nan] == [nan], x in [x], (x,).index(x)


@case(X)
def iterator_is_shared(x):
    iterator = iter([1, 2, 3, 4])
    pairs = list(zip(iterator, iterator, strict=True))
    again = iter([1, 2])
    return pairs, next(again), list(again), next(again, "end")


@case(X)
def list_grows_while_iterated(x):
    items = [1]
    for item in items:
        if item < 4:
            items.append(item + 1)
    return items, x


@case(X)
def sum_of_tensors_in_a_dict(x):
    table = {}
    for i in range(3):
        table[f"layer{i}"] = x * i
    return sum(table.values()), tuple(table)


@pytest.mark.parametrize("one", case.cases, ids=str)
def test_captured_like_eager(one):
    one.check()


class Backwards(dict):
    def keys(self):
        return reversed(list(dict.keys(self)))

    __iter__ = keys


class OtherKeys(dict):
    def keys(self):
        return ["a"]


@case(Backwards(a=X, b=2))
@case(OtherKeys(a=X, b=2))
def subclass_of_dict_that_is_iterated_otherwise(table):
    filled = {}
    filled.update(table)
    return [*dict(table)], [*filled], [*{**table}], [*(dict(c=1) | table)], [*table.copy()], [*table.items()]

"""Objects that existed before the call: guarded by what was read of them, and no more strictly."""

import collections
import enum
from typing import ClassVar

import pytest
import torch

from tests.semantics.harness import Case, Corpus

case = Corpus()
X = torch.arange(4.0)
NAN = float("nan")


class Box:
    kind = 1

    def __init__(self, **fields):
        self.__dict__.update(fields)

    def __eq__(self, other):
        return type(other) is Box and vars(self) == vars(other)

    __hash__ = None


class Keyed:
    def __init__(self, n):
        self.n = n

    def __eq__(self, other):
        return type(other) is Keyed and self.n == other.n

    def __hash__(self):
        return hash(self.n)


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self, a):
        self.a = a


class SlottedChild(Slotted):
    __slots__ = ("c",)

    def __init__(self, a, c):
        super().__init__(a)
        self.c = c


class OpenChild(Slotted):
    def __init__(self, a, extra):
        super().__init__(a)
        self.extra = extra


class Truthy:
    def __init__(self, n):
        self.n = n

    def __bool__(self):
        return self.n > 1


class Sized:
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n


class Meta(type):
    label = "meta"

    @property
    def size(cls):
        return len(cls.__name__)

    def __iter__(cls):
        return iter((1, 2))


class Made(metaclass=Meta):
    table: ClassVar = [1, 2]
    pair = (1, 2)

    @property
    def seven(self):
        return 7


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Strength(enum.IntFlag):
    WEAK = 1
    STRONG = 2


L1 = [1, 2]
Point = collections.namedtuple("Point", "a b")


@case(X, [L1, L1], changed=((X, [[1, 2], [1, 2]]),))
def one_list_by_two_paths(x, pair):
    pair[0].append(3)
    return x * len(pair[1]), pair[0] is pair[1]


@case(X, [[1, 2], [1, 2]], changed=((X, [L1, L1]),))
def two_lists_that_could_be_one(x, pair):
    pair[0].append(3)
    return x * len(pair[1])


@case(X, [[1, 2], [1, 2]], changed=((X, [L1, L1]),))
def identity_of_two_lists(x, pair):
    return x + 1 if pair[0] is pair[1] else x - 1


@case(X, Color.RED, changed=((X, Color.BLUE),))
def enum_member(x, color):
    return x * color.value if color is Color.RED else x - color.value


@case(X, Strength.WEAK | Strength.STRONG, changed=((X, Strength.WEAK),))
def flags(x, flags_):
    return x + 1 if flags_ & Strength.STRONG else x - 1


@case(X, {1, 2}, changed=((X, {1, 2, 3}), (X, {True, 2})))
def members_of_a_set(x, members):
    return x * len(members) + (3 in members)


@case(X, {1, 2})
def a_set_is_changed(x, members):
    members.add(5)
    members.discard(1)
    return x * len(members)


@case(X, [3, 1, 2])
def bound_builtin_methods(x, items):
    add = items.append
    add(7)
    return x * len(items), items.index(7)


@case(X, Truthy(2), changed=((X, Truthy(1)),))
def truth_by_bool(x, flag):
    return x + 1 if flag else x - 1


@case(X, Sized(2), changed=((X, Sized(0)),))
def truth_by_len(x, flag):
    return x + 1 if flag else x - 1


@case(X, Slotted(2), changed=((X, Slotted(3)),))
def slots(x, thing):
    thing.b = thing.a + 1
    return x * thing.b


@case(X, SlottedChild(2, 3))
def slots_of_a_base(x, thing):
    thing.a, thing.c = thing.c, thing.a
    return x * thing.a - thing.c


@case(X, OpenChild(2, 3))
def slots_and_a_dict(x, thing):
    thing.more = thing.a + thing.extra
    del thing.extra
    return x * thing.more, sorted(thing.__dict__)


@case(X, Slotted(2))
def an_empty_slot(x, thing):
    return x + hasattr(thing, "b")


@case(X, Box(a=1, b=2), changed=((X, Box(b=2, a=1)), (X, Box(a=1, b=2, c=3))))
def names_in_order(x, box):
    return x * len(box.__dict__), list(box.__dict__)


@case(X, Box(a=1), changed=((X, Box(a=1, c=1)),))
def lacks_an_attribute(x, box):
    return x + getattr(box, "c", 5)


@case(X)
def attributes_of_a_metaclass(x):
    return x * Made.size + len(Made.label), [item for item in Made], Made.pair, Made.table[0]


@case(X)
def property_of_a_class(x):
    return x, isinstance(Made.seven, property)


@case(X, Box(a=1))
def class_is_assigned(x, box):
    return x * box.a, box.__class__ is Box


@case(X, Box(a=1), breaks="B115", line="box.__class__ = Made")
def class_assignment(x, box):
    box.__class__ = Made
    return x


@case(X, [X, X + 1, X + 2])
def items_read_after_the_list_changed(x, items):
    items.insert(0, x)
    items.reverse()
    return items[0] + 1, items[1] * 2


@case(X, [[1], [2], [3]])
def unread_items_move(x, items):
    items.insert(0, items.pop())
    return x, items


@case(X, {"a": [1], "b": [2]})
def unread_entries_move(x, table):
    table["c"] = table.pop("a")
    del table["b"]
    return x, table


@case(X, {"a": X, "b": X + 1})
def an_entry_is_read_after_deletion_of_another(x, table):
    del table["a"]
    return table["b"] * 2, "a" in table


@case(X, {"a": 1, "b": 2, "c": 3})
def order_after_pop_and_insert(x, table):
    found = table.pop("a")
    table["a"] = found
    return x, list(table), list(table.items())


@case(X, {"a": 1, "b": 2})
def update_keeps_order(x, table):
    table["a"] = 5
    table.update(z=1, b=7)
    return x, list(table.items())


@case(X, [1, 2, 3])
def a_list_grows_while_iterated(x, items):
    for item in items:
        if len(items) < 6:
            items.append(item + 10)
    return x * len(items), items


@case(X, {1: "int"}, changed=((X, {True: "bool"}), (X, {1.0: "float"})))
def equal_keys_of_other_types(x, table):
    return x + 1, table[True], list(table)


@case(X, {True: 1})
def keys_that_are_equal(x, table):
    table[1] = 2
    table[1.0] = 3
    return x, list(table.items()), type(next(iter(table)))


@case(X, {Keyed(1): 5}, changed=((X, {Keyed(1): 6}),))
def keys_with_equality(x, table):
    return x * table[Keyed(1)]


@case(X, "model", changed=((X, "mod" + "el"[:2]), (X, "other")))
def text(x, name):
    return x + 1 if name == "model" else x - 1


@case(X, 1000, changed=((X, 10**3), (X, 7)))
def identity_of_numbers(x, n):
    return x * n, n is None


@case(X, NAN, changed=((X, float("nan")), (X, 1.0)))
def nan_argument(x, value):
    return x + 1 if value != value else x


@case(X, (1, (2, 3)), changed=((X, (1, (2, 4))), (X, (True, (2, 3))), (X, (1.0, (2, 3)))))
def tuples_of_constants(x, sizes):
    return x * sizes[1][1], sizes


@case(X, [1, 2], changed=((X, [1, 3]), (X, [True, 2])))
def lists_of_constants(x, sizes):
    return x * sizes[1], sizes[0]


@case(X, (1, 2), changed=((X, (1, 5)),))
def only_one_item_is_read(x, sizes):
    return x * sizes[0]


@case(X, Point(1, 2), changed=((X, Point(1, 3)), (X, (1, 2))))
def named_tuple(x, p):
    return x * p.a + p[1], p._replace(a=3).a


@case(X, X)
def one_tensor_by_two_paths_written(x, y):
    y = y.view(4)
    x.add_(1)
    return y * 2


@pytest.mark.parametrize("one", case.cases, ids=str)
def test_captured_like_eager(one: Case) -> None:
    one.check()

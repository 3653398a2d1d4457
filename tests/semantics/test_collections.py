"""collections: Counter, defaultdict, OrderedDict, deque, ChainMap, the User classes."""

import collections

import pytest
import torch

from tests.semantics.harness import Corpus

case = Corpus()
X = torch.arange(4.0)


@case(X)
def counter_arithmetic(x):
    a, b = collections.Counter("aab"), collections.Counter(b=1, c=2)
    return (
        a + b,
        a - b,
        a & b,
        a | b,
        a["z"],
        a.most_common(1),
        sorted(a.elements()),
        sum(a.values()),
        +collections.Counter(a=-1, b=1),
        a.total(),
        x,
    )


@case(X)
def counter_updates(x):
    counts = collections.Counter()
    counts.update("hello")
    counts.update({"l": 2})
    counts.subtract("h")
    counts["new"] += 1
    del counts["e"]
    return dict(counts), counts.most_common(2), x


@case(X)
def defaultdict_groups(x):
    groups = collections.defaultdict(list)
    for i, word in enumerate(["a", "bb", "c"]):
        groups[len(word)].append(i)
    nested = collections.defaultdict(lambda: collections.defaultdict(int))
    nested["a"]["b"] += 1
    return dict(groups), groups.get(9), 9 in groups, nested["a"]["b"], list(nested), x


@case(X)
def ordered_dict_order(x):
    table = collections.OrderedDict(a=1, b=2, c=3)
    table.move_to_end("a")
    table.move_to_end("c", last=False)
    first = table.popitem(last=False)
    return (
        list(table.items()),
        first,
        table == collections.OrderedDict(b=2, a=1),
        table == {"a": 1, "b": 2},
        x,
    )


@case(X)
def deque_operations(x):
    queue = collections.deque([1, 2, 3], maxlen=3)
    queue.append(4)
    queue.appendleft(0)
    queue.rotate(-1)
    queue.extend([7])
    return list(queue), queue.maxlen, queue[0], queue.index(7), queue.count(3), 3 in queue, len(queue), x


@case(X)
def deque_insert_remove_reverse_copy(x):
    queue = collections.deque([1, 2, 3])
    queue.insert(1, 9)
    queue.remove(2)
    queue.reverse()
    twin = queue.copy()
    queue[0] = 5
    del queue[1]
    return list(queue), list(twin), queue == collections.deque([5, 1]), list(reversed(twin)), x


@case(X)
def chain_map_writes_to_the_first(x):
    base = {"a": 1, "b": 2}
    view = collections.ChainMap({}, base)
    view["a"] = 5
    child = view.new_child({"c": 3})
    return (
        view["a"],
        base["a"],
        child["c"],
        child["b"],
        sorted(child),
        "z" in child,
        len(child),
        dict(view),
        x,
    )


class Config(collections.UserDict):
    def __setitem__(self, key, value):
        super().__setitem__(key.lower(), value)


@case(X)
def user_dict_lowers_keys(x):
    config = Config(A=1)
    config["B"] = x
    config.update(C=3)
    return dict(config), "a" in config, config.get("z", 0), list(config.keys()), config.pop("c"), len(config)


class Rows(collections.UserList):
    def total(self):
        return sum(self)


@case(X)
def user_list_acts_like_a_list(x):
    rows = Rows([1, 2])
    rows.append(3)
    rows += [4]
    return (
        rows.total(),
        rows[1:].data,
        rows[-1],
        len(rows),
        2 in rows,
        (rows + [5]).data,
        rows == [1, 2, 3, 4],
        x,
    )


@case(X)
def user_string(x):
    text = collections.UserString("ab")
    return text.upper().data, text + "c" == "abc", len(text), x


@case(X)
def copy_of_a_defaultdict_has_its_factory(x):
    groups = collections.defaultdict(list, a=[1])
    twin = groups.copy()
    twin["b"].append(x)
    return groups, twin, twin["a"] is groups["a"]


@case(X)
def messages_of_lists_and_deques(x):
    items, queue, said = [1, x], collections.deque([1], maxlen=1), []
    for act in (
        lambda: items.__setitem__(slice(0, 2, 2), [1, 2]),
        lambda: items["a"],
        lambda: items.__delitem__(5),
        lambda: items.insert("a", 1),
        lambda: items.pop(7),
        lambda: queue[0:1],
        lambda: queue.insert(0, 2),
        lambda: queue.rotate(1, 2),
        lambda: items * 1.5,
        lambda: dict([1]),
        lambda: dict([(1, 2, 3)]),
        lambda: set().remove(3),
    ):
        try:
            act()
        except (TypeError, ValueError, IndexError, KeyError) as error:
            said.append(repr(error))
    return said, items, queue


@pytest.mark.parametrize("one", case.cases, ids=str)
def test_captured_like_eager(one):
    one.check()

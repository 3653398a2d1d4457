"""What builtin operations make of an instance of a subclass of a builtin container: its class, and its items.

Every expression runs on every container, as an argument and made inside; eager says what is right.
"""

import collections
import copy
import re
from collections.abc import Callable

import pytest
import torch

import supple


class Plain(dict):
    pass


class Missing(dict):
    def __missing__(self, key):
        return key


class Ordered(collections.OrderedDict):
    pass


class Factory(collections.defaultdict):
    pass


class Count(collections.Counter):
    pass


class Items(list):
    pass


class Members(set):
    pass


class Frozen(frozenset):
    pass


class Pair(tuple):
    pass


class Queue(collections.deque):
    pass


CONTAINERS: dict[str, Callable[[], object]] = {
    "dict": lambda: {"a": 1},
    "Plain": lambda: Plain(a=1, b=2),
    "Missing": lambda: Missing(a=1),
    "OrderedDict": lambda: collections.OrderedDict(a=1, b=2),
    "Ordered": lambda: Ordered(a=1, b=2),
    "defaultdict": lambda: collections.defaultdict(int, a=1),
    "Factory": lambda: Factory(list, a=1),
    "Counter": lambda: collections.Counter("aab"),
    "Count": lambda: Count("aab"),
    "list": lambda: [1, 2],
    "Items": lambda: Items([1, 2]),
    "set": lambda: {1, 2},
    "Members": lambda: Members([1, 2]),
    "Frozen": lambda: Frozen([1, 2]),
    "Pair": lambda: Pair((1, 2)),
    "deque": lambda: collections.deque([1, 2]),
    "bounded deque": lambda: collections.deque([1, 2], maxlen=2),
    "Queue": lambda: Queue([1, 2]),
    "bounded Queue": lambda: Queue([1, 2], 3),
}
EXPRESSIONS = (
    "o.copy()", "copy.copy(o)", "copy.deepcopy(o)", "type(o)(o)", "o[0:1]", "o[::-1]", "o[0]", "o['a']",
    "o['zz']", "o + o", "o + [1]", "[1] + o", "(1,) + o", "o * 2", "2 * o", "o | o", "o & o", "o - o",
    "o ^ o", "o | {'z': 1}", "{'z': 1} | o", "{1, 9} | o", "o.union([3])", "o.difference([1])",
    "list(reversed(o))", "[*o]", "sorted(o)", "dict(o)", "tuple(o)", "type(o).fromkeys('ab')",
    "o.__iadd__([1])", "o.__imul__(2)", "o.__ior__({1: 2})", "o.__copy__()", "o.__add__(o)", "o.__mul__(2)",
    "o == o", "o < o", "repr(o)", "o.popitem()", "o.pop()", "o.setdefault('q', 5)", "o.update(z=1) or o",
    "o.append(1) or o", "o.extend([4]) or o", "o.insert(0, 5) or o", "o.remove(1) or o", "o.reverse() or o",
    "o.clear() or o", "o.rotate(1) or o", "o.appendleft(3) or o", "o.count(1)", "o.index(1)", "1 in o",
    "o.__setitem__(0, 7) or o", "o.__delitem__(0) or o", "o.move_to_end('a') or o", "o.most_common()",
    "{**o}", "list(o.items())", "len(o)",
)  # fmt: skip


def seen(run: Callable[..., object], container: object) -> object:
    try:
        result, _ = run(container, torch.ones(1))  # pyright: ignore[reportGeneralTypeIssues]
    except Exception as error:  # whatever eager raises
        return type(error), str(error), repr(container)
    return type(result), re.sub("0x[0-9a-f]+", "", repr(result)), repr(container)


@pytest.mark.parametrize("name", CONTAINERS)
def test_operations_make_what_they_make_in_python(name: str) -> None:
    make = CONTAINERS[name]
    names = {"copy": copy, "make": make}
    found: list[object] = []
    for expression in EXPRESSIONS:
        given = eval(f"lambda o, x: ({expression}, x + 1)", names)
        inside = eval(f"lambda _, x: (lambda o: ({expression}, x + 1))(make())", names)
        for program in (given, inside):
            want = seen(program, make())
            supple.reset()
            got = seen(supple.compile(program, backend="eager"), make())
            if got != want:
                found.append((expression, got, want))
    assert not found


class Grown(collections.defaultdict):
    pass


@pytest.mark.parametrize("copied", ["o.copy()", "copy.copy(o)", "copy.deepcopy(o)"])
def test_a_copy_of_a_defaultdict_has_its_factory(copied: str) -> None:
    program = eval(f"lambda o, x: ({copied}, x)", {"copy": copy})
    made, _ = supple.compile(program, backend="eager")(Grown(list, a=1), torch.ones(1))
    assert (type(made), made["new"]) == (Grown, [])

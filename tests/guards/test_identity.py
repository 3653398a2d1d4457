"""That two objects are different ones is a fact with a guard, wherever identity decides."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch

import supple


class Plain:
    pass


class Equal:
    def __eq__(self, other: object) -> bool:
        return isinstance(other, Equal)

    def __hash__(self) -> int:
        return 3


X = torch.ones(2)
Program = Callable[[Any, Any], object]
PROGRAMS: dict[str, Program] = {
    "is": lambda a, b: X + 1 if a is b else X - 1,
    "is not": lambda a, b: X + 1 if a is not b else X - 1,
    "set": lambda a, b: X * len({a, b}),
    "set of a list": lambda a, b: X * len(set([a, b, a])),
    "frozenset": lambda a, b: X * len(frozenset((a, b))),
    "set, added to": lambda a, b: X * len({a} | {b}),
    "member of a set": lambda a, b: X + 1 if a in {b} else X - 1,
    "dict": lambda a, b: X * len({a: 1, b: 2}),
    "dict, read": lambda a, b: X * {a: 1}.get(b, 5),
    "dict of a pair": lambda a, b: X * len({(a, 1): 1, (b, 1): 2}),
    "dict, written": lambda a, b: X * written(a, b),
    "id": lambda a, b: X + 1 if id(a) == id(b) else X - 1,
    "ids in a set": lambda a, b: X * len({id(a), id(b)}),
    "ids in a dict": lambda a, b: X * {id(a): 1}.get(id(b), 5),
    "fromkeys": lambda a, b: X * len(dict.fromkeys((a, b))),
    "methods": lambda a, b: X * len({a.__repr__, b.__repr__}),
    "deepcopy": lambda a, b: X + 1 if same_copies(a, b) else X - 1,
}
EQUALITY: dict[str, Program] = {
    "==": lambda a, b: X + 1 if a == b else X - 1,
    "!=": lambda a, b: X + 1 if a != b else X - 1,
    "member of a list": lambda a, b: X + 1 if a in [b] else X - 1,
    "member of a tuple": lambda a, b: X + 1 if a in (b, 3) else X - 1,
    "index": lambda a, b: X * [a, b].index(b),
    "count": lambda a, b: X * [a, b, b].count(b),
    "lists": lambda a, b: X + 1 if [a] == [b] else X - 1,
    "tuples": lambda a, b: X + 1 if (a, 1) == (b, 1) else X - 1,
    "removed": lambda a, b: X * removed(a, b),
}


def written(a: Any, b: Any) -> int:
    found = {a: 1}
    found[b] = 2
    return found[a] + 10 * len(found)


def removed(a: Any, b: Any) -> int:
    items = [a, b, a]
    items.remove(b)
    return items.index(a)


def same_copies(a: Any, b: Any) -> bool:
    first, second = copy.deepcopy([a, b])
    return first is second


def tensors() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.ones(3), torch.ones(3)


def plain() -> tuple[Plain, Plain]:
    return Plain(), Plain()


def modules() -> tuple[torch.nn.Module, torch.nn.Module]:
    return torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)


def equal() -> tuple[Equal, Equal]:
    return Equal(), Equal()


def lists() -> tuple[list[int], list[int]]:
    return [1], [1]


KINDS = {"plain": plain, "modules": modules, "tensors": tensors, "equal": equal}
CASES = [
    *((kind, name) for kind in KINDS for name in PROGRAMS if (kind, name) != ("tensors", "deepcopy")),
    *((kind, name) for kind in ("plain", "modules", "equal") for name in EQUALITY),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("kind", "name"), CASES)
def test_one_object_in_two_places_is_seen(kind: str, name: str) -> None:
    program = {**PROGRAMS, **EQUALITY}[name]
    a, b = KINDS[kind]()
    compiled = supple.compile(program, backend="eager")
    for arguments in ((a, b), (a, a), (b, a), (b, b)):
        assert torch.equal(compiled(*arguments), program(*arguments))  # type: ignore[arg-type]
    compiled = supple.compile(program, backend="eager")
    for arguments in ((a, a), (a, b)):
        assert torch.equal(compiled(*arguments), program(*arguments))  # type: ignore[arg-type]


def test_lists_that_become_one_are_seen() -> None:
    def program(a: list[int], b: list[int]) -> torch.Tensor:
        return X * len({id(a), id(b)})

    compiled = supple.compile(program, backend="eager")
    a, b = lists()
    for arguments in ((a, b), (a, a)):
        assert torch.equal(compiled(*arguments), program(*arguments))


def test_weights_that_are_tied_later_are_counted_once() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2))

    def program(x: torch.Tensor) -> torch.Tensor:
        return x * len(list(model.parameters())) + len(list(model.modules()))

    compiled = supple.compile(program, backend="eager")
    assert torch.equal(compiled(X), program(X))
    model[1].weight = model[0].weight
    assert torch.equal(compiled(X), program(X))
    model[1] = model[0]
    assert torch.equal(compiled(X), program(X))


def test_objects_of_globals_and_attributes_are_told_apart() -> None:
    holder = Plain()
    holder.left, holder.right = Plain(), Plain()

    def program(x: torch.Tensor) -> torch.Tensor:
        return x * len({holder.left, holder.right})

    compiled = supple.compile(program, backend="eager")
    assert torch.equal(compiled(X), X * 2)
    holder.right = holder.left
    assert torch.equal(compiled(X), X)


WRITES: dict[str, Callable[[list[int]], object]] = {
    "insert": lambda items: items.insert(0, 7),
    "append": lambda items: items.append(7),
    "assigned": lambda items: items.__setitem__(1, 7),
    "slice": lambda items: items.__setitem__(slice(None, 1), [7, 8]),
    "deleted": lambda items: items.__delitem__(0),
    "sorted": lambda items: items.sort(reverse=True),
    "cleared": list.clear,
}
OVER_A_LIST: dict[str, Callable[[list[int]], object]] = {
    "iter": iter,
    "reversed": reversed,
    "enumerate": enumerate,
    "zip": lambda items: zip(items, "abcdef", strict=False),
    "map": lambda items: map(str, items),
    "ended": lambda items: iter_at_its_end(items),
}


def iter_at_its_end(items: list[int]) -> object:
    found = iter(items)
    list(found)
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("over", OVER_A_LIST)
@pytest.mark.parametrize("write", WRITES)
def test_an_iterator_from_outside_may_go_over_the_list_that_is_written(write: str, over: str) -> None:
    def program(items: list[int], running: Any) -> tuple[object, ...]:
        WRITES[write](items)
        return (X, *running)

    def run(function: Callable[..., object], is_one: bool) -> object:
        items = [1, 2, 3]
        running = OVER_A_LIST[over](items if is_one else [1, 2, 3])
        return repr(function(items, running)), items, repr([*running])  # type: ignore[misc]

    for order in ((False, True, False), (True, False, True)):
        compiled = supple.compile(program, backend="eager")
        for is_one in order:
            assert run(compiled, is_one) == run(program, is_one)


class Named:
    one = 1

    def __init__(self) -> None:
        self.first = 1


@pytest.mark.filterwarnings("ignore")
def test_an_iterator_from_outside_may_go_over_the_attributes_that_are_written() -> None:
    def program(thing: Named, running: Any) -> object:
        thing.second = 2  # type: ignore[attr-defined]
        try:
            return X, next(running)
        except RuntimeError as error:
            return X, str(error)

    for order in ((False, True, False), (True, False, True)):
        compiled = supple.compile(program, backend="eager")
        for is_one in order:
            found = []
            for function in (compiled, program):
                thing = Named()
                found.append(repr(function(thing, iter((thing if is_one else Named()).__dict__))))
            assert found[0] == found[1]

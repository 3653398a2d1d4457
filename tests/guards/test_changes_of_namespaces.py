"""Ways to change an object's `__dict__`, on objects of many kinds, given or made, with a break or without."""

import types
from collections.abc import Callable
from typing import Any

import pytest
import torch

import supple
from supple.base.config import config

Change = Callable[[Any, dict[str, Any]], object]


class Plain:
    pass


class Filled(dict):
    pass


class Dotted(dict):
    __setattr__ = dict.__setitem__
    __getattr__ = dict.get
    __delattr__ = dict.__delitem__


class Members(set):
    pass


class Failure(Exception):
    pass


def a_function():
    return None


MAKERS: dict[str, Callable[[], Any]] = {
    "plain": Plain,
    "namespace": types.SimpleNamespace,
    "dict of a class": Filled,
    "dotted dict": Dotted,
    "set of a class": Members,
    "exception": Failure,
    "module of torch": torch.nn.Identity,
    "module": lambda: types.ModuleType("given"),
    "function": lambda: lambda: None,
}


def replaced(o, other):
    o.__dict__ = other


def replaced_by_a_copy(o, other):
    before = o.__dict__.copy()
    o.a, o.t = 9, 1
    o.__dict__ = before


def shared(o, other):
    other_object = Plain()
    other_object.__dict__ = o.__dict__
    other_object.s = 4


def emptied(o, other):
    vars(o).clear()
    o.b = 5


def emptied_and_filled(o, other):
    names = o.__dict__
    before = dict(names)
    names.clear()
    names.update(other)
    names.update(before)


def popped(o, other):
    names = vars(o)
    return names.pop("a"), names.pop("none", 3)


def last_popped(o, other):
    o.last = 6
    return vars(o).popitem()


def deleted(o, other):
    del vars(o)["a"]
    o.a = 7


def merged(o, other):
    names = vars(o)
    names |= other
    return names | {"q": 1}


def set_by_default(o, other):
    names = o.__dict__
    o.w = 2
    return names.setdefault("w", 3), names.setdefault("v", 4), names.get("v")


def written_beside(o, other):
    names = vars(o)
    o.n = 1
    names["m"] = 2
    return o.m, names["n"], len(names) == len(o.__dict__)


CHANGES: dict[str, Change] = {
    function.__name__: function
    for function in (
        replaced,
        replaced_by_a_copy,
        shared,
        emptied,
        emptied_and_filled,
        popped,
        last_popped,
        deleted,
        merged,
        set_by_default,
        written_beside,
    )
}


def public(names: dict[str, Any]) -> list[tuple[str, Any]]:
    """Return what the program put into a dict of attributes, in its order."""
    return [(name, value) for name, value in names.items() if not name.startswith("_") and name != "training"]


def outcome(function: Callable[..., object], *args: object) -> object:
    try:
        return function(*args)
    except (AttributeError, TypeError, KeyError) as error:
        return type(error), str(error)


@pytest.mark.parametrize("breaks", ["never", "before", "behind"])
@pytest.mark.parametrize("is_given", [False, True])
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", MAKERS)
def test_attributes_are_those_of_eager(kind: str, change: str, is_given: bool, breaks: str) -> None:
    make, apply = MAKERS[kind], CHANGES[change]

    def run(x, given, other):
        o = given
        if o is None:
            o = make()
            o.a, o.z = 1, 2
        if breaks == "before":
            supple.graph_break()
        told = apply(o, other)
        if breaks == "behind":
            supple.graph_break()
        o.k = 3
        asked = getattr(o, "a", "none"), hasattr(o, "a"), getattr(o, "g", "none"), o.k
        return x + 1, told, asked, o, "k" in vars(o)

    def called(function: Callable[..., object]) -> object:
        found: list[object] = []
        for _ in range(2):
            given, other = None, {"g": 8}
            if is_given:
                given = make()
                given.a, given.z = 1, 2
            made: Any = outcome(function, torch.ones(1), given, other)
            if isinstance(made[0], type):
                return made
            told = public(made[1]) if isinstance(made[1], dict) else made[1]
            found += [told, made[2], public(vars(made[3])), made[4], public(other)]
            found += [made[3] is given, list(made[3]) if isinstance(made[3], dict | set) else None]
        return found

    with config.patch(suppress_errors=False):
        assert called(supple.compile(run)) == called(run)


@pytest.mark.parametrize("has_break", [False, True])
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", ["plain", "dict of a class", "dotted dict", "set of a class", "exception"])
def test_two_objects_of_one_dict(kind: str, change: str, has_break: bool) -> None:
    make, apply = MAKERS[kind], CHANGES[change]

    def run(x, first, second):
        apply(first, {"g": 8})
        if has_break:
            supple.graph_break()
        first.k, second.j = 3, 4
        return x + 1, [getattr(one, name, "none") for one in (first, second) for name in "akjb"]

    def called(function: Callable[..., object]) -> object:
        first, second = make(), make()
        first.a = 1
        second.__dict__ = first.__dict__
        made: Any = outcome(function, torch.ones(1), first, second)
        return made if isinstance(made[0], type) else (made[1], public(vars(first)), public(vars(second)))

    with config.patch(suppress_errors=False):
        assert called(supple.compile(run)) == called(run)


@pytest.mark.parametrize("has_break", [False, True])
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", MAKERS)
def test_an_object_and_its_dict(kind: str, change: str, has_break: bool) -> None:
    make, apply = MAKERS[kind], CHANGES[change]

    def run(x, o, names):
        apply(o, {"g": 8})
        if has_break:
            supple.graph_break()
        names["k"] = 3
        o.j = 4
        return x + 1, [getattr(o, name, "none") for name in "akjb"], names.get("a"), names.get("j")

    def called(function: Callable[..., object]) -> object:
        o = make()
        o.a = 1
        names = vars(o)
        made: Any = outcome(function, torch.ones(1), o, names)
        return made if isinstance(made[0], type) else (made[1:], public(vars(o)), public(names))

    with config.patch(suppress_errors=False):
        assert called(supple.compile(run)) == called(run)

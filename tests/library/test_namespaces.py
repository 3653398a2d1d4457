"""`__dict__` of an object: replaced, emptied, shared by two, or the dict that the object is."""

import collections
import operator
import types
from collections.abc import Callable
from typing import Any

import pytest
import torch

import supple
from supple.base.config import config

Compiler = Callable[[Callable[..., Any]], Callable[..., Any]]
CASES: dict[str, Callable[[Compiler], object]] = {}
SHARED: dict[str, object] = {}


def case(function: Callable[[Compiler], object]) -> Callable[[Compiler], object]:
    CASES[function.__name__] = function
    return function


class Filled:
    def __init__(self, **names):
        self.__dict__.update(names)


class Replaced:
    def __init__(self, **names):
        self.__dict__ = names


class Dotted(dict):
    __setattr__ = dict.__setitem__
    __getattr__ = dict.__getitem__
    __delattr__ = dict.__delitem__


class Own(dict):
    def __init__(self, *args, **names):
        super().__init__(*args, **names)
        self.__dict__ = self


class Sharing:
    def __init__(self):
        self.__dict__ = SHARED


def x() -> torch.Tensor:
    return torch.ones(2)


@case
def replaced_in_init(compiled: Compiler) -> object:
    def run(x):
        made = Replaced(p=1, q=2)
        made.r = 3
        return x * sum(vars(made).values()), vars(made), hasattr(made, "p"), "p" in made.__dict__

    return compiled(run)(x())


@case
def replaced_by_a_dict_of_the_caller(compiled: Compiler) -> object:
    def run(x, names):
        made = Filled()
        made.__dict__ = names
        made.v = 1
        return x + 1, vars(made)

    given = {"z": 1}
    return compiled(run)(x(), given), given


@case
def replaced_in_an_argument(compiled: Compiler) -> object:
    def run(x, o):
        before = o.__dict__.copy()
        o.i, o.t = 9, 1
        o.__dict__ = before
        found = o.i, hasattr(o, "t")
        o.__dict__ = {}
        return x * getattr(o, "i", 7), found, vars(o)

    given = Filled(i=2)
    return compiled(run)(x(), given), vars(given)


@case
def replaced_in_an_exception(compiled: Compiler) -> object:
    def run(x):
        error = ValueError(1)
        error.a = 1
        error.__dict__ = {"q": 2}
        error.z = 3
        return x + 1, vars(error)

    return compiled(run)(x())


@case
def written_behind_a_break(compiled: Compiler) -> object:
    def run(x):
        made, names = Filled(), {"q": 1}
        made.__dict__ = names
        made.z = 2
        supple.graph_break()
        names["w"] = 3
        return x + 1, names, vars(made) is names, made.w

    return compiled(run)(x())


@case
def emptied(compiled: Compiler) -> object:
    def run(x, o):
        o.__dict__.clear()
        return x * getattr(o, "i", 7), vars(o)

    given = Filled(i=1)
    return compiled(run)(x(), given), vars(given)


@case
def emptied_and_filled(compiled: Compiler) -> object:
    def run(x, o):
        before = dict(vars(o))
        o.i = 3
        vars(o).clear()
        o.z = 4
        vars(o).update(before)
        return x + 1, vars(o), list(vars(o))

    given = Filled(i=1)
    return compiled(run)(x(), given), vars(given)


@case
def emptied_before_a_break(compiled: Compiler) -> object:
    def run(x, o):
        names = vars(o)
        names.clear()
        supple.graph_break()
        names["k"] = 1
        return x + 1, names, o.k

    given = Filled(i=1)
    return compiled(run)(x(), given), vars(given)


@case
def emptied_of_several_kinds(compiled: Compiler) -> object:
    def run(x):
        plain, error = types.SimpleNamespace(a=1, b=2), ValueError(3)
        plain.__dict__.clear()
        plain.c, error.q = 3, 2
        vars(error).clear()
        return x + 1, vars(plain), vars(error), error.args

    return compiled(run)(x())


@case
def methods_of_dict_for_attributes(compiled: Compiler) -> object:
    def run(x):
        made = Dotted(a=1)
        made.b, made.a = 2, 5
        del made.b
        made.c = made.a + 1
        return x + 1, made, vars(made)

    return compiled(run)(x())


@case
def methods_of_dict_for_attributes_of_an_argument(compiled: Compiler) -> object:
    def run(x, o):
        o.b = 2
        supple.graph_break()
        o.c = o.b + 1
        return x + 1, o["b"], vars(o)

    given = Dotted(a=1)
    return compiled(run)(x(), given), given, vars(given)


@case
def a_method_of_another_name(compiled: Compiler) -> object:
    class Counts(collections.Counter):
        __setattr__ = dict.setdefault
        __len__ = dict.__sizeof__

    class Same(list):
        __eq__ = operator.is_
        __iter__ = list.__reversed__
        __call__ = list.append

    def run(x):
        counts, same = Counts(a=1), Same([1, 2, 3])
        counts.a, counts.b = 4, 5
        same(4)
        try:
            found = same == same  # the method takes two
        except TypeError as error:
            found = str(error)
        return x + 1, dict(counts), len(counts) > 10, vars(counts), [one for one in same], found

    return compiled(run)(x())


@case
def its_own(compiled: Compiler) -> object:
    def make(x):
        made = Own(a=1)
        made.b = 2
        made["c"] = 3
        return x + 1, made.a, made.c, made["b"], dict(made)

    def take(x, o):
        o.b = 2
        o["c"] = 3
        return x + 1, o.a, o.c, o["b"], dict(o)

    given = Own(a=1)
    return compiled(make)(x()), compiled(take)(x(), given), dict(given)


@case
def shared_by_two(compiled: Compiler) -> object:
    def run(x):
        first, second = Sharing(), Sharing()
        supple.graph_break()
        first.v = 1
        return x + 1, getattr(second, "v", "unset")

    def take(x, first, second):
        first.w = 1
        second.w = 3
        return x + 1, first.w, getattr(second, "v", None), vars(first) is vars(second)

    SHARED.clear()
    return compiled(run)(x()), compiled(take)(x(), Sharing(), Sharing()), dict(SHARED)


@case
def of_a_module(compiled: Compiler) -> object:
    def run(x, module):
        vars(module).pop("a")
        return x + 1, hasattr(module, "a"), getattr(module, "a", None)

    given = types.ModuleType("given")
    given.a = 1  # pyright: ignore[reportAttributeAccessIssue]
    return compiled(run)(x(), given)


@pytest.mark.parametrize("name", CASES)
def test_attributes_are_those_of_eager(name: str) -> None:
    with config.patch(suppress_errors=False):
        want = CASES[name](lambda function: function)
        got = CASES[name](lambda function: supple.compile(function, backend="native"))
    assert repr(got) == repr(want)

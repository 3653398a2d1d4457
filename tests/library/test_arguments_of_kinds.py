"""Functions in C on arguments of each kind: what they give, or with which error they refuse them."""

import builtins
import collections
import copy
import functools
import itertools
import math
import operator
from collections.abc import Callable
from typing import Any, Final

import pytest
import torch
from torch import Tensor

import supple
from tests.library.test_operands import KINDS, shown

ONE: Final[dict[str, Callable[..., Any]]] = {
    **{
        name: getattr(builtins, name)
        for name in (
            "len iter list tuple set frozenset dict sorted min max sum abs round int float complex str bool "
            "repr type callable reversed next chr ord hex any all enumerate zip slice range bytes vars ascii"
        ).split()
    },
    **{name: getattr(math, name) for name in "sqrt floor ceil prod isnan fsum".split()},
    **{
        name: getattr(operator, name)
        for name in "index neg invert not_ length_hint itemgetter attrgetter".split()
    },
    **{name: getattr(itertools, name) for name in "count repeat pairwise cycle accumulate product".split()},
    **{name: getattr(collections, name) for name in "Counter OrderedDict deque".split()},
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "chain.from_iterable": itertools.chain.from_iterable,
}
TWO: Final[dict[str, Callable[..., Any]]] = {
    **{
        name: getattr(builtins, name)
        for name in (
            "isinstance issubclass getattr hasattr divmod pow zip map filter range slice round int sum min "
            "max enumerate next iter setattr delattr"
        ).split()
    },
    **{
        name: getattr(itertools, name)
        for name in "islice repeat combinations product zip_longest starmap".split()
    },
    **{name: getattr(math, name) for name in "log gcd copysign".split()},
    **{
        name: getattr(operator, name)
        for name in "countOf indexOf concat methodcaller itemgetter attrgetter".split()
    },
    "reduce": functools.reduce,
    "deque": collections.deque,
}
METHODS: Final[dict[type, tuple[Callable[[Tensor], Any], str]]] = {
    list: (
        lambda x: [1, x],
        "append extend remove index count insert pop sort __contains__ __add__ __eq__ __lt__",
    ),
    dict: (lambda x: {1: x, 2: 3}, "get setdefault update pop fromkeys __contains__ __or__ __eq__"),
    set: (
        lambda x: {1, 2},
        "add discard remove update union difference issubset isdisjoint symmetric_difference __or__ __le__",
    ),
    str: (
        lambda x: "a1b",
        "join split startswith find replace format index strip __add__ __mod__ zfill ljust",
    ),
    tuple: (lambda x: (1, x), "index count __add__ __mul__ __eq__"),
    collections.deque: (lambda x: collections.deque((1, 2)), "append extend remove rotate index insert"),
}


def taken(found: object) -> object:
    """Return a result with the items of an iterator, which has no text that tells them."""
    if not hasattr(found, "__next__"):
        return found
    try:
        return type(found), list(itertools.islice(found, 5))  # type: ignore[call-overload]
    except Exception as error:  # whatever eager raises
        return type(found), repr(error)


def compare(function: Callable[..., Any], *makers: Callable[[Tensor], Any]) -> tuple[str, str] | None:
    """Return what eager and the compiled program give where they differ."""

    def program(x: Tensor) -> tuple[object, ...]:
        args = [make(x) for make in makers]
        try:
            return function(*args), *args
        except Exception as error:  # whatever eager raises
            return type(error), str(error), *args

    supple.reset()
    runs = (program, supple.compile(program, backend="eager"))
    theirs, mine = [shown((taken((found := run(torch.ones(2)))[0]), *found[1:])) for run in runs]
    return None if mine == theirs else (theirs, mine)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ONE)
def test_a_function_of_one_argument(name: str) -> None:
    found = {kind: compare(ONE[name], make) for kind, make in KINDS.items()}
    assert {kind: texts for kind, texts in found.items() if texts} == {}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("second", ["a text", "a number", "an object", "a tuple"])
@pytest.mark.parametrize("name", TWO)
def test_a_function_of_two_arguments(name: str, second: str) -> None:
    found = {kind: compare(TWO[name], make, KINDS[second]) for kind, make in KINDS.items()}
    assert {kind: texts for kind, texts in found.items() if texts} == {}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("owner", "name"), [(owner, name) for owner, (_, names) in METHODS.items() for name in names.split()]
)
def test_a_method_of_a_builtin_class(owner: type, name: str) -> None:
    method, receiver = getattr(owner, name), METHODS[owner][0]
    found = {kind: compare(method, receiver, make) for kind, make in KINDS.items()}
    assert {kind: texts for kind, texts in found.items() if texts} == {}

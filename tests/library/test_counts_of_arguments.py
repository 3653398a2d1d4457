"""Functions written in C refuse a number of arguments, or names, that they do not take: as in eager."""

import builtins
import collections
import functools
import itertools
import math
import re
import types
from collections.abc import Callable
from typing import Any

import pytest
import torch

import supple
from supple.capture.library.arity import misfit
from supple.capture.library.table import call

METHODS: dict[type, Callable[[], Any]] = {
    list: lambda: [1, 2],
    dict: lambda: {"a": 1},
    set: lambda: {1, 2},
    frozenset: lambda: frozenset((1, 2)),
    tuple: lambda: (1, 2),
    str: lambda: "ab",
    bytes: lambda: b"ab",
    int: lambda: 3,
    float: lambda: 2.5,
    complex: lambda: 1j,
    bool: lambda: True,
    collections.deque: lambda: collections.deque([1, 2]),
    collections.OrderedDict: lambda: collections.OrderedDict(a=1),
    collections.defaultdict: lambda: collections.defaultdict(list, a=1),
    types.MappingProxyType: lambda: types.MappingProxyType({"a": 1}),
}
LOUD = """print input open exec eval compile breakpoint help globals locals vars dir exit quit copyright
credits license""".split()
"""What talks to the outside, or says something of who calls it."""


def public(module: types.ModuleType) -> list[Callable[..., Any]]:
    named = ((name, one) for name, one in vars(module).items() if not name.startswith("_"))
    return [one for name, one in named if callable(one) and name not in LOUD]


FUNCTIONS = [
    *dict.fromkeys((*public(builtins), *public(math), *public(itertools), *METHODS)),
    functools.partial,
    functools.reduce,
]
ARGUMENTS = ((), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), (1, 2, 3, 4, 5))


def told(work: Callable[[], Any]) -> Any:
    """Return the exception that a call raises, as a text; of what it returns only the class."""
    try:
        return type(work()).__name__
    except Exception as error:
        # Whether C names the class of a method depends on how the method was asked for.
        return f"{type(error).__name__}: {re.sub(r'^[A-Za-z]+[.](?=[a-z_]+[(])', '', str(error))}"


def counted(function: Callable[..., Any]) -> list[Any]:
    """Call a function with none to five numbers, and by a name that it does not have."""
    found = [told(lambda given=given: function(*given)) for given in ARGUMENTS]
    return [*found, told(lambda: function(unknown=1)), told(lambda: function(1, unknown=1))]


def called(function: Callable[..., Any]) -> Any:
    try:
        return counted(function)
    except Exception as error:
        return repr(error)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda one: one.__name__)
def test_functions_refuse_counts_of_arguments_as_eager_does(function: Callable[..., Any]) -> None:
    found, wanted = supple.compile(called, backend="eager")(function), called(function)
    # `sorted(1, unknown=1)`: C looks at the items before it looks at the names.
    assert found[:7] == wanted[:7]
    assert function is sorted or found == wanted


@pytest.mark.parametrize("kind", METHODS, ids=lambda one: one.__name__)
def test_methods_refuse_counts_of_arguments_as_eager_does(kind: type) -> None:
    names = [name for name in dir(kind) if not name.startswith("_") and callable(getattr(kind, name))]
    for name in names:
        compiled = supple.compile(called, backend="eager")
        wanted = called(getattr(METHODS[kind](), name))
        assert compiled(getattr(METHODS[kind](), name)) == wanted, name


TENSOR_METHODS = [
    method
    for name in dir(torch.Tensor)
    if isinstance(method := getattr(torch.Tensor, name), types.MethodDescriptorType) and method in call
]
"""The methods of tensors that have rules."""


@pytest.mark.parametrize("method", TENSOR_METHODS, ids=lambda method: method.__name__)
def test_a_method_of_tensors_takes_the_numbers_that_eager_takes(method: Callable[..., Any]) -> None:
    for numbers in ((), (1,), (2, 1), (2, 3, 1)):
        try:
            method(torch.zeros(2, 3, 1), *numbers)
        except Exception:
            continue
        assert misfit(method, torch.Tensor, 1 + len(numbers), ()) is None, numbers

"""What a bound method says of itself: a method has attributes of its own, and those of its function."""

import functools
from collections.abc import Callable
from typing import Any, Final

import pytest
import torch

import supple


class Counter:
    """A class with methods of each kind."""

    def plain(self) -> None:
        """Do nothing."""

    @classmethod
    def of_class(cls) -> None:
        pass

    def marked(self) -> None:
        pass

    marked.mark = 3  # type: ignore[attr-defined]


class Items(list[int]):
    """A list of a class of its own."""


METHODS: Final[dict[str, Callable[[], Any]]] = {
    "plain": lambda: Counter().plain,
    "of the class": lambda: Counter.of_class,
    "marked": lambda: Counter().marked,
    "of a list": lambda: [1].append,
    "of a subclass of list": lambda: Items().append,
    "of a dict": lambda: {}.get,
    "of a string": lambda: "a".upper,
    "of an int": lambda: (1).__add__,
    "of an object": lambda: object().__str__,
    "of a tensor": lambda: torch.ones(2).as_strided,
    "an operator of a tensor": lambda: torch.ones(2).__add__,
    "of a tensor, in Python": lambda: torch.ones(2).split,
    "of a size": lambda: torch.ones(2).shape.numel,
    "of a module": lambda: torch.nn.ReLU().forward,
}
OTHERS: Final[dict[str, Callable[[], Any]]] = {
    "parameter": lambda: torch.nn.Parameter(torch.ones(2)),
    "tensor": lambda: torch.ones(2),
    "packet": lambda: torch.ops.aten.add,
    "overload": lambda: torch.ops.aten.add.Tensor,
    "partial": lambda: functools.partial(len, [1]),
    "function": lambda: Counter.plain,
}
NAMES: Final = (
    *("__class__", "__name__", "__qualname__", "__module__", "__doc__", "__self__", "__func__", "__call__"),
    *("__objclass__", "__text_signature__", "__get__", "__code__", "__defaults__", "__dict__", "__eq__"),
    *("__init__", "__hash__", "__wrapped__", "mark", "lacking", "__lacking__"),
)


def answer(make: Callable[[], Any], name: str) -> object:
    """Return what an object says of itself under a name, as far as it is the same for each such object."""
    try:
        found = getattr(make(), name)
    except AttributeError as error:
        return str(error)
    if found is None or isinstance(found, str | type | int):
        return found
    return type(found).__name__


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", METHODS)
def test_methods(kind: str, name: str) -> None:
    make = METHODS[kind]
    assert supple.compile(answer)(make, name) == answer(make, name)


@pytest.mark.parametrize("name", ["__class__", "lacking"])
@pytest.mark.parametrize("kind", OTHERS)
def test_other_objects(kind: str, name: str) -> None:
    make = OTHERS[kind]
    assert supple.compile(answer)(make, name) == answer(make, name)

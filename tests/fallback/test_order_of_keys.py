"""A dict from outside whose keys the program takes out and puts back: their order, and which of equals."""

from collections.abc import Callable
from typing import Any, Final

import pytest
import torch

import supple


class EqualToAll:
    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0


class Hashed:
    def __hash__(self) -> int:
        return 0


class Plain:
    pass


#: Name -> the key that is taken out, and an equal one that is put in.
KEYS: Final[dict[str, Callable[[], tuple[Any, Any]]]] = {
    "equal to all": lambda: (EqualToAll(), EqualToAll()),
    "hashed": lambda: (one := Hashed(), one),
    "plain": lambda: (one := Plain(), one),
    "tuple of one equal to all": lambda: ((1, EqualToAll()), (1, EqualToAll())),
    "bool for int": lambda: (1, True),
    "float for int": lambda: (2, 2.0),
    "negative zero": lambda: (0.0, -0.0),
    "negative zero in a tuple": lambda: ((0.0,), (-0.0,)),
    "text": lambda: ("a", "a"),
    "frozenset": lambda: (frozenset({1}), frozenset({1})),
    "class": lambda: (int, int),
}


def taken_and_put(table: dict[Any, Any], old: Any, new: Any) -> None:
    table.pop(old)
    table[new] = 5


def deleted_and_put(table: dict[Any, Any], old: Any, new: Any) -> None:
    del table[old]
    table["last"] = 3
    table[new] = 5


def written(table: dict[Any, Any], old: Any, new: Any) -> None:
    table[new] = 5


def replaced(table: dict[Any, Any], old: Any, new: Any) -> None:
    items = list(table.items())
    table.clear()
    table.update(reversed(items))
    table[new] = 5


@pytest.mark.parametrize("program", [taken_and_put, deleted_and_put, written, replaced])
@pytest.mark.parametrize("name", KEYS)
def test_keys_are_those_of_eager_in_their_order(name: str, program: Callable[..., None]) -> None:
    found: list[Any] = []

    def called(table: dict[Any, Any], old: Any, new: Any, x: torch.Tensor) -> torch.Tensor:
        program(table, old, new)
        return x + 1

    for function in (called, supple.compile(called)):
        old, new = KEYS[name]()
        names = {id(new): "new", id(old): "old", id(torch): "torch", id(len): "len"}
        table = {len: 0, old: 1, torch: 2}
        function(table, old, new, torch.ones(2))
        found.append([(names.get(id(key), repr(key)), value) for key, value in table.items()])
    assert found[1] == found[0]

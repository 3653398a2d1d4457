"""Members of an enumeration whose class says what they are equal to, before and after it says so."""

import enum
from collections.abc import Callable
from typing import Any

import pytest
import torch

import supple

PROGRAMS: dict[str, Callable[[Any], object]] = {
    "equal": lambda c: c.RED == c.GREEN,
    "different": lambda c: c.RED != c.GREEN,
    "in a tuple": lambda c: c.RED in (c.GREEN,),
    "in a list": lambda c: c.RED in [c.GREEN],
    "in a set": lambda c: c.RED in {c.GREEN},
    "in values": lambda c: c.RED in {1: c.GREEN}.values(),
    "count": lambda c: [c.RED].count(c.GREEN),
    "index": lambda c: [c.GREEN].index(c.RED),
    "remove": lambda c: [c.RED].remove(c.GREEN),
    "tuples": lambda c: (c.RED, 1) == (c.GREEN, 1),
    "tuples in order": lambda c: (c.RED, 1) < (c.GREEN, 2),
    "dicts": lambda c: {1: c.RED} == {1: c.GREEN},
    "key": lambda c: {c.RED: 1}.get(c.GREEN),
    "keys": lambda c: len({c.RED: 1, c.GREEN: 2}),
    "members of a set": lambda c: len({c.RED, c.GREEN}),
    "hash": lambda c: hash(c.RED) == hash(c.GREEN),
    "key in a tuple": lambda c: {(c.RED, 1): 1}.get((c.GREEN, 1)),
    "identity": lambda c: (c.RED is c.RED, c.RED is c.GREEN),
    "match": lambda c: _matched(c),
    "maximum": lambda c: max(c.RED, c.GREEN, key=lambda one: one.value) is c.GREEN,
}
METHODS: dict[str, dict[str, Any]] = {
    "eq": {"__eq__": lambda self, other: True},
    "eq and hash": {"__eq__": lambda self, other: True, "__hash__": lambda self: 7},
    "hash": {"__hash__": lambda self: 7},
    "unequal": {"__eq__": lambda self, other: False},
    "ne": {"__ne__": lambda self, other: False},
    "unhashable": {"__hash__": None},
}


def _matched(colors: Any) -> str:
    match colors.RED:
        case colors.GREEN:
            return "green"
        case colors.RED:
            return "red"
        case _:
            return "none"


@pytest.mark.parametrize("kind", [enum.Enum, enum.IntEnum, enum.Flag])
@pytest.mark.parametrize("methods", METHODS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_members_are_compared_as_their_class_says_now(name: str, methods: str, kind: type[enum.Enum]) -> None:
    # X-SND01
    colors: Any = kind("Colors", {"RED": 1, "GREEN": 2})  # type: ignore[arg-type]
    asks = PROGRAMS[name]

    def program(x: torch.Tensor) -> object:
        try:
            return asks(colors)
        except (TypeError, ValueError) as error:
            return type(error)

    compiled = supple.compile(program)
    x = torch.ones(2)
    for _ in range(2):
        assert compiled(x) == program(x)
        for method, function in METHODS[methods].items():
            setattr(colors, method, function)
        assert compiled(x) == program(x)
        for method in METHODS[methods]:
            delattr(colors, method)

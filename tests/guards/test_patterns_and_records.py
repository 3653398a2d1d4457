"""Facts about classes that match statements, named tuples and enumerations read."""

import enum
import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest
import torch

import supple
from supple.base.config import config


@dataclass
class Item:
    name: str
    count: int = 1


class Row(NamedTuple):
    a: int
    b: str = "a"


class Bits(enum.IntFlag):
    A = 1
    B = 2


class Color(enum.Enum):
    RED = 1


class Number(int):
    """An int that matches itself."""


def matches(x: torch.Tensor) -> Any:
    found: list[Any] = []
    for value in (Item("a", 2), Item("b"), Row(1, "c"), Number(3), Color.RED, 5):
        match value:
            case Item(name, 1):
                found.append(("one", name))
            case Item(name=name, count=count):
                found.append((name, count))
            case Row(a):
                found.append(("row", a))
            case Number(n):
                found.append(("number", n))
            case Color.RED:
                found.append("red")
            case _:
                found.append("other")
    return x * 2, found


def too_many(x: torch.Tensor) -> Any:
    match Color.RED:
        case Color(_, _):  # pyright: ignore[reportGeneralTypeIssues]  # eager says so too
            return x
        case _:
            return x * 2


def missing(x: torch.Tensor) -> Any:
    match Item("a"):
        case Item(absent=3):
            return x
        case _:
            return x * 2


def records(x: torch.Tensor) -> Any:
    row = Row(1, "b")
    a, b = row
    return x * row.a, len(row), a, b, [*row], row[0], row == (1, "b"), list(row)


def members(x: torch.Tensor) -> Any:
    return (
        x * (Bits.A + 1),
        Bits.A | Bits.B,
        -Bits.A,
        Bits.A == 1,
        Color.RED == 1,
        Bits.A < 2,
        Color.RED is Color.RED,
    )


PROGRAMS = (matches, too_many, missing, records, members)
CHANGES: tuple[tuple[type, str, Any], ...] = (
    (Item, "__match_args__", ("count", "name")),
    (Item, "__match_args__", ["name", "count"]),
    (Item, "__match_args__", ("name",)),
    (Item, "__match_args__", (None, "name")),
    (Row, "__match_args__", ("b",)),
    (Number, "__match_args__", ("real",)),
    (Row, "__iter__", lambda self: iter([7, 8])),
    (Row, "__len__", lambda self: 9),
    (Row, "__getitem__", lambda self, key: 9),
    (Row, "__eq__", None),
    (Item, "__len__", lambda self: 3),
    (Bits, "__add__", lambda self, other: 13),
    (Bits, "__or__", lambda self, other: 13),
    (Bits, "__neg__", functools.partial(lambda: 13)),
    (Bits, "__lt__", None),
    (Bits, "__eq__", lambda self, other: 13),
    (Color, "__eq__", lambda self, other: True),
)  # fmt: skip


@contextmanager
def changed(cls: type, name: str, value: object) -> Iterator[None]:
    before = vars(cls).get(name, changed)
    setattr(cls, name, value)
    try:
        yield
    finally:
        if before is changed:
            delattr(cls, name)
        else:
            setattr(cls, name, before)


def outcome(run: Callable[..., Any]) -> tuple[Any, str]:
    try:
        return "returned", str(run(torch.ones(2)))
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize(("cls", "name", "value"), CHANGES)
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_changed_class_is_seen(program: Callable[..., Any], cls: type, name: str, value: object) -> None:
    compiled = supple.compile(program, backend="eager")
    with config.patch(suppress_errors=False):
        assert outcome(compiled) == outcome(program)
        with changed(cls, name, value):
            assert outcome(compiled) == outcome(program)
        assert outcome(compiled) == outcome(program)


class Place(NamedTuple):
    """A record of which a test changes the class."""

    x: torch.Tensor
    weight: float = 1.0


def test_the_field_of_a_record_is_looked_up_in_its_class(monkeypatch: pytest.MonkeyPatch) -> None:
    def program(place: Place) -> torch.Tensor:
        return place.x * place.weight

    compiled = supple.compile(program, backend="eager")
    place = Place(torch.ones(2), 3.0)
    assert torch.equal(compiled(place), program(place))
    for other in (5.0, property(lambda self: 7.0), vars(Place)["x"]):
        monkeypatch.setattr(Place, "weight", other)
        assert torch.equal(compiled(place), program(place))

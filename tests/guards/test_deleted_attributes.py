"""Attributes that a call writes and deletes: whether they were there before, and where they are in order."""

import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch

import supple


class Plain:
    def __init__(self) -> None:
        self.n, self.q = 1, 3


class Slotted:
    __slots__ = ("n", "q", "temp")

    def __init__(self) -> None:
        self.n, self.q = 1, 3


def written_and_deleted(thing: Any) -> None:
    thing.temp = 1
    del thing.temp


def written_and_popped(thing: Any) -> None:
    thing.__dict__["temp"] = 1
    thing.__dict__.pop("temp")


def deleted_and_written(thing: Any) -> None:
    del thing.n
    thing.n = 5


def deleted_and_written_in_turns(thing: Any) -> None:
    thing.n = 6
    thing.temp = 2
    del thing.n
    del thing.temp
    thing.new = 7
    thing.n = 5
    thing.temp = 3


def deleted(thing: Any) -> None:
    try:
        del thing.temp
    except AttributeError:
        thing.n = 9


def read_afterwards(thing: Any) -> list[str]:
    del thing.n
    thing.n = 5
    return list(vars(thing))


WRITES = (
    written_and_deleted,
    written_and_popped,
    deleted_and_written,
    deleted_and_written_in_turns,
    deleted,
    read_afterwards,
)


def state(thing: Any) -> list[object]:
    names = list(vars(thing)) if hasattr(thing, "__dict__") else ["n", "q", "temp"]
    return [(name, repr(getattr(thing, name, None))) for name in names]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", [Plain, Slotted, torch.nn.Identity])
@pytest.mark.parametrize("write", WRITES)
def test_what_was_there_before_is_seen(write: Callable[[Any], object], kind: type) -> None:
    def program(x: torch.Tensor, thing: Any) -> object:
        return x, write(thing)

    def made(has_temp: bool) -> Any:
        thing = kind()
        thing.n = 1
        if has_temp:
            thing.temp = 8
        return thing

    def run(function: Callable[..., Any], thing: Any) -> object:
        try:
            found = repr(function(torch.ones(1), thing)[1])
        except (AttributeError, TypeError) as error:
            found = str(error)
        return found, state(thing)

    for order in itertools.product((False, True), repeat=3):
        compiled = supple.compile(program, backend="eager")
        for has_temp in order:
            mine, theirs = made(has_temp), made(has_temp)
            for _ in range(2):
                assert run(compiled, mine) == run(program, theirs)


def test_attributes_of_a_new_object_are_in_order() -> None:
    def program(x: torch.Tensor) -> Any:
        thing = Plain()
        del thing.n
        thing.z = x  # type: ignore[attr-defined]
        thing.n = 2
        return thing, list(vars(thing))

    found, names = supple.compile(program, backend="eager")(torch.ones(1))
    assert list(vars(found)) == names == ["q", "z", "n"]

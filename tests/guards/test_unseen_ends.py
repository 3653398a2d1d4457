"""An object whose end the program sees may come where one ended unseen when the code was compiled."""

import weakref
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Final

import pytest
import torch

import supple

Program = Callable[[Any, list[int], torch.Tensor], torch.Tensor]


class Told:
    """Says that it ends."""

    def __init__(self, log: list[int]) -> None:
        self.log = log

    def __del__(self) -> None:
        self.log.append(1)


class Referred:
    """May be referred to weakly."""


class Slotted:
    """Holds one thing in a slot."""

    __slots__ = ("it",)

    def __init__(self) -> None:
        self.it: object = None


class Holder:
    """Holds one thing in many ways."""

    def __init__(self, thing: object) -> None:
        self.it = thing
        self.items = [thing]
        self.entries = {"it": thing}
        self.slotted = Slotted()
        self.members = {0}
        self.nested = SimpleNamespace(it=[thing])
        self.cell = written_cell(thing)


def written_cell(thing: object) -> Callable[[object], None]:
    def write(other: object) -> None:
        nonlocal thing
        thing = other

    return write


last: object = None


def attribute(holder: Holder, log: list[int], x: torch.Tensor) -> torch.Tensor:
    holder.it = None
    return x * len(log)


def deleted(holder: Holder, log: list[int], x: torch.Tensor) -> torch.Tensor:
    del holder.it
    return x * len(log)


def slot(holder: Holder, log: list[int], x: torch.Tensor) -> torch.Tensor:
    holder.slotted.it = None
    return x * len(log)


def members(holder: Holder, log: list[int], x: torch.Tensor) -> torch.Tensor:
    size = len(holder.members)
    del holder.members
    return x * len(log) + size


def member(holder: Holder, log: list[int], x: torch.Tensor) -> torch.Tensor:
    holder.members.clear()
    return x * len(log)


def item(holder: Holder, log: list[int], x: torch.Tensor) -> torch.Tensor:
    holder.items[0] = None
    return x * len(log)


def cleared(holder: Holder, log: list[int], x: torch.Tensor) -> torch.Tensor:
    holder.items.clear()
    return x * len(log)


def entry(holder: Holder, log: list[int], x: torch.Tensor) -> torch.Tensor:
    holder.entries["it"] = None
    return x * len(log)


def popped(holder: Holder, log: list[int], x: torch.Tensor) -> torch.Tensor:
    holder.entries.pop("it")
    return x * len(log)


def nested(holder: Holder, log: list[int], x: torch.Tensor) -> torch.Tensor:
    holder.nested = None
    return x * len(log)


def cell(holder: Holder, log: list[int], x: torch.Tensor) -> torch.Tensor:
    holder.cell(None)
    return x * len(log)


def variable(holder: Holder, log: list[int], x: torch.Tensor) -> torch.Tensor:
    global last
    last = None
    return x * len(log)


PROGRAMS: Final[tuple[Program, ...]] = (
    attribute,
    deleted,
    slot,
    members,
    member,
    item,
    cleared,
    entry,
    popped,
    nested,
    cell,
    variable,
)


def called(
    function: Program, program: Program, make: Callable[[list[int]], object], log: list[int]
) -> torch.Tensor:
    """Call with a holder that alone holds what `make` gives; `program` says in which way."""
    global last
    thing = make(log)
    holder = Holder(None)
    if program is variable:
        last = thing
    elif program in (attribute, deleted):
        holder.it = thing
    elif program is slot:
        holder.slotted.it = thing
    elif program in (members, member) and isinstance(thing, Told | Referred):
        holder.members = {thing}  # pyright: ignore[reportAttributeAccessIssue]
    elif program in (item, cleared):
        holder.items[0] = thing
    elif program in (entry, popped):
        holder.entries["it"] = thing
    elif program is nested:
        holder.nested.it[0] = thing
    else:
        holder.cell(thing)
    del thing
    return function(holder, log, torch.ones(2))


def referred(log: list[int]) -> object:
    """Return an object of which a callback tells the end."""
    made = Referred()
    KEPT.append(weakref.ref(made, lambda _: log.append(1)))
    return made


KEPT: Final[list[weakref.ReferenceType[Referred]]] = []
UNSEEN: Final[tuple[Callable[[list[int]], object], ...]] = (
    lambda log: None,
    lambda log: 5,
    lambda log: Referred(),
    lambda log: [3],
)


@pytest.mark.parametrize("seen", [Told, referred], ids=["finalizer", "callback"])
@pytest.mark.parametrize("before", UNSEEN, ids=["none", "number", "object", "list"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_ends_are_seen_where_none_were(
    program: Program, before: Callable[[list[int]], object], seen: Callable[[list[int]], object]
) -> None:
    compiled = supple.compile(program, backend="eager")
    for make in (before, seen, before, seen):
        mine: list[int] = []
        its: list[int] = []
        expected = called(program, program, make, mine)
        assert torch.equal(called(compiled, program, make, its), expected)
        assert its == mine


@pytest.mark.parametrize("backend", ["eager", "native"])
def test_generators_that_loops_replace_are_closed(backend: str) -> None:
    """The first pass of the loop replaces nothing, the second a generator that the first has begun."""
    log: list[int] = []
    none: weakref.WeakKeyDictionary[Referred, int] = weakref.WeakKeyDictionary()

    def closing() -> Any:
        try:
            yield len(log)
        finally:
            log.append(1)

    def program(x: torch.Tensor) -> torch.Tensor:
        for _ in (1, 3):
            sum(none)  # pyright: ignore[reportArgumentType, reportCallIssue]
            begun = closing()
            count = next(begun)
            supple.graph_break()
            x = x * (count + 1)
        return x

    expected = [program(torch.ones(2)).tolist() for _ in range(3)]
    log.clear()
    compiled = supple.compile(program, backend=backend)
    assert [compiled(torch.ones(2)).tolist() for _ in range(3)] == expected

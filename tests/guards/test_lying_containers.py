"""Subclasses of tuple, list and dict whose methods raise or lie: asked only where the program asks them."""

from collections import OrderedDict, namedtuple
from collections.abc import Callable
from typing import Any

import pytest
import torch

import supple
from tests.guards.change import same

X = torch.ones(2)
ALL = ("__len__", "__iter__", "__getitem__", "__eq__", "__bool__", "__contains__", "keys", "values", "items")


def asked(*_: object, **__: object) -> Any:
    raise RuntimeError("asked")


def refusing(base: type, *names: str) -> type:
    """Return a subclass of which these methods raise."""
    return type("Refusing", (base,), {**dict.fromkeys(names, asked), "__hash__": None})


CONTENTS: dict[type, Any] = {
    tuple: (X, 2, 3),
    list: [X, 2, 3],
    dict: {0: X, 1: 2, "a": 3},
    OrderedDict: {0: X, 1: 2, "a": 3},
}
PROGRAMS: dict[str, Callable[[Any, type], object]] = {
    "not looked at": lambda t, base: X + 1,
    "handed on": lambda t, base: (X + 1, (lambda one: one is t)(t)),
    "length": lambda t, base: X * len(t),
    "length of the base": lambda t, base: X * base.__len__(t),
    "item": lambda t, base: X * t[1],
    "item of the base": lambda t, base: X * base.__getitem__(t, 1),
    "items": lambda t, base: (X + 1, [*map(repr, iter(t))]),
    "items of the base": lambda t, base: (X + 1, [*map(repr, base.__iter__(t))]),
    "list": lambda t, base: (X + 1, len(list(t))),
    "tuple": lambda t, base: (X + 1, len(tuple(t))),
    "starred": lambda t, base: (lambda *args: X * len(args))(*t),
    "unpacked": lambda t, base: X * len([*t]),
    "truth": lambda t, base: X + 1 if t else X - 1,
    "in": lambda t, base: X + (X in t),
    "equal": lambda t, base: X + (t == 1),
    "instance": lambda t, base: X + isinstance(t, base),
}


def outcome(program: Callable[..., object], *args: object) -> object:
    try:
        return program(*args)
    except Exception as error:
        return type(error).__name__, str(error)


@pytest.mark.parametrize("names", [*((name,) for name in ALL), ALL], ids="-".join)
@pytest.mark.parametrize("base", CONTENTS, ids=lambda base: base.__name__)
def test_methods_are_called_where_the_program_calls_them(base: type, names: tuple[str, ...]) -> None:
    for name, program in PROGRAMS.items():
        compiled = supple.compile(program, backend="eager")
        whole = refusing(base, *names)(CONTENTS[base])
        for _ in range(2):
            found, expected = outcome(compiled, whole, base), outcome(program, whole, base)
            assert same(found, expected), (name, found, expected)
        reasons = str(supple.stats()["fallback_reasons"])
        assert "I001" not in reasons, (name, reasons)
        supple.reset()


@pytest.mark.parametrize("base", CONTENTS, ids=lambda base: base.__name__)
def test_what_such_a_container_holds_is_guarded(base: type) -> None:
    kind = refusing(base, *ALL)
    compiled = supple.compile(PROGRAMS["item of the base"], backend="eager", fullgraph=True)
    for number in (2, 2, 5, 7):
        contents = CONTENTS[base]
        changed = {**contents, 1: number} if isinstance(contents, dict) else [X, number]
        assert same(compiled(kind(changed), base), X * number)
    assert same(compiled(kind({0: X, 1: X} if isinstance(contents, dict) else [X, X, 3]), base), X * X)


@pytest.mark.parametrize("base", [list, dict, OrderedDict], ids=lambda base: base.__name__)
def test_such_a_container_is_written(base: type) -> None:
    def program(x: torch.Tensor, whole: Any) -> torch.Tensor:
        base.__setitem__(whole, 1, x + 1)
        return x * 2

    mine, theirs = (refusing(base, *ALL)(CONTENTS[base]) for _ in range(2))
    for _ in range(2):
        assert same(supple.compile(program, fullgraph=True)(X, mine), program(X, theirs))
        assert same(base.__getitem__(mine, 1), base.__getitem__(theirs, 1))


class Counting(list[int]):
    """A list that counts how often its length was asked for."""

    asked = 0

    def __len__(self) -> int:
        self.asked += 1
        return super().__len__()


def test_a_length_is_asked_for_as_often_as_in_eager() -> None:
    def program(x: torch.Tensor, whole: Counting) -> torch.Tensor:
        return x * len(list(whole)) * len(tuple(whole)) * len(whole) * sum(whole)

    mine, theirs = Counting([1, 2]), Counting([1, 2])
    compiled = supple.compile(program)
    for _ in range(2):
        assert same(compiled(X, mine), program(X, theirs))
        assert mine.asked == theirs.asked


class Shown(namedtuple("Shown", "a b")):
    """A named tuple that lies about its length, what it gives and what it equals."""

    def __len__(self) -> int:
        return 7

    def __iter__(self) -> Any:
        yield 5

    def __getitem__(self, place: Any) -> Any:
        return 9

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 3


@pytest.mark.parametrize("name", PROGRAMS)
def test_methods_of_a_named_tuple_are_called(name: str) -> None:
    program = PROGRAMS[name]
    compiled = supple.compile(program, backend="eager")
    for whole in (Shown(X, 2), Shown(X, 3)):
        assert same(outcome(compiled, whole, tuple), outcome(program, whole, tuple)), name


def test_fields_of_a_named_tuple_that_lies_are_read() -> None:
    def program(x: torch.Tensor, whole: Shown) -> object:
        made = Shown(x, 4)
        return x * whole.b + whole.a, made.b, len(made), made == 3

    compiled = supple.compile(program, backend="eager")
    for whole in (Shown(X, 2), Shown(X, 3)):
        assert same(compiled(X, whole), program(X, whole))

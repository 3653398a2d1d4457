"""A name that nothing reads behind a break still holds its object there: a weak reference tells."""

import collections
import functools
import gc
import threading
import weakref
from collections.abc import Callable

import numpy as np
import pytest
import torch

import supple
from supple.testing import assert_compiles

pytestmark = pytest.mark.sweep


class Plain:
    def method(self) -> int:
        return 1


class Items(list[int]):
    pass


def a_function() -> Callable[[], list[int]]:
    held = [0]
    return lambda: held


MAKERS: dict[str, Callable[[], object]] = {
    "instance": Plain,
    "a subclass of list": Items,
    "set": lambda: {1, 2},
    "frozenset": lambda: frozenset((1,)),
    "deque": lambda: collections.deque([1]),
    "ordered dict": collections.OrderedDict,
    "function": a_function,
    "partial": lambda: functools.partial(print, 1),
    "tensor": lambda: torch.ones(2),
    "module": lambda: torch.nn.Linear(1, 1),
    "array": lambda: np.ones(2),
    "lock": threading.Lock,
    "what a list holds": lambda: [Plain()],
    "what a list in a dict holds": lambda: {"key": [Plain()]},
    "owner of a method": lambda: Plain().method,
}


def is_gone(ref: "weakref.ref[object]") -> bool:
    gc.collect()
    return ref() is None


def a_name(x: torch.Tensor, box: list[object], ref: "weakref.ref[object]") -> object:
    _held = box.pop()
    y = x + 1
    print(end="")
    return y, is_gone(ref)


def a_name_in_a_called_function(x: torch.Tensor, box: list[object], ref: "weakref.ref[object]") -> object:
    def called() -> torch.Tensor:
        _held = box.pop()
        y = x + 1
        print(end="")
        return y * 2 if is_gone(ref) else y * 3

    return called() * 5


def behind_two_breaks(x: torch.Tensor, box: list[object], ref: "weakref.ref[object]") -> object:
    _held = box.pop()
    print(end="")
    y = x + 1
    print(end="")
    return y, is_gone(ref)


def in_a_container_of_the_call(x: torch.Tensor, box: list[object], ref: "weakref.ref[object]") -> object:
    _held = [box.pop(), 1], 2
    y = x + 1
    print(end="")
    return y, is_gone(ref)


def a_name_bound_again(x: torch.Tensor, box: list[object], ref: "weakref.ref[object]") -> object:
    _held = box.pop()
    y = x + 1
    print(end="")
    _held = None
    return y, is_gone(ref)


def a_name_deleted(x: torch.Tensor, box: list[object], ref: "weakref.ref[object]") -> object:
    _held = box.pop()
    y = x + 1
    print(end="")
    before = is_gone(ref)
    del _held
    print(end="")
    return y, before, is_gone(ref)


def names_of_a_loop(x: torch.Tensor, box: list[object], ref: "weakref.ref[object]") -> object:
    seen: list[bool] = []
    for _ in range(2):
        _held = box.pop() if box else None
        x = x + 1
        print(end="")
        seen.append(is_gone(ref))
    return x, seen


PROGRAMS = (
    a_name,
    a_name_in_a_called_function,
    behind_two_breaks,
    in_a_container_of_the_call,
    a_name_bound_again,
    a_name_deleted,
    names_of_a_loop,
)


def watched(made: object) -> object:
    """Return the object whose end is looked at, of what was made: the innermost one."""
    while type(made) in (dict, list):
        made = made["key"] if isinstance(made, dict) else made[0]
    return getattr(made, "__self__", made)


def results(run: Callable[..., object], make: Callable[[], object]) -> list[str]:
    found: list[str] = []
    for _ in range(2):
        made = make()
        box, ref = [made], weakref.ref(watched(made))
        del made
        found.append(str(run(torch.ones(2), box, ref)))
    return found


@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_names_hold_their_objects(program: Callable[..., object], kind: str, backend: str) -> None:
    make = MAKERS[kind]
    assert results(supple.compile(program, backend=backend), make) == results(program, make)


@pytest.mark.parametrize("first", ["int", "tensor", "instance"])
def test_what_comes_later_under_a_name_is_of_another_kind(first: str) -> None:
    makers = {"int": lambda: 1, "tensor": lambda: torch.ones(2), "instance": Plain}
    compiled = supple.compile(a_name, backend="eager")
    for kind in (first, "instance", "tensor", "int"):
        seen = []
        for run in (a_name, compiled):
            made = makers[kind]()
            box, ref = [made], weakref.ref(made if kind != "int" else Plain)
            del made
            seen.append(str(run(torch.ones(2), box, ref)))
        assert seen[0] == seen[1]


def test_nothing_is_guarded_of_an_argument_that_a_break_only_keeps() -> None:
    def program(x: torch.Tensor, other: object) -> torch.Tensor:
        y = x + 1
        supple.graph_break()
        return y * 2

    with assert_compiles(2):  # up to the break, and behind it
        compiled = supple.compile(program, backend="eager")
        for other in (1, 2.5, "text", torch.ones(3), None, [1], Plain()):
            compiled(torch.ones(2), other)

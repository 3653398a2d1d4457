"""Texts of errors name classes: they hold while a class has that name."""

import operator
from collections.abc import Callable
from typing import Any

import pytest
import torch

import supple
from supple.base.config import config


def made() -> type:
    """Return a class of its own: no other test sees its name change."""

    class Thing:
        __slots__ = ("n",)

    return Thing


ERRORS: dict[str, Callable[[Any], object]] = {
    "attribute": lambda one: one.other,
    "written attribute": lambda one: setattr(one, "other", 1),
    "operator": lambda one: one + 1,
    "right operand": lambda one: [] + one,  # noqa: RUF005
    "comparison": lambda one: one < 1,
    "item": lambda one: one[0],
    "length": len,
    "iteration": lambda one: [*one],
    "next": next,
    "call": lambda one: one(),
    "membership": lambda one: 1 in one,
    "reversed": reversed,
    "int": int,
    "float": float,
    "with": lambda one: one.__class__ and _enter(one),
    "sum": sum,
    "abs": abs,
    "negation": lambda one: -one,
    "in place": lambda one: _add(one),
    "index": lambda one: [1, 2][one],
    "join": lambda one: "".join([one]),
    "percent": lambda one: "%d" % one,  # noqa: UP031
    "round": round,
    "unpacked": lambda one: _unpack(one),
    "keywords": lambda one: dict(**one),
    "items of a display": lambda one: {**one},
    "positions": lambda one: dict(*one),
    "first and rest": lambda one: _unpack_rest(one),
    "set display": lambda one: {*one},
    "format": lambda one: f"{one:>3}",
    "arguments": lambda one: type(one)(1),
    "deleted item": lambda one: operator.delitem(one, 0),
    "written item": lambda one: operator.setitem(one, 0, 1),
    "item deleted by a statement": lambda one: _delete_item(one),
    "item written by a statement": lambda one: _write_item(one),
    "deleted attribute": lambda one: delattr(one, "other"),
    "slice": lambda one: one[1:2],
    "hash": lambda one: {one: 1}.get(one),
    "truth": bool,
    "text": lambda one: str(one)[:3],
}


def _enter(one: Any) -> None:
    with one:
        pass


def _add(one: Any) -> None:
    one += 1


def _unpack(one: Any) -> None:
    _, _ = one


def _delete_item(one: Any) -> None:
    del one[0]


def _write_item(one: Any) -> None:
    one[0] = 1


def _unpack_rest(one: Any) -> None:
    _, *_ = one


@pytest.mark.parametrize("name", ERRORS)
def test_the_text_of_an_error_has_the_name_that_the_class_has_now(name: str) -> None:
    # X-SND01
    fails, cls = ERRORS[name], made()

    def program(x: torch.Tensor, one: object) -> tuple[torch.Tensor, str]:
        try:
            fails(one)
        except (TypeError, AttributeError, ValueError) as error:
            return x + 1, str(error)
        return x - 1, ""

    compiled = supple.compile(program)
    x = torch.ones(2)
    for given in ("Thing", "Other", "Thing"):
        cls.__name__ = given
        assert compiled(x, cls())[1] == program(x, cls())[1]


NAMES = (
    "len getitem setitem delitem call contains iter next reversed hash bool index int float enter exit"
    " add radd eq lt neg abs str repr format getattr setattr delattr iadd"
).split()


def outcome(asks: Callable[[Any], object], one: object) -> str:
    """Return what an operation gives or raises, as a text."""
    try:
        return str(asks(one))
    except (TypeError, AttributeError, ValueError) as error:
        return f"{type(error)} {error}"


def with_none(*names: str) -> object:
    """Return an object whose class has None for these special methods."""
    return type("Odd", (), {f"__{name}__": None for name in names})()


PAIRS = [
    (operation, name)
    for operation, asks in ERRORS.items()
    for name in NAMES
    if operation == "negation" or outcome(asks, with_none(name)) != outcome(asks, with_none())
]
"""Operations, and what they would look up."""


@pytest.mark.parametrize(("operation", "name"), PAIRS)
def test_a_special_method_that_is_none(operation: str, name: str) -> None:
    # X-SND01
    asks, one = ERRORS[operation], with_none(name)

    def program(x: torch.Tensor, one: object) -> tuple[torch.Tensor, str]:
        try:
            return x + 1, str(asks(one))
        except (TypeError, AttributeError, ValueError) as error:
            return x - 1, f"{type(error)} {error}"

    with config.patch(suppress_errors=False):
        assert supple.compile(program)(torch.ones(2), one)[1] == program(torch.ones(2), one)[1]


class Number:
    def __float__(self) -> float:
        return 1.5

    def __index__(self) -> int:
        return 3


@pytest.mark.parametrize("template", ["%f", "%d", "%x", "%s", "%5.1f|%s", "%(a)d", "%c", "%d %d"])
def test_a_format_asks_an_object_for_a_number(template: str) -> None:
    # X-SND01
    def program(x: torch.Tensor, one: object) -> tuple[torch.Tensor, str]:
        given = {"a": one} if "(" in template else (one, x.shape[0]) if "|" in template else (one,)
        try:
            return x + 1, (template % given).replace(hex(id(one)), "")
        except TypeError as error:
            return x - 1, str(error)

    one = Number()
    assert supple.compile(program)(torch.ones(2), one)[1] == program(torch.ones(2), one)[1]

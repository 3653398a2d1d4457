"""Objects that say another class than theirs, as proxies and mocks do: isinstance believes them."""

import abc
from collections.abc import Callable
from typing import Any, Final
from unittest.mock import Mock

import pytest
import torch

import supple
from supple.base.config import config


class ByProperty:
    kind: Any = dict
    __class__ = property(lambda self: self.kind)  # type: ignore[assignment]


class ByGetattribute:
    def __getattribute__(self, name: str) -> Any:
        return list if name == "__class__" else object.__getattribute__(self, name)


class ByAttribute:
    __class__ = dict  # type: ignore[assignment]


class NoClass:
    __class__ = 5  # type: ignore[assignment]


class Raising:
    error: type[Exception] = ValueError

    @property
    def __class__(self) -> Any:  # type: ignore[override]
        raise self.error("no class")


class WithoutClass(Raising):
    error = AttributeError


class Registered(abc.ABC):  # noqa: B024  # its members are registered
    pass


Registered.register(dict)
CLASSES: Final = (dict, list, int, object, Registered, (int, dict), int | dict)
MAKERS: Final[tuple[Callable[[], Any], ...]] = (
    ByProperty,
    ByGetattribute,
    ByAttribute,
    NoClass,
    Raising,
    WithoutClass,
)


def asked(thing: Any) -> list[Any]:
    found: list[Any] = []
    for cls in CLASSES:
        try:
            found.append(isinstance(thing, cls))  # type: ignore[arg-type]
        except Exception as error:
            found.append(repr(error))
    return found


def read(thing: Any) -> Any:
    try:
        return thing.__class__
    except Exception as error:
        return repr(error)


def matched(thing: Any) -> Any:
    try:
        match thing:
            case dict():
                return "dict"
            case list():
                return "list"
            case _:
                return "other"
    except Exception as error:
        return repr(error)


@pytest.mark.parametrize("question", [asked, read, matched])
@pytest.mark.parametrize("is_made_inside", [False, True])
@pytest.mark.parametrize("make", MAKERS)
def test_what_an_object_says_is_believed(
    make: Callable[[], Any], is_made_inside: bool, question: Any
) -> None:
    def program(thing: Any, x: torch.Tensor) -> Any:
        return question(make() if is_made_inside else thing), x + 1

    thing = make()
    assert supple.compile(program)(thing, torch.ones(1))[0] == program(thing, torch.ones(1))[0]


def test_what_an_object_says_may_change() -> None:
    def program(thing: Any, x: torch.Tensor) -> torch.Tensor:
        return x + 1 if isinstance(thing, dict) else x

    thing, compiled = ByProperty(), supple.compile(program)
    assert compiled(thing, torch.ones(1)).item() == 2
    thing.kind = list
    assert compiled(thing, torch.ones(1)).item() == 1


def test_a_mock_is_what_it_stands_for() -> None:
    thing = Mock(spec=dict)
    compiled = supple.compile(lambda thing, x: x + 1 if isinstance(thing, dict) else x)
    assert compiled(thing, torch.ones(1)).item() == 2


class Naming:
    """Has for its objects what classes have for themselves."""

    __class__ = property(lambda self: dict)  # type: ignore[assignment]
    __name__ = property(lambda self: "name")
    __mro__ = property(lambda self: 3)
    __bases__ = property(lambda self: 4)
    __basicsize__ = property(lambda self: 5)
    __module__ = property(lambda self: "module")  # type: ignore[assignment]


@pytest.mark.parametrize(
    "name", ["__class__", "__name__", "__mro__", "__bases__", "__basicsize__", "__module__"]
)
def test_what_objects_have_is_not_what_their_class_has(name: str) -> None:
    def program(thing: Any, x: torch.Tensor) -> Any:
        return getattr(thing, name), isinstance(thing, Registered), x + 1

    with config.patch(suppress_errors=False):
        assert supple.compile(program)(Naming(), torch.ones(1))[:2] == program(Naming(), torch.ones(1))[:2]

"""The text of a class is what its metaclass makes of it now."""

from collections.abc import Callable

import pytest
import torch

import supple

NUMBER = {"now": 1}


class Repr(type):
    def __repr__(cls) -> str:
        return f"repr {NUMBER['now']}"


class Text(type):
    def __str__(cls) -> str:
        return f"text {NUMBER['now']}"


class Format(type):
    def __format__(cls, spec: str) -> str:
        return f"format {NUMBER['now']} {spec}"


class First(metaclass=Repr):
    pass


class Second(metaclass=Text):
    pass


class Third(metaclass=Format):
    pass


PERCENT, PERCENTS, BRACES = "%s", "%s %r", "{} {!r}"

TEXTS: dict[str, Callable[[type], str]] = {
    "repr": repr,
    "str": str,
    "a field": lambda cls: f"{cls}",
    "a field with !r": lambda cls: f"{cls!r}",
    "a field with a format": lambda cls: f"{[cls]} and {cls}",
    "format": lambda cls: format(cls, ""),
    "percent": lambda cls: PERCENT % cls,
    "percents": lambda cls: PERCENTS % (cls, [cls]),
    "a mapping's percent": lambda cls: "%(one)s" % {"one": cls},  # noqa: UP031
    "str.format": lambda cls: BRACES.format(cls, [cls]),
    "str.format by name": lambda cls: "{one}".format(one=cls),  # noqa: UP032
    "a list": lambda cls: str([cls]),
    "a tuple": lambda cls: repr((cls, 1)),
    "a dict": lambda cls: str({cls: cls}),
    "a set": lambda cls: str({cls}),
    "an exception": lambda cls: str(ValueError(cls)),
    "an exception's repr": lambda cls: repr(KeyError(cls)),
    "a join": lambda cls: ",".join(map(str, [cls])),
}


@pytest.mark.parametrize("cls", [First, Second, Third], ids=lambda cls: type(cls).__name__)
@pytest.mark.parametrize("name", TEXTS)
def test_a_text_of_a_class_is_what_its_metaclass_says_now(
    name: str, cls: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    def program(x: torch.Tensor) -> object:
        return x.shape, TEXTS[name](cls)

    compiled, x = supple.compile(program, backend="eager"), torch.ones(2)
    assert compiled(x) == program(x)
    monkeypatch.setitem(NUMBER, "now", 2)
    assert compiled(x) == program(x)
    metaclass = type(cls)
    method = next(one for one in ("__repr__", "__str__", "__format__") if one in vars(metaclass))
    monkeypatch.setattr(metaclass, method, lambda cls, *spec: "another")
    assert compiled(x) == program(x)

"""`object.__new__` and `object.__init__`: which arguments they refuse, by what the class has of its own."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

import supple


class Passing:
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)


class PassingToNew:
    def __new__(cls, *args: Any) -> "PassingToNew":
        return super().__new__(cls, *args)


class Both(PassingToNew):
    def __init__(self, *args: Any) -> None:
        super().__init__(*args)


class Newly:
    def __new__(cls, *_: Any) -> "Newly":
        return super().__new__(cls)


class Plain:
    pass


class Number(int):
    def __init__(self, value: int) -> None:
        super().__init__(value)  # type: ignore[call-arg]


class Row(list[int]):
    def __init__(self, value: int) -> None:
        super().__init__([value])


class Named:
    def __init__(self, value: int) -> None:
        self.value = value


class Mixed(Passing, Named):
    pass


MADE: dict[str, Callable[[], object]] = {
    "passing": lambda: Passing(1),
    "passing by name": lambda: Passing(a=1),
    "passing nothing": lambda: Passing(),
    "passing to new": lambda: PassingToNew(1),
    "passing nothing to new": lambda: PassingToNew(),
    "both": lambda: Both(1),
    "both, nothing": lambda: Both(),
    "newly": lambda: Newly(1),
    "plain": lambda: Plain(1),  # type: ignore[call-arg]
    "number": lambda: Number(1),
    "row": lambda: Row(1),
    "mixed": lambda: Mixed(1),
    "init by hand": lambda: object.__init__(Named(1), 2),  # type: ignore[call-arg]
    "init of a plain one": lambda: Plain().__init__(2),  # type: ignore[misc]
    "init of nothing": lambda: object.__init__(),  # type: ignore[call-arg]
    "new by hand": lambda: object.__new__(Named),
    "new by hand, more": lambda: object.__new__(Named, 1),  # type: ignore[call-arg]
    "new by hand, more for a plain one": lambda: object.__new__(Plain, 1),  # type: ignore[call-arg]
    "new by hand, more for one with its own": lambda: object.__new__(Newly, 1),  # type: ignore[call-arg]
    "new of a number": lambda: object.__new__(int),
    "new of a subclass of a number": lambda: object.__new__(Number),
    "new of nothing": lambda: object.__new__(),  # type: ignore[call-arg]
    "new of no class": lambda: object.__new__(3),  # type: ignore[type-var]
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MADE)
def test_arguments_of_bare_objects_are_refused_as_in_eager(name: str) -> None:
    def program(x: torch.Tensor) -> tuple[object, ...]:
        try:
            made = MADE[name]()
        except TypeError as error:
            return x * 2, str(error)
        return x, type(made), repr(getattr(made, "__dict__", None))

    x = torch.ones(2)
    assert supple.compile(program, backend="eager")(x)[1:] == program(x)[1:]


class Mixin:
    pass


class Derived(Named):
    def __init__(self, value: int) -> None:
        super().__init__(value)


def test_a_class_that_gets_other_bases() -> None:
    def program(x: torch.Tensor) -> object:
        try:
            return x.shape, Derived(2).value
        except TypeError as error:
            return str(error)

    compiled, x = supple.compile(program, backend="eager"), torch.ones(2)
    for bases in ((Named,), (Mixin,), (Named,), (Mixin, Named)):
        Derived.__bases__ = bases
        assert compiled(x) == program(x)


class Later:
    pass


class LaterInit:
    pass


class Given:
    def __init__(self, *_: object) -> None:
        pass


def _own_new(cls: type, *_: object) -> Any:
    return super(cls, cls).__new__(cls)


LATER: dict[str, tuple[Callable[[], object], type, str, object]] = {
    "init by hand, then a new": (lambda: object.__init__(Later(), *(2,)), Later, "__new__", _own_new),
    "new by hand, then a new": (lambda: object.__new__(Given, *(2,)), Given, "__new__", _own_new),
    "new by hand, then an init": (
        lambda: object.__new__(LaterInit, *(2,)),
        LaterInit,
        "__init__",
        Given.__init__,
    ),
}


@pytest.mark.parametrize("name", LATER)
def test_what_a_class_is_given_later_counts(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made, owner, attribute, function = LATER[name]

    def program(x: torch.Tensor) -> object:
        try:
            return x.shape, type(made())
        except TypeError as error:
            return str(error)

    compiled, x = supple.compile(program, backend="eager"), torch.ones(2)
    assert compiled(x) == program(x)
    monkeypatch.setattr(owner, attribute, function)
    assert compiled(x) == program(x)

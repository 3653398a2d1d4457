"""Texts of errors name a class: they hold while the class has that name."""

import abc
import operator
from collections.abc import Callable

import pytest
import torch

import supple


class Bare:
    @property
    def fixed(self) -> int:
        return 1

    write_only = property(fset=lambda self, value: None)


class Count(int):
    pass


class Word(str):
    pass


class Abstract(abc.ABC):
    @abc.abstractmethod
    def asked(self) -> int: ...


def a_pattern(value: object) -> int:
    match value:
        case Bare(1, 2):  # type: ignore[misc]
            return 1
        case _:
            return 0


REFUSED: dict[str, tuple[type, Callable[[], object]]] = {
    "a missing attribute": (Bare, lambda: Bare().missing),  # type: ignore[attr-defined]
    "an attribute that cannot be written": (Bare, lambda: setattr(Bare(), "fixed", 2)),
    "an attribute that cannot be deleted": (Bare, lambda: delattr(Bare(), "fixed")),
    "an attribute that cannot be read": (Bare, lambda: Bare().write_only),
    "arguments": (Bare, lambda: Bare(1)),  # type: ignore[call-arg]
    "a method's argument": (Bare, lambda: Bare.fixed.fget(1, 2)),  # type: ignore[attr-defined]
    "a pattern": (Bare, lambda: a_pattern(Bare())),
    "a call": (Bare, lambda: Bare()()),  # type: ignore[operator]
    "a sum": (Bare, lambda: Bare() + 1),  # type: ignore[operator]
    "an order": (Bare, lambda: Bare() < 1),  # type: ignore[operator]
    "an index": (Bare, lambda: [1][Bare()]),  # type: ignore[call-overload]
    "a length": (Bare, lambda: len(Bare())),  # type: ignore[arg-type]
    "a loop": (Bare, lambda: list(Bare())),  # type: ignore[call-overload]
    "a number": (Bare, lambda: int(Bare())),  # type: ignore[call-overload]
    "an abstract class": (Abstract, lambda: Abstract()),  # type: ignore[abstract]
    "a bare abstract class": (Abstract, lambda: object.__new__(Abstract)),
    "a sum with a number": (Count, lambda: b"a" + Count(1)),  # type: ignore[operator]
    "a number's sum": (Count, lambda: Count(1) + None),  # type: ignore[operator]
    "a number's mask": (Count, lambda: Count(1) & "a"),  # type: ignore[operator]
    "a number's power": (Count, lambda: Count(1) ** b"a"),  # type: ignore[operator]
    "a sum of a number in place": (Count, lambda: operator.iadd(b"a", Count(1))),
    "a quotient in place": (Count, lambda: operator.ifloordiv(Count(1), b"a")),
    "a text's mask": (Word, lambda: Word("a") | 1),  # type: ignore[operator]
    "a text's mask in place": (Word, lambda: operator.iand((1,), Word("a"))),
    "a text's quotient": (Word, lambda: divmod(1, Word("a"))),  # type: ignore[operator]
    "a text": (Bare, lambda: "a" + Bare()),  # type: ignore[operator]
    "a joined text": (Bare, lambda: ",".join([Bare()])),  # type: ignore[list-item]
    "a format": (Bare, lambda: f"{Bare():3}"),
    "a raise": (Bare, lambda: [][Bare() :]),  # type: ignore[misc]
    "a context": (Bare, lambda: Bare().__enter__()),  # type: ignore[attr-defined]
}


@pytest.mark.parametrize("attribute", ["__name__", "__qualname__"])
@pytest.mark.parametrize("name", REFUSED)
def test_an_error_names_a_class_as_it_is_called_now(name: str, attribute: str) -> None:
    owner, refused = REFUSED[name]

    def program(x: torch.Tensor) -> object:
        try:
            return x.shape, refused()
        except (TypeError, AttributeError) as error:
            return str(error)

    compiled, x = supple.compile(program, backend="eager"), torch.ones(2)
    assert compiled(x) == program(x)
    before = getattr(owner, attribute)
    try:
        setattr(owner, attribute, "Renamed")
        assert compiled(x) == program(x)
    finally:
        setattr(owner, attribute, before)

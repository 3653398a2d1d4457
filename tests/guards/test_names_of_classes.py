"""Texts of errors name a class: they hold while the class has that name."""

import abc
import contextlib
import dataclasses
import enum
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

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


def raised(error: Any) -> NoReturn:
    raise error


class Says:
    """Its special methods return what Python does not take."""

    def __init__(self, given: object) -> None:
        self.given = given

    __str__ = __repr__ = __format__ = lambda self, *rest: self.given  # type: ignore[assignment,misc]
    __index__ = __len__ = __hash__ = __bool__ = __int__ = __float__ = __iter__ = __str__  # type: ignore[assignment]


class Initialised:
    def __init__(self, given: object) -> None:
        return given  # type: ignore[return-value]


class Slotted:
    __slots__ = ("one",)


class Below(Bare):
    def told(self) -> object:
        return super().missing  # type: ignore[misc]


class Wrong(Exception):
    pass


class Point(NamedTuple):
    first: int


@dataclass
class Data:
    first: int


@dataclass(frozen=True)
class Frozen:
    first: int


class Colour(enum.Enum):
    RED = 1


PERCENT = ("%d", "%r")
NAME = "missing"

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
    "an attribute of a class": (Bare, lambda: Bare.missing),  # type: ignore[attr-defined]
    "an attribute of a class by its name": (Bare, lambda: getattr(Bare, NAME)),
    "an attribute of a class deleted": (Bare, lambda: delattr(Bare, "missing")),
    "an index of a class": (Bare, lambda: Bare[1]),  # type: ignore[misc]
    "an attribute of super": (Bare, lambda: Below().told()),
    "a slot": (Slotted, lambda: Slotted().one),  # type: ignore[attr-defined]
    "no slot": (Slotted, lambda: setattr(Slotted(), "two", 1)),
    "what a text is": (Bare, lambda: str(Says(Bare()))),
    "what a repr is": (Bare, lambda: repr(Says(Bare()))),
    "what an index is": (Bare, lambda: [1][Says(Bare())]),  # type: ignore[call-overload]
    "what a length is": (Bare, lambda: len(Says(Bare()))),  # type: ignore[arg-type]
    "what a hash is": (Bare, lambda: hash(Says(Bare()))),
    "what a truth is": (Bare, lambda: not Says(Bare())),
    "what an iterator is": (Bare, lambda: iter(Says(Bare()))),  # type: ignore[call-overload]
    "what a format is": (Bare, lambda: f"{Says(Bare()):3}"),
    "what a number is": (Bare, lambda: int(Says(Bare()))),  # type: ignore[call-overload]
    "what a float is": (Bare, lambda: float(Says(Bare()))),  # type: ignore[arg-type]
    "what an init returns": (Bare, lambda: Initialised(Bare())),
    "an init of another class": (Bare, lambda: Below.told(Bare())),  # type: ignore[arg-type]
    "two contexts": (Bare, lambda: contextlib.ExitStack().enter_context(Bare())),  # type: ignore[type-var]
    "unpacking": (Bare, lambda: [*Bare()]),  # type: ignore[misc]
    "unpacking names": (Bare, lambda: dict(**Bare())),  # type: ignore[arg-type]
    "unpacking arguments": (Bare, lambda: print(*Bare())),  # type: ignore[misc]
    "membership": (Bare, lambda: 1 in Bare()),  # type: ignore[operator]
    "a range": (Bare, lambda: range(Bare())),  # type: ignore[call-overload]
    "a next": (Bare, lambda: next(Bare())),  # type: ignore[call-overload]
    "a hash": (Data, lambda: hash(Data(1))),
    "a key": (Data, lambda: {Data(1): 2}),
    "a negative": (Bare, lambda: -Bare()),  # type: ignore[operator]
    "an absolute": (Bare, lambda: abs(Bare())),  # type: ignore[arg-type]
    "an order of data": (Data, lambda: Data(1) < Data(2)),  # type: ignore[operator]
    "a field of frozen data": (Frozen, lambda: setattr(Frozen(1), "first", 2)),
    "an exception": (Wrong, lambda: raised(Wrong("text"))),
    "no exception": (Bare, lambda: raised(Bare())),
    "a member": (Colour, lambda: Colour(5)),
    "a member's name": (Colour, lambda: Colour["BLUE"]),
    "a member of another": (Colour, lambda: Colour.BLUE),  # type: ignore[attr-defined]
    "a class of no instance": (Bare, lambda: isinstance(1, Bare())),  # type: ignore[arg-type]
    "a sum of a list": (Bare, lambda: sum([Bare()])),  # type: ignore[list-item]
    "a largest": (Bare, lambda: max(Bare(), Bare())),  # type: ignore[type-var]
    "a sorted": (Bare, lambda: sorted([Bare(), Bare()])),  # type: ignore[type-var]
    "a round": (Bare, lambda: round(Bare())),  # type: ignore[call-overload]
    "a tensor's sum": (Bare, lambda: torch.ones(2) + Bare()),  # type: ignore[operator]
    "a tensor's index": (Bare, lambda: torch.ones(2)[Bare()]),  # type: ignore[index]
    "a tensor's argument": (Bare, lambda: torch.add(torch.ones(2), Bare())),  # type: ignore[call-overload]
    "a percent": (Bare, lambda: PERCENT[0] % Bare()),
    "a percent of a repr": (Point, lambda: PERCENT[1] % (Point(1),)),
    "a repr of a tuple": (Point, lambda: repr(Point(1))),
    "a repr of data": (Data, lambda: repr(Data(1))),
    "a repr of an exception": (Wrong, lambda: repr(Wrong(1))),
    "a repr of a member": (Colour, lambda: repr(Colour.RED)),
    "a text of a member": (Colour, lambda: str(Colour.RED)),
    "a repr of a class": (Bare, lambda: repr(Bare)),
    "a text with a class": (Bare, lambda: f"{Bare}"),
    "a list of a class": (Bare, lambda: str([Bare])),
    "a replaced field": (Data, lambda: dataclasses.replace(Data(1), second=2)),
    "a field of a tuple": (Point, lambda: Point(1)._replace(second=2)),
    "a tuple's arguments": (Point, lambda: Point()),  # type: ignore[call-arg]
    "data's arguments": (Data, lambda: Data()),  # type: ignore[call-arg]
}


@pytest.mark.parametrize("attribute", ["__name__", "__qualname__", "__module__"])
@pytest.mark.parametrize("name", REFUSED)
def test_an_error_names_a_class_as_it_is_called_now(name: str, attribute: str) -> None:
    owner, refused = REFUSED[name]

    def program(x: torch.Tensor) -> object:
        try:
            return x.shape, refused()
        except Exception as error:
            return str(error), repr(error)

    compiled, x = supple.compile(program, backend="eager"), torch.ones(2)
    assert compiled(x) == program(x)
    before = getattr(owner, attribute)
    try:
        setattr(owner, attribute, "Renamed")
        assert compiled(x) == program(x)
    finally:
        setattr(owner, attribute, before)

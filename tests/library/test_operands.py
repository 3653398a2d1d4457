"""Each operator on operands of each two kinds: what it gives, or with which error it refuses them.

What a break leaves to Python is right by itself; the rules of capture are what the test is about.
"""

import collections
import operator
import re
from collections.abc import Callable
from typing import Any, Final

import pytest
import torch
from torch import Tensor

import supple

pytestmark = pytest.mark.sweep


class Bare:
    pass


class Number(int):
    pass


class Text(str):
    __slots__ = ()


class Row(list[Any]):
    pass


Make = Callable[[Tensor], Any]

KINDS: Final[dict[str, Make]] = {
    "a text": lambda x: "ab",
    "bytes": lambda x: b"ab",
    "a list": lambda x: [x],
    "a list of numbers": lambda x: [1],
    "a tuple": lambda x: (1, 2),
    "a tuple of tensors": lambda x: (x,),
    "a dict": lambda x: {1: 2},
    "a set": lambda x: {1},
    "a frozen set": lambda x: frozenset((1,)),
    "a number": lambda x: -2,
    "a float": lambda x: 2.5,
    "nothing": lambda x: None,
    "an object": lambda x: Bare(),
    "a class": lambda x: Bare,
    "a number of a class": lambda x: Number(2),
    "a text of a class": lambda x: Text("x"),
    "a list of a class": lambda x: Row((1,)),
    "a size": lambda x: x.shape,
    "a range": lambda x: range(3),
    "a deque": lambda x: collections.deque((1,)),
    "a generator": lambda x: (one for one in (1,)),
    "keys": lambda x: {1: 2}.keys(),
    "an iterator": lambda x: iter((1,)),
    "a function": lambda x: operator.add,
    "a type of numbers": lambda x: torch.float32,
    "a size of a tensor": lambda x: x.shape[0],
    "a tensor": lambda x: x,
    "an exception": lambda x: ValueError(1),
}
BINARY: Final = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "%": operator.mod,
    "**": operator.pow,
    "@": operator.matmul,
    "&": operator.and_,
    "|": operator.or_,
    "<<": operator.lshift,
    "<": operator.lt,
    ">": operator.gt,
    "==": operator.eq,
    "!=": operator.ne,
    "in": operator.contains,
    "[]": operator.getitem,
    "del []": operator.delitem,
    "+=": operator.iadd,
    "-=": operator.isub,
    "*=": operator.imul,
    "&=": operator.iand,
    "|=": operator.ior,
    "**=": operator.ipow,
    "%=": operator.imod,
    "//=": operator.ifloordiv,
    "@=": operator.imatmul,
    "<<=": operator.ilshift,
}


def shown(found: tuple[object, ...]) -> str:
    """Return the text of what a program gave, without addresses; of sets that hold tensors in any order."""
    parts = [sorted(map(repr, part)) if isinstance(part, set) else part for part in found]
    return re.sub(r"<generator object .*|0x[0-9a-f]+", "", f"{type(found[0]).__name__} {parts!r}")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("symbol", BINARY)
@pytest.mark.parametrize("left", KINDS)
def test_an_operator_gives_or_refuses_what_it_does_in_eager(symbol: str, left: str) -> None:
    apply, wrong = BINARY[symbol], {}

    def program(
        x: Tensor, make: Callable[[Tensor], Any], other: Callable[[Tensor], Any]
    ) -> tuple[object, ...]:
        mine, theirs = make(x), other(x)
        try:
            return apply(mine, theirs), mine
        except Exception as error:  # whatever eager raises
            return type(error), str(error), mine

    for right in KINDS:
        supple.reset()
        compiled = supple.compile(program, backend="eager")
        mine, theirs = (shown(run(torch.ones(2), KINDS[left], KINDS[right])) for run in (compiled, program))
        if mine != theirs:
            wrong[right] = (theirs, mine)
    assert not wrong


def test_a_text_of_a_class_without_fields_is_itself() -> None:
    def program(x: Tensor, text: str) -> list[object]:
        made = Text("made")
        kept = [text.format(3), text.format(x.shape), text.strip(), text.replace("a", "a"), made.format(1)]
        return [*((type(one), one is text, one is made) for one in kept), x.shape]

    for text in (Text("x"), Text(""), Text("{0}"), "plain"):
        x = torch.ones(2)
        assert supple.compile(program, backend="eager")(x, text) == program(x, text)

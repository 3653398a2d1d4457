"""operator.itemgetter, attrgetter and methodcaller: as values, as arguments, from outside, over a break."""

import operator
import types
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

import supple

FIRST = operator.itemgetter(0)


def used(x: Tensor, getter: Any) -> object:
    return getter((x + 1, x * 2, 3)), isinstance(getter, operator.itemgetter), type(getter).__name__


MADE: dict[str, Callable[[Tensor], object]] = {
    "returned": lambda x: (operator.itemgetter(1), operator.attrgetter("a.b", "c"), x),
    "returned with arguments": lambda x: operator.methodcaller("sum", 0, keepdim=True),
    "used": lambda x: used(x, operator.itemgetter(1)),
    "several": lambda x: used(x, operator.itemgetter(1, 0)),
    "a slice": lambda x: used(x, operator.itemgetter(slice(1, None))),
    "a tensor's": lambda x: operator.itemgetter(0)(x),
    "an attribute": lambda x: (operator.attrgetter("shape")(x), operator.attrgetter("T.shape", "dtype")(x)),
    "a method": lambda x: operator.methodcaller("sum", dim=0)(x),
    "a sorted list": lambda x: sorted([(1, 3), (2, 1)], key=operator.itemgetter(1)),
    "one from outside": lambda x: (used(x, FIRST), FIRST, sorted([(2,), (1,)], key=FIRST)),
    "its text": lambda x: repr(operator.itemgetter(1)),
    "what is no name": lambda x: operator.attrgetter(1),  # type: ignore[call-overload]
    "what is no name of a method": lambda x: operator.methodcaller(2),  # type: ignore[arg-type]
    "nothing": lambda x: operator.itemgetter(),  # type: ignore[call-overload]
    "two owners": lambda x: operator.itemgetter(1)(x, x),  # type: ignore[call-arg]
    "an owner by name": lambda x: operator.itemgetter(1)(obj=x),  # type: ignore[call-arg]
    "a missing item": lambda x: operator.itemgetter(3)([x]),
    "a missing attribute": lambda x: operator.attrgetter("missing")(types.SimpleNamespace()),
    "as a key": lambda x: {operator.itemgetter(1): 2, FIRST: 3}[FIRST],
    "over a break": lambda x: (getter := operator.itemgetter(0), print(end=""), used(x, getter)),
}


@pytest.mark.parametrize("name", MADE)
def test_a_getter_is_what_it_is_in_eager(name: str) -> None:
    def program(x: Tensor) -> object:
        try:
            return repr(MADE[name](x))
        except Exception as error:  # whatever eager raises
            return type(error), str(error)

    x = torch.arange(3.0)
    assert supple.compile(program, backend="eager")(x) == program(x)


@pytest.mark.parametrize("backend", ["eager", "native"])
def test_a_getter_from_outside_is_guarded_by_what_it_gets(backend: str) -> None:
    compiled = supple.compile(lambda x, getter: getter((x + 1, x * 2)), backend=backend)
    x = torch.arange(3.0)
    for key in (0, 1, True, False, slice(0, 1), 0):
        getter = operator.itemgetter(key)
        for _ in range(2):
            assert repr(compiled(x, getter)) == repr(getter((x + 1, x * 2)))


def test_another_getter_of_the_same_is_no_reason_to_compile_again() -> None:
    compiled = supple.compile(lambda x, getter: getter((x + 1, x * 2)), backend="eager")
    for _ in range(3):
        compiled(torch.arange(3.0), operator.itemgetter(1))
    assert supple.stats()["recompiles"] == 0


def test_an_iterator_until_a_value_keeps_its_class() -> None:
    def program(x: Tensor, taken: int) -> object:
        numbers = iter([1, 2, 3, 4])
        until = iter(lambda: next(numbers), 3)
        got = [next(until, None) for _ in range(taken)]
        return got, until, x + 1

    x = torch.ones(2)
    for taken in range(4):
        (got, until, _), (wanted, expected, _) = (
            supple.compile(program, backend="eager")(x, taken),
            program(x, taken),
        )  # type: ignore[misc]
        assert got == wanted
        assert type(until) is type(expected)
        assert list(until) == list(expected)

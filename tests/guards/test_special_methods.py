"""Special methods that a class gets, loses, or has as something else than a function: as Python does."""

import copy
import functools
import math
import operator
from collections.abc import Callable
from typing import Any, cast

import pytest
import torch

import supple
from supple.base.config import config


class Plain:
    def __init__(self, v: int) -> None:
        self.v = v

    def __lt__(self, other: Any) -> Any:
        return self.v < other.v

    def __len__(self) -> int:
        return 2

    def __contains__(self, item: object) -> bool:
        return True

    def __eq__(self, other: object) -> Any:
        return True

    def __hash__(self) -> int:
        return 1

    def __iter__(self) -> Any:
        return iter([1])

    def __repr__(self) -> str:
        return "Plain"

    def __call__(self) -> int:
        return 4

    def __getitem__(self, key: int) -> int:
        if key > 2:
            raise IndexError(key)
        return key * 10

    def __index__(self) -> int:
        return 1

    def __neg__(self) -> int:
        return 5

    def __add__(self, other: object) -> int:
        return 5


USES: dict[str, Callable[[torch.Tensor, Any], Any]] = {
    "__lt__": lambda x, a: a < a,
    "__len__": lambda x, a: len(a),
    "__len__ of bool": lambda x, a: bool(a),
    "__bool__": lambda x, a: 1 if a else 2,
    "__contains__": lambda x, a: 3 in a,
    "__eq__": lambda x, a: a == 3,
    "__ne__": lambda x, a: a != 3,
    "__hash__": lambda x, a: {a: 1},
    "__iter__": lambda x, a: list(a),
    "__iter__ of in": lambda x, a: 1 in a,
    "__reversed__": lambda x, a: list(reversed(a)),
    "__next__": lambda x, a: next(a),
    "__repr__": lambda x, a: str(a),
    "__str__": lambda x, a: f"{a}",
    "__format__": lambda x, a: f"{a}",
    "__call__": lambda x, a: a(),
    "__getitem__": lambda x, a: a[2],
    "__setitem__": lambda x, a: operator.setitem(a, 1, 1),
    "__index__": lambda x, a: [1, 2][a],
    "__int__": lambda x, a: int(a),
    "__float__": lambda x, a: float(a),
    "__round__": lambda x, a: round(a),
    "__floor__": lambda x, a: math.floor(a),
    "__abs__": lambda x, a: abs(a),
    "__neg__": lambda x, a: -a,
    "__invert__": lambda x, a: ~a,
    "__add__": lambda x, a: a + a,
    "__sub__": lambda x, a: a - a,
    "__iadd__": lambda x, a: operator.iadd(a, 1),
    "__rmul__": lambda x, a: 3 * a,
    "__rmul__ of a tensor": lambda x, a: x * a,
    "__matmul__": lambda x, a: a @ a,
    "__divmod__": lambda x, a: divmod(a, a),
    "__setattr__": lambda x, a: setattr(a, "q", 1),
    "__delattr__": lambda x, a: delattr(a, "q"),
    "__getattr__": lambda x, a: a.missing,
    "__getattribute__": lambda x, a: a.v,
    "__init__": lambda x, a: type(a)(3).v,
    "__copy__": lambda x, a: copy.copy(a).v,
    "__deepcopy__": lambda x, a: copy.deepcopy(a).v,
    "__class_getitem__": lambda x, a: cast("Any", type(a))[3],
    "__bytes__": lambda x, a: bytes(a),
}
ODD: dict[str, Any] = {
    "None": None,
    "a number": 5,
    "a function": lambda *args: 1,
    "a function of text": lambda *args: "text",
    "a function that does not know": lambda *args: NotImplemented,
    "a partial": functools.partial(lambda *args: 1),
    "a staticmethod": staticmethod(lambda *args: 1),
    "a classmethod": classmethod(lambda *args: 1),
    "a property": property(lambda self: lambda *args: 1),
}


def outcome(run: Callable[..., Any], given: object) -> tuple[Any, ...]:
    try:
        return "returned", repr(run(torch.ones(2), given))
    except Exception as error:
        return type(error), str(error)


def follows(function: Callable[..., Any], given: Any, name: str, odd: object) -> None:
    compiled = supple.compile(function, backend="eager")
    with config.patch(suppress_errors=False):
        assert outcome(compiled, given) == outcome(function, given)
        setattr(type(given), name, odd)
        wanted = outcome(function, given)
        assert outcome(compiled, given) == wanted
        delattr(type(given), name)
        assert outcome(compiled, given) == outcome(function, given)


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("use", USES)
def test_of_objects(use: str, odd: str) -> None:
    follows(USES[use], type("Plain", (Plain,), {})(1), use.split()[0], ODD[odd])


NUMBERS: dict[str, Callable[[torch.Tensor, Any], Any]] = {
    "__mul__": lambda x, m: m * 2,
    "__mul__ of a tensor": lambda x, m: m * x,
    "__rmul__": lambda x, m: 2 * m,
    "__rmul__ of a tensor": lambda x, m: x * m,
    "__radd__ in place": lambda x, m: operator.iadd(x.clone(), m),
    "__pow__": lambda x, m: m**x,
    "__float__": lambda x, m: x * float(m),
    "__float__ of an operator": lambda x, m: x.clamp(max=m),
    "__int__": lambda x, m: x * int(m),
    "__index__": lambda x, m: [10, 20, 30][int(m)],
    "__index__ of a float": lambda x, m: float(m),
    "__index__ of an int": lambda x, m: int(m),
    "__trunc__ of an int": lambda x, m: int(m),
    "__abs__": lambda x, m: abs(m),
    "__bool__": lambda x, m: 1 if m else 2,
    "__neg__": lambda x, m: -m,
    "__eq__": lambda x, m: m == 1,
    "__eq__ of a tensor": lambda x, m: x == m,
    "__gt__ of a tensor": lambda x, m: x < m,
    "__lt__ of a tensor": lambda x, m: m < x,
    "__round__": lambda x, m: round(m),
    "__str__": lambda x, m: f"{m}",
    "__format__": lambda x, m: f"{m}",
    "__format__ with a spec": lambda x, m: f"{m:3}",
    "__hash__": lambda x, m: {1: 2}.get(m),
}


@pytest.mark.parametrize("odd", ["a function", "a function of text", "a function that does not know"])
@pytest.mark.parametrize("base", [int, float])
@pytest.mark.parametrize("use", NUMBERS)
def test_of_numbers(use: str, base: type, odd: str) -> None:
    follows(NUMBERS[use], type("Number", (base,), {})(1), use.split()[0], ODD[odd])


class Number(int):
    """An int with attributes."""


@pytest.mark.parametrize(
    "use",
    [lambda x, m: [10, 20, 30][m], lambda x, m: x[m], lambda x, m: list(range(m)), lambda x, m: x.sum(m - 1)],
)
def test_an_int_of_another_class_is_the_index_itself(use: Callable[..., Any]) -> None:
    follows(use, type("Number", (Number,), {})(1), "__index__", lambda self: 0)


class Items:
    """A sequence by the old protocol."""

    def __getitem__(self, key: int) -> int:
        return [0, 10, 20][key]

    def __len__(self) -> int:
        return 3


class Backwards(list[int]):
    """A list with an order of its own backwards."""

    def __reversed__(self) -> Any:
        return iter([7])


@pytest.mark.parametrize(
    "given", [Items(), Backwards([1, 2]), [1, 2], {1: 2, 3: 4}, "abc", range(3), {1}, object()]
)
def test_reversed(given: Any) -> None:
    def program(x: torch.Tensor, given: Any) -> Any:
        return [x * 2, list(reversed(given))]

    assert outcome(supple.compile(program, backend="eager"), given) == outcome(program, given)


class Like:
    """An object that is a key like another one's."""

    def __init__(self, other: object) -> None:
        self.other = other

    def __hash__(self) -> int:
        return hash(self.other)

    def __eq__(self, other: object) -> bool:
        return self.other == (other.other if isinstance(other, Like) else other)


@pytest.mark.parametrize("given", [Like("a"), Like(1), Like(None), Like(2.5)])
def test_an_object_that_equals_a_constant_is_the_same_key(given: Any) -> None:
    def program(x: torch.Tensor, given: Any) -> Any:
        table = {"a": 1, 1: 2, None: 3, given: 4}
        return (
            x * 2,
            table.get(given),
            table.get("a"),
            list(table.values()),
            given in {"a", 1},
            {given, "a", 1},
        )

    assert outcome(supple.compile(program, backend="eager"), given)[0] == "returned"
    first, second = (run(torch.ones(2), given)[1:-1] for run in (supple.compile(program), program))
    assert first == second

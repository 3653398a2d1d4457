"""What `make mutate` found: classes whose special methods are not what a builtin class has."""

import functools
import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch.nn import functional

import supple
from supple.base import events

X = torch.arange(6.0).reshape(2, 3)


class Meters(float):
    """A float of which most operators are another's."""

    def __rmul__(self, other: Any) -> Any:
        return other * 100.0

    def __radd__(self, other: Any) -> Any:
        return other + 1000.0

    def __rpow__(self, other: Any, modulus: Any = None) -> Any:
        return 3.5

    def __matmul__(self, other: Any) -> Any:
        return "mine"

    def __float__(self) -> float:
        return 42.0

    def __int__(self) -> int:
        return 77

    def __bool__(self) -> bool:
        return False

    def __lt__(self, other: object) -> bool:
        return True

    def __gt__(self, other: object) -> bool:
        return True

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = float.__hash__

    def __round__(self, digits: Any = None) -> Any:
        return 9

    def __abs__(self) -> float:
        return 8.0

    def __str__(self) -> str:
        return "meters"

    def __format__(self, spec: str) -> str:
        return "formatted"


class Count(int):
    """An int that says to be others where Python asks."""

    def __index__(self) -> int:
        return 1

    def __int__(self) -> int:
        return 5

    def __float__(self) -> float:
        return 4.5

    def __rmul__(self, other: Any) -> Any:
        return other * 3

    def __repr__(self) -> str:
        return "count"


class Text(str):
    """A text of which most operators are another's."""

    __slots__ = ()

    def __radd__(self, other: object) -> str:
        return "added"

    def __contains__(self, other: object) -> bool:
        return True

    def __len__(self) -> int:
        return 1

    def __str__(self) -> str:
        return "another"

    def __float__(self) -> float:
        return 6.0


class Plain(float):
    """A float of a class that is given methods later."""


class Sequenced:
    """A sequence by length and index."""

    def __len__(self) -> int:
        return 3

    def __getitem__(self, index: int) -> int:
        return [1, 2, 3][index]


class Iterated(Sequenced):
    """A sequence that iterates otherwise."""

    def __iter__(self) -> Iterator[str]:
        return iter("ab")


class Longer(Sequenced):
    """A sequence that is shorter than it says."""

    def __len__(self) -> int:
        return 5


class Backwards(list[Any]):
    """A list that says what it is backwards."""

    def __reversed__(self) -> Iterator[str]:
        return iter("zz")


class Taken(tuple[int, ...]):
    """A tuple with items of its own."""

    __slots__ = ()

    def __getitem__(self, index: Any) -> Any:
        return index * 10


class OnlyLong:
    """What has a length and no items."""

    def __len__(self) -> int:
        return 2


meters, count, text, plain = Meters(1.5), Count(2), Text("abc"), Plain(2.0)
SUBCLASSES: dict[str, Callable[[torch.Tensor], object]] = {
    "tensor * float": lambda x: x * meters,
    "tensor + float": lambda x: x + meters,
    "tensor ** float": lambda x: x**meters,
    "tensor % float": lambda x: x % meters,
    "tensor // int": lambda x: x // count,
    "float * tensor": lambda x: meters * x,
    "float - tensor": lambda x: meters - x,
    "float @ tensor": lambda x: meters @ x,
    "tensor < float": lambda x: x < meters,
    "float < tensor": lambda x: meters < x,
    "float == tensor": lambda x: meters == x,
    "2.0 * float": lambda x: 2.0 * meters,
    "2 ** float": lambda x: 2**meters,
    "float()": lambda x: float(meters),
    "int() of a float": lambda x: int(meters),
    "bool()": lambda x: (bool(meters), not meters, 1 if meters else 2),
    "comparisons": lambda x: (meters < 1, 1 < meters, meters == 3, [meters] == [3.0], meters in [5.0]),
    "sorted": lambda x: [float.__float__(one) for one in sorted([meters, 2.0])],
    "round and abs": lambda x: (round(meters), abs(meters)),
    "texts": lambda x: (str(meters), f"{meters}", f"{meters:.1f}", f"{count}", f"{text}", f"{text!r}"),
    "%": lambda x: ("%s %s" % (meters, count), "%d" % count),  # noqa: UP031
    "format": lambda x: "{} {}".format(meters, count),  # noqa: UP032
    "sqrt": lambda x: (math.sqrt(meters), math.isnan(meters)),
    "an index of a list": lambda x: [1, 2, 3, 4, 5, 6][count],
    "an index of a tuple": lambda x: (1, 2, 3)[count],
    "an index of a text": lambda x: "abc"[count],
    "an index of a tensor": lambda x: x[:, count],
    "pop": lambda x: [5, 6, 7].pop(count),
    "a slice": lambda x: [1, 2, 3][count:],
    "range": lambda x: list(range(count)),
    "repeated": lambda x: (count * 3, 3 * count, [1] * count, x.dim() + count),
    "int()": lambda x: (int(count), float(count), repr(count), hash(count), hex(count)),
    "sum and min": lambda x: (sum([1, count]), min(3, count), max(1, count)),
    "sizes": lambda x: x.new_zeros(count, 3),
    "a number for torch": lambda x: torch.full((2,), meters) + torch.tensor(meters),
    "a text": lambda x: ("x" + text, "z" in text, len(text), text.upper(), text == "abc", float(text)),
    "a method is given none": lambda x: (x * plain, float(plain), 3.0 * plain),
}  # fmt: skip


def partials() -> dict[str, Any]:
    """Return special methods that are called without their object."""
    made: dict[str, Callable[..., Any]] = {
        "__len__": lambda: 3,
        "__bool__": lambda: False,
        "__eq__": lambda other: "eq",
        "__ne__": lambda other: "ne",
        "__lt__": lambda other: "lt",
        "__hash__": lambda: 3,
        "__repr__": lambda: "repr",
        "__str__": lambda: "str",
        "__format__": lambda spec: "format",
        "__contains__": lambda item: True,
        "__iter__": lambda: iter("ab"),
        "__getitem__": lambda key: ("item", key),
        "__add__": lambda other: "add",
        "__iadd__": lambda other: "iadd",
        "__rmul__": lambda other: "rmul",
        "__neg__": lambda: "neg",
        "__int__": lambda: 4,
        "__float__": lambda: 4.5,
        "__index__": lambda: 1,
        "__abs__": lambda: "abs",
        "__round__": lambda digits=None: "round",
        "__reversed__": lambda: iter("ba"),
        "__getattr__": lambda name: ("attribute", name),
        "__setattr__": lambda name, value: None,
        "__enter__": lambda: 1,
        "__exit__": lambda *_: True,
    }
    return made


def classes() -> Iterator[tuple[str, Any]]:
    """Yield objects whose classes have special methods of other kinds than functions."""
    left = ("__getattr__",)
    yield "None", type("Made", (), {name: None for name in (*partials(), "__call__") if name not in left})()
    for kind in (functools.partial, staticmethod):
        made = {name: kind(one) for name, one in partials().items()}
        yield kind.__name__, type("Made", (), made)()
        yield f"{kind.__name__}, called", type("Made", (), {**made, "__call__": kind(lambda: 1)})()
        left = ("__setattr__", "__hash__", "__eq__")
        meta = type("Meta", (type,), {name: one for name, one in made.items() if name not in left})
        yield f"a class, {kind.__name__}", meta("Made", (), {})
        yield (
            f"a class with equality, {kind.__name__}",
            type("Meta", (meta,), {"__eq__": made["__eq__"]})("Made", (), {}),
        )


OBJECTS = dict(classes())
ASKED: dict[str, Callable[[torch.Tensor, Any], object]] = {
    "len": lambda x, o: len(o),
    "bool": lambda x, o: (bool(o), not o, 1 if o else 2),
    "<": lambda x, o: o < 1,
    ">": lambda x, o: 1 > o,
    "==": lambda x, o: (o == 1, 1 == o, [o] == [1]),
    "!=": lambda x, o: o != 1,
    "in": lambda x, o: 3 in o,
    "list": lambda x, o: list(o),
    "hash": lambda x, o: hash(o),
    "key": lambda x, o: len({o: 1, 7: 2}),
    "repr": lambda x, o: (repr(o), f"{o!r}"),
    "str": lambda x, o: (str(o), f"{o}"),
    "[]": lambda x, o: o[1],
    "+": lambda x, o: o + 1,
    "r*": lambda x, o: (2 * o, x * o),
    "neg": lambda x, o: -o,
    "int": lambda x, o: (int(o), float(o)),
    "index": lambda x, o: [1, 2, 3][o],
    "abs": lambda x, o: (abs(o), round(o)),
    "reversed": lambda x, o: list(reversed(o)),
    "getattr": lambda x, o: (o.other, getattr(o, "another", 1), hasattr(o, "third")),
    "call": lambda x, o: type(o()),
    "isinstance": lambda x, o: (isinstance(o, type(o)), isinstance(o, int), callable(o)),
}  # fmt: skip


def adds(x: torch.Tensor, o: Any) -> object:
    o += 1
    return o


def enters(x: torch.Tensor, o: Any) -> object:
    with o as found:
        return found


def writes(x: torch.Tensor, o: Any) -> object:
    o.written = 1
    return "written" in vars(o)


STATEMENTS = (adds, enters, writes)


def outcome(program: Callable[..., object], *args: object) -> tuple[object, ...]:
    """Return what a call gives, or the class and the text of what it raises."""
    try:
        found = program(*args)
    except Exception as error:
        return type(error), str(error)
    return type(found), [repr(one) for one in found] if type(found) is tuple else repr(found)


def agrees(program: Callable[..., object], *args: object) -> None:
    """Assert that compiled and eager agree in two calls, and that the compiler has not failed."""
    want = outcome(program, X, *args)
    failures: list[str] = []
    stop = events.listen(lambda event: failures.append(str(event)) if is_failure(event) else None)
    compiled = supple.compile(program, backend="eager")
    try:
        for _ in range(2):
            assert outcome(compiled, X, *args) == want
    finally:
        stop()
    assert not failures


def is_failure(event: events.Event) -> bool:
    return isinstance(event, events.FellBack) and "[I001]" in event.text


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SUBCLASSES)
def test_a_subclass_of_a_number_or_text_is_asked_where_python_asks_it(name: str) -> None:
    agrees(SUBCLASSES[name])


def test_a_method_that_a_subclass_is_given_later_is_seen() -> None:
    def program(x: torch.Tensor) -> object:
        return x + float(plain), plain < 3.0, f"{plain}", 3.0 * plain

    compiled = supple.compile(program, backend="eager")
    assert outcome(compiled, X) == outcome(program, X)
    changes: dict[str, Callable[..., Any]] = {
        "__float__": lambda self: 7.0,
        "__gt__": lambda self, other: "no",
        "__lt__": lambda self, other: "less",
        "__format__": lambda self, spec: "text",
        "__rmul__": lambda self, other: "product",
    }
    for name, method in changes.items():
        setattr(Plain, name, method)
        try:
            assert outcome(compiled, X) == outcome(program, X), name
        finally:
            delattr(Plain, name)
        assert outcome(compiled, X) == outcome(program, X), name


REVERSED: dict[str, Any] = {
    "a sequence": Sequenced(),
    "what iterates otherwise": Iterated(),
    "what is shorter than it says": Longer(),
    "a list with a method": Backwards([1, 2]),
    "a tuple with items of its own": Taken((1, 2)),
    "what has no items": OnlyLong(),
    "a set": {1, 2},
    "a number": 5,
    "None": None,
    "a dict": {1: 2, 3: 4},
    "a text": "abc",
    "a range": range(4),
}


@pytest.mark.parametrize("name", REVERSED)
def test_reversed_goes_by_length_and_index(name: str) -> None:
    owner = REVERSED[name]
    agrees(lambda x: list(reversed(owner)))


def test_reversed_begins_at_the_end_of_now() -> None:
    def program(x: torch.Tensor) -> object:
        grown, emptied = [1, 2, 3], [1, 2, 3]
        one, other = reversed(grown), reversed(emptied)
        grown.append(4)
        emptied.clear()
        return list(one), list(other)

    agrees(program)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("name", OBJECTS)
def test_a_special_method_may_be_any_object(name: str, asked: str) -> None:
    agrees(ASKED[asked], OBJECTS[name])


@pytest.mark.parametrize("name", OBJECTS)
@pytest.mark.parametrize("program", STATEMENTS)
def test_a_special_method_of_a_statement_may_be_any_object(name: str, program: Callable[..., object]) -> None:
    agrees(program, OBJECTS[name])


LINE, IMAGE, BODY = torch.randn(2, 4, 9), torch.randn(2, 4, 9, 9), torch.randn(2, 4, 5, 5, 5)
OF_LINE, OF_IMAGE, OF_BODY = torch.randn(6, 4, 3), torch.randn(6, 4, 3, 3), torch.randn(6, 4, 2, 2, 2)
REFUSED: dict[str, Callable[[Any], object]] = {
    "conv1d": lambda n: functional.conv1d(LINE, OF_LINE, stride=n),
    "conv2d": lambda n: functional.conv2d(IMAGE, OF_IMAGE, stride=n),
    "conv3d": lambda n: functional.conv3d(BODY, OF_BODY, stride=n),
    "conv2d, padding": lambda n: functional.conv2d(IMAGE, OF_IMAGE, padding=n),
    "conv2d, dilation": lambda n: functional.conv2d(IMAGE, OF_IMAGE, dilation=n),
    "conv2d, groups": lambda n: functional.conv2d(IMAGE, OF_IMAGE, groups=n),
    "conv_transpose1d": lambda n: functional.conv_transpose1d(LINE, OF_LINE.mT[..., :4, :].mT, stride=n),
    "max_pool1d": lambda n: functional.max_pool1d(LINE, 2, stride=n),
    "max_pool1d, padding": lambda n: functional.max_pool1d(LINE, 2, padding=n),
    "max_pool2d": lambda n: functional.max_pool2d(IMAGE, 2, stride=n),
    "max_pool2d, dilation": lambda n: functional.max_pool2d(IMAGE, 2, dilation=n),
    "avg_pool2d": lambda n: functional.avg_pool2d(IMAGE, 2, stride=n),
    "avg_pool2d, window": lambda n: functional.avg_pool2d(IMAGE, n),
    "max_pool3d": lambda n: functional.max_pool3d(BODY, 2, stride=n),
    "lp_pool2d": lambda n: functional.lp_pool2d(IMAGE, 2.0, n),
    "unfold": lambda n: functional.unfold(IMAGE, 2, stride=n),
    "tensor_split": lambda n: torch.tensor_split(LINE, n, 2),
    "one_hot": lambda n: functional.one_hot(torch.tensor([0, 0]), n),
    "linspace": lambda n: torch.linspace(0.0, 1.0, n) + LINE[0, 0, 0],
}  # fmt: skip


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("name", REFUSED)
def test_a_number_that_eager_refuses_is_refused_in_its_words(name: str, dynamic: bool | None) -> None:
    compiled = supple.compile(REFUSED[name], backend="eager", dynamic=dynamic)
    for number in (1, 2, 0, -1, 3, 2.0, True):
        want, got = outcome(REFUSED[name], number), outcome(compiled, number)
        assert got == want, number


@pytest.mark.parametrize("shape", [(3, 2, 5), (3, 5), (3,), (3, 2, 4, 1)])
def test_an_assertion_of_torch_is_one_of_the_program(shape: tuple[int, ...]) -> None:
    attention = torch.nn.MultiheadAttention(4, 2)

    def program(x: torch.Tensor) -> object:
        given = x.new_ones(shape)
        return attention(given, given, given)[0]

    agrees(program)

"""What a program is told about functions, classes and members of enumerations holds while they say so."""

import abc
import contextlib
import enum
import functools
import inspect
import typing
from collections.abc import Callable, Generator, Iterator
from typing import Any

import pytest
import torch

import supple

X = torch.arange(3.0)


class Shade(enum.Flag):
    LIGHT = 1
    DARK = 2


class Level(enum.Enum):
    LOW = 1
    HIGH = 2


class Shape(abc.ABC):
    @abc.abstractmethod
    def area(self) -> int: ...


class Square(Shape):
    def area(self) -> int:
        return 4


class Made:
    width: int

    def __init__(self, width: int = 3) -> None:
        self.width = width


def scaled(x: Any, factor: float = 2, *, shift: float = 1) -> Any:
    return x * factor + shift


@functools.wraps(scaled)
def wrapper(*args: Any, **kwargs: Any) -> Any:
    return scaled(*args, **kwargs)


def counting(n: int) -> Generator[int]:
    yield n


class Holder:
    def __init__(self, value: Any) -> None:
        self.value = value

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*(getattr(one, "value", one) for one in args), **(kwargs or {}))


def defaults(function: Any) -> list[Any]:
    return [str(one) for one in inspect.signature(function).parameters.values()]


PROGRAMS: dict[str, Callable[[torch.Tensor], Any]] = {
    "text of a member": lambda x: (repr(Level.LOW), str(Level.LOW), f"{Level.LOW}", x + 1),
    "member in another": lambda x: (Shade.LIGHT in (Shade.LIGHT | Shade.DARK), x + 1),
    "truth of a member": lambda x: x + 1 if Shade.LIGHT else x - 1,
    "length of a member": lambda x: (len(Shade.LIGHT), x + 1),
    "member of a value": lambda x: (Shade(3), x + 1),
    "members in turn": lambda x: ([one.value for one in Shade], x + 1),
    "object of a class": lambda x: (Square().area(), x + 1),
    "signature": lambda x: (defaults(scaled), x + 1),
    "signature of a wrapper": lambda x: (defaults(wrapper), x + 1),
    "signature of a class": lambda x: (defaults(Made), x + 1),
    "hints": lambda x: (typing.get_type_hints(Made), x + 1),
    "hints of a function": lambda x: (str(typing.get_type_hints(scaled)), x + 1),
    "names of a generator": lambda x: (counting(2).__name__, counting(2).__qualname__, x + 1),
    "a generator": lambda x: (counting(2), x + 1),
    "torch function": lambda x: torch.add(Holder(x), 1),  # pyright: ignore[reportArgumentType]
    "torch function in Python": lambda x: torch.nn.functional.relu(Holder(x)),  # pyright: ignore[reportArgumentType]
}

CHANGES: dict[str, tuple[Any, str, Any]] = {
    "repr of an enum": (Level, "__repr__", lambda self: "shown"),
    "format of an enum": (Level, "__format__", lambda self, spec: "formatted"),
    "name of an enum": (Level, "__name__", "Height"),
    "contains of a flag": (Shade, "__contains__", lambda self, other: False),
    "bool of a flag": (Shade, "__bool__", lambda self: False),
    "len of a flag": (Shade, "__len__", lambda self: 7),
    "abstract methods": (Square, "__abstractmethods__", frozenset({"area"})),
    "defaults": (scaled, "__defaults__", (3,)),
    "no defaults": (scaled, "__defaults__", None),
    "keywords": (scaled, "__kwdefaults__", {"shift": 5}),
    "no keywords": (scaled, "__kwdefaults__", None),
    "annotations": (scaled, "__annotations__", {"x": int}),
    "stand-in": (scaled, "__signature__", inspect.signature(counting)),
    "defaults of a constructor": (Made.__init__, "__defaults__", (5,)),
    "constructor": (Made, "__init__", lambda self, height: None),
    "annotations of a class": (Made, "__annotations__", {"width": str}),
    "name": (counting, "__name__", "renamed"),
    "qualified name": (counting, "__qualname__", "renamed"),
    "defaults of a torch function": (Holder.__torch_function__.__func__, "__defaults__", ((), {"out": 3})),
}


PARTS = ("__defaults__", "__kwdefaults__", "__annotations__", "__name__", "__qualname__")
"""What no function is without."""


@contextlib.contextmanager
def changed(owner: Any, name: str, new: object) -> Iterator[None]:
    has_own, before = name in vars(owner), getattr(owner, name, None)
    setattr(owner, name, new)
    try:
        yield
    finally:
        if has_own or name in (
            "__defaults__",
            "__kwdefaults__",
            "__annotations__",
            "__name__",
            "__qualname__",
        ):
            setattr(owner, name, before)
        else:
            delattr(owner, name)


def told(program: Callable[[torch.Tensor], Any]) -> str:
    try:
        found = program(X)
    except Exception as error:  # what a program raises is compared
        return f"{type(error).__name__}: {error}"
    if isinstance(found, tuple) and inspect.isgenerator(found[0]):
        return f"{found[0].__name__} {found[0].__qualname__} {list(found[0])}"
    return str(found)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_was_told_holds_while_it_is_so(name: str, change: str) -> None:
    # X-SND01
    program = PROGRAMS[name]
    compiled = supple.compile(program, backend="eager")
    for _ in range(2):
        assert told(compiled) == told(program)
        with changed(*CHANGES[change]):
            assert told(compiled) == told(program)
    assert told(compiled) == told(program)


def test_a_mode_without_torch_functions_is_seen() -> None:
    program = PROGRAMS["torch function"]
    compiled = supple.compile(program, backend="eager")
    assert told(compiled) == told(program)
    with torch._C.DisableTorchFunction():
        assert told(compiled) == told(program)
        assert told(program).startswith("TypeError")


@pytest.mark.parametrize("name", ["KeyError", "ValueError"])
@pytest.mark.parametrize("other", [3, dict, "text", TypeError, Made])
def test_what_is_raised_must_be_an_exception(name: str, other: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def program(x: torch.Tensor) -> Any:
        try:
            raise ValueError from KeyError  # noqa: TRY301  # that is what is tested
        except Exception as error:
            return type(error).__name__, str(error), repr(error.__cause__), x + 1

    compiled = supple.compile(program, backend="eager")
    assert told(compiled) == told(program)
    monkeypatch.setitem(globals(), name, other)
    assert told(compiled) == told(program)


def test_bytes_of_a_tensor_of_any_size() -> None:
    def program(x: torch.Tensor) -> Any:
        return x.nbytes, x.itemsize

    compiled = supple.compile(program, backend="eager", fullgraph=True)
    for size in (3, 4, 5, 0, 1):
        assert compiled(torch.ones(size, 2)) == (8 * size, 4)


class Noting:
    """Returns what its handler was called with."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = "none") -> Any:
        return func, types, [type(one) for one in args], kwargs


F: Any = torch.nn.functional
HANDED: dict[str, Callable[[torch.Tensor], Any]] = {
    "relu": lambda x: F.relu(Noting()),
    "dropout": lambda x: F.dropout(Noting(), training=False),
    "pad": lambda x: F.pad(Noting(), (1, 1)),
    "max_pool2d": lambda x: F.max_pool2d(Noting(), 2),
    "cross_entropy": lambda x: F.cross_entropy(Noting(), x),
    "layer_norm": lambda x: F.layer_norm(Noting(), (3,)),
    "linear": lambda x: F.linear(Noting(), x),
    "norm": lambda x: torch.norm(Noting()),
    "add": lambda x: x + Noting(),  # pyright: ignore[reportOperatorIssue]
    "alpha": lambda x: torch.add(Noting(), 1, alpha=2),  # pyright: ignore[reportArgumentType]
    "cat": lambda x: torch.cat([Noting(), x]),  # pyright: ignore[reportArgumentType]
}


@pytest.mark.parametrize("name", HANDED)
def test_a_handler_gets_the_function_and_all_of_its_arguments(name: str) -> None:
    program = HANDED[name]
    assert told(supple.compile(program, backend="eager")) == told(program)

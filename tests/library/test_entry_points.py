"""What is compiled: callables of every kind, and what calls of them do that are compiled by `supple.compile`.

A callable is compiled as it is, as a method of a class, and inside of a function that calls it.
"""

import functools
import operator
import types
from collections.abc import Callable
from typing import Any, Final

import pytest
import torch
from torch import Tensor

import supple

pytestmark = pytest.mark.sweep


class Doubled(torch.nn.Module):
    def forward(self, x: Tensor, scale: float = 2.0) -> Tensor:
        return x * scale


class Called(torch.nn.Module):
    def __call__(self, x: Tensor, scale: float = 2.0) -> Tensor:
        return super().__call__(x, scale=scale) + 1000

    def forward(self, x: Tensor, scale: float = 2.0) -> Tensor:
        return x * scale


class Inherits(Called):
    def forward(self, x: Tensor, scale: float = 2.0) -> Tensor:
        return super().forward(x, scale) - 1


class Bypasses(torch.nn.Module):
    __call__ = Doubled.forward


class Meta(type):
    def __call__(cls, x: Tensor, scale: float = 2.0) -> Tensor:
        return x + scale


class Made(metaclass=Meta):
    pass


class Kept:
    """A class whose instances are made of a tensor."""

    def __init__(self, x: Tensor, scale: float = 2.0) -> None:
        self.kept = x * scale

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Kept) and torch.equal(self.kept, other.kept)

    __hash__ = None  # pyright: ignore[reportAssignmentType]


class New(Kept):
    def __new__(cls, x: Tensor, scale: float = 2.0) -> Any:
        return x * scale + 3


class Thing:
    base = 5

    def __init__(self, base: int = 7) -> None:
        self.base = base

    def __call__(self, x: Tensor, scale: float = 2.0) -> Tensor:
        return x * scale + self.base

    def method(self, x: Tensor, scale: float = 2.0) -> Tensor:
        return x * scale - self.base

    @classmethod
    def of_class(cls, x: Tensor, scale: float = 2.0) -> Tensor:
        return x * scale / cls.base

    @staticmethod
    def of_none(x: Tensor, scale: float = 2.0) -> Tensor:
        return x * scale * 3


class Slotted(Thing):
    __slots__ = ("other",)


class Shadowed(Thing):
    def __call__(self, x: Tensor, scale: float = 2.0) -> Tensor:
        return Thing.__call__(self, x, scale) * 2


class Asked(Thing):
    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        return found + 1 if name == "base" else found


def plain(x: Tensor, scale: float = 2.0) -> Tensor:
    return x * scale


@functools.wraps(plain)
def wrapped(*args: Any, **kwargs: Any) -> Tensor:
    return plain(*args, **kwargs) + 1


@functools.singledispatch
def dispatched(x: object, scale: float = 2.0) -> Any:
    return "other", x, scale


@dispatched.register
def _(x: Tensor, scale: float = 2.0) -> Any:
    return "tensor", x * scale


def hooked(module: torch.nn.Module) -> torch.nn.Module:
    module.register_forward_hook(lambda _module, _given, result: result + 1)
    module.register_forward_pre_hook(lambda _module, given: (given[0] * 3, *given[1:]))
    return module


def own_forward(module: torch.nn.Module) -> torch.nn.Module:
    module.forward = lambda x, scale=2.0: x - scale
    return module


def own_call(module: torch.nn.Module) -> torch.nn.Module:
    module.__call__ = lambda x, scale=2.0: x - scale  # Python looks it up in the class
    return module


CALLABLES: Final[dict[str, Callable[[], Any]]] = {
    "a function": lambda: plain,
    "a lambda": lambda: lambda x, scale=2.0: x + scale,
    "a wrapped function": lambda: wrapped,
    "a cached function": lambda: functools.lru_cache(plain),
    "a dispatched function": lambda: dispatched,
    "a partial": lambda: functools.partial(plain, scale=4.0),
    "a partial of a partial": lambda: functools.partial(functools.partial(plain, scale=4.0), scale=5.0),
    "a function of another default": lambda: types.FunctionType(plain.__code__, globals(), "other", (9.0,)),
    "a function of C": lambda: torch.mul,
    "a function of Python's": lambda: operator.mul,
    "a method": lambda: Thing().method,
    "a method of a class": lambda: Thing.of_class,
    "a static method": lambda: Thing.of_none,
    "a method bound to another": lambda: types.MethodType(Thing.method, Asked(3)),
    "a method bound to a tensor": lambda: types.MethodType(plain, torch.ones(2)),
    "an object": lambda: Thing(),
    "an object with slots": lambda: Slotted(2),
    "an object of a subclass": lambda: Shadowed(2),
    "an object that answers itself": lambda: Asked(2),
    "a class": lambda: Kept,
    "a class that makes others": lambda: New,
    "a class whose class is called": lambda: Made,
    "a module": lambda: Doubled(),
    "a module with a call": lambda: Called(),
    "a module of a subclass with a call": lambda: Inherits(),
    "a module whose call is a function": lambda: Bypasses(),
    "a module with hooks": lambda: hooked(Doubled()),
    "a module with a call and hooks": lambda: hooked(Called()),
    "a module with a forward": lambda: own_forward(Doubled()),
    "a module with a call of its own": lambda: own_call(Doubled()),
    "forward of a module": lambda: Called().forward,
    "modules in a row": lambda: torch.nn.Sequential(Doubled(), Called()),
    "a module in modules": lambda: torch.nn.ModuleList([Called()])[0],
}
ARGUMENTS: Final[tuple[tuple[tuple[Any, ...], dict[str, Any]], ...]] = (
    ((torch.ones(2),), {}),
    ((torch.arange(3.0), 3.0), {}),
    ((torch.arange(3.0),), {"scale": 0.5}),
    ((), {"x": torch.ones(1), "scale": 1.5}),
    ((), {}),
    ((torch.ones(1),), {"other": 1}),
)
"""The last two are refused."""


def outcome(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    try:
        return function(*args, **kwargs)
    except Exception as error:  # whatever eager raises
        return type(error)


def same(one: Any, other: Any) -> bool:
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        return torch.equal(one, other)
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


def entered(kind: str, target: Any) -> Callable[..., Any]:
    """Return what calls a compiled callable, in one of the ways to compile it."""
    if kind == "itself":
        return supple.compile(target)
    if kind == "inside":
        return supple.compile(lambda *args, **kwargs: target(*args, **kwargs))
    if kind == "of a class":
        return type("Holder", (), {"run": staticmethod(supple.compile(target))})().run
    return functools.partial(
        supple.compile(lambda function, *args, **kwargs: function(*args, **kwargs)), target
    )


@pytest.mark.parametrize("way", ["itself", "inside", "of a class", "as an argument"])
@pytest.mark.parametrize("name", CALLABLES)
def test_a_compiled_callable_does_what_it_does(name: str, way: str) -> None:
    target = CALLABLES[name]()
    if isinstance(target, type) and way in ("itself", "of a class"):
        with pytest.raises(TypeError, match="compile an instance of it"):
            supple.compile(target)
        return
    compiled = entered(way, target)
    for args, kwargs in (*ARGUMENTS, *ARGUMENTS[:2]):
        want = outcome(target, args, kwargs)
        assert same(outcome(compiled, args, kwargs), want), (args, kwargs)

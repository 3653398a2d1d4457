"""What random programs find in their globals: classes, managers, modules, functions that break the graph."""

import array
import binascii
import bisect
import collections
import contextlib
import copy
import dataclasses
import decimal
import enum
import fractions
import functools
import gc
import inspect
import itertools
import logging
import math
import operator
import random
import re
import types
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import Any, Final, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import supple
from tests.fuzz.calling import (
    default_dtype,
    deterministic,
    floats,
    gradients,
    in_threads,
    separately,
    told,
    told_of,
    trained,
    watched,
)
from tests.operators.special_values import special

__all__ = [
    "Box", "Color", "F", "Holder", "Knob", "Layer", "Net", "Oops", "Pair", "Point", "Slotted", "Trace",
    "array", "bisect", "bits", "cached", "collections", "contextlib", "copy", "dataclasses", "decimal",
    "default_dtype", "deterministic", "extremes", "fact", "first", "floats", "fractions", "functools",
    "gc", "gradients", "guarded", "hashed", "in_threads", "inspect", "itertools", "last", "linear", "logging",
    "math",
    "nn", "np", "opaque", "operator", "random", "re", "rest", "say", "scaled_by", "separately", "several",
    "spread", "supple", "tensor", "tied", "times", "told", "told_of", "torch", "trained", "warnings",
    "watched", "weakref",
]  # fmt: skip


def tensor(rows: int, start: int = 0) -> Tensor:
    """Return a matrix of small whole numbers with three columns."""
    return (torch.arange(rows * 3.0).reshape(rows, 3) + start) % 7 - 2


def hashed(value: object) -> int:
    """Return a number of what a class of the program hashes to; addresses differ from run to run."""
    return hash(value) % 7 if isinstance(type(value).__hash__, types.FunctionType) else 1


def extremes(dtype: torch.dtype, start: int = 0) -> Tensor:
    """Return eleven of the numbers at which functions and arithmetic are special."""
    if dtype is torch.complex64:
        return torch.complex(extremes(torch.float32, start), extremes(torch.float32, start + 3))
    known = special(dtype)
    return known[(torch.arange(11) * 5 + start) % len(known)]


@supple.disable
def _say(*what: object) -> object:
    """Print, where no compiler looks; return the last argument."""
    print("say", *what)
    return what[-1]


say: Final = cast("Callable[..., Any]", _say)
opaque: Final = functools.partial(binascii.crc_hqx, b"")
"""A C function that no compiler knows: the last 16 bits of a number."""


def spread(x: Tensor, n: int = 2, *more: Any, scale: float = 1.0, **named: Any) -> Tensor:
    """Use all kinds of parameters."""
    for value in (*more, *named.values()):
        n += value if isinstance(value, int) else 1
    return x * scale + n


def times(n: int, x: Tensor, /) -> Tensor:
    """Take arguments by position only."""
    return x * n


def rest(*xs: Tensor, x: Tensor, **named: Tensor) -> Tensor:
    """Take one argument by name only."""
    return sum(xs, x) + len(named)


def fact(n: int) -> int:
    """Recur."""
    return 1 if n <= 1 else n * fact(n - 1)


@functools.lru_cache
def cached(n: int) -> int:
    """Remember."""
    return n * 2


@functools.singledispatch
def bits(n: object) -> int:
    """Dispatch on the class."""
    return 0


@bits.register
def _(n: int) -> int:
    return n.bit_length()


class Oops(Exception):
    """An error with a code."""

    def __init__(self, code: object, text: str = "oops") -> None:
        super().__init__(code, text)
        self.code = code


class Color(enum.Enum):
    """Three values."""

    RED = 0
    GREEN = 1
    BLUE = 2


class Box:
    """A mutable object."""

    def __init__(self, value: Tensor, count: int = 0) -> None:
        self.value = value
        self.count = count
        self.items: list[int] = [count]

    def __call__(self, x: Tensor) -> Tensor:
        self.count += 1
        return x + self.value.sum()

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, key: int) -> int:
        return self.items[key]

    def __iter__(self) -> Iterator[int]:
        return iter(self.items)

    def __contains__(self, key: int) -> bool:
        return key in self.items

    def __add__(self, other: int) -> "Box":
        return type(self)(self.value + other, self.count)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Box) and self.count == other.count

    def __hash__(self) -> int:
        return self.count

    @property
    def double(self) -> Tensor:
        return self.value * 2

    def step(self, x: Tensor) -> Tensor:
        """Change the object and return a tensor."""
        self.items.append(self.count)
        self.value = self.value + x.sum()
        return self.value


class Slotted(Box):
    """A box whose attribute is computed and which changes tensors in place."""

    __slots__ = ("last",)

    def __getattr__(self, name: str) -> Any:
        if name == "extra":
            return self.count + 1
        raise AttributeError(name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "count":
            value = value % 100
        super().__setattr__(name, value)

    def step(self, x: Tensor) -> Tensor:
        """Change the tensor in place."""
        self.last = x
        return self.value.add_(x.sum())


@dataclasses.dataclass
class Pair:
    """A dataclass."""

    left: Tensor
    right: int = 1


class Point(collections.namedtuple("Point", "x y")):
    """A tuple with names."""

    def moved(self, n: int) -> "Point":
        return self._replace(y=self.y + n)


class Trace:
    """A context manager that prints, and swallows what it is told to."""

    def __init__(self, name: object, swallows: type[BaseException] | tuple[()] = ()) -> None:
        self.name = name
        self.swallows = swallows
        self.entered = 0

    def __enter__(self) -> "Trace":
        self.entered += 1
        print("enter", self.name)
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> bool:
        is_unbound = kind is not None and issubclass(kind, NameError)  # of two classes, see `running.chain`
        told = [one is None for one in rest]
        print("exit", self.name, "NameError" if is_unbound else kind and kind.__name__, *told)
        return kind is not None and issubclass(kind, self.swallows)


@contextlib.contextmanager
def guarded(n: int) -> Iterator[int]:
    """Yield `n + 1`; turn a ValueError into an Oops, and print at the end."""
    print("begin", n)
    try:
        yield n + 1
    except ValueError as error:
        raise Oops(n) from error
    finally:
        print("end", n)


class Holder:
    """Writes an attribute for the time of a block."""

    def __init__(self, box: Any, value: Any) -> None:
        self.box = box
        self.value = value

    def __enter__(self) -> Any:
        self.before = self.box.count
        self.box.count = self.value
        return self.box

    def __exit__(self, *error: object) -> None:
        self.box.count = self.before


class Layer(nn.Module):
    """A module with a parameter, a buffer and a number."""

    seen: Tensor

    def __init__(self, scale: int = 1) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3) * scale)
        self.register_buffer("seen", torch.zeros(3))
        self.count = scale

    def forward(self, x: Tensor) -> Tensor:
        self.count += 1
        self.seen += 1
        return x * self.weight + self.seen


class Net(nn.Module):
    """A module of modules."""

    def __init__(self, depth: int = 2) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Layer(k + 1) for k in range(depth))
        self.drop = nn.Dropout(0.5)
        self.count = 0
        self.weight = nn.Parameter(torch.ones(3))

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x).relu()
        return self.drop(x) * self.weight


class Knob:
    """Numbers, a name and a switch in all the places where an object may hold them."""

    def __init__(
        self, eps: float = 0.5, p: float = 0.5, count: int = 1, name: str = "none", on: bool = True
    ) -> None:
        self.eps = eps
        self.p = p
        self.count = count
        self.name = name
        self.on = on
        self.scales = [eps, p]
        self.table = {"p": p, name: eps}

    @property
    def alpha(self) -> float:
        """Compute a number."""
        return self.eps * 2

    @alpha.setter
    def alpha(self, value: float) -> None:
        self.eps = value

    def scaled(self, x: Tensor) -> Tensor:
        """Scale by an attribute."""
        return x * self.eps if self.on else x + self.p


def scaled_by(scale: float) -> Callable[[Tensor], Tensor]:
    """Return a function with a number in a closure cell."""

    def scaled(x: Tensor) -> Tensor:
        return x * scale

    return scaled


def first(made: Any) -> Tensor:
    """Return the first of several results, or the only one."""
    return made[0] if isinstance(made, tuple) else made


def last(made: Any) -> Tensor:
    """Return the last tensor of several results, or the only one."""
    return [one for one in several(made) if isinstance(one, Tensor)][-1]


def several(made: Any) -> tuple[Any, ...]:
    """Return results as a tuple."""
    return made if isinstance(made, tuple) else (made,)


def linear(scale: float) -> nn.Linear:
    """Return a linear layer whose weights are known."""
    made = nn.Linear(3, 3, bias=False)
    nn.init.constant_(made.weight, scale)
    return made


def tied(module: nn.Module, other: nn.Module) -> nn.Module:
    """Return a module whose first parameter is that of another one."""
    mine, theirs = (next(iter(one.named_parameters()), None) for one in (module, other))
    if mine is not None and theirs is not None and "." not in mine[0]:
        setattr(module, mine[0], theirs[1])
    return module

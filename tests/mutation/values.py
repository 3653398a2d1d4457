"""What else could stand in the place of a value: one table by type, each entry with a label."""

import collections
import copy
import enum
import functools
import math
import types
from collections.abc import Callable, Iterator
from typing import Any, Final

import torch
from torch import nn

Variant = tuple[str, Callable[[], Any]]
"""A label, and what makes the other value."""

STRINGS: Final = {
    "mean": "sum", "sum": "mean", "none": "mean", "bilinear": "nearest", "nearest": "area", "floor": "trunc",
    "reflect": "constant", "constant": "replicate", "replicate": "circular", "trunc": "floor", "tanh": "none",
    "relu": "gelu", "gelu": "relu", "left": "right", "right": "left", "same": "valid", "valid": "same",
    "ij": "xy", "xy": "ij", "fro": "nuc", "nuc": "fro", "amax": "amin", "amin": "amax", "prod": "sum",
}  # fmt: skip
"""For what operators and programs of the corpora take as a mode: another mode."""


class Integer(int):
    """An integer of a class of its own."""


class Real(float):
    """A float of a class of its own."""


class Text(str):
    """A string of a class of its own."""

    __slots__ = ()


class Items(list[Any]):
    """A list of a class of its own."""


class Couple(tuple[Any, ...]):
    """A tuple of a class of its own."""

    __slots__ = ()


class Other:
    """An object that nothing was written for."""


class Unbound:
    """Stands for what a variable without a value has."""


UNBOUND: Final = Unbound()
UNCOPIED: Final = (type, types.ModuleType, torch._ops.OpOverloadPacket)
"""What has no copy of its own; that of an operator's overloads never ends."""


@functools.singledispatch
def variants(value: Any) -> Iterator[Variant]:
    """Yield what could stand in the place of a value of this type."""
    if not isinstance(value, UNCOPIED):
        yield "equal copy", lambda: copy.copy(value)
    yield "None", lambda: None
    yield "an object", Other


@variants.register
def _(value: None) -> Iterator[Variant]:
    yield "0", lambda: 0
    yield "True", lambda: True
    yield "0.5", lambda: 0.5
    yield "a tensor", lambda: torch.ones(())
    yield "float64", lambda: torch.float64


@variants.register
def _(value: Unbound) -> Iterator[Variant]:
    yield "0.5", lambda: 0.5
    yield "a tensor", lambda: torch.ones(())


@variants.register
def _(value: bool) -> Iterator[Variant]:
    yield "flipped", lambda: not value
    yield "int", lambda: int(value)
    yield "None", lambda: None


@variants.register
def _(value: int) -> Iterator[Variant]:
    yield "+1", lambda: value + 1
    yield "-1", lambda: value - 1
    yield "0", lambda: 0 if value else 2
    yield "negated", lambda: -value - (not value)
    yield "float", lambda: float(value)
    yield "bool", lambda: bool(value)
    yield "subclass", lambda: Integer(value)
    yield "other subclass", lambda: Integer(value + 1)
    yield "None", lambda: None
    yield "tensor", lambda: torch.tensor(value)


@variants.register
def _(value: float) -> Iterator[Variant]:
    yield "next", lambda: math.nextafter(value, math.inf)
    yield "doubled", lambda: value * 2 + (not value)
    yield "negated", lambda: -value
    yield "-0.0", lambda: -0.0 if math.copysign(1, value) > 0 or value else 0.0
    yield "0.0", lambda: 0.0
    yield "nan", lambda: math.nan
    yield "inf", lambda: math.inf
    yield "int", lambda: int(value) if math.isfinite(value) else 1
    yield "subclass", lambda: Real(value)
    yield "tensor", lambda: torch.tensor(value)
    yield "None", lambda: None


@variants.register
def _(value: complex) -> Iterator[Variant]:
    yield "conjugated", value.conjugate
    yield "+1", lambda: value + 1
    yield "float", lambda: value.real


@variants.register
def _(value: str) -> Iterator[Variant]:
    yield "longer", lambda: value + "x"
    yield "empty", lambda: "" if value else "y"
    yield "upper case", lambda: value.upper() if value.upper() != value else value.lower()
    yield "subclass", lambda: Text(value)
    yield "None", lambda: None
    if value in STRINGS:
        yield "other mode", lambda: STRINGS[value]


@variants.register
def _(value: bytes) -> Iterator[Variant]:
    yield "longer", lambda: value + b"x"
    yield "str", lambda: value.decode("latin1")


@variants.register
def _(value: torch.dtype) -> Iterator[Variant]:
    for dtype in (torch.float64, torch.float16, torch.int64, torch.bool):
        if dtype is not value:
            yield str(dtype), lambda dtype=dtype: dtype
    yield "None", lambda: None


@variants.register
def _(value: slice) -> Iterator[Variant]:
    yield "from 1", lambda: slice(1, value.stop, value.step)
    yield "step 2", lambda: slice(value.start, value.stop, 2)


@variants.register
def _(value: range) -> Iterator[Variant]:
    yield "longer", lambda: range(value.start, value.stop + value.step, value.step)
    yield "list", lambda: list(value)


@variants.register
def _(value: enum.Enum) -> Iterator[Variant]:
    members = list(type(value))
    if len(members) > 1:
        yield "next member", lambda: members[(members.index(value) + 1) % len(members)]
    yield "its value", lambda: value.value


@variants.register
def _(value: tuple) -> Iterator[Variant]:
    yield "list", lambda: list(value)
    if type(value) is tuple:
        yield "subclass", lambda: Couple(value)
        yield "longer", lambda: (*value, value[-1] if value else 1)
    rebuilt = functools.partial(rebuild, value)
    if value:
        yield "shorter", lambda: tuple(value[:-1])
        yield "reversed", lambda: rebuilt(reversed(value))
    for index, one in enumerate(value[:4]):
        for label, make in variants(one):
            yield (
                f"[{index}] {label}",
                lambda i=index, make=make: rebuilt((*value[:i], make(), *value[i + 1 :])),
            )


def rebuild(like: tuple[Any, ...], items: Any) -> tuple[Any, ...]:
    """Return a tuple of the same class with other items."""
    return tuple.__new__(type(like), items)


@variants.register
def _(value: list) -> Iterator[Variant]:
    yield "equal copy", lambda: list(value)
    yield "tuple", lambda: tuple(value)
    yield "subclass", lambda: Items(value)
    yield "empty", lambda: [] if value else [1]


@variants.register
def _(value: dict) -> Iterator[Variant]:
    yield "equal copy", lambda: dict(value)
    yield "ordered", lambda: collections.OrderedDict(value)
    yield "with a default", lambda: collections.defaultdict(int, value)
    yield "empty", lambda: {} if value else {"more": 1}


@variants.register
def _(value: collections.deque) -> Iterator[Variant]:
    yield "equal copy", value.copy
    yield "without a limit", lambda: collections.deque(value)
    yield "a lower limit", lambda: collections.deque(value, max(len(value) - 1, 0))
    yield "a higher limit", lambda: collections.deque(value, len(value) + 2)
    yield "list", lambda: list(value)
    yield "longer", lambda: collections.deque([*value, 1], value.maxlen)


@variants.register
def _(value: set) -> Iterator[Variant]:
    yield "frozen", lambda: frozenset(value)
    yield "empty", lambda: set() if value else {1}


@variants.register
def _(value: frozenset) -> Iterator[Variant]:
    yield "set", lambda: set(value)
    yield "larger", lambda: value | {"more"}


@variants.register
def _(value: types.FunctionType) -> Iterator[Variant]:
    yield "copy", lambda: twin(value)
    yield "wrapped", lambda: wrapped(value)
    yield "changed result", lambda: changing(value)
    yield "None", lambda: None
    yield "partial", lambda: functools.partial(value)


@variants.register
def _(value: types.BuiltinFunctionType) -> Iterator[Variant]:
    yield "wrapped", lambda: wrapped(value)
    yield "changed result", lambda: changing(value)


def twin(function: types.FunctionType) -> types.FunctionType:
    """Return a function that shares all but its identity."""
    made = types.FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    made.__kwdefaults__ = function.__kwdefaults__
    return functools.wraps(function)(made)


def wrapped(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that calls it."""

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return wrapper


def changing(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose tensors and numbers are larger than those of this one."""

    def larger(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        is_number = isinstance(result, torch.Tensor | int | float) and not isinstance(result, bool)
        return result + 1 if is_number else result

    return larger


@variants.register
def _(value: staticmethod) -> Iterator[Variant]:
    yield "changed result", lambda: staticmethod(changing(value.__func__))
    yield "a function", lambda: value.__func__


@variants.register
def _(value: classmethod) -> Iterator[Variant]:
    yield "changed result", lambda: classmethod(changing(value.__func__))


@variants.register
def _(value: property) -> Iterator[Variant]:
    yield "changed result", lambda: property(changing(value.fget), value.fset) if value.fget else property()
    yield "a value", lambda: 3


@variants.register
def _(value: nn.Module) -> Iterator[Variant]:
    yield "copy", lambda: copy.deepcopy(value)
    yield "other numbers", lambda: doubled(value)
    yield "Identity", nn.Identity
    yield "None", lambda: None


def doubled(module: nn.Module) -> nn.Module:
    """Return a copy of a module with parameters of twice the size."""
    made = copy.deepcopy(module)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.mul_(2)
    return made

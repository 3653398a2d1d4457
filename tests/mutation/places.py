"""Finds what a call can reach: each place is a path from the world's arguments and function to a value."""

import enum
import types
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial, reduce, singledispatch
from typing import Any, Final, Protocol

import torch
from torch import nn

from tests.mutation.values import UNBOUND, Unbound
from tests.mutation.worlds import World

DEPTH: Final = 8
MOST: Final = 150
"""Places of one program, at most; near ones come first."""
ATOMS: Final = (type(None), bool, int, float, complex, str, bytes, torch.dtype, torch.device, slice, range)
HIDDEN: Final = ("__module__", "__qualname__", "__dict__", "__weakref__", "__doc__", "__annotations__")
"""Attributes of classes that are mutated otherwise or not at all."""
TORCH_STATE: Final = (
    "_hooks",
    "_hook",
    "_set",
    "_kwargs",
    "_always_called",
    "_parameters",
    "_buffers",
    "_modules",
)
"""Ends of names of what torch keeps in a module."""
PATCHED: Final = ("math", "torch.nn.functional", "operator", "functools", "itertools", "random", "copy")
"""Modules whose entries are replaced."""


class Step(Protocol):
    """One hop from an owner to what it holds."""

    def get(self, owner: Any) -> Any:
        """Return what is held."""
        ...

    def put(self, owner: Any, value: Any) -> None:
        """Let the owner hold something else.

        Raises:
            TypeError: this owner cannot.
        """
        ...


@dataclass(frozen=True)
class Item:
    """An element of a list, by index, or of a dict, by key."""

    key: Any

    def get(self, owner: Any) -> Any:
        return base_of(owner).__getitem__(owner, self.key)

    def put(self, owner: Any, value: Any) -> None:
        base_of(owner).__setitem__(owner, self.key, value)

    def __str__(self) -> str:
        return f"[{self.key!r}]"


def base_of(owner: Any) -> Any:
    return dict if isinstance(owner, dict) else list if isinstance(owner, list) else type(owner)


@dataclass(frozen=True)
class Element:
    """An element of what cannot be written: a tuple; or the nth value of a dict."""

    index: int

    def get(self, owner: Any) -> Any:
        values = dict.values(owner) if isinstance(owner, dict) else tuple.__iter__(owner)
        return list(values)[self.index]

    def put(self, owner: Any, value: Any) -> None:
        raise TypeError(f"a {type(owner).__name__} keeps its elements")

    def __str__(self) -> str:
        return f"[{self.index}]"


@dataclass(frozen=True)
class Attribute:
    """An entry of an object's own dictionary, or of a module's."""

    name: str

    def get(self, owner: Any) -> Any:
        return vars(owner)[self.name]

    def put(self, owner: Any, value: Any) -> None:
        vars(owner)[self.name] = value

    def __str__(self) -> str:
        return f".{self.name}"


@dataclass(frozen=True)
class Field:
    """A slot of an object, or an attribute that C keeps."""

    name: str

    def get(self, owner: Any) -> Any:
        return object.__getattribute__(owner, self.name)

    def put(self, owner: Any, value: Any) -> None:
        object.__setattr__(owner, self.name, value)

    def __str__(self) -> str:
        return f".{self.name}"


@dataclass(frozen=True)
class Inner:
    """What an object is made of and keeps: the function of a method, the getter of a property, a class."""

    name: str

    def get(self, owner: Any) -> Any:
        return getattr(owner, self.name)

    def put(self, owner: Any, value: Any) -> None:
        raise TypeError(f"a {type(owner).__name__} keeps its {self.name}")

    def __str__(self) -> str:
        return f".{self.name}"


@dataclass(frozen=True)
class Member:
    """An entry of a class."""

    name: str

    def get(self, owner: Any) -> Any:
        return vars(owner)[self.name]

    def put(self, owner: Any, value: Any) -> None:
        setattr(owner, self.name, value)

    def __str__(self) -> str:
        return f"::{self.name}"


@dataclass(frozen=True)
class Cell:
    """A variable of an enclosing function."""

    index: int

    def get(self, owner: Any) -> Any:
        try:
            return owner.__closure__[self.index].cell_contents
        except ValueError:
            return UNBOUND

    def put(self, owner: Any, value: Any) -> None:
        if value is UNBOUND:
            del owner.__closure__[self.index].cell_contents
        else:
            owner.__closure__[self.index].cell_contents = value

    def __str__(self) -> str:
        return f"<cell {self.index}>"


@dataclass(frozen=True)
class Default:
    """A default of a parameter."""

    index: int

    def get(self, owner: Any) -> Any:
        return owner.__defaults__[self.index]

    def put(self, owner: Any, value: Any) -> None:
        defaults = list(owner.__defaults__)
        defaults[self.index] = value
        owner.__defaults__ = tuple(defaults)

    def __str__(self) -> str:
        return f"<default {self.index}>"


@dataclass(frozen=True)
class NamedDefault:
    """A default of a parameter that is given by name."""

    name: str

    def get(self, owner: Any) -> Any:
        return owner.__kwdefaults__[self.name]

    def put(self, owner: Any, value: Any) -> None:
        owner.__kwdefaults__[self.name] = value

    def __str__(self) -> str:
        return f"<default {self.name}>"


@dataclass(frozen=True)
class Global:
    """A global of a function's module."""

    name: str

    def get(self, owner: Any) -> Any:
        return owner.__globals__[self.name]

    def put(self, owner: Any, value: Any) -> None:
        owner.__globals__[self.name] = value

    def __str__(self) -> str:
        return f"<global {self.name}>"


@dataclass(frozen=True)
class Place:
    """A value that a call can reach.

    Attributes:
        steps: from the world to the value; the first is an argument or the function.
    """

    steps: tuple[Step, ...]

    def owner(self, world: World) -> Any:
        """Return what holds the value."""
        return reduce(lambda owner, step: step.get(owner), self.steps[:-1], world)

    def value(self, world: World) -> Any:
        """Return the value."""
        return self.steps[-1].get(self.owner(world))

    def put(self, world: World, value: Any) -> None:
        """Hold another value there."""
        self.steps[-1].put(self.owner(world), value)

    @property
    def can_change(self) -> bool:
        """Whether the owner can hold something else there."""
        return not isinstance(self.steps[-1], Element | Inner)

    def __str__(self) -> str:
        return "".join(map(str, self.steps)).lstrip(".")


def places(world: World) -> Iterator[tuple[Place, Any]]:
    """Yield what a call of a world's function can reach: its function, its arguments, and on from there."""
    roots: list[Place] = [Place((Field("function"),))]
    roots += [Place((Field("args"), Item(index))) for index in range(len(world.args))]
    roots += [Place((Field("kwargs"), Item(name))) for name in world.kwargs]
    waiting = deque(roots)
    seen: set[int] = set()
    for _ in range(MOST):
        if not waiting:
            return
        place = waiting.popleft()
        try:
            value = place.value(world)
        except AttributeError:  # an empty slot
            continue
        yield place, value
        if isinstance(value, (*ATOMS, Unbound)) or id(value) in seen or len(place.steps) > DEPTH:
            continue
        seen.add(id(value))
        waiting += [Place((*place.steps, step)) for step in steps(value, world)]


@singledispatch
def steps(value: Any, world: World) -> Iterator[Step]:
    """Yield the ways from an object to what it holds, where that is the program's."""
    yield from of_object(value, world)
    yield from of_own(value, world)


def of_own(value: Any, world: World) -> Iterator[Step]:
    """Yield the class of an instance of the program's, and attributes of one that is a container."""
    if is_own(type(value), world):
        yield Inner("__class__")
        if isinstance(value, dict | list | tuple):
            yield from map(Attribute, getattr(value, "__dict__", ()))


@steps.register(torch.Tensor)
@steps.register(torch._ops.OpOverload)  # pyright: ignore[reportPrivateUsage]  # torch's own machinery
@steps.register(torch._ops.OpOverloadPacket)  # pyright: ignore[reportPrivateUsage]
def _(value: Any, world: World) -> Iterator[Step]:
    yield from ()


@steps.register
def _(value: types.FunctionType, world: World) -> Iterator[Step]:
    if value.__globals__ is world.names:
        yield from of_function(value)


@steps.register
def _(value: type, world: World) -> Iterator[Step]:
    if is_own(value, world):
        yield from of_class(value)


@steps.register
def _(value: list, world: World) -> Iterator[Step]:
    yield from map(Item, range(list.__len__(value)))
    yield from of_own(value, world)


@steps.register
def _(value: tuple, world: World) -> Iterator[Step]:
    yield from map(Element, range(tuple.__len__(value)))
    yield from of_own(value, world)


@steps.register
def _(value: dict, world: World) -> Iterator[Step]:
    for index, key in enumerate(dict.keys(value)):
        yield Item(key) if isinstance(key, ATOMS) else Element(index)
    yield from of_own(value, world)


@steps.register
def _(value: types.MethodType, world: World) -> Iterator[Step]:
    yield from (Inner("__self__"), Inner("__func__"))


@steps.register
def _(value: property, world: World) -> Iterator[Step]:
    yield Inner("fget")


@steps.register(staticmethod)
@steps.register(classmethod)
def _(value: Any, world: World) -> Iterator[Step]:
    yield Inner("__func__")


@steps.register
def _(value: partial, world: World) -> Iterator[Step]:
    yield from map(Inner, ("func", "args", "keywords"))


def is_own(kind: type, world: World) -> bool:
    """Tell whether a class is the program's."""
    return kind.__module__ == world.names["__name__"] and not issubclass(kind, enum.Enum)


def of_function(function: types.FunctionType) -> Iterator[Step]:
    yield from map(Default, range(len(function.__defaults__ or ())))
    yield from map(NamedDefault, function.__kwdefaults__ or ())
    yield from map(Cell, range(len(function.__closure__ or ())))
    names = used_names(function.__code__)
    for name in names:
        if isinstance(module := function.__globals__.get(name), types.ModuleType):
            continue
        if name in function.__globals__:
            yield Global(name)
    for name in names:
        if isinstance(module := function.__globals__.get(name), types.ModuleType):
            yield from (
                Entry(name, one) for one in names if module.__name__ in PATCHED and one in vars(module)
            )


@dataclass(frozen=True)
class Entry:
    """A global of another module, which a function reaches by the module's name."""

    module: str
    name: str

    def get(self, owner: Any) -> Any:
        return vars(owner.__globals__[self.module])[self.name]

    def put(self, owner: Any, value: Any) -> None:
        vars(owner.__globals__[self.module])[self.name] = value

    def __str__(self) -> str:
        return f"<{self.module}.{self.name}>"


def used_names(code: types.CodeType) -> list[str]:
    """Return the names that a function, or one made in it, reads."""
    found = dict.fromkeys(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found.update(dict.fromkeys(used_names(constant)))
    return list(found)


def of_class(kind: type) -> Iterator[Step]:
    for name, value in vars(kind).items():
        if name not in HIDDEN and not isinstance(
            value, types.MemberDescriptorType | types.GetSetDescriptorType
        ):
            yield Member(name)
    yield from (Inner("__base__"), Inner("__class__"))


def of_object(value: Any, world: World) -> Iterator[Step]:
    """Yield the attributes of objects of the program's classes, of modules and optimisers."""
    is_module = isinstance(value, nn.Module)
    if not (
        is_module
        or is_own(type(value), world)
        or isinstance(value, torch.optim.Optimizer | types.SimpleNamespace)
    ):
        return
    for name in getattr(value, "__dict__", ()):
        is_torchs = is_module and name.startswith("_") and name.endswith(TORCH_STATE)
        if not is_torchs or vars(value)[name]:
            yield Attribute(name)
    for kind in type(value).__mro__:
        slots = vars(kind).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__"):
                yield Field(name)

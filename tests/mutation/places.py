"""Places that a call can reach, in its arguments, closures, globals and classes: to be read and written.

A place in the arguments is a path from their root, so that it means the same in two worlds: eager's objects
and their copy, which compiled code gets. Places behind names (globals, classes, cells) are shared by both.
"""

import builtins
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import torch

World = dict[str, Any]
"""The arguments of one call: {"args": list, "kwargs": dict}."""

Path = tuple[tuple[str, Any], ...]
"""Steps from the root of a world: ("item", key), ("attribute", name)."""

MISSING: Final = type("Missing", (), {"__repr__": lambda _: "nothing"})()
DEPTH: Final = 6
FEW: Final = 12
"""How many items of one container are walked."""
OF_MODULES: Final = (
    "training", "_parameters", "_buffers", "_modules", "eps", "p", "inplace", "momentum", "affine", "stride",
    "padding", "dilation", "groups", "num_heads", "normalized_shape", "negative_slope", "approximate",
)  # fmt: skip
"""Attributes of torch's own modules that are changed; of a program's modules all others are too."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value lies.

    Attributes:
        text: for people.
        path: steps from the root of a world, or from `root`.
        root: what a shared place begins at; None for arguments.
    """

    text: str
    path: Path
    root: Any = None

    @property
    def is_shared(self) -> bool:
        """Whether both worlds see a change."""
        return self.root is not None

    def get(self, world: World) -> Any:
        """Return the value, MISSING where there is none."""
        *before, last = self.path
        return step(self._holder(world, before), last)

    def put(self, world: World, value: Any) -> None:
        """Write the value, or delete it where it is MISSING."""
        *before, (kind, key) = self.path
        holder = self._holder(world, before)
        if kind == "item" and value is MISSING:
            del holder[key]
        elif kind == "item":
            holder[key] = value
        elif value is MISSING:
            delattr(holder, key)
        elif kind == "attribute" and key in getattr(holder, "__dict__", ()) and not isinstance(holder, type):
            holder.__dict__[key] = value
        else:
            setattr(holder, key, value)

    def _holder(self, world: World, path: list[tuple[str, Any]]) -> Any:
        found = world if self.root is None else self.root
        for one in path:
            found = step(found, one)
        return found


def step(holder: Any, way: tuple[str, Any]) -> Any:
    """Return what lies one step away."""
    kind, key = way
    if kind == "item":
        try:
            return holder[key]
        except (KeyError, IndexError):
            return MISSING
    if isinstance(holder, type):
        return holder.__dict__.get(key, MISSING)
    own = getattr(holder, "__dict__", {})
    return own[key] if key in own else getattr(holder, key, MISSING)


def is_users(cls: type) -> bool:
    """Tell whether a class is the program's own."""
    return cls.__module__.split(".")[0] in ("tests", "__main__")


def of_arguments(world: World) -> Iterator[Place]:
    """Yield the places in the arguments."""
    for name in ("args", "kwargs"):
        yield from _inside(world[name], name, (("item", name),), None, set())


def _inside(obj: Any, text: str, path: Path, root: Any, seen: set[int]) -> Iterator[Place]:
    """Yield the places inside an object, each object once."""
    if id(obj) in seen or len(path) > DEPTH:
        return
    seen.add(id(obj))
    for way, shown in _ways(obj):
        place = Place(f"{text}{shown}", (*path, way), root)
        yield place
        yield from _inside(step(obj, way), place.text, place.path, root, seen)


def _ways(obj: Any) -> Iterator[tuple[tuple[str, Any], str]]:
    if isinstance(obj, list):
        yield from ((("item", place), f"[{place}]") for place in range(min(len(obj), FEW)))
    elif isinstance(obj, dict):
        yield from ((("item", key), f"[{key!r}]") for key in list(obj)[:FEW])
    elif isinstance(obj, torch.nn.Module):
        names = [name for name in vars(obj) if is_users(type(obj)) or name in OF_MODULES]
        hidden = [name for name in names if name.startswith("_") and name not in OF_MODULES]
        yield from ((("attribute", name), f".{name}") for name in names if name not in hidden)
    elif is_users(type(obj)) and not isinstance(obj, torch.Tensor | type):
        slots = [name for cls in type(obj).__mro__ for name in cls.__dict__.get("__slots__", ())]
        names = [*vars(obj)] if hasattr(obj, "__dict__") else []
        yield from (
            (("attribute", name), f".{name}") for name in [*names, *slots][:FEW] if name != "__dict__"
        )


def functions_of(function: types.FunctionType) -> list[types.FunctionType]:
    """Return a function and those of the same module that it may call, by the names that it uses."""
    found: dict[int, types.FunctionType] = {}
    work: list[object] = [function]
    while work:
        one = work.pop()
        if isinstance(one, types.MethodType | staticmethod | classmethod):
            one = one.__func__
        if isinstance(one, type) and is_users(one):
            work += [part for part in vars(one).values() if callable(part)]
        if not isinstance(one, types.FunctionType) or id(one) in found:
            continue
        if one.__globals__ is function.__globals__:
            found[id(one)] = one
            work += [one.__globals__.get(name) for name in names_in(one.__code__)]
            work += [contents(cell) for cell in one.__closure__ or ()]
    return list(found.values())


def names_in(code: types.CodeType) -> set[str]:
    """Return the names that a code object and those inside it use."""
    found = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= names_in(constant)
    return found


def contents(cell: types.CellType) -> object:
    """Return what a cell holds."""
    try:
        return cell.cell_contents
    except ValueError:
        return MISSING


def of_names(function: types.FunctionType) -> Iterator[Place]:
    """Yield the places behind a function's names: globals, cells, defaults, and names that hide builtins."""
    names = function.__globals__
    for one in functions_of(function):
        for name in sorted(names_in(one.__code__)):
            if name in names and not isinstance(names[name], types.ModuleType):
                place = Place(f"global {name}", (("item", name),), names)
                yield place
                yield from _inside(names[name], place.text, place.path, names, set())
            elif name in vars(builtins) and name not in names and name != "__import__":
                yield Place(f"hidden builtin {name}", (("item", name),), names)
        for name, cell in zip(one.__code__.co_freevars, one.__closure__ or (), strict=True):
            place = Place(f"cell {name} of {one.__name__}", (("attribute", "cell_contents"),), cell)
            if name != "__class__":
                yield place
                yield from _inside(contents(cell), place.text, place.path, cell, set())
        for name in ("__defaults__", "__kwdefaults__", "__code__"):
            if getattr(one, name):
                yield Place(f"{one.__qualname__}.{name}", (("attribute", name),), one)


def classes_of(function: types.FunctionType, world: World) -> list[type]:
    """Return the program's classes that a call can reach."""
    found: dict[type, None] = {}
    objects = [place.get(world) for place in of_arguments(world)]
    objects += [place.get(world) for place in of_names(function)]
    for obj in objects:
        for cls in (type(obj), *((obj,) if isinstance(obj, type) else ())):
            found.update(dict.fromkeys(base for base in cls.__mro__ if is_users(base)))
            found.update(dict.fromkeys(base for base in type(cls).__mro__ if is_users(base)))
    return list(found)


PROTOCOLS: Final = (
    "__bool__", "__len__", "__eq__", "__call__", "__getattr__", "__getitem__", "__iter__", "__contains__",
    "__add__", "__enter__", "__instancecheck__", "__hash__",
)  # fmt: skip
"""Methods that change what an object does when its class gets them."""


def of_classes(function: types.FunctionType, world: World) -> Iterator[Place]:
    """Yield the attributes of the program's classes, and methods that they might get."""
    for cls in classes_of(function, world):
        own = [name for name in vars(cls) if name not in _OF_CLASSES]
        for name in (*own, *(name for name in PROTOCOLS if name not in own)):
            yield Place(f"class {cls.__qualname__}.{name}", (("attribute", name),), cls)


_OF_CLASSES: Final = frozenset(
    "__module__ __dict__ __weakref__ __doc__ __slots__ __orig_bases__ __parameters__ __annotations__ "
    "__abstractmethods__ _abc_impl __init_subclass__ __new__ __match_args__ __dataclass_fields__ "
    "__dataclass_params__ __classcell__ __del__ __qualname__ __firstlineno__ __static_attributes__".split()
)

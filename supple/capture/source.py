"""Where a value came from: a path from the frame's arguments to an object that existed before the call.

A guard evaluates a source; residual code reloads it. `name` is the path as people read it, and its identity.

A path begins at a Local or a Pinned, and each step of it is an Attr or a Called. Checks (`guards.writer`),
explanations (`value_at`) and residual code read these four; each way to read a value is a function below
that composes them, so that a new one is one function.
"""

import builtins
import collections
import types
import weakref
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from inspect import getattr_static
from operator import getitem
from typing import Final, cast

import torch

from supple.runtime import classes

Function = Callable[..., object]


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """Base of all sources. Two sources with one name are the same source.

    Attributes:
        name: the path as it prints: "L['x'].weight".
        base: the source it is read from, None for roots.
    """

    name: str
    base: "Source | None"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Source) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True, eq=False)
class Local(Source):
    """An argument of the captured frame."""

    variable: str


@dataclass(frozen=True, slots=True, eq=False)
class Pinned(Source):
    """An object that the entry itself holds: a class, a module's globals, the captured function."""

    value: object = field(repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class Attr(Source):
    """`base.attribute`, by ordinary attribute access of an object whose type is guarded."""

    base: Source
    attribute: str


@dataclass(frozen=True, slots=True, eq=False)
class Called(Source):
    """`function(base, *arguments)`; the function is a builtin and the arguments are constants."""

    base: Source
    function: Function
    arguments: tuple[object, ...] = ()


GETTERS: Final[Mapping[type, Function]] = {
    kind: cast("Function", vars(kind)["__getitem__"]) for kind in (list, tuple, dict, collections.deque)
}
"""How a builtin type, or a subclass of it past its own `__getitem__`, reads an item."""


def local(variable: str) -> Source:
    """Return the source of an argument."""
    return Local(f"L[{variable!r}]", None, variable)


def pinned(label: str, value: object) -> Source:
    """Return the source of an object that the entry holds; equal labels must mean the same object."""
    return Pinned(label, None, value)


def class_source(cls: type) -> Source:
    """Return the source of a class, held by the entry."""
    return pinned(f"C[{cls.__module__}.{cls.__qualname__}@{id(cls):x}]", cls)


def global_variable(globals_source: Source, variable: str) -> Source:
    """Return the source of a global variable of the module whose dict is `globals_source`."""
    return item(globals_source, variable, dict)


def attribute(base: Source, name: str) -> Source:
    """Return the source of `base.name`."""
    return Attr(f"{base.name}.{name}", base, name)


def own_names(base: Source, *, is_asked: bool = False) -> Source:
    """Return the source of `base.__dict__`; `is_asked`: a `__getattribute__` in Python is to be read past."""
    if is_asked:
        return Called(f"own_dict({base.name})", base, classes.own_dict)
    return attribute(base, "__dict__")


def instance_attribute(base: Source, name: str, *, is_asked: bool = False) -> Source:
    """Return the source of an object's own attribute, past its class: `base.__dict__[name]`."""
    return item(own_names(base, is_asked=is_asked), name, dict)


_PRINTED: Final = frozenset((str, int, bool, float, bytes, tuple, type(None)))


def own_value(obj: object, name: str) -> object:
    """Return what an object holds under a name, in its dict or in a slot; None where there is nothing."""
    names = classes.own_dict(obj)
    if name in names:
        return names[name]
    slot = classes.lookup(type(obj), name)
    try:
        return slot.__get__(obj) if isinstance(slot, types.MemberDescriptorType) else None
    except AttributeError:
        return None


def own_or_none(base: Source, name: str) -> Source:
    """Return the source of what an object holds under a name, if it holds anything."""
    return Called(f"own_value({base.name}, {name!r})", base, own_value, (name,))


def variable_or_none(globals_source: Source, variable: str) -> Source:
    """Return the source of a global variable that the module may not have."""
    return Called(
        f"{globals_source.name}.get({variable!r})", globals_source, dict[str, object].get, (variable,)
    )


def item(base: Source, key: object, of: type) -> Source:
    """Return the source of `base[key]`; `of` is the builtin type (list, tuple, dict, deque) that reads it."""
    # Objects may print alike.
    shown = repr(key) if type(key) in _PRINTED else f"{type(key).__name__}@{id(key):x}"
    return Called(f"{base.name}[{shown}]", base, GETTERS.get(of, getitem), (key,))


def key_at(base: Source, position: int) -> Source:
    """Return the source of the `position`-th key of a dict."""
    return item(Called(f"list({base.name})", base, list), position, list)


def cell(function: Source, index: int) -> Source:
    """Return the source of a function's closure cell contents; its base is the cell."""
    return attribute(item(attribute(function, "__closure__"), index, tuple), "cell_contents")


def is_empty(cell: types.CellType) -> bool:
    """Tell whether a closure cell has no contents."""
    try:
        _ = cell.cell_contents
    except ValueError:
        return True
    return False


def of_empty(contents: Source) -> Source:
    """Return the source of whether the cell that has these contents is empty."""
    owner = contents.base
    assert owner is not None, "contents are an attribute of the cell"
    return Called(f"is_empty({owner.name})", owner, is_empty)


def type_of(base: Source) -> Source:
    """Return the source of an object's type."""
    return Called(f"type({base.name})", base, type)


def size_at(tensor: Source, dim: int) -> Source:
    """Return the source of a tensor's size."""
    return Called(f"{tensor.name}.size()[{dim}]", attribute(tensor, "shape"), getitem, (dim,))


def stride_at(tensor: Source, dim: int) -> Source:
    """Return the source of a tensor's stride."""
    return Called(f"{tensor.name}.stride()[{dim}]", tensor, torch.Tensor.stride, (dim,))


def storage_offset(tensor: Source) -> Source:
    """Return the source of where a tensor begins in its storage, in elements."""
    return Called(f"{tensor.name}.storage_offset()", tensor, torch.Tensor.storage_offset)


def shows_leaf(tensor: torch.Tensor) -> bool:
    """Tell whether a tensor is a view of a leaf that requires gradients, to which eager lets nobody write."""
    base = tensor._base
    return base is not None and base.is_leaf and base.requires_grad


def of_leaf(tensor: Source) -> Source:
    """Return the source of whether a tensor is a view of a leaf."""
    return Called(f"shows_leaf({tensor.name})", tensor, shows_leaf)


def is_view(tensor: torch.Tensor) -> bool:
    """Tell whether a tensor is a view, of which autograd says what it says of the base."""
    return tensor._base is not None


def of_view(tensor: Source) -> Source:
    """Return the source of whether a tensor is a view."""
    return Called(f"is_view({tensor.name})", tensor, is_view)


def is_fragile(tensor: torch.Tensor) -> bool:
    """Tell whether a tensor is a view with gradients of which torch says something else once it is written.

    Such are views made without gradients, or before their base had any, and those of which an operator gives
    several: these may not be used any more.
    """
    if tensor._base is None or not tensor.requires_grad:
        return False
    return tensor.grad_fn is None or tensor.grad_fn.name() in _SEVERAL_VIEWS


_SEVERAL_VIEWS: Final = frozenset(
    f"{name}Backward0"
    for name in ("Split", "SplitWithSizes", "Unbind", "UnsafeSplit", "UnsafeSplitWithSizes")
)


def of_fragile(tensor: Source) -> Source:
    """Return the source of whether writes change what torch says of a tensor."""
    return Called(f"is_fragile({tensor.name})", tensor, is_fragile)


def context_value(variable: Source) -> Source:
    """Return the source of a context variable's value."""
    return Called(f"{variable.name}.get()", variable, ContextVar[object].get)


def answer(function: Source, args: tuple[object, ...], kwargs: Mapping[str, object]) -> Source:
    """Return the source of what a function behind a cache gives for some objects: the program's own call.

    Objects that a cache tells apart by what they are live no longer for it.
    """
    given = [*map(_label, args), *(f"{name}={_label(one)}" for name, one in kwargs.items())]
    held = tuple(map(_held, args)), {name: _held(one) for name, one in kwargs.items()}
    return Called(f"{function.name}({', '.join(given)})", function, _ask, held)


def _label(given: object) -> str:
    return repr(given) if type(given) in (int, str, bool) else f"{type(given).__name__}@{id(given):x}"


class _Weakly(weakref.ReferenceType[object]):
    """An object of the program among the arguments of a call."""


def _held(given: object) -> object:
    if getattr_static(type(given), "__hash__") is not object.__hash__:
        return given
    try:
        return _Weakly(given)
    except TypeError:  # objects of builtin classes, and those with slots
        return given


def _ask(function: Function, args: tuple[object, ...], kwargs: Mapping[str, object]) -> object:
    """Call a function behind a cache.

    Raises:
        ReferenceError: an object that it was called with is no more.
    """
    return function(*map(_given, args), **{name: _given(one) for name, one in kwargs.items()})


def _given(held: object) -> object:
    if not isinstance(held, _Weakly):
        return held
    found = held()
    if found is None:
        raise ReferenceError("an argument of a function behind a cache")
    return found


_REFER: Final[Function] = weakref.ReferenceType[object].__call__


def referent(reference: Source) -> Source:
    """Return the source of what a weak reference refers to."""
    return Called(f"{reference.name}()", reference, _REFER)


def is_weak(source: Source | None) -> bool:
    """Tell whether a source is what a weak reference refers to."""
    return isinstance(source, Called) and source.function is _REFER


def root_of(source: Source) -> Source:
    """Return where the path of a source begins: an argument or an object that the entry holds."""
    while source.base is not None:
        source = source.base
    return source


def owner_of(source: Source) -> Source | None:
    """Return the object whose own attribute a source is (`instance_attribute`), None for another source."""
    own = source.base
    return own.base if isinstance(own, Attr) and own.attribute == "__dict__" else None


def value_at(source: Source, arguments: Mapping[str, object]) -> object:
    """Return the value at a source for these arguments of the frame; raises what reading it raises."""
    match source:
        case Local(variable=variable):
            return arguments[variable]
        case Pinned(value=value):
            return cast("weakref.ref[object]", value)() if isinstance(value, weakref.ref) else value
        case Attr(base=base, attribute=name):
            return getattr(value_at(base, arguments), name)
        case Called(base=base, function=function):
            return function(value_at(base, arguments), *source.arguments)
        case _:
            raise TypeError(f"{source}: a source of class {type(source).__name__}")


STATE: Final = pinned("state", None)
"""The source of guards on the state of the process and the thread."""

BUILTINS: Final = pinned("builtins", vars(builtins))
"""The source of the builtins."""

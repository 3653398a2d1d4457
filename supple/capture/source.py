"""Where a value came from: a path from the frame's arguments to an object that existed before the call.

A guard evaluates a source; residual code reloads it. `name` is the path as people read it, and its identity.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """Base of all sources. Two sources with one name are the same source.

    Attributes:
        name: the path as it prints: "L['x'].weight".
        base: the source it is read from, None for roots.
    """

    name: str
    base: "Source | None" = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Source) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True, eq=False)
class Local(Source):
    """An argument of the captured frame."""

    variable: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Pinned(Source):
    """An object that the entry itself holds: a class, a module's globals, the captured function."""

    value: object = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class Attr(Source):
    """`base.attribute`, by ordinary attribute access of an object whose type is guarded."""

    attribute: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class InstanceAttr(Source):
    """`base.__dict__[attribute]`: the instance's own attribute, class and `__getattr__` left aside."""

    attribute: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Item(Source):
    """`base[key]` of a list, tuple or dict, as the builtin type reads it; `key` is a constant."""

    key: object = None
    of: type = list


@dataclass(frozen=True, slots=True, eq=False)
class KeyAt(Source):
    """The `position`-th key of a dict."""

    position: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Cell(Source):
    """The contents of the `index`-th closure cell of a function."""

    index: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class ContextValue(Source):
    """`base.get()` of a context variable."""


@dataclass(frozen=True, slots=True, eq=False)
class TypeOf(Source):
    """`type(base)`."""


@dataclass(frozen=True, slots=True, eq=False)
class SizeAt(Source):
    """`base.shape[dim]` of a tensor."""

    dim: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class StrideAt(Source):
    """`base.stride()[dim]` of a tensor."""

    dim: int = 0


def local(variable: str) -> Source:
    """Return the source of an argument."""
    return Local(f"L[{variable!r}]", None, variable)


def pinned(label: str, value: object) -> Source:
    """Return the source of an object that the entry holds; equal labels must mean the same object."""
    return Pinned(label, None, value)


def global_variable(globals_source: Source, variable: str) -> Source:
    """Return the source of a global variable of the module whose dict is `globals_source`."""
    prefix = "G" if globals_source.name == "G" else globals_source.name
    return Item(f"{prefix}[{variable!r}]", globals_source, variable, dict)


def attribute(base: Source, name: str) -> Source:
    """Return the source of `base.name`."""
    return Attr(f"{base.name}.{name}", base, name)


def instance_attribute(base: Source, name: str) -> Source:
    """Return the source of `base.__dict__[name]`."""
    return InstanceAttr(f"{base.name}.__dict__[{name!r}]", base, name)


def item(base: Source, key: object, of: type) -> Source:
    """Return the source of `base[key]`, read as the builtin type `of` (list, tuple, dict) reads it."""
    return Item(f"{base.name}[{key!r}]", base, key, of)


def key_at(base: Source, position: int) -> Source:
    """Return the source of the `position`-th key of a dict."""
    return KeyAt(f"list({base.name})[{position}]", base, position)


def cell(function: Source, index: int) -> Source:
    """Return the source of a function's closure cell contents."""
    return Cell(f"{function.name}.__closure__[{index}].cell_contents", function, index)


def type_of(base: Source) -> Source:
    """Return the source of an object's type."""
    return TypeOf(f"type({base.name})", base)


def size_at(tensor: Source, dim: int) -> Source:
    """Return the source of a tensor's size."""
    return SizeAt(f"{tensor.name}.size()[{dim}]", tensor, dim)


def stride_at(tensor: Source, dim: int) -> Source:
    """Return the source of a tensor's stride."""
    return StrideAt(f"{tensor.name}.stride()[{dim}]", tensor, dim)


def context_value(variable: Source) -> Source:
    """Return the source of a context variable's value."""
    return ContextValue(f"{variable.name}.get()", variable)


def root_of(source: Source) -> Source:
    """Return where the path of a source begins: an argument or an object that the entry holds."""
    while source.base is not None:
        source = source.base
    return source

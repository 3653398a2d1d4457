"""Graph, Node, Input: frozen; a pass returns a new Graph.

A value is named once (SSA) and used by `Var(name)`. Arguments are constants, Vars, and lists, tuples, dicts
and slices of them. A node with several results is followed by `getitem`-like projections: `Item(node, index)`
is written `Var("name", (index,))`, so no extra node is needed.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import cast

from supple.base.errors import Where
from supple.expr import Expr
from supple.ir.meta import TensorMeta
from supple.ir.ops import Op


@dataclass(frozen=True, slots=True)
class Constant:
    """A result that is a plain Python value (None, a bool, a float)."""

    value: object


Meta = TensorMeta | Expr | Constant | tuple["Meta", ...]


@dataclass(frozen=True, slots=True)
class Var:
    """A use of a value: the node's or input's name and a path into its results."""

    name: str
    path: tuple[int, ...] = ()

    def __str__(self) -> str:
        return self.name + "".join(f"[{index}]" for index in self.path)


#: Constant | Var | Expr | list | tuple | dict | slice of Args; typed as object because constants are open.
Arg = object


@dataclass(frozen=True, slots=True)
class Input:
    """A value that the caller passes.

    Attributes:
        name: unique in the graph.
        meta: of the tensor, or the Expr of an integer input.
        source: how the user's program names it: "L['x']", "L['self'].weight".
        is_parameter: an nn.Parameter (static by policy; may be packed).
    """

    name: str
    meta: Meta
    source: str = ""
    is_parameter: bool = False


@dataclass(frozen=True, slots=True)
class Node:
    """One operation.

    Attributes:
        name: unique in the graph; the name of its result.
        meta: what is known of the result; a tuple for several results.
        where: the user's stack, innermost last.
    """

    name: str
    op: Op
    args: tuple[Arg, ...] = ()
    kwargs: Mapping[str, Arg] = field(default_factory=dict[str, Arg])
    meta: Meta = Constant(None)
    where: tuple[Where, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Graph:
    """Inputs, nodes in execution order, outputs (Vars, constants, Exprs; None where nothing is returned)."""

    inputs: tuple[Input, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[Arg, ...]

    def metas(self) -> dict[str, Meta]:
        """Return what is known of each named value."""
        known: dict[str, Meta] = {item.name: item.meta for item in self.inputs}
        known.update((node.name, node.meta) for node in self.nodes)
        return known


def meta_of(var: Var, metas: Mapping[str, Meta]) -> Meta:
    """Return the metadata of a use, following its path."""
    meta = metas[var.name]
    for index in var.path:
        if not isinstance(meta, tuple):
            msg = f"{var} takes item {index} of a value that is not a tuple"
            raise TypeError(msg)
        meta = meta[index]
    return meta


def slice_parts(item: object) -> tuple[Arg, Arg, Arg]:
    """Return start, stop and step of a slice."""
    assert isinstance(item, slice), f"{item!r} is not a slice"
    return cast("tuple[Arg, Arg, Arg]", (item.start, item.stop, item.step))  # pyright: ignore[reportUnknownMemberType]  # slices are of anything


def map_arg(function: Callable[[Var], Arg], arg: Arg) -> Arg:
    """Return `arg` with every Var replaced by `function(var)`, containers rebuilt."""
    match arg:
        case Var():
            return function(arg)
        case tuple():
            return tuple(map_arg(function, item) for item in arg)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]  # open constants
        case list():
            return [map_arg(function, item) for item in arg]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]  # open constants
        case dict():
            return {key: map_arg(function, item) for key, item in arg.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]  # open constants
        case slice():
            return slice(*(map_arg(function, part) for part in slice_parts(arg)))  # pyright: ignore[reportUnknownArgumentType]  # slices and dicts are of anything
        case _:
            return arg


def vars_of(arg: Arg) -> Iterator[Var]:
    """Yield every Var in an argument, left to right."""
    found: list[Var] = []

    def note(var: Var) -> Var:
        found.append(var)
        return var

    map_arg(note, arg)
    return iter(found)


def uses_of(node: Node) -> Iterator[Var]:
    """Yield every Var that a node reads."""
    yield from vars_of(node.args)
    yield from vars_of(dict(node.kwargs))

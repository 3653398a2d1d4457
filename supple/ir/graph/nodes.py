"""Graph, Node, Input: frozen; a pass returns a new Graph.

A value is named once (SSA) and used by `Var(name)`. Arguments are constants, Vars, and lists, tuples, dicts
and slices of them. A node with several results is followed by `getitem`-like projections: `Item(node, index)`
is written `Var("name", (index,))`, so no extra node is needed.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, cast

from supple.base.errors import Where
from supple.expr import Const, Expr
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
    kind = type(arg)
    if kind is Var:
        return function(cast("Var", arg))
    if kind in _ATOMS:
        return arg
    if isinstance(arg, tuple):
        return tuple([map_arg(function, item) for item in cast("tuple[Arg, ...]", arg)])
    if isinstance(arg, list):
        return [map_arg(function, item) for item in cast("list[Arg]", arg)]
    if isinstance(arg, dict):
        return {key: map_arg(function, item) for key, item in cast("dict[Arg, Arg]", arg).items()}
    if isinstance(arg, slice):
        return slice(*(map_arg(function, part) for part in slice_parts(arg)))  # pyright: ignore[reportUnknownArgumentType]  # slices are of anything
    return arg


#: Types of arguments that hold no Var, the common ones.
_ATOMS: Final = frozenset((int, float, bool, str, type(None), Const))


def vars_of(arg: Arg) -> Iterator[Var]:
    """Yield every Var in an argument, left to right."""
    found: list[Var] = []
    _collect(arg, found)
    return iter(found)


def _collect(arg: Arg, found: list[Var]) -> None:
    kind = type(arg)
    if kind is Var:
        found.append(cast("Var", arg))
    elif kind in _ATOMS:
        return
    elif isinstance(arg, list | tuple):
        for item in cast("Sequence[Arg]", arg):
            _collect(item, found)
    elif isinstance(arg, dict):
        for item in cast("dict[Arg, Arg]", arg).values():
            _collect(item, found)
    elif isinstance(arg, slice):
        for part in slice_parts(arg):  # pyright: ignore[reportUnknownArgumentType]  # slices are of anything
            _collect(part, found)


def uses_of(node: Node) -> Iterator[Var]:
    """Yield every Var that a node reads."""
    found: list[Var] = []
    _collect(node.args, found)
    for arg in node.kwargs.values():
        _collect(arg, found)
    return iter(found)

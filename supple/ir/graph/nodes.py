"""Graph, Node, Input: frozen; a pass returns a new Graph.

A value is named once (SSA) and used by `Var(name)`. Arguments are constants, Vars, and lists, tuples, dicts
and slices of them. A node with several results is followed by `getitem`-like projections: `Item(node, index)`
is written `Var("name", (index,))`, so no extra node is needed.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeVar, cast

from supple.base.errors import Where
from supple.expr import Eq, Expr, Symbol
from supple.expr.real import Real, names_of
from supple.ir.arguments import Arg as Arg
from supple.ir.arguments import leaves, map_leaves
from supple.ir.key import UNKEYED
from supple.ir.meta import TensorMeta
from supple.ir.ops import Op

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Constant:
    """A result that is a plain Python value (None, a bool, a float)."""

    value: object


Meta = TensorMeta | Expr | Real | Constant | tuple["Meta", ...]
Number = Expr | Real
"""A number that is computed from sizes when the graph runs."""


@dataclass(frozen=True, slots=True)
class Var:
    """A use of a value: the node's or input's name and a path into its results."""

    name: str
    path: tuple[int, ...] = ()

    def __str__(self) -> str:
        return self.name + "".join(f"[{index}]" for index in self.path)


Bases = Var | None | tuple["Bases", ...]
"""Of each tensor in a result, the value of which it is a view to autograd; None where it is no view."""


@dataclass(frozen=True, slots=True)
class Input:
    """A value that the caller passes.

    Attributes:
        name: unique in the graph.
        meta: of the tensor, or the symbol of an integer, or the Real of a float.
        source: how the user's program names it: "L['x']", "L['self'].weight".
        is_parameter: an nn.Parameter (static by policy; may be packed).
        is_leaf: nothing was differentiated to get it.
        is_inference: it was made in inference mode, whatever mode the graph runs in.
        is_guarded: the guards of each call have compared it with its metadata.
    """

    name: str
    meta: Meta
    source: str = ""
    is_parameter: bool = False
    is_leaf: bool = True
    is_inference: bool = False
    is_guarded: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Node:
    """One operation.

    Attributes:
        name: unique in the graph; the name of its result.
        meta: what is known of the result; a tuple for several results.
        where: the user's stack, innermost last.
        bases: of captured nodes, whose history a write to the result changes too.
    """

    name: str
    op: Op
    args: tuple[Arg, ...] = ()
    kwargs: Mapping[str, Arg] = field(default_factory=dict[str, Arg])
    meta: Meta = Constant(None)
    where: tuple[Where, ...] = field(default=(), compare=False, metadata=UNKEYED)
    bases: Bases = field(default=None, compare=False)  # operator and arguments imply it


@dataclass(frozen=True, slots=True)
class Graph:
    """Inputs, nodes in execution order, outputs (Vars, constants, Numbers; None where nothing is returned).

    Symbols are defined by integer inputs, which come first, or (u0, ...) by nodes: see `definitions`.
    `goes_on` says of a captured graph that the program goes on behind it, and may write to what was copied.
    """

    inputs: tuple[Input, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[Arg, ...]
    goes_on: bool = False

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
            raise TypeError(f"{var} takes item {index} of a value that is not a tuple")
        meta = meta[index]
    return meta


def map_arg(function: Callable[[Var], Arg], arg: T, number: Callable[[Number], Arg] | None = None) -> T:
    """Return `arg` with every Var replaced by `function(var)`, containers rebuilt; `number` maps Numbers.

    What is mapped has the type of `arg`: an Arg, or containers of Args.
    """

    def mapped(leaf: Arg) -> Arg:
        if type(leaf) is Var:
            return function(leaf)
        return number(leaf) if number is not None and isinstance(leaf, (Expr, Real)) else leaf

    return cast("T", map_leaves(mapped, arg))


def with_mapped(
    node: Node,
    function: Callable[[Var], Arg],
    number: Callable[[Number], Arg] | None = None,
    meta: Meta | None = None,
) -> Node:
    """Return a node with its arguments mapped (see `map_arg`), and other metadata if there is some."""
    args, kwargs, bases = map_arg(function, (node.args, dict(node.kwargs), node.bases), number)
    known = node.meta if meta is None else meta
    return Node(node.name, node.op, args, kwargs, known, node.where, bases)


def vars_of(arg: Arg) -> Iterator[Var]:
    """Yield every Var in an argument, left to right."""
    return (leaf for leaf in leaves(arg) if type(leaf) is Var)


def uses_of(node: Node) -> Iterator[Var]:
    """Yield every Var that a node reads."""
    return vars_of((node.args, node.kwargs))


FLAGS: Final = frozenset(("Tensor.detach_", "Tensor.requires_grad_"))
"""Operators that say whether gradients flow into a tensor; what they refuse depends on how it was made."""


def hides_writes(node: Node) -> bool:
    """Tell whether a node is `x.data` or `x.set_(y)`: what is written to it later, x or y does not count."""
    return "data" in node.args or node.op.name == "Tensor.set_"


def symbols_in(arg: Arg) -> set[str]:
    """Return the names of the symbols and float inputs in an argument."""
    return {name for leaf in leaves(arg) if isinstance(leaf, Expr | Real) for name in names_of(leaf)}


def numbers_in(meta: Meta) -> Iterator[Number]:
    """Yield the Numbers in metadata."""
    if isinstance(meta, TensorMeta):
        if not meta.is_static:
            yield from (*meta.sizes, *meta.strides, meta.offset)
    elif isinstance(meta, tuple):
        for item in meta:
            yield from numbers_in(item)
    elif not isinstance(meta, Constant):
        yield meta


def definitions(meta: Meta, path: tuple[int, ...] = ()) -> Iterator[tuple[str, tuple[int, ...], int | None]]:
    """Yield (name, path, dimension) for each symbol and float input that a value of this metadata shows.

    The number is the item of the value at the path; where there is a dimension, the size of that item.
    """
    if isinstance(meta, TensorMeta):
        for dim, size in enumerate(() if meta.is_static else meta.sizes):
            if isinstance(size, Symbol):
                yield size.name, path, dim
    elif isinstance(meta, tuple):
        for index, item in enumerate(meta):
            yield from definitions(item, (*path, index))
    elif isinstance(meta, Symbol):
        yield meta.name, path, None
    elif isinstance(meta, Eq) and isinstance(s := meta.args[0], Symbol):
        # A truth is the number 1 or 0.
        yield s.name, path, None
    elif isinstance(meta, Real) and meta.op == "input":
        yield str(meta.args[0]), path, None

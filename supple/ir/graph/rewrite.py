"""Passes over graphs that hold for any operators: dead nodes, repeated nodes."""

from collections.abc import Hashable, Sequence
from typing import Final, cast

import torch

from supple.expr import Expr
from supple.expr.real import Real
from supple.ir.arguments import slice_parts
from supple.ir.graph import nodes
from supple.ir.graph.nodes import Arg, Graph, Node, Var, map_arg, symbols_in, uses_of, vars_of, with_mapped


def without_dead(graph: Graph) -> Graph:
    """Return the graph without pure nodes that no output needs, for their value or for a symbol they define.

    before:  a = sin(x); b = cos(x); return b
    after:   b = cos(x); return b
    """
    live = {var.name for var in vars_of(graph.outputs)} | symbols_in(graph.outputs)
    new = new_symbols(graph)
    has_new = any(new.values())
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        if node.name in live or not node.op.is_pure or not live.isdisjoint(new[node.name]):
            kept.append(node)
            live.update(var.name for var in uses_of(node))
            live |= symbols_in((node.args, node.kwargs)) if has_new else set[str]()
    return Graph(graph.inputs, tuple(reversed(kept)), graph.outputs)


def new_symbols(graph: Graph) -> dict[str, set[str]]:
    """Return, for each node, the symbols that it defines."""
    known = {name for item in graph.inputs for name, _, _ in nodes.definitions(item.meta)}
    found: dict[str, set[str]] = {}
    for node in graph.nodes:
        found[node.name] = {name for name, _, _ in nodes.definitions(node.meta)} - known
        known |= found[node.name]
    return found


def without_repeats(graph: Graph) -> Graph:
    """Return the graph with one node for equal pure calls; one that defines a symbol stays.

    before:  a = sin(x); b = sin(x); return a + b
    after:   a = sin(x); return a + a
    """
    known: dict[Hashable, str] = {}
    renamed: dict[str, str] = {}
    kept: list[Node] = []
    new = new_symbols(graph)

    def follow(var: Var) -> Var:
        return Var(renamed[var.name], var.path) if var.name in renamed else var

    for node in graph.nodes:
        made = with_mapped(node, follow)
        if not node.op.is_pure or new[node.name]:
            kept.append(made)
            continue
        key = (node.op.name, _key(made.args), _key(dict(made.kwargs)))
        earlier = known.setdefault(key, node.name)
        if earlier == node.name:
            kept.append(made)
        else:
            renamed[node.name] = earlier
    return Graph(graph.inputs, tuple(kept), map_arg(follow, graph.outputs))


def _key(arg: Arg) -> Hashable:
    """Return a hashable form of an argument, in which 1, 1.0 and True differ; unknown objects by identity."""
    kind = type(arg)
    if kind is Var or arg is None or isinstance(arg, Expr | Real | _TORCH):
        return cast("Hashable", arg)
    if kind in _NUMBERS:
        # The text tells 0.0 from -0.0 and finds a NaN equal to itself.
        return kind, repr(arg)
    if isinstance(arg, list | tuple):
        return (kind, *map(_key, cast("Sequence[Arg]", arg)))
    if isinstance(arg, dict):
        pairs = cast("dict[str, Arg]", arg).items()
        return (kind, *((name, _key(item)) for name, item in pairs))
    if isinstance(arg, slice):
        return (kind, *map(_key, slice_parts(cast("object", arg))))
    return "object", id(arg)


_TORCH: Final = torch.dtype | torch.device | torch.memory_format | torch.layout
_NUMBERS: Final = frozenset((bool, int, float, complex, str))

"""Symbols in a graph: which ones it uses, and the graph with its sizes in a simpler form."""

from collections.abc import Callable, Mapping, Set
from dataclasses import replace
from string import digits
from typing import Final

from supple.base.memo import memo
from supple.expr import Expr
from supple.expr.real import folded, names_of, replaced, symbols_of
from supple.ir.graph.nodes import Arg, Graph, Meta, Number, Var, map_arg, numbers_in, symbols_in, with_mapped
from supple.ir.meta import TensorMeta

CHECK: Final = "aten._assert_scalar.default"
"""The op of a node (condition, message) that raises RuntimeError where the condition does not hold."""


def names_in(meta: Meta) -> Set[str]:
    """Return the names of the symbols and float inputs in what is known of a value."""
    if isinstance(meta, TensorMeta) and meta.is_static:
        return _NONE
    return _names(tuple(numbers_in(meta)))


_NONE: Final = frozenset[str]()


@memo(8192)
def _names(numbers: tuple[Number, ...]) -> frozenset[str]:
    return frozenset(name for number in numbers for name in names_of(number))


def numbers_of(graph: Graph) -> tuple[str, ...]:
    """Return the names of the symbols and floats of a graph, in order: f0, s0, s1, ..., u0, uf0."""
    found = symbols_in([graph.outputs, *((node.args, node.kwargs) for node in graph.nodes)])
    for item in (*graph.inputs, *graph.nodes):
        found |= names_in(item.meta)
    return tuple(sorted(found, key=lambda name: (name.rstrip(digits), len(name), name)))


_NO_FLOATS: Final[Mapping[str, float]] = {}


def simplified(
    graph: Graph, simplify: Callable[[Expr], Expr], floats: Mapping[str, float] = _NO_FLOATS
) -> Graph:
    """Return the graph with every expression replaced by `simplify` of it; a constant becomes an int.

    What defines symbols stays as it is, and so do the conditions that are checked.

    Args:
        floats: values of float inputs that are specialised, by name.
    """
    made = mapped(graph, simplify, floats)
    inputs = [
        new if isinstance(old.meta, TensorMeta) else old
        for old, new in zip(graph.inputs, made.inputs, strict=True)
    ]
    known = {name for item in inputs for name in names_in(item.meta)}
    nodes = list(made.nodes)
    for place, old in enumerate(graph.nodes):
        shown = names_in(old.meta)
        kept = nodes[place] if shown <= known else replace(nodes[place], meta=old.meta)
        nodes[place] = old if old.op.name == CHECK else kept
        known |= shown
    return replace(made, inputs=tuple(inputs), nodes=tuple(nodes))


def mapped(graph: Graph, function: Callable[[Expr], Expr], floats: Mapping[str, float] = _NO_FLOATS) -> Graph:
    """Return the graph with every expression replaced by `function` of it; a constant becomes an int.

    Args:
        floats: values of float inputs, by name, that take their place in computed floats.
    """

    def number(e: Number) -> Arg:
        if not isinstance(e, Expr):
            return folded(replaced(e, {s: function(s) for s in symbols_of(e)}, floats))
        now = function(e)
        return now.value if now.is_const else now

    def same(var: Var) -> Arg:
        return var

    inputs = tuple(replace(item, meta=_meta(item.meta, function)) for item in graph.inputs)
    nodes = tuple(with_mapped(node, same, number, _meta(node.meta, function)) for node in graph.nodes)
    return replace(graph, inputs=inputs, nodes=nodes, outputs=map_arg(same, graph.outputs, number))


def _meta(meta: Meta, simplify: Callable[[Expr], Expr]) -> Meta:
    if isinstance(meta, TensorMeta):
        if meta.is_static:
            return meta
        sizes, strides = tuple(map(simplify, meta.sizes)), tuple(map(simplify, meta.strides))
        return replace(meta, sizes=sizes, strides=strides, offset=simplify(meta.offset))
    if isinstance(meta, tuple):
        return tuple(_meta(item, simplify) for item in meta)
    return simplify(meta) if isinstance(meta, Expr) else meta

"""Symbols in a graph: which ones it uses, and the graph with its sizes in a simpler form."""

from collections.abc import Callable
from dataclasses import replace
from typing import cast

from supple.expr import Expr
from supple.expr.real import names_of, replaced, symbols_of
from supple.ir.graph.nodes import Arg, Graph, Meta, Number, map_arg, numbers_in, symbols_in
from supple.ir.meta import TensorMeta


def numbers_of(graph: Graph) -> tuple[str, ...]:
    """Return the names of the symbols and float inputs that a graph mentions, in order: f0, s0, s1, ..."""
    found = symbols_in([graph.outputs, *((node.args, node.kwargs) for node in graph.nodes)])
    for item in (*graph.inputs, *graph.nodes):
        found.update(*map(names_of, numbers_in(item.meta)))
    return tuple(sorted(found, key=lambda name: (name[0], int(name[1:]))))


def simplified(graph: Graph, simplify: Callable[[Expr], Expr]) -> Graph:
    """Return the graph with every expression replaced by `simplify` of it; a constant becomes an int."""

    def number(e: Number) -> Arg:
        if not isinstance(e, Expr):
            return replaced(e, {s: simplify(s) for s in symbols_of(e)})
        now = simplify(e)
        return now.value if now.is_const else now

    def simpler(arg: Arg) -> Arg:
        return map_arg(lambda var: var, arg, number)

    inputs = tuple(replace(item, meta=_meta(item.meta, simplify)) for item in graph.inputs)
    nodes = tuple(
        replace(
            node,
            meta=_meta(node.meta, simplify),
            args=cast("tuple[Arg, ...]", simpler(node.args)),
            kwargs=cast("dict[str, Arg]", simpler(dict(node.kwargs))),
        )
        for node in graph.nodes
    )
    return Graph(inputs, nodes, cast("tuple[Arg, ...]", simpler(graph.outputs)))


def _meta(meta: Meta, simplify: Callable[[Expr], Expr]) -> Meta:
    if isinstance(meta, TensorMeta):
        if meta.is_static:
            return meta
        sizes, strides = tuple(map(simplify, meta.sizes)), tuple(map(simplify, meta.strides))
        return replace(meta, sizes=sizes, strides=strides, offset=simplify(meta.offset))
    if isinstance(meta, tuple):
        return tuple(_meta(item, simplify) for item in meta)
    return simplify(meta) if isinstance(meta, Expr) else meta

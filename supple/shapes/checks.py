"""Conditions on sizes that are checked when the program runs, as nodes of a graph."""

from collections.abc import Iterable
from itertools import count
from typing import Final

import torch

from supple.expr import Symbol, text
from supple.expr.real import symbols_of
from supple.ir.graph.nodes import Graph, Meta, Node
from supple.ir.meta import TensorMeta
from supple.ir.ops import aten_op
from supple.shapes.env import Deferred

#: (condition, message): raises RuntimeError where the condition does not hold.
CHECK: Final = aten_op(torch.ops.aten._assert_scalar.default)


def symbols_in(meta: Meta) -> frozenset[Symbol]:
    """Return the symbols in what is known of a value."""
    if isinstance(meta, TensorMeta):
        if meta.is_static:
            return frozenset()
        return frozenset(s for e in (*meta.sizes, *meta.strides, meta.offset) for s in symbols_of(e))
    if isinstance(meta, tuple):
        return frozenset(s for item in meta for s in symbols_in(item))
    return symbols_of(meta)


def checked(graph: Graph, deferred: Iterable[Deferred]) -> Graph:
    """Return the graph with each condition checked as soon as its symbols are known.

    before:  n = aten._local_scalar_dense.default(x); y = aten.full.default([n], 0)
    after:   n = aten._local_scalar_dense.default(x); aten._assert_scalar.default(n > 1, "...")
             y = aten.full.default([n], 0)
    """
    present = {node.args[0] for node in graph.nodes if node.op is CHECK}
    waiting = [one for one in deferred if one.condition not in present]
    if not waiting:
        return graph
    taken = graph.metas()
    names = (name for name in map("check_{}".format, count()) if name not in taken)
    known = {s for item in graph.inputs for s in symbols_in(item.meta)}
    nodes: list[Node] = []

    def add_due() -> None:
        for one in [one for one in waiting if symbols_of(one.condition) <= known]:
            waiting.remove(one)
            nodes.append(Node(next(names), CHECK, (one.condition, _message(one)), where=one.stack))

    add_due()
    for node in graph.nodes:
        nodes.append(node)
        known |= symbols_in(node.meta)
        add_due()
    return Graph(graph.inputs, tuple(nodes), graph.outputs)


def _message(one: Deferred) -> str:
    """Return the program's message, or the condition, and the user's line."""
    lines = [one.message or f"Expected {text(one.condition, ranges=False)} to be True"]
    for where in one.stack[-1:]:
        lines += [f"  at {where.filename}:{where.line} in {where.function}", f"    {where.text}"]
    return "\n".join(lines)

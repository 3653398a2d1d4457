"""Conditions on sizes that are checked when the program runs, as nodes of a graph."""

from collections.abc import Iterable
from itertools import count

from supple.expr import text
from supple.expr.real import names_of
from supple.ir.graph.nodes import Graph, Node
from supple.ir.graph.symbols import CHECK, names_in
from supple.ir.ops import op_named
from supple.shapes.env import Deferred


def checked(graph: Graph, deferred: Iterable[Deferred]) -> Graph:
    """Return the graph with each condition checked as soon as its symbols are known; not where a node that
    would give one is gone.

    before:  n = aten._local_scalar_dense.default(x); y = aten.full.default([n], 0)
    after:   n = aten._local_scalar_dense.default(x); aten._assert_scalar.default(n > 1, "...")
             y = aten.full.default([n], 0)
    """
    present = {node.args[0] for node in graph.nodes if node.op.name == CHECK}
    waiting = [one for one in deferred if one.condition not in present]
    if not waiting:
        return graph
    taken = graph.metas()
    names = (name for name in map("check_{}".format, count()) if name not in taken)
    shown = {name for node in graph.nodes for name in names_in(node.meta)}
    known = {name for item in graph.inputs for name in names_in(item.meta)}
    known |= {name for one in waiting for name in names_of(one.condition) - shown if name[0] != "u"}
    nodes: list[Node] = []

    def add_due() -> None:
        for one in [one for one in waiting if names_of(one.condition) <= known]:
            waiting.remove(one)
            nodes.append(Node(next(names), op_named(CHECK), (one.condition, _message(one)), where=one.stack))

    add_due()
    for node in graph.nodes:
        nodes.append(node)
        known |= names_in(node.meta)
        add_due()
    return Graph(graph.inputs, tuple(nodes), graph.outputs)


def _message(one: Deferred) -> str:
    """Return the program's message, or the condition, and the user's line."""
    lines = [one.message or f"Expected {text(one.condition, ranges=False)} to be True"]
    for where in one.stack[-1:]:
        lines += [f"  at {where.filename}:{where.line} in {where.function}", f"    {where.text}"]
    return "\n".join(lines)

"""Conditions on sizes that are checked when the program runs, as nodes of a graph."""

from collections.abc import Iterable
from dataclasses import replace
from itertools import count

from supple.base.marks import EXPECTED
from supple.expr import brief
from supple.expr.real import names_of
from supple.ir.graph.nodes import Graph, Node, uses_of
from supple.ir.graph.symbols import CHECK, names_in
from supple.ir.ops import op_named
from supple.shapes.env import Deferred, Stack


def checked(graph: Graph, deferred: Iterable[Deferred], *, is_eager: bool = False) -> Graph:
    """Return the graph with each condition checked as soon as its symbols are known; not where a node that
    would give one is gone.

    Where eager runs the nodes, what an operator asks for behind a write is checked after it: the program
    cannot run again as plain Python then, and the operator may raise its own error.

    before:  n = aten._local_scalar_dense.default(x); y = aten.full.default([n], 0)
    after:   n = aten._local_scalar_dense.default(x); aten._assert_scalar.default(n > 1, "...")
             y = aten.full.default([n], 0)
    """
    waiting = list(deferred)
    if not waiting:
        return graph
    ours = {one.condition for one in waiting}
    others = [node for node in graph.nodes if node.op.name != CHECK or node.args[0] not in ours]
    late: set[Stack] = set()
    last = {node.where: place for place, node in enumerate(others)}  # a line may have several operators
    taken = graph.metas()
    names = (name for name in map("check_{}".format, count()) if name not in taken)
    shown = {name for node in others for name in names_in(node.meta)}
    known = {name for item in graph.inputs for name in names_in(item.meta)}
    known |= {name for one in waiting for name in names_of(one.condition) - shown if name[0] != "u"}
    nodes: list[Node] = []

    def add_due(after: Stack | None = None) -> None:
        for one in [one for one in waiting if names_of(one.condition) <= known]:
            if after == (one.stack if one.stack in late and not one.message else None):
                waiting.remove(one)
                args = (one.condition, _message(one))
                nodes.append(Node(next(names), op_named(CHECK), args, where=one.stack))

    add_due()
    for place, node in enumerate(others):
        if is_eager and not late and not node.op.is_pure and any(uses_of(node)):
            late.update(later.where for later in others[place + 1 :])
        nodes.append(node)
        known |= names_in(node.meta)
        if last[node.where] == place:
            add_due(node.where)
        add_due()
    late.clear()
    add_due()
    return replace(graph, nodes=tuple(nodes))


def _message(one: Deferred) -> str:
    """Return the program's message, or the condition, and the user's line."""
    lines = [one.message or EXPECTED.format(brief(one.condition))]
    for where in one.stack[-1:]:
        lines += [f"  at {where.filename}:{where.line} in {where.function}", f"    {where.text}"]
    return "\n".join(lines)

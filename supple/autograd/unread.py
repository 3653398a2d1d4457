"""Scalars stay in the tensors that they come from: what is stacked to be taken apart is not stacked, and
numbers that are read for arithmetic on tensors alone are not read.

before:  s = aten.stack.default([a, b]); rate = aten.select.int(s, 0, 1)
         uf0 = aten._local_scalar_dense.default(rate); y = aten.mul.Tensor(x, uf0)
after:   y = aten.mul.Tensor(x, b)
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, cast

from supple.expr.real import Real, inputs_of
from supple.ir.dtypes import DType
from supple.ir.graph.nodes import Arg, Graph, Meta, Node, Var, symbols_in, vars_of, with_mapped
from supple.ir.graph.rewrite import without_dead
from supple.ir.graph.symbols import names_in
from supple.ir.meta import TensorMeta
from supple.ir.ops import op_named

ARITHMETIC: Final = frozenset(f"aten.{name}.Tensor" for name in ("add", "sub", "mul", "div"))
PRECISE: Final = (DType.F32, DType.F64)


def unread(graph: Graph) -> Graph:
    """Return the graph with the tensor in place of each such number, in the type that the number gets."""
    metas = graph.metas()
    homes = {node.meta: var for node in graph.nodes if (var := _home(node, metas)) is not None}
    if not homes:
        return graph
    kept = symbols_in(graph.outputs)
    for node in graph.nodes:
        is_home = _home(node, metas) is not None
        kept |= symbols_in((_others(node, homes), node.kwargs)) | (set() if is_home else names_in(node.meta))
    homes = {number: var for number, var in homes.items() if inputs_of(number).isdisjoint(kept)}
    nodes: list[Node] = []
    for node in graph.nodes:
        if _is_arithmetic(node):
            nodes += _with_tensors(node, homes, metas)
        else:
            nodes.append(node)
    return without_dead(Graph(graph.inputs, tuple(nodes), graph.outputs))


def _home(node: Node, metas: Mapping[str, Meta]) -> Var | None:
    """Return the tensor that a node reads a float out of, if arithmetic takes it as well."""
    if node.op.name != "aten._local_scalar_dense.default" or not isinstance(node.meta, Real):
        return None
    var = node.args[0]
    meta = metas[var.name] if isinstance(var, Var) and not var.path else None
    is_scalar = isinstance(meta, TensorMeta) and not meta.sizes and meta.dtype in PRECISE
    return var if is_scalar and isinstance(var, Var) else None


def _is_arithmetic(node: Node) -> bool:
    """Tell whether a node computes in the type of its result, so that a number is rounded to that."""
    return node.op.name in ARITHMETIC and isinstance(node.meta, TensorMeta) and node.meta.dtype in PRECISE


def _others(node: Node, homes: Mapping[Meta, Var]) -> list[Arg]:
    """Return the arguments in whose place no tensor can stand."""
    return [arg for arg in node.args if not (_is_arithmetic(node) and isinstance(arg, Real) and arg in homes)]


def _with_tensors(node: Node, homes: Mapping[Meta, Var], metas: Mapping[str, Meta]) -> list[Node]:
    """Return a node that takes tensors for its numbers, after those that convert them."""
    made: list[Node] = []
    args: list[Arg] = []
    assert isinstance(node.meta, TensorMeta), node.name
    for place, arg in enumerate(node.args):
        var = homes.get(arg) if isinstance(arg, Real) else None
        meta = metas[var.name] if var is not None else None
        if var is not None and isinstance(meta, TensorMeta) and meta.dtype is not node.meta.dtype:
            name = f"{node.name}.number{place}"
            kwargs: Mapping[str, Arg] = {"dtype": node.meta.dtype.torch}
            fresh = TensorMeta((), (), node.meta.dtype, meta.device)
            made.append(Node(name, op_named("aten._to_copy.default"), (var,), kwargs, fresh, node.where))
            var = Var(name)
        args.append(arg if var is None else var)
    return [*made, replace(node, args=tuple(args))]


def unstacked(graph: Graph) -> Graph:
    """Return the graph with the part itself where one is selected that was stacked, outputs aside."""
    metas = graph.metas()
    stacks = {node.name: node.args for node in graph.nodes if node.op.name == "aten.stack.default"}
    if not stacks:
        return graph
    kept = {var.name for var in vars_of(list(graph.outputs))}
    parts: dict[str, Var] = {}

    def look_up(var: Var) -> Arg:
        return var if var.path else parts.get(var.name, var)

    nodes: list[Node] = []
    for node in graph.nodes:
        made = with_mapped(node, look_up)
        is_free = node.op.name == "aten.select.int" and node.name not in kept
        part = _selected(made.args, stacks) if is_free else None
        if part is not None and not part.path and _is_alike(metas[part.name], node.meta):
            parts[node.name] = cast("Var", look_up(part))
        else:
            nodes.append(made)
    return Graph(graph.inputs, tuple(nodes), graph.outputs)


def _is_alike(one: Meta, other: Meta) -> bool:
    """Tell whether two tensors differ in where they lie in memory at most."""
    if not isinstance(one, TensorMeta) or not isinstance(other, TensorMeta):
        return False
    return replace(one, offset=other.offset) == other


def _selected(args: tuple[Arg, ...], stacks: Mapping[str, tuple[Arg, ...]]) -> Var | None:
    """Return the part of a stack along the first dimension that is selected along it."""
    stack, dim, index = args
    if not isinstance(stack, Var) or stack.name not in stacks or dim != 0 or not isinstance(index, int):
        return None
    items, *along = stacks[stack.name]
    part = cast("Sequence[Arg]", items)[index] if along in ([], [0]) else None
    return part if isinstance(part, Var) else None

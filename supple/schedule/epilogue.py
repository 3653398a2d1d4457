"""Epilogues: what follows a matrix product at each element is left to the kernel that reads the product."""

from collections import defaultdict
from dataclasses import replace
from typing import Final

import torch

from supple.ir.core_ops import CORE_OPS, Kind
from supple.ir.dtypes import DType
from supple.ir.graph.nodes import Graph, Node, Var, uses_of, vars_of
from supple.ir.meta import TensorMeta
from supple.ir.ops import aten_op
from supple.schedule.extern import DECLARED_EXTERN

WIDE: Final = (DType.F32, DType.F64)
"""Types in which a product and a sum, rounded one after the other, are as accurate as addmm."""


def with_epilogues(graph: Graph) -> Graph:
    """Return the graph with sums in place of the addends of products that only kernels read.

    Eager's addmm copies the addend to the whole result before it multiplies.

    before:  c = addmm(bias, a, b); d = gelu(c)
    after:   c.product = mm(a, b); c = c.product + bias; d = gelu(c)
    """
    if not any(_has_addend(node) for node in graph.nodes):
        return graph
    in_memory = _in_memory(graph)
    nodes: list[Node] = []
    for node in graph.nodes:
        if not _has_addend(node) or node.name in in_memory:
            nodes.append(node)
            continue
        addend, left, right = node.args
        product = replace(node, name=f"{node.name}_product", op=_MM, args=(left, right), kwargs={})
        nodes += (product, replace(node, op=_ADD, args=(Var(product.name), addend), kwargs={}))
    return Graph(graph.inputs, tuple(nodes), graph.outputs)


def _has_addend(node: Node) -> bool:
    meta = node.meta
    if node.op.name != "aten.addmm.default" or any(factor != 1 for factor in node.kwargs.values()):
        return False
    return isinstance(meta, TensorMeta) and meta.dtype in WIDE


def _in_memory(graph: Graph) -> set[str]:
    """Return the values that outputs and library calls read, directly or through views."""
    readers: defaultdict[str, list[Node]] = defaultdict(list)
    for node in graph.nodes:
        for var in uses_of(node):
            readers[var.name].append(node)
    found = {var.name for var in vars_of(graph.outputs)}
    for node in reversed(graph.nodes):
        if any(_wants_memory(reader, found) for reader in readers[node.name]):
            found.add(node.name)
    return found


def _wants_memory(reader: Node, in_memory: set[str]) -> bool:
    core = CORE_OPS.get(reader.op.name)
    if core is None or core.name in DECLARED_EXTERN:
        return True
    return core.kind is Kind.VIEW and reader.name in in_memory


_MM: Final = aten_op(torch.ops.aten.mm.default)
_ADD: Final = aten_op(torch.ops.aten.add.Tensor)

"""Gradients of gradients: what backward computes, as a captured graph of its own, differentiated like any."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

from supple.autograd.convention import Split, rerun
from supple.autograd.errors import NeedsGrad
from supple.ir.graph.interp import compile_python
from supple.ir.graph.nodes import Graph, Input, Node, Var, meta_of
from supple.ir.meta import TensorMeta
from supple.ir.ops import Op, OpKind
from supple.runtime.autograd_fn import differentiated


def of_gradients(split: Split, place: int, has_grad: Sequence[bool]) -> Graph:
    """Return the graph (inputs of the captured graph, then tangents) -> gradients of the flow at `place`.

    It is one call, which runs the captured graph and autograd: tracing goes through both, and sees what the
    program detached and where it switched gradients off.

    Args:
        has_grad: for each tangent whether gradients flow into it: what it is multiplied with is kept then.

    Raises:
        NeedsGrad: the captured graph writes to its inputs.
    """
    if split.backward is None or split.convention.mutations:
        raise NeedsGrad("a graph that writes")
    backward, flow = split.backward.parts.backs[place].graph, split.backward.flows.flows[place]
    items = {item.name: item for item in backward.inputs}
    flowing = zip(flow.tangents, has_grad, strict=True)
    tangents = [_differentiable(items[name]) if has else items[name] for name, has in flowing]
    inputs = (*split.source.inputs, *tangents)
    again = rerun(split.convention, compile_python(split.source))

    def call(*given: object) -> tuple[object, ...]:
        count = len(split.source.inputs)
        flowing = dict(zip(flow.sources, cast("Sequence[Any]", given[count:]), strict=True))
        return differentiated(again, flow.inputs, given[:count], flowing)

    op = Op("supple.gradients", OpKind.FUNCTION, call, is_pure=False)
    metas = backward.metas()
    found = tuple(meta_of(cast("Var", grad), metas) for grad in backward.outputs)
    node = Node("gradients", op, tuple(Var(item.name) for item in inputs), {}, found)
    return Graph(inputs, (node,), tuple(Var(node.name, (place,)) for place in range(len(found))))


def _differentiable(item: Input) -> Input:
    assert isinstance(item.meta, TensorMeta), item.name
    return replace(item, meta=replace(item.meta, requires_grad=True), is_leaf=False)

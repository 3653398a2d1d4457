"""The gradients of a trace: the autograd engine runs backward on the trace's fakes, under its recorder.

forward:  h = x @ w; y = relu(h)                              results: y
joint:    h = x @ w; y = relu(h); g = where(y > 0, dy, 0)     results: y, g @ w.T, x.T @ g
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch

from supple.autograd.errors import NeedsGrad
from supple.autograd.storage import Cell
from supple.ir.graph.nodes import Graph, Input, uses_of, vars_of
from supple.shapes.fake import meta_of


@dataclass(frozen=True, slots=True)
class Gradients:
    """What of a joint graph is about gradients. Its results are the forward's, then the gradients.

    Attributes:
        results: how many results are the forward's.
        differentiable: which of them have gradients, in the order of the tangents.
        tangents: names of the inputs that hold what flows into them.
        inputs: places of the inputs that have a gradient, in the order of the gradients.
    """

    results: int
    differentiable: tuple[int, ...]
    tangents: tuple[str, ...]
    inputs: tuple[int, ...]


def sources_of(
    cell: Callable[[torch.Tensor], Cell], outputs: Sequence[object], written: Sequence[torch.Tensor]
) -> list[torch.Tensor]:
    """Return the tensors through which gradients flow into the graph: those whose memory outputs show, and
    inputs to which differentiable values were written.

    Raises:
        NeedsGrad: such an output is a view that autograd does not know as one.
    """
    found = {id(item): item for item in written}
    for place, item in enumerate(outputs):
        if isinstance(item, torch.Tensor) and item.requires_grad and cell(item).storage.input is None:
            base = cell(item).storage.base
            if not base.requires_grad or (item is not base and item._base is not base):
                raise NeedsGrad(f"output {place}, whose memory has no gradient,")
            found[id(base)] = base
    return list(found.values())


def gradients(
    outputs: Sequence[torch.Tensor],
    inputs: Sequence[torch.Tensor],
    tangent: Callable[[Input], torch.Tensor],
    name: Callable[[str], str],
) -> tuple[tuple[str, ...], list[torch.Tensor | None]]:
    """Record the gradients of inputs, while the trace records; return the names of the tangents, and them.

    Raises:
        NeedsGrad: what is differentiated was made in the graph, or backward will raise.

    Args:
        tangent: adds an input to the graph and returns its fake.
        name: returns a fresh name.
    """
    if not inputs:
        raise NeedsGrad("an output that depends on no input which does")
    added: list[Input] = []
    for place, output in enumerate(outputs):
        meta = replace(meta_of(output), requires_grad=False)
        added.append(Input(name("tangent"), meta, f"gradient of result {place}"))
    tangents = [tangent(item) for item in added]
    # Backward runs as a user calls it: outside of blocks with autocast.
    with torch.autocast("cpu", enabled=False):
        try:
            found = torch.autograd.grad(list(outputs), list(inputs), tangents, allow_unused=True)
        except RuntimeError as error:
            raise NeedsGrad(f"a result whose backward raises ({str(error).split(':')[0]})") from error
    return tuple(item.name for item in added), list(found)


def reached(joint: Graph, flows: Gradients) -> tuple[frozenset[int], ...]:
    """Return for each gradient which of the tangents flow into it, as eager's operators have it.

    One that is zero whatever flows is taken for one into which all flow.
    """
    tangents = {name: frozenset((place,)) for place, name in enumerate(flows.tangents)}
    none: frozenset[int] = frozenset()
    for node in joint.nodes:
        tangents[node.name] = none.union(*(tangents.get(var.name, none) for var in uses_of(node)))
    grads = (
        none.union(*(tangents.get(var.name, none) for var in vars_of(grad)))
        for grad in joint.outputs[flows.results :]
    )
    return tuple(grad or frozenset(range(len(flows.tangents))) for grad in grads)

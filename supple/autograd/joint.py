"""The gradients of a trace: the autograd engine runs backward on the trace's fakes, under its recorder.

forward:  h = x @ w; y = relu(h)                              results: y
joint:    h = x @ w; y = relu(h); g = where(y > 0, dy, 0)     results: y, g @ w.T, x.T @ g
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import torch

from supple.autograd.errors import NeedsGrad
from supple.autograd.independent import independent, nodes_of
from supple.autograd.storage import Cell
from supple.ir.graph.nodes import Arg, Graph, Input, uses_of, vars_of
from supple.shapes.fake import meta_of


@dataclass(frozen=True, slots=True)
class Flow:
    """The gradients of results that backward goes through together.

    Attributes:
        differentiable: which of the forward's results these are, in the order of the tangents.
        tangents: names of the inputs that hold what flows into them.
        sources: which of all tensors through which gradients flow into the graph they are.
        inputs: places of the inputs that have a gradient, in the order of the gradients.
        ended: places of the inputs that autograd reaches, with nothing that flows: functions end it.
        keeps: whether eager keeps tensors for it, which it frees: backward goes through once then.
    """

    differentiable: tuple[int, ...]
    tangents: tuple[str, ...]
    sources: tuple[int, ...]
    inputs: tuple[int, ...]
    ended: tuple[int, ...]
    keeps: bool


@dataclass(frozen=True, slots=True)
class Gradients:
    """What of a joint graph is about gradients: its results are the forward's, then those of each flow.

    Attributes:
        results: how many results are the forward's.
        flows: the groups of results that backward goes through one by one.
        has_functions: the graph calls functions of the program, with a backward of their own.
    """

    results: int
    flows: tuple[Flow, ...]
    has_functions: bool

    @property
    def tangents(self) -> tuple[str, ...]:
        """The names of all tangents."""
        return tuple(name for flow in self.flows for name in flow.tangents)

    @property
    def differentiable(self) -> tuple[int, ...]:
        """All results that have gradients, in the order of the tangents."""
        return tuple(place for flow in self.flows for place in flow.differentiable)

    def of(self, joint: Graph) -> list[tuple[Arg, ...]]:
        """Return the gradients among the results of the joint graph, for each flow."""
        found: list[tuple[Arg, ...]] = []
        start = self.results
        for flow in self.flows:
            found.append(joint.outputs[start : start + len(flow.inputs)])
            start += len(flow.inputs)
        return found


@dataclass(frozen=True, slots=True)
class Flowing:
    """A flow while it is traced.

    Attributes:
        sources: which of the tensors through which gradients flow into the graph.
        tangents: names of the inputs that hold what flows into them.
        grads: the gradients of the inputs that autograd reaches, by place; None where nothing flows.
        keeps: whether eager keeps tensors for it.
    """

    sources: tuple[int, ...]
    tangents: tuple[str, ...]
    grads: Mapping[int, torch.Tensor | None]
    keeps: bool


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
    sources: Sequence[torch.Tensor],
    inputs: Mapping[int, torch.Tensor],
    tangent: Callable[[Input], torch.Tensor],
    name: Callable[[str], str],
) -> list[Flowing]:
    """Record the gradients of inputs, while the trace records, for each group of sources apart.

    Raises:
        NeedsGrad: what is differentiated was made in the graph, or backward will raise.

    Args:
        inputs: the leaves, by place.
        tangent: adds an input to the graph and returns its fake.
        name: returns a fresh name.
    """
    if not inputs:
        raise NeedsGrad("an output that depends on no input which does")
    added: list[Input] = []
    for place, source in enumerate(sources):
        meta = replace(meta_of(source), requires_grad=False)
        added.append(Input(name("tangent"), meta, f"gradient of result {place}"))
    tangents = [tangent(item) for item in added]
    made: list[Flowing] = []
    for group, keeps in independent(sources):
        outputs, flowing = [sources[place] for place in group], [tangents[place] for place in group]
        # Backward runs as a user calls it: outside of blocks with autocast.
        with torch.autocast("cpu", enabled=False):
            try:
                found = torch.autograd.grad(outputs, list(inputs.values()), flowing, allow_unused=True)
            except RuntimeError as error:
                raise NeedsGrad(f"a result whose backward raises ({str(error).split(':')[0]})") from error
        names = tuple(added[place].name for place in group)
        ends = {id(getattr(node, "variable", None)) for node in nodes_of(*outputs)}
        met = zip(inputs.items(), found, strict=True)
        grads = {place: grad for (place, leaf), grad in met if id(leaf) in ends}
        made.append(Flowing(tuple(group), names, grads, keeps))
    return made


def reached(joint: Graph, gradients: Gradients) -> tuple[tuple[frozenset[int], ...], ...]:
    """Return for each gradient of each flow which of its tangents flow into it, as eager's operators have it.

    One that is zero whatever flows is taken for one into which all flow.
    """
    tangents = {name: frozenset((name,)) for name in gradients.tangents}
    none: frozenset[str] = frozenset()
    for node in joint.nodes:
        tangents[node.name] = none.union(*(tangents.get(var.name, none) for var in uses_of(node)))
    made: list[tuple[frozenset[int], ...]] = []
    for flow, grads in zip(gradients.flows, gradients.of(joint), strict=True):
        names = [none.union(*(tangents.get(var.name, none) for var in vars_of(grad))) for grad in grads]
        found = (map(flow.tangents.index, flowing or flow.tangents) for flowing in names)
        made.append(tuple(map(frozenset, found)))
    return tuple(made)

"""A joint graph becomes a forward and a backward graph; what is kept between them, `keep` says."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from supple.autograd.decompose import separated
from supple.autograd.errors import NeedsGrad
from supple.autograd.joint import Flow, Gradients
from supple.autograd.keep import kept, late_names
from supple.ir.graph.nodes import (
    Arg,
    Graph,
    Input,
    Var,
    map_arg,
    meta_of,
    symbols_in,
    uses_of,
    vars_of,
    with_mapped,
)
from supple.ir.graph.rewrite import without_dead
from supple.ir.graph.symbols import names_in
from supple.ir.meta import TensorMeta

_WITH_OWN_MEMORY: Final = frozenset(("aten.mkldnn_rnn_layer_backward.default",))
"""Operators that read what a library left for them in forward, which fakes know nothing of."""


@dataclass(frozen=True, slots=True)
class Back:
    """The backward of one flow.

    Attributes:
        graph: takes numbers, what is kept, and the tangents; gives the gradients.
        numbers: places of the inputs of forward that are the numbers which it takes.
        inputs: places of the inputs that are kept.
        kept: which outputs of forward are kept, after them.
    """

    graph: Graph
    numbers: tuple[int, ...]
    inputs: tuple[int, ...]
    kept: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a joint graph.

    Attributes:
        forward: gives the results, then what is kept of what it computed.
        backs: the backwards, one for each flow.
    """

    forward: Graph
    backs: tuple[Back, ...]


def partition(
    joint: Graph,
    flows: Gradients,
    lent: Collection[str] = (),
    shown: Collection[Var] = (),
    budget: float = 1.0,
) -> Parts:
    """Return the parts of a decomposed joint graph.

    Args:
        lent: names of the inputs that the program may write to before backward.
        shown: results that eager keeps for backward.
        budget: how much is kept, between all that is not cheap to compute again (1) and nothing (0).

    Raises:
        NeedsGrad: backward needs a size, or memory of a library, that only the run tells.
    """
    for node in joint.nodes:
        if node.op.name in _WITH_OWN_MEMORY:
            raise NeedsGrad(f"the result of {node.op.name.replace('_backward', '')}")
    keep = kept(joint, flows, lent, shown, budget)
    places = {item.name: place for place, item in enumerate(joint.inputs)}
    keep = sorted(keep, key=lambda var: var.name not in places)
    computed = [var for var in keep if var.name not in places]
    results = joint.outputs[: flows.results]
    known = {str(arg): place for place, arg in enumerate(results) if isinstance(arg, Var)}
    outputs: list[Arg] = list(results)
    for var in computed:
        if known.setdefault(str(var), len(outputs)) == len(outputs):
            outputs.append(var)
    primals = tuple(item for item in joint.inputs if item.name not in flows.tangents)
    late = late_names(joint, flows)
    early = Graph(primals, tuple(node for node in joint.nodes if node.name not in late), tuple(outputs))
    backs: list[Back] = []
    for flow, grads in zip(flows.flows, flows.of(joint), strict=True):
        graph, numbers, taken = _backward(joint, late, flow, grads, keep)
        back = Back(
            graph,
            tuple(places[name] for name in numbers),
            tuple(places[var.name] for var in taken if var.name in places),
            tuple(known[str(var)] for var in taken if var.name not in places),
        )
        backs.append(back)
    return Parts(separated(without_dead(early), early), tuple(backs))


def _renamed(names: Mapping[str, Var], var: Var) -> Var:
    """Return the use of a value of which an item, or all, has a new name."""
    for length in range(len(var.path) + 1):
        found = names.get(str(Var(var.name, var.path[:length])))
        if found is not None:
            return Var(found.name, (*found.path, *var.path[length:]))
    return var


def _backward(
    joint: Graph, late: Collection[str], flow: Flow, outputs: Sequence[Arg], keep: Sequence[Var]
) -> tuple[Graph, list[str], list[Var]]:
    """Return the graph of a flow's gradients, the numbers that it takes first, and what is kept for it."""
    metas = joint.metas()
    names = {str(var): Var(f"kept_{place}") for place, var in enumerate(keep)}
    follow = partial(_renamed, names)
    kept = [Input(names[str(var)].name, meta_of(var, metas), f"{var} of forward") for var in keep]
    tangents = [item for item in joint.inputs if item.name in flow.tangents]
    given = [item for item in joint.inputs if not isinstance(item.meta, TensorMeta)]
    grads = map_arg(follow, tuple(outputs))
    pure = tuple(with_mapped(node, follow) for node in joint.nodes if node.op.is_pure)
    found = _in_time(without_dead(Graph((*given, *kept, *tangents), pure, grads)), late)
    read = {var.name for node in found.nodes for var in uses_of(node)} | {var.name for var in vars_of(grads)}
    kept = [item for item in kept if item.name in read]
    used = symbols_in(list(grads)) | {name for item in (*kept, *tangents) for name in names_in(item.meta)}
    for node in found.nodes:
        used |= symbols_in((node.args, dict(node.kwargs))) | names_in(node.meta)
    numbers = [item for item in given if not used.isdisjoint(names_in(item.meta))]
    if used - {name for item in numbers for name in names_in(item.meta)}:
        raise NeedsGrad("a result whose gradient has a size that the contents of tensors decide")
    taken = [var for var in keep if names[str(var)].name in read]
    return Graph((*numbers, *kept, *tangents), found.nodes, grads), [item.name for item in numbers], taken


def _in_time(graph: Graph, late: Collection[str]) -> Graph:
    """Return the graph with what is computed again placed before the first of the others that needs it."""
    places: dict[str, int] = {}
    for place, node in reversed(tuple(enumerate(graph.nodes))):
        own = place if node.name in late else places.get(node.name, place)
        places[node.name] = own
        for var in uses_of(node):
            places[var.name] = min(own, places.get(var.name, own))
    return Graph(graph.inputs, tuple(sorted(graph.nodes, key=lambda node: places[node.name])), graph.outputs)

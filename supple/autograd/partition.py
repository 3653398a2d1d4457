"""A joint graph becomes a forward and a backward graph: what to keep between them, what to compute again.

The values that backward needs are found by a minimum cut of bytes kept: what is cheap and can be fused
(pointwise operators, views) may be computed again in backward, everything else is kept.
"""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import Any, Final, cast

from supple.autograd.decompose import is_view, separated
from supple.autograd.errors import NeedsGrad
from supple.autograd.joint import Gradients
from supple.expr.real import names_of
from supple.ir.core_ops import Kind, kind_of
from supple.ir.graph.nodes import (
    Arg,
    Graph,
    Input,
    Meta,
    Node,
    Var,
    map_arg,
    meta_of,
    numbers_in,
    symbols_in,
    uses_of,
    vars_of,
)
from supple.ir.graph.rewrite import without_dead
from supple.ir.meta import TensorMeta
from supple.ir.ops import op_named
from supple.shapes.env import active

_AGAIN: Final = frozenset((Kind.POINTWISE, Kind.VIEW, Kind.CREATION))
"""Kinds of operators that are cheap enough to run twice."""
_INPUT_COST: Final = 1.0
"""Keeping an input, which lives anyway, costs next to nothing."""
_WITH_OWN_MEMORY: Final = frozenset(("aten.mkldnn_rnn_layer_backward.default",))
"""Operators that read what a library left for them in forward, which fakes know nothing of."""
_SOURCE: Final = "forward"
_SINK: Final = "backward"


@dataclass(frozen=True, slots=True)
class Parts:
    """The halves of a joint graph.

    Attributes:
        forward: gives the results, then what is kept of what it computed.
        backward: takes numbers, what is kept, and the tangents; gives the gradients.
        numbers: places of the inputs of `forward` that are the numbers which backward takes.
        inputs: places of the inputs that are kept.
        kept: which outputs of `forward` are kept, after them.
    """

    forward: Graph
    backward: Graph
    numbers: tuple[int, ...]
    inputs: tuple[int, ...]
    kept: tuple[int, ...]


def partition(joint: Graph, flows: Gradients, written: Collection[str] = ()) -> Parts:
    """Return the halves of a decomposed joint graph.

    Args:
        written: names of the inputs that are written after forward: backward is given copies.

    Raises:
        NeedsGrad: backward needs a size, or memory of a library, that only the run tells.
    """
    for node in joint.nodes:
        if node.op.name in _WITH_OWN_MEMORY:
            raise NeedsGrad(f"the result of {node.op.name.replace('_backward', '')}")
    joint = _with_copies(joint, flows, written)
    keep = _Cut(joint, flows, written).kept()
    places = {item.name: place for place, item in enumerate(joint.inputs)}
    given = [var for var in keep if var.name in places]
    computed = [var for var in keep if var.name not in places]
    results = joint.outputs[: flows.results]
    known = {str(arg): place for place, arg in enumerate(results) if isinstance(arg, Var)}
    outputs: list[Arg] = list(results)
    for var in computed:
        if known.setdefault(str(var), len(outputs)) == len(outputs):
            outputs.append(var)
    primals = tuple(item for item in joint.inputs if item.name not in flows.tangents)
    late = _late(joint, flows)
    early = Graph(primals, tuple(node for node in joint.nodes if node.name not in late), tuple(outputs))
    backward, numbers = _backward(joint, flows, [*given, *computed])
    return Parts(
        separated(without_dead(early), early),
        backward,
        tuple(places[name] for name in numbers),
        tuple(places[var.name] for var in given),
        tuple(known[str(var)] for var in computed),
    )


def _late(joint: Graph, flows: Gradients) -> set[str]:
    """Return the names of the values that depend on tangents, these included."""
    late = set(flows.tangents)
    for node in joint.nodes:
        if any(var.name in late for var in uses_of(node)):
            late.add(node.name)
    return late


def _with_copies(joint: Graph, flows: Gradients, written: Collection[str]) -> Graph:
    """Return the graph with written inputs copied: backward reads the copies."""
    late, metas = _late(joint, flows), joint.metas()
    copies = [
        Node(f"{name}{_COPY}", op_named("aten.clone.default"), (Var(name),), {}, metas[name])
        for name in written
    ]
    follow = partial(_renamed, {name: Var(f"{name}{_COPY}") for name in written})
    nodes = (_followed(node, follow) if node.name in late else node for node in joint.nodes)
    grads = cast("tuple[Arg, ...]", map_arg(follow, joint.outputs[flows.results :]))
    return Graph(joint.inputs, (*copies, *nodes), (*joint.outputs[: flows.results], *grads))


_COPY: Final = "_before"


def _renamed(names: Mapping[str, Var], var: Var) -> Var:
    """Return the use of a value of which an item, or all, has a new name."""
    for length in range(len(var.path) + 1):
        found = names.get(str(Var(var.name, var.path[:length])))
        if found is not None:
            return Var(found.name, (*found.path, *var.path[length:]))
    return var


def _followed(node: Node, follow: Callable[[Var], Var]) -> Node:
    args = cast("tuple[Arg, ...]", map_arg(follow, node.args))
    return replace(node, args=args, kwargs=cast("dict[str, Arg]", map_arg(follow, dict(node.kwargs))))


def _backward(joint: Graph, flows: Gradients, keep: Sequence[Var]) -> tuple[Graph, list[str]]:
    """Return the graph of the gradients, and the names of the numbers that it takes first."""
    metas = joint.metas()
    names = {str(var): Var(f"kept_{place}") for place, var in enumerate(keep)}
    follow = partial(_renamed, names)
    kept = [Input(names[str(var)].name, meta_of(var, metas), f"{var} of forward") for var in keep]
    tangents = [item for item in joint.inputs if item.name in flows.tangents]
    given = [item for item in joint.inputs if not isinstance(item.meta, TensorMeta)]
    grads = cast("tuple[Arg, ...]", map_arg(follow, joint.outputs[flows.results :]))
    nodes = tuple(_followed(node, follow) for node in joint.nodes if node.op.is_pure)
    found = _in_time(without_dead(Graph((*given, *kept, *tangents), nodes, grads)), _late(joint, flows))
    used = symbols_in(list(grads)) | {name for item in (*kept, *tangents) for name in _names(item.meta)}
    for node in found.nodes:
        used |= symbols_in((node.args, dict(node.kwargs))) | _names(node.meta)
    numbers = [item for item in given if not used.isdisjoint(_names(item.meta))]
    if used - {name for item in numbers for name in _names(item.meta)}:
        raise NeedsGrad("a result whose gradient has a size that the contents of tensors decide")
    return Graph((*numbers, *kept, *tangents), found.nodes, grads), [item.name for item in numbers]


def _in_time(graph: Graph, late: Collection[str]) -> Graph:
    """Return the graph with what is computed again placed before the first of the others that needs it."""
    places: dict[str, int] = {}
    for place, node in reversed(tuple(enumerate(graph.nodes))):
        own = place if node.name in late else places.get(node.name, place)
        places[node.name] = own
        for var in uses_of(node):
            places[var.name] = min(own, places.get(var.name, own))
    return Graph(graph.inputs, tuple(sorted(graph.nodes, key=lambda node: places[node.name])), graph.outputs)


def _names(meta: Meta) -> set[str]:
    return {name for number in numbers_in(meta) for name in names_of(number)}


class _Cut:
    """The network whose minimum cut is what to keep.

    A value `v` is an edge "<v" to ">v" that costs its bytes; a node "=n" is where a node's operands are at
    hand. What is not cheap, and inputs, come from the source; what backward reads goes to the sink.
    """

    def __init__(self, joint: Graph, flows: Gradients, written: Collection[str]) -> None:
        self._metas = joint.metas()
        self._makers = {node.name: node for node in joint.nodes}
        self._written = written
        self._units: dict[str, Var] = {}
        self._networkx: Any = import_module("networkx")  # only who trains waits for it
        self._network: Any = self._networkx.DiGraph()
        late = _late(joint, flows)
        grads = joint.outputs[flows.results :]
        wanted = {node.name for node in without_dead(Graph(joint.inputs, joint.nodes, grads)).nodes}
        self._reads(vars_of(list(grads)), late, _SINK)
        for node in joint.nodes:
            if node.name in wanted:
                is_late = node.name in late
                self._reads(uses_of(node), late, _SINK if is_late else f"={node.name}")
                if not is_late and not self._is_cheap(node):
                    self._network.add_edge(_SOURCE, f"={node.name}")

    def kept(self) -> list[Var]:
        """Return what to keep, in the order of the graph: inputs, then results of nodes."""
        if _SINK not in self._network or _SOURCE not in self._network:
            return []
        _, (near, _) = self._networkx.minimum_cut(self._network, _SOURCE, _SINK)
        order = {name: place for place, name in enumerate(self._metas)}
        kept = (var for text, var in self._units.items() if f"<{text}" in near and f">{text}" not in near)
        return sorted(kept, key=lambda var: (order[var.name], var.path))

    def _reads(self, uses: Iterable[Var], late: Collection[str], reader: str) -> None:
        for var in uses:
            if var.name not in late and isinstance(meta_of(var, self._metas), TensorMeta):
                self._network.add_edge(self._at_hand(var), reader)

    def _at_hand(self, var: Var) -> str:
        """Return the place where a value is there, which keeping it makes so."""
        if str(var) not in self._units:
            self._units[str(var)] = var
            maker = self._makers.get(var.name)
            self._network.add_edge(_SOURCE if maker is None else f"={var.name}", f"<{var}")
            can_keep = var.name not in self._written if maker is None else not is_view(maker.op)
            cost = {"capacity": _INPUT_COST if maker is None else self._bytes(var)} if can_keep else {}
            self._network.add_edge(f"<{var}", f">{var}", **cost)
        return f">{var}"

    def _is_cheap(self, node: Node) -> bool:
        is_kind = is_view(node.op) or kind_of(node.op.name) in _AGAIN
        return node.op.is_pure and is_kind and not node.name.endswith(_COPY)

    def _bytes(self, var: Var) -> float:
        """Return how much memory a tensor takes in this call."""
        meta, env = meta_of(var, self._metas), active()
        assert isinstance(meta, TensorMeta), var
        sizes = (size.value if size.is_const else 1 if env is None else env.hint(size) for size in meta.sizes)
        return float(math.prod(max(1, size) for size in sizes) * meta.dtype.size)

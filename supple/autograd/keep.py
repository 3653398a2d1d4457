"""What of forward a joint graph keeps for backward: a minimum cut of bytes kept.

What is cheap and can be fused (pointwise operators, views) may be computed again in backward, and so may
the regions that the program checkpoints; of the rest, as much as the budget asks for. Random numbers never.
"""

import math
from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping
from importlib import import_module
from typing import Any, Final

from supple.autograd.decompose import is_view
from supple.autograd.joint import Gradients
from supple.ir.core_ops import Kind, kind_of
from supple.ir.graph.nodes import Graph, Meta, Node, Var, meta_of, uses_of, vars_of
from supple.ir.graph.rewrite import new_symbols, without_dead
from supple.ir.meta import TensorMeta
from supple.shapes.env import active

_AGAIN: Final = frozenset((Kind.POINTWISE, Kind.VIEW, Kind.CREATION))
"""Kinds of operators that are cheap enough to run twice."""
_MOVES: Final = frozenset(
    f"aten.{name}"
    for name in "cat.default constant_pad_nd.default flip.default roll.default slice_scatter.default "
    "select_scatter.default".split()
)
"""Operators that are as cheap: they only move elements."""
_INPUT_COST: Final = 1.0
"""Keeping an input, which lives anyway, costs next to nothing."""
_RATHER_AGAIN: Final = 1e6
"""How much dearer it is to keep what only a checkpointed region reads, or what may be written."""
_SOURCE: Final = "forward"
_SINK: Final = "backward"


def kept(
    joint: Graph, flows: Gradients, lent: Collection[str], shown: Collection[Var], budget: float
) -> list[Var]:
    """Return what to keep, in the order of the graph: inputs, then results of nodes.

    Args:
        lent: names of the inputs that the program may write to before backward: the last that are kept.
        shown: results that eager keeps: they are kept, so that who writes to one is told as in eager.
        budget: of the bytes between the least that must be kept (0) and the default (1), how many may be.
            What saves most for its work is computed again first.
    """
    late = late_names(joint, flows)
    inside = _inside(joint, flows, late)
    most = _Cut(joint, flows, lent, shown, inside)
    if budget >= 1:
        return most.vars
    again = _by_gain(joint, late)

    def cut(count: int) -> _Cut:
        return _Cut(joint, flows, lent, shown, inside, frozenset(again[:count]))

    least = cut(len(again)).cost
    limit = least + budget * (most.cost - least)
    return cut(bisect_left(range(len(again)), True, key=lambda count: cut(count).cost <= limit)).vars


def late_names(joint: Graph, flows: Gradients) -> set[str]:
    """Return the names of the values that depend on tangents, these included."""
    late = set(flows.tangents)
    for node in joint.nodes:
        if any(var.name in late for var in uses_of(node)):
            late.add(node.name)
    return late


def _inside(joint: Graph, flows: Gradients, late: Collection[str]) -> dict[str, bool]:
    """Return, for the nodes of checkpointed regions, whether forward needs them in their own region only."""
    outermost = {node.name: next((at.region for at in node.where if at.region), 0) for node in joint.nodes}
    regions = {name: region for name, region in outermost.items() if region}
    outside = {var.name for var in vars_of(joint.outputs[: flows.results])}
    for node in reversed(joint.nodes if regions else ()):
        if node.name not in late and node.where:  # what backward computes has no place in the program
            mine = None if is_view(node.op) and node.name in outside else regions.get(node.name, 0)
            outside.update(var.name for var in uses_of(node) if regions.get(var.name, 0) != mine)
    return {name: name not in outside for name in regions}


def _by_gain(joint: Graph, late: Collection[str]) -> list[str]:
    """Return the nodes that may run again though they are not cheap, most bytes for their work first."""
    metas, new = joint.metas(), new_symbols(joint)
    gains: dict[str, float] = {}
    for node in joint.nodes:
        if node.op.is_pure and node.name not in late and not new[node.name]:
            read = sorted(_numel(meta_of(var, metas)) for var in uses_of(node))
            made, work = _numel(node.meta), sum(read)
            if kind_of(node.op.name) is Kind.LIBRARY and len(read) > 1:
                # Of a product of matrices these are its multiplications.
                work = math.sqrt(read[-1] * read[-2] * made)
            gains[node.name] = made / max(work, 1.0)
    return sorted(gains, key=lambda name: -gains[name])


class _Cut:
    """The minimum cut of a network: what to keep, and what it costs.

    A value `v` is an edge "<v" to ">v" that costs its bytes; a node "=n" is where a node's operands are at
    hand. What may not run again, and inputs, come from the source; what backward reads goes to the sink.

    Args:
        inside: of a node of a checkpointed region, whether only the region needs it: it is made again rather
            than kept; what others need is kept, as an input of theirs.
        again: what else may run again though it is not cheap.
    """

    def __init__(
        self,
        joint: Graph,
        flows: Gradients,
        lent: Collection[str],
        shown: Collection[Var],
        inside: Mapping[str, bool],
        again: Collection[str] = (),
    ) -> None:
        self._inside = inside
        self._metas = joint.metas()
        self._makers = {node.name: node for node in joint.nodes}
        self._lent = lent
        self._units: dict[str, Var] = {}
        self._networkx: Any = import_module("networkx")  # only who trains waits for it
        self._network: Any = self._networkx.DiGraph()
        late = late_names(joint, flows)
        grads = joint.outputs[flows.results :]
        wanted = {node.name for node in without_dead(Graph(joint.inputs, joint.nodes, grads)).nodes}
        self._reads(vars_of(list(grads)), late, _SINK)
        for node in joint.nodes:
            if node.name in wanted:
                is_late = node.name in late
                self._reads(uses_of(node), late, _SINK if is_late else f"={node.name}")
                if not is_late and not self._is_cheap(node, again):
                    self._network.add_edge(_SOURCE, f"={node.name}")
        for var in shown:
            if str(var) in self._units and var.name not in self._inside:
                # The program holds it: the cut must go through it, at no cost. Eager makes regions again.
                self._network.add_edge(self._at_hand(var), _SINK)
                self._network.add_edge(_SOURCE, f"={var.name}")
                self._network[f"<{var}"][f">{var}"]["capacity"] = _INPUT_COST
        self.cost, self.vars = self._solved()

    def _solved(self) -> tuple[float, list[Var]]:
        if _SINK not in self._network or _SOURCE not in self._network:
            return 0.0, []
        cost, (near, _) = self._networkx.minimum_cut(self._network, _SOURCE, _SINK)
        order = {name: place for place, name in enumerate(self._metas)}
        found = (var for text, var in self._units.items() if f"<{text}" in near and f">{text}" not in near)
        return cost, sorted(found, key=lambda var: (order[var.name], var.path))

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
            is_own = maker is None and var.name not in self._lent
            can_keep = maker is None or not is_view(maker.op)
            cost = {"capacity": _INPUT_COST if is_own else self._bytes(var)} if can_keep else {}
            self._network.add_edge(f"<{var}", f">{var}", **cost)
        return f">{var}"

    def _bytes(self, var: Var) -> float:
        """Return how many bytes a tensor takes in this call; more where it is rather made again."""
        meta = meta_of(var, self._metas)
        assert isinstance(meta, TensorMeta), var
        is_inside = self._inside.get(var.name, False) and self._makers[var.name].op.is_pure
        is_dear = is_inside or var.name in self._lent
        return _numel(meta) * meta.dtype.size * (_RATHER_AGAIN if is_dear else 1.0)

    def _is_cheap(self, node: Node, again: Collection[str]) -> bool:
        """Tell whether a node may run again."""
        is_kind = kind_of(node.op.name) in _AGAIN or node.op.name in _MOVES or node.name in again
        is_wanted = is_view(node.op) or self._inside.get(node.name, is_kind)
        return node.op.is_pure and is_wanted


def _numel(meta: Meta) -> float:
    """Return how many elements a value has in this call; of several tensors, all of them."""
    if isinstance(meta, tuple):
        return sum(map(_numel, meta))
    if not isinstance(meta, TensorMeta):
        return 0.0
    env = active()
    sizes = (size.value if size.is_const else 1 if env is None else env.hint(size) for size in meta.sizes)
    return float(math.prod(max(1, size) for size in sizes))

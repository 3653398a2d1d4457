"""A captured graph in pieces, cut where gradients flow from one of its results into another.

A compiled graph is one node of autograd, so nothing flows back into a result out of what the same graph
computed of it. Eager lets a program ask for that: `torch.autograd.grad(loss, y)`, `y.retain_grad()`, a hook.
So such a result is an input of the piece that computes with it, and each piece has a node of its own:

    whole:  y = x @ w; loss = y.sum()   results: y, loss
    pieces: y = x @ w                   results: y
            loss = y.sum()              results: loss
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count, pairwise
from typing import Final

from supple.autograd.errors import NeedsGrad
from supple.autograd.modes_inside import Modes, modes_before
from supple.expr import Eq, Expr
from supple.expr.real import Real
from supple.ir.graph.nodes import (
    FLAGS,
    Arg,
    Bases,
    Constant,
    Graph,
    Input,
    Meta,
    Node,
    Number,
    Var,
    definitions,
    map_arg,
    meta_of,
    symbols_in,
    uses_of,
    vars_of,
    with_mapped,
)
from supple.ir.meta import TensorMeta
from supple.ir.ops import Op, OpKind

ANEW: Final = frozenset({"Tensor.set_", "Tensor.resize_", "Tensor.resize_as_"})
"""Operators that give a tensor another storage, or more of it."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a graph that is a graph of its own.

    Attributes:
        takes: the values of the whole graph that are its inputs, and numbers that earlier ones find out.
        gives: the values of the whole graph that are its outputs.
    """

    graph: Graph
    takes: tuple[Arg, ...]
    gives: tuple[Var, ...]


def pieces(graph: Graph) -> tuple[Piece, ...]:
    """Return the pieces of a graph in the order in which they run; none where it is compiled whole.

    Raises:
        NeedsGrad: it has to be cut, and one trace only sees what a write changes.
    """
    modes = list(modes_before(graph.nodes))
    if not any(one.has_gradients for one in modes) or not any(_has_grad(item.meta) for item in graph.inputs):
        return ()
    whole = _Whole(graph, modes)
    cuts = list(whole.cuts())
    if cuts and whole.is_shared:
        raise NeedsGrad(
            "a result computed of another, beside views of what is detached or made require gradients,"
        )
    if cuts and not whole.is_known:
        raise NeedsGrad("a result computed of another, beside a tensor that gets another storage,")
    parts = pairwise((0, *cuts, len(graph.nodes))) if cuts else ()
    found = tuple(whole.piece(start, end) for start, end in parts)
    crossing = (meta_of(var, whole.metas) for piece in found for var in piece.gives)
    if any(isinstance(meta, tuple | Constant) for meta in crossing):
        raise NeedsGrad("a result computed of another, beside several values in one,")
    return found


def joined(graph: Graph, parts: Sequence[tuple[Piece, Callable[..., object]]]) -> Graph:
    """Return a graph with the inputs and outputs of the whole one whose nodes run its pieces."""
    metas = graph.metas()
    taken = {*metas}
    places: dict[Var, Var] = {}

    def outside(var: Var) -> Var:
        return places.get(var, var)

    nodes: list[Node] = []
    for number, (piece, run) in enumerate(parts):
        name = _fresh(f"piece_{number}", taken)
        op = Op(f"supple.{name}", OpKind.FUNCTION, run, is_pure=False)
        args = map_arg(outside, piece.takes)
        nodes.append(Node(name, op, args, meta=tuple(meta_of(var, metas) for var in piece.gives)))
        places.update({var: Var(name, (place,)) for place, var in enumerate(piece.gives)})
    outputs = map_arg(outside, graph.outputs)
    return Graph(graph.inputs, tuple(nodes), outputs)


class _Whole:
    """What is known of the graph that is cut.

    Attributes:
        metas: of each named value, as its node leaves it.
        targets: what each node writes; None where it writes nothing.
        changes: of values that a write lays out anew, or makes require gradients or none: the places of the
            writes, and what is known behind them.
        is_shared: whether a flag that was set may say something else of views.
        found: the numbers that nodes find out: the place of the first node that tells one, and its value.
        is_known: whether no value gets another storage or type.
    """

    def __init__(self, graph: Graph, modes: Sequence[Modes]) -> None:
        self.graph = graph
        self.metas = graph.metas()
        used = {var.name for node in graph.nodes for var in uses_of(node)}
        used |= {var.name for var in vars_of(graph.outputs)}
        self.targets = [_target(node, used) for node in graph.nodes]
        self._bases = {var: base for node in graph.nodes for var, base in _views(Var(node.name), node.bases)}
        self._views: dict[Var, list[Var]] = {}
        for var, base in self._bases.items():
            self._views.setdefault(base, []).append(var)
        self.changes: dict[Var, list[tuple[int, Meta]]] = {}
        self.is_shared = False
        self._modes = modes
        given = {name for item in graph.inputs for name, _, _ in definitions(item.meta)}
        self.found: dict[str, tuple[int, Var, Number]] = {}
        for place, node in enumerate(graph.nodes):
            for name, path, dim in definitions(node.meta):
                if name not in given:
                    self.found.setdefault(name, (place, Var(node.name, path), _number(node.meta, path, dim)))
        self.is_known = all([self._is_followed(place) for place in range(len(graph.nodes))])

    def _is_followed(self, place: int) -> bool:
        """Note what a write changes of what is known of its target; tell whether that is all it changes."""
        node, target = self.graph.nodes[place], self.targets[place]
        before = None if target is None else self.meta(target, place)
        if target is None or not isinstance(before, TensorMeta):
            return True
        after = node.meta
        if not (isinstance(after, TensorMeta) and node.op.is_own):
            reach = self._modes[place].has_gradients and [self.has_grad(var, place) for var in uses_of(node)]
            after = replace(before, requires_grad=before.requires_grad or any(reach or ()))
        if after != before:
            self.changes.setdefault(target, []).append((place, after))
        if after.requires_grad is not before.requires_grad:
            later = {one.name for one in self.graph.nodes[place:]}
            others = [var for var in self._relatives(target) if var != target and var.name not in later]
            self.is_shared |= bool(others) and node.op.name in FLAGS
            for var in others:
                known = self.meta(var, place)
                if isinstance(known, TensorMeta) and after.requires_grad:
                    self.changes.setdefault(var, []).append((place, replace(known, requires_grad=True)))
        return after.dtype is before.dtype and node.op.name not in ANEW

    def _base(self, var: Var) -> Var:
        """Return the value whose history a write to this one changes: its base, or itself."""
        return self._bases.get(var, var)

    def _relatives(self, var: Var) -> tuple[Var, ...]:
        """Return the values to which a write to this one gives another history: its base and all views of it.

        Capture has seen to it that inputs are no views of each other: `breaks.RELATED`.
        """
        base = self._base(var)
        return (base, *self._views.get(base, ()))

    def meta(self, var: Var, place: int) -> Meta:
        """Return what is known of a value before a node."""
        changes = [meta for changed, meta in self.changes.get(var, ()) if changed < place]
        return changes[-1] if changes else meta_of(var, self.metas)

    def has_grad(self, var: Var, place: int) -> bool:
        """Tell whether a value requires gradients before a node."""
        return _has_grad(self.meta(var, place))

    def _shown(self) -> set[Var]:
        """Return what of the graph's work the program can ask gradients of: results, and what is written."""
        made, end = {node.name for node in self.graph.nodes}, len(self.graph.nodes)
        results = {var for var in vars_of(self.graph.outputs) if var.name in made}
        written = {self._base(var) for var in self.targets if var is not None}
        inputs = {var for var in written if var.name not in made}
        return {var for var in results | inputs if self.has_grad(var, end)}

    def _has_new_history(self, place: int) -> bool:
        """Tell whether gradients of what a node writes are from then on those of its new value."""
        return self._modes[place].has_gradients and self.graph.nodes[place].op.name != "Tensor.requires_grad_"

    def cuts(self) -> Iterator[int]:
        """Yield the nodes before which the graph is cut: the first that computes one result of another."""
        shown = self._shown()
        made: dict[Var, int] = {}
        for place, (node, target) in enumerate(zip(self.graph.nodes, self.targets, strict=True)):
            anew = self._relatives(target) if target is not None and self._has_new_history(place) else ()
            made |= {var: place for var in shown if var.name == node.name or var in anew}
        flows = self._flows(shown)
        start = 0
        for place, node in enumerate(self.graph.nodes):
            uses = (one for var in uses_of(node) for one in (var, self._base(var)))
            is_first = any(start <= made.get(var, -1) < place for var in uses)
            if is_first and flows[place] and self._modes[place].can_be_left:
                start = place
                yield place

    def _flows(self, shown: set[Var]) -> list[bool]:
        """Tell of each node whether gradients flow through it from a result."""
        live = {var.name for var in shown}
        found: list[bool] = []
        for place in reversed(range(len(self.graph.nodes))):
            node, target = self.graph.nodes[place], self.targets[place]
            result = Var(node.name) if target is None else target
            has_grad = self.has_grad(result, place + 1)
            changed = (result,) if target is None else self._relatives(target)
            found.append(has_grad and any(var.name in live for var in changed))
            if found[-1]:
                live |= {var.name for var in uses_of(node) if self.has_grad(var, place)}
            elif not has_grad:
                live.discard(result.name)
        return found[::-1]

    def piece(self, start: int, end: int) -> Piece:
        """Return the piece of the nodes from `start` to `end`; where it is cut, nodes change the modes."""
        graph = self.graph
        nodes, later = graph.nodes[start:end], graph.nodes[end:]
        names = {node.name for node in nodes}
        numbers = (Var(item.name) for item in graph.inputs if not isinstance(item.meta, TensorMeta))
        used = (var for node in nodes for var in uses_of(node) if var.name not in names)
        found = {name: number for name, (place, _, number) in self.found.items() if place < start}
        takes = tuple(dict.fromkeys((*numbers, *used)))
        returned = symbols_in(graph.outputs)
        telling = (
            var
            for name, (place, var, _) in self.found.items()
            if start <= place < end and (later or name in returned)
        )
        wanted = (*(var for node in later for var in uses_of(node)), *vars_of(graph.outputs), *telling)
        gives = tuple(dict.fromkeys(var for var in wanted if var.name in names))
        inputs = self._inputs(takes, start)
        inside = {var: Var(item.name) for var, item in zip(takes, inputs, strict=True)}
        inputs = (*(Input(name, number) for name, number in found.items()), *inputs)
        body = (with_mapped(node, lambda var: inside.get(var, var)) for node in nodes)
        taken = {*self.metas, *(item.name for item in inputs)}
        fresh = (_fresh(f"mode_{number}", taken) for number in count())
        before = self._modes[start].entering(fresh) if start else ()
        after = self._modes[end].leaving(fresh) if later else ()
        return Piece(Graph(inputs, (*before, *body, *after), gives), (*found.values(), *takes), gives)

    def _inputs(self, takes: Sequence[Var], start: int) -> tuple[Input, ...]:
        """Return the inputs of a piece: those of the graph, and what earlier pieces made or wrote."""
        given = {Var(item.name): item for item in self.graph.inputs}
        written = {var for var in self.targets[:start] if var is not None}
        taken = {*self.metas}
        found: list[Input] = []
        for var in takes:
            item = given.get(var)
            if item is None:
                name = _fresh("_".join(map(str, (var.name, *var.path))), taken)
                meta = meta_of(var, self.metas)
                item = Input(name, meta, str(var), is_leaf=not _has_grad(meta))
            meta, has_grad = self.meta(var, start), self.has_grad(var, start)
            is_leaf = item.is_leaf if has_grad == _has_grad(item.meta) else not has_grad
            item = replace(item, meta=meta, is_leaf=is_leaf)
            found.append(replace(item, is_guarded=item.is_guarded and var not in written))
        return tuple(found)


def _target(node: Node, used: set[str]) -> Var | None:
    """Return what a node writes: its result is then its first argument, so nobody uses it by another name."""
    first = node.args[0] if node.args else None
    is_new = node.op.function is not None or node.op.name == "torch.nn.Parameter"
    is_write = not node.op.is_pure and not is_new and node.name not in used
    return first if is_write and isinstance(first, Var) else None


def _views(var: Var, bases: Bases) -> Iterator[tuple[Var, Var]]:
    """Yield the values in a result that are views, and of what."""
    if isinstance(bases, Var):
        yield var, bases
    for place, one in enumerate(bases if isinstance(bases, tuple) else ()):
        yield from _views(Var(var.name, (*var.path, place)), one)


def _number(meta: Meta, path: tuple[int, ...], dim: int | None) -> Number:
    """Return the number that `definitions` has found in what is known of a value."""
    for place in path:
        assert isinstance(meta, tuple)
        meta = meta[place]
    if isinstance(meta, TensorMeta):
        assert dim is not None
        return meta.sizes[dim]
    number = meta.args[0] if isinstance(meta, Eq) else meta
    assert isinstance(number, Expr | Real)
    return number


def _has_grad(meta: Meta) -> bool:
    """Tell whether a value requires gradients, or an item of it does."""
    if isinstance(meta, tuple):
        return any(map(_has_grad, meta))
    return isinstance(meta, TensorMeta) and meta.requires_grad


def _fresh(name: str, taken: set[str]) -> str:
    """Return a name that is not taken yet, and take it."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name

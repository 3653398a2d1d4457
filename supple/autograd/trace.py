"""Retrace a captured graph: what it returns and writes, and its gradients, are results of a functional graph.

Eager makes a view by a call on what it shows, and so do compiled graphs, after they have run: only memory
that is written is a result.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Final, cast

import torch

from supple.autograd import convention
from supple.autograd.convention import Convention, Made, Mutation, Origin, Result, ViewCall
from supple.autograd.copies import require_copies
from supple.autograd.decompose import root_of
from supple.autograd.dropped import read_by
from supple.autograd.errors import NeedsGrad, NotFunctional
from supple.autograd.functionalize import read
from supple.autograd.joint import Flow, Flowing, Gradients, gradients, sources_of
from supple.autograd.recorder import CONJ, Recorder
from supple.autograd.storage import Storage, Viewing
from supple.expr import Expr
from supple.expr.real import Real
from supple.ir.arguments import leaves
from supple.ir.graph.nodes import Arg, Graph, Input, Meta, Node, Number, Var, uses_of, vars_of
from supple.ir.graph.nodes import meta_of as meta_at
from supple.ir.meta import DType, TensorMeta
from supple.ir.ops import may_raise
from supple.runtime.modes import kept
from supple.runtime.state import mode_settings
from supple.shapes.fake import meta_of
from supple.shapes.layout import generally_all_equal, is_dense


@dataclass(frozen=True, slots=True)
class Traced:
    """A functional graph and how to call it; a joint graph where a result requires gradients.

    `read` names the inputs that eager keeps for backward, and whose views it keeps.
    """

    graph: Graph
    convention: Convention
    gradients: Gradients | None
    read: frozenset[str] = frozenset()


def trace(graph: Graph) -> Traced:
    """Return the functional ATen form of a captured graph and how to call it.

    Raises:
        NeedsGrad: gradients flow where the joint graph does not show it.
        NotFunctional: a write has no pure form.
        Exception: whatever eager raises when it runs this graph.
    """
    recorder = Recorder(graph)
    values = {item.name: recorder.input_value(place, item) for place, item in enumerate(graph.inputs)}
    asked: set[str] = set()
    before = mode_settings()  # nodes of the graph set modes
    try:
        with recorder, kept():
            for node in graph.nodes:
                recorder.builder.stack = node.where
                values[node.name] = recorder.run(node, values)
                if _is_recorded(values[node.name]):
                    asked.update(var.name for var in uses_of(node))
    finally:
        for setter, args in before:
            setter(*args)
    recorder.builder.stack = ()
    had_grad = {place: cast("TensorMeta", graph.inputs[place].meta).requires_grad for place in recorder.given}
    for place, given in recorder.given.items():
        fake = given.fake
        if fake.grad_fn is None and (given.has_grown or fake.requires_grad != had_grad[place]):
            raise NotFunctional("an input is made to require gradients, or not to")
    outputs = [recorder.value_of(arg, values) for arg in graph.outputs]
    grown = [given.fake for given in recorder.given.values() if given.has_grown]
    sources = sources_of(recorder.cell, outputs, grown)
    if any(isinstance(one, torch.nn.Parameter) for one in recorder.made()):
        raise NotFunctional("a parameter that the graph makes")
    if sources and any(map(_is_leaf, recorder.made())):
        raise NeedsGrad("a leaf that the graph makes")
    ending = _Ending(recorder, graph, outputs, sources, asked)
    if not sources:
        return ending.finish()
    # What gains a history in the graph requires gradients too, but none flow into what it was.
    own = {place: given.leaf for place, given in recorder.given.items() if had_grad[place]}
    start = len(recorder.builder.nodes)
    with recorder:
        fresh = recorder.builder.fresh_name
        flowing = gradients(sources, own, recorder.tangent, fresh)
        read = _roots(recorder.builder.nodes, start)
        return replace(ending.finish(flowing), read=read)


def _roots(nodes: Sequence[Node], start: int) -> frozenset[str]:
    """Return what the nodes from `start` on read, views followed to what they show."""
    makers = {node.name: node for node in nodes}
    return frozenset(root_of(var, makers) for node in nodes[start:] for var in uses_of(node))


def _may_refuse_types(node: Node, metas: Mapping[str, Meta]) -> bool:
    """Tell whether eager may have no such operator for some types, which capture does not ask.

    Capture asks of pointwise operators, and of some others. Nearly all take the floats of models, with places
    and masks next to them, if they take them at all; of integers alone, linear algebra takes none.
    """
    if torch.Tag.pointwise in getattr(node.op.call, "tags", ()) or node.op.is_view:
        return False
    read = _dtypes(meta_at(var, metas) for var in uses_of(node))
    is_usual = read | _dtypes((node.meta,)) <= _TAKEN
    return not is_usual or (bool(read) and not read & _FLOATS)


def _path_to_tensor(meta: Meta) -> tuple[int, ...] | None:
    """Return where in a result the first tensor is, None where it holds numbers alone."""
    if isinstance(meta, tuple):
        return next(((place,) for place, part in enumerate(meta) if isinstance(part, TensorMeta)), None)
    return () if isinstance(meta, TensorMeta) else None


def _dtypes(metas: Iterable[Meta]) -> set[DType]:
    """Return the types of tensors, of those in tuples too."""
    flat = (part for meta in metas for part in (meta if isinstance(meta, tuple) else (meta,)))
    return {meta.dtype for meta in flat if isinstance(meta, TensorMeta)}


_FLOATS: Final = frozenset((DType.F32, DType.F64))
_TAKEN: Final = _FLOATS | {DType.BOOL, DType.I64}
"""Types that nearly all operators of models take, where they take them at all."""


def _is_recorded(result: object) -> bool:
    """Tell whether the operator that just gave a result has a place in autograd's graph."""
    tensors = (one for one in leaves(result) if isinstance(one, torch.Tensor))
    return torch.is_grad_enabled() and any(one.requires_grad for one in tensors)


def _may_be_view(item: Input) -> bool:
    """Tell whether an input may be a view with gradients: no parameter is."""
    return isinstance(item.meta, TensorMeta) and item.meta.requires_grad and not item.is_parameter


def _is_leaf(tensor: torch.Tensor) -> bool:
    return tensor.requires_grad and not tensor._is_view() and tensor.is_leaf


class _Ending:
    """Turns the values returned at the end of a trace into graph outputs and a convention.

    Args:
        asked: names of the values of whose places in autograd's graph eager asks, since what it computes of
            them is recorded there.
    """

    def __init__(
        self,
        recorder: Recorder,
        graph: Graph,
        outputs: Sequence[object],
        sources: Sequence[torch.Tensor],
        asked: Collection[str],
    ) -> None:
        self.recorder = recorder
        self.inputs = len(graph.inputs)
        self.goes_on = graph.goes_on
        self.outputs = outputs
        self.sources = sources
        self._asked = [
            place for place, item in enumerate(graph.inputs) if _may_be_view(item) and item.name in asked
        ]
        self.recorded = len(recorder.builder.nodes)
        self.results: list[Arg] = []
        self.sizes: dict[Number, int] = {}
        self.views: list[ViewCall] = []
        tensors = {id(item): item for item in outputs if isinstance(item, torch.Tensor)}.values()
        self._outputs = [recorder.cell(item).storage for item in tensors]
        self._shown = Counter(map(id, self._outputs))
        self._results: dict[int, int] = {}
        self._calls: dict[int, int] = {}
        self._viewed: set[int] = set()
        self._inference: set[bool] = set()

    def finish(self, flowing: Sequence[Flowing] = ()) -> Traced:
        """Return the finished graph, with the gradients of inputs."""
        kinds: list[convention.Output] = []
        seen: dict[int, int] = {}
        for tensor in self._older():
            self._output(tensor)
        older = len(self.views)
        for place, item in enumerate(self.outputs):
            if not isinstance(item, torch.Tensor):
                number = self.recorder.numbers.recorded(item)
                is_computed = isinstance(number, Expr | Real)
                kinds.append(Result(self._add(number)) if is_computed else convention.Plain(number))
            elif id(item) in seen:
                kinds.append(convention.SameAs(seen[id(item)]))
            else:
                seen[id(item)] = place
                kinds.append(self._output(item))
        given = (self.recorder.cell(item.fake).storage for item in self.recorder.given.values())
        require_copies(self.recorder.copies, (*given, *self._outputs), goes_on=self.goes_on)
        reached = {place for one in flowing for place in one.grads}
        mutations = self._mutations(reached | self._viewed)
        unread = self._keep_what_may_raise()
        calling = Convention(
            self.inputs,
            tuple(self.recorder.constants),
            tuple(kinds),
            mutations,
            tuple(self.views),
            self.sizes,
            tuple(map(self._origin, self.sources)),
            True in self._inference,
            unread,
            tuple(place for place in self._asked if place not in reached),
            older,
        )
        if False in self._inference and torch.is_inference_mode_enabled():
            raise NotFunctional("results are made outside of inference mode, in a call within it")
        if len(self._inference) > 1 or (flowing and True in self._inference):
            raise NotFunctional("results are made in inference mode and outside of it")
        grads = self._gradients(flowing) if flowing else None
        graph = self.recorder.numbers.settled(self.recorder.builder.graph(self.results))
        return Traced(graph, calling, grads)

    def _older(self) -> list[torch.Tensor]:
        """Return the results that show memory without gradients which was written since, the oldest first."""
        found: list[tuple[int, torch.Tensor]] = []
        for tensor in {id(item): item for item in self.outputs if isinstance(item, torch.Tensor)}.values():
            cell = self.recorder.cell(tensor)
            storage = cell.storage
            is_own = storage.input is None and not storage.base.requires_grad and not tensor.is_inference()
            if tensor is storage.base or not is_own or self._shown[id(storage)] == 1 or cell.made is None:
                continue
            call, _ = cell.made
            if call.writes < storage.counted:
                found.append((call.writes, tensor))
        return [tensor for _, tensor in sorted(found, key=itemgetter(0))]

    def _gradients(self, flowing: Sequence[Flowing]) -> Gradients:
        """Add the gradients to the results, those of each flow together."""
        through = [self._result(self.recorder.cell(source).storage) for source in self.sources]
        results = len(self.results)
        flows: list[Flow] = []
        for one in flowing:
            defined = {place: grad for place, grad in one.grads.items() if grad is not None}
            if not defined:
                raise NeedsGrad("a result whose gradients reach no input")
            differentiable = tuple(through[source] for source in one.sources)
            ended = tuple(place for place in one.grads if place not in defined)
            places = tuple(defined)
            flows.append(Flow(differentiable, one.tangents, one.sources, places, ended, one.keeps))
            for grad in defined.values():
                self._add(read(self.recorder.builder, self.recorder.cell(grad)).var)
        return Gradients(results, tuple(flows), self.recorder.has_functions)

    def _output(self, tensor: torch.Tensor) -> Made:
        """Return how an output is made.

        Raises:
            NotFunctional: eager has it in a form that cannot be made again.
        """
        storage = self.recorder.cell(tensor).storage
        if storage.input is not None and storage.input >= self.inputs and meta_of(tensor).device == "meta":
            raise NotFunctional("a literal on the meta device is returned, whose making no operator shows")
        if tensor is not storage.base:
            return self._view(tensor)
        if storage.input is not None:
            return convention.InputItself(storage.input)
        if isinstance(tensor, torch.nn.Parameter):
            raise NotFunctional("a parameter is made")
        return Result(self._result(storage))

    def _view(self, tensor: torch.Tensor) -> Made:
        """Return how a view is made: by the call that eager made, or as a tensor where nobody can tell."""
        cell, meta = self.recorder.cell(tensor), meta_of(tensor)
        storage, builder = cell.storage, self.recorder.builder
        if any(step.op.name in (CONJ, "aten._neg_view.default") for step in cell.chain):
            raise NotFunctional("a view that shows other numbers is returned")
        if self._shown[id(storage)] == 1 and storage.input is None and not storage.base.requires_grad:
            if is_dense(meta.sizes, meta.strides):
                self._inference.add(tensor.is_inference())
                return Result(self._add(builder.restrided(read(builder, cell).var, meta)))
        if cell.made is None or self.recorder.cell(storage.base).chain:
            raise NotFunctional("a view of what was reshaped in place, or reshaped itself, is returned")
        call, item = cell.made
        if call.of.requires_grad and not call.requires_grad:
            raise NeedsGrad("what a returned view shows, not when the view was made but now,")
        if tensor.requires_grad and not tensor._is_view():
            raise NeedsGrad("a detached tensor, since it was written,")
        try:
            _ = tensor.grad_fn
        except RuntimeError as error:
            raise NotFunctional("a view made in no_grad mode is returned, and was written") from error
        if id(call) not in self._calls:
            # Behind a write torch makes the place of each view in autograd's graph anew, from the base.
            is_anew = call.writes < storage.counted
            if is_anew and storage.input is not None:
                self._viewed.add(storage.input)
            base = self._apart(call.of) if is_anew and call.of._is_view() else self._output(call.of)
            self._calls[id(call)] = self._add_call(call, base)
        return convention.ViewItem(self._calls[id(call)], item)

    def _apart(self, tensor: torch.Tensor) -> Made:
        """Return how a view is made a second time, as a tensor of its own, which is no result."""
        cell = self.recorder.cell(tensor)
        if cell.made is None or not tensor._is_view():
            return self._output(tensor)
        call, item = cell.made
        return convention.ViewItem(self._add_call(call, self._apart(call.of)), item)

    def _add_call(self, call: Viewing, base: Made) -> int:
        """Add a call of a view operator, and the sizes that it takes; return its place."""
        for number in leaves((call.args, call.kwargs)):
            if isinstance(number, Expr | Real) and number not in self.sizes:
                self.sizes[number] = self._add(number)
        modes = call.has_grad, call.is_inference
        self.views.append(ViewCall(base, call.op, call.args, call.kwargs, *modes))
        return len(self.views) - 1

    def _result(self, storage: Storage) -> int:
        """Return which result is what a storage holds at the end, in eager's layout.

        Raises:
            NotFunctional: that layout has gaps.
        """
        if id(storage) not in self._results:
            builder, meta = self.recorder.builder, meta_of(storage.base)
            value = read(builder, self.recorder.cell(storage.base))
            var = value.var
            if is_dense(meta.sizes, meta.strides):
                var = builder.restrided(var, meta)
            elif not generally_all_equal(value.meta.strides, meta.strides):
                raise NotFunctional("a result has gaps in its memory")
            self._results[id(storage)] = self._add(var)
            if storage.input is None:
                self._inference.add(storage.base.is_inference())
        return self._results[id(storage)]

    def _origin(self, source: torch.Tensor) -> Origin:
        """Return where a run by eager has what a tangent belongs to: an input, an output, or its base."""
        storage = self.recorder.cell(source).storage
        if storage.input is not None:
            return Origin(input=storage.input)
        for place, item in enumerate(self.outputs):
            if isinstance(item, torch.Tensor) and (item is source or item._base is source):
                return Origin(output=place, is_base=item is not source)
        raise AssertionError(source)

    def _add(self, result: Arg) -> int:
        self.results.append(result)
        return len(self.results) - 1

    def _keep_what_may_raise(self) -> int:
        """Add what nobody reads, but may raise for its operands, to the results; return how many."""
        read, metas = len(self.results), self.recorder.builder.metas
        live = {var.name for var in vars_of(self.results)}
        for node in reversed(self.recorder.builder.nodes[: self.recorded]):
            if node.name not in live and node.op.is_pure:
                path = _path_to_tensor(node.meta)
                is_refused = self.recorder.numbers.may_overflow(node) or _may_refuse_types(node, metas)
                if path is None or not (may_raise(node.op) or is_refused):
                    continue
                self._add(Var(node.name, path))
            live |= read_by(node, metas)
        return len(self.results) - read

    def _mutations(self, placed: Collection[int]) -> tuple[Mutation, ...]:
        """Add the final value of each written input to the results.

        Args:
            placed: inputs by whose place in autograd's graph something goes.

        Raises:
            NotFunctional: a constant of the program is written.
            NeedsGrad: gradients flow into an input whose memory has gaps.
        """
        found: list[Mutation] = []
        for place, given in self.recorder.given.items():
            storage = self.recorder.cell(given.fake).storage
            if storage.version or given.has_grown or given.writes(storage):
                if self.recorder.is_hiding:
                    raise NotFunctional("in inference mode, a write through `.data` may be counted")
                meta = meta_of(given.fake)
                if given.has_grown and not is_dense(meta.sizes, meta.strides):
                    raise NeedsGrad(f"input {place}, which is written and has gaps,")
                index = self._result(storage) if given.has_grown else self._add(storage.value.var)
                writes, is_placed = given.writes(storage), place in placed
                found.append(Mutation(place, index, writes, given.has_grown, is_placed=is_placed))
        for tensor in self.recorder.constants:
            if isinstance(tensor, torch.Tensor) and self.recorder.cell(tensor).storage.version:
                raise NotFunctional("a tensor that the program holds is written")
        return tuple(found)

"""From a captured graph to a callable: functional ATen graphs, and what runs each of them, bound together."""

import functools
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import cast

import torch

from supple import autograd, torch_private
from supple.base import events
from supple.base.collector import collecting
from supple.base.config import config
from supple.base.errors import TraceError
from supple.base.interrupts import is_interrupt
from supple.base.options import Options
from supple.ir.graph.interp import compile_python
from supple.ir.graph.nodes import Graph
from supple.ir.meta import TensorMeta
from supple.ir.ops import is_random
from supple.runtime.autograd_fn import Back, Pair, Run, Twice, alone
from supple.runtime.state import Ambient, ambient_now, pinned, without_autocast, without_grad
from supple.runtime.undo import Ways
from supple.shapes.env import active, using
from supple.shapes.errors import DataDependent, Undecided

Compiled = Callable[..., tuple[object, ...]]
Build = Callable[[Graph, Options, Mapping[int, int]], Run]
"""(functional ATen graph, options, which inputs results may be written into) -> what runs it."""


class Functional:
    """Compiles captured graphs by way of functional ATen graphs, forward and backward.

    Args:
        build: makes what runs a functional graph.
        decomposed: whether those graphs hold the operators of `ir.core_ops` only, or those that eager calls.
    """

    def __init__(self, options: Options, build: Build, *, decomposed: bool = True) -> None:
        self._options = options
        self._build = build
        self._decomposed = decomposed

    def __call__(self, graph: Graph, examples: Sequence[object]) -> Compiled:
        """Return what runs a graph; one that has no functional form runs as `eager` does.

        The ShapeEnv of a graph with symbols is active.
        """
        try:
            pieces = autograd.pieces(graph)
        except autograd.Refused as refusal:
            events.emit(events.GraphRefused(str(refusal)))
            return compile_python(graph)
        parts = [(piece, self._whole(piece.graph)) for piece in pieces]
        return compile_python(autograd.joined(graph, parts)) if parts else self._whole(graph)

    def _whole(self, graph: Graph) -> Compiled:
        """Return what runs a graph as one node of autograd."""
        try:
            with timed("autograd"), collecting(False):  # what a finalizer computes would be traced
                split = autograd.split(graph, self._options, decomposed=self._decomposed)
            ambient = ambient_now()
            homes = {one.index: one.input for one in split.convention.mutations if split.backward is None}
            run = self._build(split.forward, self._options, homes)
            run, settle = self._as_traced(run, split, graph), None
            if split.backward is not None:
                backs = [
                    self._back(split, split.backward, place, ambient)
                    for place in range(len(split.backward.parts.backs))
                ]
                run = differentiable(split, run, backs, ambient)
                settle = run.settle if any(run.written) else None
        except autograd.Raises as refusal:
            events.emit(events.GraphRefused(str(refusal)))
            return _borne_out(compile_python(graph), str(refusal))
        except (autograd.Refused, DataDependent, Undecided) as refusal:
            events.emit(events.GraphRefused(str(refusal)))
            return compile_python(graph)
        whole = autograd.bind(split.convention, lambda *inputs: run(inputs), settle)
        is_atomic = functools.partial(autograd.is_atomic, split.convention)
        ways = Ways(is_atomic, whole, compile_python(graph))
        return cast("Compiled", ways.function(is_asked=bool(split.convention.mutations)))

    def _as_traced(self, run: Run, split: autograd.Split, graph: Graph) -> Run:
        """Return what runs a forward graph under the modes that its trace has dealt with.

        The caller's state is that of now, since the call's guards compare it.
        """
        if torch_private.any_autocast():
            run = without_autocast(run)
        if split.convention.in_inference and not torch.is_inference_mode_enabled():
            return torch.inference_mode()(run)
        # Library calls on what requires gradients would give results that do.
        is_recorded = split.backward is None and torch.is_grad_enabled() and needs_grad(graph)
        return without_grad(run) if is_recorded else run

    def _back(self, split: autograd.Split, backward: autograd.Backward, place: int, ambient: Ambient) -> Back:
        """Return the compiled backward of one flow."""
        part, flow = backward.parts.backs[place], backward.flows.flows[place]
        return Back(
            run=pinned(self._build(part.graph, self._options, {}), ambient),
            differentiable=flow.differentiable,
            sources=flow.sources,
            numbers=part.numbers,
            inputs=part.inputs,
            kept=part.kept,
            gradients=flow.inputs,
            ended=flow.ended,
            keeps=flow.keeps,
            reached=backward.reached[place],
            has_functions=backward.flows.has_functions,
            twice=self._twice(split, place, ambient),
        )

    def _twice(self, split: autograd.Split, place: int, ambient: Ambient) -> Twice:
        """Return what compiles gradients as a function of their own, when they are to have gradients.

        It returns None where they cannot be compiled, or only with guards: it is too late for those.
        """
        env = active()

        @functools.cache
        def compiled(has_grad: tuple[bool, ...]) -> Compiled | None:
            symbols = using(env) if env else nullcontext()
            with symbols, ambient.entered(), torch.enable_grad():
                try:
                    return self(autograd.of_gradients(split, place, has_grad), ())
                except Exception as error:
                    if is_interrupt(error):
                        raise
                    return None  # eager says what is wrong

        return compiled


def _borne_out(run: Compiled, refusal: str) -> Compiled:
    """Return what runs a graph that is refused since an operator raises; where none does, that was wrong.

    Its results are right all the same; the error is for those who want to see what fails in the compiler.
    """

    def call(*inputs: object) -> tuple[object, ...]:
        results = run(*inputs)
        if config.now().suppress_errors is False:
            raise TraceError(f"{refusal}; the run raises nothing")
        return results

    return call


def needs_grad(graph: Graph) -> bool:
    """Tell whether an input requires gradients."""
    return any(isinstance(item.meta, TensorMeta) and item.meta.requires_grad for item in graph.inputs)


def _plain(split: autograd.Split) -> frozenset[int]:
    """Return the places of tensors of integers among the inputs, and those of constants after them."""
    given = [isinstance(item.meta, TensorMeta) and item.meta.dtype.is_integer for item in split.source.inputs]
    given += [True for _ in split.convention.constants]
    return frozenset(place for place, is_plain in enumerate(given) if is_plain)


def _watched(split: autograd.Split, read: frozenset[int]) -> tuple[int, ...]:
    """Return the places of tensors among inputs and constants that matter to gradients, which read them."""
    convention = split.convention
    unread = {mutation.input for mutation in convention.mutations if not mutation.is_read}
    given = [isinstance(item.meta, TensorMeta) for item in split.source.inputs]
    given += [isinstance(item, torch.Tensor) for item in convention.constants]
    return tuple(place for place, is_tensor in enumerate(given) if is_tensor and place in read - unread)


def _written(split: autograd.Split, back: Back) -> tuple[int, ...]:
    """Return the places of the inputs that come to have what a backward keeps."""
    return tuple(mutation.input for mutation in split.convention.mutations if mutation.index in back.kept)


def interpreted(graph: Graph, options: Options, homes: Mapping[int, int]) -> Run:
    """Return a functional graph run by eager torch, operator by operator; no result is written in place."""
    run = compile_python(graph)

    @torch.no_grad()
    def call(inputs: Iterable[object]) -> list[object]:
        return list(map(alone, run(*inputs)))

    return call


def differentiable(split: autograd.Split, forward: Run, backs: Sequence[Back], ambient: Ambient) -> Pair:
    """Return the function of a forward graph and its backwards, as autograd runs them.

    Args:
        ambient: the state in which the captured call begins.
    """
    assert split.backward is not None, "a result requires gradients"
    return Pair(
        forward=forward,
        backs=tuple(backs),
        results=split.backward.flows.results,
        again=autograd.rerun(split.convention, compile_python(split.source)),
        is_random=any(is_random(node.op) for node in split.forward.nodes),
        constants=len(split.convention.constants),
        gradients=frozenset(place for back in backs for place in back.gradients),
        plain=_plain(split),
        watched=_watched(split, split.backward.read),
        written=tuple(_written(split, back) for back in backs),
        ambient=ambient,
    )


@contextmanager
def timed(stage: str) -> Generator[None]:
    """Emit how long a stage took."""
    start = time.perf_counter()
    yield
    events.emit(events.StageTimed(stage, time.perf_counter() - start))

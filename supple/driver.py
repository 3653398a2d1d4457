"""From a captured graph to a callable: functional ATen graphs, and what runs each of them, bound together."""

import functools
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import cast

import torch

from supple import autograd
from supple.base import events
from supple.base.options import Options
from supple.ir.graph.interp import compile_python
from supple.ir.graph.nodes import Graph
from supple.ir.meta import TensorMeta
from supple.ir.ops import is_random
from supple.runtime.autograd_fn import Pair, Run
from supple.runtime.undo import ATOMIC
from supple.shapes.env import active, using
from supple.shapes.errors import Undecided

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
            with timed("autograd"):
                split = autograd.split(graph, self._options, decomposed=self._decomposed)
            homes = {one.index: one.input for one in split.convention.mutations if split.backward is None}
            run = self._build(split.forward, self._options, homes)
            if split.convention.in_inference and not torch.is_inference_mode_enabled():
                run = torch.inference_mode()(run)
            if split.backward is None:
                # Library calls on what requires gradients would give results that do.
                run = torch.no_grad()(run) if torch.is_grad_enabled() and needs_grad(graph) else run
            else:
                back = self._build(split.backward.parts.backward, self._options, {})
                run = differentiable(split, run, back, self._twice(split))
        except (autograd.Refused, Undecided) as refusal:
            events.emit(events.GraphRefused(str(refusal)))
            return compile_python(graph)
        bound = autograd.bind(split.convention, lambda *inputs: run(inputs), compile_python(graph))
        vars(bound)[ATOMIC] = True
        return cast("Compiled", bound)

    def _twice(self, split: autograd.Split) -> Callable[[], Compiled | None]:
        """Return what compiles the gradients, as a function of their own, when they are to have gradients.

        It returns None where they cannot be compiled, or only with guards: it is too late for those.
        """
        env = active()

        @functools.cache
        def compiled() -> Compiled | None:
            symbols = using(env) if env else nullcontext()
            with symbols, torch.enable_grad(), torch.autocast("cpu", enabled=False):
                try:
                    return self(autograd.of_gradients(split), ())
                except Exception:  # eager says what is wrong
                    return None

        return compiled


def needs_grad(graph: Graph) -> bool:
    """Tell whether an input requires gradients."""
    return any(isinstance(item.meta, TensorMeta) and item.meta.requires_grad for item in graph.inputs)


def interpreted(graph: Graph, options: Options, homes: Mapping[int, int]) -> Run:
    """Return a functional graph run by eager torch, operator by operator; no result is written in place."""
    run = compile_python(graph)
    return torch.no_grad()(lambda inputs: run(*inputs))


def differentiable(
    split: autograd.Split, forward: Run, backward: Run, twice: Callable[[], Compiled | None]
) -> Run:
    """Return the function of a forward and a backward graph, as autograd runs them."""
    assert split.backward is not None, "a result requires gradients"
    parts, flows = split.backward.parts, split.backward.flows
    return Pair(
        forward,
        backward,
        flows.results,
        flows.differentiable,
        parts.numbers,
        parts.inputs,
        parts.kept,
        flows.inputs,
        autograd.rerun(split.convention, compile_python(split.source)),
        twice,
        any(is_random(node.op) for node in split.forward.nodes),
        len(split.convention.constants),
        tuple(
            place
            for place, item in enumerate(split.forward.inputs)
            if isinstance(item.meta, TensorMeta) and item.meta.requires_grad and place not in flows.inputs
        ),
        tuple(mutation.input for mutation in split.convention.mutations if not mutation.is_read),
        split.backward.reached,
    )


@contextmanager
def timed(stage: str) -> Generator[None]:
    """Emit how long a stage took."""
    start = time.perf_counter()
    yield
    events.emit(events.StageTimed(stage, time.perf_counter() - start))

"""A pair of compiled graphs as one differentiable function: the `torch.autograd.Function` around them."""

import logging
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, cast

import torch

from supple.runtime.mismatch import MemoryMismatch
from supple.runtime.state import Ambient
from supple.torch_private import DisableAutocast

_log: Final = logging.getLogger("supple")

Run = Callable[[Iterable[object]], Sequence[object]]
Layout = tuple[torch.Size, tuple[int, ...], torch.dtype, torch.device]


@dataclass(frozen=True, slots=True)
class Pair:
    """Forward and backward, and what goes between them.

    Attributes:
        forward: (inputs) -> results, then what is kept.
        backward: (numbers, what is kept, tangents) -> gradients.
        results: how many results there are.
        differentiable: which of them have gradients; the tangents are in this order.
        numbers: places of the inputs that are the numbers which backward takes.
        inputs: places of the inputs that are kept.
        kept: which outputs of `forward` are kept, after them.
        gradients: places of the inputs that the gradients belong to.
        again: (inputs) -> the differentiable results, by eager torch: for gradients of gradients.
        twice: () -> a compiled (*inputs, *tangents) -> gradients that have gradients, or None.
        is_random: forward draws random numbers.
        constants: how many of the inputs, the last, the captured graph does not have.
        cut: places of the inputs that require gradients and get none, not even an undefined one.
        scratch: places of the inputs that are written after forward and do not matter to gradients.
        reached: for each gradient, which of the tangents flow into it.
        ambient: the state in which the captured call begins: forward runs again under it.
    """

    forward: Run
    backward: Run
    results: int
    differentiable: tuple[int, ...]
    numbers: tuple[int, ...]
    inputs: tuple[int, ...]
    kept: tuple[int, ...]
    gradients: tuple[int, ...]
    again: Callable[[Sequence[object]], Sequence[torch.Tensor]]
    twice: Callable[[], Callable[..., Sequence[object]] | None]
    is_random: bool
    constants: int
    cut: tuple[int, ...]
    scratch: tuple[int, ...]
    reached: tuple[frozenset[int], ...]
    ambient: Ambient

    def __call__(self, inputs: Iterable[object]) -> tuple[object, ...]:
        """Return the results for these inputs, as part of the graph that autograd keeps."""
        given = list(inputs)
        for place in self.cut:
            given[place] = cast("torch.Tensor", given[place]).detach()
        with torch.enable_grad():
            held = list(given)
            for place in self.gradients:
                item = cast("torch.Tensor", given[place])
                held[place] = item if item.is_leaf else _History.apply(item)  # pyright: ignore[reportUnknownMemberType]  # untyped in torch
            return cast("tuple[object, ...]", _Compiled.apply(self, held, *given))  # pyright: ignore[reportUnknownMemberType]  # untyped in torch


class _History(torch.autograd.Function):
    """A tensor of the same memory that depends on what another does now, whatever is written to that later.

    Keeping the other would be a cycle where a result is written to it.
    """

    @staticmethod
    def forward(ctx: Any, item: torch.Tensor) -> torch.Tensor:
        """Return the memory."""
        return item.detach()

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> torch.Tensor:
        """Return the gradient as it is."""
        return grads[0]


class _Compiled(torch.autograd.Function):
    """Runs a pair."""

    @staticmethod
    def forward(ctx: Any, pair: Pair, held: Sequence[object], *inputs: object) -> tuple[object, ...]:
        """Run forward and keep what backward takes."""
        ctx.draws = draws(inputs) if pair.is_random else []
        outputs = pair.forward(inputs)
        kept = [_as_it_is(inputs[place]) for place in pair.inputs]
        ctx.save_for_backward(*kept, *(outputs[place] for place in pair.kept))
        ctx.set_materialize_grads(False)
        # A view that a function of its own returns could not be written by the program.
        results = tuple(map(_alone, outputs[: pair.results]))
        flows = [cast("torch.Tensor", results[place]) for place in pair.differentiable]
        others = [item for place, item in enumerate(results) if place not in pair.differentiable]
        ctx.mark_non_differentiable(*(item for item in others if isinstance(item, torch.Tensor)))
        ctx.pair, ctx.given = pair, held
        ctx.states = _states(pair, inputs)
        ctx.layouts = [(flow.shape, flow.stride(), flow.dtype, flow.device) for flow in flows]
        return results

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor | None) -> tuple[object, ...]:
        """Run backward on what was kept; for gradients that have gradients, on the inputs of forward."""
        pair: Pair = ctx.pair
        flowing = [grads[place] for place in pair.differentiable]
        missing = {place for place, grad in enumerate(flowing) if grad is None}
        if torch.is_grad_enabled():
            found = _with_history(ctx, pair, flowing)
        else:
            zeros: dict[Layout, torch.Tensor] = {}
            tangents = [_laid_out(*both, zeros) for both in zip(flowing, ctx.layouts, strict=True)]
            saved = ctx.saved_tensors
            given, states = ctx.given, ctx.states
            numbers = [given[place] for place in pair.numbers]
            taken = iter((*numbers, *saved, *tangents))
            # Backward alone holds what was kept from here on, unless the graph is retained.
            ctx.maybe_clear_saved_tensors()
            if (pair.inputs or pair.kept) and _is_freed(ctx):
                ctx.given = ()
            del tangents, zeros, saved
            try:
                found = pair.backward(taken)
            except MemoryMismatch as error:
                found = _by_eager(pair, given, states, flowing, error)
        made: list[object] = [None] * (2 + len(ctx.states))
        for place, grad, reached in zip(pair.gradients, found, pair.reached, strict=True):
            made[2 + place] = None if reached <= missing else grad
        return tuple(made)


def _by_eager(
    pair: Pair,
    given: Sequence[object],
    states: Sequence[tuple[int, int]],
    flowing: Sequence[torch.Tensor | None],
    error: MemoryMismatch,
) -> Sequence[object]:
    """Return the gradients by eager: a hook, say, changed what was kept between forward and backward.

    Raises:
        MemoryMismatch: an input was written since forward ran, so that nobody can compute them.
    """
    if pair.is_random or _states(pair, given) != states:
        raise error
    _log.warning("A compiled backward ran as plain Python: %s", error)
    with pair.ambient.entered(), torch.enable_grad():
        found = differentiated(pair.again, pair.gradients, given, flowing)
    return [None if grad is None else grad.detach() for grad in found]


def _is_freed(ctx: Any) -> bool:
    """Tell whether what was kept is gone: the graph is not retained."""
    try:
        return ctx.saved_tensors is None
    except RuntimeError:
        return True


def _laid_out(grad: torch.Tensor | None, layout: Layout, zeros: dict[Layout, torch.Tensor]) -> torch.Tensor:
    """Return what flows into a result in memory, in the result's own layout; zeros where nothing does."""
    sizes, strides, dtype, device = layout
    if grad is not None and grad.stride() == strides and not (grad.is_neg() or grad._is_zerotensor()):
        return grad
    if grad is None and layout in zeros:
        return zeros[layout]
    made = torch.empty_strided(sizes, strides, dtype=dtype, device=device)
    if grad is not None:
        return made.copy_(grad)
    zeros[layout] = made.zero_()
    return made


def _with_history(ctx: Any, pair: Pair, tangents: Sequence[torch.Tensor | None]) -> Sequence[object]:
    """Return the gradients with their own graph, compiled where that can be.

    Raises:
        RuntimeError: an input was written since forward ran.
    """
    _ = ctx.saved_tensors  # raises where backward has run before
    if _states(pair, ctx.given) != ctx.states:
        msg = (
            "A gradient of a gradient needs the inputs of the compiled forward, and one of them was written "
            "since. Do: write to a clone, or compute these gradients outside of compiled code."
        )
        raise RuntimeError(msg)
    twice = pair.twice()
    with pair.ambient.entered(), torch.enable_grad(), _drawn_again(ctx.draws):
        if twice is None:
            return differentiated(pair.again, pair.gradients, ctx.given, tangents)
        zeros: dict[Layout, torch.Tensor] = {}
        given = ctx.given[: len(ctx.given) - pair.constants]
        return twice(*given, *(_laid_out(*both, zeros) for both in zip(tangents, ctx.layouts, strict=True)))


def differentiated(
    run: Callable[[Sequence[object]], Sequence[torch.Tensor]],
    places: Sequence[int],
    inputs: Sequence[object],
    tangents: Sequence[torch.Tensor | None],
) -> tuple[torch.Tensor | None, ...]:
    """Return the gradients of what a function returns, for its inputs at `places`, with their own graph.

    The function runs under the caller's autocast; the gradients are computed outside of it, as backward is.
    """
    given: list[Any] = list(inputs)
    # One tensor at two places has a gradient for each.
    for place in places:
        given[place] = given[place].view_as(given[place])
    defined = [both for both in zip(run(given), tangents, strict=True) if both[1] is not None]
    outputs, grads = [result for result, _ in defined], [grad for _, grad in defined]
    sources = [given[place] for place in places]
    with DisableAutocast():
        return torch.autograd.grad(outputs, sources, grads, create_graph=True, allow_unused=True)


def _alone(item: object) -> object:
    """Return a result that is no view."""
    return item.detach() if isinstance(item, torch.Tensor) and item._is_view() else item


def draws(inputs: Iterable[object]) -> list[tuple[torch.Generator, torch.Tensor]]:
    """Return the generators that a graph may draw from, with their states."""
    given = (item for item in inputs if isinstance(item, torch.Generator))
    return [(generator, generator.get_state()) for generator in (torch.default_generator, *given)]


@contextmanager
def _drawn_again(drawn: Sequence[tuple[torch.Generator, torch.Tensor]]) -> Generator[None]:
    """Let generators draw from these states, then go on as if they had not."""
    states = [(generator, generator.get_state()) for generator, _ in drawn]
    for generator, state in drawn:
        generator.set_state(state)
    try:
        yield
    finally:
        for generator, state in states:
            generator.set_state(state)


def _as_it_is(item: object) -> object:
    """Return an input's memory of now, with its version: a later `.data =` gives the input another one."""
    return item.detach() if isinstance(item, torch.Tensor) else item


def _states(pair: Pair, inputs: Sequence[object]) -> list[tuple[int, int]]:
    """Return what differs after an input that gradients depend on was written or given another memory."""
    return [(0, 0) if place in pair.scratch else _state(item) for place, item in enumerate(inputs)]


def _state(item: object) -> tuple[int, int]:
    if not isinstance(item, torch.Tensor):
        return 0, 0
    return 0 if item.is_inference() else item._version, item.data_ptr()

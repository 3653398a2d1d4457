"""A pair of compiled graphs as one differentiable function: the `torch.autograd.Function` around them."""

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

import torch

Run = Callable[[Iterable[object]], Sequence[object]]


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
        again: (*inputs) -> the differentiable results, by eager torch: for gradients of gradients.
        is_random: forward draws random numbers.
        cut: places of the inputs that require gradients and get none, not even an undefined one.
    """

    forward: Run
    backward: Run
    results: int
    differentiable: tuple[int, ...]
    numbers: tuple[int, ...]
    inputs: tuple[int, ...]
    kept: tuple[int, ...]
    gradients: tuple[int, ...]
    again: Callable[..., Sequence[torch.Tensor]]
    is_random: bool
    cut: tuple[int, ...]

    def __call__(self, inputs: Iterable[object]) -> tuple[object, ...]:
        """Return the results for these inputs, as part of the graph that autograd keeps."""
        given = list(inputs)
        for place in self.cut:
            given[place] = cast("torch.Tensor", given[place]).detach()
        return cast("tuple[object, ...]", _Compiled.apply(self, *given))  # pyright: ignore[reportUnknownMemberType]  # untyped in torch


class _Compiled(torch.autograd.Function):
    """Runs a pair."""

    @staticmethod
    def forward(ctx: Any, pair: Pair, *inputs: object) -> tuple[object, ...]:
        """Run forward and keep what backward takes."""
        ctx.draws = _draws(inputs) if pair.is_random else []
        outputs = pair.forward(inputs)
        kept = [_as_it_is(inputs[place]) for place in pair.inputs]
        ctx.save_for_backward(*kept, *(outputs[place] for place in pair.kept))
        ctx.set_materialize_grads(False)
        results = tuple(outputs[: pair.results])
        flows = [cast("torch.Tensor", results[place]) for place in pair.differentiable]
        others = [item for place, item in enumerate(results) if place not in pair.differentiable]
        ctx.mark_non_differentiable(*(item for item in others if isinstance(item, torch.Tensor)))
        ctx.pair, ctx.given = pair, inputs
        ctx.states = [_state(item) for item in inputs]
        ctx.layouts = [(flow.shape, flow.stride(), flow.dtype, flow.device) for flow in flows]
        return results

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor | None) -> tuple[object, ...]:
        """Run backward on what was kept; for gradients that have gradients, run forward again by eager."""
        pair: Pair = ctx.pair
        tangents = [
            _laid_out(grads[place], *layout)
            for place, layout in zip(pair.differentiable, ctx.layouts, strict=True)
        ]
        if torch.is_grad_enabled():
            found = _by_eager(ctx, pair, tangents)
        else:
            numbers = [ctx.given[place] for place in pair.numbers]
            taken = iter((*numbers, *ctx.saved_tensors, *tangents))
            # Backward alone holds what was kept from here on, unless the graph is retained.
            ctx.maybe_clear_saved_tensors()
            del tangents
            found = pair.backward(taken)
        made: list[object] = [None] * (1 + len(ctx.given))
        for place, grad in zip(pair.gradients, found, strict=True):
            made[1 + place] = grad
        return tuple(made)


def _laid_out(
    grad: torch.Tensor | None,
    sizes: torch.Size,
    strides: tuple[int, ...],
    dtype: torch.dtype,
    device: torch.device,
) -> torch.Tensor:
    """Return what flows into a result in the result's own layout; zeros where nothing does."""
    if grad is None:
        return torch.empty_strided(sizes, strides, dtype=dtype, device=device).zero_()
    if grad.stride() == strides or torch.is_grad_enabled():
        return grad
    return torch.empty_strided(sizes, strides, dtype=dtype, device=device).copy_(grad)


def _by_eager(ctx: Any, pair: Pair, tangents: Sequence[torch.Tensor]) -> Sequence[torch.Tensor | None]:
    """Return the gradients with their own graph.

    Raises:
        RuntimeError: an input was written since forward ran.
    """
    inputs: Sequence[object] = ctx.given
    if [_state(item) for item in inputs] != ctx.states:
        msg = (
            "A gradient of a gradient needs the inputs of the compiled forward, and one of them was written "
            "since. Do: write to a clone, or compute these gradients outside of compiled code."
        )
        raise RuntimeError(msg)
    with _drawn_again(ctx.draws):
        results = pair.again(*inputs)
    sources = [cast("torch.Tensor", inputs[place]) for place in pair.gradients]
    return torch.autograd.grad(list(results), sources, list(tangents), create_graph=True, allow_unused=True)


def _draws(inputs: Iterable[object]) -> list[tuple[torch.Generator, torch.Tensor]]:
    """Return the generators that forward may draw from, with their states."""
    given = (item for item in inputs if isinstance(item, torch.Generator))
    return [(generator, generator.get_state()) for generator in (torch.default_generator, *given)]


@contextmanager
def _drawn_again(draws: Sequence[tuple[torch.Generator, torch.Tensor]]) -> Generator[None]:
    """Let generators draw from these states, then go on as if they had not."""
    states = [(generator, generator.get_state()) for generator, _ in draws]
    for generator, state in draws:
        generator.set_state(state)
    try:
        yield
    finally:
        for generator, state in states:
            generator.set_state(state)


def _as_it_is(item: object) -> object:
    """Return an input's memory of now, with its version: a later `.data =` gives the input another one."""
    return item.detach() if isinstance(item, torch.Tensor) else item


def _state(item: object) -> tuple[int, int]:
    """Return what differs after an input was written or given another memory."""
    if not isinstance(item, torch.Tensor):
        return 0, 0
    return 0 if item.is_inference() else item._version, item.data_ptr()

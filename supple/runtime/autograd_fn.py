"""A pair of compiled graphs as one differentiable function: the `torch.autograd.Function` around them."""

import logging
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final, cast

import torch

from supple.runtime.mismatch import MemoryMismatch
from supple.runtime.state import Ambient
from supple.torch_private import (
    DisableAutocast,
    are_batched,
    outside_of_batches,
    retains_graph,
    set_grad_enabled,
)

_log: Final = logging.getLogger("supple")

Run = Callable[[Iterable[object]], Sequence[object]]
Version = tuple[torch.Tensor, int]
Layout = tuple[torch.Size, tuple[int, ...], torch.dtype, torch.device]
Twice = Callable[[tuple[bool, ...]], Callable[..., Sequence[object]] | None]
#: (for each tangent whether it has gradients) -> a compiled (*inputs, *tangents) -> gradients, or None.


@dataclass(frozen=True, slots=True)
class Back:
    """The backward of results that autograd goes through together: one node of its graph.

    Attributes:
        run: (numbers, what is kept, tangents) -> gradients.
        differentiable: which results it is the backward of; the tangents are in this order.
        sources: which of what forward gives when it runs again they are.
        numbers: places of the inputs that are the numbers which it takes.
        inputs: places of the inputs that are kept.
        kept: which outputs of forward are kept, after them.
        gradients: places of the inputs that the gradients belong to.
        ended: places of the inputs that autograd goes on to, with no gradient.
        keeps: whether backward goes through once, unless it retains the graph: eager keeps tensors for it.
        reached: for each gradient, which of the tangents flow into it.
        has_functions: a function of the program may be between, whose backward eager calls for nothing too.
        twice: what compiles gradients that have gradients.
    """

    run: Run
    differentiable: tuple[int, ...]
    sources: tuple[int, ...]
    numbers: tuple[int, ...]
    inputs: tuple[int, ...]
    kept: tuple[int, ...]
    gradients: tuple[int, ...]
    ended: tuple[int, ...]
    keeps: bool
    reached: tuple[frozenset[int], ...]
    has_functions: bool
    twice: Twice


@dataclass(frozen=True, slots=True)
class Pair:
    """Forward and its backwards, and what goes between them.

    Attributes:
        forward: (inputs) -> results, then what is kept.
        backs: a backward for each group of results that autograd goes through together.
        results: how many results there are.
        again: (inputs) -> all differentiable results, by eager torch: for gradients of gradients.
        is_random: forward draws random numbers.
        constants: how many of the inputs, the last, the captured graph does not have.
        gradients: places of the inputs that gradients of any backward belong to.
        plain: places of the inputs that a backward keeps as they are: they never come to have a history.
        watched: places of the inputs that are tensors, but for those that are written after forward and do
            not matter to gradients.
        written: for each backward, which of the inputs come to have what it keeps.
        ambient: the state in which the captured call begins: forward runs again under it.
    """

    forward: Run
    backs: tuple[Back, ...]
    results: int
    again: Callable[[Sequence[object]], Sequence[torch.Tensor]]
    is_random: bool
    constants: int
    gradients: frozenset[int]
    plain: frozenset[int]
    watched: tuple[int, ...]
    written: tuple[tuple[int, ...], ...]
    ambient: Ambient

    def __call__(self, inputs: Iterable[object]) -> list[object]:
        """Return the results for these inputs, as part of the graph that autograd keeps."""
        given = list(inputs)
        drawn = draws(given) if self.is_random else []
        had_grad = torch.is_grad_enabled()
        try:
            set_grad_enabled(False)
            outputs = self.forward(given)
            set_grad_enabled(True)
            return self._recorded(given, outputs, drawn)
        finally:
            set_grad_enabled(had_grad)

    def _recorded(
        self,
        given: list[object],
        outputs: Sequence[object],
        drawn: list[tuple[torch.Generator, torch.Tensor]],
    ) -> list[object]:
        """Return the results as part of the graph that autograd keeps."""
        results = list(map(alone, outputs[: self.results]))
        held = list(given)
        for place in self.gradients:
            item: Any = given[place]
            if not item.is_leaf:
                held[place] = _with_history(item)
        past = Past(self, held, _states(self, given), drawn)
        for back in self.backs:
            sources = (given[place] for place in (*back.gradients, *back.ended))
            kept = self._kept(back, given, outputs)
            made = _compiled(past, back, kept, results, *sources)
            for place, result in zip(back.differentiable, made, strict=True):
                results[place] = result
        return results

    def _kept(self, back: Back, given: Sequence[object], outputs: Sequence[object]) -> list[object]:
        """Return what a backward keeps: memory of now, without the history that another one's results get."""
        plain = self.plain
        kept = [given[place] if place in plain else _as_it_is(given[place]) for place in back.inputs]
        for place in back.kept:
            is_others = place < self.results and place not in back.differentiable
            kept.append(_as_it_is(outputs[place]) if is_others else outputs[place])
        return kept

    def settle(self, inputs: Sequence[object], results: Sequence[object]) -> None:
        """Remember how often inputs that have what backwards keep are written: later writes are errors.

        Args:
            inputs: those of the program, after all writes.
            results: what the call gave for them.
        """
        for back, places in zip(self.backs, self.written, strict=True):
            node: Any = cast("torch.Tensor", results[back.differentiable[0]]).grad_fn
            targets = [cast("torch.Tensor", inputs[place]) for place in places]
            if node is not None:
                node.after = [(one.detach(), one._version) for one in targets if not one.is_inference()]


@dataclass(frozen=True, slots=True)
class Past:
    """What a call of forward leaves for its backwards.

    Attributes:
        pair: what was called.
        held: the inputs, with the history that they had.
        states: the states of the inputs, before results were written to them.
        drawn: the generators, in the states from which forward drew.
    """

    pair: Pair
    held: list[object]
    states: tuple[list[int], list[int]]
    drawn: list[tuple[torch.Generator, torch.Tensor]]

    @property
    def is_written(self) -> bool:
        """Whether an input that gradients depend on was written since, or given another memory."""
        return _states(self.pair, self.held) != self.states

    def require_unwritten(self, what: str) -> None:
        """Check that forward can run again.

        Args:
            what: needs that; the beginning of the error.

        Raises:
            RuntimeError: an input was written since.
        """
        if self.is_written:
            msg = (
                f"{what} needs the inputs of the compiled forward, and one of them was written since. Do: "
                "write to a clone, or compute these gradients outside of compiled code."
            )
            raise RuntimeError(msg)

    @contextmanager
    def as_then(self) -> Generator[None]:
        """Run a block in the state in which the captured call began, with its random numbers."""
        with self.pair.ambient.entered(), torch.enable_grad(), _drawn_again(self.drawn):
            yield

    def differentiated(
        self, back: Back, tangents: Sequence[torch.Tensor | None]
    ) -> tuple[torch.Tensor | None, ...]:
        """Return the gradients by eager, with their own graph where backward is asked for that.

        Raises:
            RuntimeError: an input was written since forward ran.
        """
        self.require_unwritten("A gradient into which nothing flows")
        flowing = dict(zip(back.sources, tangents, strict=True))
        has_graph = torch.is_grad_enabled()
        with self.as_then():
            again = self.pair.again
            return differentiated(again, back.gradients, self.held, flowing, create_graph=has_graph)


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


class _Nothing(torch.autograd.Function):
    """A number made of tensors into which it lets nothing flow: autograd goes on to them all the same."""

    @staticmethod
    def forward(ctx: Any, *items: torch.Tensor) -> torch.Tensor:
        """Return a number."""
        return items[0].new_zeros((), dtype=torch.float32)

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[None, ...]:
        """Return no gradient for any."""
        return (None,) * len(ctx.needs_input_grad)


class _Compiled(torch.autograd.Function):
    """One node of autograd's graph: results that forward gave, and their backward."""

    @staticmethod
    def forward(
        ctx: Any, past: Past, back: Back, kept: Sequence[object], results: Sequence[object], *sources: object
    ) -> tuple[object, ...]:
        """Keep what backward takes; return the results that it is the backward of."""
        ctx.save_for_backward(*kept)
        ctx.set_materialize_grads(False)
        flows = tuple(cast("torch.Tensor", results[place]) for place in back.differentiable)
        ctx.past, ctx.back, ctx.after = past, back, ()
        ctx.layouts = [(flow.shape, flow.stride(), flow.dtype, flow.device) for flow in flows]
        return flows

    @staticmethod
    def backward(ctx: Any, *flowing: torch.Tensor | None) -> tuple[object, ...]:
        """Run backward on what was kept; for gradients that have gradients, on the inputs of forward.

        Where nothing flows into any result, nothing flows on, unless functions of the program see to that.
        """
        past: Past = ctx.past
        back: Back = ctx.back
        missing = {place for place, grad in enumerate(flowing) if grad is None}
        is_nothing = len(missing) == len(flowing)
        is_batch = are_batched(flowing)
        if not is_nothing:
            _require_unwritten(ctx.after)
        if is_batch or torch.is_grad_enabled():
            found = _twice(ctx, past, back, flowing, is_batch)
        else:
            zeros: dict[Layout, torch.Tensor] = {}
            tangents = [_laid_out(*both, zeros) for both in zip(flowing, ctx.layouts, strict=True)]
            saved = _saved(ctx)
            numbers = [past.held[place] for place in back.numbers]
            taken = iter((*numbers, *saved, *tangents))
            # Backward alone holds what was kept from here on, unless the graph is retained.
            ctx.maybe_clear_saved_tensors()
            if (back.inputs or back.kept) and not retains_graph():
                ctx.past, ctx.after = None, ()
            del tangents, zeros, saved
            try:
                found = _of_nothing(past, back, flowing) if is_nothing else back.run(taken)
            except MemoryMismatch as error:
                found = _by_eager(past, back, flowing, error)
        grads = zip(found, back.reached, strict=True)
        own = (grad if is_nothing or not reached <= missing else None for grad, reached in grads)
        return (None, None, None, None, *own, *(None for _ in back.ended))


def _applied(function: type[torch.autograd.Function]) -> Callable[..., Any]:
    """Return what `function.apply` runs when no transform of torch.func is active, as guards ensure."""
    return cast("Callable[..., Any]", super(torch.autograd.Function, function).apply)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]  # untyped in torch


_with_history, _compiled, _nothing = _applied(_History), _applied(_Compiled), _applied(_Nothing)


def _saved(ctx: Any) -> Sequence[torch.Tensor]:
    """Return what was kept; none where neither eager nor this backward keeps any.

    Raises:
        RuntimeError: backward has gone through before.
    """
    back: Back = ctx.back
    return ctx.saved_tensors if back.keeps or back.inputs or back.kept else ()


def _require_unwritten(after: Sequence[Version]) -> None:
    """Check that inputs still have what the call wrote to them, and eager keeps for backward.

    Raises:
        RuntimeError: one was written since.
    """
    for tensor, version in after:
        if tensor._version != version:
            msg = (
                "one of the variables needed for gradient computation has been modified by an inplace "
                f"operation: {tensor.type()} {list(tensor.shape)}, which compiled code wrote, is at "
                f"version {tensor._version}; expected version {version} instead. Do: write to a clone."
            )
            raise RuntimeError(msg)


def _by_eager(
    past: Past, back: Back, flowing: Sequence[torch.Tensor | None], error: MemoryMismatch
) -> Sequence[object]:
    """Return the gradients by eager: a hook, say, changed what was kept between forward and backward.

    Raises:
        MemoryMismatch: an input was written since forward ran, so that nobody can compute them.
    """
    if past.is_written:
        raise error
    _log.warning("A compiled backward ran as plain Python: %s", error)
    return past.differentiated(back, flowing)


def _of_nothing(past: Past, back: Back, flowing: Sequence[torch.Tensor | None]) -> Sequence[object]:
    """Return the gradients where nothing flows into any result: eager's operators let nothing flow on.

    A function of the program may; it gets zeros, or None where it asks for that. It runs by eager.

    Raises:
        RuntimeError: an input was written since forward ran, and there is such a function.
    """
    if not back.has_functions:
        return [None] * len(back.gradients)
    return past.differentiated(back, flowing)


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


def _twice(
    ctx: Any, past: Past, back: Back, tangents: Sequence[torch.Tensor | None], is_batch: bool
) -> Sequence[object]:
    """Return the gradients with their own graph, compiled where that can be: not for a batch of gradients.

    Raises:
        RuntimeError: an input was written since forward ran.
    """
    _saved(ctx)
    past.require_unwritten("A gradient of a gradient")
    if not any(tangent is not None for tangent in tangents):
        return _of_nothing(past, back, tangents)
    has_grad = tuple(tangent is not None and tangent.requires_grad for tangent in tangents)
    twice = None if is_batch else back.twice(has_grad)
    if twice is None:
        return past.differentiated(back, tangents)
    with past.as_then():
        zeros: dict[Layout, torch.Tensor] = {}
        given = past.held[: len(past.held) - past.pair.constants]
        return twice(*given, *(_laid_out(*both, zeros) for both in zip(tangents, ctx.layouts, strict=True)))


def differentiated(
    run: Callable[[Sequence[object]], Sequence[torch.Tensor]],
    places: Sequence[int],
    inputs: Sequence[object],
    tangents: Mapping[int, torch.Tensor | None],
    *,
    create_graph: bool = True,
) -> tuple[torch.Tensor | None, ...]:
    """Return the gradients of what a function returns, for its inputs at `places`, with their own graph.

    The function runs under the caller's autocast; the gradients are computed outside of it, as backward is.

    Args:
        tangents: what flows into the results of the function, by their places; None where nothing does.
    """
    given: list[Any] = list(inputs)
    # One tensor at two places has a gradient for each.
    for place in places:
        given[place] = given[place].view_as(given[place])
    defined = {place: grad for place, grad in tangents.items() if grad is not None}
    with outside_of_batches():
        results = run(given)
    outputs, grads = [results[place] for place in defined], list(defined.values())
    if not defined:
        outputs = [_nothing(*(results[place] for place in tangents))]
        grads = [torch.ones_like(outputs[0])]
    sources = {place: given[place] for place in places if given[place].requires_grad}
    with DisableAutocast():
        found = torch.autograd.grad(
            outputs, list(sources.values()), grads, create_graph=create_graph, allow_unused=True
        )
    made = dict(zip(sources, found, strict=True))
    return tuple(map(made.get, places))


def alone(item: object) -> object:
    """Return a result that is no view to autograd, which would refuse writes by the program to it."""
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
    """Return a tensor's memory of now, with its version: a later `.data =` gives the tensor another one."""
    return item.detach() if isinstance(item, torch.Tensor) else item


_version: Final = attrgetter("_version")


def _states(pair: Pair, inputs: Sequence[Any]) -> tuple[list[int], list[int]]:
    """Return what differs after an input that gradients depend on was written or given another memory."""
    tensors: list[torch.Tensor] = [inputs[place] for place in pair.watched]
    try:
        versions = list(map(_version, tensors))
    except RuntimeError:  # torch counts no writes to what was made in inference mode
        versions = [0 if item.is_inference() else item._version for item in tensors]
    return versions, list(map(torch.Tensor.data_ptr, tensors))

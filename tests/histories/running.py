"""Runs a program for tensors of all origins, one compiled function for all of them, eager beside it."""

import contextlib
import random
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch import Tensor

import supple
from supple.base.config import config
from tests.histories.origins import ORIGINS, leaf, plain
from tests.histories.programs import Program
from tests.mutation.description import ROUNDED, Description, difference, told

UNLIMITED: Final = 2**31
FACTORS: Final[dict[str, Callable[[], Tensor]]] = {
    "a leaf": lambda: leaf(first=2),
    "a tensor": lambda: plain(first=2),
}
"""What `w` is."""
AT_WILL: Final = frozenset(name for name in ORIGINS if "older" in name or "without gradients" in name)
"""Origins with leaves that are views, made before their base required gradients or without any.

Nothing flows into such a leaf, so that eager's backward goes through what is computed of it at will.
"""

REFUSED: Final = "has been detached in-place"
"""What eager's backward says of a tensor that forward has kept; docs/training.md leaves it open."""


@dataclass(frozen=True)
class Call:
    """Where the arguments of a call come from."""

    origin: str
    factor: str

    def __str__(self) -> str:
        return f"{self.origin}; w is {self.factor}"


@dataclass(frozen=True)
class Finding:
    """A call of a compiled program that differs from eager's.

    Attributes:
        calls: those of one compiled function, the last of which differs; as few as show it.
    """

    program: Program
    calls: tuple[Call, ...]
    text: str

    def __str__(self) -> str:
        return f"{self.program.text}calls: {', then '.join(map(str, self.calls))}\n{self.text}"


def all_calls(draw: random.Random) -> list[Call]:
    """Return one call for each origin, in some order."""
    calls = [Call(one, draw.choice(list(FACTORS))) for one in ORIGINS]
    draw.shuffle(calls)
    return calls


def findings(
    program: Program, calls: Sequence[Call], backend: str, counts: Counter[str]
) -> Iterator[Finding]:
    """Yield the calls of a program that differ from eager's, each with the earlier calls that it takes."""
    run = compiled(program, backend)
    for place, call in enumerate(calls):
        counts["calls"] += 1
        text = differs(program, run, call, backend)
        if text is not None:
            yield shortest(program, calls[: place + 1], backend, text)


def shortest(program: Program, calls: Sequence[Call], backend: str, text: str) -> Finding:
    """Return a finding without the earlier calls that it does not take."""
    alone = differs_at_last(program, calls[-1:], backend)
    if alone is not None:
        return Finding(program, tuple(calls[-1:]), alone)
    kept = list(calls)
    for call in calls[:-1]:
        fewer = [one for one in kept if one is not call]
        found = differs_at_last(program, fewer, backend)
        if found is not None:
            kept, text = fewer, found
    return Finding(program, tuple(kept), text)


def differs_at_last(program: Program, calls: Sequence[Call], backend: str) -> str | None:
    """Return where the last of some calls differs from eager's."""
    run = compiled(program, backend)
    return [differs(program, run, call, backend) for call in calls][-1]


def compiled(program: Program, backend: str) -> Callable[..., Any]:
    """Return a program compiled anew."""
    return supple.compile(program.function(), backend=backend, options={"recompile_limit": UNLIMITED})


def differs(program: Program, run: Callable[..., Any], call: Call, backend: str) -> str | None:
    """Return where a compiled call differs from eager's: by itself, or in what backward does after it.

    What eager does with a view of which autograd does not know yet that its base was written depends on
    whether somebody asks before. Compiled code may do either.
    """
    got, want = described(program, run, call), described(program, program.function(), call)
    is_native = backend != "eager"
    bound = ROUNDED if is_native else 0.0
    text = difference(want, got, bound, is_native=is_native)
    if text is None or any(REFUSED in str(line) for line in want.lines):
        return None
    looking = described(program, program.function(looks=True), call)
    return None if difference(looking, got, bound, is_native=is_native) is None else text


def described(program: Program, run: Callable[..., Any], call: Call) -> Description:
    """Return what a call does, and what a backward through all that is left of it does."""
    state, factor = ORIGINS[call.origin](), FACTORS[call.factor]()
    seen = state.seen | {"w": factor}
    made: list[Any] = []
    found = Description()
    limits = {"accumulated_recompile_limit": UNLIMITED, "recompile_limit": UNLIMITED}
    with warnings.catch_warnings(), config.patch(suppress_errors=False, **limits):
        warnings.simplefilter("ignore")
        try:
            made, asked = run(state.x, state.y, factor)
            found.add(asked, "asked")
        except Exception as error:  # what the program raises is compared
            found.add(said(error), "error")
        for name, one in seen.items():
            look(found, one, name)
        for place, one in enumerate(made):
            look(found, one, f"made[{place}]")
        if program.later and call.origin not in AT_WILL:
            for one in made if program.later == "made" else [seen[program.later]]:
                write(found, one)
        backward(found, [*made, *seen.values()], {} if program.swaps_memory else seen)
        if not program.ends_gradients and call.origin not in AT_WILL:
            again(found, made)
    for name, one in seen.items():
        look(found, one, f"{name} after backward")
    return found


def look(found: Description, tensor: Tensor, path: str) -> None:
    """Describe a tensor, the count of its writes, and the gradient that it keeps."""
    found.add(tensor, path)
    try:
        is_counted = not (path.startswith("made") or tensor.is_inference())
        counts = tensor._version if is_counted else None
        keeps = tensor.retains_grad
        found.add((counts, keeps, tensor.grad if keeps else None), f"{path}.counts")
    except RuntimeError as error:  # a view that was made without gradients, whose base was written since
        found.add(said(error), f"{path}.counts")


def write(found: Description, tensor: Tensor) -> None:
    """Write to an argument or a result, as the program may between forward and backward."""
    try:
        with torch.no_grad():
            tensor.add_(1)
    except RuntimeError as error:
        found.add(said(error), "later")


def backward(found: Description, tensors: Sequence[Tensor], seen: Mapping[str, Tensor]) -> None:
    """Let gradients flow into all tensors that take any, from each of them; say what some have then."""
    for place, one in enumerate(tensors):
        try:
            if one.requires_grad and one.is_floating_point():
                one.sum().backward(retain_graph=True)
        except RuntimeError as error:
            found.add(said(error), f"backward from {place}")
            return  # eager may have come to some leaves before
        for name, other in seen.items():
            gradient(found, other, f"{name} after {place}")


def gradient(found: Description, tensor: Tensor, path: str) -> None:
    """Describe the numbers of a leaf's gradient: tensors met before are told by their names alone."""
    with contextlib.suppress(RuntimeError):  # of a view that is refused `look` tells that
        grad = tensor.grad if tensor.is_leaf else None
        found.add(None if grad is None else grad.detach().clone(), f"{path}.grad")


def again(found: Description, made: Sequence[Tensor]) -> None:
    """Say which results let backward go through them once only, as those do for which tensors are kept."""
    for place, one in enumerate(made):
        try:
            if one.requires_grad and one.is_floating_point():
                one.sum().backward()
                one.sum().backward()
        except RuntimeError as error:
            found.add(said(error), f"backward again from {place}")


def said(error: Exception) -> str:
    """Return the class of an error and what it says, of writes that autograd refuses the class alone."""
    text = str(error)
    is_refused = "modified inplace" in text or "modified by an inplace" in text
    return type(error).__name__ if is_refused else f"{type(error).__name__}: {told(text)}"

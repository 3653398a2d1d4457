"""Runs calls in drawn surroundings, eager and compiled, in processes of their own: a bad call may end one."""

import gc
import multiprocessing
import multiprocessing.connection
import os
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch.utils._pytree import tree_leaves

import supple
from supple.base.config import config
from tests.crossings.cases import MODES, Crossing
from tests.fuzz.calling import told
from tests.fuzz.comparing import Twins
from tests.fuzz.running import ROOM, TOO_LARGE, UNDEFINED, let_go, limited_memory
from tests.fuzz.settled import in_vectors, shaken
from tests.modes import modes_now, set_modes

SECONDS: Final = 60.0
"""A call, compilation included, that takes longer is taken for endless."""
USUAL: Final = {name: value for name, value in modes_now().items() if name != "threads"}
"""The modes in which each call begins; how many threads there are is the process's affair."""
PARTS: Final = ("result", "arguments", "written", "gradients", "modes", "seed", "kept")

Program = Callable[..., Any]


class Thing:
    """What a program gets, and nothing keeps."""


class Undefined(Exception):
    """Nothing can be compared with what eager does."""


class Signed(Twins):
    """Compares results that may be rounded otherwise; a zero has the same sign all the same.

    Attributes:
        is_signed: not so in gradients, which sum in other orders.
    """

    is_signed = True

    def values(self, want: torch.Tensor, got: torch.Tensor) -> bool:
        """Tell whether two tensors of one shape hold about the same numbers."""
        if not super().values(want, got):
            return False
        if not self.is_signed:
            return True
        mine, theirs = (one.detach().resolve_conj().resolve_neg() for one in (want, got))
        if mine.is_complex():
            mine, theirs = torch.view_as_real(mine), torch.view_as_real(theirs)
        if not mine.is_floating_point():
            return True
        self.is_at_edge = bool(((mine == 0) & (theirs == 0) & (mine.signbit() != theirs.signbit())).any())
        return not self.is_at_edge


@dataclass(frozen=True)
class Found:
    """A difference.

    Attributes:
        kind: what differs, without numbers.
    """

    crossing: Crossing
    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.crossing}\n{self.crossing.source()}{self.text}"


def program(crossing: Crossing) -> Program:
    """Return a new function that makes the call."""
    args, named = crossing.arguments()
    names = {
        "torch": torch,
        "supple": supple,
        "MODES": MODES,
        "told": told,
        "operator": crossing.function(),
        "ARGS": args[1:],
        "NAMED": named,
    }
    exec(compile(crossing.source(), "<crossing>", "exec"), names)
    return names["program"]


def outcome(run: Program, crossing: Crossing) -> tuple[list[Any], str]:
    """Return all that a call does, a part for each of `PARTS`, and the text of what it raises.

    The exception itself is let go before anybody looks whether something is kept.
    """
    torch.manual_seed(0)
    args, named = crossing.arguments()
    w, thing, raised = torch.ones(3), Thing(), ""
    noted = weakref.ref(thing)
    try:
        with MODES[crossing.outside]():
            result = run(args, named, w, thing)
    except Exception as error:  # what a program raises is compared
        raised = told(error)
        result = ("raised", raised)
    del thing
    is_kept = noted() is not None
    modes = modes_now()
    set_modes(USUAL)
    grads = gradients(result, (args, named)) if crossing.has_gradients else []
    return [result, (args, named), w, grads, modes, torch.get_rng_state(), is_kept], raised


def gradients(result: object, given: object) -> object:
    """Return what backward from all results leaves in the arguments, or what it raises."""
    roots = [one for one in tree_leaves(result) if isinstance(one, torch.Tensor) and one.requires_grad]
    roots = list({id(one): one for one in roots}.values())
    if not roots:
        return None
    try:
        torch.autograd.backward(roots, [torch.ones_like(one) for one in roots])
    except Exception as error:
        let_go(error)
        return "raised"
    return [_taken(one) for one in tree_leaves(given) if isinstance(one, torch.Tensor) and one.is_leaf]


def _taken(tensor: torch.Tensor) -> torch.Tensor | None:
    """Take a gradient from a tensor; the strides and the memory of gradients are left open."""
    found, tensor.grad = tensor.grad, None
    if found is None or found.layout is not torch.strided:
        return found
    return torch.empty(found.shape, dtype=found.dtype).copy_(found.detach())


def compared(crossing: Crossing, first: Program, second: Program) -> tuple[str, str, bool] | None:
    """Return where two programs differ in the calls of a crossing: kind, text, and whether by rounding."""
    for call in crossing.calls():
        with limited_memory(ROOM):
            want, error = outcome(first, call)
        said = error or (want[0] if isinstance(want[0], str) else "")  # a handler returns what it was told
        if any(text in said for text in ("MemoryError", *TOO_LARGE, UNDEFINED)):
            raise Undefined
        with limited_memory(2 * ROOM):
            got, refused = outcome(second, call)
        if "NoShapeRule" in refused:  # it runs eager, where errors of the compiler are suppressed
            raise Undefined
        twins = Signed(is_rounded=True)
        if supple.stats()["breaks"] and crossing.form != "behind a break":
            got[-1] = want[-1]  # what stands on a stack at a break is let go at the end of the frame
        for what, one, other in zip(PARTS, want, got, strict=True):
            twins.is_signed = what != "gradients"
            found = twins.difference(one, other, what)
            if found is not None:
                kind = what if what != "result" else found.partition(":")[0]
                return kind, found, twins.is_by_little or twins.is_at_edge
    return None


def difference(crossing: Crossing) -> Found | None:
    """Return how compiled code differs from eager in a call, None where it does not."""
    eager = program(crossing)
    options = {"check": "memory"}
    compiled = supple.compile(
        program(crossing), backend=crossing.backend, dynamic=crossing.dynamic, options=options
    )
    gc.collect()
    gc.disable()  # what stands in a circle stays, in eager as in compiled code
    try:
        with config.patch(suppress_errors=False):
            found = compared(crossing, eager, compiled)
    except Undefined:
        return None
    finally:
        gc.enable()
        supple.reset()
    if found is None:
        return None
    kind, text, is_rounded = found
    others = (in_vectors(eager), *(shaken(eager, seed) for seed in range(6)))
    if is_rounded and any(compared(crossing, eager, other) is not None for other in others):
        return None
    return Found(crossing, kind, text)


def one_eager(crossing: Crossing) -> None:
    """Make the calls of a crossing in eager alone."""
    eager = program(crossing)
    for call in crossing.calls():
        with limited_memory(ROOM):
            outcome(eager, call)


def apart(
    work: Callable[..., Any], crossings: Sequence[Crossing]
) -> Iterator[tuple[Crossing, Any, str | None]]:
    """Yield what a function gives for each crossing, in another process: its result, or how it ended.

    After one that ended the process, or took too long, another process goes on.
    """
    left = list(crossings)
    while left:
        mine, theirs = multiprocessing.Pipe(duplex=False)
        child = multiprocessing.get_context("fork").Process(target=_work, args=(work, left, theirs))
        child.start()
        theirs.close()
        while left:
            try:
                said = mine.recv() if mine.poll(SECONDS) else None
            except EOFError:
                child.join()
                yield left.pop(0), None, f"the process ended: {child.exitcode}"
                break
            if said is None:
                child.kill()
                yield left.pop(0), None, "endless"
                break
            yield left.pop(0), *said
        child.kill()
        child.join()
        mine.close()


def _work(
    work: Callable[..., Any], crossings: Sequence[Crossing], out: multiprocessing.connection.Connection
) -> None:
    torch.set_num_threads(1)  # those of the parent are not there after a fork, and would be waited for
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, 2)
    for crossing in crossings:
        try:
            out.send((work(crossing), None))
        except Exception as error:  # said by the parent
            out.send((None, f"{type(error).__name__}: {error}"))


def findings(crossings: Sequence[Crossing]) -> Iterator[Found]:
    """Yield the differences of some crossings, each with as few aspects as it takes."""
    for crossing, found, ended in list(apart(difference, crossings)):
        if ended is not None:
            found = None if _ends(crossing) else Found(crossing, ended.partition(":")[0], ended)
        if found is not None:
            yield reduced(found)


def _ends(crossing: Crossing) -> bool:
    """Tell whether eager alone ends the process too, or takes as long."""
    return any(ended is not None for _, _, ended in apart(one_eager, [crossing]))


def reduced(found: Found) -> Found:
    """Return a difference of the same kind, with fewer aspects."""
    for simpler in found.crossing.simpler():
        ((_, again, ended),) = apart(difference, [simpler])
        if again is not None and again.kind == found.kind:
            return reduced(again)
        if ended is not None and ended.partition(":")[0] == found.kind and not _ends(simpler):
            return reduced(Found(simpler, found.kind, ended))
    return found

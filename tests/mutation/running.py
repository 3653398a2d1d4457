"""Runs one pair of program and mutation: before, changed, changed back, eager beside it each time."""

import contextlib
import gc
import io
import signal
import traceback
import types
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

import torch
from torch.utils.hooks import RemovableHandle

import supple
from supple.base import events
from supple.base.config import config
from tests.fuzz.running import LATE, UNDEFINED, nameless
from tests.mutation.description import ROUNDED, Description, difference
from tests.mutation.expected import reason
from tests.mutation.mutations import FIRST_HANDLE, CannotApply, Mutation, mutations
from tests.mutation.places import Cell, Global, Place, places
from tests.mutation.worlds import Program, World

UNLIMITED: Final = 2**31
PLAIN: Final = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType)
SECONDS: Final = 5.0
"""A call that computes for longer is taken for endless."""
STEADY: Final = 8
"""How often eager must do the same twice, for a difference of compiled code to count."""
PHASES: Final = ("before", "changed", "changed back")


KINDS: Final = {
    (False, False): "wrong answer",
    (True, False): "error lost",
    (False, True): "error made",
    (True, True): "other error",
}
"""How a finding is called, by whether the eager and the compiled call raised."""


class Endless(BaseException):
    """A call takes too long."""


def stop(*_: object) -> NoReturn:
    """Raise what no program catches."""
    raise Endless


@dataclass(frozen=True)
class Finding:
    """Where the calls of a compiled program differ from eager's after a mutation.

    Attributes:
        kind: which of the two calls raised an exception.
    """

    program: str
    history: tuple[Mutation, ...]
    phase: str
    kind: str
    text: str

    def __str__(self) -> str:
        steps = "\n".join(f"    {one}" for one in self.history)
        text = self.text.replace("\0", "\\0")
        return f"{self.program}, {self.phase}, {self.kind}:\n{steps}\n    {text}"


@dataclass
class Watch:
    """Counts what the compiler did during a call."""

    started: int = 0
    graphs: int = 0
    eager: int = 0

    def __call__(self, event: events.Event) -> None:
        match event:
            case events.CompileStarted():
                self.started += 1
            case events.GraphCaptured():
                self.graphs += 1
            case events.GraphBroken(is_eager=True) | events.FellBack():
                self.eager += 1
            case _:
                pass


@dataclass
class Session:
    """A program, compiled once, and its two sides.

    Attributes:
        counts: pairs, and how their changed calls went: eager `raised`, they were left to Python (`eager`),
            served by an entry that was there (`hits`), or `recompiled`.
        is_vacuous: whether the whole call without a mutation is left to Python.
    """

    program: Program
    backend: str = "eager"
    dynamic: bool | None = None
    counts: Counter[str] = field(default_factory=Counter[str])
    is_vacuous: bool = False

    def __post_init__(self) -> None:
        self.sides = self.program.sides()
        self.written = kept_state(self.sides[0].world())
        self.run: Any = supple.compile(
            self.sides[1].function,
            backend=self.backend,
            dynamic=self.dynamic,
            options={"recompile_limit": UNLIMITED, "step_limit": 100_000},
        )

    @property
    def is_native(self) -> bool:
        """Whether numbers may differ by rounding in all programs, and some layouts."""
        return self.backend != "eager"

    def worlds(self) -> tuple[World, World]:
        """Return both worlds with new arguments."""
        first, second = (one.world() for one in self.sides)
        for world in (first, second):
            world.written = tuple((str(one), one.steps[-1], one.owner(world)) for one in self.written)
            world.is_native = self.is_native
        return first, second

    def mutations(self) -> list[Mutation]:
        """Return what can be changed, in a fixed order."""
        return mutations(self.sides[0].world())

    def differs(
        self, mutation: Mutation | None, *, is_checking_eager: bool = False
    ) -> tuple[str, str] | None:
        """Return the phase and the place in which eager and compiled calls differ.

        Args:
            is_checking_eager: both worlds run eager: whether the program is the same from call to call.
        """
        worlds = self.worlds()
        runs = [self.sides[0].function, self.sides[1].function if is_checking_eager else self.run]
        for phase in PHASES:
            change = mutation if phase == "changed" else None
            watch = Watch()
            try:
                with listening(watch):
                    seen = called(worlds, runs, change)
            except CannotApply:
                self.counts["not applicable"] += 1
                return None
            except Endless:
                self.counts["endless"] += 1
                return None
            if seen is None:
                self.counts["undefined"] += 1
                return None
            self.count(watch, phase, seen.raised[0])
            bound = ROUNDED if self.is_native else self.program.bound
            found = difference(seen.want, seen.got, bound, is_native=self.is_native)
            if found is not None:
                return phase, KINDS[seen.raised], found
        return None

    def count(self, watch: Watch, phase: str, has_raised: bool) -> None:
        """Count how a call was served."""
        was_left = bool(watch.eager) and not watch.graphs
        if phase == "before" and watch.started:
            self.is_vacuous = was_left
        if phase == "changed":
            is_eager = was_left if watch.started else self.is_vacuous
            kind = "eager" if is_eager else "recompiled" if watch.started else "hits"
            self.counts["compared"] += 1
            self.counts["raised" if has_raised else kind] += 1


@contextlib.contextmanager
def listening(watch: Watch) -> Iterator[None]:
    end = events.listen(watch, reads_texts=False)
    try:
        yield
    finally:
        end()


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Errors of the compiler are raised, nothing is printed, no limit is hit."""
    settings = {"accumulated_recompile_limit": UNLIMITED, "recompile_limit": UNLIMITED}
    with config.patch(suppress_errors=False, **settings), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def called(
    worlds: Sequence[World], runs: Sequence[Callable[..., Any]], mutation: Mutation | None
) -> "Seen | None":
    """Call both worlds, changed or not, and return what each call did.

    Returns:
        None where what eager does is not defined.
    """
    results: list[Any] = []
    with mutation.applied(worlds) if mutation else contextlib.nullcontext():
        for world, run in zip(worlds, runs, strict=True):
            results.append(outcome(world, run))
            if is_undefined(results[0]):
                return None
        if mutation is None or mutation.places:
            try:
                return both(worlds, results)
            except Exception:
                if mutation is None:
                    raise  # else what is changed forbids to look: compared below, when it is changed back
    return both(worlds, results)


@dataclass(frozen=True)
class Seen:
    """What the eager and the compiled call did, and which of them raised an exception."""

    want: Description
    got: Description
    raised: tuple[bool, bool]


def both(worlds: Sequence[World], results: Sequence["Outcome"]) -> Seen:
    want, got = (described(world, one) for world, one in zip(worlds, results, strict=True))
    return Seen(want, got, (results[0].error is not None, results[1].error is not None))


@dataclass(frozen=True)
class Outcome:
    """What a call returned or raised, printed and left in the process."""

    result: Any
    error: Exception | None
    text: str
    state: tuple[Any, ...]
    gradients: Any = None


def outcome(world: World, run: Callable[..., Any]) -> Outcome:
    """Call one world; random numbers and numbers of hooks are the same for each call."""
    torch.default_generator.manual_seed(0)
    RemovableHandle.next_id = FIRST_HANDLE
    grad = torch.is_grad_enabled()
    text = io.StringIO()
    result: Any = None
    error: Exception | None = None
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        with contextlib.redirect_stdout(text):
            result = world.call(run)
    except Exception as raised:  # what a program raises is compared
        error = raised
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        state = torch.is_grad_enabled(), torch.get_default_dtype(), torch.get_rng_state().sum().item()
        torch.set_grad_enabled(grad)
    gradients = differentiated(world, result) if error is None else None
    return Outcome(result, error, nameless(text.getvalue()), state, gradients)


def differentiated(world: World, result: Any) -> Any:
    """Return the gradients of the arguments and of their attributes, where the result has some."""
    with torch._C.DisableTorchFunctionSubclass():
        outputs = [one for one in reached(result) if one.requires_grad and one.is_floating_point()]
        leaves = [one for one in reached((world.args, world.kwargs)) if one.requires_grad]
        if not outputs or not leaves or not torch.is_grad_enabled():
            return None
        try:
            total = sum(one.double().sum() for one in outputs)
            found = torch.autograd.grad(total, leaves, allow_unused=True)
            if not world.is_native:
                return found
            return tuple(None if one is None else one.clone() for one in found)
        except Exception as error:  # what the program's own gradients raise is compared
            return chain(error)


def reached(tree: Any, depth: int = 4) -> list[torch.Tensor]:
    """Return the tensors in containers, modules and attributes, each once."""
    found: dict[int, torch.Tensor] = {}
    waiting: list[tuple[Any, int]] = [(tree, 0)]
    for value, level in waiting:
        match value:
            case torch.Tensor():
                found[id(value)] = value
            case list() | tuple() if level < depth:
                waiting += [(one, level + 1) for one in tuple(value)]
            case dict() if level < depth + 2:
                waiting += [(one, level + 1) for one in dict.values(value)]
            case torch.nn.Module() if level < depth + 2:
                kept = vars(value)
                waiting += [(kept.get(name, {}), level) for name in ("_parameters", "_modules")]
            case _:
                pass
    return list(found.values())


def is_undefined(first: Outcome) -> bool:
    """Tell whether eager raised what a compiled call may do otherwise, see `tests.fuzz.running`."""
    return first.error is not None and any(one in str(first.error) for one in (*LATE, UNDEFINED))


def described(world: World, one: Outcome) -> Description:
    """Return all that can be seen of a call."""
    made = Description()
    made.add(one.result if one.error is None else chain(one.error), "result")
    made.add(one.text, "printed")
    made.add(world.args, "args")
    made.add(world.kwargs, "kwargs")
    made.add(one.gradients, "gradients")
    made.add(list(one.state), "state")
    for name, step, owner in world.written:
        with contextlib.suppress(KeyError, ValueError):
            made.add(step.get(owner), f"global {name}")
    return made


def chain(error: BaseException | None) -> list[Any]:
    """Return what is seen of an exception, and of those that it was raised from or while they were handled.

    Behind a break a variable in a cell is one of an enclosing function: the error that it is unbound says so.
    """
    found: list[Any] = []
    while error is not None and len(found) < 10:
        try:
            text = nameless(str(error))
        except Exception as other:  # the program's own class says what it is
            text = f"no text: {type(other).__qualname__}"
        is_name = isinstance(error, NameError) and "'" in text
        found.append(("NameError", text.split("'")[1]) if is_name else (type(error).__qualname__, text))
        error = error.__context__
    return found


def kept_state(world: World) -> tuple[Place, ...]:
    """Return the globals and cells that the program's functions use."""
    return tuple(
        place
        for place, value in places(world)
        if isinstance(place.steps[-1], Global | Cell) and not isinstance(value, PLAIN)
    )


def findings(
    session: Session,
    chosen: Sequence[Mutation],
    until: Callable[[], bool],
    tell: Callable[[int], None] = lambda number: None,
) -> Iterator[Finding]:
    """Run the chosen mutations of a program in turn; yield what differs, with the history that it needs.

    Args:
        until: tells whether the time is up.
        tell: is called with the number of each mutation before it runs.
    """
    try:
        with undisturbed():
            base = session.differs(None)
            if base is not None:
                session.counts["unsuitable programs"] += 1
                if is_steady(session, None):
                    yield Finding(session.program.name, (), *base)
                return
            for index, mutation in enumerate(chosen):
                if until():
                    return
                tell(index)
                session.counts["pairs"] += 1
                try:
                    found = session.differs(mutation)
                    if found is not None and reason(session.program.name, str(mutation)):
                        session.counts["expected"] += 1
                    elif found is not None and is_steady(session, mutation):
                        session.counts["findings"] += 1
                        yield shortest(session, chosen[: index + 1], found)
                except (
                    Exception
                ):  # a mutation that the comparison itself cannot stand is a fault of the generator
                    session.counts["faults"] += 1
                    yield Finding(
                        session.program.name, (mutation,), "fault", "generator", traceback.format_exc()
                    )
    finally:
        supple.reset()
        gc.collect()


def is_steady(session: Session, mutation: Mutation | None) -> bool:
    """Tell whether eager does the same each time after this mutation, wherever its tensors lie in memory."""
    return all(session.differs(mutation, is_checking_eager=True) is None for _ in range(STEADY))


def shortest(session: Session, history: Sequence[Mutation], found: tuple[str, str, str]) -> Finding:
    """Return a finding with the fewest mutations before it: none, one, or all."""
    *earlier, last = history
    for before in ((), *((one,) for one in reversed(earlier[-40:]))):
        again = Session(session.program, session.backend, session.dynamic)
        for one in before:
            again.differs(one)
        differs = again.differs(last)
        if differs is not None:
            return Finding(session.program.name, (*before, last), *differs)
    phase, kind, text = found
    text = f"{text} (after {len(earlier)} other mutations)"
    return Finding(session.program.name, (last,), phase, kind, text)

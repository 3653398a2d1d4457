"""Runs a program three times in two worlds, eager's and compiled code's: as it is, changed, changed back."""

import builtins
import contextlib
import copy
import io
import itertools
import random
import traceback
import types
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import torch
from torch.utils.hooks import RemovableHandle

import supple
from supple.base import events
from supple.base.config import config
from tests.mutation import places
from tests.mutation.mutators import changes
from tests.mutation.places import Place, World
from tests.semantics.harness import FIRST_HANDLE, Case, Comparison, contents

Undo = Callable[[], None]
Outcome = tuple[Any, ...]

COUNT: Final = 100_000
"""Entries that a function may have: every change gets one, and none may serve another."""


@dataclass(frozen=True, slots=True)
class Mutation:
    """One change.

    Attributes:
        text: the place and the mutator.
        is_shared: whether it is made once, for both worlds.
        apply: makes it in a world and returns what takes it back.
    """

    text: str
    is_shared: bool
    apply: Callable[[World], Undo]


@dataclass(frozen=True, slots=True)
class Difference:
    """Where compiled code does something else than eager."""

    program: str
    mutation: str
    when: str
    text: str

    def __str__(self) -> str:
        shown = self.text if len(self.text) < 300 else f"{self.text[:60]} ... {self.text[-220:]}"
        return f"{self.program}\n    changed: {self.mutation}\n    {self.when}: {shown}"


@dataclass
class Tally:
    """What was tried."""

    pairs: int = 0
    compiled: int = 0
    eager: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    found: list[Difference] = field(default_factory=list)


def of_place(place: Place, name: str, number: int) -> Mutation:
    """Return the change of one place to another value, the one with this number of those that there are."""

    def apply(world: World) -> Undo:
        before = place.get(world)
        # Each world gets objects of its own.
        _, made = next(itertools.islice(others(place, world), number, None), ("", place))
        if made is place:
            raise ValueError("the first call has left another value there")
        place.put(world, made)
        return lambda: place.put(world, before)

    return Mutation(f"{place.text}: {name}", place.is_shared, apply)


def others(place: Place, world: World) -> Iterator[tuple[str, Any]]:
    """Yield the other values for a place; for a name that hides a builtin, those for the builtin."""
    yield from changes(place.get(world))
    if place.text.startswith("hidden builtin"):
        yield from changes(vars(builtins)[place.path[-1][1]])


def of_pair(one: Place, other: Place) -> Mutation:
    """Return the change that puts one object in two places."""

    def apply(world: World) -> Undo:
        before = other.get(world)
        other.put(world, one.get(world))
        return lambda: other.put(world, before)

    return Mutation(f"{other.text} is {one.text}", one.is_shared, apply)


def of_overlap(one: Place, other: Place) -> Mutation:
    """Return the change that lets two tensors show one memory."""

    def apply(world: World) -> Undo:
        before = other.get(world)
        other.put(world, one.get(world).detach()[...])
        return lambda: other.put(world, before)

    return Mutation(f"{other.text} shows {one.text}", one.is_shared, apply)


class _Mode(torch.overrides.TorchFunctionMode):
    """A mode that changes what `sin` gives."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        return result + 1 if func in (torch.sin, torch.Tensor.sin) else result


@contextlib.contextmanager
def _set(setter: Callable[[Any], object], value: Any, before: Any) -> Iterator[None]:
    setter(value)
    try:
        yield
    finally:
        setter(before)


def _hooked() -> contextlib.AbstractContextManager[object]:
    handle = torch.nn.modules.module.register_module_forward_hook(
        lambda _module, _args, result: result + 1 if isinstance(result, torch.Tensor) else None
    )
    stack = contextlib.ExitStack()
    stack.callback(handle.remove)
    return stack


STATES: Final[dict[str, Callable[[], contextlib.AbstractContextManager[object]]]] = {
    "no_grad": torch.no_grad,
    "inference_mode": torch.inference_mode,
    "autocast": lambda: torch.autocast("cpu", torch.bfloat16),
    "autocast float16": lambda: torch.autocast("cpu", torch.float16),
    "default dtype": lambda: _set(torch.set_default_dtype, torch.float64, torch.float32),
    "deterministic": lambda: _set(torch.use_deterministic_algorithms, True, False),
    "matmul precision": lambda: _set(torch.set_float32_matmul_precision, "medium", "highest"),
    "function mode": _Mode,
    "global hook": _hooked,
}
"""States of the process, as contexts around a call."""


def of_state(name: str) -> Mutation:
    """Return the change of a state of the process."""

    def apply(_: World) -> Undo:
        stack = contextlib.ExitStack()
        stack.enter_context(STATES[name]())
        return stack.close

    return Mutation(f"state: {name}", True, apply)


def mutations(case: Case, world: World) -> Iterator[Mutation]:
    """Yield all changes of a program."""
    function: types.FunctionType = case.function
    own = [*places.of_arguments(world)]
    named = [*places.of_names(function)]
    for place in (*own, *named, *places.of_classes(function, world)):
        for number, (name, _) in enumerate(others(place, world)):
            yield of_place(place, name, number)
    alike = [place for place in own if not isinstance(place.get(world), bool | int | float | str | None)]
    for one, other in itertools.combinations(alike[:8], 2):
        left, right = one.get(world), other.get(world)
        if type(left) is type(right) and left is not right and one.path != other.path[: len(one.path)]:
            yield of_pair(one, other)
            if isinstance(left, torch.Tensor) and left.shape == right.shape:
                yield of_overlap(one, other)
    yield from map(of_state, STATES)


def world_of(case: Case) -> World:
    """Return a copy of the arguments of a program."""
    args, kwargs = copy.deepcopy((case.args, dict(case.kwargs)))
    return {"args": list(args), "kwargs": kwargs}


def outcome(case: Case, run: Callable[..., Any], world: World) -> Outcome:
    """Return all that a call gives and changes."""
    text = io.StringIO()
    torch.manual_seed(0)
    RemovableHandle.next_id = FIRST_HANDLE
    with contextlib.redirect_stdout(text), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result: Outcome = ("returned", run(*world["args"], **world["kwargs"]))
        except Exception as error:  # what the program raises is compared
            result = ("raised", type(error), str(error).split("\n")[0][:60], traceback.format_exc())
    return result, text.getvalue()


def difference(case: Case, want: tuple[Any, ...], got: tuple[Any, ...]) -> str | None:
    """Return where two outcomes, with the worlds after them, first differ."""
    (left, *_), (right, *_) = want, got
    if left[0] == right[0] == "raised":
        return (
            None
            if left[1:3] == right[1:3]
            else f"{left[1].__name__}: {left[2]} and {right[1].__name__}: {right[2]}"
        )
    if left[0] != right[0]:
        return f"{left[:3]} and {right[:3]}"
    return Alike(is_rounded=True).difference(want, got, "")


class Alike(Comparison):
    """A comparison for which steps along dimensions of at most one element do not count."""

    def steps(self, tensor: torch.Tensor) -> list[int]:
        """Return the strides that count."""
        sizes = zip(tensor.shape, tensor.stride(), strict=True)
        return [step for size, step in sizes if size > 1] if tensor.numel() else []


class Session:
    """One program and its compiled form."""

    def __init__(self, case: Case, backend: str, tally: Tally) -> None:
        self.case = case
        self.tally = tally
        self.compiled = supple.compile(case.function, backend=backend, options={"recompile_limit": COUNT})
        self._counts: Counter[str] = Counter()

    def _count(self, event: object) -> None:
        self._counts[type(event).__name__] += 1

    def _call(self, left: World, right: World) -> tuple[Outcome, Outcome]:
        want = (*outcome(self.case, self.case.function, left), left, self._kept())
        self._restore()
        got = (*outcome(self.case, self.compiled, right), right, self._kept())
        self._restore()
        return want, got

    def _kept(self) -> dict[str, object]:
        return self.case.kept_state()

    def _remember(self) -> None:
        names = self.case.function.__globals__
        self._before = {
            name: names.get(name, places.MISSING) for name in self.case.kept_state() if " " not in name
        }
        self._cells = [(cell, contents(cell)) for cell in self.case.function.__closure__ or ()]

    def _restore(self) -> None:
        names = self.case.function.__globals__
        for name, value in self._before.items():
            if value is places.MISSING:
                names.pop(name, None)
            else:
                names[name] = value
        for cell, value in self._cells:
            cell.cell_contents = value

    def is_fit(self) -> bool:
        """Tell whether eager does the same twice, and compiled code what eager does."""
        self._remember()
        case = self.case
        worlds = [world_of(case) for _ in range(3)]
        first = (*outcome(case, case.function, worlds[0]), worlds[0])
        self._restore()
        second = (*outcome(case, case.function, worlds[1]), worlds[1])
        self._restore()
        if difference(case, first, second) is not None:
            self.tally.skipped["eager differs from itself"] += 1
            return False
        got = (*outcome(case, self.compiled, worlds[2]), worlds[2])
        self._restore()
        found = difference(case, first, got)
        if found is not None:
            self.tally.found.append(Difference(str(case), "nothing", "as it is", found))
        return found is None

    def try_out(self, mutation: Mutation) -> Difference | None:
        """Call as it is, changed, and changed back; return the first difference."""
        left, right = world_of(self.case), world_of(self.case)
        undo: list[Undo] = []
        stop = events.listen(self._count)
        self._counts.clear()
        try:
            if (found := difference(self.case, *self._call(left, right))) is not None:
                return Difference(str(self.case), mutation.text, "before", found)
            try:
                for world in (left,) if mutation.is_shared else (left, right):
                    undo.append(mutation.apply(world))
            except (TypeError, AttributeError, RuntimeError, ValueError, KeyError, IndexError):
                self.tally.skipped["not possible"] += 1
                return None
            self._remember()
            self.tally.pairs += 1
            both = self._call(left, right)
            for back in undo:
                back()
            undo.clear()
            self._remember()
            # Classes are what they were, so that looking at the outcomes has no effects.
            found, when = difference(self.case, *both), "changed"
            if found is None:
                found, when = difference(self.case, *self._call(left, right)), "changed back"
            return None if found is None else Difference(str(self.case), mutation.text, when, found)
        finally:
            for back in undo:
                back()
            stop()
            self.tally.compiled += self._counts["CompileStarted"] > 0
            self.tally.eager += self._counts["FellBack"] > 0


def tried(case: Case, backend: str, tally: Tally, chance: random.Random, most: int) -> None:
    """Try changes of one program, `most` of them, chosen by chance."""
    with config.patch(accumulated_recompile_limit=COUNT, suppress_errors=True):
        session = Session(case, backend, tally)
        try:
            if not session.is_fit():
                return
            chosen = list(mutations(case, world_of(case)))
            chance.shuffle(chosen)
            for mutation in chosen[:most]:
                found = session.try_out(mutation)
                if found is not None:
                    tally.found.append(found)
        finally:
            supple.reset()

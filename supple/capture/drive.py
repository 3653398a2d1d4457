"""Runs what residual code hands over to, until a frame has its result: call after call, none in another."""

import contextlib
import functools
import inspect
import sys
import traceback
import types
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, cast

if TYPE_CHECKING:
    from supple.capture.resume import Continuation

Function = Callable[..., object]

HANDS_ON: Final = frozenset(f"supple.capture.{name}" for name in ("dispatch", "drive", "resume"))
"""The modules whose frames lie between a step or a continuation and `drive`."""


class Onward(NamedTuple):
    """What a step or a continuation returns in place of calling what follows: stacks do not grow in loops."""

    function: Function
    state: tuple[object, ...]
    continuation: "Continuation | None" = None
    is_yield: bool = False

    def fail(self, error: BaseException) -> object:
        """Raise in the frame where it would go on; out of it, where that is its beginning."""
        if self.continuation is None:
            raise error
        return self.continuation.fail(error, self.state, at_yield=self.is_yield)


class Refused(Exception):  # never leaves `drive`
    """A continuation is not compiled, and must not run eager: the user wants the error."""

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


def drive(found: object) -> object:
    """Return the result of a frame, after all that its steps and continuations hand over to."""
    try:
        while type(found) is Onward:
            error: Exception | None = None
            try:
                found = found.function(*found.state)
            except Refused as refused:
                error = refused.error
            if error is not None and type(found) is Onward:
                found = found.fail(error)
    except BaseException as raised:
        let_go(raised)
        raise
    else:
        return found
    finally:
        error = found = None


def drive_alone(held: list[Onward]) -> object:
    """Drive the call that a list holds, and empty the list: its holder keeps nothing of the call's state."""
    return drive(held.pop())


def let_go(raised: BaseException) -> None:
    """Empty the frames by which state was handed on to where this was raised.

    The exception may be a part of that state, and its traceback holds the frames: a cycle, which would keep
    all that the program's call was given until the garbage collector runs.
    """
    caller = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]  # documented; it is still running
    seen = {caller}
    for each, _ in traceback.walk_tb(raised.__traceback__):
        frame: types.FrameType | None = each
        while frame is not None and frame not in seen:
            seen.add(frame)
            # A frame of a generator may be suspended: to empty it closes the generator.
            is_generator = frame.f_code.co_flags & inspect.CO_GENERATOR
            if frame.f_globals.get("__name__") in HANDS_ON and not is_generator:
                with contextlib.suppress(RuntimeError):  # it still runs
                    frame.clear()
            frame = frame.f_back


def generate(
    call: Function, args: tuple[object, ...], kwargs: Mapping[str, object]
) -> Generator[object, object, object]:
    """Be a generator whose frame is compiled from one `yield` to the next.

    Args:
        call: the compiled form of a generator function, called with these arguments, gives what follows, or
            the result in a tuple, or, where it is not captured, the generator itself.
    """
    found: object = Onward(call, (args, kwargs))
    error: BaseException | None = None
    try:
        while type(found) is Onward:
            error = None
            try:
                if found.is_yield:
                    sent = yield found.state[-1]
                    found = found._replace(state=(*found.state[:-1], sent), is_yield=False)
                else:
                    found = found.function(*found.state)
            except Refused as refused:
                error = refused.error
            except BaseException as raised:
                if not found.is_yield:
                    raise
                error = raised
            if error is not None and type(found) is Onward:
                found = found.fail(error)
        if type(found) is tuple:
            result = cast("tuple[object]", found)[0]
        else:
            result = yield from cast("Generator[object, object, object]", found)
    except BaseException as raised:
        let_go(raised)
        raise
    else:
        return result
    finally:
        error = found = None


def driven(run: Function) -> Function:
    """Return residual code that goes on to the end of its frame, and holds nothing of its beginning then."""

    @functools.wraps(run)
    def call(*args: object, **kwargs: object) -> object:
        return drive(run(*args, **kwargs))

    return call


@dataclass(frozen=True, slots=True)
class HandOver:
    """Called at the end of residual code with what each frame holds, as (cells, values), the outermost first.

    Attributes:
        steps: of each frame.
    """

    steps: tuple[Callable[[Sequence[object]], Function], ...]

    def __call__(self, states: Sequence[tuple[Sequence[object], tuple[object, ...]]]) -> object:
        """Return the call of the steps, the outermost first, each calling the next."""
        onward: Onward | None = None
        for made, (cells, values) in zip(reversed(self.steps), reversed(states), strict=True):
            state = values if onward is None else (*values, functools.partial(drive_alone, [onward]))
            onward = Onward(made(cells), state)
        return onward

"""Runs what residual code hands over to, until a frame has its result: call after call, none in another."""

import functools
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, cast

if TYPE_CHECKING:
    from supple.capture.resume import Continuation

Function = Callable[..., object]


class Onward(NamedTuple):
    """What a step or a continuation returns in place of calling what follows: stacks do not grow in loops."""

    function: Function
    state: tuple[object, ...]
    continuation: "Continuation | None" = None
    is_yield: bool = False


class Refused(Exception):  # never leaves `drive`
    """A continuation is not compiled, and must not run eager: the user wants the error."""

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


def drive(found: object) -> object:
    """Return the result of a frame, after all that its steps and continuations hand over to."""
    while type(found) is Onward:
        error: Exception | None = None
        try:
            found = found.function(*found.state)
        except Refused as refused:
            error = refused.error
        if error is not None and type(found) is Onward:
            assert found.continuation is not None, "a step is not compiled"
            found = found.continuation.fail(error, found.state)
    return found


def generate(
    call: Function, args: tuple[object, ...], kwargs: Mapping[str, object]
) -> Generator[object, object, object]:
    """Be a generator whose frame is compiled from one `yield` to the next.

    Args:
        call: the compiled form of a generator function, called with these arguments, gives what follows, or
            the result in a tuple, or, where it is not captured, the generator itself.
    """
    found: object = Onward(call, (args, kwargs))
    while type(found) is Onward:
        error: BaseException | None = None
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
        if error is not None:
            assert type(found) is Onward, "what fails is still to be done"
            if found.continuation is None:
                raise error
            found = found.continuation.fail(error, found.state, at_yield=found.is_yield)
    if type(found) is tuple:
        return cast("tuple[object]", found)[0]
    return (yield from cast("Generator[object, object, object]", found))


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
            state = values if onward is None else (*values, functools.partial(drive, onward))
            onward = Onward(made(cells), state)
        return onward

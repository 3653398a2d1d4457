"""A generator that delegates hands on what is sent and raised, and closes the other one when it ends."""

import contextlib
import itertools
from collections.abc import Callable, Generator, Iterator
from typing import Any

import pytest

import supple
from supple.base.config import config


def delegating(inner: Iterator[int]) -> Iterator[int]:
    yield from inner


def dropped(inner: Iterator[int]) -> object:
    outer = delegating(inner)
    next(outer)
    del outer
    return [*inner]


def left(inner: Iterator[int]) -> object:
    outer = delegating(inner)
    return next(outer)


def left_by_a_function(inner: Iterator[int]) -> object:
    left(inner)
    return [*inner]


def left_behind_a_break(inner: Iterator[int]) -> object:
    outer = delegating(inner)
    next(outer)
    supple.graph_break()
    return next(outer)


def held(inner: Iterator[int]) -> object:
    outer = delegating(inner)
    return next(outer), next(inner), [*outer]


MAKERS: dict[str, Callable[[], Iterator[int]]] = {
    "a generator": lambda: (n for n in (1, 2, 3)),
    "an iterator": lambda: iter([1, 2, 3]),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize("work", [dropped, left, left_by_a_function, left_behind_a_break, held])
def test_what_is_left_in_a_yield_from_is_closed(work: Callable[[Iterator[int]], object], make: Any) -> None:
    def program() -> object:
        inner = make()
        return work(inner), [*inner]

    assert supple.compile(program, backend="eager")() == program()


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize("work", [left, left_behind_a_break, held])
def test_an_argument_left_in_a_yield_from_is_closed(
    work: Callable[[Iterator[int]], object], make: Any
) -> None:
    eager, compiled = make(), make()
    assert supple.compile(work, backend="eager")(compiled) == work(eager)
    assert [*compiled] == [*eager]


Log = list[object]
Sent = Generator[object, object, object]


def returning(log: Log) -> Sent:
    """Takes what is sent and raised, and returns."""
    try:
        log.append(("inner got", (yield 1)))
        log.append(("inner got", (yield 2)))
    except ValueError as error:
        log.append(("inner caught", error.args))
    finally:
        log.append("inner ends")
    return "a result"


def obstinate(log: Log) -> Sent:
    """Goes on after an error."""
    for number in range(4):
        try:
            log.append(("inner got", (yield number)))
        except ValueError as error:
            log.append(("inner caught", error.args))


def refusing(log: Log) -> Sent:
    """Raises another error."""
    try:
        yield 1
        yield 2
    except ValueError as error:
        raise KeyError("from inside") from error


def through(log: Log, inner: Callable[[Log], Sent]) -> Sent:
    result = yield from inner(log)
    log.append(("inner returned", result))
    yield "more"
    return "the end"


def in_a_block(log: Log, inner: Callable[[Log], Sent]) -> Sent:
    for place in range(2):
        try:
            log.append((place, (yield from inner(log))))
        except (KeyError, ValueError) as error:
            log.append(("outer caught", type(error).__name__, error.args))
            yield "caught"
        finally:
            log.append("outer leaves")


def twice(log: Log, inner: Callable[[Log], Sent]) -> Sent:
    return (yield from in_a_block(log, inner))


STEPS: dict[str, Callable[[Sent], object]] = {
    "next": next,
    "send": lambda made: made.send("sent"),
    "throw": lambda made: made.throw(ValueError("thrown")),
    "another error": lambda made: made.throw(TypeError("thrown")),
    "close": lambda made: made.close(),
}


def tried(step: Callable[[Sent], object], made: Sent) -> object:
    try:
        return step(made)
    except Exception as error:
        return type(error).__name__, error.args


@pytest.mark.parametrize("is_broken", [False, True], ids=["", "broken"])
@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
@pytest.mark.parametrize("inner", [returning, obstinate, refusing])
@pytest.mark.parametrize("outer", [through, in_a_block, twice])
def test_what_is_sent_and_raised_goes_to_the_inner_generator(
    outer: Callable[[Log, Callable[[Log], Sent]], Sent],
    inner: Callable[[Log], Sent],
    step: Callable[[Sent], object],
    is_broken: bool,
) -> None:
    def program() -> Log:
        log: Log = []
        made = outer(log, inner)
        log.append(next(made))
        for one in (step, next, step, next):
            if is_broken:
                supple.graph_break()
            log.append(tried(one, made))
        made.close()
        return log

    assert supple.compile(program, backend="eager", fullgraph=not is_broken)() == program()


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
@pytest.mark.parametrize("inner", [returning, obstinate, refusing])
@pytest.mark.parametrize("outer", [through, in_a_block, twice])
def test_what_is_left_suspended_is_closed_when_the_call_ends(
    outer: Callable[[Log, Callable[[Log], Sent]], Sent],
    inner: Callable[[Log], Sent],
    step: Callable[[Sent], object],
) -> None:
    def program(log: Log) -> None:
        made = outer(log, inner)
        log.append(next(made))
        log.append(tried(step, made))
        supple.graph_break()
        log.append(tried(step, made))

    eager: Log = []
    compiled: Log = []
    program(eager)
    supple.compile(program, backend="eager")(compiled)
    assert compiled == eager


def test_a_generator_held_by_the_caller_hands_errors_on() -> None:
    def program(made: Sent, step: Callable[[Sent], object]) -> object:
        return tried(step, made)

    def begun(outer: Callable[[Log, Callable[[Log], Sent]], Sent], log: Log) -> Sent:
        made = outer(log, returning)
        log.append(next(made))
        return made

    for outer in (through, in_a_block, twice):
        for step in STEPS.values():
            eager: Log = []
            compiled: Log = []
            made = supple.compile(begun, backend="eager")(outer, compiled)
            other = begun(outer, eager)
            for _ in range(3):
                got = supple.compile(program, backend="eager")(made, step)
                assert got == program(other, step)
            assert compiled == eager


@contextlib.contextmanager
def swallowing(log: Log) -> Iterator[None]:
    try:
        yield
    except KeyError as error:
        log.append(("swallowed", error.args))


def swallowed(log: Log, inner: Callable[[Log], Sent]) -> Sent:
    """Ends one delegation by an error that a block swallows, and begins another one."""
    with swallowing(log):
        log.append((yield from inner(log)))
        raise KeyError("in the block")
    return (yield from inner(log))


def deep(log: Log, inner: Callable[[Log], Sent]) -> Sent:
    return (yield from swallowed(log, inner))


class Plain:
    """An iterator that is no generator."""

    def __init__(self, log: Log) -> None:
        self.log = log

    def __iter__(self) -> "Plain":
        return self

    def __next__(self) -> object:
        self.log.append("next")
        return "an item"


class Full(Plain):
    """An iterator with the methods of a generator."""

    def send(self, value: object) -> object:
        self.log.append(("send", value))
        return "what was sent"

    def throw(self, error: BaseException) -> object:
        self.log.append(("throw", type(error)))
        raise StopIteration("thrown out")

    def close(self) -> None:
        self.log.append("close")


DELEGATES: dict[str, Callable[[Log], Any]] = {
    "plain": Plain,
    "full": Full,
    "list": lambda log: [1, 2, 3],
    "zip": lambda log: zip([1, 2, 3], [4, 5, 6], strict=True),
    "map": lambda log: map(str, [1, 2, 3]),
    "dict": lambda log: {"a": 1, "b": 2, "c": 3},
    "generator": returning,
}


def over(log: Log, inner: Callable[[Log], Sent]) -> Sent:
    log.append(("result", (yield from inner(log))))
    return "the end"


@pytest.mark.parametrize("is_broken", [False, True], ids=["", "broken"])
@pytest.mark.parametrize("first", STEPS)
@pytest.mark.parametrize(
    ("outer", "inner"),
    [(deep, returning), *((over, inner) for inner in DELEGATES.values())],
    ids=["deep", *DELEGATES],
)
def test_any_steps_of_a_delegation(
    outer: Callable[[Log, Callable[[Log], Sent]], Sent],
    inner: Callable[[Log], Sent],
    first: str,
    is_broken: bool,
) -> None:
    def program(steps: tuple[Callable[[Sent], object], ...]) -> Log:
        log: Log = []
        made = outer(log, inner)
        log.append(next(made))
        for one in steps:
            if is_broken:
                supple.graph_break()
            log.append(tried(one, made))
        return log

    for others in itertools.product(STEPS, repeat=2):
        steps = tuple(STEPS[name] for name in (first, *others))
        supple.reset()
        with config.patch(suppress_errors=False):
            assert supple.compile(program, backend="eager")(steps) == program(steps), others

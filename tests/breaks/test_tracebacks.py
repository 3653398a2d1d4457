"""What a program makes of the traceback of an exception that it handles."""

import contextlib
import io
import sys
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import supple
from supple.base.config import config

PROGRAMS: list[Callable[[torch.Tensor], object]] = []


def program(function):
    PROGRAMS.append(function)
    return function


def refused(x):
    return x @ torch.ones(77)


def broken(x):
    supple.graph_break()
    return x @ torch.ones(77)


@program
def printed(x):
    out = io.StringIO()
    try:
        refused(x)
    except RuntimeError:
        traceback.print_exc(file=out)
    return out.getvalue()


@program
def formatted(x):
    try:
        raise ValueError("a")
    except ValueError:
        return traceback.format_exc()


@program
def formatted_behind_a_break(x):
    try:
        broken(x)
    except RuntimeError:
        return traceback.format_exc()


@program
def formatted_from_its_parts(x):
    try:
        int("no")
    except ValueError:
        return "".join(traceback.format_exception(*sys.exc_info()))


@program
def formatted_alone(x):
    try:
        broken(x)
    except RuntimeError:
        kind, error, trace = sys.exc_info()
        return kind.__name__, str(error), "".join(traceback.format_tb(trace))


@program
def whether_there_is_one(x):
    try:
        raise ValueError("a")
    except ValueError:
        kind, _, trace = sys.exc_info()
        return kind.__name__, trace is not None, bool(trace), isinstance(trace, type(None)), trace is None


@program
def none_outside(x):
    try:
        raise ValueError("a")
    except ValueError:
        pass
    return sys.exc_info()


@program
def raised_again_with_it(x):
    try:
        try:
            broken(x)
        except RuntimeError:
            _, error, trace = sys.exc_info()
            raise error.with_traceback(trace) from None
    except RuntimeError as again:
        return str(again), traceback.format_exc().count("broken")


@program
def kept_in_a_list(x):
    kept = []
    try:
        raise ValueError("a")
    except ValueError:
        kept.append(sys.exc_info()[2])
    supple.graph_break()
    return len(kept), type(kept[0]).__name__


@program
def kept_over_a_break(x):
    try:
        raise ValueError("a")
    except ValueError:
        trace = sys.exc_info()[2]
        supple.graph_break()
        return "".join(traceback.format_tb(trace))


@program
def a_line_of_it(x):
    try:
        refused(x)
    except RuntimeError:
        return traceback.extract_tb(sys.exc_info()[2])[-1].name


@program
def a_stack_of_blocks(x):
    with contextlib.suppress(RuntimeError), contextlib.ExitStack() as stack:
        stack.enter_context(torch.no_grad())
        refused(x)
    return x + 1


class Block:
    said: object = None

    def __enter__(self) -> "Block":
        return self

    def __exit__(self, kind, error, trace) -> bool:
        self.said = kind.__name__, str(error), trace is not None, traceback.format_exc().count("refused")
        return True


@program
def a_block_of_its_own(x):
    with Block() as block:
        refused(x)
    return block.said


class Noting:
    said: object = None

    def __enter__(self) -> "Noting":
        return self

    def __exit__(self, kind, error, trace) -> bool:
        self.said = kind and kind.__name__, str(error), trace is None
        return True


@program
def what_a_block_is_told(x):
    with Noting() as raised:
        raise KeyError("k")
    with Noting() as refusing:
        refused(x)
    with Noting() as fine:
        x = x + 1
    return raised.said, refusing.said, fine.said


@program
def what_blocks_on_a_stack_are_told(x):
    noting = Noting()
    with contextlib.ExitStack() as stack:
        stack.enter_context(noting)
        raise KeyError("k")
    return noting.said


@program
def told_by_hand(x):
    noting = Noting()
    try:
        raise KeyError("k")
    except KeyError:
        noting.__exit__(*sys.exc_info())
    return noting.said


@program
def of_the_exception_itself(x):
    try:
        raise ValueError("a")
    except ValueError as error:
        return "".join(traceback.format_tb(error.__traceback__)), error.__traceback__ is None


@program
def of_an_exception_behind_its_handler(x):
    kept = ValueError("a")
    before = kept.__traceback__
    with contextlib.suppress(ValueError):
        raise kept
    return before, kept.__traceback__ is None


@program
def of_one_from_behind_a_break(x):
    try:
        broken(x)
    except RuntimeError as error:
        return "".join(traceback.format_tb(error.__traceback__))


def lines(value: object) -> Iterator[object]:
    """Yield the parts of a result; of a traceback the lines that show the program."""
    if isinstance(value, tuple):
        for item in value:
            yield from lines(item)
    elif isinstance(value, str) and "File" in value:
        found = value.splitlines()
        yield from (line for line in found if "test_tracebacks" in line or line.endswith(("vec (77)", ": a")))
    elif isinstance(value, torch.Tensor):
        yield value.tolist()
    else:
        yield value


@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda one: one.__name__)
def test_tracebacks_show_the_lines_of_the_program(function, backend) -> None:
    x = torch.ones(3, 4)
    compiled = supple.compile(function, backend=backend)
    with config.patch(suppress_errors=False):
        got = [compiled(x) for _ in range(2)]
    for one in got:
        assert list(lines(one)) == list(lines(function(x)))


class Clears:
    """A manager that empties the frames behind an exception, as `unittest` does."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        traceback.clear_frames(trace)
        return True


def test_frames_that_are_emptied_are_captured() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        with Clears():
            held = x * 2
            raise ValueError(held.shape)
        return x + 1

    assert torch.equal(supple.compile(program, fullgraph=True)(torch.ones(2)), torch.full((2,), 2.0))
    assert supple.stats()["fallbacks"] == 0

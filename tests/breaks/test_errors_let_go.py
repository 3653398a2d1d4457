"""What a call was given is let go when an exception leaves it, as in eager code, wherever a graph ended.

A cycle of an exception, its traceback, the frames of that and what those hold would keep it until the garbage
collector runs. Each program raises; the collector is switched off.
"""

import contextlib
import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

import supple


class Thing:
    said: str
    x: Tensor


Program = Callable[[Tensor, Thing], object]
PROGRAMS: list[Program] = []
OF_77 = torch.ones(77)


def raises(program: Program) -> Program:
    PROGRAMS.append(program)
    return program


def broken(x: Tensor) -> Tensor:
    supple.graph_break()
    return x @ OF_77


@raises
def in_a_block(x: Tensor, _: Thing) -> object:
    with torch.no_grad():
        n = x.sum()
        supple.graph_break()
        return x @ OF_77, n


@raises
def in_a_block_of_one_graph(x: Tensor, _: Thing) -> object:
    with torch.no_grad():
        return x @ OF_77


@raises
def in_no_block(x: Tensor, _: Thing) -> object:
    n = x.sum()
    supple.graph_break()
    return x @ OF_77, n


@raises
def finally_behind_a_break(x: Tensor, thing: Thing) -> object:
    try:
        supple.graph_break()
        return x @ OF_77
    finally:
        thing.said = "finally"


@raises
def handled_and_raised_again(x: Tensor, thing: Thing) -> object:
    try:
        return x @ OF_77
    except RuntimeError as error:
        supple.graph_break()
        thing.said = str(error)
        raise


@raises
def handled_and_another_raised(x: Tensor, _: Thing) -> object:
    try:
        return x @ OF_77
    except RuntimeError as error:
        supple.graph_break()
        raise ValueError(str(error)) from error


@raises
def two_handlers(x: Tensor, _: Thing) -> object:
    try:
        try:
            return broken(x)
        except RuntimeError:
            supple.graph_break()
            raise ValueError("inner") from None
    except ValueError:
        supple.graph_break()
        return x @ OF_77


@raises
def a_cause_alone(_: Tensor, __: Thing) -> object:
    try:
        try:
            int("no number")
        except ValueError as error:
            supple.graph_break()
            raise TypeError from error
        finally:
            supple.graph_break()
    except TypeError as error:
        assert error.__cause__ is not None
        raise error.__cause__ from None


@raises
def raised_by_itself(_: Tensor, __: Thing) -> object:
    try:
        raise ValueError
    except ValueError:
        supple.graph_break()
        raise


@raises
def raised_in_a_block(x: Tensor, _: Thing) -> object:
    with torch.no_grad():
        supple.graph_break()
        raise ValueError(x.shape)


@raises
def handled_in_a_loop(x: Tensor, _: Thing) -> object:
    for _k in range(2):
        with contextlib.suppress(RuntimeError):
            broken(x)
    return x @ OF_77


@raises
def a_call_in_a_block(x: Tensor, _: Thing) -> object:
    with torch.no_grad():
        return broken(x)


@raises
def a_call_in_finally(x: Tensor, _: Thing) -> object:
    try:
        return broken(x)
    finally:
        supple.graph_break()


@raises
def a_closure_in_a_block(x: Tensor, _: Thing) -> object:
    def inner() -> Tensor:
        supple.graph_break()
        return x @ OF_77

    with torch.no_grad():
        return inner()


@raises
def a_lambda_in_a_comprehension(x: Tensor, _: Thing) -> object:
    inner = lambda y: broken(y) + 1  # noqa: E731
    with torch.no_grad():
        return [inner(x) for _ in range(2)]


@raises
def a_generator(x: Tensor, _: Thing) -> object:
    def made() -> Iterator[Tensor]:
        with torch.no_grad():
            yield x.sum()
            yield broken(x)

    return list(made())


@raises
def a_generator_in_a_block(x: Tensor, _: Thing) -> object:
    def made() -> Iterator[Tensor]:
        for k in range(3):
            try:
                yield x.sum()
            finally:
                supple.graph_break()
            if k:
                raise ValueError

    with torch.no_grad():
        return sum(made())


class Maker:
    def __init__(self, x: Tensor) -> None:
        with torch.no_grad():
            broken(x)


@raises
def in_init(x: Tensor, _: Thing) -> object:
    with torch.no_grad():
        return Maker(x)


class Getter(Thing):
    @property
    def product(self) -> Tensor:
        with torch.no_grad():
            return broken(self.x)


@raises
def in_a_property(x: Tensor, _: Thing) -> object:
    getter = Getter()
    getter.x = x
    with torch.no_grad():
        return getter.product


class Block:
    def __init__(self, error: type[Exception] | None) -> None:
        self.error = error

    def __enter__(self) -> None:
        supple.graph_break()

    def __exit__(self, *_: object) -> None:
        supple.graph_break()
        if self.error is not None:
            raise self.error


@raises
def blocks_of_its_own(x: Tensor, _: Thing) -> object:
    with Block(None), Block(None):
        return x @ OF_77


@raises
def a_block_that_raises(x: Tensor, _: Thing) -> object:
    with Block(KeyError), Block(None):
        return x @ OF_77


@contextlib.contextmanager
def managed() -> Iterator[None]:
    with torch.no_grad():
        try:
            yield
        finally:
            supple.graph_break()


@raises
def a_block_of_a_generator(x: Tensor, _: Thing) -> object:
    with managed():
        return x @ OF_77


def yields_in_a_block(x: Tensor, _: Thing) -> Iterator[Tensor]:
    with torch.no_grad():
        yield x.sum()
        yield broken(x)


def yields_and_handles(x: Tensor, _: Thing) -> Iterator[Tensor]:
    try:
        yield x.sum()
        yield broken(x)
    except RuntimeError:
        supple.graph_break()
        yield x + 1
        raise


def yields_and_cleans_up(x: Tensor, _: Thing) -> Iterator[Tensor]:
    try:
        yield x.sum()
        yield broken(x)
    finally:
        supple.graph_break()


def yields_from_another(x: Tensor, thing: Thing) -> Iterator[Tensor]:
    yield from yields_and_handles(x, thing)


def consumed(made: Iterator[Tensor]) -> None:
    for _ in made:
        pass


def thrown_into(made: Any) -> None:
    next(made)
    made.throw(KeyError)


def kept(program: Program) -> list[Any]:
    """Return the exception's class, and which of the arguments are still there after a call."""
    x, thing = torch.ones(3, 4), Thing()
    noted = weakref.ref(x), weakref.ref(thing)
    said = ""
    try:
        program(x, thing)
    except Exception as error:  # its class is compared
        said = type(error).__name__
    del x, thing
    return [said, *(one() is not None for one in noted)]


@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda one: one.__name__)
def test_arguments_are_let_go(program: Program, backend: str) -> None:
    check(program, supple.compile(program, backend=backend))


@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("used", [consumed, thrown_into])
@pytest.mark.parametrize(
    "program", [yields_in_a_block, yields_and_handles, yields_and_cleans_up, yields_from_another]
)
def test_arguments_of_generators_are_let_go(
    program: Callable[[Tensor, Thing], Iterator[Tensor]], used: Callable[[Any], None], backend: str
) -> None:
    compiled = supple.compile(program, backend=backend)
    check(lambda *args: used(program(*args)), lambda *args: used(compiled(*args)))


def check(program: Program, compiled: Program) -> None:
    """Compare what calls keep while nobody looks for cycles."""
    gc.disable()
    try:
        want = kept(program)
        got = [kept(compiled) for _ in range(3)]
    finally:
        gc.enable()
    assert want[0]
    assert got == [want] * 3

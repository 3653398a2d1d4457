"""What a call held is gone when the call has ended, also when an error ended it, and the call was compiled.

The collector is off: it would hide objects that hold each other.
"""

import contextlib
import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import supple


class Thing:
    """Something that can be referred to weakly."""

    known = 1

    def __getattr__(self, name: str) -> object:
        if name == "made":
            return name
        raise AttributeError(name)

    def fail(self) -> None:
        raise ValueError("failed")


class Wrapped:
    """Holds something."""

    def __init__(self, items: list[Thing]) -> None:
        self.items = items


class Barred:
    """Its length raises."""

    def __len__(self) -> int:
        raise ValueError("no length")


def unbound(thing: Thing) -> None:
    print(missing)  # noqa: F821


def in_a_method(thing: Thing) -> None:
    thing.fail()


def behind_a_block(thing: Thing) -> None:
    try:
        thing.fail()
    finally:
        thing.known = 2


def other_error(thing: Thing) -> None:
    try:
        thing.fail()
    except ValueError as error:
        raise KeyError("other") from error


def handled(thing: Thing) -> object:
    try:
        thing.fail()
    except ValueError:
        return None
    return 1


def attribute(thing: Thing) -> object:
    return thing.lacking


def asked(thing: Thing) -> object:
    return hasattr(thing, "lacking"), getattr(thing, "lacking", 1), hasattr(thing, "made")


def hinted(thing: Thing) -> object:
    return [*map(len, [Barred()])]


def generating(thing: Thing) -> Iterator[int]:
    try:
        yield 1
        thing.fail()
    finally:
        thing.known = 3


def in_a_generator(thing: Thing) -> object:
    return [*generating(thing)]


def thrown_in(thing: Thing) -> object:
    made = generating(thing)
    next(made)
    return made.throw(KeyError("thrown"))


def made_before_a_handler(thing: Thing) -> None:
    try:
        try:
            print(missing)  # noqa: F821
        finally:
            _kept = [thing, {"thing": thing}]
    except Exception:
        with id(thing) * 0:  # type: ignore[attr-defined]  # an integer is no block
            pass


def made_and_raised_in_a_handler(thing: Thing) -> None:
    try:
        try:
            thing.fail()
        finally:
            kept = Wrapped([thing])
            thing.known = len(kept.items)
    except ValueError as error:
        raise KeyError(id(thing) * 0) from error


def refused_sizes(thing: Thing) -> None:
    torch.ones(3).addcmul_(torch.ones(3), torch.zeros(2, 3), value=thing.known)


def refused_types(thing: Thing) -> None:
    torch.addcmul(torch.ones(3, dtype=torch.bool), torch.ones(3), torch.ones(3), value=thing.known)


def refused_places(thing: Thing) -> None:
    torch.ones(3).sum(thing.known)


PROGRAMS = (
    *(unbound, in_a_method, behind_a_block, other_error, handled, attribute, asked, hinted),
    *(in_a_generator, thrown_in, refused_sizes, refused_types, refused_places),
    *(made_before_a_handler, made_and_raised_in_a_handler),
)


@pytest.fixture(autouse=True)
def _without_collector() -> Iterator[None]:
    supple.compile(lambda: supple.graph_break(), backend="eager")()  # what is made once
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def outcome(program: Callable[..., Any], thing: Thing) -> object:
    try:
        return program(thing)
    except Exception as error:
        return type(error)


@pytest.mark.parametrize("is_broken", [False, True], ids=["", "broken"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda one: one.__name__)
def test_the_arguments_of_a_call_end_with_it(program: Callable[..., Any], is_broken: bool) -> None:
    def behind_a_break(thing: Thing) -> object:
        supple.graph_break()
        return program(thing)

    compiled = supple.compile(behind_a_break if is_broken else program, backend="eager")
    for _ in range(2):
        thing = Thing()
        reference = weakref.ref(thing)
        assert outcome(compiled, thing) == outcome(program, Thing())
        del thing
        assert reference() is None


REFUSED: dict[str, Callable[[torch.Tensor], object]] = {
    "a factor": lambda x: x.sub(x, alpha=1e300),
    "a factor of a write": lambda x: x.sub_(x, alpha=1e300),
    "a value": lambda x: torch.full((), 1e300),
    "a value of a write": lambda x: x.fill_(1e300),
    "a bound": lambda x: x.clamp(1e300),
    "types": lambda x: torch.heaviside(x, torch.tensor(3)),
    "types of a library call": lambda x: x.long() @ x,
    "sizes": lambda x: x * torch.ones(7),
    "sizes of parts": lambda x: torch.cat([x, torch.ones(2, 2)]),
    "sizes of a write": lambda x: x.add_(torch.ones(2, 3)),
    "a dimension": lambda x: x.sum(4),
    "an index": lambda x: x[9],
    "a shared element": lambda x: x[:1].expand(3).add_(1),
}


@pytest.mark.parametrize("is_broken", [False, True], ids=["", "broken"])
@pytest.mark.parametrize("name", REFUSED)
def test_the_arguments_of_a_call_end_with_it_where_an_operator_is_refused(name: str, is_broken: bool) -> None:
    def program(thing: Thing, x: torch.Tensor) -> object:
        if is_broken:
            supple.graph_break()
        return REFUSED[name](x)

    compiled = supple.compile(program, backend="eager")
    for _ in range(2):
        thing = Thing()
        reference = weakref.ref(thing)
        with pytest.raises((RuntimeError, IndexError)):
            compiled(thing, torch.ones(3))
        del thing
        assert reference() is None


REFUSED_BY_DATA: dict[str, Callable[[torch.Tensor], object]] = {
    "a place": lambda x: x[torch.tensor([9])],
    "a place behind a write": lambda x: x.add_(1)[torch.tensor([9])],
    "a row": lambda x: torch.nn.functional.embedding(torch.tensor([9]), x[None]),
    "a class": lambda x: torch.nn.functional.one_hot(x.long(), 1),
    "a matrix": lambda x: torch.linalg.cholesky(-torch.eye(2)),
    "bounds of random numbers": lambda x: torch.empty(3).uniform_(1, 0),
    "a probability": lambda x: torch.bernoulli(x + 1),
    "a deviation": lambda x: torch.empty(3).normal_(0, -1),
    "weights": lambda x: torch.multinomial(-x, 1),
    "a division": lambda x: x.long() // 0,
    "a truth": lambda x: torch._assert_async((x < 0).all()),
}


@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("is_caught", [False, True], ids=["", "caught"])
@pytest.mark.parametrize("name", REFUSED_BY_DATA)
def test_the_arguments_of_a_call_end_with_it_where_a_graph_raises(
    name: str, is_caught: bool, backend: str
) -> None:
    closed: list[int] = []

    def closing() -> Iterator[int]:
        try:
            yield 1
        finally:
            closed.append(1)

    def program(thing: Thing, x: torch.Tensor) -> object:
        suspended = closing()
        next(suspended)
        supple.graph_break()
        if not is_caught:
            return REFUSED_BY_DATA[name](x)
        try:
            return REFUSED_BY_DATA[name](x)
        except (RuntimeError, IndexError):
            return None

    compiled = supple.compile(program, backend=backend)
    for count in (1, 2):
        thing = Thing()
        reference = weakref.ref(thing)
        with contextlib.nullcontext() if is_caught else pytest.raises((RuntimeError, IndexError)):
            compiled(thing, torch.ones(3))
        del thing
        assert reference() is None
        assert len(closed) == count


@pytest.mark.parametrize("is_kept", [False, True], ids=["", "kept"])
def test_a_class_that_a_call_makes_ends_with_it(is_kept: bool) -> None:
    def program(thing: Thing) -> int:
        class Local:
            def go(self) -> Thing:
                return thing

            made = is_kept

        supple.graph_break()
        return 5

    compiled = supple.compile(program, backend="eager")
    for _ in range(4):
        thing = Thing()
        ended = weakref.ref(thing)
        assert compiled(thing) == 5
        del thing
        gc.collect()  # a class is in a cycle
        assert ended() is None


def test_an_exception_that_is_handled_holds_no_frame_that_handles_it() -> None:
    noted: weakref.WeakKeyDictionary[Thing, int] = weakref.WeakKeyDictionary()

    def program(thing: object) -> object:
        try:
            return thing.lacking  # type: ignore[attr-defined]
        except AttributeError as error:
            noted[Thing()] = 1
            return error

    compiled = supple.compile(program, backend="eager")
    for _ in range(2):
        error = compiled(3)
        assert isinstance(error, AttributeError)
        assert error.__traceback__ is not None
        assert not noted


def test_an_error_that_a_callee_handles_holds_nothing() -> None:
    def attempt(work: Callable[[], object]) -> object:
        try:
            return work()
        except TypeError:
            return None

    def program(thing: Any, table: Any) -> object:
        return attempt(lambda: dict(**table))

    compiled = supple.compile(program, backend="eager")
    for _ in range(2):
        thing = Thing()
        reference = weakref.ref(thing)
        compiled(thing, 1)
        del thing
        assert reference() is None


def referent() -> object:
    return weakref.ref(Thing())()


def in_a_comprehension() -> list[object]:
    return [weakref.ref(Thing())() for _ in range(2)]


def in_a_helper() -> list[object]:
    return [referent(), referent()]


def in_a_helper_of_a_helper() -> list[object]:
    return [*in_a_helper(), referent()]


def in_a_lambda() -> list[object]:
    return [(lambda: weakref.ref(Thing())())()]


@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize(
    "program",
    [in_a_comprehension, in_a_helper, in_a_helper_of_a_helper, in_a_lambda],
    ids=lambda p: p.__name__,
)
def test_what_an_instruction_of_an_inner_frame_takes_is_gone_behind_it(
    program: Callable[[], list[object]], backend: str
) -> None:
    run = supple.compile(lambda x: (x + 1, program()), backend=backend)
    for _ in range(3):
        assert set(run(torch.ones(2))[1]) == {None}

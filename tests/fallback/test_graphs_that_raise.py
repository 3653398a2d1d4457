"""A graph that raises for what tensors hold: every effect before the exception is there, none twice."""

import operator
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import supple
from supple import autograd
from supple.base.config import config
from supple.base.errors import TraceError
from supple.shapes import rules_library

Program = Callable[[torch.Tensor, torch.Tensor, torch.Tensor, list[str]], torch.Tensor]


def written_first(state: torch.Tensor, x: torch.Tensor, at: torch.Tensor, log: list[str]) -> torch.Tensor:
    log.append("begun")
    state.add_(1)
    x.mul_(state)
    return x[at]


def written_behind_views(
    state: torch.Tensor, x: torch.Tensor, at: torch.Tensor, log: list[str]
) -> torch.Tensor:
    log.append("begun")
    state[1:].mul_(2)
    state.data.add_(1)
    return torch.gather(x, 0, at)


def written_between(state: torch.Tensor, x: torch.Tensor, at: torch.Tensor, log: list[str]) -> torch.Tensor:
    first = x[at - 5]
    state.sub_(first.sum())
    log.append("between")
    state[at] = 0
    return state


def written_and_drawn(state: torch.Tensor, x: torch.Tensor, at: torch.Tensor, log: list[str]) -> torch.Tensor:
    log.append("drawn")
    state.uniform_()
    x.add_(torch.rand(3))
    return x.index_select(0, at)


def caught(state: torch.Tensor, x: torch.Tensor, at: torch.Tensor, log: list[str]) -> torch.Tensor:
    try:
        state.add_(1)
        log.append("tried")
        return x[at]
    except IndexError as error:
        log.append(str(error))
        return state * 2


def indexed_by_numbers(
    state: torch.Tensor, x: torch.Tensor, at: torch.Tensor, log: list[str]
) -> torch.Tensor:
    try:
        log.append("begun")
        state.add_(1)
        log.append("added")
        return x[[0, 4]]
    except IndexError:
        return state[:, None] * 2


def turned(state: torch.Tensor, x: torch.Tensor, at: torch.Tensor, log: list[str]) -> torch.Tensor:
    try:
        state.unsqueeze_(0)
        state.t_()
        log.append("turned")
        return x[at]
    except IndexError:
        return state * 2


def beyond(state: torch.Tensor, x: torch.Tensor, at: torch.Tensor, log: list[str]) -> torch.Tensor:
    try:
        state.reshape(-1)[:1].as_strided((2,), (1,)).add_(1)
        log.append("written")
        return x[at]
    except IndexError:
        return state * 2


def while_another_is_handled(
    state: torch.Tensor, x: torch.Tensor, at: torch.Tensor, log: list[str]
) -> torch.Tensor:
    try:
        raise KeyError(3)  # noqa: TRY301  # that is what is tested
    except KeyError:
        state.add_(1)
        return x[at]


def at_a_number(state: torch.Tensor, x: torch.Tensor, at: torch.Tensor, log: list[str]) -> torch.Tensor:
    state.add_(1)
    return x[int(at)] + 1


def written_by_element(
    state: torch.Tensor, x: torch.Tensor, at: torch.Tensor, log: list[str]
) -> torch.Tensor:
    try:
        state[0].add_(1)
        state[..., -1].mul_(3)
        return x[at]
    finally:
        log.append("left")


def set_to_the_other(state: torch.Tensor, x: torch.Tensor, at: torch.Tensor, log: list[str]) -> torch.Tensor:
    state.set_(x[1:])
    log.append("set")
    return x[at]


def set_and_written(state: torch.Tensor, x: torch.Tensor, at: torch.Tensor, log: list[str]) -> torch.Tensor:
    try:
        state.add_(1)
        state.set_(x)
        log.append("set")
        state.add_(1)
        return x[at]
    except IndexError:
        return state * 2


def set_to_what_is_made(
    state: torch.Tensor, x: torch.Tensor, at: torch.Tensor, log: list[str]
) -> torch.Tensor:
    state.mul_(2)
    state.set_(torch.ones(4))
    log.append("set")
    state.add_(1)
    return x[at]


PROGRAMS: tuple[Program, ...] = (
    *(set_to_the_other, set_and_written, set_to_what_is_made),
    written_by_element,
    *(written_first, written_behind_views, written_between, written_and_drawn, caught),
    *(indexed_by_numbers, turned, at_a_number, beyond),
    while_another_is_handled,
)
SHARED: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "nothing": torch.ones_like,
    "nothing, in a part": lambda _: torch.ones(5)[1:3],
    "all": lambda x: x,
    "memory": lambda x: x.detach(),
    "a part": lambda x: x[:2],
    "an element": lambda x: x[1],
    "an element many times": lambda x: x[1].expand(3),
    "rows many times": lambda x: x.expand(2, 3),
    "overlapping windows": lambda x: x.as_strided((2, 2), (1, 1)),
}


@pytest.mark.sweep
@pytest.mark.parametrize("backend", ["eager", "aot_eager", "native"])
@pytest.mark.parametrize("shared", SHARED)
@pytest.mark.parametrize("program", PROGRAMS)
def test_effects_before_the_exception_are_as_eager(program: Program, shared: str, backend: str) -> None:
    # X-PY02, X-CTL09
    compiled: Program = supple.compile(program, backend=backend)
    with supple.config.patch(suppress_errors=False):
        for place in (2, 5, 7):
            seen: list[Any] = []
            for run in (program, compiled):
                x, log = torch.arange(3.0), ["called"]
                state = SHARED[shared](x)
                torch.manual_seed(0)
                result: Any
                try:
                    result = run(state, x, torch.tensor([place]), log)
                except (IndexError, RuntimeError) as error:
                    result = f"{error} while {error.__context__!r} was handled"
                seen.append([result, state, x, log, torch.rand(1)])
            want, got = seen
            assert want[0] == got[0] if isinstance(want[0], str) else torch.equal(want[0], got[0])
            assert want[3] == got[3]
            torch.testing.assert_close(got[1:3] + got[4:], want[1:3] + want[4:])
            assert got[1].stride() == want[1].stride()


BEYOND: dict[str, Callable[[torch.Tensor, torch.Tensor, int], object]] = {
    "a number": lambda x, y, n: (x.add_(2), y.add_(n)),
    "a product": lambda x, y, n: (x.add_(2), y.mul_(n * 3)),
    "a number that is filled in": lambda x, y, n: (x.mul_(3), y.fill_(n)),
    "a number for a result": lambda x, y, n: (x.mul_(3), y + n),
    "three writes": lambda x, y, n: (x.mul_(3), y.sub_(x.sum()), y.clamp_(0, n)),
    "a product that is filled in": lambda x, y, n: (x.mul_(3), y.fill_(n * 2**32)),
    "a power of a size": lambda x, y, n: (x.mul_(3), y.fill_((x.shape[0] + 2) ** (n % 29))),
    "a remainder": lambda x, y, n: (x.mul_(3), y.fill_(n * n % 2**80)),
    "a very long number": lambda x, y, n: (x.mul_(3), y.fill_((2**2**15) ** (n % 3))),
    "a later result": lambda x, y, n: (x.mul_(3), x + y * (n * n)),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("is_caught", [False, True])
@pytest.mark.parametrize("backend", ["eager", "aot_eager", "native"])
@pytest.mark.parametrize("are_one", [False, True])
@pytest.mark.parametrize("name", BEYOND)
def test_a_number_of_more_than_64_bits_leaves_the_writes_before_it(
    name: str, are_one: bool, backend: str, is_caught: bool
) -> None:
    work = BEYOND[name]

    def program(x: torch.Tensor, y: torch.Tensor, n: int) -> object:
        if not is_caught:
            return work(x, y, n)
        try:
            return work(x, y, n)
        except (OverflowError, RuntimeError) as error:
            return f"caught: {error}"

    compiled = supple.compile(program, backend=backend, dynamic=True)
    for n in (3, 5, 2**40, 2**62, -(2**62), 28, 2**63, -(2**64), 2**70):
        seen: list[Any] = []
        for run in (program, compiled):
            x = torch.ones(3)
            y = x[:2] if are_one else torch.ones(2)
            try:
                result: object = str(run(x, y, n))
            except (OverflowError, RuntimeError) as error:
                result = str(error)
            seen.append([result, x.tolist(), y.tolist()])
        assert seen[1] == seen[0], n


def divided_late(x: torch.Tensor, number: float) -> torch.Tensor:
    made = torch.nn.functional.celu(x, number)
    return torch.nan_to_num(x, nan=number) + made


def divided_early(x: torch.Tensor, number: float) -> torch.Tensor:
    made = torch.nan_to_num(x, nan=number)
    return torch.nn.functional.celu(x, number) + made


def added_late(x: torch.Tensor, number: int) -> object:
    x.add_(2)
    x.add_(number * 3)
    return pow(number, 2), x


def added_early(x: torch.Tensor, number: int) -> object:
    found = pow(number, 2)
    x.add_(2)
    x.add_(number * 3)
    return found, x


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "native"])
@pytest.mark.parametrize("is_caught", [False, True])
@pytest.mark.parametrize("work", [divided_late, divided_early, added_late, added_early])
def test_numbers_that_are_fixed_after_an_operator_took_them(
    work: Callable[[torch.Tensor, Any], object], is_caught: bool, backend: str
) -> None:
    def program(x: torch.Tensor, number: Any) -> object:
        if not is_caught:
            return work(x, number)
        try:
            return work(x, number)
        except (OverflowError, RuntimeError) as error:
            return str(error)

    numbers = (0.0, 0.5, 0.0) if work.__name__.startswith("divided") else (-(2**63), 3, 2**62, -(2**63))
    for first in (numbers, numbers[1:]):
        compiled = supple.compile(program, backend=backend, dynamic=True)
        with supple.config.patch(suppress_errors=False):
            for number in first:
                seen: list[Any] = []
                for run in (program, compiled):
                    x = torch.ones(3)
                    try:
                        seen.append((str(run(x, number)), x.tolist()))
                    except (OverflowError, RuntimeError) as error:
                        seen.append((str(error), x.tolist()))
                assert seen[1] == seen[0], number


def test_a_graph_that_is_refused_for_an_error_must_raise_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise autograd.Raises("aten.add", RuntimeError("as in a wrong rule"))

    def program(x: torch.Tensor) -> object:
        try:
            return x + 1
        except RuntimeError:
            return None

    monkeypatch.setattr(autograd, "split", refuse)
    x = torch.ones(3)
    found = supple.compile(program, backend="native")(x)
    assert isinstance(found, torch.Tensor)
    assert torch.equal(found, x + 1)
    assert "as in a wrong rule" in str(supple.stats()["refusals"])
    supple.reset()
    with supple.config.patch(suppress_errors=False), pytest.raises(TraceError, match="as in a wrong rule"):
        supple.compile(program, backend="native")(x)


def test_set_of_a_turned_input_is_left_to_the_run() -> None:
    def program(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x[..., ::2] *= 2
        x.unsqueeze_(0)
        y.unsqueeze_(0)
        made = torch.ones(y.shape)
        made.set_(y)
        return made + x

    compiled = supple.compile(program, backend="native", dynamic=True)
    with supple.config.patch(suppress_errors=False):
        for size in (0, 3):
            seen: list[Any] = []
            for run in (program, compiled):
                x = torch.arange(float(size))
                seen.append((run(x, x), x))
            torch.testing.assert_close(seen[1], seen[0])


def test_a_long_number_that_is_fixed_later_is_undone() -> None:
    def program(x: torch.Tensor, number: int) -> object:
        y = torch.ones(3)
        try:
            x.add_(2)
            y.add_(number * 3)
        except (OverflowError, RuntimeError):
            return 1 & number
        return 2 if 1 & number else y

    for backend in ("eager", "native"):
        compiled = supple.compile(program, backend=backend, dynamic=True)
        with supple.config.patch(suppress_errors=False):
            for number in (-(2**63), 5, 2**63, -(2**63)):
                x, want = torch.ones(2), torch.ones(2)
                assert compiled(x, number) == program(want, number)
                assert torch.equal(x, want)


@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("view", [lambda x: x[1], lambda x: x.view(-1), lambda x: x.detach()])
def test_a_view_of_what_gains_a_history_is_undone(
    view: Callable[[torch.Tensor], torch.Tensor], backend: str
) -> None:
    def program(x: torch.Tensor, y: torch.Tensor, w: torch.Tensor, at: torch.Tensor) -> object:
        x.mul_(w)
        # Torch takes a view for a leaf until somebody, a guard for one, asks for its place in autograd.
        assert y.is_leaf is not y.requires_grad
        try:
            y.add_(1)
            return w[at]
        finally:
            if int(at) > 5:
                raise ValueError("another")

    compiled = supple.compile(program, backend=backend)
    with supple.config.patch(suppress_errors=False):
        for place in (1, 4, 7):
            seen: list[Any] = []
            for run in (program, compiled):
                x, w = torch.ones(3), torch.arange(3.0).requires_grad_()
                try:
                    result = run(x, view(x), w, torch.tensor([place]))
                except (IndexError, ValueError, RuntimeError) as error:
                    result = torch.tensor(len(str(error)) + 100 * isinstance(error, ValueError))
                seen.append((result, x, x.requires_grad))
            torch.testing.assert_close(seen[1], seen[0])


IN_PARTS: dict[str, Callable[[torch.Tensor, torch.Tensor], object]] = {
    "index_fill": lambda x, at: x.index_fill_(0, at, 2.0),
    "index_copy": lambda x, at: x.index_copy_(0, at, torch.full(at.shape, 2.0)),
    "index_add": lambda x, at: x.index_add_(0, at, torch.full(at.shape, 2.0)),
    "index_put": lambda x, at: x.index_put_((at,), torch.tensor(2.0)),
    "put": lambda x, at: x.put_(at, torch.full(at.shape, 2.0)),
    "scatter": lambda x, at: x.scatter_(0, at, 2.0),
    "masked_scatter": lambda x, at: x.masked_scatter_(at < 9, torch.ones(1)),
    "fill": lambda x, at: x.fill_(at.max()),
}
HIDING: dict[str, Callable[[torch.Tensor], object]] = {
    "nothing": lambda y: y + 1,
    "detach": lambda y: y.detach(),
    "data": lambda y: y.data,
    "an array": lambda y: y.detach().numpy(),
}


@pytest.mark.sweep
@pytest.mark.parametrize("backend", ["eager", "aot_eager", "native"])
@pytest.mark.parametrize("hiding", HIDING)
@pytest.mark.parametrize("name", IN_PARTS)
def test_what_an_operator_wrote_before_it_raised_is_there(name: str, hiding: str, backend: str) -> None:
    def program(x: torch.Tensor, at: torch.Tensor, y: torch.Tensor) -> object:
        IN_PARTS[name](x, at)
        return HIDING[hiding](y)

    for state in (torch.ones(3), torch.ones(3)[1], torch.ones(5)[::2]):
        compiled = supple.compile(program, backend=backend)
        for places in ([0, 1], [0, 9], [9], [0]):
            seen: list[object] = []
            for run in (program, compiled):
                x, raised = state.clone(), ""
                try:
                    run(x, torch.tensor(places), torch.ones(2))
                except (IndexError, RuntimeError) as error:
                    raised = str(error)
                seen.append([raised, x.tolist()])
            assert seen[1] == seen[0], (places, state)


EARLY: dict[str, Callable[[torch.Tensor], object]] = {
    "a list of places": lambda at: torch.ones(2)[[3]],
    "a tensor of places": lambda at: torch.ones(2)[at],
    "an inverse": lambda at: torch.linalg.inv(torch.zeros(2, 2)),
    "a long number": lambda at: at + 2**70,
    "a size": lambda at: torch.zeros(-int(at)),
}


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "native"])
@pytest.mark.parametrize("hiding", HIDING)
@pytest.mark.parametrize("name", EARLY)
def test_what_raises_before_all_writes_is_caught(name: str, hiding: str, backend: str) -> None:
    def program(x: torch.Tensor, at: torch.Tensor, y: torch.Tensor, told: list[object]) -> object:
        try:
            told.append(EARLY[name](at))
        except (RuntimeError, IndexError, OverflowError) as error:
            told.append(type(error).__name__)
        x.add_(1)
        return HIDING[hiding](y)

    for is_one in (False, True):
        compiled = supple.compile(program, backend=backend)
        seen: list[object] = []
        for run in (program, compiled):
            x, told = torch.ones(2), []
            run(x, torch.tensor([3]), x if is_one else torch.ones(2), told)
            seen.append([told, x.tolist()])
        assert seen[1] == seen[0]


IN_PLACE: dict[str, Callable[[torch.Tensor], object]] = {
    "a method": lambda y: y.relu_(),
    "a function": torch.relu_,
    "a function for neural networks": F.relu_,
    "an argument": lambda y: F.relu(y, inplace=True),
    "an argument without a name": lambda y: F.dropout(y, 0.5, True, True),
    "an operator": torch.ops.aten.relu_.default,
    "arithmetic": lambda y: operator.iadd(y, 1),
    "an element": lambda y: operator.setitem(y, 0, 1.0),
}


@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("name", IN_PLACE)
def test_writes_to_what_the_program_made_are_no_effects(name: str, backend: str) -> None:
    def program(x: torch.Tensor) -> None:
        y = x[x > 0]
        IN_PLACE[name](y)
        torch.ones(3)[[0]] = y

    with pytest.raises(RuntimeError) as wanted:
        program(torch.ones(3))
    with config.patch(suppress_errors=False), pytest.raises(RuntimeError) as found:
        supple.compile(program, backend=backend)(torch.ones(3))
    assert str(found.value) == str(wanted.value)


def test_what_no_rule_knows_is_not_answered_by_a_second_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel has written by then: the program would meet its own write."""
    monkeypatch.setattr(rules_library, "_check_convolution", lambda *args, **named: None)

    def program(w: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        if w.sum() > 100:
            raise ValueError("written twice")
        w.data.mul_(100)
        return F.conv2d(x, weight)

    for backend in ("eager", "native"):
        w = torch.ones(2)
        with pytest.raises(RuntimeError, match="at least 1 at dimension 0"):
            supple.compile(program, backend=backend)(w, torch.ones(0, 3, 4, 4), torch.ones(0, 3, 3, 3))
        assert w.tolist() == [100.0, 100.0]

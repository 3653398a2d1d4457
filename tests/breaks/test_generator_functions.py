"""Compiled generator functions: the frame is compiled from one `yield` to the next."""

from typing import Any

import pytest
import torch

import supple

X = torch.arange(4.0)
NEXT = ("__next__",)


def loop(x, count=3):
    for _ in range(count):
        x = x * 2 + 1
        yield x
    return x.sum()


def answers(x):
    log = []
    try:
        y = yield x + 1
        log.append(y)
        z = yield x * y
    except ValueError as error:
        log.append(str(error))
        z = yield log
    finally:
        log.append("finally")
        print("finally", len(log))
    return log, z


def last(x):
    kept = [x + 1]
    try:
        return (yield x * 3)
    except KeyError:
        return kept
    finally:
        print("closed")


def closure(x):
    def scaled(factor):
        return x * factor

    for factor in range(2):
        yield scaled(factor)
    x = x + 5
    yield scaled(1)


def inside_a_handler(x):
    try:
        try:
            x = x / (1 // 0)
        except ZeroDivisionError:
            yield x * 2
            raise
    except ZeroDivisionError as error:
        yield x * 3, error.__context__


def stops(x):
    yield x
    raise StopIteration(3)


def recursive(x):
    yield loop(x, 1)
    return recursive(x)


PROGRAMS = [
    (loop, [NEXT] * 5),
    (loop, [NEXT, ("close",), NEXT]),
    (answers, [NEXT, ("send", 2), ("send", 3)]),
    (answers, [NEXT, ("throw", ValueError("x")), NEXT]),
    (answers, [NEXT, ("throw", KeyError("x")), NEXT]),
    (answers, [NEXT, ("close",)]),
    (answers, [("send", 2), ("throw", KeyError("x")), NEXT]),
    (last, [NEXT, ("close",)]),
    (last, [NEXT, ("throw", KeyError(3))]),
    (last, [NEXT, ("send", 3)]),
    (closure, [NEXT] * 4),
    (inside_a_handler, [NEXT] * 3),
    (inside_a_handler, [NEXT, ("throw", KeyError(3))]),
    (stops, [NEXT] * 2),
    (recursive, [NEXT] * 2),
]


def outcome(made: Any, actions: list[Any]) -> list[object]:
    found: list[object] = [made.__name__, type(made)]
    for name, *args in actions:
        try:
            found.append(getattr(made, name)(*args))
        except Exception as error:
            found.append((type(error), error.args, type(error.__context__)))
    return [str(one).partition(" object ")[0] for one in found]


@pytest.mark.parametrize("break_at", [0, *range(3, 40, 4)])
@pytest.mark.parametrize(("function", "actions"), PROGRAMS)
def test_as_eager_wherever_it_breaks(function: Any, actions: list[Any], break_at: int, capsys: Any) -> None:
    compiled: Any = supple.compile(function, backend="eager", options={"break_at": break_at})
    found = [(outcome(made(X), actions), capsys.readouterr().out) for made in (function, compiled, compiled)]
    assert found[0] == found[1] == found[2]


def test_arguments_that_do_not_fit_are_found_at_the_call() -> None:
    compiled: Any = supple.compile(loop, backend="eager")
    with pytest.raises(TypeError, match="takes from 1 to 2 positional arguments"):
        compiled(1, 2, 3)


def test_nothing_runs_before_the_first_item() -> None:
    compiled: Any = supple.compile(loop, backend="eager")
    compiled(X)
    assert supple.stats()["graphs"] == 0


def test_what_runs_between_two_items_is_one_graph() -> None:
    compiled: Any = supple.compile(loop, backend="eager")
    assert [float(item.sum()) for item in compiled(X, 30)] == [float(item.sum()) for item in loop(X, 30)]
    assert supple.stats()["graphs"] in (3, 4)


def test_changed_defaults_are_seen() -> None:
    def count(n=3):
        yield from_one + n

    compiled: Any = supple.compile(count, backend="eager")
    assert list(compiled()) == [4]
    count.__defaults__ = (1,)
    assert list(compiled()) == [2]


from_one = 1

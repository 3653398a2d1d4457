"""Loops, branches, exceptions, with blocks, match statements.

PYTEST_DONT_REWRITE: `assert` is a subject.
"""

import contextlib

import pytest
import torch

from tests.semantics.harness import Corpus

case = Corpus()
X = torch.arange(4.0)
log: list[object] = []


class Failure(Exception):
    def __init__(self, code, detail="none"):
        super().__init__(code)
        self.code = code
        self.detail = detail

    def __str__(self):
        return f"failure {self.code}"


class Manager:
    def __init__(self, is_suppressing=False):
        self.events = []
        self.is_suppressing = is_suppressing

    def __enter__(self):
        self.events.append("enter")
        return self

    def __exit__(self, kind, value, traceback):
        self.events.append(("exit", kind, traceback is None and value is None))
        return self.is_suppressing


@contextlib.contextmanager
def noted(events, name):
    events.append(f"enter {name}")
    try:
        yield name
    finally:
        events.append(f"exit {name}")


@contextlib.contextmanager
def swallowing(kind):
    try:
        yield
    except kind:
        pass


class Shape:
    __match_args__ = ("width", "height")

    def __init__(self, width, height):
        self.width = width
        self.height = height


@case(X)
def for_with_break_and_else(x):
    found = []
    for limit in (2, 9):
        for i in range(5):
            if i == limit:
                found.append(("broke", i))
                break
            if i % 2:
                continue
        else:
            found.append("done")
    return found, x


@case(X, 3, changed=((X, 5), (X, 0)))
def while_loop(x, n):
    steps = 0
    while n > 0:
        x = x + n
        n -= 1
        steps += 1
    else:
        steps += 100
    return x, steps


@case(X)
def while_true_with_return_in_loop(x):
    i = 0
    while True:
        i += 1
        if i > 4:
            return x * i


@case(X)
def loop_variable_outlives_the_loop(x):
    for i in range(3):
        y = x + i
    return i, y


@case(X)
def try_except_else_finally(x):
    events = []
    for trial in range(3):
        try:
            events.append("try")
            if trial == 1:
                raise ValueError("one")
            if trial == 2:
                raise KeyError("two")
        except ValueError as error:
            events.append(("value", error.args))
        except (KeyError, IndexError) as error:
            events.append(("key", str(error)))
        else:
            events.append("else")
        finally:
            events.append("finally")
    return events, x


@case(X)
def finally_runs_on_return(x):
    events = []

    def f():
        try:
            return x + 1
        finally:
            events.append("finally")

    return f(), events


@case(X)
def finally_overrides_return(x):
    def f():
        for _ in range(2):
            try:
                return 1
            finally:
                break
        return 2

    return f(), x


@case(X)
def nested_handlers_restore_the_outer_exception(x):
    events = []
    try:
        try:
            raise ValueError("inner")
        except ValueError as inner:
            try:
                raise KeyError("second")
            except KeyError as second:
                events.append(second.__context__ is inner)
            raise
    except ValueError as outer:
        events.append(outer.args)
    return events, x


@case(X)
def custom_exception_attributes(x):
    try:
        raise Failure(3, detail="bad")
    except Failure as failure:
        return failure.code, failure.detail, str(failure), failure.args, isinstance(failure, Exception), x


@case(X)
def chained_exceptions(x):
    try:
        try:
            raise ValueError("a")
        except ValueError as error:
            raise Failure(1) from error
    except Failure as failure:
        return type(failure.__cause__) is ValueError, failure.__cause__.args, failure.__suppress_context__


@case(X)
def raise_from_none(x):
    try:
        try:
            raise ValueError("a")
        except ValueError:
            raise KeyError("b") from None
    except KeyError as error:
        return error.__cause__, error.__suppress_context__, type(error.__context__) is ValueError, x


@case(X)
def exception_name_is_deleted(x):
    error = 1
    try:
        raise ValueError
    except ValueError:
        pass
    try:
        return error
    except UnboundLocalError:
        return x


@case(X)
def exception_through_frames(x):
    def inner():
        raise LookupError("deep")

    def outer():
        inner()

    try:
        outer()
    except LookupError as error:
        return str(error), x


@case(X)
def assert_with_message(x):
    try:
        assert x.shape[0] == 5, f"size {x.shape[0]}"
    except AssertionError as error:
        return str(error), x


@case(X)
def exception_is_returned(x):
    try:
        raise Failure(7)
    except Failure as failure:
        return failure.code, x
    return None


@case(X)
def zero_division_is_caught(x):
    try:
        return 1 // 0
    except ZeroDivisionError as error:
        return str(error), x


@case(X)
def stop_iteration_value(x):
    def generator():
        yield 1
        return "result"

    running = generator()
    next(running)
    try:
        next(running)
    except StopIteration as stop:
        return stop.value, x


@case(X)
def with_class_manager(x):
    manager = Manager()
    with manager as entered:
        same = entered is manager
        y = x + 1
    return y, same, manager.events


@case(X)
def with_suppressing_manager(x):
    manager = Manager(is_suppressing=True)
    with manager:
        raise ValueError("gone")
    return x, manager.events


@case(X)
def with_non_suppressing_manager(x):
    manager = Manager()
    try:
        with manager:
            raise ValueError("stays")
    except ValueError as error:
        return str(error), manager.events, x


@case(X)
def with_contextmanager(x):
    events = []
    with noted(events, "a") as name, noted(events, "b"):
        events.append(name)
        y = x * 2
    return y, events


@case(X)
def contextmanager_exits_on_exception(x):
    events = []
    try:
        with noted(events, "a"):
            raise KeyError("k")
    except KeyError:
        events.append("caught")
    return events, x


@case(X)
def contextmanager_suppresses(x):
    with swallowing(ValueError):
        raise ValueError
    with contextlib.suppress(KeyError, IndexError):
        return [][1]
    return x


@case(X)
def return_inside_with(x):
    events = []

    def f():
        with noted(events, "a"):
            return x + 1

    return f(), events


@case(X)
def break_and_continue_inside_with(x):
    events = []
    for i in range(4):
        with noted(events, i):
            if i == 1:
                continue
            if i == 2:
                break
    return events, x


@case(X)
def nullcontext_and_exit_stack(x):
    events = []
    with contextlib.nullcontext(5) as n:
        y = x * n
    with contextlib.ExitStack() as stack:
        stack.enter_context(noted(events, "a"))
        stack.callback(events.append, "callback")
    return y, events


@case(X)
def contextmanager_as_decorator(x):
    events = []

    @noted(events, "d")
    def f(y):
        return y + 1

    return f(x), f(x), events


@case(
    X, 1, changed=((X, 2), (X, "a"), (X, [1, 2]), (X, [1, 5, 6]), (X, {"k": 3}), (X, Shape(1, 2)), (X, None))
)
def match_statement(x, value):
    match value:
        case 1 | 3:
            return "one or three"
        case int(n) if n > 1:
            return x * n
        case str() as text:
            return text
        case [1, second]:
            return second
        case [first, *rest]:
            return first, rest
        case {"k": found, **others}:
            return found, others
        case Shape(width, height=h):
            return width, h
        case _:
            return "other"


@case(X)
def match_on_constants_and_tuples(x):
    results = []
    for item in [(0, 0), (0, 2), (3, 0), (1, 1), None, True, "s", b"b", 2.5, [], (), {}]:
        match item:
            case (0, 0):
                results.append("origin")
            case (0, y):
                results.append(("y", y))
            case (a, 0):
                results.append(("x", a))
            case None | True:
                results.append("singleton")
            case str(text) | bytes(text):
                results.append(text)
            case []:
                results.append("empty")
            case {}:
                results.append("mapping")
            case _:
                results.append("other")
    return results, x


@case(X)
def generator_with_context_manager(x):
    events = []

    def produce():
        with noted(events, "g"):
            yield 1
            yield 2

    return list(produce()), events, x


@case(X)
def early_return_from_nested_loops(x):
    for i in range(3):
        for j in range(3):
            if i * j == 2:
                return x + i, j


@case(X, True, changed=((X, False), (X, 1), (X, 0)))
def branch_on_an_argument(x, flag):
    if flag is True:
        return x
    return -x if flag else x * 2


@case(X, None, changed=((X, X),))
def optional_tensor_argument(x, bias):
    if bias is not None:
        x = x + bias
    return x


@case(X)
def raised_and_logged_order(x):
    events = []
    try:
        events.append(1)
        raise ValueError(events)
    except ValueError as error:
        error.args[0].append(2)
    return events, x


@case(X)
def try_inside_loop_with_continue(x):
    total = 0
    for value in ("1", "a", "2"):
        try:
            total += int(value)
        except ValueError:
            continue
        finally:
            total += 10
    return total, x


@pytest.mark.parametrize("one", case.cases, ids=str)
def test_captured_like_eager(one):
    one.check()

"""Loops, branches, exceptions, with blocks, match statements, generators.

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
def generator_as_iterable(x):
    def produce(n):
        for i in range(n):
            yield x * i

    return [y + 1 for y in produce(3)], sum(produce(3)), dict(zip("ab", produce(2), strict=True))


@case(X)
def generator_interleaves_with_its_consumer(x):
    events = []

    def produce():
        for i in range(3):
            events.append(("yield", i))
            yield i
        events.append("end")

    for item in produce():
        events.append(("got", item))
        if item == 1:
            break
    return events, x


@case(X)
def generator_send(x):
    def accumulate():
        total = 0
        while True:
            received = yield total
            total = total + received

    running = accumulate()
    next(running)
    return running.send(x), running.send(1), running.send(2)


@case(X)
def generator_throw_is_handled(x):
    def produce():
        try:
            yield 1
        except ValueError as error:
            yield str(error)

    running = produce()
    return next(running), running.throw(ValueError("thrown")), list(running), x


@case(X)
def generator_close_runs_finally(x):
    events = []

    def produce():
        try:
            yield 1
            yield 2
        finally:
            events.append("closed")

    running = produce()
    next(running)
    running.close()
    return events, list(running), x


@case(X)
def yield_from_delegates(x):
    def inner():
        got = yield 1
        yield ("inner", got)
        return "done"

    def outer():
        result = yield from inner()
        yield result
        yield from [x, 2]

    running = outer()
    return next(running), running.send("hello"), list(running)


@case(X)
def generator_expression_is_lazy(x):
    events = []

    def note(i):
        events.append(i)
        return i

    running = (note(i) for i in range(3))
    first = next(running)
    seen = list(events)
    return first, seen, list(running), events, x


@case(X)
def generator_return_leaves_the_loop(x):
    def produce():
        yield 1
        return
        yield 2

    return list(produce()), x


@case(X)
def stop_iteration_inside_a_generator_is_a_runtime_error(x):
    def produce():
        yield 1
        raise StopIteration

    try:
        return list(produce())
    except RuntimeError as error:
        return str(error), x


@case(X)
def generator_with_context_manager(x):
    events = []

    def produce():
        with noted(events, "g"):
            yield 1
            yield 2

    return list(produce()), events, x


@case(X)
def iterator_class(x):
    class_events = []

    def countdown(n):
        while n:
            yield n
            n -= 1

    class_events.extend(countdown(3))
    return class_events, x


class Countdown:
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return self

    def __next__(self):
        if self.n == 0:
            raise StopIteration
        self.n -= 1
        return self.n


@case(X)
def user_iterator(x):
    countdown = Countdown(3)
    return list(countdown), next(countdown, "end"), [x * i for i in Countdown(2)], max(Countdown(4))


class ByIndex:
    def __getitem__(self, index):
        if index > 2:
            raise IndexError(index)
        return index * 10

    def __len__(self):
        return 3


@case(X)
def iteration_by_index(x):
    items = ByIndex()
    return list(items), 10 in items, len(items), list(reversed(items)), x


@case(X)
def iter_with_sentinel(x):
    items = [3, 2, 1]
    return list(iter(items.pop, 3)), x


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


def squares(x):
    for i in range(2):
        yield x * i


@case(X)
def generator_is_returned(x):
    return squares(x)


@case(X)
def started_generator_is_returned(x):
    made = squares(x)
    return next(made), made


@pytest.mark.parametrize("one", case.cases, ids=str)
def test_captured_like_eager(one):
    one.check()

"""`with` blocks: order, exceptions, contextlib."""

import contextlib

import pytest
import torch

from tests.semantics.harness import Corpus

case = Corpus()
X = torch.arange(4.0)


class Manager:
    def __init__(self, log, name, swallow=()):
        self.log, self.name, self.swallow = log, name, swallow

    def __enter__(self):
        self.log.append(f"enter {self.name}")
        return self

    def __exit__(self, kind, error, trace):
        self.log.append(f"exit {self.name} {kind.__name__ if kind else None} {error}")
        return bool(kind and issubclass(kind, self.swallow))


@case(X)
def managers_nest_and_exit_in_reverse(x):
    log = []
    with Manager(log, "a") as a, Manager(log, "b"):
        log.append(a.name)
        x = x + 1
    return x, log


@case(X)
def parenthesised_managers(x):
    log = []
    with (
        Manager(log, "a"),
        Manager(log, "b", ValueError),
    ):
        raise ValueError("v")
    return log, x


@case(X)
def inner_manager_swallows(x):
    log = []
    with Manager(log, "outer"):
        with Manager(log, "inner", KeyError):
            raise KeyError("k")
        log.append("between")
    return log, x


@case(X, breaks="B121")
def exit_that_raises_replaces(x):
    class Raising(Manager):
        def __exit__(self, *args):
            raise ValueError("from exit")

    try:
        with Raising([], "r"):
            raise KeyError("body")
    except ValueError as error:
        return str(error), repr(error.__context__), x


@case(X, breaks="B121")
def enter_that_raises_does_not_exit(x):
    log = []

    class Raising(Manager):
        def __enter__(self):
            raise ValueError("from enter")

    try:
        with Manager(log, "outer"), Raising(log, "inner"):
            log.append("never")
    except ValueError:
        return log, x


@case(X)
def return_value_is_computed_before_exit(x):
    log = []

    def inner():
        with Manager(log, "m"):
            return log[:], x + 1

    return inner(), log


@case(X)
def loop_control_leaves_the_manager(x):
    log = []
    for i in range(3):
        with Manager(log, i):
            if i == 0:
                continue
            if i == 1:
                break
    return log, x


@contextlib.contextmanager
def scaled(log, factor):
    log.append("in")
    try:
        yield factor * 2
    except LookupError as error:
        log.append(repr(error))
    else:
        log.append("fine")
    finally:
        log.append("out")


@case(X)
def contextmanager_in_all_its_ways(x):
    log = []
    with scaled(log, 2) as factor:
        x = x * factor
    with scaled(log, 1):
        raise IndexError("i")
    return x, log


@case(X)
def contextmanager_does_not_swallow_others(x):
    log = []
    try:
        with scaled(log, 1):
            raise ValueError("v")
    except ValueError as error:
        return log, str(error), x


@contextlib.contextmanager
def twice_yielding():
    yield 1
    yield 2


@contextlib.contextmanager
def never_yielding():
    if False:
        yield


@case(X)
def contextmanager_must_yield_once(x):
    found = []
    for make in (twice_yielding, never_yielding):
        try:
            with make():
                pass
        except RuntimeError as error:
            found.append(str(error))
    return found, x


@case(X)
def exit_stack_unwinds_in_reverse(x):
    log = []
    with contextlib.ExitStack() as stack:
        for name in "ab":
            stack.enter_context(Manager(log, name))
        stack.callback(log.append, "callback")
        stack.push(lambda *args: log.append(args[0]))
        x = x + 1
    return x, log


@case(X)
def exit_stack_swallows(x):
    log = []
    with contextlib.ExitStack() as stack:
        stack.enter_context(Manager(log, "outer", ValueError))
        stack.enter_context(Manager(log, "inner"))
        raise ValueError("v")
    return log, x


@case(X)
def exit_stack_pop_all(x):
    log = []
    with contextlib.ExitStack() as stack:
        stack.enter_context(Manager(log, "kept"))
        kept = stack.pop_all()
    log.append("after")
    kept.close()
    return log, x


class Closable:
    def __init__(self, log):
        self.log = log

    def close(self):
        self.log.append("closed")


@case(X)
def closing_closes(x):
    log = []
    with contextlib.closing(Closable(log)) as thing:
        log.append(thing.log is log)
    return log, x


@case(X)
def suppress_several(x):
    log = []
    with contextlib.suppress(KeyError, IndexError):
        log.append(1)
        {}["a"]
    with contextlib.suppress():
        log.append(2)
    with contextlib.nullcontext(5) as five:
        log.append(five)
    return log, x


class Decorating(contextlib.ContextDecorator):
    def __enter__(self):
        return self

    def __exit__(self, *args):
        return False


@case(X)
def context_decorator_wraps(x):
    @Decorating()
    def work(y):
        return y * 2

    return work(x)


@case(X)
def conditional_manager(x, flag=True):
    log = []
    manager = Manager(log, "m") if flag else contextlib.nullcontext()
    with manager:
        log.append("body")
    return log, x


@case(X)
def manager_is_entered_again(x):
    log = []
    manager = Manager(log, "m")
    with manager:
        with manager:
            x = x + 1
    return x, log


@case(X, breaks="B114")
def generator_inside_a_manager(x):
    log = []

    def gen():
        with Manager(log, "g"):
            yield x
            yield x + 1

    total = sum(gen())
    for y in gen():
        break
    return total, y, log[:3]


@case(X)
def missing_exit_is_a_type_error(x):
    class_of = object()
    try:
        with class_of:
            pass
    except TypeError as error:
        return str(error), x


@pytest.mark.parametrize("one", case.cases, ids=str)
def test_captured_like_eager(one):
    one.check()

"""Exceptions raised and caught inside: chaining, custom classes, `finally` order, groups, StopIteration."""

import contextlib

import pytest
import torch

from tests.semantics.harness import Corpus

case = Corpus()
X = torch.arange(4.0)


class AppError(Exception):
    code = 1

    def __init__(self, message, *, detail=None):
        super().__init__(message)
        self.detail = detail

    def __str__(self):
        return f"[{self.code}] {self.args[0]}"


class DeepError(AppError):
    code = 2


class BothError(ValueError, KeyError):
    pass


def fail(kind, *args):
    raise kind(*args)


@case(X)
def custom_exception_has_its_text(x):
    try:
        raise DeepError("bad", detail=x)
    except AppError as error:
        return str(error), error.detail, error.args, type(error).__name__


@case(X)
def first_matching_handler_wins(x):
    found = []
    for kind in (DeepError, AppError, BothError, KeyError, OSError, ZeroDivisionError):
        try:
            fail(kind, "m")
        except DeepError:
            found.append("deep")
        except (AppError, KeyError):
            found.append("app or key")
        except ArithmeticError:
            found.append("arithmetic")
        except Exception as error:
            found.append(type(error).__name__)
    return found, x


@case(X)
def handlers_by_a_computed_tuple(x):
    kinds = (KeyError, *[IndexError])
    try:
        return [][0]
    except kinds:
        return x + 1


@case(X)
def except_of_something_else_is_a_type_error(x):
    try:
        try:
            raise ValueError
        except "text":
            pass
    except TypeError as error:
        return x, str(error)


@case(X)
def bare_except_and_reraise(x):
    seen = []
    try:
        try:
            raise KeyError("k")
        except:
            seen.append("bare")
            raise
    except KeyError as error:
        seen.append(error.args)
    return seen, x


@case(X)
def context_of_a_second_exception(x):
    try:
        try:
            raise KeyError("first")
        except KeyError:
            raise ValueError("second")
    except ValueError as error:
        return type(error.__context__), error.__cause__, error.__suppress_context__, error.__context__.args, x


@case(X)
def cause_is_kept(x):
    first = KeyError("first")
    try:
        raise ValueError("second") from first
    except ValueError as error:
        return error.__cause__ is first, error.__suppress_context__, error.__context__, x


@case(X)
def cause_from_none_hides_the_context(x):
    try:
        try:
            raise KeyError("first")
        except KeyError:
            raise ValueError("second") from None
    except ValueError as error:
        return error.__cause__, error.__suppress_context__, type(error.__context__).__name__, x


@case(X)
def cause_may_be_a_class(x):
    try:
        raise ValueError from KeyError
    except ValueError as error:
        return type(error.__cause__).__name__, x


@case(X)
def context_in_a_finally(x):
    try:
        try:
            raise KeyError("a")
        finally:
            fail(ValueError, "b")
    except ValueError as error:
        return repr(error.__context__), x


@case(X)
def context_through_a_called_function(x):
    def handle():
        raise RuntimeError("in handler")

    try:
        try:
            raise KeyError("a")
        except KeyError:
            handle()
    except RuntimeError as error:
        return repr(error.__context__), x


@case(X)
def context_is_not_the_exception_itself(x):
    try:
        try:
            raise KeyError("a")
        except KeyError as error:
            raise error
    except KeyError as error:
        return error.__context__, x


@case(X)
def raised_in_an_else_is_not_caught(x):
    seen = []
    try:
        try:
            seen.append("body")
        except ValueError:
            seen.append("never")
        else:
            raise ValueError("else")
        finally:
            seen.append("finally")
    except ValueError as error:
        seen.append(str(error))
    return seen, x


@case(X)
def order_of_nested_finally_blocks(x):
    seen = []

    def inner():
        try:
            try:
                seen.append(1)
                return x * 2
            finally:
                seen.append(2)
        finally:
            seen.append(3)

    y = inner()
    return y, seen


@case(X)
def return_in_finally_swallows(x):
    def inner():
        try:
            raise ValueError
        finally:
            return x

    return inner()


@case(X)
def break_in_finally_swallows(x):
    for i in range(3):
        try:
            raise ValueError
        finally:
            break
    return x + i


@case(X)
def continue_in_finally(x):
    seen = []
    for i in range(3):
        try:
            if i == 1:
                raise ValueError
            seen.append(i)
        finally:
            seen.append("f")
            continue
    return seen, x


@case(X)
def finally_sees_the_loop_variable(x):
    seen = []
    for i in range(4):
        try:
            if i == 2:
                break
            x = x + i
        finally:
            seen.append(i)
    return x, seen


@case(X)
def raise_of_a_class_and_of_an_object(x):
    seen = []
    for what in (ValueError, ValueError("a"), ValueError("a", "b")):
        try:
            raise what
        except ValueError as error:
            seen.append((str(error), error.args))
    return seen, x


@case(X)
def raise_of_something_else_is_a_type_error(x):
    try:
        raise "text"
    except TypeError as error:
        return str(error), x


@case(X)
def raise_without_an_exception_is_a_runtime_error(x):
    try:
        raise
    except RuntimeError as error:
        return str(error), x


@case(X)
def exception_name_is_unbound_afterwards(x):
    error = 1
    try:
        raise ValueError
    except ValueError as error:
        pass
    try:
        return error
    except UnboundLocalError:
        return x


@case(X)
def exception_stays_under_another_name(x):
    try:
        raise ValueError("kept")
    except ValueError as error:
        kept = error
    return kept.args, isinstance(kept, Exception), x


@case(X)
def notes_are_kept(x):
    try:
        error = ValueError("a")
        error.add_note("first")
        error.add_note("second")
        raise error
    except ValueError as caught:
        return caught.__notes__, x


@case(X)
def attributes_set_on_an_exception(x):
    try:
        try:
            raise ValueError("a")
        except ValueError as error:
            error.where = "inner"
            raise
    except ValueError as error:
        return error.where, x


@case(X)
def attribute_error_has_name_and_object(x):
    class_less = AppError("a")
    try:
        class_less.nothing
    except AttributeError as error:
        return error.name, error.obj is class_less, str(error), x


@case(X)
def stop_iteration_carries_a_value(x):
    def gen():
        yield 1
        return "done"

    made = gen()
    next(made)
    try:
        next(made)
    except StopIteration as stop:
        return stop.value, stop.args, x


@case(X)
def stop_iteration_through_next_with_a_default(x):
    def end():
        raise StopIteration(5)

    try:
        end()
    except StopIteration as stop:
        return stop.value, next(iter(()), "d"), x


@case(X)
def exceptions_in_a_comprehension(x):
    def pick(n):
        if n == 2:
            raise LookupError(n)
        return n

    try:
        return [pick(n) for n in range(5)]
    except LookupError as error:
        return error.args[0] * x


@case(X)
def exception_out_of_a_key_function(x):
    try:
        sorted([1, 2, 0], key=lambda n: 1 / n)
    except ZeroDivisionError:
        return x + 1


@case(X)
def exception_out_of_a_property(x):
    class_of = WithProperty()
    try:
        class_of.bad
    except ValueError as error:
        return str(error), getattr(class_of, "missing", "d"), hasattr(class_of, "missing"), x


class WithProperty:
    @property
    def bad(self):
        raise ValueError("bad property")

    @property
    def missing(self):
        raise AttributeError("hidden")


@case(X)
def exception_in_init_leaves_no_object(x):
    class_of = []

    try:
        class_of.append(AppErrorInInit(1))
    except ValueError:
        return class_of, x


class AppErrorInInit:
    def __init__(self, n):
        self.n = n
        raise ValueError(n)


@case(X)
def retries_until_it_works(x):
    tries = 0
    while True:
        try:
            tries += 1
            if tries < 3:
                raise TimeoutError(tries)
            break
        except TimeoutError:
            x = x * 2
    return x, tries


@case(X, breaks="B109")
def exception_group_block(x):
    seen = []
    try:
        raise ExceptionGroup("many", [ValueError(1), KeyError("k"), ValueError(2)])
    except* ValueError as group:
        seen.append([error.args for error in group.exceptions])
    except* KeyError as group:
        seen.append(group.message)
    return seen, x


@case(X, breaks="B109")
def exception_group_is_caught_whole(x):
    try:
        raise ExceptionGroup("many", [ValueError(1)])
    except ExceptionGroup as group:
        return group.message, len(group.exceptions), x


@case(X)
def effects_before_the_exception_stay(x):
    items = []

    def work():
        items.append(x + 1)
        items.append(x + 2)
        raise ValueError

    with contextlib.suppress(ValueError):
        work()
        items.append("never")
    return items


@case(X)
def system_exit_and_keyboard_interrupt_pass_exception(x):
    seen = []
    for kind in (SystemExit, KeyboardInterrupt, GeneratorExit):
        try:
            try:
                raise kind("now")
            except Exception:
                seen.append("wrong")
        except BaseException as error:
            seen.append((type(error).__name__, error.args))
    return seen, x


@case(X)
def exception_with_arguments_by_new_only(x):
    class_of = Coded(3)
    try:
        raise class_of
    except Coded as error:
        return error.args, error.n, str(error), x


class Coded(Exception):
    def __init__(self, n):
        self.n = n


@pytest.mark.parametrize("one", case.cases, ids=str)
def test_captured_like_eager(one):
    one.check()

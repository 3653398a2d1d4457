"""What exceptions of Python itself say."""

import pytest
import torch

from tests.semantics.harness import Corpus

case = Corpus()
X = torch.arange(4.0)


@case(X)
def key_error_text_is_a_repr(x):
    try:
        {}["k"]
    except KeyError as error:
        return str(error), error.args, x


@case(X)
def index_error_messages(x):
    found = []
    for items in ([], (), "", range(0), collections_deque()):
        try:
            items[3]
        except IndexError as error:
            found.append(str(error))
    return found, x


def collections_deque():
    import collections

    return collections.deque()


@case(X)
def type_errors_of_operators(x):
    found = []
    for action in (
        lambda: 1 + "a",
        lambda: "a" + 1,
        lambda: [] + (),
        lambda: -"a",
        lambda: None < 1,
        lambda: [1] < [None],
        lambda: len(5),
        lambda n=5: n[0],
        lambda n=None: n(),
        lambda: {}[[]],
        lambda: 1 in 5,
        lambda: "a" * "b",
        lambda: iter(5),
        lambda: next(5),
    ):
        try:
            action()
        except TypeError as error:
            found.append(str(error))
    return found, x


@case(X)
def value_errors_of_builtins(x):
    found = []
    for action in (
        lambda: int("a"),
        lambda: float("b"),
        lambda: [1].index(2),
        lambda: [].remove(1),
        lambda: max([]),
        lambda: range(1, 2, 0),
        lambda: chr(-1),
        lambda: "a,b".split(""),
        lambda: (1, 2).index(3),
    ):
        try:
            action()
        except ValueError as error:
            found.append(str(error))
    return found, x


@case(X)
def unpacking_error_messages(x):
    found = []
    for values in ([1], [1, 2, 3], (), "abc"):
        try:
            a, b = values
        except ValueError as error:
            found.append(str(error))
    try:
        a, b, *c = [1]
    except ValueError as error:
        found.append(str(error))
    try:
        _a, _b = 5
    except TypeError as error:
        found.append(str(error))
    return found, x


@case(X)
def call_error_messages(x):
    def f(a, b=1, *, c=2):
        return a

    found = []
    for args, kwargs in (((), {}), ((1, 2, 3), {}), ((1,), {"d": 1}), ((1,), {"a": 2})):
        try:
            f(*args, **kwargs)
        except TypeError as error:
            found.append(str(error))
    return found, x


@case(X)
def overflow_and_zero_division(x):
    found = []
    for action in (lambda: 1 / 0, lambda: 1 // 0, lambda: 1 % 0, lambda: 0.0**-1, lambda: divmod(1, 0)):
        try:
            action()
        except ArithmeticError as error:
            found.append((type(error).__name__, str(error)))
    return found, x


@case(X)
def unbound_local_and_name_error(x):
    found = []
    try:
        later
    except UnboundLocalError as error:
        found.append(str(error))
    later = 1
    try:
        nothing_of_this_name
    except NameError as error:
        found.append((str(error), error.name))
    return found, x


@case(X, breaks="B109")
def os_error_fields(x):
    try:
        raise OSError(2, "missing", "file")
    except FileNotFoundError as error:
        return error.errno, error.strerror, error.filename, str(error), x


@case(X)
def exception_equality_and_repr(x):
    a, b = ValueError(1), ValueError(1)
    return a == b, a == a, repr(a), repr(ValueError("a", 2)), str(ValueError()), str(ValueError(1, 2)), x


@case(X)
def assertion_messages(x):
    found = []
    for value in (1, 2):
        try:
            if value != 1:
                raise AssertionError(f"value is {value}")
            found.append("fine")
        except AssertionError as error:
            found.append(str(error))
    return found, x


@case(X)
def not_implemented_and_recursion_errors(x):
    class_of = Abstract()
    try:
        class_of.run()
    except NotImplementedError as error:
        return isinstance(error, RuntimeError), error.args, x


class Abstract:
    def run(self):
        raise NotImplementedError(f"{type(self).__name__} has no run")


@pytest.mark.parametrize("one", case.cases, ids=str)
def test_captured_like_eager(one):
    one.check()

"""Functions: calls, arguments, closures, decorators, recursion, lambdas, functions as results."""

import functools

import pytest
import torch

from tests.semantics.harness import Case, Corpus

case = Corpus()
X = torch.arange(4.0)
Y = torch.arange(4.0) + 1
FACTOR = 3
counter = 0
registry: list[int] = []


def double(x, factor=2):
    return x * factor


def keyword_only(x, *, scale, shift=1):
    return x * scale + shift


def positional_only(x, y=2, /, z=3):
    return x * y + z


def collect(*args, **kwargs):
    return args, kwargs


def twice(function):
    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        return function(*args, **kwargs) * 2

    return wrapped


@twice
def decorated(x):
    return x + 1


def with_argument(scale):
    def decorate(function):
        def wrapped(x):
            return function(x) * scale

        return wrapped

    return decorate


@with_argument(5)
def decorated_with_argument(x):
    return x - 1


@case(X)
def inlines_a_function(x):
    return double(x) + double(x, 3) + double(x, factor=4)


@case(X, 2, changed=((X, 3), (X, 2.0), (X, True), (X, None)))
def an_int_argument_is_guarded(x, n):
    return x * (n or 7)


@case(X, "a", changed=((X, "b"),))
def a_string_argument_is_guarded(x, name):
    return x if name == "a" else -x


@case(X)
def binds_keyword_only(x):
    return keyword_only(x, scale=2), keyword_only(x, shift=0, scale=3)


@case(X)
def binds_positional_only(x):
    return positional_only(x), positional_only(x, 1, z=2)


@case(X)
def collects_args_and_kwargs(x):
    return (
        collect(x, 1, a=x, b=2),
        collect(),
        collect(*[x, x], **{"k": 1}),
        collect(1, *(2, 3), k=4, **{"m": 5}),
    )


@case(X, 1, 2, 3, changed=((X, 1, 2), (X,), (X, 1, 2, 4)))
def takes_star_args(x, *rest):
    return x + sum(rest), rest


@case(X, kwargs={"a": 1, "b": Y})
def takes_star_kwargs(x, **rest):
    return x + rest["a"] + rest["b"], sorted(rest)


@case(X)
def keyword_named_like_positional_only(x):
    def function(a, /, **kwargs):
        return a, kwargs

    return function(x, a=1)


@case(X)
def recursion_with_constant_end(x):
    def power(base, n):
        return base if n == 1 else base * power(base, n - 1)

    return power(x, 4)


@case(X)
def lambdas_capture_late(x):
    functions = [lambda y: y * i for i in range(3)]
    return [function(x) for function in functions]


@case(X)
def lambda_defaults_capture_early(x):
    functions = [lambda y, i=i: y * i for i in range(3)]
    return [function(x) for function in functions]


@case(X)
def decorators_inline(x):
    return decorated(x), decorated_with_argument(x), decorated.__name__


@case(X)
def default_is_evaluated_once(x):
    def append(item, to=[]):
        to.append(item)
        return to

    first = append(1)
    second = append(2)
    return first is second, second, x + len(second)


@case(X)
def nonlocal_counts(x):
    count = 0

    def step():
        nonlocal count
        count += 1
        return count

    step()
    step()
    return x * count, count


@case(X)
def two_functions_share_a_cell(x):
    value = 1

    def setter(new):
        nonlocal value
        value = new

    def getter():
        return value

    setter(5)
    return x * getter(), value


@case(X)
def closure_is_returned(x):
    n = 3

    def scaled(y):
        return y * n + x

    return scaled


@case(X)
def closures_that_share_a_cell_are_returned(x):
    total = [0]
    state = 1

    def bump():
        nonlocal state
        state += 1
        return state

    def read():
        return state, total

    bump()
    return bump, read, total


@case(X)
def recursive_closure_is_returned(x):
    def loop(n):
        return x if n == 0 else loop(n - 1)

    return loop


@case(X)
def function_with_defaults_is_returned(x):
    def scaled(y, n=4, *, k=x):
        return y * n + k

    return scaled


@case(X)
def function_attributes_stay(x):
    def inner():
        return x

    inner.label = "name"
    inner.tensor = x
    return inner, inner.label


@case(X)
def reads_a_global(x):
    return x * FACTOR


@case(X)
def writes_a_global(x):
    global counter
    counter = counter + 1
    return x + counter


@case(X)
def writes_a_tensor_to_a_global(x):
    global last_seen
    last_seen = x * 2
    return last_seen


@case(X)
def writes_then_reads_a_global_through_a_function(x):
    global counter
    counter = 10

    def read():
        return counter

    return x + read()


@case(X)
def deleted_local_is_unbound(x):
    y = x + 1
    z = y
    del y
    try:
        return y
    except UnboundLocalError:
        return z


@case(X)
def partial_is_called(x):
    f = functools.partial(keyword_only, scale=3)
    g = functools.partial(f, x)
    return f(x), g(shift=2), f.keywords, f.func is keyword_only


@case(X)
def partial_is_returned(x):
    return functools.partial(double, x, factor=5)


@case(X)
def reduce_folds(x):
    return functools.reduce(lambda a, b: a * b, [x, x, 2], 1)


@case(X)
def wraps_copies_names(x):
    def original(y):
        """A text."""
        return y

    @functools.wraps(original)
    def wrapper(y):
        return original(y) + 1

    return wrapper(x), wrapper.__name__, wrapper.__doc__, wrapper.__wrapped__ is original


@functools.cache
def cached_size(n):
    return n * 2


@case(X)
def lru_cached_function_of_constants(x):
    return x * cached_size(3)


@functools.cache
def remembered_mask(count):
    return torch.ones(count)


@case(X)
def lru_cached_tensor_is_real(x):
    return x + remembered_mask(x.shape[0]), type(remembered_mask(4)).__name__


class Remembers:
    @functools.cache  # that is what is tested
    def scaled(self, factor):
        return factor * 3


REMEMBERS = Remembers()


@case(X)
def lru_cached_method(x):
    return x * REMEMBERS.scaled(2)


@case(X)
def calls_with_walrus(x):
    if (n := x.shape[0]) > 3:
        return x * n
    return x


@case(X, Y)
def conditional_expressions(x, y):
    return x if x.dim() == 1 else y


@case(X, Y)
def and_or_return_operands(x, y):
    return (None or x), (0 and y), ([] or "d"), (1 and 2)


@case(X)
def immediately_called_lambda(x):
    return (lambda a, *b, c=1, **d: (a, b, c, d))(x, 1, 2, c=3, e=4)


@case(X, double, changed=((X, decorated), (X, torch.sin)))
def function_argument_is_guarded(x, function):
    return function(x)


@case(X)
def missing_argument_is_a_type_error(x):
    try:
        double()
    except TypeError:
        return x
    return -x


@case(X)
def unexpected_keyword_is_a_type_error(x):
    try:
        double(x, other=1)
    except TypeError as error:
        return x, str(error)


@case(X)
def star_expressions_in_calls_keep_order(x):
    return collect(*range(2), x, *"ab", z=1, **dict(y=2), w=3)


@case(X)
def nested_functions_see_enclosing_arguments(x):
    def outer(a):
        def middle(b):
            def inner(c):
                return a + b + c + x

            return inner

        return middle

    return outer(1)(2)(3)


@case(X)
def method_of_a_builtin_as_value(x):
    items = []
    add = items.append
    add(1)
    add(x)
    return items


@case(X)
def map_of_a_method(x):
    return list(map(str.upper, ["a", "b"])), list(map(x.mul, [1, 2]))


@case(X)
def function_is_a_dict_key(x):
    table = {double: 1, decorated: 2}
    return x * table[double]


@case(X)
def global_list_is_mutated_by_append(x):
    registry.append(1)
    n = len(registry)
    registry.clear()
    return x * n


@functools.singledispatch
def dispatched(x):
    return "object"


@dispatched.register
def _(x: int):
    return "int"


@dispatched.register
def _(x: list):
    return "list"


@case(X)
def singledispatch_picks_by_type(x):
    return x, dispatched(1), dispatched([1]), dispatched("s")


def test_guards_notice_a_changed_global(monkeypatch):
    changes_of("FACTOR", 4, reads_a_global, monkeypatch)


def test_guards_notice_a_replaced_function(monkeypatch):
    changes_of("double", lambda x, factor=1: x - factor, inlines_a_function, monkeypatch)


def changes_of(name, value, function, monkeypatch):
    one = Case(function, (X,))
    captured = one.captured((X,))
    monkeypatch.setitem(globals(), name, value)
    assert not one.holds(captured, (X,))


def test_guards_notice_changed_defaults(monkeypatch):
    one = Case(inlines_a_function, (X,))
    captured = one.captured((X,))
    monkeypatch.setattr(double, "__defaults__", (7,))
    assert not one.holds(captured, (X,))


def test_guards_notice_changed_code(monkeypatch):
    one = Case(inlines_a_function, (X,))
    captured = one.captured((X,))
    monkeypatch.setattr(double, "__code__", (lambda x, factor: x).__code__)
    assert not one.holds(captured, (X,))


def test_guards_notice_a_changed_closure_variable():
    n = 2

    def function(x):
        return x * n

    one = Case(function, (X,))
    captured = one.captured((X,))
    assert one.holds(captured, (X,))
    n = 3
    assert not one.holds(captured, (X,))


@pytest.mark.parametrize("one", case.cases, ids=str)
def test_captured_like_eager(one):
    one.check()

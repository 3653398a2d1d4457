"""Statements and expressions: match, walrus, unpacking, slices, del, global, nonlocal, comprehensions."""

import pytest
import torch

from tests.semantics.harness import Corpus

case = Corpus()
X = torch.arange(4.0)
LIMIT = 3
STATE = {"calls": 0}
counter = 0


class Shape:
    __match_args__ = ("kind", "size")

    def __init__(self, kind, size):
        self.kind, self.size = kind, size


def classify(value):
    match value:
        case None | False:
            return "nothing"
        case True:
            return "true"
        case -1 | 1.5:
            return "number"
        case "a" | "b" as letter:
            return letter
        case []:
            return "empty"
        case [single]:
            return ("one", single)
        case [first, *_, 9]:
            return ("ends in nine", first)
        case [int(a), [b, *rest]]:
            return (a, b, rest)
        case _:
            return by_shape(value)


def by_shape(value):
    match value:
        case {"op": "add", "args": [a, b]}:
            return a + b
        case {"op": str(op), **rest} if rest:
            return (op, rest)
        case {}:
            return "mapping"
        case Shape("square", size) | Shape(kind="box", size=size):
            return size
        case Shape(size=int() as n) if n > 5:
            return ("big", n)
        case tuple((a, b)):
            return (b, a)
        case str():
            return "text"
        case _:
            return "other"


@case(X)
def match_literals_and_none(x):
    return [classify(v) for v in (None, False, True, -1, 1.5, "a", "zz", 3)], x


@case(X)
def match_sequences(x):
    return [classify(v) for v in ([], [1], (1, 2, 9), [1, [2, 3]], [1, "ab"], (4, 5), range(1), b"ab")], x


@case(X)
def match_mappings(x):
    values = ({"op": "add", "args": [1, 2]}, {"op": "mul", "n": 3}, {"op": "x"}, {1: 2})
    return [classify(v) for v in values], x


@case(X)
def match_classes(x):
    return [classify(Shape(*v)) for v in (("square", 2), ("box", 3), ("circle", 9), ("circle", 1))], x


@case(X)
def match_binds_names_until_the_guard_fails(x):
    match [1, 2]:
        case [a, b] if a > b:
            result = "greater"
        case [a, _]:
            result = ("first", a, b)
    return result, x


@case(X)
def match_on_a_tensor_class(x):
    match x:
        case torch.Tensor(shape=(n,)):
            return x * n


@case(X)
def match_without_a_case_that_fits(x):
    result = "before"
    match 5:
        case 1:
            result = "one"
    return result, x


@case(X)
def walrus_in_conditions_and_comprehensions(x):
    if (n := len(x)) > 3:
        x = x * n
    found = [y for i in range(4) if (y := i * i) > 1]
    while (n := n - 1) > 1:
        x = x + n
    return x, found, y, n


@case(X)
def walrus_in_calls_and_slices(x):
    return max((a := 1), (b := 2)), a, b, [1, 2, 3][(c := 1) :], c, f"{(d := 4)}", d, x


@case(X)
def star_unpacking_everywhere(x):
    a, *b, c = range(5)
    (d, *e), f = [[1, 2, 3], 4]
    [g, *h] = "xyz"
    *i, j = {"k": 1, "l": 2}
    return a, b, c, d, e, f, g, h, i, j, [*b, *e], (*"ab", *()), {**{"a": 1}, "b": 2}, {*b, *e}, x


@case(X)
def unpacking_in_loops(x):
    found = []
    for i, (a, *rest) in enumerate([(1, 2, 3), "ab"]):
        found.append((i, a, rest))
    for key, value in {"a": x}.items():
        found.append((key, value + 1))
    return found


@case(X)
def assignment_order(x):
    log = []

    def at(name, value):
        log.append(name)
        return value

    items = [0, 0]
    at("target", items)[at("index", 1)] = at("value", 5)
    i, items[i] = 1, 7
    a = b = at("shared", [])
    a.append(1)
    return log, items, a is b, b, x


@case(X)
def evaluation_order_of_operands_and_arguments(x):
    log = []

    def at(value):
        log.append(value)
        return value

    def f(*args, **kwargs):
        return args, kwargs

    f(at(1), *[at(2)], at(3), k=at(4), **{"l": at(5)})
    at(6) + at(7) * at(8)
    {at(9): at(10)}
    at(0) < at(1) < at(0) < at(5)
    return log, x


@case(X)
def short_circuits_skip_calls(x):
    log = []

    def at(value):
        log.append(value)
        return value

    return at(0) and at(1), at(2) or at(3), not at(0) or at(4), at(5) if at(0) else at(6), log, x


@case(X)
def augmented_assignments(x):
    a, items, table, text = 7, [1], {"k": 2}, "t"
    b = items
    a += 1
    a -= 2
    a *= 3
    a //= 2
    a %= 5
    a **= 2
    a <<= 1
    a |= 3
    a &= 6
    a ^= 1
    a >>= 1
    items += (2,)
    items *= 2
    table["k"] += 5
    table |= {"n": 1}
    text += "u"
    x += 1
    x /= 2
    return a, items, items is b, table, text, x


@case(X)
def delete_statements(x):
    items = [0, 1, 2, 3, 4, 5]
    table = {"a": 1, "b": 2}
    del items[0], items[-1], items[1:3]
    del table["a"]
    y = 1
    del y
    return items, table, x


@case(X)
def extended_slices_are_assigned(x):
    items = list(range(8))
    items[::2] = "abcd"
    items[1:3] = []
    items[:0] = [x, x]
    items[-1:] = (9, 9)
    return items


@case(X)
def slices_of_everything(x):
    part = slice(1, None, 2)
    return (
        [1, 2, 3, 4][part],
        "abcd"[part],
        (1, 2, 3)[::-1],
        range(10)[2:8:3],
        b"abcd"[-2:],
        part.indices(5),
        x[part],
    )


@case(X)
def extended_slice_of_another_size_is_a_value_error(x):
    items = [1, 2, 3, 4]
    try:
        items[::2] = [1]
    except ValueError as error:
        return str(error), items, x


@case(X)
def global_statement(x):
    global counter
    counter += 2
    return x * counter


@case(X, breaks="B115")
def global_is_deleted_and_made(x):
    global fresh
    fresh = [1]
    fresh.append(2)
    found = fresh
    del fresh
    try:
        fresh
    except NameError:
        return found, x


@case(X)
def global_is_seen_by_other_functions(x):
    global LIMIT
    LIMIT = 10
    return limit_of() * x


def limit_of():
    return LIMIT


@case(X)
def nonlocal_through_two_levels(x):
    n = 0

    def outer():
        def inner():
            nonlocal n
            n += 1
            return n

        return inner() + inner()

    return outer(), n, x


@case(X)
def closures_in_a_loop_share_the_variable(x):
    late = [lambda: i for i in range(3)]
    early = [lambda i=i: i for i in range(3)]
    return [f() for f in late], [f() for f in early], x


@case(X, breaks="B121")
def class_body_reads_and_loops(x):
    class Local:
        items = tuple([i * 2 for i in range(3)])
        total = 0
        for i in items:
            total += i

        def run(self, x):
            return x + self.total

    return Local().run(x), Local.items


@case(X)
def comprehension_scopes(x):
    i = "outer"
    a = [i for i in range(2)]
    b = {i: j for i, j in zip("ab", range(2))}
    c = {i % 2 for i in range(5)}
    d = [[i * j for j in range(i)] for i in range(3)]
    e = [(i, j) for i in range(3) if i for j in range(i) if j % 2 == 0]
    return i, a, b, c, d, e, x


@case(X)
def comprehension_over_tensors(x):
    return (
        [y * 2 for y in x],
        {i: y for i, y in enumerate(x.unbind())},
        sum(y for y in x),
        [y.shape for y in [x, x]],
    )


@case(X)
def conditional_chains(x, n=5):
    if n < 0:
        kind = "negative"
    elif n == 0:
        kind = "zero"
    elif 0 < n <= 5 != 6:
        kind = "small"
    else:
        kind = "large"
    return kind, x


@case(X)
def loops_with_else(x):
    found = []
    for i in range(3):
        if i == 5:
            break
    else:
        found.append("for else")
    while i < 5:
        i += 1
        if i == 4:
            break
    else:
        found.append("while else")
    for _ in ():
        pass
    else:
        found.append("empty")
    return found, i, x


@case(X, breaks="B121")
def nested_loops_with_labels_by_exception(x):
    class Found(Exception):
        pass

    try:
        for i in range(4):
            for j in range(4):
                if i * j == 6:
                    raise Found
    except Found:
        return x * i + j


@case(X)
def chained_comparisons_and_identity(x):
    a = [1]
    return 1 < 2 < 3, 1 < 3 < 2, a is a is not None, 1 in [1] in [[1]], "a" not in "bc", 1 == 1.0 == True, x


def decorate(*notes):
    def inner(function):
        function.notes = (*getattr(function, "notes", ()), *notes)
        return function

    return inner


@case(X)
def decorators_stack_from_below(x):
    @decorate("outer")
    @decorate("inner")
    def work(y):
        return y + 1

    return work(x), work.notes


def defaults(a, b=[], *args, c=LIMIT, **kwargs):
    b.append(a)
    return b, args, c, kwargs


@case(X)
def defaults_made_inside_are_shared(x):
    def grow(a, items=[]):
        items.append(a)
        return items

    return grow(1) is grow(2), grow(3), x


@case(X)
def arguments_of_every_kind(x):
    def f(a, /, b, *args, c, d=4, **kwargs):
        return a, b, args, c, d, kwargs

    return f(1, 2, c=3), f(1, b=2, c=3, e=5), f(*[1, 2, 3], **{"c": 4, "d": 5}), f(1, 2, c=x, a=7)


@case(X)
def recursion_with_an_accumulator(x):
    def power(n, total=1):
        return total if n == 0 else power(n - 1, total * 2)

    def is_even(n):
        return True if n == 0 else is_odd(n - 1)

    def is_odd(n):
        return False if n == 0 else is_even(n - 1)

    return x * power(10), is_even(7)


@case(X)
def lambdas_in_data_structures(x):
    table = {"double": lambda t: t * 2, "shift": [lambda t, n=1: t + n]}
    return table["double"](x), table["shift"][0](x, n=5), (lambda *a, **k: (a, k))(1, k=2)


@case(X)
def ternary_and_boolean_of_containers(x):
    return [bool(v) for v in ([], [0], {}, "", "a", (), 0.0, None, range(0), set(), x.shape)], x


@case(X)
def numeric_literals_and_operators(x):
    return 0x1F, 0b101, 1_000, 1e3, 3j * 2, 7 // -2, -7 % 3, 2**10, 1 if 0 else 2, ~7, 5 & 6, True + 1, x


@case(X)
def string_prefixes_and_joins(x):
    name = "n"
    return (
        "ab",
        rf"\{name}",
        b"\x00a",
        """multi
line""",
        f"{name!r:>5}{1 + 1:03d}{3.14159:.{2}f}",
        f"{x.shape[0]=}",
        x,
    )


@case(X)
def annotations_do_nothing(x):
    a: int = 5
    items: list[undefined] = [1]
    return a, items, x


@case(X)
def assert_and_pass_and_ellipsis(x):
    assert x.shape == (4,), "shape"
    pass
    ...
    return ..., None, x


@case(X)
def imports_inside(x):
    import math as m
    import os.path
    from collections import OrderedDict
    from collections import deque as d

    return m.floor(1.5), OrderedDict(a=1), d([1]), os.path.join("a", "b"), x


@case(X)
def function_attributes_and_names(x):
    def inner():
        """Doc."""

    inner.count = 1
    inner.count += 1
    return (
        inner.__name__,
        inner.__doc__,
        inner.count,
        inner.__qualname__.split(".")[-1],
        (lambda: 0).__name__,
        x,
    )


@case(X)
def tuple_and_list_comparisons(x):
    return (1, 2) < (1, 3), [1] < [1, 0], (1,) == [1], [[1], 2] == [[1], 2], (1, "a") > (0, 5), x


@case(X)
def dict_literals_keep_the_first_key_and_the_last_value(x):
    return {1: "a", True: "b", 1.0: "c"}, {"a": 1, **{"a": 2}}, dict([("k", 1), ("k", 2)]), x


@case(X)
def module_state_is_changed(x):
    STATE["calls"] = STATE["calls"] + 0
    return x, STATE["calls"]


@pytest.mark.parametrize("one", case.cases, ids=str)
def test_captured_like_eager(one):
    one.check()

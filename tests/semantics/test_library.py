"""Text and the standard library: str, format, math, itertools, functools, operator, context variables."""

import collections
import contextvars
import functools
import itertools
import math
import operator
import re
import string
import typing

import pytest
import torch

from tests.semantics.harness import Corpus

case = Corpus()
X = torch.arange(4.0)
variable = contextvars.ContextVar("variable", default=3)
PATTERN = re.compile(r"(\w)(\d)")
JOIN = operator.itemgetter(1)


@case(X, 3, changed=((X, 4),))
def f_strings(x, n):
    name = "w"
    return (
        f"{n}",
        f"{n:>5}",
        f"{n!r:^7}|",
        f"{1.23456:.2f}",
        f"{name!r}",
        f"{n + 1}{name}",
        f"{x.shape}",
        f"{x.dtype}",
        f"{{}}{n=}",
    )


@case(X)
def percent_formatting(x):
    return (
        "%d-%s" % (1, "a"),
        "%5.2f" % 3.14159,
        "%(k)s" % {"k": 1},
        "%s" % [1, 2],
        "%r %s" % ("a", (1,)),
        "%%",
    )


@case(X)
def str_format(x):
    return "{} {}".format(1, "a"), f"{1}{2}{1}", f"{5:>4}", f"{x.shape[0]}", "{!r}".format("q")


@case(X)
def str_methods(x):
    text = "Hello World"
    return (
        text.lower(),
        text.split(),
        text.replace("o", "0"),
        text.startswith("He"),
        text[1:3],
        text.find("W"),
        ",".join(["a", "b"]),
        text.title(),
        text.strip("Hd"),
        "a" in text,
        text * 2,
        text + "!",
        len(text),
        text.partition(" "),
        "x".zfill(3),
        text[::-1],
        list("ab"),
        "abc".index("c"),
        "a" < "b",
        "A".isupper(),
        "%s" % text,
        text.encode(),
        b"ab".decode(),
        text.count("o"),
        ord("a"),
        chr(98),
    )


@case(X)
def str_errors_are_raised(x):
    try:
        "abc".index("z")
    except ValueError as error:
        return str(error), x


@case(X)
def conversions(x):
    return (
        int("12"),
        float("1.5"),
        str(12),
        bool(""),
        int(3.9),
        round(2.567, 2),
        repr("a"),
        hex(255),
        bin(5),
        int("ff", 16),
        complex(1, 2),
        abs(-3),
        pow(2, 10),
        pow(2, 3, 5),
        bytes([1, 2]),
    )


@case(X)
def text_of_containers(x):
    return (
        str([1, "a", (2,), {"k": None}]),
        repr((1,)),
        str({1: 2}),
        str(None),
        repr(1.0),
        str(x.shape),
        repr(torch.float32),
        str({1}),
    )


@case(X, 3, changed=((X, 5),))
def math_functions(x, n):
    return (
        x * math.sqrt(n),
        math.floor(2.7),
        math.ceil(2.1),
        math.pi,
        math.log(n),
        math.gcd(12, 18),
        math.inf > n,
        math.isclose(1, 1.0),
        math.prod([1, 2, n]),
    )


@case(X)
def number_semantics(x):
    return (
        7 // 2,
        -7 // 2,
        -7 % 3,
        7.5 % 2,
        2**-1,
        1 / 4,
        5 & 3,
        5 | 3,
        5 ^ 3,
        1 << 4,
        ~5,
        divmod(-7, 2),
        True + True,
        0.1 + 0.2,
        10**20,
        3 // 2.0,
        int(True),
        (1).bit_length(),
        (1.5).is_integer(),
    )


@case(X)
def itertools_functions(x):
    return (
        list(itertools.chain([1], (2, x))),
        list(itertools.chain.from_iterable([[1], [2]])),
        list(itertools.islice(itertools.count(5, 2), 3)),
        list(itertools.product([1, 2], "ab")),
        list(itertools.product([0, 1], repeat=2)),
        list(itertools.combinations([1, 2, 3], 2)),
        list(itertools.permutations([1, 2, 3], 2)),
        list(itertools.accumulate([1, 2, 3])),
        list(itertools.accumulate([1, 2], initial=5)),
        list(itertools.zip_longest([1, 2], [3], fillvalue=0)),
        list(itertools.starmap(pow, [(2, 3)])),
        list(itertools.repeat(1, 2)),
        list(itertools.takewhile(lambda n: n < 2, [1, 2, 1])),
        list(itertools.dropwhile(lambda n: n < 2, [1, 2, 1])),
        list(itertools.pairwise([1, 2, 3])),
        [(k, list(g)) for k, g in itertools.groupby([1, 1, 2])],
        list(itertools.filterfalse(None, [0, 1])),
        list(itertools.islice(itertools.cycle("ab"), 3)),
    )


@case(X)
def operator_functions(x):
    return (
        operator.add(x, 1),
        operator.itemgetter(1)([1, 2]),
        operator.itemgetter(0, 2)("abc"),
        operator.attrgetter("shape")(x),
        operator.methodcaller("sin")(x),
        operator.mul(2, 3),
        operator.neg(4),
        operator.getitem([1, 2], 0),
        operator.contains([1], 1),
        operator.not_(0),
        operator.truth([]),
        operator.index(3),
        operator.eq(1, 1),
        operator.lt(1, 2),
        operator.matmul(x, x),
        operator.is_(x, x),
    )


@case(X)
def context_variable_is_read(x):
    return x * variable.get()


@case(X)
def context_variable_is_set_and_reset(x):
    token = variable.set(7)
    a = x * variable.get()
    variable.reset(token)
    return a, x * variable.get()


@case(X)
def regular_expressions_of_constants(x):
    return (
        re.sub("a", "b", "aca"),
        bool(re.match("a", "abc")),
        PATTERN.sub("x", "a1"),
        re.split(",", "a,b"),
        re.findall("a", "aa"),
    )


@case(X)
def typing_helpers(x):
    number = typing.cast(int, 3)
    values: list[int] = [number]
    return values, x


@case(X)
def print_of_constants_is_replayed_in_order(x):
    print("start", 1, [2], sep="-")
    y = x + 1
    print(f"shape {x.shape[0]}", end="!\n")
    print()
    return y


@case(X)
def nested_partials_and_compositions(x):
    def compose(*functions):
        return functools.reduce(lambda f, g: lambda v: g(f(v)), functions)

    return compose(torch.sin, functools.partial(torch.mul, other=2), lambda v: v + 1)(x)


@case(X)
def string_constants(x):
    return string.ascii_lowercase[:3], string.digits, x


@case(X)
def user_dict_and_list(x):
    table = collections.UserDict(a=1)
    table["b"] = x
    return table["a"], "b" in table, len(table), table.data


@case(X)
def simple_namespace_like(x):
    class_like = collections.OrderedDict(sorted({"b": 1, "a": 2}.items()))
    return class_like, list(class_like.items())[0], x


@case(X)
def getattr_chain_with_defaults(x):
    config = {"a": {"b": [1, {"c": 5}]}}
    return config["a"]["b"][1]["c"], config.get("z", {}).get("y", 0), x


@case(X)
def sorted_with_cmp_to_key(x):
    return sorted([3, 1, 2], key=functools.cmp_to_key(lambda a, b: b - a)), x


@case(X)
def total_ordering(x):
    return Version(1) < Version(2), Version(3) >= Version(2), max(Version(1), Version(5)).n, x


@functools.total_ordering
class Version:
    def __init__(self, n):
        self.n = n

    def __eq__(self, other):
        return self.n == other.n

    def __lt__(self, other):
        return self.n < other.n


@case(X, [5, 3])
def partialmethod_like_closures(x, order):
    rank = {value: index for index, value in enumerate(sorted(order))}
    return [rank[value] for value in order], x[rank[5]]


@case(X, [1, 2, 3])
def iterators_that_leave_the_call(x, numbers):
    rows = zip([x, x + 1], numbers)
    doubled = map(lambda n: n * 2, numbers)
    return next(rows), rows, doubled, filter(None, [0, x.shape[0]]), zip(), map(max, [1, 5], [3, 2])


@case(X, [1, 2, 3])
def iterators_over_one_iterator(x, numbers):
    items = iter(numbers)
    pairs = zip(items, items)
    return next(items), pairs, x


@pytest.mark.parametrize("one", case.cases, ids=str)
def test_captured_like_eager(one):
    one.check()

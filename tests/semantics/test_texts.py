"""Methods of str, bytes, int, float, list, dict, set and range; formatting; sorting; builtin functions."""

import collections
import decimal
import fractions
import string
import textwrap

import pytest
import torch

from tests.semantics.harness import Corpus

case = Corpus()
X = torch.arange(4.0)


@case(X)
def str_splitting(x):
    text = " a,b ,c\nd "
    return (
        text.split(),
        text.split(",", 1),
        text.rsplit(",", maxsplit=1),
        text.splitlines(),
        text.strip(),
        text.lstrip(),
        text.rstrip(" d"),
        "a.b.c".rpartition("."),
        "prefix_name".removeprefix("prefix_"),
        "name.py".removesuffix(".py"),
        x,
    )


@case(X)
def str_searching(x):
    text = "banana"
    return (
        text.find("an", 2),
        text.rfind("an"),
        text.count("a"),
        text.index("n"),
        text.startswith(("x", "b")),
        text.endswith("na", 0, 4),
        "nan" in text,
        text.translate(str.maketrans("a", "o")),
        text.replace("a", "", 2),
        x,
    )


@case(X)
def str_kinds_and_cases(x):
    return (
        "12".isdigit(),
        "ab".isalpha(),
        "a1".isalnum(),
        " ".isspace(),
        "a_b".isidentifier(),
        "AbC".swapcase(),
        "straße".casefold(),
        "abc".capitalize(),
        "a".center(5, "*"),
        "a".ljust(3) + "|",
        "5".rjust(3, "0"),
        "a\tb".expandtabs(4),
        "é".encode(),
        x,
    )


@case(X)
def bytes_methods(x):
    data = bytes([72, 105])
    return (
        data.decode(),
        data.hex(),
        bytes.fromhex("4869"),
        data[0],
        data + b"!",
        data.upper(),
        list(data),
        b",".join([b"a", b"b"]),
        x,
    )


@case(X, breaks="B102")
def bytearray_is_changed(x):
    data = bytearray(b"abc")
    data[0] = 65
    data.append(33)
    return bytes(data), len(data), x


@case(X)
def int_and_float_methods(x):
    return (
        (10).bit_count(),
        (255).to_bytes(2, "big"),
        int.from_bytes(b"\x01\x00", "big"),
        (0.75).as_integer_ratio(),
        float.fromhex("0x1.8p+1"),
        (2.0).is_integer(),
        float("inf") > 1,
        (3).real,
        (3 + 4j).conjugate(),
        abs(3 + 4j),
        (1e16).hex(),
        round(2.5),
        round(-1.55, 1),
        round(1234, -2),
        x,
    )


@case(X)
def format_specs(x):
    n, f = 1234567, 3.14159
    return (
        f"{n:,}",
        f"{n:_}",
        f"{f:10.3f}|",
        f"{f:<10.1e}|",
        f"{0.256:.1%}",
        f"{n:x}",
        f"{n:#b}"[:6],
        f"{f:+.2f}",
        f"{'s':*^7}",
        f"{True:d}",
        f"{None!s:>6}",
        format(n, ">10"),
        "{:{w}.{p}f}".format(f, w=8, p=2),
        f"{[1, 2][1]} {(5).__class__.__name__}",
        "%05.1f|%-5s|%+d|%x|%%" % (f, "ab", 5, 255),
        "%(a)s-%(b)03d" % {"a": 1, "b": 2},
        x,
    )


@case(X)
def format_errors(x):
    found = []
    for action in (
        lambda: f"{'a':d}",
        lambda: "%d" % "a",
        lambda text="{}": text.format(),
        lambda one=(1,): "%s %s" % one,
        lambda: f"{[]:>3}",
    ):
        try:
            action()
        except (ValueError, TypeError, IndexError) as error:
            found.append((type(error).__name__, str(error)))
    return found, x


@case(X, breaks="B106")
def format_of_a_list_with_a_tensor(x):
    return f"{[x]}"


@case(X, breaks="B102")
def string_templates_and_text_wrapping(x):
    return (
        string.Template("$a b").substitute(a=1),
        textwrap.dedent("  a\n  b"),
        textwrap.shorten("a b c", 5),
        x,
    )


@case(X, breaks="B111")
def repr_of_nested_containers(x):
    items = [1]
    items.append(items)
    return (
        repr({"a": (1, [2], {3}), "b": frozenset()}),
        str(items),
        repr("it's"),
        ascii("é"),
        repr(b"a"),
        repr(1e100),
        x,
    )


@case(X)
def sorting_with_keys(x):
    words = ["bb", "A", "c", "aaa"]
    pairs = [(1, "b"), (0, "c"), (1, "a")]
    pairs.sort(key=lambda p: (-p[0], p[1]))
    return (
        sorted(words, key=len),
        sorted(words, key=str.lower, reverse=True),
        sorted({"b": 1, "a": 2}),
        sorted("hello"),
        pairs,
        sorted([3, 1, 2], key=lambda n: -n),
        x,
    )


@case(X)
def sort_is_stable_both_ways(x):
    rows = [(1, "a"), (0, "b"), (1, "c"), (0, "d")]
    return sorted(rows, key=lambda r: r[0]), sorted(rows, key=lambda r: r[0], reverse=True), x


@case(X)
def sort_of_tensors_by_shape(x):
    parts = [x, x[:2], x[:3]]
    parts.sort(key=lambda t: t.shape[0])
    return parts, sorted(parts, key=len, reverse=True)[0].shape


@case(X)
def sorting_mixed_kinds_is_a_type_error(x):
    try:
        sorted([1, "a"])
    except TypeError as error:
        return str(error), x


@case(X)
def min_max_with_keys_and_defaults(x):
    return (
        min("bca"),
        max([1, 3, 2], key=lambda n: -n),
        min([], default=None),
        max(1, 2.5, True),
        min({"b": 1, "a": 2}, key={"b": 1, "a": 2}.get),
        max("a", "bb", key=len),
        x,
    )


@case(X)
def sum_and_products(x):
    return sum([0.1] * 3), sum([[1], [2]], []), sum((1, 2), start=10), sum(range(5)), sum([x, x]), sum([], 5)


@case(X)
def any_all_short_circuit(x):
    log = []

    def at(v):
        log.append(v)
        return v

    return any(at(v) for v in (0, 1, 2)), all(at(v) for v in (1, 0, 2)), log, x


@case(X)
def enumerate_zip_map_filter_reversed(x):
    return (
        list(enumerate("ab", start=5)),
        list(map(lambda a, b: a + b, [1, 2], [3, 4, 5])),
        list(filter(None, [0, 1, "", "a"])),
        list(reversed(range(3))),
        list(reversed({"a": 1, "b": 2})),
        list(zip("ab", [1, 2], (x, x))),
        next(filter(lambda n: n > 1, [1, 2, 3])),
    )


@case(X)
def list_methods_with_bounds(x):
    items = [3, 1, 2, 1]
    found = items.index(1, 2), items.count(1), items.pop(0), items.pop()
    items.extend(i for i in range(2))
    items.insert(-1, 9)
    items.insert(100, 8)
    twin = items.copy()
    items.reverse()
    items.sort(reverse=True)
    twin.clear()
    return found, items, twin, x


@case(X)
def list_errors(x):
    found = []
    for action in (
        lambda: [].pop(),
        lambda: [1].pop(5),
        lambda: [1].index(2, 0, 1),
        lambda i=None: [1][i],
        lambda i="a": [1][i],
    ):
        try:
            action()
        except (IndexError, ValueError, TypeError) as error:
            found.append((type(error).__name__, str(error)))
    return found, x


@case(X)
def dict_methods_in_full(x):
    table = {"a": 1}
    found = table.setdefault("b", []), table.pop("z", None), table.get("q"), table.popitem()
    table.update([("c", 3)], d=4)
    table.update({"a": 5})
    merged = table | {"e": 6}
    table |= {"f": 7}
    return found, table, merged, dict.fromkeys("ab", 0), table.keys() & {"a", "z"}, list(table.items())[0], x


@case(X)
def dict_views_follow_the_dict(x):
    table = {"a": 1}
    keys, values, items = table.keys(), table.values(), table.items()
    table["b"] = 2
    return (
        list(keys),
        list(values),
        ("b", 2) in items,
        len(keys),
        "b" in keys,
        keys == {"a", "b"},
        keys - {"a"},
        x,
    )


@case(X)
def dict_errors(x):
    found = []
    for action in (
        lambda: {}.pop("a"),
        lambda: {}.popitem(),
        lambda: {[]: 1},
        lambda: dict([1]),
        lambda: dict([(1, 2, 3)]),
    ):
        try:
            action()
        except (KeyError, TypeError, ValueError) as error:
            found.append((type(error).__name__, str(error)))
    return found, x


@case(X)
def set_algebra(x):
    a, b = {1, 2, 3}, {2, 3, 4}
    return (
        a | b,
        a & b,
        a - b,
        a ^ b,
        a < {1, 2, 3, 4},
        a >= {1},
        a.isdisjoint({9}),
        a.union([7], (8,)),
        a.symmetric_difference([1]),
        frozenset(a) | b,
        {1, 2} == frozenset({1, 2}),
        x,
    )


@case(X)
def set_mutation(x):
    a = {1, 2}
    a.add(3)
    a.discard(9)
    a.remove(1)
    a.update([5], {6})
    a -= {5}
    a &= {2, 3, 6, 7}
    try:
        a.remove("missing")
    except KeyError as error:
        return a, error.args, len(a), x


@case(X)
def sets_of_tuples_and_frozensets(x):
    return (
        {(1, 2), (1, 2)},
        {frozenset({1}): "a"}[frozenset([1])],
        len({1, 1.0, True}),
        {None, "a"} - {None},
        x,
    )


@case(X)
def range_methods(x):
    r = range(2, 12, 3)
    return (
        len(r),
        r[1],
        r[-1],
        r[::-1],
        5 in r,
        6 in r,
        r.index(8),
        r.count(2),
        r == range(2, 13, 3),
        r.step,
        list(r),
        x,
    )


@case(X)
def tuple_methods(x):
    t = (1, 2, "a", 2)
    return t.count(2), t.index(2), t[2] == "a", t * 2, x, (1,) + (2,), () == (), len(t)


@case(X)
def conversions_between_containers(x):
    return (
        list("ab"),
        tuple([1, 2]),
        set([1, 1]),
        dict([("a", 1)]),
        dict(a=1),
        list({"k": 1}),
        tuple({"k": 1}.items()),
        str([1]),
        x,
    )


@case(X)
def number_parsing(x):
    return (
        int("0b11", 0),
        int(" 7 "),
        int("-1_000"),
        int("z", 36),
        float("1e-3"),
        float("nan") != float("nan"),
        complex("1+2j"),
        int(True),
        bool("False"),
        x,
    )


@case(X)
def hashes_are_consistent(x):
    return (
        hash(1) == hash(1.0),
        hash("a") == hash("a"),
        hash((1, "a")) == hash((1, "a")),
        hash(True) == hash(1),
        x,
    )


@case(X)
def identities_of_small_things(x):
    a = b = (1, 2)
    return a is b, None is None, id(a) == id(b), x is x, type(x) is torch.Tensor, x


@case(X)
def builtin_types_as_values(x):
    kinds = {int: "i", str: "s", type(x): "t"}
    return (
        [kinds.get(type(v), "?") for v in (1, "a", x, 1.5)],
        [t("5") for t in (int, float, str)],
        isinstance(1, (str, int)),
    )


@case(X, breaks="B102")
def fractions_and_decimals(x):
    return float(fractions.Fraction(1, 3) + 1), str(decimal.Decimal("1.10") + 1), x


@case(X)
def all_kinds_of_callables(x):
    return [callable(v) for v in (len, int, lambda: 0, 5, "a", X.add, print)], x


@case(X)
def character_functions(x):
    return (
        [chr(ord(c) + 1) for c in "abc"],
        string.ascii_lowercase[:3],
        "".join(sorted(set("hello"))),
        hex(10),
        oct(8),
        x,
    )


@case(X)
def deque_is_no_list(x):
    queue = collections.deque([1, 2])
    found = [queue + collections.deque([3]), queue * 2, queue == [1, 2]]
    for action in (lambda: queue[0:1], lambda: [1] + queue, lambda: [1] * "a"):
        try:
            found.append(action())
        except TypeError as error:
            found.append(type(error))
    return found, x


@case(X)
def addresses_are_keys(x):
    a, b = [1], [1]
    seen = {id(a)}
    memo = {id(a): "a", id(x): x}
    return id(a) in seen, id(b) in seen, memo[id(a)], memo.get(id(b)), memo[id(x)]


@case(X)
def texts_of_deques_and_ordered_dicts(x):
    queue = collections.deque([1, x.shape], maxlen=3)
    ordered = collections.OrderedDict(a=1, b=[queue])
    return str(queue), repr(ordered), f"{collections.OrderedDict()} {collections.deque()}"


@case(X)
def fields_of_format_strings(x):
    said = []
    for template, given in (
        *(("{!a}", ("é",)), ("{.shape} {}", (x, 3)), ("{[k]} {[1]}", ({"k": 2}, [x, 5]))),
        *(("{} {1}", (1, 2)), ("{2}", (1,)), ("{a}", ()), ("{", ()), ("{0.q}", (1,))),
    ):
        try:
            said.append(template.format(*given))
        except (ValueError, LookupError, AttributeError) as error:
            said.append(repr(error))
    return said


@pytest.mark.parametrize("one", case.cases, ids=str)
def test_captured_like_eager(one):
    one.check()

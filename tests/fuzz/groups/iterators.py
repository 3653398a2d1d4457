"""Iterators that are kept: advanced in turns, beside writes to what they go over, from outside and after breaks."""

from typing import Final

from tests.fuzz.grammar import Grammar

ITERATORS: Final = Grammar(
    "iterators",
    parameters=("T", "Items", "It", "It", "Order"),
    leaves={
        "Items": ("[3, 1, 2]", "[1, 1, 2, 2, 1]"),
        "It": ("iter([1, 2, 3])", "iter(())"),
        "Order": ("collections.OrderedDict(a=1, b=2)", "{'a': 1, 'b': 2}"),
    },
    expressions={
        "I": (
            "next($It, 9)",
            "next($It, 9)",
            "next($It, next($It, 7))",
            "len(list($It))",
            "sum($It)",
            "len(list(next(itertools.groupby($Items), (0, ()))[1]))",
            "sum(len(list(group)) for _, group in itertools.groupby($Items))",
            "next(itertools.count($B))",
            "next(itertools.count($I, $B))",
            "operator.length_hint($It)",
            "operator.length_hint(iter($Items))",
            "len($Items)",
            "$Order.popitem()[1] if $Order else 0",
            "sorted($Order.values())[0] if $Order else 0",
            "sum(a * b for a, b in zip($It, $Items))",
            "max($Items, default=0)",
        ),
        "B": (
            "$I in $It",
            "all($It)",
            "any($It)",
            "$It is $It",
            "iter($It) is $It",
            "$Order == $Order",
            "list($Order) == list($Order)",
        ),
        "It": (
            "iter($Items)",
            "iter($Order.values())",
            "itertools.chain($It, $Items)",
            "itertools.islice($It, 2)",
            "itertools.takewhile(lambda n: n < 3, $It)",
            "itertools.dropwhile(lambda n: n < 2, $It)",
            "itertools.accumulate($It)",
            "itertools.compress($It, [True, False, True])",
            "itertools.starmap(max, [(1, 2), (3, 0)])",
            "(len(list(group)) for key, group in itertools.groupby($Items))",
            "(n + 1 for n in $!It)",
            "map(abs, $It)",
            "filter(None, $It)",
            "iter(sorted($Items, key=lambda n: n % 2))",
            "iter(sorted($Items, key=lambda n: n % 2, reverse=True))",
            "iter(functools.partial(next, $It, 2), 2)",
            "iter(functools.partial(next, $It), 9)",
            "iter(functools.partial(next, $It), 9)",
            "iter({*$Items})",
            "(a for a, _ in itertools.zip_longest($!Items, $!Items))",
            "first_of_groups($Items)",
            "itertools.tee($It)[0]",
        ),
        "T": ("($T * next($It, 2))", "sum((x * next($It, 1) for x in $!T), torch.zeros(3))"),
        "Items": (
            "list($It)",
            "[*$It, 1]",
            "[n for n in $!It]",
            "[n for pair in zip($!It, $!It) for n in pair]",
            "[len(list(g)) for _, g in itertools.groupby($Items)]",
            "sorted($Items, key=lambda n: n % 2)",
            "sorted($Items, key=lambda n: n % 2, reverse=True)",
            "[*reversed($Items)]",
            "[*$Order.values()]",
            "[*{*$Items, 40, $I}]",
            "list({n * 7 for n in $!Items})",
        ),
        "Order": (
            "collections.OrderedDict(zip('abc', $Items))",
            "dict(zip('cab', $It))",
            "dict(reversed($Order.items()))",
        ),
    },
    statements=(
        "$=It = iter($@Items)",
        "$=It = iter($@Order.values())",
        "$@Items.append($I)",
        "$@Items.insert(0, $I)",
        "$@Items[:1] = [$I, $I]",
        "del $@Items[:1]",
        "$@Items.clear()",
        "$@Items.sort(key=lambda n: n % 2, reverse=True)",
        "$@Items.reverse()",
        "$@Items.extend(list(itertools.islice($It, 9)))",
        "$@Items.extend(n + len($@Items) for n in itertools.islice($!It, 4))",
        "$@Items += [n + len($@Items) for n in $!Items[:9]]",
        "$@Order.update((n, len($@Order)) for n in $!Items)",
        "$=I = next($@It, 5)",
        "$=I = next($@It, 6)",
        "$=T = $T + next($@It, 4)",
        "$@Order['c'] = $I",
        "$@Order.pop('a', None)",
        "$@Order.update(a=$I)",
        "$@Order['a'] = $@Order.pop('b', $I)",
        "supple.graph_break()",
    ),
    compound=(
        "for $~I in itertools.islice($@It, 4):\n    $loop",
        "for $~I, $~I2, _ in zip($@It, $@Items, range(4)):\n    $loop",
        "for $~I in itertools.islice($@It, 4):\n    $=T = $T + next($@It, 0)",
        "for $~I in list($@Items)[:9]:\n    $loop",
        "for $~I in {9, 1, 40, $I}:\n    $@Items.append($~I)",
        "with contextlib.suppress(StopIteration, RuntimeError):\n    $=I = next($@It)\n    $body",
    ),
    preamble="""
def first_of_groups(items):
    groups = itertools.groupby(items)
    kept = [group for _, group in groups][:2]
    return itertools.chain(*kept)

outside = [4, 5, 6]
running = iter(outside)
""",
    globals={"Items": "outside", "It": "running"},
    arguments={
        "Items": ("[1, 2]", "[]", "[2, 2, 3]", "outside", "[True, 1, 2.0]"),
        "It": ("iter([1, 2, 3])", "iter(outside)", "running", "iter((5, 6))",
               "(n for n in outside)", "iter({'a': 7}.values())"),
        "Order": ("{'a': 1}", "collections.OrderedDict(b=2, a=1)", "{}"),
    },
    aliases={
        "It": ("iter($@Items)", "$@It", "iter($@Order.values())"),
        "Items": ("$@Items",),
    },
)  # fmt: skip
"""The group; its loops take four items, for they may write what they go over."""

"""Values of any kind: operators, functions and methods on what they may refuse, and what they say then."""

from itertools import product
from typing import Final

from tests.fuzz.grammar import Grammar

VALUES: Final = (
    "'ab'", "b'ab'", "[1, 2]", "(1, 2)", "{1: 2}", "{1, 2}", "frozenset((1,))", "(-2)", "2.5", "None", "True", "1j",
    "range(3)", "Thing()", "Thing", "Count(2)", "Word('x')", "Row((1,))", "Fields(1, 2)", "$T.shape", "$T.shape[0]",
    "collections.deque((1,))", "collections.OrderedDict(a=1)", "len", "torch.float32", "...", "slice(1, 2)",
    "{1: 2}.keys()", "{1: 2}.items()", "iter((1, 2))", "(one for one in (1, 2))", "map(str, (1, 2))", "ValueError(1)",
    "operator.itemgetter(0)", "operator.attrgetter('real')", "operator.methodcaller('index', 1)",
    "functools.partial(max, 1)", "$T", "[$T]", "($T, 1)", "{1: $T}",
    "[(1, 2)]", "((1, 2), 'ab')", "zip((1, 2), 'ab')",
)  # fmt: skip
OPERATORS: Final = "+ - * / // % ** @ & | ^ << < <= > >= == != is in".split()
IN_PLACE: Final = "+= -= *= /= //= %= **= @= &= |= ^= <<= >>=".split()
GETTERS: Final = (
    "operator.itemgetter(0)", "operator.itemgetter(1)", "operator.itemgetter(-1)", "operator.itemgetter(0, 1)",
    "operator.itemgetter('a')", "operator.attrgetter('real')", "operator.attrgetter('T')", "operator.attrgetter('ndim')",
    "operator.attrgetter('shape.numel')", "operator.methodcaller('sum')", "operator.methodcaller('sum', 0)",
    "operator.methodcaller('sum', dim=0)", "operator.methodcaller('mean')", "functools.partial(max, 1)",
    "functools.partial(min, 1)", "functools.partial(sorted, reverse=True)",
)  # fmt: skip
FUNCTIONS: Final = (
    "len iter list tuple set frozenset dict sorted min max sum abs round int float complex str bool callable reversed "
    "next chr ord any all enumerate zip hash math.sqrt math.floor math.prod operator.index operator.itemgetter "
    "operator.attrgetter itertools.pairwise itertools.accumulate collections.Counter collections.deque copy.copy"
).split()
OF_TWO: Final = (
    "isinstance issubclass getattr hasattr divmod pow zip map filter range round int max enumerate next setattr "
    "delattr itertools.islice itertools.repeat itertools.combinations itertools.product functools.reduce "
    "operator.methodcaller operator.countOf operator.delitem operator.getitem operator.iadd operator.imul "
    "operator.ior operator.concat math.copysign"
).split()
METHODS: Final = (
    "append extend remove index count insert pop sort add discard update union difference issubset get setdefault "
    "join split startswith replace format rotate popleft keys numel __len__ __add__ __eq__ __hash__ __contains__"
).split()

KINDS: Final = Grammar(
    "kinds",
    kinds={"Any": "any", "Getter": "getter"},
    parameters=("Any", "Any", "T", "Getter"),
    leaves={
        "Any": VALUES,
        "Getter": GETTERS,
        "Own": ("Count(2)", "Word('x')", "Row((1,))", "Fields(1, 2)", "Thing()"),
    },
    expressions={
        "Any": ("[$Any]", "($Any, $Any)", "[$Any, $Any]", "{1: $Any}", "$Any", "$Any", "$Any"),
        "S": (
            *(f"said(lambda: ($Any) {symbol} ($Any))" for symbol in OPERATORS * 2),
            *("said(lambda: $Getter($Any))", "said(lambda: $Getter([$T, $Any]))", "said(lambda: $Getter($T))")
            * 3,
            *(f"said(lambda: {name}($Any))" for name in FUNCTIONS),
            *(f"said(lambda: {name}($Any, $Any))" for name in OF_TWO),
            *(
                f"said(lambda: ($Any).{name}({given}))"
                for name, given in product(METHODS, ("$Any", "", "$Any, $Any"))
            ),
            "said(lambda: ($Any)[$Any])",
            "said(lambda: ($Any)($Any))",
            "said(lambda: -$Any)",
            "said(lambda: not $Any)",
            "said(lambda: [*$Any])",
            "said(lambda: {**$Any})",
            "said(lambda: format($Any, '3'))",
            "said(lambda: '%s %d' % ($Any, $Any))",
            "said(lambda: sorted($Any, key=$Any))",
            *(
                "said(lambda: ($Any,) == ($Any, $Any))",
                "said(lambda: ($T, $Any) == ($Any,))",
                "said(lambda: ($T, $Any) == ($T,))",
                "said(lambda: [$T, $Any] == [$T])",
                "said(lambda: ($T,) < ($T, 1))",
                "said(lambda: $Own < $Any)",
                "said(lambda: $Any >= $Own)",
                "said(lambda: $Own + $Any)",
            )
            * 4,
        ),
    },
    statements=("$=S = $S",) * 3
    + (
        "history.append($S)",
        "history.append(($S, $S))",
        "$=T = $T + len($S)",
    ),
    compound=(
        "for $~Any in ($Any, $Any):\n    history.append($S)",
        "try:\n    $~Any = $Any\n    del $~Any[$Any]\n    $body\nexcept Exception as $~E:\n    history.append(told($~E))",
        "try:\n    $~Any = $Any\n    $~Any[$Any] = $Any\nexcept Exception as $~E:\n    history.append(told($~E))",
        "try:\n    $~Any, $~Any2 = $Any\n    history.append($S)\nexcept Exception as $~E:\n"
        "    history.append(told($~E))",
        *(
            f"try:\n    $~Any = $Any\n    $~Any {symbol} $Any\n    history.append(said(lambda: $~Any))\n"
            "except Exception as $~E:\n    history.append(told($~E))"
            for symbol in IN_PLACE
        ),
        "try:\n    $~Any = {1: $Any}\n    $~Any |= $Any\n    history.append(said(lambda: $~Any))\n"
        "except Exception as $~E:\n    history.append(told($~E))",
        "match $Any:\n    case [$~Any, *_]:\n        history.append($S)\n    case {1: $~Any}:\n"
        "        history.append($S)\n    case int() | str():\n        $body\n    case _:\n        $body",
    ),
    definitions=(),
    preamble="""
import collections, copy, functools, itertools, math, operator
history = []


class Thing:
    def __repr__(self):
        return "a thing"


class Count(int):
    pass


class Word(str):
    pass


class Row(list):
    pass


Fields = collections.namedtuple("Fields", "first second")
TOLD = (int, float, complex, str, bytes, tuple, list, dict, set, frozenset, type(None), range, collections.deque)


def said(function):
    try:
        found = function()
    except Exception as error:
        return type(error).__name__ if " at 0x" in str(error) else f"{type(error).__name__}: {error}"
    if isinstance(found, torch.Tensor):
        return found.shape, found
    text = repr(found) if isinstance(found, TOLD) else ""
    return f"{type(found).__name__} {'' if ' at 0x' in text else text}"
""",
    arguments={
        "Any": tuple(value for value in VALUES if "$" not in value and "lambda" not in value),
        "Getter": GETTERS,
        "T": ("tensor(2)", "torch.ones(3)", "torch.tensor(2.0)", "torch.tensor(1)"),
    },
    before=("Thing.__name__ = 'Renamed'", "Count.__name__ = 'Renamed'", "Row.__qualname__ = 'Renamed'"),
    most_calls=4,
)

"""Long rows of single operations on values that Python has built in: containers, iterators, objects, numbers.

Each operation is tried by itself, so that what raises does not end the program, and tells its result.
"""

from typing import Final

from tests.fuzz.grammar import Grammar

_VALUES: Final = (
    "0", "1", "2", "3", "-1", "True", "False", "1.0", "2.5", "-0.0", "'a'", "'b'", "''", "None", "(1, 2)", "()",
    "b'ab'", "10**20", "1j",
)  # fmt: skip

_OF_LISTS: Final = (
    "$@List.append($Val)", "$@List.insert($Val, $Val)", "$@List.pop()", "$@List.pop($Val)",
    "$@List.remove($Val)", "$@List.index($Val)", "$@List.index($Val, 1)", "$@List.count($Val)",
    "$@List.extend($List)", "$@List.extend(itertools.islice($@G, 9))", "$@List.reverse()", "$@List.sort()",
    "$@List.sort(key=str, reverse=True)", "$@List.sort(key=lambda each: 0, reverse=True)", "$@List.copy()",
    "$@List.clear()", "$@List.__setitem__($Val, $Val)", "$@List.__delitem__($Val)",
    "$@List.__setitem__(slice($Val, $Val), $List)", "$@List.__setitem__(slice(None, None, 2), $List)",
    "$@List.__delitem__(slice($Val, $Val))", "$@List.__delitem__(slice(None, None, -2))",
    "$@List.__iadd__($List)", "$@List.__iadd__(itertools.islice($@G, 9))", "$@List.__imul__(2) if len($@List) < 5 else 0",
    "$@List[$Val]", "$@List[$Val:$Val]", "$@List[::-1]", "$@List[$Val::$Val]", "$List + $List", "$List * 2",
    "$List == $List", "$List < $List", "$Val in $@List", "sorted($@List)", "sorted($@List, key=repr)",
    "sum($@List)", "sum($@List, $Val)", "min($@List)", "max($@List, key=str)", "max($@List, default=$Val)",
    "any($@List)", "all($@List)", "[*reversed($@List)]", "[*enumerate($@List, 1)]", "[*zip($@List, $List)]",
    "[*zip($@List, $List, strict=True)]", "tuple($@List)", "[*map(str, $@List)]", "repr($@List)",
    "' '.join($@List)", "math.prod($@List)", "len($@List)", "$@List is $List", "[*itertools.pairwise($@List)]",
    "[(k, [*g]) for k, g in itertools.groupby($@List)]", "functools.reduce(lambda a, b: a + b, $@List)",
    "bisect.bisect($@List, $Val)", "collections.Counter($@List).most_common()",
    "grown_while_read($@List, $@List)", "[$@List.pop() for $~Val in $@List]",
    "[$@List.pop(0) for $~Val in $@List]", "[$@List.insert(0, 7) for $~Val in itertools.islice($@List, 4)]",
    "(lambda first, *others: others)(*$@List)",
)  # fmt: skip

_OF_DICTS: Final = (
    "$@Dict.__setitem__($Val, $Val)", "$@Dict.__delitem__($Val)", "$@Dict.pop($Val)", "$@Dict.pop($Val, $Val)",
    "$@Dict.popitem()", "$@Dict.setdefault($Val, $Val)", "$@Dict.setdefault($Val)", "$@Dict.get($Val, $Val)",
    "$@Dict.update($Dict)", "$@Dict.update($@G)", "$@Dict.update(a=$Val, c=$Val)", "$@Dict.clear()",
    "$@Dict.__ior__($Dict)", "$Dict | $Dict", "$@Dict.copy()", "$@Dict[$Val]", "$Val in $@Dict",
    "$Val in $@Dict.values()", "($Val, $Val) in $@Dict.items()", "[*$@Dict]", "[*$@Dict.values()]",
    "[*$@Dict.items()]", "[*reversed($@Dict)]", "[*reversed($@Dict.items())]", "$Dict == $Dict",
    "$@Dict.keys() & $Dict.keys()", "$@Dict.keys() == $Dict.keys()", "$@Dict.items() - $Dict.items()",
    "len($@Dict)", "next(iter($@Dict))", "next(reversed($@Dict))", "dict.fromkeys($@List, $Val)",
    "dict(zip($@List, $List))", "{**$@Dict, 'b': $Val}", "sorted($@Dict)", "max($@Dict, key=$@Dict.get)",
    "repr($@Dict)", "dict(**$@Dict)", "(lambda **named: named)(**$@Dict)", "bool($@Dict)",
    "$@Dict.move_to_end($Val)", "$@Dict.move_to_end($Val, last=False)", "$@Dict.popitem(last=False)",
    "$@Dict.most_common(1)", "$@Dict.subtract($Dict)", "$@Dict.total()", "[*$@Dict.elements()]",
    "[$@Dict.update({($~Val, 1): 1}) for $~Val in $@Dict if len($@Dict) < 6]",
    "[$@Dict.pop($~Val) for $~Val in $@Dict]", "[$@Dict.pop($~Val) for $~Val in [*$@Dict]]",
    "[$@Dict.__setitem__($~Val, 5) for $~Val in $@Dict]", "$@Dict.__setitem__('a', $@Dict.pop('a'))",
)  # fmt: skip

_OF_SETS: Final = (
    "$@Set.add($Val)", "$@Set.discard($Val)", "$@Set.remove($Val)", "$@Set.clear()", "$@Set.copy()",
    "$@Set.update($List, $List)", "$@Set.__ior__($Set)", "$@Set.__isub__($Set)", "$@Set.__iand__($Set)",
    "$@Set.__ixor__($Set)", "$Set | $Set", "$Set & $Set", "$Set - $Set", "$Set ^ $Set", "$Set <= $Set",
    "$Set < $Set", "$Set == $Set", "$@Set.isdisjoint($List)", "$@Set.issubset($List)",
    "$@Set.symmetric_difference_update($List)", "$@Set.difference($List, $List)", "$Val in $@Set",
    "len($@Set)", "sorted($@Set, key=repr)", "frozenset($@Set)", "{frozenset($@Set): 1}[frozenset($Set)]",
    "hash(frozenset($@Set)) == hash(frozenset($Set))", "sum(1 for _ in $@Set)", "bool($@Set)",
    "[$@Set.add(($~Val, 1)) for $~Val in $@Set if len($@Set) < 9]", "[$@Set.discard($~Val) for $~Val in $@Set]",
    "[$@Set.discard($~Val) for $~Val in [*$@Set]]", "len([$@Set.pop()])",
    "[*$@Set]", "[*$Set]", "$@Set.pop()", "next(iter($@Set))", "[*map(str, $@Set)]", "[*enumerate($@Set)]",
)  # fmt: skip

_OF_DEQUES: Final = (
    "$@Deque.append($Val)", "$@Deque.appendleft($Val)", "$@Deque.pop()", "$@Deque.popleft()",
    "$@Deque.extend($List)", "$@Deque.extendleft($List)", "$@Deque.rotate($Val)", "$@Deque.rotate(-1)",
    "$@Deque.insert(1, $Val)", "$@Deque.remove($Val)", "$@Deque.reverse()", "$@Deque.index($Val)",
    "$@Deque.count($Val)", "$@Deque.clear()", "$@Deque.copy()", "$@Deque.maxlen", "$@Deque[$Val]",
    "$@Deque.__setitem__(0, $Val)", "$@Deque.__delitem__(0)", "[*$@Deque]", "[*reversed($@Deque)]",
    "$@Deque == collections.deque($@List)", "$Val in $@Deque", "len($@Deque)",
    "$@Deque + collections.deque($List)", "[$@Deque.append(0) for $~Val in $@Deque if len($@Deque) < 6]",
    "[$@Deque.popleft() for $~Val in $@Deque]",
)  # fmt: skip

_OF_ITERATORS: Final = (
    "next($@G)", "next($@G)", "next($@G, $Val)", "[*$@G]", "[*itertools.islice($@G, 2)]", "sum(1 for _ in $@G)",
    "$Val in $@G", "operator.length_hint($@G)", "iter($@G) is $@G", "[*zip($@G, $@G)]", "[*zip($@G, $@List)]",
    "[*zip($@List, $@G)]", "any($@G)", "all($@G)", "min($@G, default=$Val)", "dict($@G)", "next($@G)[1]",
    "[*next($@G)[1]]", "$@G.send($Val)", "$@G.close()", "$@G.throw(KeyError, $Val)", "$@G.gi_frame is None",
    "[(each, next($@G, 8)) for each in $@G]", "[next($@G) for _ in range(3)]", "(lambda *more: more)(*$@G)",
    "grown_while_read($@List, $@G)", "functools.reduce(max, $@G)",
)  # fmt: skip

_MADE: Final = (
    "iter($@List)", "iter($@Dict)", "iter($@Dict.items())", "iter($@Dict.values())", "iter($@Deque)",
    "reversed($@List)", "reversed($@Dict)", "enumerate($@G, 2)", "enumerate($@List)", "zip($@G, $@List)",
    "map(lambda each: (each, 1), $@G)", "filter(None, $@G)", "itertools.chain($@List, $@G)",
    "itertools.chain.from_iterable([$@List, $@G])", "itertools.islice($@G, 1, None, 2)", "itertools.islice(itertools.cycle($@List), 5)",
    "itertools.islice(itertools.count($Val), 5)", "itertools.islice(itertools.count(1, $Val), 5)", "itertools.repeat($Val, 3)", "itertools.islice(itertools.repeat($Val), 5)",
    "itertools.accumulate($@List)", "itertools.accumulate($@G, initial=$Val)", "itertools.takewhile(bool, $@G)",
    "itertools.dropwhile(bool, $@G)", "itertools.filterfalse(bool, $@G)", "itertools.starmap(max, [(1, 2), (3, 0)])",
    "itertools.compress($@G, [1, 0, 1])", "itertools.zip_longest($@G, $@List)", "itertools.product($@List, 'ab')",
    "itertools.permutations($@List, 2)", "itertools.combinations($@List, 2)", "itertools.pairwise($@G)",
    "itertools.tee($@G)[0]", "itertools.groupby($@List)", "itertools.groupby($@List, key=bool)",
    "next(itertools.groupby($@List))[1]", "iter($@List.pop, $Val)", "iter(lambda: next($@G), $Val)",
    "iter(functools.partial(next, $@G, 3), 3)", "counting($@List)", "counting($@G)", "delegating($@G)",
    "(each for each in $@G)", "(each for each in $@List if each)", "map(str, $@List)", "iter('ab')",
    "iter(range($Val))", "first_groups($@List)",
)  # fmt: skip

_OF_OBJECTS: Final = (
    "setattr($@Obj, 'a', $Val)", "setattr($@Obj, 'b', $Val)", "getattr($@Obj, 'a')", "getattr($@Obj, 'b', $Val)",
    "delattr($@Obj, 'a')", "delattr($@Obj, 'b')", "hasattr($@Obj, 'a')", "$@Obj.a", "$@Obj.missing",
    "vars($@Obj)", "[*vars($@Obj)]", "vars($@Obj) == vars($Obj)", "$@Obj == $Obj", "$@Obj is $Obj",
    "vars($@Obj).pop('a')", "vars($@Obj).update(b=$Val)", "$@Obj.__dict__.setdefault('c', $Val)",
    "$@Obj.twice", "setattr($@Obj, 'twice', $Val)", "$@Obj.grown($Val)", "type($@Obj).shared",
    "setattr(type($@Obj), 'shared', $Val)", "isinstance($@Obj, Thing)", "callable($@Obj)", "bool($@Obj)",
    "len($@Obj)", "$@Obj[$Val]", "$Val in $@Obj", "$@Obj + $Val", "copy.copy($@Obj).__dict__",
    "{$@Obj: 1}.get($Obj, 0)", "operator.attrgetter('a')($@Obj)", "sorted(vars($@Obj))",
)  # fmt: skip

_OF_VALUES: Final = (
    "str($Val)", "repr($Val)", "f'{$Val!r:>6}'", "f'{$Val}'", "'%s' % ($Val,)", "hash($Val) == hash($Val)",
    "type($Val).__name__", "bool($Val)", "$Val == $Val", "$Val is $Val", "$Val < $Val", "$Val + $Val", "$Val - $Val",
    "$Val * 2", "$Val / $Val", "$Val // $Val", "$Val % $Val", "divmod($Val, $Val)", "-$Val",
    "~$Val", "$Val & $Val", "$Val | $Val", "$Val >> 1", "abs($Val)", "round($Val)", "round($Val, 1)", "int($Val)",
    "float($Val)", "complex($Val)", "len($Val)", "$Val[0]", "[*$Val]", "isinstance($Val, int)",
    "isinstance($Val, (bool, float))", "min($Val, $Val)", "max($Val, $Val)", "sum([$Val, $Val])", "math.floor($Val)",
    "math.sqrt($Val)", "math.copysign(1, $Val)", "$Val if $Val else $Val", "$Val and $Val", "$Val or $Val",
    "not $Val", "($Val).upper()", "($Val).real", "($Val).is_integer()", "($Val).bit_length()", "range($Val)[-1]",
    "[*range($Val)]", "{$Val: 1, $Val: 2}", "{$Val, $Val} == {$Val}", "($Val, $Val).index($Val)", "slice($Val).indices(3)",
    "$T * $Val", "$T + $Val", "$T[$Val]", "$T.sum(dim=$Val)", "$T.view($Val)", "torch.full((2,), $Val)", "$T.reshape($Val, -1)",
)  # fmt: skip

OPERATIONS: Final = Grammar(
    "operations",
    kinds={"G": "it", "List": "items", "Dict": "table", "Set": "members", "Deque": "queue", "Val": "value", "T": "t"},
    parameters=("List", "List", "Dict", "Dict", "Set", "Deque", "G", "Obj", "Obj", "Val", "Val", "T"),
    leaves={
        "Val": _VALUES,
        "List": ("[1, 1, 2, 2, 1]", "[]", "['a', 'b']"),
        "Dict": ("{'a': 1, 'b': 2}",),
        "Set": ("{1, 2}", "{40, 9, 33, 1}"),
        "Deque": ("collections.deque([1, 2])",),
        "G": ("iter([1, 2])",),
        "Obj": ("Thing(1)",),
        "T": ("torch.ones(3)",),
    },
    expressions={
        "X": (*_OF_LISTS, *_OF_DICTS, *_OF_SETS, *_OF_DEQUES, *_OF_ITERATORS, *_OF_OBJECTS, *_OF_VALUES),
        "Made": _MADE,
    },
    statements=("$=Res = attempt(lambda: $X)",) * 6
    + (
        "$=Res = attempt(lambda: $X)\nsupple.graph_break()",
        "$=G = $Made",
        "$=G = $Made",
        "$=G = $Made",
        "$=List = [*$@List]",
        "$=List = $@List",
        "$=Dict = {**$@Dict}",
        "$=Dict = collections.OrderedDict($@Dict)",
        "$=Dict = collections.Counter($@List)",
        "$=Dict = collections.defaultdict(list, $@Dict)",
        "$=Deque = collections.deque($@List, $!Val if type($!Val) is int else 2)",
        "$=Set = {*$@Dict}",
        "$=Obj = $@Obj",
        "$=Obj = Thing($Val)",
        "$=T = $T * 2",
        "with contextlib.suppress(Exception):\n    $=Res = plain($X)\n    $=Res2 = plain($X)",
        "with contextlib.suppress(Exception):\n    $@List[$!Val:] = $@G\n    $=Res = plain($X)",
        "try:\n    $=Res = plain($X)\nexcept (TypeError, KeyError, StopIteration):\n    $=Res = 'other'\n"
        "except Exception as $~Error:\n    $=Res = str($~Error)\nelse:\n    $=Res2 = plain($X)",
    ),
    preamble="""
def attempt(work):
    try:
        return plain(work())
    except Exception as error:
        return f'{type(error).__name__} {error.args}'

def plain(value):
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, *map(plain, value)]
    return 'iterator' if hasattr(value, '__next__') else value

def counting(items):
    got = None
    try:
        for item in items:
            try:
                got = yield item, got
            except KeyError as error:
                got = error.args
    finally:
        ended.append(got)
    return 'end'

def delegating(inner):
    last = yield from inner
    yield last

def first_groups(items):
    kept = [group for _, group in itertools.groupby(items)][:2]
    return itertools.chain(*kept)

def grown_while_read(items, others):
    for item in others:
        if len(items) > 6:
            break
        items.append(item)
    return len(items)

class Thing:
    shared = 3

    def __init__(self, a):
        self.a = a

    @property
    def twice(self):
        return self.a * 2

    def grown(self, by):
        self.a += by
        return self.a

    def __eq__(self, other):
        return isinstance(other, Thing) and self.a == other.a

    def __hash__(self):
        return 5

class Box(Thing):
    def __len__(self):
        return len(self.a)

    def __getitem__(self, key):
        return self.a[key]

    def __add__(self, other):
        return self.a + other

ended = []
""",
    arguments={
        "List": ("[1, 2, 3]", "[]", "[1, 1, 2, 2, 1]", "[True, 1.0, 1]", "['b', 'a']", "[None, 0]", "[(1, 2), ('a', 3)]"),
        "Dict": (
            "{'a': 1, 'b': 2}", "{'b': 2, 'a': 1}", "{}", "{1: 'a'}", "collections.OrderedDict(a=1, b=2)",
            "collections.Counter('aab')", "collections.defaultdict(list, a=1)", "{True: 1, 2.0: 2}",
        ),
        "Set": ("{1, 2, 3}", "set()", "{'a'}", "{True, 2.5}", "frozenset((1, 2))", "{9, 1, 33, 5}"),
        "Deque": (
            "collections.deque([1, 2], 2)", "collections.deque([1, 2], 5)", "collections.deque([1, 2])",
            "collections.deque()",
        ),
        "G": ("iter([1, 2, 3])", "iter({'a': 1})", "(n for n in (1, 2))", "iter(())", "zip('ab', (1, 2))"),
        "Obj": ("Thing(1)", "Thing(True)", "Box([1])", "Box('ab')", "Thing(None)"),
        "Val": _VALUES,
        "T": ("torch.ones(3)", "torch.zeros(2, 3)"),
    },
    aliases={"List": ("$@List",), "Dict": ("$@Dict",), "G": ("iter($@List)", "$@G"), "Obj": ("$@Obj",)},
    before=("setattr(Thing, 'shared', $Val)", "ended.append($Val)"),
    most_statements=16,
)  # fmt: skip
"""Iterators are not returned: what is left of one comes out of compiled code as a generator."""

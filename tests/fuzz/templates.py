"""The plain grammar: Python of all kinds around small tensors; see `grammar` for what templates mean."""

from typing import Final

from tests.fuzz.grammar import Grammar

KINDS: Final = {
    "T": "t", "I": "n", "F": "f", "B": "flag", "S": "s", "L": "xs", "X": "ts", "D": "d", "K": "counts",
    "P": "pair", "O": "box", "M": "net", "A": "fn", "G": "gen", "E": "error", "Z": "members", "R": "record",
    "N": "point", "Q": "queue", "V": "numbers", "W": "tensors", "C": "Class", "H": "made",
}  # fmt: skip
"""Letters of kinds, and how variables of them are called.

Tensor, int, float, bool, str, list of ints, list of tensors, dict of tensors, dict of ints,
tuple of a tensor and an
int, object, module, function of a tensor, generator of tensors, exception, set of ints, dataclass,
named tuple,
deque of ints, iterator of ints, iterator of tensors; class and function that only their own templates use.
"""

LEAVES: Final[dict[str, tuple[str, ...]]] = {
    "T": ("torch.ones(3)", "torch.zeros(2, 3)", "torch.tensor(2.0)"),
    "I": ("0", "1", "2", "3", "-1"),
    "F": ("0.5", "2.0", "-1.0"),
    "B": ("True", "False"),
    "S": ("'a'", "'b'", "''"),
    "L": ("[]", "[1, 2]", "[3, 1, 2]"),
    "X": ("[]", "[torch.ones(3)]"),
    "D": ("{}", "{'a': torch.ones(3)}"),
    "K": ("{}", "{'a': 1}", "{'b': 2, 'a': 1}"),
    "P": ("(torch.ones(3), 1)",),
    "O": ("Box(torch.ones(3))", "Slotted(torch.zeros(3), 2)"),
    "M": ("Layer(2)", "nn.Identity()"),
    "A": ("torch.relu", "(lambda x: x + 1)", "Box(torch.ones(3))"),
    "G": ("iter([torch.ones(3)])",),
    "E": ("ValueError('v')", "KeyError('k')", "Oops(1)"),
    "Z": ("set()", "{1, 2}"),
    "R": ("Pair(torch.ones(3))",),
    "N": ("Point(torch.ones(3), 1)",),
    "Q": ("collections.deque([1, 2])",),
    "V": ("iter([1, 2, 3])",),
    "W": ("iter([torch.ones(3)])",),
}

EXPRESSIONS: Final[dict[str, tuple[str, ...]]] = {
    "T": (
        "($T + $T)", "($T * $F)", "($T - $I)", "torch.relu($T)", "$T.sum()", "$T.clone()", "$T[$I % 2]",
        "$T[:1]", "$T[..., 1:]", "$T.view(-1)", "$T.t()", "$T.detach()", "torch.where($T > 0, $T, $F)",
        "$P[0]", "$O.value", "$O.double", "$M($T)", "$M.weight", "$A($T)", "$A($A($T))", "$D['a']",
        "$D.get($S, $T)",
        "$X[0]", "$X[-1]", "sum($X, $T)", "torch.stack([$T.sum(), $T.sum()])", "next($G)", "next($G, $T)",
        "spread($T, $I)", "spread($T, *$L, scale=$F)", "spread($T, **$K)", "($T if $B else $T)",
        "functools.reduce(torch.add, $X, $T)", "$O($T)", "$R.left",
        "torch.cat([$T.view(-1), $T.view(-1)])[:8]",
        "torch.full((2, 3), $I)", "$T.new_zeros(3)", "say($T)", "$T.max(-1).values", "$T.add_($T)",
        "torch.rand(3)", "$T.reshape(-1)[: $I]", "next(iter($D.values()), $T)", "F.dropout($T, 0.5)",
        "list($G)[0]", "$T.to(torch.float64)", "$T.requires_grad_()",
        "max($X, key=lambda each: each.sum().item())",
        "$T.expand(2, 3)", "Point($T, $I).moved(1).x", "sum(($T for $~I in range($!I % 3)), $T)",
        "copy.copy($T)", "copy.deepcopy($O).value", "$T.data", "next($W, $T)",
        "[lambda x, k=k: x * k for k in range(3)][$I]($T)", "torch.from_numpy($T.numpy() * 2)",
        "torch.from_numpy($T.numpy())",
        "$T.squeeze(0)", "$T.index_select(0, torch.tensor([0]))",
        "$T[$T > 0]", "torch.nonzero($T)", "$T.type_as($T)", "$T.T", "F.relu($T, inplace=True)",
        "$T.sort().values",
        "torch.func.grad(lambda x: (x * x).sum())($T)", "torch.cat($X)[:8]", "torch.where($T > $I)[0]",
        "$N.x",
        "$N[0]",
        "torch.autograd.grad($T.sum(), $T)[0]", "$T.to(torch.int64)", "$T.half().float()", "times(2, $T)",
        "rest(*$X, x=$T)",
    ),
    "I": (
        "($I + $I)", "($I * 2 % 7)", "($I % 3)", "($I // $I)", "len($L)", "len($X)", "$T.dim()",
        "$T.shape[0]",
        "$T.numel()", "$O.count", "$M.count", "$K['a']", "$K.get($S, $I)", "$L[0]", "$L[$I]", "len($S)",
        "$P[1]",
        "min($I, $I)", "sum($L)", "int($T.sum())", "opaque($I)", "say($I)", "($I if $B else $I)", "$O[$I]",
        "len($O)", "len($D)", "max($L, default=$I)", "abs($I)", "$R.right", "$L.pop()", "$L.index($I)",
        "hash($I)",
        "$O.extra", "sum($~I for $~I in $!L)", "next(($~I for $~I in $!L if $~I > 1), $I)", "Color($I).value",
        "len({$I, $I})", "$T.size(-1)", "(id($O) * 0)", "math.gcd($I, $I)", "int($S)",
        "($T.sum().item() // 1)",
        "getattr($O, 'missing', $I)", "$K.setdefault($S, $I)", "$K.pop($S, $I)",
        "sorted($L, key=lambda each: -each)[0]",
        "divmod($I, $I)[0]", "(pow($I, 2) % 7)", "round($F)", "next($V, $I)", "sum(1 for _ in $L)",
        "$L.count($I)", "$N.y",
        "(functools.reduce(lambda a, b: a * 2 + b, $L, $I) % 9)", "operator.itemgetter(0)($L)", "$Q[0]",
        "$Q.pop()", "len($Q)",
        "(Color.GREEN.value + $I)", "sum($K.values())", "min($L, key=lambda each: abs(each - $!I))",
        "fact($I % 4)",
        "random.randint(0, 3)", "next(reversed($L))", "bisect.bisect($L, $I)", "len(str($T))", "cached($I)",
        "bits($I)",
    ),
    "F": (
        "($F + $F)", "($F * $I)", "float($I)", "($I / $I)", "float($T.sum())", "$T.sum().item()", "round($F)",
        "max($F, $I)", "math.floor($F) * 1.0", "say($F)", "math.sqrt($I)",
    ),
    "B": (
        "($I > $I)", "not $B", "($B and $B)", "($B or $B)", "$I in $L", "$S in $D", "$T is $T", "$X is $X",
        "$O is $O",
        "isinstance($O, Slotted)", "$T.sum() > $I", "bool(($T > 1).any())", "$S == $S", "$L == $L", "$L",
        "$K",
        "all($~I > 0 for $~I in $!L)", "hasattr($O, $S)", "$O == $O", "0 <= $I < $I", "$F > $I",
        "$P[0] is $T",
        "torch.is_grad_enabled()", "$T is None", "(lambda: $B)()", "$D.keys() == $K.keys()", "$I == $F",
        "isinstance($I, bool)", "type($O) is Box", "set($L) <= $Z", "$K.items() >= $K.items()", "$L < $L",
        "math.isnan($F)",
        "$T.requires_grad", "$T.is_contiguous()", "torch.equal($T, $T)", "(supple.is_compiling() and False)",
        "$I in $O", "$T.shape == $T.shape", "$M.training", "callable($A)",
        "any($L)",
    ),
    "S": (
        'f"{$@I}-{$@S}"', "($S + $S)[:8]", "$S.upper()", "str($I)", "repr($L)", 'f"{$@F:.2f}"',
        "str(tuple($T.shape))",
        "','.join(str($~I) for $~I in $!L)", "'%s %d' % ($S, $I)", "type($O).__name__", "str($E)",
        'f"{$@S!r:>4}"',
        "sorted($K)[0]", "say($S)", "str($T.dtype)", "next(iter($K))", "$S.join(['x', $S])[:8]",
        "$S.replace('a', $S)[:8]", "'{:>3}|{}'.format($S, $I)", "$S[::-1]",
        "'%r' % ($L,)", "str($N)", "repr($K)", "str(sorted(locals()))", "$O.__class__.__mro__[0].__name__",
        "f\"{$@I:03d}\"",
        "str(inspect.signature(spread))", "re.sub('a', 'b', $S)", 'f"{$@T}"[:9]', "Color($I).name",
    ),
    "L": (
        "[$I, $I]", "[$I for $~I in range($!I % 4)]", "[$~I + 1 for $~I in $!L if $~I % 2]", "$L[1:]",
        "sorted($L)",
        "list(range($I % 4))", "list($K.values())", "$O.items", "list($L)", "($L + $L)[:5]",
        "list(map(abs, $L))",
        "[$I, *$L[:3]]", "list(reversed($L))", "list($O)", "sorted($Z)",
        "[$~I for $~I, $~I2 in zip($!L, $!L)]",
        "list(itertools.accumulate($L))", "$L.copy()", "$T.long().tolist()", "[len($~S) for $~S in $!K]",
        "list(filter(None, $L))", "$L[::-1]", "list(itertools.chain($L[:2], $L[:2]))", "list($V)", "list($Q)",
        "list(map(lambda a, b: a + b, $L, $L))",
        "[a for a, b in itertools.groupby($L)]", "(list(zip($L, $L, strict=True)) and [])",
        "sorted($L, reverse=$B)",
        "list(itertools.islice($V, 2))", "copy.copy($L)", "[*$Q, *$L[:2]]", "($L * 2)[:5]", "list($Z)",
        "list(range($I, 0, -1))[:4]",
    ),
    "X": (
        "[$T, $T]", "[$T]", "[$T for $~I in range($!I % 3)]", "[$~T * 2 for $~T in $!X]", "list($D.values())",
        "list($T.unbind(0))", "$X[:2]", "[$A($~T) for $~T in $!X]", "list($G)", "[$T, *$X[:2]]",
        "list(map($A, $X))",
        "list($T.split(1))", "[$~T for $~I, $~T in enumerate($!X) if $~I != $I]",
        "sorted($X, key=lambda each: each.dim())",
    ),
    "D": (
        "{'a': $T, 'b': $T}", "{$S: $T}", "{str($~I): $T for $~I in $!L}", "dict($D)", "{**$D, 'a': $T}",
        "{$~S: $~T + 1 for $~S, $~T in $!D.items()}", "($D | {'c': $T})", "dict(a=$T)", "dict(zip('ab', $X))",
    ),
    "K": (
        "{'a': $I}", "{$S: $I}", "{str($~I): $~I for $~I in $!L}", "dict($K)", "{**$K, 'b': $I}",
        "dict(collections.Counter($S))", "{$~S: $~I + 1 for $~S, $~I in $!K.items()}",
    ),
    "P": ("($T, $I)", "($T, len($L))", "Point($T, $I)", "$P", "max(($T, 1), $P, key=lambda each: each[1])"),
    "O": ("Box($T, $I)", "Slotted($T, $I)", "($O + $I)", "($O if $B else $O)", "$O.__class__($T)"),
    "M": (
        "Layer($I)", "Net($I % 3)", "($M if $B else $M)", "nn.Sequential($M)", "$M.train($B)",
        "nn.Linear(3, 3, bias=False).requires_grad_(False)",
    ),
    "A": (
        "(lambda $~T: $T)", "(lambda $~T, n=$!I: $~T * n)", "functools.partial(torch.add, $T)", "$M", "$O",
        "functools.partial(spread, n=$I)", "$O.step", "torch.neg", "torch.nn.functional.relu", "say",
        "functools.partial($A)", "$T.add", "torch.no_grad()(lambda $~T: $T)",
    ),
    "G": (
        "($T for $~I in range($!I % 4))", "(($~T + $I) for $~T in $!X)", "iter($X)", "map($A, $X)",
        "($~T for $~T in $!X if $B)",
    ),
    "E": ("ValueError($S)", "KeyError($S)", "Oops($I)", "IndexError($I, $S)", "StopIteration($I)"),
    "Z": ("{$I, $I}", "set($L)", "{$~I % 3 for $~I in $!L}", "($Z | $Z)", "($Z - $Z)", "frozenset($Z)"),
    "N": ("Point($T, $I)", "$N._replace(x=$T)", "$N.moved($I)", "Point(*$P)"),
    "Q": ("collections.deque($L)", "collections.deque($L, maxlen=2)", "copy.copy($Q)"),
    "V": (
        "iter($L)", "iter(range($I))", "map(abs, $L)", "filter(None, $L)", "reversed($L)",
        "itertools.chain($L, $L[:1])",
          "(each + 1 for each in $!L)", "itertools.islice(itertools.count($I), 3)",
          "itertools.islice(itertools.cycle([$I, 1]), 4)"),
    "W": ("iter($X)", "map(torch.neg, $X)", "iter($D.values())", "iter($T)", "itertools.repeat($T, 2)"),
    "R": (
        "Pair($T, $I)", "dataclasses.replace($R, right=$I)", "Pair(right=$I, left=$T)", "($R if $B else $R)",
    ),
}  # fmt: skip
"""Compound expressions by kind."""

_SIMPLE: Final = (
    *(f"$={kind} = ${kind}" for kind in KINDS if kind not in "ECH"),
    *(f"$.{kind} = ${kind}" for kind in "TIFSLXDKPORNQ"),
    "$=T = $T", "$=T = $T", "$=T = $A($T)", "$=T = $T + $T",
    "$.T += $T", "$.T = $.T * $F", "$.I += $I % 5", "$.T[0] = $I", "$@T.add_($I)", "$@T.mul_($F)",
    "$@T[..., 0] = $F",
    "$@T.zero_()", "$@T.copy_($T)", "$@T[:1] += $T", "$@T.view(-1)[1:] -= 1", "torch.add($T, $T, out=$@T)",
    "$@L.append($I)", "$@L.insert(0, $I)", "$@L[0] = $I", "$@L.extend($L[:2])", "$.L += $L[:2]", "del $@L[0]",
    "$@L.sort()", "$@L.reverse()", "$@L[1:2] = $L[:3]", "$@L.clear()", "$@L.remove($I)",
    "$@X.append($T)", "$@X[0] = $T", "$@X[-1].add_($I)", "$.X += $X[:1]", "$@X.pop()",
    "$@D[$S] = $T", "$@D['a'] = $T", "$@D.update(b=$T)", "$@D['a'] += $T", "$@D.pop($S, None)", "del $@D[$S]",
    "$@K[$S] = $I", "$@K[$S] += $I % 5", "$@K.update($K)", "$@K.pop('a')", "$@K['a'] = $K.get('a', 0) + 1",
    "$@Z.add($I)", "$@Z.discard($I)", "$.Z |= {$I}",
    "$@O.value = $T", "$@O.count += $I % 5", "$@O.items.append($I)", "$@O.items = $L", "$@O.value += $T",
    "$@O.note = $S",
    "$@O.value.add_($T)", "setattr($@O, 'count', $I)", "$.O.note = $S\ndel $.O.note", "$@O.step($T)",
    "$@O.__dict__['count'] = $I",
    "$@M.count = $I", "$@M.seen.add_($T)", "$@M.eval()", "$@M.note = $T", "$@M.seen = $T",
    "$@M.weight = nn.Parameter($T)",
    "$@R.left = $T", "$@R.right += $I % 5",
    "$=T, $=I = $P", "$=T, *$=X = $X", "$=I, $=I2 = $I, $I", "$.I, $.L = $I, $L",
    "$=T, $=T2 = $T.view(-1)[:2].unbind(0)",
    "$=P = $=P2 = ($T, $I)",
    "history.append($I)", "total += $I % 5", "state = $T", "state.add_($I)", "$.T = state * $I",
    "$.I = total", "print($I, $S)", "print($T)", "print($L, $K)", "say($I, $T)", "say($X, $D)",
    "say($O.count)",
    "supple.graph_break()", "opaque($I)", "assert $B, $S", 'print(f"{$@T.shape} {$@I}")', "say($O.step)",
    "print($Z)",
    "$@T.register_hook(print)", "torch.manual_seed($I)", "$T.note = $I", "$=I = next($V)", "$=T = next($W)",
    "$Q.append($I)",
    "$Q.appendleft($I)", "$Q.rotate(1)", "$T.sum().backward()", "$.X = $.X2 = [$T]",
    "$.L *= 2\n$.L = $.L[:4]", "$T.data = $T",
    "$M.register_forward_hook(lambda module, args, out: out * 2)", "warnings.warn($S)",
    "logging.getLogger('x').info($S)",
    "$=A = [lambda x, k=k: x + k for k in $!L][0]", "$=T = $T.unsqueeze(0)", "random.shuffle($L)",
    "$T.resize_(0)", "$T.t_()",
    "$T.squeeze_()", "$T.grad = None", "$=T = $T[None]", "$=S = type($O).__name__",
    "($=T, $=I), $=L = $P, $L", "$X.sort(key=len)",
    "$O.items, $O.count = $L, $I", "$D[$S], $=I = $T, $I", "$=T = torch.stack($X)", "del $.T\n$.T = $T",
    "print(sorted(locals()))",
    "$=T = $T.requires_grad_(False)", "$M.zero_grad()", "$M.weight.data.mul_(2)",
    "torch.nn.init.ones_($M.weight)", "$O.total += 1", "$.T.add_($I).mul_(2)", "$=T = $T.add_($I)[0]",
    "$T[$T > 1] = $F", "$T[[0]] = $T",
    "$.I += 1\n$.I -= 1", "torch._assert($B, 'asserted')",
)  # fmt: skip

_COMPOUND: Final = (
    "if $B:\n    $body",
    "if $B:\n    $body\nelse:\n    $body",
    "if ($=I := $I) > 1:\n    $body\nelif $B:\n    $body",
    "for $~I in range($!I % 4):\n    $loop",
    "for $~I, $~T in enumerate($!X):\n    $loop",
    "for $~I in tuple($!L):\n    $loop",
    "for $~I in $!L[:4]:\n    $loop\nelse:\n    $body",
    "for $~I, $~T in zip($!L, $!X):\n    $loop",
    "for $~S, $~T in $!D.items():\n    $loop",
    "for $~S in list($!K):\n    $loop",
    "for $~T in $!G:\n    $loop",
    "for $~T in $!X[:3]:\n    $loop",
    "for $~I in sorted($!Z):\n    $loop",
    "for $~T in $!T[:3]:\n    $loop",
    "for $~I in $!O.items[:3]:\n    $loop",
    "for $~S in $!K:\n    $@K[$S] = $I\n    if len($K) > 5:\n        break",
    "for $~I in $!L:\n    $L.append($I)\n    if len($L) > 6:\n        break",
    "$~I = 0\nwhile $~I < 3 and $B:\n    $~I += 1\n    $loop",
    "$~I = $!I % 4\nwhile $~I:\n    $~I -= 1\n    $loop\nelse:\n    $body",
    "$~I = 2\nwhile $~I and len($~L := $!L[:3]) > 2:\n    $~I -= 1\n    $loop",
    "try:\n    $body\nexcept ValueError as $~E:\n    $body",
    "try:\n    $body\nexcept (KeyError, IndexError, Oops) as $~E:\n    $body\nelse:\n    $body",
    "try:\n    $body\nfinally:\n    $body",
    "try:\n    $body\nexcept Exception as $~E:\n    print(type($~E).__name__)\n    $body\nfinally:\n"
    "    $body",
    "try:\n    $body\n    raise $!E\nexcept Exception:\n    $body",
    "try:\n    $body\n    raise $!E\nexcept Exception as $~E:\n    raise $!E from $~E",
    "try:\n    $body\nexcept Exception as $~E:\n    $body\n    raise",
    "if $B:\n    raise $!E",
    "if $B:\n    raise $!E from None",
    "if $B:\n    return $T",
    "with Trace($S) as $~O:\n    $body",
    "with Trace($I, Exception):\n    $body",
    "with Trace('o', Oops), guarded($I) as $~I:\n    $body",
    "with guarded($I) as $~I:\n    $body",
    "with torch.no_grad():\n    $body",
    "with torch.enable_grad():\n    $body",
    "with torch.set_grad_enabled($B):\n    $body",
    "with contextlib.suppress(ValueError, KeyError, Oops):\n    $body",
    "with Holder($O, $I) as $~O:\n    $body",
    "with contextlib.ExitStack() as $~O:\n    $~O.enter_context(Trace($I))\n    $body",
    "with torch.inference_mode():\n    $body",
    "with torch.autocast('cpu', enabled=$B):\n    $body",
    "with contextlib.ExitStack() as $~O:\n    $~O.callback(print, $I)\n    $body",
    "with contextlib.nullcontext($I) as $~I:\n    $body",
    "for $~I, ($~T, $~S) in enumerate(zip($!X, $!K)):\n    $loop",
    "for $~I in $!V:\n    $loop\n    if $~I > 3:\n        break",
    "for $~I in range($!I % 3):\n    try:\n        $loop\n    finally:\n        $loop",
    "for $~I in range($!I % 3):\n    with Trace($I):\n        $loop",
    "$~I = 2\nwhile $~I and $!Q:\n    $~I -= 1\n    $loop",
    "try:\n    try:\n        $body\n    finally:\n        $body\nexcept Exception as $~E:\n    $body",
    "try:\n    raise $!E\nexcept (ValueError, KeyError):\n    $body\nexcept Oops as $~E:\n"
    "    print($~E.code)",
    "def $~H($~T, $~I=3):\n    return $~T if $~I <= 0 else $~H($T, $~I - 1)\n$=T = $~H($T)",
    "@functools.lru_cache\ndef $~H($~I):\n    return $I\n$=I = $~H($I) + $~H(1)",
    "@functools.lru_cache\ndef $~H($~I):\n    $gen\n    return $I\n$=I = $~H($I) + $~H(1)",
    "@functools.lru_cache(maxsize=$I % 3)\ndef $~H($~T):\n    return $T\n$=T = $~H($!T) + $~H($!T)",
    "@contextlib.contextmanager\ndef $~H($~T):\n    $gen\n    yield $~T\n    $gen\n"
    "with $~H($T) as $~T2:\n    $body",
    "class $~C:\n    total = $I\n    def go(self, $~T):\n        $def\n        return $~T + self.total\n"
    "$=T = $~C().go($T)",
    "def $=A($~T, $~I=$!I):\n    $def\n    return $T",
    "def $=A($~T):\n    nonlocal $.I\n    $.I += 1\n    $def\n    return $~T * $.I",
    "def $=A($~T):\n    nonlocal $.T\n    $.T = $.T + 1\n    $def\n    return $~T + $.T",
    "def $~H($~T):\n    for $~I in range($I % 4):\n        $gen\n        yield $T\n    $gen\n$=G = $~H($T)",
    "def $~H():\n    try:\n        $gen\n        yield $T\n    finally:\n        $gen\n$=G = $~H()",
    "def $~H($~X):\n    yield from $~X\n    $gen\n    return $T\n$=G = $~H($X)",
    "def $~H($~L):\n    $~I = yield $T\n    $gen\n    yield $T * $~I\n$=G = $~H($L)\nnext($=G)\n"
    "$=T = $=G.send($I)",
    "match $L:\n    case []:\n        $body\n    case [$~I, *_] if $B:\n        $body\n    case _:\n"
    "        $body",
    "match $I % 4:\n    case 0:\n        $body\n    case 1 | 2:\n        $body\n    case $~I:\n        $body",
    "match $D:\n    case {'a': $~T}:\n        $body\n    case _:\n        $body",
    "match $O:\n    case Slotted(count=$~I):\n        $body\n    case Box(value=$~T):\n        $body",
    "match $P:\n    case ($~T, 1):\n        $body\n    case Point($~T, $~I) | ($~T, $~I):\n        $body",
)  # fmt: skip

STATEMENTS: Final = _SIMPLE
COMPOUND: Final = _COMPOUND
LOOP: Final = (
    "if $B:\n    break",
    "if $B:\n    continue",
    "if $B:\n    break",
    "if $B:\n    continue",
    "break",
    "continue",
)
YIELDS: Final = (
    "yield $T",
    "yield from $X",
    "if $B:\n    return",
    "$.T = yield $T",
    "yield $T",
    "yield from $G",
)

DEFINITIONS: Final = (
    "def $=A($~T, $~I=2):\n    $top\n    return $T",
    "def $=A($~T, *, $~F=0.5, $~S='k'):\n    $top\n    return $T * $~F",
    "def $=A($~T, *$~L, **$~K):\n    $top\n    return $T + len($~L)",
    "@supple.disable\ndef $=A($~T):\n    $top\n    return $T",
    "class Class:\n    total = 0\n    @classmethod\n    def go(cls, $~T):\n        cls.total += 1\n"
    "        $top\n        return $T + cls.total\n$=A = Class.go",
    "class $~C(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    "        self.inner = Layer(1)\n        self.count = 0\n    def forward(self, $~T, $~I=1):\n"
    "        $top\n        return self.inner($T) * $~I\n$=M = $~C()",
    "@functools.wraps(spread)\ndef $=A($~T, $~I=1):\n    $top\n    return $T",
    "@torch.no_grad()\ndef $=A($~T):\n    $top\n    return $T",
    "class $~C(Box):\n    def __call__(self, $~T):\n        $top\n        return $T + self.count\n"
    "$=A = $~C(torch.ones(3), 1)",
    "class $~C(Layer):\n    def forward(self, $~T):\n        $top\n        return super().forward($T)\n"
    "$=M = $~C(2)",
    "def $~H($~T):\n    def inner($~T2, $~I=1):\n        $top\n        return $~T2 + $~T\n"
    "    return inner\n$=A = $~H(torch.ones(3))",
)  # fmt: skip
"""Functions and modules that a program finds in its globals."""

PARAMETERS: Final = "TTIFSLXDKOMPA"
"""The kinds of a program's parameters."""

ARGUMENTS: Final[dict[str, tuple[str, ...]]] = {
    "T": (
        "tensor(2)", "tensor(2, 3)", "tensor(1)", "tensor(3)", "tensor(0)", "tensor(2)[:1]",
        "tensor(2).t().contiguous().t()",
          "tensor(2).requires_grad_()", "tensor(4, 1)[::2]"),
    "I": ("1", "0", "2", "3", "5", "-1", "True"),
    "F": ("0.5", "1.0", "2.0", "-0.0", "3"),
    "S": ("'a'", "'b'", "''", "'ab'"),
    "L": ("[1, 2]", "[]", "[3, 0, 2]", "[2]", "[1, 2, 3, 4]"),
    "X": ("[tensor(2)]", "[]", "[tensor(2), tensor(2, 1)]", "[tensor(1)] * 2"),
    "D": (
        "{'a': tensor(2)}", "{}", "{'b': tensor(2), 'a': tensor(2)}", "collections.OrderedDict(a=tensor(1))",
    ),
    "K": ("{'a': 1}", "{}", "{'b': 2, 'a': 3}", "collections.defaultdict(int, a=4)"),
    "O": ("Box(tensor(2), 1)", "Slotted(tensor(2), 2)", "Box(tensor(2), 0)", "Slotted(tensor(1), 3)"),
    "M": ("Layer(1)", "Net(2)", "Layer(2).eval()", "Net(1).eval()"),
    "P": ("(tensor(2), 1)", "Point(tensor(2), 2)", "(tensor(1), 0)"),
    "A": (
        "torch.relu", "lambda x: x * 2", "Box(torch.ones(3))", "say", "Layer(1)",
        "functools.partial(spread, n=1)",
    ),
}  # fmt: skip
"""Arguments by kind."""

ALIASES: Final[dict[str, tuple[str, ...]]] = {
    "T": ("$@T", "$@T[:1]", "$@T.view(-1)", "$@T.detach()"),
    "L": ("$@L",),
    "X": ("[$@T, $@T]", "[$@T]", "list($@T)"),
    "D": ("{'a': $@T}", "dict(a=$@T, b=$@T)"),
    "O": ("Box($@T)", "Slotted($@T, 1)"),
    "P": ("($@T, 1)",),
    "A": ("$@O", "$@M", "$@O.step", "lambda x: x + $@T"),
}
"""Arguments that share something with those before them."""

PLAIN: Final = Grammar(
    "plain",
    KINDS,
    tuple(PARAMETERS),
    LEAVES,
    EXPRESSIONS,
    STATEMENTS,
    COMPOUND,
    LOOP,
    YIELDS,
    DEFINITIONS,
    ARGUMENTS,
    ALIASES,
    preamble="total = 0\nstate = torch.zeros(3)\nhistory = []\n",
    globals={"I": "total", "T": "state", "L": "history"},
)
"""All of this."""

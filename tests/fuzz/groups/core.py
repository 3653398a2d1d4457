"""A few plain templates that the other groups stand on: arithmetic, conditions, loops, writes, breaks."""

from typing import Final

from tests.fuzz.grammar import Grammar

CORE: Final = Grammar(
    "core",
    kinds={"T": "t", "I": "n", "F": "f", "B": "flag", "S": "s", "E": "error"},
    leaves={
        "T": ("torch.ones(3)", "torch.zeros(2, 3)", "torch.full((1, 3), 2.0)"),
        "I": ("0", "1", "2", "3", "-1"),
        "F": ("0.5", "2.0", "-1.0"),
        "B": ("True", "False"),
        "S": ("'a'", "'b'", "''"),
        "E": ("ValueError('v')",),
    },
    expressions={
        "T": (
            "($T + $T)",
            "($T * $F)",
            "($T - $I)",
            "torch.relu($T)",
            "$T.sum(-1, keepdim=True)",
            "$T.clone()",
            "$T[:1]",
            "torch.where($T > 0, $T, $F)",
            "($T if $B else $T)",
            "$T.view(-1)",
        ),
        "I": ("($I + $I)", "($I * 2 % 7)", "$T.shape[0]", "$T.dim()", "($I if $B else $I)"),
        "F": ("($F + $F)", "($F * $I)", "float($I)", "-$F"),
        "B": ("($I > $I)", "not $B", "($B and $B)", "$F > $I", "$T.requires_grad", "$I == $I"),
        "S": ("str($I)", "($S + $S)[:8]", "str($T.dtype)", "str(tuple($T.shape))"),
    },
    statements=("$=T = $T",) * 6
    + (
        "$.T = $T",
        "$=I = $I",
        "$=F = $F",
        "$.T = $.T * $F",
        "$@T.add_($I)",
        "$@T.mul_($F)",
    ),
    compound=(
        "if $B:\n    $body\nelse:\n    $body",
        "for $~I in range($!I % 3):\n    $loop",
        "$=S = 'fine'\ntry:\n    $body\nexcept Exception as $~E:\n    $=S = told($~E)",
        "try:\n    $body\nfinally:\n    $body",
        "def $~Made($~T, $~F=$!F):\n    $def\n    return $T * $~F\n$=T = $~Made($!T)",
    ),
    loop=("if $B:\n    break", "if $B:\n    continue"),
    parameters=("T", "T"),
    arguments={
        "T": ("tensor(2)", "tensor(2, 3)", "tensor(1)", "tensor(3)", "tensor(2).requires_grad_()"),
        "I": ("1", "0", "2", "3", "-1"),
        "F": ("0.5", "1.0", "2.0", "-0.0"),
        "B": ("True", "False"),
    },
    aliases={"T": ("$@T", "$@T[:1]", "$@T.detach()")},
)

TALK: Final = Grammar(
    "talk",
    expressions={"T": ("say($T)",), "I": ("say($I)",)},
    statements=("say($I, $T)", "print($F)", "supple.graph_break()"),
)
"""What prints and what breaks the graph."""

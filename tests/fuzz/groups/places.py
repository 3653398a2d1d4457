"""What kernels write over: temporaries that library calls made, and inputs, read at other places than they write."""

from typing import Final

from tests.fuzz.grammar import Grammar

PLACES: Final = Grammar(
    "places",
    kinds={"T": "t"},
    parameters=("T", "T", "T"),
    leaves={"T": ("(torch.eye(4) + 1)",)},
    expressions={
        "T": (
            "($T @ $T / 4)",
            "($T @ $T / 4)",
            "($T @ $T.t() / 4)",
            "torch.cumsum($T / 4, 0)",
            "torch.sort($T, 1)[0]",
            "($T + $T)",
            "($T - $T)",
            "($T * $T)",
            "($T + 1)",
            "torch.relu($T)",
            "torch.tanh($T)",
            "torch.where($T > 0.5, $T, $T)",
            "$T.t()",
            "$T.flip(0)",
            "$T.flip(1)",
            "$T.roll(1, 0)",
            "torch.cat([$T[1:], $T[:1]])",
            "torch.cat([$T[:, 2:], $T[:, :2]], 1)",
            "($T / ($T.flip(0).sum(1, keepdim=True) + 9))",
            "($T - $T.mean(1, keepdim=True))",
            "($T - $T.amax(0, keepdim=True))",
            "($T + $T[:1])",
            "($T + $T[:, :1])",
            "torch.softmax($T, 1)",
            "torch.softmax($T, 0)",
            "F.layer_norm($T, $T.shape[1:])",
        )
    },
    statements=("$=T = $T",) * 4
    + (
        "$=T = $T @ $T / 4\n$=T2 = torch.relu($=T + 1)\n$=T3 = $=T @ $=T2 / 4",
        "$=T = $T @ $T / 4\n$=T2 = $=T.flip(0) + 1\n$=T3 = $=T2 * $=T",
        "$=T = $T @ $T / 4\n$=T2 = $=T / ($=T.flip(0).sum(1, keepdim=True) + 9)",
        "$.T = $T",
        "$@T.copy_($T)",
        "$@T.add_($T)",
        "$@T.mul_($T.flip(0))",
        "$@T.copy_($@T.flip(0) + 1)",
        "$@T.copy_($@T.t() * 2)",
        "$@T.sub_($@T.sum(0, keepdim=True))",
        "$@T[1:] = $@T[:-1] * 2",
        "$@T[:, 0] = $T[0]",
        "$@T.t().add_($T)",
    ),
    compound=(
        "if $T.sum() > 1:\n    $body",
        "for _ in range(2):\n    $.T = torch.tanh($T)\n    $@T.add_($T)",
    ),
    arguments={
        "T": (
            "torch.arange(16.0).reshape(4, 4) / 16",
            "torch.linspace(-1, 1, 16).reshape(4, 4)",
            "torch.linspace(-1, 1, 16).reshape(4, 4).t()",
            "torch.linspace(0, 2, 16).square().reshape(4, 4)",
            "torch.linspace(-1, 1, 64).reshape(8, 8)[:4, 4:]",
        )
    },
    aliases={"T": ("$@T", "$@T.t()")},
    calls=("return trained(program, args)", "return separately(program, args)"),
    most_statements=8,
)
"""All are 4 by 4, so that any two go together."""

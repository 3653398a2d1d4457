"""Results of which others are computed, in and around blocks of modes: what their hooks see."""

from typing import Final

from tests.fuzz.grammar import Grammar
from tests.fuzz.groups.modes import BLOCKS

RESULTS: Final = Grammar(
    "results",
    kinds={"T": "t", "F": "f"},
    parameters=("T", "T", "B"),
    leaves={"T": ("torch.ones(3, 3)",)},
    expressions={
        "T": (
            "torch.mm($@T.float(), $@T.float())",
            "F.linear($@T, $@T)",
            "($@T * $@T)",
            "($@T * 2)",
            "($@T + $@T)",
            "$@T.sin()",
            "$@T.t()",
            "$@T.view($@T.shape)",
            "$@T.transpose(0, 1)",
            "$@T.unsqueeze(0)[0]",
            "$@T.expand(2, 3, 3)[1]",
            "$@T.detach()",
            "$@T.float()",
            "torch.where($@T > 0, $@T, $@T)",
            "($@T.float() * ($@T > 0).sum().item())",
            "($@T[$@T > 0].float().sum() + $@T.float())",
            "($@T.float() * $@T.nonzero().shape[0])",
            "($@T.max(0)[0] + $@T)",
            "torch.cat([$@T.float(), $@T.float()])[1:4]",
            "checkpoint(torch.sin, $@T, use_reentrant=False)",
        ),
        "B": ("torch.is_grad_enabled()", "$T.requires_grad", "$T.is_leaf"),
    },
    statements=("$=T = $T",) * 14
    + (
        "$@T.mul_(2)",
        "$@T.add_($T.float())",
        "$@T[0] = $T[1].float()",
        "$@T[0].mul_($T[1].float())",
        "$@T.view(-1)[1:].mul_(3)",
        "$@T.t().add_($T.float())",
        "$@T.detach()[1].add_(1)",
        "$@T.detach_()",
        "$@T.requires_grad_()",
        "$@T.t_()",
        "$@T.zero_()",
        "$=F = int(($@T > 0).sum())",
        "torch.set_grad_enabled($B)",
        "supple.graph_break()",
    ),
    compound=tuple(f"with {block}:\n    $body" for block in BLOCKS if "$Dtype" not in block),
    preamble="from torch.utils.checkpoint import checkpoint",
    arguments={
        "T": ("(tensor(3).requires_grad_() * 1)", "(tensor(3).requires_grad_() * 1)", "tensor(3)"),
        "B": ("True", "False"),
    },
    calls=("return watched(program, args)",) * 6,
    most_statements=8,
)
"""Arguments are no leaves: eager casts a leaf once for a whole block of autocast (docs/training.md)."""

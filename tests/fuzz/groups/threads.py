"""Several threads that call one compiled function at the same time, with different shapes and values."""

from typing import Final

from tests.fuzz.grammar import Grammar, joined
from tests.fuzz.groups.core import CORE

_CALLED: Final = Grammar(
    "threads",
    parameters=("T", "F", "I", "Net"),
    leaves={"Net": ("Layer(2)",)},
    expressions={
        "T": (
            "$Net($T)",
            "F.layer_norm($T, $T.shape[-1:], eps=abs($F) + 1e-5)",
            "torch.cat([$T.reshape(-1), $T.reshape(-1)])",
            "$T.repeat(2, 1)",
            "guarded_sum($T)",
            "cells[0]($T)",
        ),
        "B": ("torch.is_grad_enabled()", "torch.is_autocast_enabled('cpu')"),
        "F": ("$T.sum().item()",),
    },
    statements=("$=T = $T @ torch.ones(3, 3)", "$=T = $T.t()", "$@T[:1] += 1", "supple.graph_break()"),
    compound=(
        "with torch.no_grad():\n    $body",
        "with torch.autocast('cpu', dtype=torch.bfloat16):\n    $body",
        "with torch.inference_mode():\n    $body",
    ),
    preamble="""
cells = [lambda x: x * 2]

@torch.no_grad()
def guarded_sum(x):
    return x.sum() * 2
""",
    arguments={
        "T": (
            "tensor(2)",
            "tensor(3)",
            "tensor(4, 1)",
            "tensor(5)",
            "torch.ones(3)",
            "tensor(1).requires_grad_()",
        ),
        "F": ("0.5", "1.0", "1.5", "2.5"),
        "I": ("1", "2", "3", "5"),
        "Net": ("Layer(1)", "Layer(2).eval()"),
    },
    calls=(
        "return in_threads(program, arguments_0, arguments_1)",
        "return in_threads(program, arguments_1, arguments_0, arguments_1, arguments_0)",
        "return in_threads(lambda *a: trained(program, a), arguments_0, arguments_1)",
    ),
    most_calls=2,
)

THREADS: Final = joined(CORE, _CALLED, 2)
"""It prints nothing, as threads would print in another order each time."""

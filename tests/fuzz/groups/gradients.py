"""Gradients: which of the results get one, in which layout it comes, and into which inputs nothing flows."""

from typing import Final

from tests.fuzz.grammar import Grammar

GRADIENTS: Final = Grammar(
    "gradients",
    kinds={"T": "t"},
    parameters=("T", "T", "T"),
    leaves={"T": ("torch.ones(2, 3)",)},
    expressions={
        "T": (
            "($T * 2)",
            "($T * $T)",
            "($T + $T)",
            "($T - $T)",
            "torch.sin($T)",
            "torch.where($T > 0, $T, $T)",
            "($T / 2).detach()",
            "$T.reshape(3, 2).t()",
            "$T.flip(0)",
            "($T @ $T.t()).sum(1, keepdim=True).expand(2, 3)",
            "$T.sum(0).expand(2, 3)",
            "Doubled.apply($T)",
            "Doubled.apply($T)",
            "First.apply($T, $T)",
            "First.apply($T, $T)",
            "Pair.apply($T)[0]",
            "Pair.apply($T)[1]",
            "Asking.apply($T)[0]",
            "Stopped.apply($T)",
            "$T.to(torch.float64).to(torch.float32)",
            "torch.cat([$T[:1], $T[1:]])",
            "checkpoint(lambda x: torch.sin(x) * 2, $T, use_reentrant=False)",
        )
    },
    statements=("$=T = $T",) * 6
    + (
        "$=T, $=T2 = Pair.apply($T)",
        "$=T, $=T2 = Asking.apply($T)",
        "$=T = $T.clone()\n$=T.mul_($T)",
        "$=T = $T.clone()\n$=T[0] = $T[1]",
        "with torch.no_grad():\n    $=T = $T",
        "supple.graph_break()",
    ),
    compound=("if $T.sum() > 1:\n    $body",),
    preamble="""
from torch.utils.checkpoint import checkpoint


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


class First(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        return x + y

    @staticmethod
    def backward(ctx, g):
        return g, None


class Pair(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2, x * 3

    @staticmethod
    def backward(ctx, g, h):
        return g * 2 + h * 3


class Asking(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2, x * 3

    @staticmethod
    def backward(ctx, g, h):
        return (0 if g is None else g * 2) + (7 if h is None else h * 3)


class Stopped(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return None
""",
    arguments={
        "T": (
            "tensor(2).requires_grad_()",
            "tensor(2).requires_grad_()",
            "(tensor(2) + 1).requires_grad_()",
            "(tensor(2).requires_grad_() * 1)",
            "tensor(2)",
            "torch.ones(3, 2).t().requires_grad_()",
            "nn.Parameter(tensor(2))",
        )
    },
    aliases={"T": ("$@T",)},
    calls=(
        "return separately(program, args)",
        "return separately(program, args)",
        "return trained(program, args, which=0)",
        "return trained(program, args, which=1)",
        "return trained(program, args)",
        "return trained(program, args, twice=True)",
        "return First.apply(torch.ones(2, 3, requires_grad=True), program(*args)[0]).sum().backward()",
        "return watched(program, args)",
    ),
    most_statements=4,
)
"""All are 2 by 3, so that any two go together."""

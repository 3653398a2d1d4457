"""`torch.autograd.Function` with each of its options, in training."""

from typing import Final

from tests.fuzz.grammar import Grammar

SAVES: Final = """class $=Fun(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y, s):
        ctx.save_for_backward(x, y)
        ctx.s = s
        ctx.set_materialize_grads($B)
        return $Map(x) * y + s
    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        seen.append(ctx.needs_input_grad)
        return g * y * ctx.s, (g * x).sum_to_size(y.shape), None"""

SEVERAL: Final = """class $=Fun(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y, s):
        ctx.set_materialize_grads($B)
        ctx.save_for_backward(x)
        return $Map(x), y * s
    @staticmethod
    def backward(ctx, g, h):
        seen.append((g is None, h is None, ctx.needs_input_grad))
        x, = ctx.saved_tensors
        return (None if g is None else g * x), (None if h is None else h * $F), None"""

UNDEFINED: Final = """class $=Fun(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y, s):
        ctx.set_materialize_grads(False)
        return $Map(x), y * s
    @staticmethod
    def backward(ctx, g, h):
        first = None if g is None else g * (2 if h is None else 3)
        return first, (None if h is None else h * (5 if g is None else 7)), None"""

MARKED: Final = """class $=Fun(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y, s):
        made, place = x * s, (x > y).to($Dtype)
        ctx.mark_non_differentiable(place)
        ctx.s = s
        return made, place
    @staticmethod
    def backward(ctx, g, h):
        seen.append((h is None, None if h is None else h.dtype))
        return g * ctx.s, None, None"""

DIRTY: Final = """class $=Fun(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y, s):
        ctx.mark_dirty(x)
        ctx.save_for_backward(y)
        x.mul_(s).add_(y)
        return x
    @staticmethod
    def backward(ctx, g):
        y, = ctx.saved_tensors
        return g * y, g.sum_to_size(y.shape), None"""

ONCE: Final = """class $=Fun(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y, s):
        made = torch.exp(x.clamp(max=2)) * y
        ctx.save_for_backward(made, y)
        return made
    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, g):
        made, y = ctx.saved_tensors
        return g * made, (g * $F).sum_to_size(y.shape), None"""

SETUP: Final = """class $=Fun(torch.autograd.Function):
    @staticmethod
    def forward(x, y, s):
        return $Map(x) + y * s
    @staticmethod
    def setup_context(ctx, inputs, output):
        x, y, s = inputs
        ctx.save_for_backward(x, output)
        ctx.s, ctx.shape = s, y.shape
    @staticmethod
    def backward(ctx, g):
        x, made = ctx.saved_tensors
        first = g * x if ctx.needs_input_grad[0] else None
        return first, (g * made * ctx.s).sum_to_size(ctx.shape), None"""

PASSES: Final = """class $=Fun(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y, s):
        ctx.x = x
        return x if $B else x.view_as(x)
    @staticmethod
    def backward(ctx, g):
        return g.neg() * $F, None, None"""

EFFECTS: Final = """class $=Fun(torch.autograd.Function):
    count = 0
    @staticmethod
    def forward(ctx, x, y, s):
        seen.append((torch.is_grad_enabled(), x.requires_grad))
        ctx.items = [x.shape, s]
        return x * s
    @classmethod
    def backward(cls, ctx, g):
        cls.count += 1
        seen.append((cls.count, ctx.items[0], torch.is_grad_enabled()))
        return g * ctx.items[1] * cls.count, None, None"""

WRONG: Final = """class $=Fun(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y, s):
        ctx.save_for_backward(x)
        return x * s
    @staticmethod
    def backward(ctx, g):
        if s_is_bad(ctx.saved_tensors[0]):
            raise Oops(1)
        return (g, g) if $B else (g[..., :1], None, None)"""

NESTED: Final = """class $=Fun(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y, s):
        with torch.enable_grad():
            inner = x.detach().requires_grad_()
            made = (inner * s).sin().sum()
        ctx.save_for_backward(torch.autograd.grad(made, inner)[0])
        return made.detach()
    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0], None, None"""

KEEPS: Final = """class $=Fun(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y, *rest, scale=None):
        ctx.save_for_backward(x, None, y)
        ctx.count = len(rest)
        return x.relu(), x.sum(), 3
    @staticmethod
    def backward(ctx, g, h, n):
        x, nothing, y = ctx.saved_tensors
        seen.append((nothing, n))
        return g * (x > 0) + h, torch.zeros_like(y), *[None] * ctx.count"""

FUNCTIONS: Final = Grammar(
    "functions",
    parameters=("T", "F", "Net"),
    preamble="""
seen = []

def s_is_bad(x):
    return x.numel() == 3

class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y, s):
        ctx.s = s
        return x * 2 * s

    @staticmethod
    def backward(ctx, g):
        return g * 3 * ctx.s, None, None
""",
    globals={"Fun": "Twice"},
    leaves={
        "Fun": ("Twice",),
        "Map": ("torch.sin", "torch.relu", "(lambda v: v * v)", "torch.clone"),
        "Ts": ("(torch.ones(3),)",),
        "Net": ("Layer(2)",),
        "Dtype": ("torch.int64", "torch.float32", "torch.bool"),
    },
    expressions={
        "T": (
            "first($Fun.apply($T, $T, $F))",
            "first($Fun.apply($T, $T, $F))",
            "last($Fun.apply($T, $T, $F))",
            "$Net($T)",
            "first($Fun.apply($T * 1, $Net.weight, $F))",
            "sum(floats($Ts), $T)",
            "$Map($T)",
            "$T.requires_grad_()",
        ),
        "Ts": ("several($Fun.apply($T, $T, $F))", "several($Fun.apply($Net.weight, $T, $F))"),
        "F": ("$F * 2",),
    },
    statements=("$=T = first($Fun.apply($T, $T, $F))",) * 4
    + (
        *["$=Ts = several($Fun.apply($T, $T, $F))"] * 3,
        *["$=T, $=T2 = $@T * 2, $@T2.sin()"] * 3,
        "$=T, $=T2 = first($Fun.apply($@T, $@T2, $F)), $@T2 * 3",
        "$=T = $Net($T)",
        "$=T = $T * 1\n$=T2 = first($Fun.apply($=T, $T, $F))",
        "$.T = $.T * 1\n$Fun.apply($.T, $T, $F)",
        "with torch.no_grad():\n    $=T = first($Fun.apply($T, $T, $F))",
    ),
    definitions=(SAVES, SEVERAL, UNDEFINED, MARKED, DIRTY, ONCE, SETUP, PASSES, EFFECTS, WRONG, NESTED, KEEPS),
    arguments={
        "T": ("tensor(2).requires_grad_()", "tensor(3, 1).requires_grad_()", "tensor(1)", "torch.ones(3).requires_grad_()"),
        "F": ("0.5", "1.0", "2.0", "3", "-1.5"),
        "Net": ("Layer(1)", "Layer(2)"),
    },
    calls=(
        "return trained(program, args)",
        "return trained(program, args)",
        "return trained(program, args, twice=True)",
        "return watched(program, args)",
        "return trained(program, args, which=0)",
        "return trained(program, args, which=$I)",
        "return gradients(program, args)",
        *["return separately(program, args)"] * 4,
        "with torch.no_grad():\n    return program(*args)",
    ),
)  # fmt: skip

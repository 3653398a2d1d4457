"""Autocast, grad and inference mode: nested, around calls, and mixed with writes to leaves, views, buffers."""

from typing import Final

from tests.fuzz.grammar import Grammar

BLOCKS: Final = (
    "torch.autocast('cpu', dtype=torch.bfloat16)",
    "torch.autocast('cpu', dtype=torch.float16)",
    "torch.autocast('cpu', dtype=torch.bfloat16, enabled=$B)",
    "torch.autocast('cpu', enabled=False)",
    "torch.autocast('cpu', dtype=$Dtype, enabled=$B)",
    "torch.amp.autocast('cpu', dtype=torch.bfloat16, cache_enabled=$B)",
    "torch.no_grad()",
    "torch.enable_grad()",
    "torch.set_grad_enabled($B)",
    "torch.inference_mode()",
    "torch.inference_mode($B)",
    "torch.no_grad(), torch.autocast('cpu', dtype=torch.bfloat16)",
    "torch.autocast('cpu', enabled=False), torch.enable_grad()",
    "flushing($B)",
)

MODES: Final = Grammar(
    "modes",
    parameters=("B", "Net", "Dtype"),
    leaves={
        "Dtype": ("torch.bfloat16", "torch.float16"),
        "Net": ("Layer(2)", "nn.Linear(3, 3)"),
        "A": ("torch.relu",),
    },
    expressions={
        "T": (
            "F.linear($T, weight)",
            "F.linear($T, weight, $T.reshape(-1)[:3])",
            "($T @ weight)",
            "torch.mm($T.reshape(-1, 3), weight)",
            "torch.bmm($T.reshape(1, -1, 3), weight[None])[0]",
            "torch.addmm(torch.ones(3), $T.reshape(-1, 3), weight)",
            "F.softmax($T, -1)",
            "F.layer_norm($T, $T.shape[-1:])",
            "F.scaled_dot_product_attention($T.reshape(1, -1, 3), weight[None], weight[None])",
            "F.conv1d($T.reshape(1, 1, -1), torch.ones(1, 1, 1)).reshape(-1)[:3]",
            "torch.cat([$T.reshape(-1), $T.reshape(-1).bfloat16()])[:3]",
            "torch.einsum('ij,jk->ik', $T.reshape(-1, 3), weight)",
            "$T.bfloat16()",
            "$T.to($Dtype)",
            "$T.float()",
            "$T.double()",
            "torch.exp($T)",
            "($T * 1e-40 * 1e39)",
            "torch.full((3,), 1e-40).view(torch.int32)",
            "$T.norm()",
            "$Net($T)",
            "$Net.weight",
            "guarded_sum($T)",
            "half_linear($T)",
            "without_cast($T)",
            "torch.no_grad()(torch.mul)($T, 2)",
            "$T.requires_grad_()",
            "$T.detach()",
            "$T.view(-1)",
            "$T[..., 1:]",
            "torch.zeros(3).requires_grad_()",
        ),
        "B": (
            "torch.is_autocast_enabled('cpu')",
            "(torch.get_autocast_dtype('cpu') == $Dtype)",
            "torch.is_grad_enabled()",
            "torch.is_inference_mode_enabled()",
            "$T.is_inference()",
            "$T.is_leaf",
            "($T.dtype == $Dtype)",
            "torch.is_autocast_cache_enabled()",
        ),
        "Dtype": ("$T.dtype", "torch.get_autocast_dtype('cpu')", "torch.get_default_dtype()"),
        "S": ("str($T.grad_fn is None)", "str($Dtype)"),
    },
    statements=(
        "$@T.add_($T.sum().float())",
        "$@T.copy_($T.sum())",
        "$@T[:1] += 1",
        "$@T.view(-1)[1:].mul_(2)",
        "$@T[..., 0] = $F",
        "$=T = $@T.view(-1)\n$=T.add_(1)",
        "$=T = $@T[:1]\n$@T.mul_(2)",
        "$@T.zero_()",
        "$Net.weight.mul_(2)",
        "$Net.weight.data.add_(1)",
        "$Net.seen.add_(1)",
        "$Net.zero_grad()",
        "$=T = F.linear($T, weight)",
        "torch.set_grad_enabled($B)",
        "torch.set_autocast_enabled('cpu', $B)",
        "$=T = $T.detach().requires_grad_()",
        "state.add_($T.sum().float())",
    ),
    compound=tuple(f"with {block}:\n    $body" for block in BLOCKS)
    + ("with torch.no_grad():\n    $@T.add_(1)\n    with torch.enable_grad():\n        $=T = $@T * 2",),
    preamble="""
weight = torch.arange(9.0).reshape(3, 3) / 4
state = torch.zeros(3)

@contextlib.contextmanager
def flushing(is_flushed):
    torch.set_flush_denormal(is_flushed)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)

@torch.no_grad()
def guarded_sum(x):
    return x.sum() * 2

@torch.autocast("cpu", dtype=torch.bfloat16)
def half_linear(x):
    return F.linear(x, weight)

@torch.autocast("cpu", enabled=False)
def without_cast(x):
    return F.linear(x.float(), weight)
""",
    globals={"T": "state"},
    arguments={
        "T": (
            "tensor(2)", "tensor(2).requires_grad_()", "tensor(3, 1)", "(tensor(2).requires_grad_() * 1)",
            "tensor(2).requires_grad_()[:1]", "tensor(2).bfloat16()", "(tensor(2).requires_grad_() * 1).view(-1)",
            "torch.ones(3).requires_grad_()", "tensor(2).half()",
        ),
        "Net": ("Layer(1)", "Layer(2).eval()", "linear(1.0)", "linear(0.5).requires_grad_(False)"),
        "B": ("True", "False"),
        "Dtype": ("torch.bfloat16", "torch.float16", "torch.float32"),
    },
    calls=(
        "with torch.autocast('cpu', dtype=torch.bfloat16):\n    return program(*args)",
        "with torch.autocast('cpu', dtype=torch.float16):\n    return program(*args)",
        "with torch.autocast('cpu', enabled=False):\n    return program(*args)",
        "with torch.no_grad():\n    return program(*args)",
        "with torch.inference_mode():\n    return program(*args)",
        "with deterministic():\n    return program(*args)",
        "with default_dtype(torch.float64):\n    return program(*args)",
        "with torch.autocast('cpu', dtype=torch.bfloat16):\n    return trained(program, args)",
        "return trained(program, args)",
        "return watched(program, args)",
        "with torch.no_grad(), torch.autocast('cpu', dtype=torch.bfloat16):\n    return program(*args)",
    ),
)  # fmt: skip

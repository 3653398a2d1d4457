"""Numerical derivatives of compiled operators, and of their derivatives."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn import functional as F

import supple

Operator = Callable[..., Any]


def numbers(*sizes: int, low: float = -2.0, high: float = 2.0, seed: int = 0) -> torch.Tensor:
    """Return float64 numbers away from the places where derivatives jump."""
    made = torch.Generator().manual_seed(seed + sum(sizes))
    found = torch.rand(*sizes, dtype=torch.float64, generator=made) * (high - low) + low
    near = (found * 2).round() / 2
    return torch.where((found - near).abs() < 0.05, near + 0.1, found).requires_grad_()


def apart(operand: torch.Tensor) -> torch.Tensor:
    """Return numbers that no other operand has."""
    return (operand.detach() + 0.013).requires_grad_()


SCALES = (numbers(4), numbers(4, seed=1))
TARGETS = numbers(4, seed=1).detach().sigmoid()
UNARY = (
    "abs sin cos tan asinh atan sinh cosh tanh exp expm1 erf erfc sigmoid neg square sign floor relu exp2 "
    "sinc deg2rad rad2deg positive frac trunc round logsumexp0 softmax0 log_softmax0 cumsum0 flip0 sort0 "
    "argsum triu tril t mT diagonal flatten unsqueeze0 sum mean prod std var norm amax amin max min median "
    "cumprod0 logcumsumexp0 roll1 rot90 nan_to_num selu celu elu gelu silu mish softplus softsign tanhshrink "
    "hardtanh hardswish hardsigmoid relu6 leaky_relu logsigmoid hardshrink softshrink"
).split()
POSITIVE = "log log2 log10 log1p sqrt rsqrt reciprocal lgamma digamma".split()
INSIDE = "asin acos atanh erfinv".split()
SPECIAL: dict[str, Operator] = {
    "logsumexp0": lambda x: x.logsumexp(0),
    "softmax0": lambda x: x.softmax(0),
    "log_softmax0": lambda x: x.log_softmax(0),
    "cumsum0": lambda x: x.cumsum(0),
    "cumprod0": lambda x: x.cumprod(0),
    "logcumsumexp0": lambda x: x.logcumsumexp(0),
    "flip0": lambda x: x.flip(0),
    "sort0": lambda x: x.sort(0)[0],
    "argsum": lambda x: x.gather(0, x.argsort(0)),
    "mT": lambda x: x.mT,
    "unsqueeze0": lambda x: x.unsqueeze(0) * x,
    "amax": lambda x: x.amax(1),
    "amin": lambda x: x.amin(1),
    "max": lambda x: x.max(1)[0],
    "min": lambda x: x.min(1)[0],
    "median": lambda x: x.median(1)[0],
    "roll1": lambda x: x.roll(1, 0),
    "rot90": lambda x: x.rot90(),
    "std": lambda x: x.std(1),
    "var": lambda x: x.var(0, keepdim=True),
    "norm": lambda x: x.norm(),
}
BINARY = "add sub mul maximum minimum atan2 hypot logaddexp logaddexp2 fmax fmin dist".split()
OTHERS: dict[str, tuple[Operator, tuple[torch.Tensor, ...]]] = {
    "div": (torch.div, (numbers(3, 4), numbers(4, low=0.6, high=2))),
    "pow": (torch.pow, (numbers(3, low=0.6, high=2), numbers(2, 3))),
    "power of a number": (lambda x: x**3, (numbers(3),)),
    "number to a power": (lambda x: 2.0**x, (numbers(3),)),
    "fmod": (lambda x: torch.fmod(x, 0.7), (numbers(5),)),
    "remainder": (lambda x: torch.remainder(x, 0.7), (numbers(5),)),
    "where": (lambda x, y: torch.where(x > y, x * 2, y * 3), (numbers(3, 4), numbers(4, seed=9))),
    "clamp": (lambda x: x.clamp(-0.9, 0.9), (numbers(3, 4),)),
    "lerp": (torch.lerp, (numbers(3), numbers(3, seed=1), numbers(3, seed=2))),
    "addcmul": (torch.addcmul, (numbers(3), numbers(3, seed=1), numbers(3, seed=2))),
    "addcdiv": (torch.addcdiv, (numbers(3), numbers(3, seed=1), numbers(3, low=0.6))),
    "mm": (torch.mm, (numbers(2, 3), numbers(3, 4))),
    "bmm": (torch.bmm, (numbers(2, 2, 3), numbers(2, 3, 2))),
    "matmul": (torch.matmul, (numbers(2, 2, 3), numbers(3, 4))),
    "mv": (torch.mv, (numbers(2, 3), numbers(3))),
    "dot": (torch.dot, (numbers(3), numbers(3, seed=1))),
    "outer": (torch.outer, (numbers(3), numbers(2))),
    "addmm": (torch.addmm, (numbers(4), numbers(2, 3), numbers(3, 4))),
    "baddbmm": (torch.baddbmm, (numbers(2, 2, 2), numbers(2, 2, 3), numbers(2, 3, 2))),
    "einsum": (lambda x, y: torch.einsum("ij,kj->ik", x, y), (numbers(2, 3), numbers(4, 3))),
    "kron": (torch.kron, (numbers(2, 2), numbers(2, 3))),
    "linear": (F.linear, (numbers(2, 3), numbers(4, 3), numbers(4))),
    "bilinear": (F.bilinear, (numbers(2, 3), numbers(2, 2), numbers(4, 3, 2), numbers(4))),
    "cross": (lambda x, y: torch.linalg.cross(x, y), (numbers(2, 3), numbers(2, 3, seed=1))),
    "view": (lambda x: x.view(6) * 2, (numbers(2, 3),)),
    "reshape of a transpose": (lambda x: x.t().reshape(6).exp(), (numbers(2, 3),)),
    "permute": (lambda x: x.permute(2, 0, 1) * x.sum(), (numbers(2, 3, 2),)),
    "expand": (lambda x: x.expand(3, 2) * 2, (numbers(2),)),
    "repeat": (lambda x: x.repeat(2, 3).sin(), (numbers(2),)),
    "repeat_interleave": (lambda x: x.repeat_interleave(2, 0).sin(), (numbers(2, 2),)),
    "squeeze": (lambda x: x.squeeze(1).sin(), (numbers(2, 1),)),
    "slice": (lambda x: x[1:3, ::2].sin(), (numbers(4, 4),)),
    "select": (lambda x: x[1] * x[:, 0].sum(), (numbers(3, 3),)),
    "narrow": (lambda x: x.narrow(0, 1, 2) ** 2, (numbers(4),)),
    "index": (lambda x: x[torch.tensor([0, 2, 0])] ** 2, (numbers(3, 2),)),
    "index_select": (lambda x: x.index_select(0, torch.tensor([1, 1])) ** 2, (numbers(3, 2),)),
    "index_add": (lambda x, y: x.index_add(0, torch.tensor([0, 0]), y), (numbers(3, 2), numbers(2, 2))),
    "index_put": (lambda x, y: x.index_put((torch.tensor([0, 2]),), y), (numbers(3), numbers(2))),
    "gather": (lambda x: x.gather(1, torch.tensor([[0, 0], [1, 2]])).sin(), (numbers(2, 3),)),
    "scatter": (lambda x, y: x.scatter(0, torch.tensor([0, 2]), y), (numbers(3), numbers(2))),
    "scatter_add": (lambda x, y: x.scatter_add(0, torch.tensor([0, 0]), y), (numbers(3), numbers(2))),
    "masked_fill": (lambda x: x.masked_fill(x > 0, 0.5) * x, (numbers(3, 3),)),
    "take_along_dim": (lambda x: x.take_along_dim(x.argsort(1), 1), (numbers(2, 3),)),
    "cat": (lambda x, y: torch.cat((x, y, x), 1).sin(), (numbers(2, 3), numbers(2, 2))),
    "stack": (lambda x, y: torch.stack((x, y)).sin(), (numbers(3), numbers(3, seed=1))),
    "chunk": (lambda x: x.chunk(2, 1)[1] * x.chunk(2, 1)[0], (numbers(2, 4),)),
    "split": (lambda x: x.split([1, 3])[1].exp(), (numbers(4),)),
    "unbind": (lambda x: x.unbind(1)[0] * x.unbind(1)[2], (numbers(2, 3),)),
    "pad": (lambda x: F.pad(x, (1, 2)).cos(), (numbers(2, 3),)),
    "unfold": (lambda x: x.unfold(0, 3, 2).sin(), (numbers(7),)),
    "topk": (lambda x: x.topk(2)[0] ** 2, (numbers(2, 5),)),
    "diag_embed": (lambda x: x.diag_embed().exp(), (numbers(3),)),
    "trace": (lambda x: x.trace() ** 2, (numbers(3, 3),)),
    "layer_norm": (lambda x, w, b: F.layer_norm(x, (4,), w, b), (numbers(3, 4), *SCALES)),
    "group_norm": (lambda x, w, b: F.group_norm(x, 2, w, b), (numbers(2, 4, 3), *SCALES)),
    "batch_norm": (
        lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True),
        (numbers(5, 3), numbers(3), numbers(3, seed=1)),
    ),
    "instance_norm": (F.instance_norm, (numbers(2, 3, 5),)),
    "rms_norm": (lambda x, w: F.rms_norm(x, (4,), w), (numbers(3, 4), numbers(4))),
    "normalize": (F.normalize, (numbers(3, 4),)),
    "cosine_similarity": (F.cosine_similarity, (numbers(3, 4), numbers(3, 4, seed=1))),
    "pairwise_distance": (F.pairwise_distance, (numbers(3, 4), numbers(3, 4, seed=1))),
    "mse_loss": (F.mse_loss, (numbers(3, 4), numbers(3, 4, seed=1))),
    "l1_loss": (F.l1_loss, (numbers(3, 4), apart(numbers(3, 4, seed=1)))),
    "smooth_l1_loss": (F.smooth_l1_loss, (numbers(3, 4), numbers(3, 4, seed=1))),
    "huber_loss": (F.huber_loss, (numbers(3, 4), numbers(3, 4, seed=1))),
    "kl_div": (lambda x, y: F.kl_div(x, y.exp(), reduction="sum"), (numbers(3), numbers(3, seed=1))),
    "binary_cross_entropy": (lambda x: F.binary_cross_entropy(x.sigmoid(), TARGETS), (numbers(4),)),
    "bce_with_logits": (lambda x: F.binary_cross_entropy_with_logits(x, TARGETS), (numbers(4),)),
    "cross_entropy": (lambda x: F.cross_entropy(x, torch.tensor([0, 2, -100])), (numbers(3, 4),)),
    "cross_entropy, summed": (
        lambda x: F.cross_entropy(x, torch.tensor([0, 2, 1]), reduction="sum", label_smoothing=0.1),
        (numbers(3, 4),),
    ),
    "cross_entropy, weighted": (
        lambda x: F.cross_entropy(x, torch.tensor([0, 2, 1]), weight=torch.ones(4, dtype=torch.float64) * 2),
        (numbers(3, 4),),
    ),
    "nll_loss": (lambda x: F.nll_loss(x, torch.tensor([0, 2, 1]), reduction="none"), (numbers(3, 4),)),
    "hinge_embedding_loss": (
        lambda x: F.hinge_embedding_loss(x, torch.tensor([1.0, -1.0, 1.0], dtype=torch.float64)),
        (numbers(3),),
    ),
    "margin_ranking_loss": (
        lambda x, y: F.margin_ranking_loss(x, y, torch.ones(3, dtype=torch.float64), margin=0.3),
        (numbers(3), numbers(3, seed=1)),
    ),
    "triplet_margin_loss": (
        F.triplet_margin_loss,
        (numbers(3, 4), numbers(3, 4, seed=1), numbers(3, 4, seed=2)),
    ),
    "embedding": (lambda w: F.embedding(torch.tensor([[0, 2], [1, 0]]), w) ** 2, (numbers(4, 3),)),
    "one_hot product": (lambda w: F.one_hot(torch.tensor([0, 2]), 4).double() @ w, (numbers(4, 3),)),
    "conv1d": (F.conv1d, (numbers(2, 2, 6), numbers(3, 2, 3), numbers(3))),
    "conv2d": (lambda x, w: F.conv2d(x, w, stride=2, padding=1), (numbers(1, 2, 5, 5), numbers(3, 2, 3, 3))),
    "conv2d of groups": (lambda x, w: F.conv2d(x, w, groups=2), (numbers(1, 4, 4, 4), numbers(4, 2, 3, 3))),
    "conv_transpose1d": (F.conv_transpose1d, (numbers(1, 2, 4), numbers(2, 3, 3), numbers(3))),
    "avg_pool2d": (lambda x: F.avg_pool2d(x, 2), (numbers(1, 2, 4, 4),)),
    "max_pool2d": (lambda x: F.max_pool2d(x, 2), (numbers(1, 2, 4, 4),)),
    "adaptive_avg_pool2d": (lambda x: F.adaptive_avg_pool2d(x, 2), (numbers(1, 2, 4, 4),)),
    "interpolate, nearest": (lambda x: F.interpolate(x, scale_factor=2) ** 2, (numbers(1, 1, 3, 3),)),
    "interpolate, bilinear": (
        lambda x: F.interpolate(x, size=(5, 5), mode="bilinear", align_corners=False) ** 2,
        (numbers(1, 1, 3, 3),),
    ),
    "pixel_shuffle": (lambda x: F.pixel_shuffle(x, 2).sin(), (numbers(1, 4, 2, 2),)),
    "glu": (F.glu, (numbers(3, 4),)),
    "prelu": (F.prelu, (numbers(2, 3), numbers(3, low=0.6))),
    "attention": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v),
        (numbers(1, 2, 3, 4), numbers(1, 2, 3, 4, seed=1), numbers(1, 2, 3, 4, seed=2)),
    ),
    "attention, causal": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        (numbers(1, 2, 3, 4), numbers(1, 2, 3, 4, seed=1), numbers(1, 2, 3, 4, seed=2)),
    ),
    "inverse": (torch.linalg.inv, ((numbers(3, 3).detach() + 4 * torch.eye(3).double()).requires_grad_(),)),
    "solve": (
        torch.linalg.solve,
        ((numbers(3, 3).detach() + 4 * torch.eye(3).double()).requires_grad_(), numbers(3)),
    ),
    "det": (torch.linalg.det, (numbers(3, 3),)),
    "cdist": (torch.cdist, (numbers(2, 3), numbers(3, 3))),
    "written in place": (lambda x: (x * 2).mul_(x).add_(1).sin_(), (numbers(4),)),
    "written through a view": (lambda x: _fill_row(x), (numbers(3, 3),)),
}  # fmt: skip


def _fill_row(x: torch.Tensor) -> torch.Tensor:
    y = x * 1
    y[0] = x[1] * x[2]
    return y


def cases() -> dict[str, tuple[Operator, tuple[torch.Tensor, ...]]]:
    """Return operators with operands, by name."""
    found: dict[str, tuple[Operator, tuple[torch.Tensor, ...]]] = {}
    for name in (*UNARY, *POSITIVE, *INSIDE):
        function = SPECIAL.get(name) or getattr(torch, name, None) or getattr(F, name)
        bounds = {"low": 0.6} if name in POSITIVE else {"low": -0.9, "high": 0.9} if name in INSIDE else {}
        found[name] = (function, (numbers(3, 4, **bounds),))
    for name in BINARY:
        found[name] = (getattr(torch, name), (numbers(3, 4), apart(numbers(4, seed=3))))
    return found | OTHERS


CASES = cases()
NO_SECOND = frozenset(("hardsigmoid", "attention", "attention, causal", "cdist"))
"""Operators of which eager itself has no second derivative."""


@pytest.mark.parametrize("name", CASES)
def test_derivatives(name: str) -> None:
    function, operands = CASES[name]
    compiled = supple.compile(function)
    torch.testing.assert_close(compiled(*operands), function(*operands))
    assert torch.autograd.gradcheck(compiled, operands)
    if name not in NO_SECOND:
        assert torch.autograd.gradgradcheck(compiled, operands)

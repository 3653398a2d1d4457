"""Zeros have the sign that eager gives them, also where an operator is several."""

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F

import supple

Program = Callable[[torch.Tensor], torch.Tensor]
ZERO, SOME = torch.zeros(3), torch.tensor([1.0, -1.0, 0.0])
PROGRAMS: dict[str, Program] = {
    "batch_norm": lambda x: F.batch_norm(x, ZERO, ZERO + 1),
    "batch_norm of a negative mean": lambda x: F.batch_norm(x, -ZERO, ZERO + 1),
    "batch_norm with weights": lambda x: F.batch_norm(x, ZERO, ZERO + 1, SOME),
    "batch_norm with a bias": lambda x: F.batch_norm(x, ZERO, ZERO + 1, SOME, -ZERO),
    "layer_norm": lambda x: F.layer_norm(x * ZERO, (3,)),
    "layer_norm with weights": lambda x: F.layer_norm(x, (3,), SOME),
    "layer_norm with a bias": lambda x: F.layer_norm(x * ZERO, (3,), SOME, -ZERO),
    "group_norm": lambda x: F.group_norm(x[None] * 0, 2),
    "group_norm with weights": lambda x: F.group_norm(x.t()[None] * 0, 3, SOME),
    "rms_norm": lambda x: F.rms_norm(x, (3,)),
    "rms_norm with weights": lambda x: F.rms_norm(x, (3,), SOME),
    "normalize": lambda x: F.normalize(x),
    "mse_loss": lambda x: F.mse_loss(x, -x, reduction="none"),
    "l1_loss": lambda x: F.l1_loss(x, -x, reduction="none"),
    "smooth_l1_loss": lambda x: F.smooth_l1_loss(x, -x, reduction="none"),
    "huber_loss": lambda x: F.huber_loss(x, -x, reduction="none"),
    "binary_cross_entropy": lambda x: F.binary_cross_entropy(x.abs().clamp(0, 1), x.abs().clamp(0, 1)),
    "logits": lambda x: F.binary_cross_entropy_with_logits(x, x, reduction="none"),
    "nll_loss": lambda x: F.nll_loss(x * 0, torch.tensor([0, 1, 2, 0, 1, 2]), reduction="none"),
    "kl_div": lambda x: F.kl_div(x, x * 0, reduction="none"),
    "margin": lambda x: F.margin_ranking_loss(x, x, x, reduction="none"),
    "cosine": lambda x: F.cosine_similarity(x, -x),
    "mean": lambda x: (x * -ZERO).mean(0),
    "sum": lambda x: (x * -ZERO).sum(0),
    "var": lambda x: (x * -ZERO).var(0),
    "norm": lambda x: (x * -ZERO).norm(dim=0),
    "prod": lambda x: x.prod(0),
    "logsumexp": lambda x: (x * 0).logsumexp(0) * -ZERO,
    "lerp": lambda x: torch.lerp(x, -x, 0.5),
    "addcmul": lambda x: torch.addcmul(x, x, ZERO, value=-1),
    "addcdiv": lambda x: torch.addcdiv(x, ZERO, SOME + 2, value=-1),
    "addmm": lambda x: torch.addmm(-ZERO, x, torch.zeros(3, 3), beta=-1, alpha=-1),
    "addmv": lambda x: torch.addmv(-torch.zeros(6), x, ZERO, beta=-1, alpha=-1),
    "baddbmm": lambda x: torch.baddbmm(-ZERO, x[None], torch.zeros(1, 3, 3), beta=-1, alpha=-1),
    "linear": lambda x: F.linear(x, torch.zeros(2, 3), torch.tensor([0.0, -0.0])),
    "interpolate": lambda x: F.interpolate(x[None, None] * 0, scale_factor=2.0, mode="bilinear"),
    "average": lambda x: F.avg_pool2d(x[None] * 0, 2, 1),
    "adaptive average": lambda x: F.adaptive_avg_pool2d(x[None] * 0, 2),
    "pad": lambda x: F.pad(x, (1, 1), value=-0.0),
    "cumsum": lambda x: (x * -ZERO).cumsum(0),
    "diff": lambda x: x.diff(dim=0),
    "softshrink": lambda x: F.softshrink(x),
    "hardshrink": lambda x: F.hardshrink(x),
    "threshold": lambda x: F.threshold(x, 0.5, -0.0),
    "celu": lambda x: F.celu(x),
    "hardtanh": lambda x: F.hardtanh(x, -0.0, 0.0),
    "clamp": lambda x: x.clamp(-0.0, 0.0),
    "logsigmoid": lambda x: F.logsigmoid(x * 100),
    "prelu": lambda x: F.prelu(x, torch.tensor([-0.0])),
    "dropout": lambda x: F.dropout(x, 1.0),
    "trapezoid": lambda x: torch.trapezoid(x * 0, dim=0),
    "cross": lambda x: torch.linalg.cross(x, x),
    "outer": lambda x: torch.outer(x[:, 0], -ZERO),
    "kron": lambda x: torch.kron(x, -ZERO),
    "dist": lambda x: torch.cdist(x, x),
}


def shown(program: Program, x: torch.Tensor) -> str:
    """Return the numbers of a result, and of its gradient, as text: it has the sign of a zero."""
    given = x.clone().requires_grad_()
    made = program(given)
    grad = torch.autograd.grad(made.sum(), given, allow_unused=True)[0]
    return str([one.round(decimals=4).tolist() for one in (made, grad) if one is not None])


@pytest.mark.parametrize("name", PROGRAMS)
def test_zeros_have_the_sign_of_eager(name: str) -> None:
    program = PROGRAMS[name]
    x = torch.tensor([-2.0, -1.0, -0.0, 0.0, 1.0, 2.0]).reshape(6, 1).repeat(1, 3)
    assert shown(supple.compile(program, backend="native"), x) == shown(program, x)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_what_flows_into_dropped_elements_is_multiplied_by_0(dtype: torch.dtype) -> None:
    def program(flowing: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return torch.ops.aten.native_dropout_backward(flowing, mask, 2.0)

    values = [-1.0, 1.0, float("inf"), float("nan"), -0.0]
    flowing = torch.tensor(values * 2).to(dtype)
    mask = torch.tensor([False] * 5 + [True] * 5)
    found, wanted = supple.compile(program, backend="native")(flowing, mask), program(flowing, mask)
    assert str(found) == str(wanted)

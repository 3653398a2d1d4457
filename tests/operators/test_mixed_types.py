"""Operators of tensors of several types: where eager refuses them, so does compiled code, read or not."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import supple
from supple.base.config import config

pytestmark = pytest.mark.sweep

Operator = Callable[..., Any]
OPERATORS: dict[str, tuple[Operator, tuple[int, ...], tuple[int, ...]]] = {
    "layer_norm": (lambda x, w: F.layer_norm(x, (4,), w, w), (2, 4), (4,)),
    "layer_norm1": (lambda x, w: F.layer_norm(x, (4,), w), (2, 4), (4,)),
    "rms_norm": (lambda x, w: F.rms_norm(x, (4,), w), (2, 4), (4,)),
    "group_norm": (lambda x, w: F.group_norm(x, 2, w, w), (2, 4, 3), (4,)),
    "instance_norm": (lambda x, w: F.instance_norm(x, w, w), (2, 4, 3), (4,)),
    "batch_norm": (lambda x, w: F.batch_norm(x, w, w), (2, 4, 3), (4,)),
    "batch_normt": (lambda x, w: F.batch_norm(x, w, w, training=True), (2, 4, 3), (4,)),
    "linear": (lambda x, w: F.linear(x, w), (2, 4), (3, 4)),
    "linearb": (lambda x, w: F.linear(x, x, w), (4, 4), (4,)),
    "conv1": (lambda x, w: F.conv1d(x, w), (2, 4, 5), (3, 4, 2)),
    "conv1b": (lambda x, w: F.conv1d(x, x[:, :, :2], w), (2, 4, 5), (2,)),
    "convt": (lambda x, w: F.conv_transpose1d(x, w), (2, 4, 5), (4, 3, 2)),
    "bmm": (torch.bmm, (2, 3, 3), (2, 3, 3)),
    "addmm": (lambda x, w: torch.addmm(x, x, w), (3, 3), (3, 3)),
    "addmm2": (lambda x, w: torch.addmm(w, x, x), (3, 3), (3, 3)),
    "baddbmm": (lambda x, w: torch.baddbmm(w, x, x), (2, 3, 3), (2, 3, 3)),
    "mv": (torch.mv, (3, 3), (3,)),
    "addmv": (lambda x, w: torch.addmv(w, x, x[0]), (3, 3), (3,)),
    "outer": (torch.outer, (3,), (3,)),
    "einsum": (lambda x, w: torch.einsum("ij,jk->ik", x, w), (3, 3), (3, 3)),
    "matmul": (torch.matmul, (2, 3, 3), (3,)),
    "tensordot": (lambda x, w: torch.tensordot(x, w, 1), (3, 3), (3, 3)),
    "kron": (torch.kron, (2, 2), (2, 2)),
    "sdpa": (lambda x, w: F.scaled_dot_product_attention(x, w, w), (1, 2, 3, 4), (1, 2, 3, 4)),
    "sdpam": (lambda x, w: F.scaled_dot_product_attention(x, x, x, attn_mask=w), (1, 2, 3, 4), (1, 2, 3, 3)),
    "bilinear": (lambda x, w: F.bilinear(x, x, w), (2, 3), (4, 3, 3)),
    "prelu": (F.prelu, (2, 3), (1,)),
    "mse": (F.mse_loss, (3,), (3,)),
    "l1": (F.l1_loss, (3,), (3,)),
    "huber": (F.huber_loss, (3,), (3,)),
    "smooth": (F.smooth_l1_loss, (3,), (3,)),
    "bce": (F.binary_cross_entropy, (3,), (3,)),
    "bcel": (F.binary_cross_entropy_with_logits, (3,), (3,)),
    "bcew": (lambda x, w: F.binary_cross_entropy(x, x, w), (3,), (3,)),
    "kl": (F.kl_div, (3,), (3,)),
    "poisson": (F.poisson_nll_loss, (3,), (3,)),
    "ce": (lambda x, w: F.cross_entropy(x, w), (2, 3), (2, 3)),
    "cew": (lambda x, w: F.cross_entropy(x, torch.tensor([0, 1]), w), (2, 3), (3,)),
    "nllw": (lambda x, w: F.nll_loss(x, torch.tensor([0, 1]), w), (2, 3), (3,)),
    "cos": (F.cosine_similarity, (2, 3), (2, 3)),
    "pdist": (F.pairwise_distance, (2, 3), (2, 3)),
    "cdist": (torch.cdist, (2, 3), (2, 3)),
    "margin": (lambda x, w: F.margin_ranking_loss(x, w, w), (3,), (3,)),
    "triplet": (lambda x, w: F.triplet_margin_loss(x, w, w), (2, 3), (2, 3)),
    "softmargin": (F.soft_margin_loss, (3,), (3,)),
    "mlm": (F.multilabel_soft_margin_loss, (2, 3), (2, 3)),
    "gaussnll": (lambda x, w: F.gaussian_nll_loss(x, x, w), (3,), (3,)),
    "cat": (lambda x, w: torch.cat([x, w]), (3,), (3,)),
    "stack": (lambda x, w: torch.stack([x, w]), (3,), (3,)),
    "where": (lambda x, w: torch.where(x > 0, x, w), (3,), (3,)),
    "index_put": (lambda x, w: x.index_put((torch.tensor([0, 1, 2]),), w), (3,), (3,)),
    "setitem": (lambda x, w: x.clone().__setitem__(torch.tensor([0, 1, 2]), w), (3,), (3,)),
    "scatter": (lambda x, w: x.scatter(0, torch.tensor([0, 1, 2]), w), (3,), (3,)),
    "scatter_add": (lambda x, w: x.scatter_add(0, torch.tensor([0, 1, 2]), w), (3,), (3,)),
    "index_add": (lambda x, w: x.index_add(0, torch.tensor([0, 1, 2]), w), (3,), (3,)),
    "index_copy": (lambda x, w: x.index_copy(0, torch.tensor([0, 1, 2]), w), (3,), (3,)),
    "scatter_reduce": (lambda x, w: x.scatter_reduce(0, torch.tensor([0, 1, 2]), w, "sum"), (3,), (3,)),
    "index_reduce": (lambda x, w: x.index_reduce(0, torch.tensor([0, 1, 2]), w, "prod"), (3,), (3,)),
    "masked_scatter": (lambda x, w: x.masked_scatter(x > 0, w), (3,), (3,)),
    "masked_fill": (lambda x, w: x.masked_fill(x > 0, w), (3,), ()),
    "index_fill": (lambda x, w: x.index_fill(0, torch.tensor([0]), w), (3,), ()),
    "select_scatter": (lambda x, w: x.select_scatter(w, 0, 0), (3, 3), (3,)),
    "slice_scatter": (lambda x, w: x.slice_scatter(w, 0, 0, 1), (3, 3), (1, 3)),
    "diagonal_scatter": (lambda x, w: x.diagonal_scatter(w), (3, 3), (3,)),
    "copy_": (lambda x, w: x.clone().copy_(w), (3,), (3,)),
    "add_": (lambda x, w: x.clone().add_(w), (3,), (3,)),
    "mul_": (lambda x, w: x.clone().mul_(w), (3,), (3,)),
    "addcmul": (lambda x, w: torch.addcmul(x, x, w), (3,), (3,)),
    "addcdiv": (lambda x, w: torch.addcdiv(x, x, w), (3,), (3,)),
    "lerp": (lambda x, w: torch.lerp(x, x, w), (3,), (3,)),
    "searchsorted": (torch.searchsorted, (3,), (3,)),
    "bucketize": (torch.bucketize, (3,), (3,)),
    "isin": (torch.isin, (3,), (3,)),
    "isclose": (torch.isclose, (3,), (3,)),
    "allclose": (torch.allclose, (3,), (3,)),
    "equal": (torch.equal, (3,), (3,)),
    "solve": (torch.linalg.solve, (2, 2), (2, 2)),
    "lstsq": (torch.linalg.lstsq, (2, 2), (2, 2)),
    "cross": (lambda x, w: torch.linalg.cross(x, w), (3,), (3,)),
    "vecdot": (torch.linalg.vecdot, (3,), (3,)),
    "dot": (torch.dot, (3,), (3,)),
    "vdot": (torch.vdot, (3,), (3,)),
    "dist": (torch.dist, (3,), (3,)),
    "complex": (torch.complex, (3,), (3,)),
    "polar": (torch.polar, (3,), (3,)),
    "grid_sample": (lambda x, w: F.grid_sample(x, w), (1, 1, 2, 2), (1, 1, 1, 2)),
    "fold": (lambda x, w: torch.trapezoid(x, w), (3,), (3,)),
    "quantile": (lambda x, w: torch.quantile(x, w), (3,), ()),
    "histc": (lambda x, w: torch.bincount(torch.tensor([0, 1, 2]), w), (3,), (3,)),
    "gru": (lambda x, w: torch.gru_cell(x, x, w, w), (1, 1), (3, 1)),
    "emb": (
        lambda x, w: F.embedding_bag(torch.tensor([[0, 1]]), x, per_sample_weights=w, mode="sum"),
        (2, 3),
        (1, 2),
    ),
}

FLOAT, DOUBLE, LOW, WHOLE, TRUTH = torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.bool
PAIRS = (
    (FLOAT, FLOAT), (FLOAT, DOUBLE), (DOUBLE, FLOAT), (FLOAT, LOW), (LOW, FLOAT), (LOW, LOW), (FLOAT, WHOLE),
    (FLOAT, TRUTH), (WHOLE, FLOAT), (WHOLE, WHOLE), (TRUTH, TRUTH), (LOW, TRUTH),
)  # fmt: skip


def outcome(program: Operator, *args: torch.Tensor) -> str:
    try:
        with config.patch(suppress_errors=False):
            program(*args)
    except Exception:
        return "raised"
    return "returned"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("pair", PAIRS, ids=str)
@pytest.mark.parametrize("name", OPERATORS)
def test_types_that_do_not_go_together(name: str, pair: tuple[torch.dtype, torch.dtype]) -> None:
    operator, left, right = OPERATORS[name]
    x, w = torch.ones(left).to(pair[0]), torch.ones(right).to(pair[1])

    def unread(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        operator(x, w)
        return x * 2

    assert outcome(supple.compile(unread), x, w) == outcome(unread, x, w)
    assert outcome(supple.compile(operator), x, w) == outcome(operator, x, w)


@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("named", [FLOAT, DOUBLE, LOW], ids=str)
@pytest.mark.parametrize("dtype", [FLOAT, DOUBLE, LOW], ids=str)
@pytest.mark.parametrize("name", ["_softmax_backward_data", "_log_softmax_backward_data"])
def test_the_type_of_a_softmax_s_gradient(
    name: str, dtype: torch.dtype, named: torch.dtype, backend: str
) -> None:
    def program(grad: torch.Tensor, output: torch.Tensor) -> torch.Tensor:
        return getattr(torch.ops.aten, name)(grad, output, 0, named)

    grad, output = torch.rand(5).to(dtype), torch.rand(5).to(dtype)
    expected = program(grad, output)
    found = supple.compile(program, backend=backend)(grad, output)
    assert found.dtype is expected.dtype is dtype
    torch.testing.assert_close(found, expected)

"""Types that eager refuses: the error comes in native code too, also where nobody reads the result."""

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F

import supple

pytestmark = pytest.mark.sweep

Operator = Callable[[torch.Tensor, torch.dtype], torch.Tensor]
TYPES = (torch.bool, torch.uint8, torch.int64, torch.float16, torch.float32, torch.complex64)
OPERATORS: dict[str, Operator] = {
    "cumsum": lambda x, dtype: x.cumsum(0, dtype=dtype),
    "cumprod": lambda x, dtype: x.cumprod(0, dtype=dtype),
    "sum": lambda x, dtype: x.sum(dtype=dtype),
    "prod": lambda x, dtype: x.prod(0, dtype=dtype),
    "mean": lambda x, dtype: x.mean(dtype=dtype),
    "nansum": lambda x, dtype: x.nansum(dtype=dtype),
    "softmax": lambda x, dtype: x.softmax(0, dtype=dtype),
    "_safe_softmax": lambda x, dtype: torch.ops.aten._safe_softmax(x, 0, dtype=dtype),
    "log_softmax": lambda x, dtype: x.log_softmax(0, dtype=dtype),
    "norm": lambda x, dtype: x.norm(dtype=dtype),
    "arange": lambda x, dtype: torch.arange(5, dtype=dtype),
    "linspace": lambda x, dtype: torch.linspace(0, 1, 3, dtype=dtype),
    "eye": lambda x, dtype: torch.eye(3, dtype=dtype),
    "argmax": lambda x, dtype: x.argmax(),
    "amax": lambda x, dtype: x.amax(),
    "cummax": lambda x, dtype: x.cummax(0)[0],
    "sort": lambda x, dtype: x.sort()[0],
    "topk": lambda x, dtype: x.topk(2)[0],
    "mode": lambda x, dtype: x.mode()[0],
    "median": lambda x, dtype: x.median(),
    "searchsorted": lambda x, dtype: torch.searchsorted(x, x.to(dtype)),
    "bucketize": lambda x, dtype: torch.bucketize(x.to(dtype), x),
    "max_pool1d": lambda x, dtype: F.max_pool1d(x.reshape(1, 1, 3), 2),
    "avg_pool1d": lambda x, dtype: F.avg_pool1d(x.reshape(1, 1, 3), 2),
    "pdist": lambda x, dtype: F.pdist(x[:, None]),
    "fold": lambda x, dtype: F.fold(x.reshape(1, 1, 3), (1, 3), 1),
    "unfold": lambda x, dtype: F.unfold(x.reshape(1, 1, 1, 3), 1),
    "mm": lambda x, dtype: x[None] @ x[:, None].to(dtype),
    "addbmm": lambda x, dtype: torch.addbmm(x[:1, None], x[None, None], x[None, :, None]),
    "dot": lambda x, dtype: torch.dot(x, x.to(dtype)),
    "layer_norm": lambda x, dtype: F.layer_norm(x, [3]),
    "batch_norm": lambda x, dtype: F.batch_norm(x.reshape(3, 1), None, None, training=True),
    "attention": lambda x, dtype: F.scaled_dot_product_attention(*[x.reshape(1, 1, 3, 1)] * 3),
    "mse_loss": lambda x, dtype: F.mse_loss(x, x.to(dtype)),
    "smooth_l1_loss": lambda x, dtype: F.smooth_l1_loss(x, x.to(dtype)),
    "prelu": lambda x, dtype: F.prelu(x, x[:1].to(dtype)),
    "lerp": lambda x, dtype: torch.lerp(x, x.to(dtype), 0.5),
    "copysign": lambda x, dtype: torch.copysign(x, x.to(dtype)),
    "shift": lambda x, dtype: x << x.to(dtype),
    "index": lambda x, dtype: x[x.to(dtype) * 0],
    "gather": lambda x, dtype: x.gather(0, x.to(dtype) * 0),
    "index_put": lambda x, dtype: x.index_put((torch.tensor([0]),), x[:1].to(dtype)),
    "masked_scatter": lambda x, dtype: x.masked_scatter(x != 0, x.to(dtype)),
    "cat": lambda x, dtype: torch.cat([x, x.to(dtype)]),
    "isin": lambda x, dtype: torch.isin(x, x.to(dtype)),
    "cross": lambda x, dtype: torch.linalg.cross(x, x.to(dtype)),
    "det": lambda x, dtype: x[:1, None].det(),
    "qr": lambda x, dtype: torch.linalg.qr(x[:1, None])[1],
    "std": lambda x, dtype: x.std(),
    "logsumexp": lambda x, dtype: x.logsumexp(0),
    "median of rows": lambda x, dtype: x.median(0)[0],
    "nanmedian of rows": lambda x, dtype: x.nanmedian(0)[0],
    "mvlgamma": lambda x, dtype: torch.mvlgamma(x, 1),
    "cholesky": lambda x, dtype: torch.linalg.cholesky(x[:1, None]),
    "cholesky_inverse": lambda x, dtype: torch.cholesky_inverse(x[:1, None]),
    "cholesky_solve": lambda x, dtype: torch.cholesky_solve(x[:1, None], x[:1, None]),
    "eigvalsh": lambda x, dtype: torch.linalg.eigvalsh(x[:1, None]),
    "eigh": lambda x, dtype: torch.linalg.eigh(x[:1, None])[0],
    "lu": lambda x, dtype: torch.linalg.lu(x[:1, None])[1],
    "solve_triangular": lambda x, dtype: torch.linalg.solve_triangular(x[:1, None], x[:1, None], upper=True),
    "householder_product": lambda x, dtype: torch.linalg.householder_product(x[:1, None], x[:1]),
    "segment_reduce": lambda x, dtype: torch.segment_reduce(x, "max", lengths=torch.tensor([1, 2])),
    "max_pool3d": lambda x, dtype: F.max_pool3d(x.reshape(1, 1, 1, 1, 3), 1),
    "adaptive_avg_pool3d": lambda x, dtype: F.adaptive_avg_pool3d(x.reshape(1, 1, 1, 3), (1, 1, 2)),
    "adaptive_max_pool3d": lambda x, dtype: F.adaptive_max_pool3d(x.reshape(1, 1, 1, 3), (1, 1, 2)),
    "multilabel_margin_loss": lambda x, dtype: F.multilabel_margin_loss(x, torch.tensor([0, -1, -1])),
    "cdist": lambda x, dtype: torch.cdist(x[None], x[None].to(dtype)),
}


def outcome(function: Callable[[torch.Tensor], object], x: torch.Tensor) -> object:
    try:
        found = function(x)
    except Exception as error:
        return type(error), str(error)
    return (found.dtype, found.shape, found.stride()) if isinstance(found, torch.Tensor) else found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("is_read", [False, True])
@pytest.mark.parametrize("name", OPERATORS)
def test_types_that_eager_refuses_are_refused(name: str, is_read: bool) -> None:
    operator = OPERATORS[name]
    missed = []
    for source in TYPES:
        x = torch.ones(3).to(source)
        for dtype in TYPES:

            def program(x: torch.Tensor, dtype: torch.dtype = dtype) -> object:
                found = operator(x, dtype)
                return found if is_read else x.dim()

            wanted = outcome(program, x)
            if outcome(supple.compile(program, backend="native"), x) != wanted:
                missed.append((source, dtype, wanted))
    assert not missed

"""An operator that refuses a type or values, which only the run knows: what was written before is undone."""

from collections.abc import Callable

import pytest
import torch
from torch.nn import functional as F

import supple

OPERATORS: dict[str, Callable[[torch.Tensor], object]] = {
    "layer_norm": lambda x: F.layer_norm(x, (x.shape[-1],)),
    "dropout": F.dropout,
    "softmax": lambda x: F.softmax(x, -1),
    "binary_cross_entropy": lambda x: F.binary_cross_entropy(x.abs(), x.abs()),
    "bincount": lambda x: x[0].bincount(),
    "sort": lambda x: x.sort(),
    "median": lambda x: x.median(),
    "linalg.inv": lambda x: torch.linalg.inv(x - x),
    "linalg.det": torch.linalg.det,
    "matrix_exp": torch.matrix_exp,
    "interpolate": lambda x: F.interpolate(x[None, None], scale_factor=2),
    "grid_sample": lambda x: F.grid_sample(x[None, None], torch.zeros(1, 1, 1, 2, dtype=x.dtype)),
    "ctc_loss": lambda x: F.ctc_loss(x[:, None], torch.ones(1, 1).long(), (x.shape[0],), (1,)),
    "cross_entropy": lambda x: F.cross_entropy(x, torch.full((x.shape[0],), 7)),
    "gaussian_nll_loss": lambda x: F.gaussian_nll_loss(x, x, -x.abs()),
    "histc": lambda x: x.histc(),
    "quantile": lambda x: x.quantile(x[0, 0]),
    "multinomial": lambda x: torch.multinomial(-x, 1),
    "cdist": lambda x: torch.cdist(x, x),
    "unfold": lambda x: F.unfold(x[None, None], 1),
    "embedding_bag": lambda x: F.embedding_bag(torch.full((1, 1), 9), x),
    "fft": torch.fft.fft,
}
TYPES = (torch.float32, torch.float16, torch.bfloat16, torch.complex64, torch.int64, torch.bool)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", OPERATORS)
def test_a_refusal_can_be_caught(name: str, dtype: torch.dtype, backend: str) -> None:
    def program(state: torch.Tensor, x: torch.Tensor) -> object:
        state.add_(1)
        try:
            OPERATORS[name](x)
        except (RuntimeError, ValueError, IndexError) as error:
            return type(error), str(error)
        return None

    compiled = supple.compile(program, backend=backend, dynamic=True)
    for _ in range(2):
        wanted, state = torch.zeros(2), torch.zeros(2)
        x = (torch.arange(1, 10).view(3, 3) * 2).to(dtype)
        assert compiled(state, x) == program(wanted, x)
        assert torch.equal(state, wanted)

"""What backward may keep, and gradients that are sparse."""

from collections.abc import Callable

import pytest
import torch
from torch import nn

import supple

with torch.inference_mode():
    MASK = torch.eye(3)


def compared(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return torch.softmax((x @ w).masked_fill(MASK == 0, -1.0), -1)


def compared_in_part(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return torch.where(MASK[:3, :2].t().repeat(2, 1)[:3] > 0, x @ w, w)


def added(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return (x @ w + MASK).tanh()


def multiplied(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return x @ w * MASK


@pytest.mark.parametrize("backend", ["aot_eager", "native"])
@pytest.mark.parametrize("program", [compared, compared_in_part, added, multiplied])
def test_tensors_of_inference_mode_are_kept_where_eager_keeps_them(
    program: Callable[[torch.Tensor, torch.Tensor], torch.Tensor], backend: str
) -> None:
    # X-SND01
    def told(run: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> object:
        torch.manual_seed(0)
        x, w = torch.randn(3, 3), torch.randn(3, 3, requires_grad=True)
        try:
            run(x, w).sum().backward()
        except RuntimeError as error:
            return str(error)
        return w.grad

    with supple.config.patch(suppress_errors=False):
        wanted, found = told(program), told(supple.compile(program, backend=backend))
    if isinstance(wanted, str):
        assert found == wanted
    else:
        torch.testing.assert_close(found, wanted)


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(5, 3, sparse=True)

    def forward(self, places: torch.Tensor) -> torch.Tensor:
        return self.embedding(places) @ self.embedding.weight.t()


class Untied(Tied):
    def forward(self, places: torch.Tensor) -> torch.Tensor:
        return self.embedding(places) * 2


@pytest.mark.parametrize("backend", ["aot_eager", "native"])
@pytest.mark.parametrize("kind", [Tied, Untied])
def test_sparse_gradients_of_embeddings(kind: type[Tied], backend: str) -> None:
    module, places = kind(), torch.tensor([0, 1, 1])
    compiled = supple.compile(module, backend=backend)
    gradients: list[torch.Tensor] = []
    for run in (module, compiled):
        module.zero_grad()
        run(places).sum().backward()
        gradient = module.embedding.weight.grad
        assert gradient is not None
        gradients.append(gradient)
    assert gradients[0].layout == gradients[1].layout
    torch.testing.assert_close(gradients[1].to_dense(), gradients[0].to_dense())


@pytest.mark.parametrize("backend", ["aot_eager", "native"])
@pytest.mark.parametrize("name", ["running_mean", "running_var"])
def test_one_of_two_statistics_is_refused_as_in_eager(name: str, backend: str) -> None:
    module = nn.BatchNorm1d(3)
    setattr(module, name, None)
    with supple.config.patch(suppress_errors=False):
        for run in (module, supple.compile(module, backend=backend)):
            with pytest.raises(ValueError, match="must either both be None"):
                run(torch.randn(4, 3))

"""Models trained by compiled forward, backward and optimizer: losses and gradients are eager's."""

import copy
from collections.abc import Callable
from typing import Any, Final, cast

import pytest
import torch
from torch import nn, optim
from torch.nn import functional as F

import supple
from tests.models.families import FAMILIES, loss_of

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::UserWarning:transformers.*")]
TOLERANCE: Final = 1e-5


class Block(nn.Module):
    """Two convolutions around which the input goes."""

    def __init__(self, width: int, out: int, stride: int) -> None:
        super().__init__()
        self.first, self.last = nn.Conv2d(width, out, 3, stride, 1), nn.Conv2d(out, out, 3, 1, 1)
        self.norms = nn.ModuleList([nn.BatchNorm2d(out) for _ in range(2)])
        self.around = nn.Conv2d(width, out, 1, stride) if stride > 1 else nn.Identity()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = F.relu(self.norms[0](self.first(x)))
        return F.relu(self.norms[1](self.last(h)) + self.around(x))


class ResNet(nn.Module):
    """Images to a loss."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.norm = nn.Conv2d(3, 8, 3, 1, 1), nn.BatchNorm2d(8)
        self.blocks = nn.Sequential(Block(8, 8, 1), Block(8, 16, 2), Block(16, 32, 2))
        self.head = nn.Linear(32, 10)

    def forward(self, x: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        h = self.blocks(F.max_pool2d(F.relu(self.norm(self.stem(x))), 2))
        return F.cross_entropy(self.head(h.mean((2, 3))), labels)


class Tagger(nn.Module):
    """Words to a loss, through an LSTM in both directions."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(50, 16)
        self.recurrent = nn.LSTM(16, 12, num_layers=2, bidirectional=True, batch_first=True)
        self.head = nn.Linear(24, 5)

    def forward(self, words: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        found, _ = self.recurrent(self.words(words))
        return F.cross_entropy(self.head(found).flatten(0, 1), labels.flatten())


OWN: Final[dict[str, tuple[Callable[[], nn.Module], Callable[[], dict[str, torch.Tensor]]]]] = {
    "resnet": (ResNet, lambda: {"x": torch.randn(4, 3, 16, 16), "labels": torch.randint(0, 10, (4,))}),
    "lstm": (
        Tagger,
        lambda: {"words": torch.randint(0, 50, (3, 7)), "labels": torch.randint(0, 5, (3, 7))},
    ),
}
NAMES: Final = ("gpt2", "llama", "bert", "vit", "t5", "convnext", *OWN)
OPTIMIZERS: Final[dict[str, Callable[[Any], optim.Optimizer]]] = {
    "sgd": lambda parameters: optim.SGD(parameters, lr=0.01, momentum=0.9),
    "adamw": lambda parameters: optim.AdamW(parameters, lr=1e-3),
}


def built(name: str) -> tuple[Any, list[dict[str, torch.Tensor]]]:
    """Return a model and five batches."""
    torch.manual_seed(0)
    if name in OWN:
        make, batch = OWN[name]
        return make(), [batch() for _ in range(5)]
    family = FAMILIES[name]
    return family.make().train(), [family.batch(family.shapes[0], True) for _ in range(5)]


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("name", NAMES)
def test_five_steps_are_as_eager(name: str, optimizer: str) -> None:
    # TRN01, TRN02, TRN03, TRN07
    model, batches = built(name)
    models = [copy.deepcopy(model), model]
    optimizers = [OPTIMIZERS[optimizer](one.parameters()) for one in models]
    runs = [supple.compile(models[0]), models[1]]
    steps = [supple.compile(optimizers[0].step), optimizers[1].step]
    for batch in batches:
        losses: list[torch.Tensor] = []
        for run, step, one in zip(runs, steps, optimizers, strict=True):
            one.zero_grad()
            output = run(**batch)
            losses.append(output if isinstance(output, torch.Tensor) else loss_of(output))
            losses[-1].backward()
            step()
        torch.testing.assert_close(*losses, rtol=TOLERANCE, atol=TOLERANCE)
        for (place, left), right in zip(models[0].named_parameters(), models[1].parameters(), strict=True):
            assert (left.grad is None) == (right.grad is None), place
            if right.grad is not None:
                torch.testing.assert_close(left.grad, right.grad, rtol=TOLERANCE, atol=TOLERANCE, msg=place)
    stats = supple.stats()
    # The kernel of LSTMs keeps memory whose size it alone knows: that graph runs by eager.
    assert all("mkldnn_rnn_layer" in str(why) for why in cast("list[str]", stats["refusals"]))
    assert (stats["graphs"], stats["breaks"]) == (3, 0), "the model, the step that makes state, the step"

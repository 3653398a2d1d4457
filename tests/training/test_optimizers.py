"""`torch.optim` steps compiled whole: parameters and state as eager's, one graph once state exists."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import nn, optim

import supple

OPTIONS: dict[str, tuple[Callable[..., optim.Optimizer], dict[str, Any]]] = {
    "sgd": (optim.SGD, {}),
    "sgd momentum": (optim.SGD, {"momentum": 0.9, "dampening": 0.2, "weight_decay": 0.1}),
    "sgd nesterov": (optim.SGD, {"momentum": 0.9, "nesterov": True, "maximize": True}),
    "adam": (optim.Adam, {}),
    "adam amsgrad": (optim.Adam, {"amsgrad": True, "weight_decay": 0.1}),
    "adamw": (optim.AdamW, {"weight_decay": 0.2}),
    "rmsprop": (optim.RMSprop, {}),
    "rmsprop centered": (optim.RMSprop, {"momentum": 0.9, "centered": True, "weight_decay": 0.1}),
    "adagrad": (optim.Adagrad, {}),
    "adagrad decay": (
        optim.Adagrad,
        {"lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.3},
    ),
    "adamax": (optim.Adamax, {"weight_decay": 0.1}),
    "adadelta": (optim.Adadelta, {}),
}


class Pair:
    """Equal parameters with an optimizer each: the first steps compiled, the second by eager."""

    def __init__(self, make: Callable[..., optim.Optimizer], **options: Any) -> None:
        torch.manual_seed(0)
        shapes = [(4, 3), (3,), (), (4, 3), (2, 1, 5)]
        values = [torch.randn(shape) for shape in shapes]
        self.parameters = [[nn.Parameter(value.clone()) for value in values] for _ in range(2)]
        options.setdefault("lr", 0.05)
        self.optimizers = [make(parameters, **options) for parameters in self.parameters]
        self.compiled = supple.compile(self.optimizers[0].step)

    def __iter__(self) -> Iterator[tuple[nn.Parameter, nn.Parameter]]:
        return zip(*self.parameters, strict=True)

    def step(self, without: tuple[int, ...] = ()) -> None:
        """Give both the same gradients, none to some, and step."""
        for place, (left, right) in enumerate(self):
            left.grad = None if place in without else torch.randn_like(left)
            right.grad = None if left.grad is None else left.grad.clone()
        self.compiled()
        self.optimizers[1].step()

    def check(self) -> None:
        """Compare parameters, state and gradients."""
        compiled, eager = (optimizer.state_dict() for optimizer in self.optimizers)
        torch.testing.assert_close(compiled["state"], eager["state"], rtol=1e-5, atol=1e-6)
        assert compiled["param_groups"] == eager["param_groups"]
        for left, right in self:
            torch.testing.assert_close(left, right, rtol=1e-5, atol=1e-6)
            torch.testing.assert_close(left.grad, right.grad, rtol=1e-5, atol=1e-6)
            assert left.is_leaf
            assert left.requires_grad


@pytest.mark.parametrize("foreach", [None, True])
@pytest.mark.parametrize("name", OPTIONS)
def test_five_steps_are_as_eager(name: str, foreach: bool | None) -> None:
    # TRN02
    make, options = OPTIONS[name]
    pair = Pair(make, foreach=foreach, **options)
    for _ in range(5):
        pair.step(without=(3,))
        pair.check()
    stats = supple.stats()
    assert not stats["breaks"]
    assert not stats["refusals"]
    assert not stats["fallbacks"]
    assert stats["graphs"] in (1, 2)

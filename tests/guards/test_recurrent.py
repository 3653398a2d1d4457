"""Recurrent layers of sequences whose batch and length vary: captured whole, once for each size."""

import pytest
import torch
from torch import nn

import supple


@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_layers_of_sizes_that_vary_are_captured(kind: type[nn.RNNBase], backend: str) -> None:
    torch.manual_seed(0)
    module = kind(3, 4, batch_first=True)
    compiled = supple.compile(module, backend=backend)
    for batch, length in ((2, 3), (2, 4), (3, 4), (2, 3)):
        mine = torch.randn(batch, length, 3).requires_grad_()
        theirs = mine.detach().clone().requires_grad_()
        compiled(mine)[0].sum().backward()
        grads = [one.grad for one in module.parameters()]
        module.zero_grad()
        module(theirs)[0].sum().backward()
        for grad, one in zip([mine.grad, *grads], [theirs, *module.parameters()], strict=True):
            torch.testing.assert_close(grad, one.grad)
        module.zero_grad()
    assert supple.stats()["breaks"] == 0, supple.stats()["reasons"]


def test_the_stack_of_torch_is_no_part_of_a_reason() -> None:
    compiled = supple.compile(lambda x: torch.mm(x, x[0]))
    with pytest.raises(RuntimeError):
        compiled(torch.ones(2, 2))
    assert "Exception raised from" not in str(supple.stats()["reasons"])

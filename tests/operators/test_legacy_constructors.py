"""`x.new` and the typed constructors take sizes, sequences and tensors as eager does."""

from collections.abc import Callable

import pytest
import torch

import supple

X = torch.arange(6.0).reshape(2, 3)
Y = torch.ones(5, 8)
Program = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
PROGRAMS: dict[str, Program] = {
    "new of a size": lambda x, y: x.new(y.size()).zero_(),
    "new of a shape": lambda x, y: x.new(y.shape).zero_(),
    "new of numbers": lambda x, y: x.new(5, 8).zero_(),
    "new of a list": lambda x, y: x.new([5, 8]),
    "new of a tuple": lambda x, y: x.new((5, 8)),
    "new of part of a size": lambda x, y: x.new(y.size()[1:]).zero_(),
    "new of nothing": lambda x, y: x.new(),
    "new_zeros of a size": lambda x, y: x.new_zeros(y.size()),
    "new_ones of numbers": lambda x, y: x.new_ones(5, 8),
    "new_full of a size": lambda x, y: x.new_full(y.size(), 2.0),
    "new_tensor of a size": lambda x, y: x.new_tensor(y.size()),
    "FloatTensor of a list": lambda x, y: torch.FloatTensor([5, 8]),
    "LongTensor of a tuple": lambda x, y: torch.LongTensor((5, 8)),
    "Tensor of a size": lambda x, y: torch.Tensor(y.size()).zero_(),
    "Tensor of a list": lambda x, y: torch.Tensor([5, 8]),
}


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_constructors_read_their_arguments_as_eager_does(name: str, dynamic: bool) -> None:
    program = PROGRAMS[name]
    got, want = supple.compile(program, dynamic=dynamic)(X, Y), program(X, Y)
    assert got.dtype is want.dtype
    torch.testing.assert_close(got, want)

"""The structure of modules is guarded: parts replaced, modes switched, hooks added give the eager result."""

from collections.abc import Callable

import pytest
import torch
from torch import nn

import supple
from tests.guards.change import same


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 3)
        self.layers = nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3)])
        self.drop = nn.Dropout(0.5)
        self.register_buffer("shift", torch.ones(3))
        self.scale = 2.0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.first(x) * self.scale
        for layer in self.layers:
            x = layer(x).relu()
        return self.drop(x) + self.shift


def hook(module: nn.Module, args: object, output: torch.Tensor) -> torch.Tensor:
    return output * 10


def pre_hook(module: nn.Module, args: tuple[torch.Tensor]) -> tuple[torch.Tensor]:
    return (args[0] + 5,)


CHANGES: dict[str, Callable[[Net], object]] = {
    "a submodule replaced": lambda net: setattr(net, "first", nn.Linear(3, 3, bias=False)),
    "a submodule of another class": lambda net: setattr(net, "first", nn.Identity()),
    "a list of modules extended": lambda net: net.layers.append(nn.Linear(3, 3)),
    "a list of modules shortened": lambda net: net.layers.pop(1),
    "a parameter replaced by None": lambda net: net.first.register_parameter("bias", None),
    "a plain attribute": lambda net: setattr(net, "scale", 3.0),
    "another dtype": lambda net: net.double(),
    "requires_grad of parameters": lambda net: net.requires_grad_(False),
    "training mode": lambda net: net.train(),
    "a forward hook on a submodule": lambda net: net.first.register_forward_hook(hook),
    "a forward hook on the module": lambda net: net.register_forward_hook(hook),
    "a forward pre-hook": lambda net: net.layers[0].register_forward_pre_hook(pre_hook),
    "a buffer of another size": lambda net: setattr(net, "shift", torch.ones(1)),
    "forward on the instance": lambda net: setattr(net, "forward", lambda x: x * 7),
    "forward of a submodule on the instance": lambda net: setattr(net.first, "forward", lambda x: x * 7),
}
UNSEEN: dict[str, Callable[[Net], object]] = {
    "a parameter replaced": lambda net: setattr(net.first, "weight", nn.Parameter(torch.full((3, 3), 2.0))),
    "the data of a parameter": lambda net: setattr(net.first.weight, "data", torch.full((3, 3), 4.0)),
    "a parameter written in place": lambda net: net.first.weight.detach().fill_(3.0),
    "a buffer replaced": lambda net: setattr(net, "shift", torch.full((3,), 9.0)),
}


def agree(net: Net, compiled: nn.Module, x: torch.Tensor) -> None:
    torch.manual_seed(0)
    expected = net(x)
    torch.manual_seed(0)
    assert same(compiled(x), expected)


@pytest.fixture
def net() -> Net:
    return Net().eval()


@pytest.mark.parametrize("name", sorted(CHANGES))
def test_a_change_of_a_module_is_noticed(net: Net, name: str) -> None:
    compiled = supple.compile(net, backend="eager", fullgraph=True)
    x = torch.ones(2, 3)
    agree(net, compiled, x)
    CHANGES[name](net)
    if name == "another dtype":
        x = x.double()
    agree(net, compiled, x)
    count = supple.stats()["compilations"]
    assert count == 2
    agree(net, compiled, x)
    assert supple.stats()["compilations"] == count


@pytest.mark.parametrize("name", sorted(UNSEEN))
def test_new_values_of_tensors_need_no_compilation(net: Net, name: str) -> None:
    compiled = supple.compile(net, backend="eager", fullgraph=True)
    x = torch.ones(2, 3)
    agree(net, compiled, x)
    UNSEEN[name](net)
    agree(net, compiled, x)
    assert supple.stats()["compilations"] == 1


def test_a_global_hook_is_noticed(net: Net) -> None:
    compiled = supple.compile(net, backend="eager", fullgraph=True)
    x = torch.ones(2, 3)
    agree(net, compiled, x)
    handle = nn.modules.module.register_module_forward_hook(hook)
    try:
        agree(net, compiled, x)
    finally:
        handle.remove()
    agree(net, compiled, x)


def test_a_replaced_forward_of_the_class_is_noticed(monkeypatch) -> None:
    class Mine(Net):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.first(x)

    net = Mine().eval()
    compiled = supple.compile(net, backend="eager", fullgraph=True)
    x = torch.ones(2, 3)
    agree(net, compiled, x)
    monkeypatch.setattr(Mine, "forward", lambda self, x: self.first(x) + 1)
    agree(net, compiled, x)


def test_a_replaced_forward_of_a_submodule_class_is_noticed(monkeypatch, net: Net) -> None:
    compiled = supple.compile(net, backend="eager", fullgraph=True)
    x = torch.ones(2, 3)
    agree(net, compiled, x)
    monkeypatch.setattr(nn.Linear, "forward", lambda self, x: x * 3)
    agree(net, compiled, x)


def test_a_deleted_attribute_is_noticed(net: Net) -> None:
    compiled = supple.compile(net, backend="eager")
    x = torch.ones(2, 3)
    agree(net, compiled, x)
    del net.scale
    with pytest.raises(AttributeError, match="scale"):
        compiled(x)
    net.scale = 2.0
    agree(net, compiled, x)


def test_train_and_eval_each_keep_their_entry(net: Net) -> None:
    compiled = supple.compile(net, backend="eager", fullgraph=True)
    x = torch.ones(2, 3)
    for _ in range(3):
        compiled.train()
        agree(net, compiled, x)
        compiled.eval()
        agree(net, compiled, x)
    assert supple.stats()["compilations"] == 2

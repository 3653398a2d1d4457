"""Names of torch and Python that a program replaces between calls, as tests and plug-ins do."""

import math
import operator
from collections.abc import Callable
from typing import Any, Final

import pytest
import torch
import torch.nn.functional as F

import supple

x = torch.tensor([1.0, -2.0])
linear = torch.nn.Linear(2, 2)
layers = torch.nn.Sequential(torch.nn.ReLU())


def sevenfold(tensor: torch.Tensor, *_others: object, **_named: object) -> torch.Tensor:
    return tensor * 7


PATCHES: Final[dict[str, tuple[Callable[[], Any], Any, str, Any]]] = {
    "a function of torch": (lambda: torch.relu(x), torch, "relu", sevenfold),
    "a function of functional": (lambda: F.relu(x), F, "relu", sevenfold),
    "a function in C": (lambda: F.gelu(x), F, "gelu", sevenfold),
    "what a module calls": (lambda: layers(x), F, "relu", sevenfold),
    "what a layer calls": (lambda: linear(x), F, "linear", sevenfold),
    "forward": (lambda: layers(x), torch.nn.ReLU, "forward", lambda self, t: t * 7),
    "a call of modules": (lambda: linear(x), torch.nn.Module, "__call__", lambda self, t: t * 7),
    "a call of a layer": (lambda: linear(x), torch.nn.Linear, "__call__", lambda self, t: t * 7),
    "attributes of modules": (lambda: linear.weight, torch.nn.Module, "__getattr__", lambda self, name: 7),
    "an iterator": (lambda: len([*layers]), torch.nn.Sequential, "__iter__", lambda self: iter([1, 2])),
    "a method of tensors": (lambda: x.abs(), torch.Tensor, "abs", sevenfold),
    "addition": (lambda: x + 1, torch.Tensor, "__add__", sevenfold),
    "reflected subtraction": (lambda: 1 - x, torch.Tensor, "__rsub__", sevenfold),
    "a shape": (lambda: x.shape, torch.Tensor, "shape", property(lambda self: 5)),
    "a transpose": (lambda: x.mT if x.ndim > 1 else x.T, torch.Tensor, "T", property(lambda self: 5)),
    "a dtype": (lambda: x.dtype, torch.Tensor, "dtype", property(lambda self: 5)),
    "a leaf": (lambda: x.is_leaf, torch.Tensor, "is_leaf", property(lambda self: 5)),
    "a new attribute": (lambda: hasattr(x, "seven"), torch.Tensor, "seven", 7),
    "math": (lambda: x * math.sqrt(4), math, "sqrt", lambda number: 7),
    "operator": (lambda: operator.add(x, 1), operator, "add", sevenfold),
    "a dtype of torch": (lambda: x.to(torch.float32), torch, "float32", torch.float64),
    "a number of torch": (lambda: x * torch.pi, torch, "pi", 2.0),
    "grad mode": (lambda: torch.is_grad_enabled(), torch, "is_grad_enabled", lambda: 5),
}


@pytest.mark.parametrize("name", PATCHES)
def test_what_is_replaced_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program, owner, attribute, other = PATCHES[name]
    compiled = supple.compile(program)
    found, wanted = [repr(compiled())], [repr(program())]
    with monkeypatch.context() as patch:
        patch.setattr(owner, attribute, other, raising=False)
        wanted.append(repr(program()))
        found.append(repr(compiled()))
    wanted.append(repr(program()))
    found.append(repr(compiled()))
    assert found == wanted

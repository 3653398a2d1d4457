"""Tensors where operators take plain integers, and methods of tensors called on what is none."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn import functional

import supple
from supple.base.config import config

CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "narrow": lambda x, n: x.narrow(0, n, 1),
    "narrow from a size": lambda x, n: x.narrow(0, 0, n),
    "select": lambda x, n: x.select(0, n),
    "repeat": lambda x, n: x.repeat(n, 1),
    "repeat twice": lambda x, n: x.repeat(n, n),
    "expand": lambda x, n: x.expand(n, *x.shape),
    "view": lambda x, n: x.view(n, -1),
    "zeros": lambda x, n: torch.zeros(n) + x.sum(),
    "zeros of a list": lambda x, n: torch.zeros([n, 2]) + x.sum(),
    "topk": lambda x, n: x.topk(n).values,
    "sum": lambda x, n: x[None].sum(n),
    "roll": lambda x, n: x.roll(n, 0),
    "diagonal": lambda x, n: x.diagonal(n),
    "tril": lambda x, n: x.tril(n),
    "stride of a convolution": lambda x, n: functional.conv1d(x[None], x[:, None], stride=n, groups=4),
    "strides of a convolution": lambda x, n: functional.conv1d(x[None], x[:, None], stride=[n], groups=4),
    "padding": lambda x, n: functional.conv1d(x[None], x[:, None], padding=n, groups=4),
    "pad": lambda x, n: functional.pad(x, (n, 0)),
    "alpha": lambda x, n: torch.add(x, x, alpha=n),
    "item": lambda x, n: x[n],
    "slice": lambda x, n: x[n:],
    "linspace": lambda x, n: torch.linspace(0, 1, n) + x.sum(),
    "pooling": lambda x, n: functional.avg_pool1d(x, n),
}


@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.filterwarnings("ignore")
def test_a_tensor_stands_for_its_number(name: str, dynamic: bool, backend: str) -> None:
    # SYM15, X-SND01
    call = CALLS[name]
    compiled = supple.compile(lambda x, n: call(x, n) * 2, backend=backend, dynamic=dynamic)
    with config.patch(suppress_errors=False):
        for number in (1, 2, 1):
            x = torch.arange(16.0).reshape(4, 4) / 8
            try:
                want = call(x, torch.tensor(number)) * 2
            except TypeError:
                with pytest.raises(TypeError):
                    compiled(x, torch.tensor(number))
                continue
            torch.testing.assert_close(compiled(x, torch.tensor(number)), want)


METHODS = [
    *(name for name in dir(torch.Tensor) if name.startswith("__r") and callable(getattr(torch.Tensor, name))),
    *"add __add__ mul abs view sum __matmul__ __eq__ __getitem__ t".split(),
]


@pytest.mark.parametrize("owner", [None, 1.0, [1], "a"], ids=str)
@pytest.mark.parametrize("name", METHODS)
def test_a_method_of_what_is_no_tensor(name: str, owner: object) -> None:
    # X-SND01
    method = getattr(torch.Tensor, name)

    def program(x: torch.Tensor, owner: object) -> str:
        try:
            return str(method(owner, x))
        except (TypeError, AttributeError, NotImplementedError) as error:
            return f"{type(error)} {error}"

    with config.patch(suppress_errors=False):
        assert supple.compile(program)(torch.ones(2, 2), owner) == program(torch.ones(2, 2), owner)

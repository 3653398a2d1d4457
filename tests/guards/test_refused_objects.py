"""A call with an object that capture leaves to Python does not make calls with other objects run eager."""

import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import supple


class Marked(torch.Tensor):
    """A tensor of a class of its own."""


class Equal(type):
    """A metaclass that says what its classes are equal to."""

    def __eq__(cls, other: object) -> bool:
        return True

    def __hash__(cls) -> int:
        return 1


class Made(metaclass=Equal):
    """Of that metaclass."""

    scale = 3


class Plain:
    """Of no metaclass."""

    scale = 3


def doubled(x: Any) -> Any:
    return x * 2


def scaled(thing: Any, x: torch.Tensor) -> Any:
    return x * thing.scale


CASES: dict[str, tuple[Callable[..., Any], Any, Any]] = {
    "a subclass of tensors": (
        doubled,
        lambda: (torch.ones(3).as_subclass(Marked),),
        lambda: (torch.ones(3),),
    ),
    "a sparse tensor": (doubled, lambda: (torch.ones(3).to_sparse(),), lambda: (torch.ones(3),)),
    "a nested tensor": (
        doubled,
        lambda: (torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),),
        lambda: (torch.ones(3),),
    ),
    "a quantized tensor": (
        lambda x: x.dequantize() * 2 if x.is_quantized else x * 2,
        lambda: (torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8),),
        lambda: (torch.ones(3),),
    ),
    "a negative bit": (
        doubled,
        lambda: (torch.complex(torch.ones(3), torch.ones(3)).conj().imag,),
        lambda: (torch.ones(3),),
    ),
    "a conjugate bit": (
        doubled,
        lambda: (torch.ones(3, dtype=torch.complex64).conj(),),
        lambda: (torch.ones(3, dtype=torch.complex64),),
    ),
    "a zero tensor": (
        doubled,
        lambda: (torch._efficientzerotensor((3,)),),
        lambda: (torch.ones(3),),
    ),
    "a type that is not represented": (
        lambda x: x.clone(),
        lambda: (torch.zeros(3, dtype=torch.int8).view(torch.bits8),),
        lambda: (torch.ones(3),),
    ),
    "a class with an equality of its own": (
        scaled,
        lambda: (Made, torch.ones(3)),
        lambda: (Plain, torch.ones(3)),
    ),
    "an array of objects": (
        lambda thing, x: x * len(thing.scales),
        lambda: (types.SimpleNamespace(scales=np.array([2], dtype=object)), torch.ones(1)),
        lambda: (types.SimpleNamespace(scales=[4]), torch.ones(1)),
    ),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CASES)
def test_an_object_that_is_refused_is_guarded_by_what_refuses_it(name: str) -> None:
    program, refused, plain = CASES[name]
    supple.reset()
    compiled = supple.compile(program, backend="eager")
    compiled(*refused())
    before = supple.stats()["graphs"]
    compiled(*plain())
    assert supple.stats()["graphs"] == before + 1

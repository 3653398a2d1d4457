"""Who answers for the attributes of an object is called by the program alone: guards read past it."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Final

import pytest
import torch

import supple


class Asked:
    """Notes what it is asked for."""

    def __init__(self, asked: list[str]) -> None:
        for name, value in (("asked", asked), ("it", 2.0), ("items", [1.0]), ("tensor", torch.ones(2))):
            object.__setattr__(self, name, value)

    def __getattribute__(self, name: str) -> Any:
        object.__getattribute__(self, "asked").append(name)
        return object.__getattribute__(self, name)

    def scaled(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.it


def write(holder: Any, asked: Asked, x: torch.Tensor) -> Any:
    asked.it = 3.0
    return x + 1


def delete(holder: Any, asked: Asked, x: torch.Tensor) -> Any:
    del asked.items
    return x + 1


def let_go(holder: Any, asked: Asked, x: torch.Tensor) -> Any:
    del asked
    holder.it = x
    return x + 1


def read(holder: Any, asked: Asked, x: torch.Tensor) -> Any:
    return x * asked.it + asked.items[0] + asked.tensor


def read_and_write(holder: Any, asked: Asked, x: torch.Tensor) -> Any:
    asked.it = asked.it + 1.0
    return x * asked.it


def method(holder: Any, asked: Asked, x: torch.Tensor) -> Any:
    return asked.scaled(x)


def item(holder: Any, asked: Asked, x: torch.Tensor) -> Any:
    asked.items.append(2.0)
    return x


def identity(holder: Any, asked: Asked, x: torch.Tensor) -> Any:
    return x + 1 if holder.it is asked else x


def kept(holder: Any, asked: Asked, x: torch.Tensor) -> Any:
    return [x + 1, asked, {"it": asked}]


def by_class(holder: Any, asked: Asked, x: torch.Tensor) -> Any:
    return x + 1 if isinstance(asked, Asked) and not isinstance(asked, dict) else x


PROGRAMS: Final = (write, delete, let_go, read, read_and_write, method, item, identity, kept, by_class)


@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_an_object_is_asked_as_often_as_in_eager(program: Callable[..., Any], backend: str) -> None:
    compiled = supple.compile(program, backend=backend)
    for _ in range(3):
        mine: list[str] = []
        its: list[str] = []
        for run, asked in ((program, mine), (compiled, its)):
            one = Asked(asked)
            run(SimpleNamespace(it=one), one, torch.ones(2))
        assert its == mine

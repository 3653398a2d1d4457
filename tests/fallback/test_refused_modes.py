"""Modes that torch refuses to set: what the call has written before is there, and modes are as in eager."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

import supple
from supple.base.config import config

SETTERS: dict[str, Callable[[Any], Any]] = {
    "autocast": lambda value: torch.autocast("cpu", enabled=value),
    "a dtype of autocast": lambda value: torch.autocast("cpu", dtype=value),
    "set_grad_enabled": torch.set_grad_enabled,
    "inference_mode": torch.inference_mode,
    "set_autocast_enabled": lambda value: torch.set_autocast_enabled("cpu", value),
    "a device of autocast": lambda value: torch.set_autocast_enabled(value, True),
    "set_autocast_dtype": lambda value: torch.set_autocast_dtype("cpu", value),
    "set_autocast_cache_enabled": torch.set_autocast_cache_enabled,
}
VALUES = (None, 3, "x", 1.5, torch.float32, [])


def modes() -> tuple[object, ...]:
    """Return the modes that those set."""
    autocast = torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")
    cache = torch.is_autocast_cache_enabled()
    return torch.is_grad_enabled(), torch.is_inference_mode_enabled(), *autocast, cache


def outcome(run: Callable[..., Any], setter: Callable[[Any], Any], value: object) -> tuple[str, ...]:
    """Return what a call gives or raises, what it has written, and the modes behind it."""
    x, before = torch.ones(3), modes()
    try:
        result: object = run(x, setter, value)
    except Exception as error:
        result = error
    found = repr(result), repr(x), repr(modes())
    torch.set_grad_enabled(True)
    torch.set_autocast_enabled("cpu", bool(before[2]))
    torch.set_autocast_dtype("cpu", torch.bfloat16)
    torch.set_autocast_cache_enabled(True)
    return found


def enters(x: torch.Tensor, setter: Callable[[Any], Any], value: object) -> object:
    x.add_(1)
    with setter(value):
        return x * 2


def sets(x: torch.Tensor, setter: Callable[[Any], Any], value: object) -> object:
    x.add_(1)
    with torch.no_grad():
        setter(value)
    return x * 2


def catches(x: torch.Tensor, setter: Callable[[Any], Any], value: object) -> object:
    x.add_(1)
    try:
        with setter(value):
            x.add_(2)
    except (TypeError, RuntimeError, AttributeError) as error:
        return str(error), x.add_(5), torch.is_grad_enabled()
    return x * 2


@pytest.mark.parametrize("setter", SETTERS)
@pytest.mark.parametrize("program", [enters, sets, catches])
def test_a_refused_mode_is_refused_behind_what_was_written(program: Callable[..., Any], setter: str) -> None:
    compiled = supple.compile(program)
    with config.patch(suppress_errors=False):
        for value in VALUES:
            wanted = outcome(program, SETTERS[setter], value)
            assert outcome(compiled, SETTERS[setter], value) == wanted, value

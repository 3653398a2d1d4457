"""Process and thread state is guarded: a call under other state gives the eager result."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest
import torch

from tests.guards.change import settled


@contextmanager
def default_dtype(dtype: torch.dtype) -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


@contextmanager
def deterministic() -> Iterator[None]:
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)


@contextmanager
def default_device(device: str) -> Iterator[None]:
    torch.set_default_device(device)
    try:
        yield
    finally:
        torch.set_default_device(None)


STATES: dict[str, tuple[Callable[[], AbstractContextManager[object]], str]] = {
    "no_grad": (torch.no_grad, "grad mode was True, is False"),
    "inference_mode": (torch.inference_mode, "inference mode was False, is True"),
    "autocast": (lambda: torch.autocast("cpu", torch.bfloat16), "autocast"),
    "default_dtype": (
        lambda: default_dtype(torch.float64),
        "default dtype was torch.float32, is torch.float64",
    ),
    "deterministic": (deterministic, "deterministic"),
}


def program(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return x @ w + torch.ones(2)


@pytest.mark.parametrize("name", sorted(STATES))
def test_other_state_is_noticed(name: str) -> None:
    state, reason = STATES[name]
    x, w = torch.ones(2, 2), torch.ones(2, 2, requires_grad=True)
    pair = settled(program, x, w)
    if name == "default_dtype":
        # Eager does not multiply by ones of another dtype; adding them is what changes.
        pair = settled(lambda x: x + torch.ones(2), x)
        with state():
            assert reason in pair.agree_anew(x)
        pair.agree_again(x)
        return
    with state():
        assert reason in pair.agree_anew(x, w)
        pair.agree_again(x, w)
    pair.agree_again(x, w)


def test_another_autocast_dtype_is_noticed() -> None:
    x, w = torch.ones(2, 2), torch.ones(2, 2)
    with torch.autocast("cpu", torch.bfloat16):
        pair = settled(program, x, w)
    with torch.autocast("cpu", torch.float16):
        pair.agree_anew(x, w)


def test_the_state_of_this_thread_counts() -> None:
    x, w = torch.ones(2, 2), torch.ones(2, 2, requires_grad=True)
    with torch.no_grad():
        pair = settled(program, x, w)
        assert not pair.compiled(x, w).requires_grad  # type: ignore[union-attr]
    assert pair.compiled(x, w).requires_grad  # type: ignore[union-attr]


def test_the_thread_count_is_noticed_where_the_program_asks() -> None:
    pair = settled(lambda x: x + torch.get_num_threads(), torch.ones(2))
    before = torch.get_num_threads()
    torch.set_num_threads(before + 1)
    try:
        pair.agree_anew(torch.ones(2))
    finally:
        torch.set_num_threads(before)
    pair.agree_again(torch.ones(2))

"""Modes of torch that nest and have no setter: blocks of autocast, and of inference mode.

A captured `with torch.inference_mode()` enters and leaves by the functions here, also around a break.
"""

import threading
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from typing import Final

import torch

from supple.runtime.state import Setting, mode_settings
from supple.torch_private import InferenceGuard

Block = tuple[bool, tuple[Setting, ...]]
"""A block of inference mode: whether it is on, and the grad mode and autocast to which leaving returns."""

Depth = tuple[int, tuple[Block, ...]]
"""How many blocks of autocast are entered, and which of inference mode by `enter_inference`."""

HERE: Final[Depth] = (0, ())


class _Entered(threading.local):
    def __init__(self) -> None:
        self.blocks: tuple[Block, ...] = ()
        self.guards: list[AbstractContextManager[object]] = []


_entered = _Entered()


def enter_inference(mode: bool) -> None:
    """Begin a block of inference mode, or with False one of normal mode."""
    block = mode, tuple(mode_settings())
    guard = InferenceGuard(mode)
    guard.__enter__()
    _entered.guards.append(guard)
    _entered.blocks += (block,)


def leave_inference() -> None:
    """End the innermost block."""
    _entered.blocks = _entered.blocks[:-1]
    _entered.guards.pop().__exit__(None, None, None)


NESTING: Final[dict[str, Callable[..., None]]] = {
    "torch.inference_mode.enter": enter_inference,
    "torch.inference_mode.leave": leave_inference,
}
"""Names of the graph nodes that do so."""

DEPTHS: Final = frozenset((*NESTING, "torch.autocast_increment_nesting", "torch.autocast_decrement_nesting"))
"""Names of all graph nodes that change how many blocks are entered."""


class InferenceMode:
    """What captured code has in place of torch's object in C."""

    def __init__(self, mode: bool) -> None:
        self.mode = mode

    def __enter__(self) -> None:
        enter_inference(self.mode)

    def __exit__(self, *_: object) -> None:
        leave_inference()


def depth() -> Depth:
    """Return what is entered now."""
    torch.autocast_increment_nesting()
    return torch.autocast_decrement_nesting(), _entered.blocks


def deeper(before: Depth) -> Depth:
    """Return what was entered since."""
    count, blocks = depth()
    return count - before[0], blocks[len(before[1]) :]


def nest(before: Depth, deeper: Depth = HERE) -> None:
    """Leave and enter what makes the depth that of before, deeper by this, whatever a graph did to it."""
    count, blocks = before
    more, entered = deeper
    for _ in range(abs(missing := count + more - depth()[0])):
        (torch.autocast_increment_nesting if missing > 0 else torch.autocast_decrement_nesting)()
    wanted = blocks + entered
    while _entered.blocks != wanted[: len(_entered.blocks)]:
        leave_inference()
    for mode, settings in wanted[len(_entered.blocks) :]:
        for setter, args in settings:
            setter(*args)
        enter_inference(mode)


@contextmanager
def kept() -> Generator[None]:
    """Leave again what is entered inside, by a block or, as a decorator, by a function."""
    before = depth()
    try:
        yield
    finally:
        nest(before)

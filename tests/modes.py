"""The modes of torch that a test or a program may leave behind: read, compared and put back."""

from collections.abc import Callable
from typing import Any, Final

import torch


def autocast_nesting() -> int:
    """Return how many autocast blocks are open on this thread."""
    torch.autocast_increment_nesting()
    return torch.autocast_decrement_nesting()


def set_autocast_nesting(count: int) -> None:
    """Open and close blocks until there are so many; outside of all no cast weight is kept."""
    now = autocast_nesting()
    for _ in range(now, count):
        torch.autocast_increment_nesting()
    for _ in range(count, now):
        torch.autocast_decrement_nesting()
    if not count:
        torch.clear_autocast_cache()


def set_deterministic(is_on: bool) -> None:
    """Ask for deterministic algorithms, or no more."""
    torch.use_deterministic_algorithms(is_on)


#: Mode -> how it is read and how it is set.
MODES: Final[dict[str, tuple[Callable[[], Any], Callable[[Any], object]]]] = {
    "autocast nesting": (autocast_nesting, set_autocast_nesting),
    "autocast": (
        lambda: torch.is_autocast_enabled("cpu"),
        lambda is_on: torch.set_autocast_enabled("cpu", is_on),
    ),
    "autocast dtype": (
        lambda: torch.get_autocast_dtype("cpu"),
        lambda dtype: torch.set_autocast_dtype("cpu", dtype),
    ),
    "autocast cache": (torch.is_autocast_cache_enabled, torch.set_autocast_cache_enabled),
    "grad mode": (torch.is_grad_enabled, torch.set_grad_enabled),
    "default dtype": (torch.get_default_dtype, torch.set_default_dtype),
    "default device": (torch.get_default_device, torch.set_default_device),
    "deterministic": (torch.are_deterministic_algorithms_enabled, set_deterministic),
    "threads": (torch.get_num_threads, torch.set_num_threads),
}


def modes_now() -> dict[str, Any]:
    """Return the modes of this thread and process that change what operators of torch do."""
    return {name: read() for name, (read, _) in MODES.items()}


def set_modes(wanted: dict[str, Any]) -> None:
    """Set the modes that are not as wanted."""
    now = modes_now()
    for name, value in wanted.items():
        if now[name] != value:
            MODES[name][1](value)

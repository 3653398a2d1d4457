"""Process and thread state on which captured code may depend, as one tuple with named parts."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import torch

from supple import torch_private
from supple.capture.source import Source, pinned

SOURCE: Final[Source] = pinned("state", None)


@dataclass(frozen=True, slots=True)
class State:
    """What a STATE guard compares: names of `READERS` with what they read."""

    parts: tuple[tuple[str, object], ...]


def autocast_state() -> tuple[object, ...] | None:
    """Return (enabled, dtype) for cpu and for cuda, and whether casts are cached; None when it is off."""
    if not torch_private.any_autocast():
        return None
    return (
        torch.is_autocast_enabled("cpu"),
        torch.get_autocast_dtype("cpu"),
        torch.is_autocast_enabled("cuda"),
        torch.get_autocast_dtype("cuda"),
        torch.is_autocast_cache_enabled(),
    )


def deterministic_state() -> tuple[bool, bool] | None:
    """Return (True, warn only), or None when deterministic algorithms are not asked for."""
    if not torch.are_deterministic_algorithms_enabled():
        return None
    return (True, torch.is_deterministic_algorithms_warn_only_enabled())


#: How each part is read, by its name.
READERS: Final[dict[str, Callable[[], object]]] = {
    "grad_mode": torch.is_grad_enabled,
    "inference_mode": torch.is_inference_mode_enabled,
    "autocast": autocast_state,
    "default_dtype": torch.get_default_dtype,
    "default_device": torch_private.default_device,
    "deterministic": deterministic_state,
    "function_modes": torch_private.function_mode_count,
    "dispatch_modes": torch_private.dispatch_mode_count,
    "functorch": lambda: torch_private.functorch_level() is not None,
    "forward_mode": lambda: torch_private.forward_mode_level() >= 0,
    "threads": torch.get_num_threads,
    "matmul_precision": torch.get_float32_matmul_precision,
}


TRANSFORMS: Final = ("dispatch_modes", "functorch", "forward_mode")
"""Parts that are false unless something of torch changes or watches what operators do."""

ON_REQUEST: Final = ("threads", "matmul_precision")
"""Parts on which few programs depend: each is compared where a program asks for it."""


def state_now() -> State:
    """Return the state of the process and this thread, without what is compared on request."""
    return State(tuple((name, read()) for name, read in READERS.items() if name not in ON_REQUEST))

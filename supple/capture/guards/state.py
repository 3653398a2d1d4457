"""Process and thread state on which captured code may depend, as one tuple with named parts."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

import torch

from supple.capture.guards.kinds import Guard, Kind
from supple.capture.source import Source, pinned
from supple.torch_private import (
    any_autocast,
    default_device,
    dispatch_mode_count,
    forward_mode_level,
    function_mode_count,
    functorch_level,
)

SOURCE: Final[Source] = pinned("state", None)


class State(NamedTuple):
    """The parts that are always compared, then those compared only where code depends on them (else None)."""

    grad_mode: bool
    inference_mode: bool
    autocast: tuple[object, ...] | None
    default_dtype: torch.dtype
    default_device: torch.device | None
    deterministic: tuple[bool, bool] | None
    function_modes: int
    dispatch_modes: int
    functorch: bool
    forward_mode: int
    threads: int | None = None
    matmul_precision: str | None = None


def autocast_state() -> tuple[object, ...] | None:
    """Return (enabled, dtype) for cpu and for cuda, and whether casts are cached; None when it is off."""
    if not any_autocast():
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


def functorch_active() -> bool:
    """Tell whether a transform of torch.func runs."""
    return functorch_level() is not None


#: How each part is read, by its name.
READERS: Final[dict[str, Callable[[], object]]] = {
    "grad_mode": torch.is_grad_enabled,
    "inference_mode": torch.is_inference_mode_enabled,
    "autocast": autocast_state,
    "default_dtype": torch.get_default_dtype,
    "default_device": default_device,
    "deterministic": deterministic_state,
    "function_modes": function_mode_count,
    "dispatch_modes": dispatch_mode_count,
    "functorch": functorch_active,
    "forward_mode": forward_mode_level,
    "threads": torch.get_num_threads,
    "matmul_precision": torch.get_float32_matmul_precision,
}


def state_now(*, threads: bool = False, matmul_precision: bool = False) -> State:
    """Return the state of the process and this thread; the flags add parts that few programs depend on."""
    return State(
        torch.is_grad_enabled(),
        torch.is_inference_mode_enabled(),
        autocast_state(),
        torch.get_default_dtype(),
        default_device(),
        deterministic_state(),
        function_mode_count(),
        dispatch_mode_count(),
        functorch_active(),
        forward_mode_level(),
        torch.get_num_threads() if threads else None,
        torch.get_float32_matmul_precision() if matmul_precision else None,
    )


@dataclass(frozen=True, slots=True)
class StatePart:
    """One part alone, for code that depends on it: "threads", say."""

    name: str
    value: object


def state_guard(state: State) -> Guard:
    """Return the guard that the state is what it was."""
    return Guard(SOURCE, Kind.STATE, state)


def compared(state: State | StatePart) -> tuple[tuple[str, object], ...]:
    """Return the (name, expected) parts that a guard on `state` compares."""
    if isinstance(state, StatePart):
        return ((state.name, state.value),)
    optional = ("threads", "matmul_precision")
    parts = zip(State._fields, state, strict=True)
    return tuple((name, value) for name, value in parts if not (name in optional and value is None))

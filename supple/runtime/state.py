"""Process and thread state on which compiled code may depend: read as one tuple, guarded, and pinned.

A captured call is guarded by the state of its beginning. A functional graph was traced under that state and
holds its effects (the casts of autocast, say): it runs outside of autocast and of grad mode, whatever the
caller has.
"""

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Final, TypeVar

import torch
import torch.utils.deterministic
from torch import are_deterministic_algorithms_enabled as are_deterministic
from torch import get_default_dtype, is_grad_enabled
from torch import is_deterministic_algorithms_warn_only_enabled as is_warn_only

from supple import torch_private
from supple.torch_private import DisableAutocast, any_autocast, function_mode_count

Given = TypeVar("Given")
Result = TypeVar("Result")

_fills_memory: Final = attrgetter("fill_uninitialized_memory")


@dataclass(frozen=True, slots=True)
class State:
    """What a STATE guard compares: names of `READERS` with what they read."""

    parts: tuple[tuple[str, object], ...]


def autocast_state() -> tuple[object, ...] | None:
    """Return (enabled, dtype) for cpu and for cuda, and whether casts are cached; None when it is off."""
    if not any_autocast():
        return None
    return (torch.is_autocast_enabled("cpu"), torch.is_autocast_enabled("cuda"), *autocast_defaults())


def autocast_defaults() -> tuple[object, ...]:
    """Return what a block of autocast that says nothing casts to on cpu and cuda, and whether it caches."""
    kinds = (torch.get_autocast_dtype("cpu"), torch.get_autocast_dtype("cuda"))
    return (*kinds, torch.is_autocast_cache_enabled())


def fills_memory() -> bool:
    """Tell whether fresh memory is filled where algorithms are deterministic."""
    return bool(_fills_memory(torch.utils.deterministic))


def deterministic_state() -> tuple[bool, bool] | None:
    """Return (warn only, fill fresh memory), or None when deterministic algorithms are not asked for."""
    if not are_deterministic():
        return None
    return (is_warn_only(), fills_memory())


def flushes_denormals() -> bool:
    """Tell whether denormal numbers count as zero (`torch.set_flush_denormal`); torch does not tell."""
    return sys.float_info.min / 2 == 0


def numpy_errors() -> tuple[str, ...]:
    """Return what NumPy does where it divides by zero, overflows or underflows, or gets no number."""
    import numpy as np  # noqa: PLC0415  # lazy: for programs with arrays

    return tuple(map(str, np.geterr().values()))


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
    "tracing": torch_private.is_tracing,
    "threads": torch.get_num_threads,
    "matmul_precision": torch.get_float32_matmul_precision,
    "autocast_defaults": autocast_defaults,
    "anomaly": torch.is_anomaly_enabled,
    "cudnn": torch_private.is_cudnn_enabled,
    "private_backend": torch_private.private_backend,
    "torch_function": torch_private.is_torch_function_enabled,
    "denormals": flushes_denormals,
    "numpy_errors": numpy_errors,
    "int_digits": sys.get_int_max_str_digits,
}


TRANSFORMS: Final = ("dispatch_modes", "functorch", "forward_mode")
"""Parts that are false unless something of torch changes or watches what operators do."""

ON_REQUEST: Final = (
    "threads",
    "matmul_precision",
    "autocast_defaults",
    "anomaly",
    "cudnn",
    "private_backend",
    "torch_function",
    "denormals",
    "numpy_errors",
    "int_digits",
)
"""Parts on which few programs depend: each is compared where a program asks for it."""


def state_now() -> State:
    """Return the state of the process and this thread, without what is compared on request."""
    return State(tuple((name, read()) for name, read in READERS.items() if name not in ON_REQUEST))


Setting = tuple[Callable[..., object], tuple[object, ...]]
"""A call that sets a mode, with its arguments."""


def mode_settings(*, defaults: bool = True) -> list[Setting]:
    """Return the calls that set grad mode and autocast as they are now.

    Args:
        defaults: also those for what `autocast_defaults` tells.
    """
    settings: list[Setting] = [(torch.set_grad_enabled, (torch.is_grad_enabled(),))]
    for kind in ("cpu", "cuda"):
        settings.append((torch.set_autocast_enabled, (kind, torch.is_autocast_enabled(kind))))
        if defaults:
            settings.append((torch.set_autocast_dtype, (kind, torch.get_autocast_dtype(kind))))
    if defaults:
        settings.append((torch.set_autocast_cache_enabled, (torch.is_autocast_cache_enabled(),)))
    return settings


@contextmanager
def keeping_denormals(*, unless: bool) -> Generator[None]:
    """Compute with denormal numbers in a block, whatever `torch.set_flush_denormal` asks for.

    Args:
        unless: leave it as it is. Code that is compiled in such a block serves either mode, unless it holds
            constants that are denormal numbers.
    """
    is_flushed = flushes_denormals() and not unless
    if is_flushed:
        torch.set_flush_denormal(False)
    try:
        yield
    finally:
        if is_flushed:
            torch.set_flush_denormal(True)


@dataclass(frozen=True, slots=True)
class Ambient:
    """The state in which a captured call began, so that its parts run under it from elsewhere: in backward.

    Attributes:
        modes: calls that set grad mode and autocast.
        dtype: the default one.
        device: the default one; None where nothing chose one.
        deterministic: of `deterministic_state`.
    """

    modes: tuple[Setting, ...]
    dtype: torch.dtype
    device: torch.device | None
    deterministic: tuple[bool, bool] | None

    def functional(self) -> "Ambient":
        """Return the state for a functional graph, which holds the effects of autocast and grad mode."""
        return replace(self, modes=_MODES_OFF)

    @contextmanager
    def entered(self) -> Generator[None]:
        """Set the state for a block, then what was before."""
        before = ambient_now()
        try:
            self._set()
            # A function mode of the caller, such as its default device, is not the graph's.
            with torch_private.DisableTorchFunction():
                yield
        finally:
            before._set()

    def _set(self) -> None:
        for setter, arguments in self.modes:
            setter(*arguments)
        # Other threads see these two: they are set only where they differ.
        if torch.get_default_dtype() is not self.dtype:
            torch.set_default_dtype(self.dtype)
        if deterministic_state() != self.deterministic:
            is_lenient = self.deterministic is not None and self.deterministic[0]
            torch_private.set_deterministic(self.deterministic is not None, warn_only=is_lenient)


_MODES_OFF: Final[tuple[Setting, ...]] = (
    (torch.set_grad_enabled, (False,)),
    (torch.set_autocast_enabled, ("cpu", False)),
    (torch.set_autocast_enabled, ("cuda", False)),
)


def ambient_now() -> Ambient:
    """Return the present state."""
    modes = tuple(mode_settings())
    return Ambient(modes, torch.get_default_dtype(), torch_private.default_device(), deterministic_state())


def without_autocast(run: Callable[[Given], Result]) -> Callable[[Given], Result]:
    """Return a function of one argument that runs outside of autocast."""

    def call(inputs: Given) -> Result:
        with DisableAutocast():
            return run(inputs)

    return call


def without_grad(run: Callable[[Given], Result]) -> Callable[[Given], Result]:
    """Return a function of one argument, called with grad mode on, that runs with it off."""

    def call(inputs: Given) -> Result:
        torch.set_grad_enabled(False)
        try:
            return run(inputs)
        finally:
            torch.set_grad_enabled(True)

    return call


def pinned(run: Callable[[Given], Result], ambient: Ambient) -> Callable[[Given], Result]:
    """Return a function of one argument that runs under the state of a functional graph, not the caller's.

    Where the caller's is the same but for grad mode, which is off in backward, that costs a comparison.
    """
    state = ambient.functional()
    dtype, is_deterministic = state.dtype, state.deterministic is not None
    is_lenient = state.deterministic is not None and state.deterministic[0]

    def call(inputs: Given) -> Result:
        if (
            any_autocast()
            or function_mode_count()
            or is_grad_enabled()
            or get_default_dtype() is not dtype
            or are_deterministic() is not is_deterministic
            or (is_deterministic and is_warn_only() is not is_lenient)
        ):
            with state.entered():
                return run(inputs)
        return run(inputs)

    return call

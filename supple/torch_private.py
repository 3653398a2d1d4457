"""Every private name of torch that the package touches: one line each, with its reason."""

from collections.abc import Callable
from typing import Final, cast

import torch
import torch.autograd.forward_ad
import torch.utils._device  # the default device lives in this module

_keys_of = cast(
    "Callable[[torch.Tensor], torch._C.DispatchKeySet]",  # what `_dispatch_keys` gives
    torch._C._dispatch_keys,  # the dispatch key set of a tensor has no public reader
)

#: Number of active `__torch_function__` modes; the public API can only iterate over them.
function_mode_count: Final = cast("Callable[[], int]", torch._C._len_torch_function_stack)
#: Number of active `__torch_dispatch__` modes.
dispatch_mode_count: Final = cast("Callable[[], int]", torch._C._len_torch_dispatch_stack)
#: The innermost active functorch transform, None outside of vmap, grad, jvp.
functorch_level: Final = cast("Callable[[], object]", torch._C._functorch.peek_interpreter_stack)
#: Whether autocast is on for any device: one call in place of one per device.
any_autocast: Final = cast("Callable[[], bool]", torch._C._is_any_autocast_enabled)


def dispatch_keys(tensor: torch.Tensor) -> int:
    """Return the dispatch keys of a tensor as a number: inference, conjugate and functorch bits show in it."""
    return _keys_of(tensor).raw_repr()


def default_device() -> torch.device | None:
    """Return the device that `torch.set_default_device` or a device context chose, None for neither."""
    return torch.utils._device.CURRENT_DEVICE  # read on each call: torch.get_default_device is 50 times slower


def forward_mode_level() -> int:
    """Return the level of forward-mode differentiation, -1 outside of it."""
    return torch.autograd.forward_ad._current_level  # no public reader

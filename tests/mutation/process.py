"""State of the process that a call may depend on: each entry is a block in which one thing is different."""

import builtins
import contextlib
import math
import warnings
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
import torch
from torch.nn.modules import module as modules
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

Block = Callable[[], contextlib.AbstractContextManager[Any]]


class Doubling(TorchFunctionMode):
    """A mode that doubles what relu and mul give."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        name = getattr(func, "__name__", "")
        return (
            result * 2 if name in ("relu", "sum", "linear") and isinstance(result, torch.Tensor) else result
        )


class Passing(TorchDispatchMode):
    """A mode that changes nothing."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


@contextlib.contextmanager
def state(get: Callable[[], Any], put: Callable[[Any], Any], value: Any) -> Iterator[None]:
    """Set state of the process that torch has a pair of functions for."""
    before = get()
    put(value)
    try:
        yield
    finally:
        put(before)


@contextlib.contextmanager
def builtin(name: str, function: Callable[..., Any]) -> Iterator[None]:
    before = getattr(builtins, name)
    setattr(builtins, name, function)
    try:
        yield
    finally:
        setattr(builtins, name, before)


@contextlib.contextmanager
def entry(owner: Any, name: str, function: Callable[[Any], Any]) -> Iterator[None]:
    """Replace an entry of a class or a module of others by what a function makes of it."""
    before = vars(owner)[name]
    setattr(owner, name, function(before))
    try:
        yield
    finally:
        setattr(owner, name, before)


@contextlib.contextmanager
def added(owner: Any, name: str, value: Any) -> Iterator[None]:
    before = vars(owner).get(name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        delattr(owner, name) if before is None else setattr(owner, name, before)


@contextlib.contextmanager
def hooked(register: Callable[[Any], Any], hook: Callable[..., Any]) -> Iterator[None]:
    handle = register(hook)
    try:
        yield
    finally:
        handle.remove()


@contextlib.contextmanager
def warned() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def larger(module: Any, args: Any, result: Any) -> Any:
    return result + 1 if isinstance(result, torch.Tensor) and result.is_floating_point() else result


def wrapping(function: Any) -> Any:
    return lambda *args, **kwargs: function(*args, **kwargs)


def doubled(saved: torch.Tensor) -> torch.Tensor:
    """Return what a hook keeps of a tensor saved for backward; indices stay, which eager does not check."""
    return saved * 2 if saved.is_floating_point() and saved.layout is torch.strided else saved


PROCESS: Final[dict[str, Block]] = {
    "no_grad": torch.no_grad,
    "inference_mode": torch.inference_mode,
    "autocast bfloat16": lambda: torch.autocast("cpu", torch.bfloat16),
    "autocast float16": lambda: torch.autocast("cpu", torch.float16),
    "autocast without cache": lambda: torch.autocast("cpu", torch.bfloat16, cache_enabled=False),
    "autocast dtype": lambda: state(
        lambda: torch.get_autocast_dtype("cpu"),
        lambda dtype: torch.set_autocast_dtype("cpu", dtype),
        torch.float16,
    ),
    "autocast cache": lambda: state(
        torch.is_autocast_cache_enabled,
        torch.set_autocast_cache_enabled,
        not torch.is_autocast_cache_enabled(),
    ),
    "cudnn": lambda: torch.backends.cudnn.flags(enabled=False),
    "default dtype": lambda: state(torch.get_default_dtype, torch.set_default_dtype, torch.float64),
    "default device": lambda: torch.device("cpu"),
    "deterministic": lambda: state(
        torch.get_deterministic_debug_mode, torch.set_deterministic_debug_mode, "error"
    ),
    "threads": lambda: state(torch.get_num_threads, torch.set_num_threads, 2),
    "matmul precision": lambda: state(
        torch.get_float32_matmul_precision, torch.set_float32_matmul_precision, "medium"
    ),
    "anomaly": lambda: torch.autograd.set_detect_anomaly(True),
    "torch function mode": Doubling,
    "torch dispatch mode": Passing,
    "no torch functions": torch._C.DisableTorchFunctionSubclass,
    "saved tensors": lambda: torch.autograd.graph.saved_tensors_hooks(doubled, lambda x: x),
    "saved on cpu": torch.autograd.graph.save_on_cpu,
    "without mkldnn": lambda: torch.backends.mkldnn.flags(enabled=False),
    "denormals": lambda: state(lambda: False, torch.set_flush_denormal, True),
    "errors of NumPy": lambda: np.errstate(all="raise"),
    "seed": lambda: state(torch.initial_seed, torch.manual_seed, 7),
    "global forward hook": lambda: hooked(modules.register_module_forward_hook, larger),
    "global forward pre-hook": lambda: hooked(
        modules.register_module_forward_pre_hook, lambda module, args: None
    ),
    "abs": lambda: builtin("abs", lambda x: 23),
    "round": lambda: builtin("round", lambda *_: 29),
    "Tensor.relu": lambda: entry(torch.Tensor, "sum", wrapping) if "sum" in vars(torch.Tensor) else warned(),
    "Tensor.T": lambda: added(torch.Tensor, "T", property(lambda self: self * 5)),
    "Tensor.more": lambda: added(torch.Tensor, "more", 3),
    "Linear.forward": lambda: entry(
        torch.nn.Linear, "forward", lambda forward: lambda self, x: forward(self, x) + 1
    ),
    "Module.__call__": lambda: entry(
        torch.nn.Module, "__call__", lambda call: lambda self, *args, **kwargs: call(self, *args, **kwargs)
    ),
    "math.sqrt": lambda: entry(math, "sqrt", lambda _: lambda x: 31.0),
    "warnings": warned,
}
"""What is different while both worlds are called."""

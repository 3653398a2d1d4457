"""Callables that capture leaves to Python, each with its reason: by object, or by the defining module."""

import asyncio
import io
import logging
import random
import sys
import threading
import time
import traceback
import types
import warnings
from functools import partial
from typing import Final

import torch

from supple.base.errors import Reason
from supple.capture import breaks
from supple.capture.library.table import NONE, Args, Kwargs, call, make
from supple.capture.machine import Machine
from supple.capture.values.base import Value
from supple.capture.values.constant import ConstantValue
from supple.capture.values.instance import InstanceValue
from supple.torch_private import DispatchMode, ScriptMethod

BY_MODULE: Final[dict[str, Reason]] = {
    **dict.fromkeys("numpy.random random _random secrets uuid time datetime".split(), breaks.RANDOM),
    **dict.fromkeys("os posix io _io _thread threading socket subprocess".split(), breaks.OUTSIDE),
    "numpy": breaks.NUMPY,
    "logging": breaks.LOGGING,
    "torch.jit": breaks.SCRIPTED,
}
"""Why callables of a module (and of the packages inside it) without Python code are not captured."""


def reason_for(function: object) -> Reason:
    """Return why a callable without a rule is not captured."""
    if isinstance(function, torch.jit.ScriptFunction | ScriptMethod):
        return breaks.SCRIPTED
    if getattr(function, "__objclass__", object) in torch.Tensor.__mro__[:-1]:
        return breaks.TENSOR_VALUE
    module = _module_of(function)
    while module:
        found = BY_MODULE.get(module)
        if found is not None:
            return found
        module = module.rpartition(".")[0]
    return breaks.CALL


def _module_of(function: object) -> str:
    """Return the module of a callable: its own, or that of the class or object it is a method of."""
    owner = getattr(function, "__objclass__", None) or getattr(function, "__self__", None)
    if isinstance(owner, types.ModuleType):
        return owner.__name__
    if owner is not None:
        return str((owner if isinstance(owner, type) else type(owner)).__module__)
    return str(getattr(function, "__module__", None) or type(function).__module__)


def _refuse(reason: Reason, name: str, machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """Leave a callable to Python."""
    machine.unsupported(reason, name=name)


def _logged(level: int, name: str, machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """A logger's method: nothing happens below the logger's level, which is guarded."""
    logger = args[0]
    known = logger.obj if isinstance(logger, InstanceValue) else None
    # Asking makes the logger remember its answer, in a dict that capture can read.
    if isinstance(known, logging.Logger) and not known.isEnabledFor(level):
        ask = logger.get_attr(machine, "isEnabledFor")
        if not machine.call(ask, [ConstantValue(level)]).truth(machine):
            return NONE
    machine.unsupported(breaks.LOGGING, name=name)


# Whether a tensor is conjugated lazily is not known of a fake: it would take itself for the result.
for _name in ("resolve_conj", "resolve_neg"):
    call.on(getattr(torch.Tensor, _name), getattr(torch, _name))(
        partial(_refuse, breaks.CALL, f"torch.{_name}")
    )

LEVELS: Final = ("debug", "info", "warning", "error", "critical")
_LOGGING: Final = (*LEVELS, "exception", "log")
for _name in LEVELS:
    _level = logging.getLevelNamesMapping()[_name.upper()]
    call.on(getattr(logging.Logger, _name))(partial(_logged, _level, f"Logger.{_name}"))
for _function in dict.fromkeys(
    [
        *(getattr(logging.Logger, name) for name in _LOGGING[len(LEVELS) :]),
        *(getattr(logging, name) for name in (*_LOGGING, "basicConfig")),
        warnings.warn,
    ]
):
    call.on(_function)(partial(_refuse, breaks.LOGGING, getattr(_function, "__qualname__", str(_function))))
_FRAMES: Final = {"sys._getframe": "_getframe", "sys._current_frames": "_current_frames"}
for _name, _private in _FRAMES.items():
    call.on(getattr(sys, _private))(partial(_refuse, breaks.FRAMES, _name))
for _function in (traceback.extract_stack, traceback.walk_stack, traceback.print_stack):
    call.on(_function)(partial(_refuse, breaks.FRAMES, _function.__qualname__))
for _function in (torch.save, torch.load, asyncio.run):
    call.on(_function)(partial(_refuse, breaks.OUTSIDE, f"{_function.__module__}.{_function.__name__}"))
for _name in ("backward", "register_hook", "register_post_accumulate_grad_hook", "retain_grad"):
    call.on(getattr(torch.Tensor, _name))(partial(_refuse, breaks.AUTOGRAD, f"Tensor.{_name}"))
# It notes in torch that a mode is active: what capture itself has active, is noted there too.
call.on(getattr(DispatchMode, "__enter__", DispatchMode))(
    partial(_refuse, breaks.CALL, "TorchDispatchMode.__enter__")
)
for _function in (torch.autograd.backward, torch.autograd.grad):
    call.on(_function)(partial(_refuse, breaks.AUTOGRAD, f"torch.autograd.{_function.__name__}"))
for _name in ("shuffle", "choice", "choices", "sample", "randint", "randrange", "uniform", "gauss"):
    call.on(getattr(random.Random, _name))(partial(_refuse, breaks.RANDOM, f"random.{_name}"))
_THREADING: Final = (threading.Thread, threading.Timer, threading.Event, threading.Condition)
for _function in ("manual_seed", "seed", "initial_seed", "get_rng_state", "set_rng_state", "fork_rng"):
    call.on(getattr(torch.random, _function))(partial(_refuse, breaks.RANDOM, f"torch.random.{_function}"))
for _class in (*_THREADING, io.StringIO, io.BytesIO):
    make.on(_class)(partial(_refuse, breaks.OUTSIDE, f"{_class.__module__}.{_class.__name__}"))
make.on(warnings.catch_warnings)(partial(_refuse, breaks.LOGGING, "warnings.catch_warnings"))
for _name in ("time", "perf_counter", "monotonic", "process_time", "time_ns", "perf_counter_ns"):
    call.on(getattr(time, _name))(partial(_refuse, breaks.RANDOM, f"time.{_name}"))

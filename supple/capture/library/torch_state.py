"""Thread and process state of torch: grad mode, autocast, tracing queries; and shortcuts for nn.Module.

A state change happens for real while capture runs (fake tensors must see it), is recorded as a graph node
that repeats it at run time, and is undone when capture ends.
"""

# Some functions of torch are untyped.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false

from contextlib import nullcontext
from functools import partial
from typing import Final

import torch

from supple import torch_private
from supple.capture import breaks
from supple.capture.guards.kinds import Kind
from supple.capture.library.table import NONE, Args, Call, Kwargs, call, make, polyfill, transparent
from supple.capture.machine import Machine
from supple.capture.values.base import NotConstant, Value, refuse_attribute
from supple.capture.values.constant import ConstantValue
from supple.capture.values.instance import InstanceValue
from supple.capture.values.tensor import emit
from supple.ir.ops import function_op
from supple.runtime import modes


def _constant(result: object) -> Call:
    return lambda machine, args, kwargs: ConstantValue(result)


@call.on(*torch_private.TRUE_WHILE_COMPILING)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """Yes; no to torch's call of a module with a hook that is called after an exception too.

    Told yes, torch leaves that out, and the exception may come behind a graph break.
    """
    frame = machine.frames[-1]
    if frame.code_object is not torch_private.module_call.__code__:
        return ConstantValue(True)
    module = frame.cells["self"].get(machine)
    is_own = isinstance(module, InstanceValue)
    return ConstantValue(not is_own or module.own_is_empty(machine, "_forward_hooks_always_called"))


call.on(*torch_private.FALSE_WHILE_COMPILING)(_constant(False))
call.on(torch_private.get_tracing_state)(_constant(None))
call.on(torch_private.log_api_usage_once)(_constant(None))


def _query(function: object, part: str, machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """What a question about state answers now; the state is guarded."""
    assert callable(function), function
    if part:
        machine.ask_state(part)
    plain = [value.as_python() for value in args]
    return machine.wrap(function(*plain), None)


for _function, _part in torch_private.STATE_QUERIES.items():
    call.on(_function)(partial(_query, _function, _part))


GRAD_MODE: Final = "torch._C._set_grad_enabled"
"""The name of the one change of state that is nothing to autocast."""


def _change(function: object, name: str, machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """Change state now, and by a node of this name when the graph runs."""
    assert callable(function), function
    try:
        plain = tuple(value.as_python() for value in args)
    except NotConstant:
        machine.unsupported(breaks.CALL, name=name)
    if name != GRAD_MODE:
        machine.ask_state("autocast_defaults")  # to which the end of a block returns
    if function is modes.leave_inference and not _entered(machine):
        machine.unsupported(breaks.CALL, name=name)  # the block began where other modes were active
    try:
        result = function(*plain)
    except (TypeError, RuntimeError):  # Python raises it, behind what the call has written
        machine.unsupported(breaks.CALL, name=name)
    op = function_op(name, function, is_pure=False)
    machine.recorder.record(op, plain, {}, result, machine.user_stack())
    return machine.wrap(result, None)


def _entered(machine: Machine) -> int:
    """Return how many blocks of inference mode this graph has entered and not left."""
    names = [node.op.name for node in machine.recorder.nodes]
    return names.count("torch.inference_mode.enter") - names.count("torch.inference_mode.leave")


polyfill[torch_private.InferenceGuard] = modes.InferenceMode

for _name, _function in {**torch_private.STATE_CHANGES, **modes.NESTING}.items():
    call.on(_function)(partial(_change, _function, _name))


@call.on(torch.device.__enter__)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """A device as a context: nodes enter it around functions of torch, which may make tensors."""
    device = args[0].as_python()
    assert isinstance(device, torch.device), args[0].describe()
    machine.heap.append(machine.heap.devices, device)
    return args[0]


@call.on(torch.device.__exit__)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """The innermost device that was entered; one that was not entered here is left to Python."""
    if not machine.heap.devices:
        machine.unsupported(breaks.CALL, name="torch.device.__exit__")
    machine.heap.replace(machine.heap.devices, machine.heap.devices[:-1])
    return NONE


@call.on(torch.get_default_device)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """The device of the innermost context, or of the process, which is guarded."""
    with (
        torch_private.no_torch_dispatch(),
        machine.heap.devices[-1] if machine.heap.devices else nullcontext(),
    ):
        return machine.wrap(torch.get_default_device(), None)


@make.on(torch.nn.Parameter)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """Parameter(data, requires_grad): of a fake it makes a fake."""
    op = function_op("torch.nn.Parameter", torch.nn.Parameter, is_pure=False)
    return emit(machine, op, args, kwargs)


_HOOKS: Final = ("_backward_hooks", "_backward_pre_hooks", "_forward_hooks", "_forward_pre_hooks")


transparent.update((torch_private.module_call, torch_private.module_call_wrapper))


@call.on(torch_private.module_call, torch_private.module_call_wrapper)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """module(...): straight to `forward` where no hook is (guarded), else torch's own path is inlined."""
    module = args[0]
    if isinstance(module, InstanceValue) and not _has_hooks(machine, module):
        return machine.call(module.get_attr(machine, "forward"), args[1:], kwargs)
    return machine.inline_anyway(torch_private.module_call, args, kwargs)


def _has_hooks(machine: Machine, module: InstanceValue) -> bool:
    for name in _HOOKS:
        if not module.own_is_empty(machine, name):
            return True
    compiled = module.own(machine, "_compiled_call_impl")
    if compiled is not None and compiled.identity() is not None:
        machine.unsupported(breaks.OBJECT, name="nn.Module", detail="it was compiled in place by torch")
    for hooks, source in machine.global_module_hooks():
        if hooks:
            return True
        machine.guard(source, Kind.LENGTH, 0)
    return False


@call.on(torch.nn.Module.__getattr__)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """A parameter, buffer or submodule by name."""
    module = args[0]
    name = str(args[1].as_python())
    assert isinstance(module, InstanceValue), module.describe()
    for table in ("_parameters", "_buffers", "_modules"):
        entries = None if module.own_is_empty(machine, table) else module.own(machine, table)
        if entries is not None and entries.contains(machine, args[1]).truth(machine):
            return entries.get_item(machine, args[1])
    refuse_attribute(machine, module.cls, name)

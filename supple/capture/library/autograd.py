"""torch.autograd.Function: inlined where no gradient flows, else one node that calls it as it is.

A node runs the program's `forward` and `backward` where capture does not see it: on fakes while graphs are
made, on tensors when they run. So both are captured once on trial: what they read is guarded, and a program
in which they do more than to compute tensors breaks the graph.
"""

import inspect
from collections.abc import Sequence
from typing import Any, cast

import torch

from supple.capture import breaks
from supple.capture.library.calls import name_of
from supple.capture.library.table import Args, Kwargs, call
from supple.capture.machine import Machine
from supple.capture.values.attributes import lookup
from supple.capture.values.base import Value
from supple.capture.values.constant import ConstantValue
from supple.capture.values.sequence import SequenceValue, new_tuple
from supple.capture.values.tensor import TensorValue, emit
from supple.ir.ops import function_op
from supple.torch_private import autograd_function_apply


class Context:
    """What `forward` and `backward` get as `ctx` during capture. Runs on symbolic values only."""

    def __init__(self, needs_input_grad: tuple[bool, ...]) -> None:
        self.needs_input_grad = needs_input_grad
        self.saved_tensors: tuple[torch.Tensor, ...] = ()

    def save_for_backward(self, *tensors: torch.Tensor) -> None:
        """Keep tensors."""
        self.saved_tensors = tensors

    def mark_dirty(self, *tensors: torch.Tensor) -> None:
        """What is written is captured anyway."""

    def mark_non_differentiable(self, *tensors: torch.Tensor) -> None:
        """Gradients do not flow on trial."""

    def set_materialize_grads(self, value: bool) -> None:
        """Gradients do not flow on trial."""


def _forward(function: Any, context: Context, args: Sequence[object], has_setup: bool) -> object:
    with torch.no_grad():
        if not has_setup:
            return function.forward(context, *args)
        found = function.forward(*args)
        function.setup_context(context, args, found)
        return found


def _backward(function: Any, context: Context, found: object) -> None:
    results = cast("tuple[object, ...]", found if isinstance(found, tuple) else (found,))
    with torch.no_grad():
        grads = [torch.empty_like(one) if isinstance(one, torch.Tensor) else None for one in results]
        function.backward(context, *grads)


@call.on(autograd_function_apply)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """Function.apply(...)."""
    kind = args[0].as_python()
    assert isinstance(kind, type), args[0].describe()
    function = cast("Any", kind)
    given = list(args[1:])
    has_setup = lookup(kind, "setup_context") is not lookup(torch.autograd.Function, "setup_context")
    if has_setup:
        given = _bound(machine, function.forward, given, kwargs)
    elif kwargs:
        machine.unsupported(breaks.CALL, name=f"{name_of(kind)}.apply with keywords")
    needs = tuple(isinstance(value, TensorValue) and value.fake.requires_grad for value in given)
    state = [args[0], machine.construct(Context, None, [machine.wrap(needs, None)], {})]
    before = (len(machine.heap.dirty), len(machine.heap.effects), len(machine.written_globals()))
    mark, count = machine.heap.mark(), len(machine.recorder.nodes)
    found = machine.call_python(_forward, *state, new_tuple(given), ConstantValue(has_setup))
    results = found.items if isinstance(found, SequenceValue) else [found]
    is_input = any(result is value for result in results for value in given)
    if not (torch.is_grad_enabled() and any(needs)) and not is_input:
        return found
    machine.call_python(_backward, *state, found)
    if before != (len(machine.heap.dirty), len(machine.heap.effects), len(machine.written_globals())):
        machine.unsupported(breaks.CALL, name=f"{name_of(kind)}.apply, which has side effects")
    machine.heap.rollback(mark)
    del machine.recorder.nodes[count:]
    op = function_op(f"{kind.__module__}.{kind.__qualname__}.apply", function.apply, is_pure=False)
    if op.call != function.apply:
        machine.unsupported(breaks.CALL, name=f"{name_of(kind)}.apply, a class made again")
    return emit(machine, op, given, {})


def _bound(machine: Machine, forward: Any, args: Sequence[Value], kwargs: Kwargs) -> list[Value]:
    bound = inspect.signature(forward).bind(*args, **kwargs)
    passed = set(bound.arguments)
    bound.apply_defaults()
    defaults = {name: machine.wrap(one, None) for name, one in bound.arguments.items() if name not in passed}
    bound.arguments.update(defaults)
    return list(bound.args)

"""torch.autograd.Function: inlined where no gradient flows, else one node that calls it; checkpoints.

A node runs the program's `forward` and `backward` where capture does not see it: on fakes while graphs are
made, on tensors when they run. So both are captured once on trial: what they read is guarded, and a program
in which they do more than to compute tensors breaks the graph.
"""

import inspect
from collections.abc import Sequence
from typing import Any, Final, cast

import torch
import torch.utils.checkpoint

from supple.capture import breaks
from supple.capture.library.calls import name_of
from supple.capture.library.inspecting import hold_method
from supple.capture.library.table import Args, Kwargs, call
from supple.capture.machine import Machine
from supple.capture.values.attributes import lookup
from supple.capture.values.base import Raised, Value
from supple.capture.values.constant import ConstantValue
from supple.capture.values.sequence import SequenceValue, new_tuple
from supple.capture.values.tensor import TensorValue, emit
from supple.ir.ops import function_op
from supple.runtime.undo import version
from supple.torch_private import autograd_function_apply


class Told:
    """What `forward` told its context.

    Attributes:
        saved: the tensors for backward.
        dirty: what it marked as written.
        fills_undefined: whether backward gets zeros for results without a gradient, in place of None.
        is_misused: whether torch refuses some of it.
    """

    def __init__(self) -> None:
        self.saved: tuple[torch.Tensor, ...] = ()
        self.dirty: tuple[object, ...] = ()
        self.fills_undefined = True
        self.is_misused = False


class Context:
    """What `forward` and `backward` get as `ctx` during capture. Runs on symbolic values only.

    All other attributes are the program's own: it may call them as it likes.
    """

    def __init__(self, needs_input_grad: tuple[bool, ...]) -> None:
        self.needs_input_grad = needs_input_grad
        self.supple_told = Told()

    @property
    def saved_tensors(self) -> tuple[torch.Tensor, ...]:
        """What `save_for_backward` got last."""
        return self.supple_told.saved

    @saved_tensors.setter
    def saved_tensors(self, value: object) -> None:
        raise AttributeError("attribute 'saved_tensors' of 'torch._C._FunctionBase' objects is not writable")

    def save_for_backward(self, *tensors: torch.Tensor) -> None:
        """Keep tensors."""
        self.supple_told.saved = tensors

    def mark_dirty(self, *tensors: object) -> None:
        """What is written is captured anyway."""
        self.supple_told.dirty = tensors

    def mark_non_differentiable(self, *tensors: object) -> None:
        """Gradients do not flow on trial."""
        self.supple_told.is_misused |= any(not isinstance(one, torch.Tensor) for one in tensors)

    def set_materialize_grads(self, value: bool) -> None:
        """Say whether backward gets zeros for results without a gradient."""
        self.supple_told.fills_undefined = value
        self.supple_told.is_misused |= type(value) is not bool


def _forward(function: Any, context: Context, args: Sequence[object], has_setup: bool) -> object:
    with torch.no_grad():
        found = function.forward(*(args if has_setup else (context, *args)))
        if has_setup:
            function.setup_context(context, args, found)
    told = context.supple_told
    for one in told.dirty:
        told.is_misused |= all(one is not result for result in _results(found))
    return found


def _results(found: object) -> tuple[object, ...]:
    """Return what `forward` gives as a tuple."""
    return cast("tuple[object, ...]", found if isinstance(found, tuple) else (found,))


def _backward(function: Any, context: Context, found: object) -> None:
    with torch.no_grad():
        grads = [torch.empty_like(one) if isinstance(one, torch.Tensor) else None for one in _results(found)]
        function.backward(context, *grads)


@call.on(autograd_function_apply)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """Function.apply(...)."""
    kind = args[0].as_python()
    assert isinstance(kind, type), args[0].describe()
    function = cast("Any", kind)
    given = list(args[1:])
    has_setup = lookup(kind, "setup_context") is not lookup(torch.autograd.Function, "setup_context")
    if not isinstance(lookup(kind, "_backward_cls"), type):
        machine.unsupported(breaks.CALL, name=f"{name_of(kind)}.apply, whose class has no node of autograd")
    if has_setup:
        hold_method(machine, kind, "forward")
        given = _bound(machine, function.forward, given, kwargs)
    elif kwargs:
        machine.unsupported(breaks.CALL, name=f"{name_of(kind)}.apply with keywords")
    needs = tuple(isinstance(value, TensorValue) and value.fake.requires_grad for value in given)
    if any(needs) and torch.is_inference_mode_enabled():
        machine.unsupported(breaks.CALL, name=f"{name_of(kind)}.apply in inference mode")
    state = [args[0], machine.construct(Context, None, [machine.wrap(needs, None)], {})]
    before = _side_effects(machine)
    mark, count = machine.heap.mark(), len(machine.recorder.nodes)
    found = machine.call_python(_forward, *state, new_tuple(given), ConstantValue(has_setup))
    results = found.items if isinstance(found, SequenceValue) else [found]
    _refuse_told(machine, name_of(kind), state[1], results)
    is_input = any(result is value for result in results for value in given)
    has_grad, tensors = torch.is_grad_enabled(), [one for one in results if isinstance(one, TensorValue)]
    # Torch tells writes to a view that a Function returns from those to others, without gradients too.
    is_recorded = any(needs) and any(has_grad or one.fake._is_view() for one in tensors)
    if not is_recorded and not is_input:
        return found
    try:
        if has_grad or is_input:
            machine.call_python(_backward, *state, found)
    except Raised:  # which is for when gradients flow
        machine.unsupported(breaks.CALL, name=f"{name_of(kind)}.apply, whose backward raises")
    if before != _side_effects(machine):
        machine.unsupported(breaks.CALL, name=f"{name_of(kind)}.apply, which has side effects")
    machine.heap.rollback(mark)
    del machine.recorder.nodes[count:]
    op = function_op(f"{kind.__module__}.{kind.__qualname__}.apply", function.apply, is_pure=False)
    if op.call != function.apply:
        machine.unsupported(breaks.CALL, name=f"{name_of(kind)}.apply, a class made again")
    return emit(machine, op, given, {})


def _refuse_told(machine: Machine, name: str, context: Value, results: Sequence[Value]) -> None:
    """Break where `forward` told its context what torch refuses, or what no compiled backward can heed."""
    told = context.get_attr(machine, "supple_told")
    if told.get_attr(machine, "is_misused").truth(machine):
        machine.unsupported(breaks.CALL, name=f"{name}.apply, which tells its context what torch refuses")
    if len(results) > 1 and not told.get_attr(machine, "fills_undefined").truth(machine):
        # A compiled backward has a gradient for each result that leaves the graph.
        what = "apply, whose backward asks which gradients are undefined"
        machine.unsupported(breaks.CALL, name=f"{name}.{what}")


def _side_effects(machine: Machine) -> tuple[object, ...]:
    return len(machine.heap.dirty), len(machine.heap.effects), len(machine.written_globals())


@call.on(vars(torch.utils.checkpoint)["checkpoint"])
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """checkpoint(function, ...): inlined as a region that backward computes again. Left to Python: reentrant
    ones, one that draws other numbers the second time, and one that does what shows if it is done twice."""
    options = {name: kwargs[name].identity() for name in _OPTIONS if name in kwargs}
    if {**_OPTIONS, **options} != {**_OPTIONS, "use_reentrant": False}:
        machine.unsupported(breaks.DISABLED, name="checkpoint", message="")
    given = {name: value for name, value in kwargs.items() if name not in (*_OPTIONS, *_CHECKS)}
    if any(
        isinstance(value, TensorValue) and value.fake.is_inference() for value in (*args, *given.values())
    ):
        machine.unsupported(breaks.DISABLED, name="checkpoint of an inference tensor", message="")
    outer, before, versions = machine.checkpoint, _side_effects(machine), _versions(machine)
    machine.checkpoint = outer or len(machine.recorder.nodes) + 1
    try:
        found = machine.call(args[0], args[1:], given)
    finally:
        machine.checkpoint = outer
    known = ((key, version, machine.tensors[key].source) for key, version in _versions(machine).items())
    is_written = any(version != versions.get(key, 0 if source else version) for key, version, source in known)
    if torch.is_grad_enabled() and (is_written or before != _side_effects(machine)):
        machine.unsupported(breaks.CALL, name="checkpoint of a function that has side effects")
    return found


_OPTIONS: Final = {"use_reentrant": None, "context_fn": None, "debug": False, "preserve_rng_state": True}
_CHECKS: Final = ("determinism_check", "early_stop")


def _versions(machine: Machine) -> dict[int, int]:
    """Return how often each tensor was written."""
    fakes = {key: value.fake for key, value in machine.tensors.items()}
    return {key: version(fake) or 0 for key, fake in fakes.items()}


def _bound(machine: Machine, forward: Any, args: Sequence[Value], kwargs: Kwargs) -> list[Value]:
    bound = inspect.signature(forward).bind(*args, **kwargs)
    passed = set(bound.arguments)
    bound.apply_defaults()
    defaults = {name: machine.wrap(one, None) for name, one in bound.arguments.items() if name not in passed}
    bound.arguments.update(defaults)
    return list(bound.args)

"""Optimizers: operators on lists of tensors become one operator for each; counts of steps stay tensors."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import torch

from supple.capture import breaks
from supple.capture.library.operations import torch_op
from supple.capture.library.table import NONE, Args, Call, Kwargs, call, replace
from supple.capture.machine import Machine
from supple.capture.values.base import Value
from supple.capture.values.constant import ConstantValue
from supple.capture.values.sequence import SequenceValue, new_tuple
from supple.capture.values.tensor import TensorValue, emit
from supple.torch_private import FOREACH, amp_unscale, amp_update_scale, get_step, group_tensors

_OTHER_NAMES: Final[Mapping[str, object]] = {
    "norm": vars(torch.linalg)["vector_norm"],
    "maximum": torch.clamp_min,
    "minimum": torch.clamp_max,
    "maximum_": torch.Tensor.clamp_min_,
    "minimum_": torch.Tensor.clamp_max_,
}

#: The argument of addcmul and addcdiv that factors are, one for each tensor; and what it is for one tensor.
_VALUE: Final[Mapping[int | str, str]] = {3: "value", "scalars": "value"}


def _one_by_one(function: object, name: str) -> Call:
    """Return the rule of an operator on lists: every list, and a vector of scalars, has an item for each."""
    owner = torch.Tensor if name.endswith("_") else torch
    single: object = _OTHER_NAMES[name] if name in _OTHER_NAMES else getattr(owner, name)

    def rule(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
        given = {**dict(enumerate(args)), **kwargs}
        counts = {len(value.items) for value in given.values() if isinstance(value, SequenceValue)}
        op = torch_op(function)
        assert op is not None, name
        if len(counts) != 1 or 0 in counts:
            return emit(machine, op, args, kwargs)
        results: list[Value] = []
        for index in range(*counts):
            items = {_VALUE.get(key, key): _item(machine, key, value, index) for key, value in given.items()}
            own = [items.pop(place) for place in range(len(args)) if place in items]
            named = {str(key): value for key, value in items.items()}
            if name == "mul_" and not named:
                results.append(machine.call_python(_multiplied, *own))
            else:
                results.append(machine.call_leaf(single, own, named))
        return NONE if name.endswith("_") else new_tuple(results)

    return rule


def _multiplied(x: torch.Tensor, factor: Any) -> torch.Tensor:
    """x *= factor: of all operators this one rounds a number to the type of a tensor in low precision."""
    if x.dtype in (torch.bfloat16, torch.float16) and not isinstance(factor, torch.Tensor):
        factor = torch.full((), factor, dtype=x.dtype, device=x.device)
    return x.mul_(factor)


def _item(machine: Machine, key: int | str, value: Value, index: int) -> Value:
    """Return what one operator gets of an argument of an operator on lists."""
    if isinstance(value, SequenceValue):
        return value.at(machine, index)
    is_vector = key in _VALUE and isinstance(value, TensorValue)
    return value.get_item(machine, ConstantValue(index)) if is_vector else value


for _name, _function in FOREACH.items():
    call.on(_function)(_one_by_one(_function, _name))


@replace(get_step)
def step_count(x: object) -> object:
    """The count as it is: of a tensor in the precision of the Python number that eager makes of it."""
    return x.double() if isinstance(x, torch.Tensor) else x


@call.on(group_tensors)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """Lists of tensors by device and dtype; that there are none is an error of eager's."""
    first = args[0].get_item(machine, ConstantValue(0)) if args else NONE
    if not isinstance(first, SequenceValue) or not first.items:
        machine.unsupported(breaks.CALL, name="an operator on lists of no tensors")
    return machine.call(machine.wrap(grouped, None), args, kwargs)


def grouped(lists: Sequence[Sequence[Any]], with_indices: bool = False) -> object:
    """Lists of tensors that belong together by place, one set of lists for each device and dtype."""
    found: dict[object, tuple[list[list[Any]], list[int]]] = {}
    for place, first in enumerate(lists[0]):
        key = (first.device, first.dtype)
        if key not in found:
            found[key] = ([[] for _ in lists], [])
        for own, items in zip(found[key][0], lists, strict=True):
            if items:
                own.append(items[place])
        if with_indices:
            found[key][1].append(place)
    return found


@replace(amp_unscale)
def unscaled(grads: Sequence[torch.Tensor], found_inf: torch.Tensor, inv_scale: torch.Tensor) -> None:
    """Gradients times a factor; whether one of them was not finite is noted, and a note stays."""
    for grad in grads:
        found_inf.masked_fill_(~grad.isfinite().all(), 1.0)
        wide = grad.float() if grad.dtype.itemsize < inv_scale.dtype.itemsize else grad
        grad.copy_(wide * inv_scale.reshape(()))


@replace(amp_update_scale)
def rescaled(
    scale: torch.Tensor, tracker: torch.Tensor, found: torch.Tensor, grow: float, shrink: float, every: int
) -> torch.Tensor:
    """The scale made smaller after an overflow, larger after so many steps without one."""
    steps, wide, is_bad = tracker + 1, scale.double(), found != 0
    is_due = steps == every
    grown = (wide * grow).to(scale.dtype)
    kept = torch.where(is_due & grown.isfinite(), grown, scale)
    scale.copy_(torch.where(is_bad, (wide * shrink).to(scale.dtype), kept))
    tracker.copy_(steps.masked_fill(is_bad | is_due, 0))
    return scale


@call.on(torch.optim.Optimizer.zero_grad)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """What is marked to be left out of torch's own compiler."""
    return machine.inline_anyway(vars(torch.optim.Optimizer.zero_grad)["__wrapped__"], args, kwargs)

"""What torch refuses in tensors, but not while it traces: indices that are no class, shares beyond 1."""

from functools import partial
from typing import cast

import torch
from torch.nn import functional

from supple.capture import breaks
from supple.capture.library.operations import torch_op
from supple.capture.library.table import Args, Kwargs, call
from supple.capture.machine import Machine
from supple.capture.values.base import Value
from supple.capture.values.constant import ConstantValue
from supple.capture.values.instance import InstanceValue
from supple.capture.values.symbolic import SymbolicValue
from supple.capture.values.tensor import TensorValue, emit


def encoded(indices: torch.Tensor, num_classes: int = -1) -> torch.Tensor:
    """What `one_hot` gives; the scatter refuses an index that is no class."""
    if num_classes <= 0 or indices.dtype is not torch.int64:
        return functional.one_hot(indices, num_classes)
    zeros = torch.zeros((*indices.shape, num_classes), dtype=torch.int64, device=indices.device)
    return zeros.scatter(-1, indices.unsqueeze(-1), 1)


@call.on(functional.one_hot)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """While an operator is traced torch leaves out the checks of the indices; those of `encoded` stay."""
    classes = kwargs.get("num_classes", args[1] if len(args) > 1 else ConstantValue(-1))
    if isinstance(classes, InstanceValue) and classes.payload is not None:  # of a class of integers
        classes = classes.payload
    if classes.python_type() is not int:
        machine.unsupported(breaks.CALL, name=f"one_hot for {classes.describe()}")
    is_said = isinstance(classes, SymbolicValue) or (
        isinstance(classes, ConstantValue) and cast("int", classes.value) > 0
    )
    if is_said:
        given = dict(kwargs)
        indices = given.pop("tensor", given.pop("input", None)) or args[0]
        return machine.call(machine.wrap(encoded, None), [indices, classes], {})
    op = torch_op(functional.one_hot)
    return (
        machine.inline_anyway(functional.one_hot, args, kwargs)
        if op is None
        else emit(machine, op, args, kwargs)
    )


def require_shares(shares: torch.Tensor) -> None:
    """Look up an element that is there only where all shares are from 0 to 1: eager says what is wrong."""
    given = shares.detach()
    is_outside = torch.logical_and(given >= 0, given <= 1).all().logical_not()
    given.new_zeros(1).index_select(0, is_outside.long().reshape(1))


def _quantile(name: str, machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """Native code looks up the places next to a quantile: no check where there is one element.

    Eager checks the shares of tensors on the CPU alone.
    """
    shares = kwargs.get("q", args[1] if len(args) > 1 else None)
    op = torch_op(getattr(torch, name))
    assert op is not None, f"{name} is an operator"
    found = emit(machine, op, args, kwargs)
    if isinstance(shares, TensorValue) and shares.fake.device.type == "cpu":
        machine.call(machine.wrap(require_shares, None), [shares], {})
    return found


for _name in ("quantile", "nanquantile"):
    call.on(getattr(torch, _name), getattr(torch.Tensor, _name))(partial(_quantile, _name))

"""Operators that autocast leaves as they are, while it casts what they call."""

# Some functions of torch are untyped.
# pyright: reportUnknownMemberType=false

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, cast

import torch
from torch.nn import functional

from supple.capture import breaks
from supple.capture.library.table import Args, Kwargs
from supple.capture.machine import Machine
from supple.capture.values.base import NotConstant, Value
from supple.capture.values.constant import ConstantValue
from supple.capture.values.sequence import SequenceValue
from supple.capture.values.tensor import TensorValue
from supple.torch_private import chunk_cat, encoder_layer, trilinear

Check = Callable[[Machine, Args, Kwargs], None]


def check_casts(machine: Machine, function: object, args: Args, kwargs: Kwargs) -> None:
    """Make sure that a graph casts what eager casts where autocast is on, and is made of what eager calls."""
    check = _ALWAYS.get(function) or (_CHECKS.get(function) if _is_casting() else None)
    if check is not None:
        check(machine, args, kwargs)


def _is_casting() -> bool:
    """Tell whether autocast is on here; every entry is guarded for the autocast of its caller."""
    return torch.is_autocast_enabled("cpu")


def _refuse(name: str, machine: Machine, args: Args, kwargs: Kwargs) -> None:
    """Leave to Python an operator whose kernel calls matrix products, behind what a graph sees of it."""
    machine.unsupported(breaks.CAST_WITHIN, name=name)


def _refuse_halves(name: str, machine: Machine, args: Args, kwargs: Kwargs) -> None:
    """Leave to Python an operator whose kernel joins tensors, which autocast refuses to do for float16."""
    for operand in (*args, *kwargs.values()):
        if isinstance(operand, TensorValue) and operand.fake.dtype is torch.float16:
            machine.unsupported(breaks.CAST_WITHIN, name=name)


def _ask_for_one_element(value: Value | None, contracted: Sequence[int]) -> None:
    """Ask whether an operand has one element beside those contracted: under autocast a dtype depends on it.

    torch multiplies and adds up such operands, for which it does not cast, and asks without a guard.
    """
    if isinstance(value, TensorValue) and value.fake.dim():
        fake = value.fake
        kept = set(range(fake.dim())) - {dim % fake.dim() for dim in contracted}
        for dim in kept:
            if fake.shape[dim] != 1:  # the answer becomes a guard
                break


def _tensordot(machine: Machine, args: Args, kwargs: Kwargs) -> None:
    given = dict(zip(("a", "b", "dims"), args, strict=False)) | dict(kwargs)
    dims = given.get("dims", ConstantValue(2))
    try:
        of_each = dims.as_python()
    except NotConstant:
        machine.unsupported(breaks.CAST_WITHIN, name="torch.tensordot with dimensions that are no constant")
    if isinstance(of_each, int):
        of_each = range(-of_each, 0), range(of_each)
    if isinstance(of_each, tuple | list):
        for name, contracted in zip("ab", cast("Sequence[Sequence[int]]", of_each), strict=False):
            _ask_for_one_element(given.get(name), contracted)


def _inner(machine: Machine, args: Args, kwargs: Kwargs) -> None:
    for operand in (*args, *kwargs.values()):
        _ask_for_one_element(operand, [-1])


def _einsum(machine: Machine, args: Args, _: Kwargs) -> None:
    """Ask which summed dimensions have one element: torch multiplies such operands element by element.

    That is not cast, and takes truth values, which a product of matrices refuses.
    """
    operands = [
        one for arg in args for one in (arg.all(machine) if isinstance(arg, SequenceValue) else [arg])
    ]
    fakes = [one.fake for one in operands if isinstance(one, TensorValue)]
    if not (_is_casting() or any(fake.dtype is torch.bool for fake in fakes)):
        return
    text = args[0].as_python() if args and isinstance(args[0], ConstantValue) else ""
    terms, arrow, kept = str(text).replace(" ", "").partition("->")
    labels = iter(terms.split(",") if arrow and "." not in terms else ())
    for fake in fakes:
        own = next(labels, "")
        for dim, size in enumerate(fake.shape):
            if len(own) != fake.dim() or own[dim] not in kept:
                bool(size == 1)  # the answer becomes a guard


_ALWAYS: Final[dict[object, Check]] = {torch.einsum: _einsum}
"""Operators that are made of others as sizes say, whether autocast is on or not."""
_CHECKS: Final[dict[object, Check]] = {
    torch.linalg.pinv: partial(_refuse, "torch.linalg.pinv"),
    functional.bilinear: partial(_refuse, "F.bilinear"),
    trilinear: partial(_refuse, "torch._trilinear"),
    encoder_layer: partial(_refuse, "torch._transformer_encoder_layer_fwd"),
    torch.matrix_exp: partial(_refuse_halves, "torch.matrix_exp"),
    torch.linalg.matrix_exp: partial(_refuse_halves, "torch.linalg.matrix_exp"),
    torch.Tensor.matrix_exp: partial(_refuse_halves, "torch.Tensor.matrix_exp"),
    chunk_cat: partial(_refuse_halves, "torch._chunk_cat"),
    torch.tensordot: _tensordot,
    torch.inner: _inner,
    torch.Tensor.inner: _inner,
}

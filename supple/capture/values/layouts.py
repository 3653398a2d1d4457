"""Layouts where sizes may be 0 or 1: what a program asks of them, and memory that eager may copy or show.

The strides of a tensor are those of general sizes, which are at least 2. `x.t().reshape(-1)` is a copy
then, and row-major. Where a size is 1, eager may give a view of `x`, and a copy of that by `contiguous`.
"""

from typing import Final, cast

import torch

from supple.capture import breaks
from supple.capture.guards.kinds import Kind
from supple.capture.machine import Machine
from supple.capture.source import storage_offset
from supple.ir.graph.nodes import Arg, leaves
from supple.ir.ops import Op
from supple.runtime.undo import version
from supple.shapes.decide import ONE
from supple.shapes.errors import NoMeta
from supple.shapes.fake import meta_of
from supple.shapes.layout import are_strides_general, is_row_major, is_row_major_always

_COPYING: Final = frozenset(
    "reshape flatten ravel reshape_as contiguous einsum tensordot matmul __matmul__ kron inner".split()
)
"""Operations that copy what they can show in no view."""
_SHOWING: Final = _COPYING | {"to"}
"""Operations whose layout decides whether they give a tensor with memory of its own."""


def operation(op: Op) -> str:
    """Return the last part of an operator's name."""
    return op.name.rsplit(".", 1)[-1]


def guard_offsets(machine: Machine) -> None:
    """Guard where each input begins in its storage: a question or a view counts from the storage's start."""
    for item in machine.recorder.lifted:
        offset = storage_offset(item.source)
        machine.guard(offset, Kind.EQUALS, item.real.storage_offset())


def refuse_small(machine: Machine, tensor: object) -> None:
    """Break where the place of a view may be counted by strides that eager gives to sizes of 2 and more."""
    meta = meta_of(cast("torch.Tensor", tensor))
    if meta.offset.is_const:
        return
    if not (machine.sizes.env.are_general() and machine.sizes.pin_strides()):
        _refuse(machine, "storage_offset", "a tensor that is part of a small one")


def layout_asked(machine: Machine, query: str, tensor: object, answer: object, *, is_plain: bool) -> object:
    """Return what a program that asks for a tensor's layout is told, guarded for the sizes of this call.

    Args:
        answer: what holds of general sizes.
        is_plain: whether it asks if the tensor is row-major.
    """
    fake = cast("torch.Tensor", tensor)
    meta = meta_of(fake)
    if _may_be_copy(machine, fake) and not machine.sizes.env.are_general():
        _refuse(machine, query, "a tensor made of small ones")
    if is_plain:
        return is_row_major(meta)
    if not (are_strides_general(meta) and machine.sizes.pin_strides()):
        _refuse(machine, query, "a tensor with one element")
    return answer


def note_layouts(machine: Machine, op: Op, operands: Arg, result: object) -> None:
    """Remember a copy that eager makes for general sizes only, and a result that shows what may be one.

    An operand that is its own result goes by the name of the result from here on: what `contiguous` gives is
    row-major for all sizes.

    Args:
        operands: the fakes of its arguments, and its other arguments.
    """
    name = operation(op)
    if name not in _SHOWING:
        return
    tensors = [one for one in leaves(operands) if isinstance(one, torch.Tensor)]
    if isinstance(result, torch.Tensor) and any(_root(one) is _root(result) for one in tensors):
        if _may_be_copy(machine, result):
            machine.recorder.shown.append((result, version(result)))
            if any(one is result for one in tensors):
                machine.recorder.rename(result)
    elif name in _COPYING:
        machine.recorder.may_copy |= not all(map(_is_row_major_always, tensors))


def heed_formats(machine: Machine, op: Op, operands: Arg) -> None:
    """Break where the strides along a size of 1, which no guard compares, decide whether eager copies.

    For `contiguous` they do not: it takes a size for 1 where it is, and a dynamic one for general.

    Args:
        operands: the fakes of its arguments, and its other arguments.
    """
    asked = [one for one in leaves(operands) if isinstance(one, torch.memory_format)]
    name = operation(op)
    if name == "clone" or name.endswith("_like") or all(one is torch.preserve_format for one in asked):
        return
    tensors = [one for one in leaves(operands) if isinstance(one, torch.Tensor)]
    sizes = [size for one in tensors for size in meta_of(one).sizes]
    is_open = ONE in sizes and name != "contiguous"
    if is_open or not (all(size.is_const for size in sizes) or machine.sizes.env.are_general()):
        if any(_may_be_copy(machine, one) for one in tensors):  # what Python is given may show another one
            machine.unsupported(breaks.SHOWN_OR_COPIED, name=op.name)
        _refuse(machine, name, "a tensor with a size of 1")


def heed_shown_written(machine: Machine, op: Op, operands: Arg) -> None:
    """Break where a write reaches an operand that its result shows, if eager gives a copy for these sizes.

    So does `set_`, by which another tensor shows it. Nothing tells the two apart in the graph: the call runs
    eager.

    Args:
        operands: the fakes of its arguments, and its other arguments.
    """
    if op.is_pure or not machine.recorder.shown:
        return
    roots = {id(_root(one)) for one, _ in machine.recorder.shown}
    tensors = [one for one in leaves(operands) if isinstance(one, torch.Tensor)]
    is_taken = operation(op) == "set_" and any(id(_root(one)) in roots for one in tensors[1:])
    is_written = any(before is None or version(one) != before for one, before in machine.recorder.shown)
    if is_taken or is_written:
        machine.recorder.shown.clear()
        if not machine.sizes.env.are_general():
            machine.unsupported(breaks.SHOWN_OR_COPIED, name=op.name)


def identity_asked(machine: Machine, left: torch.Tensor, right: torch.Tensor) -> None:
    """Break where `is` asks whether a copy is its operand, which eager gives for sizes below 2."""
    may_be_one = any(_may_be_copy(machine, one) for one in (left, right))
    if may_be_one and meta_of(left).sizes == meta_of(right).sizes and not machine.sizes.env.are_general():
        machine.unsupported(breaks.SHOWN_OR_COPIED, name="is")


def _refuse(machine: Machine, query: str, owner: str) -> None:
    machine.unsupported(breaks.ATTRIBUTE, name=f"{query}()", owner=owner)


def _root(tensor: torch.Tensor) -> torch.Tensor:
    return tensor if tensor._base is None else tensor._base


def _may_be_copy(machine: Machine, fake: torch.Tensor) -> bool:
    """Tell whether a tensor may come of a view where sizes are 0 or 1, and of a copy where they are not."""
    base = _root(fake)
    return machine.recorder.may_copy and not any(item.fake is base for item in machine.recorder.lifted)


def _is_row_major_always(fake: torch.Tensor) -> bool:
    try:
        return is_row_major_always(meta_of(fake))
    except NoMeta:
        return False

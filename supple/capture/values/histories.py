"""Operators that change what autograd knows of an input, and what other tensors show of that."""

from collections.abc import Iterator

import torch

from supple.capture import breaks
from supple.capture.guards.kinds import Kind
from supple.capture.guards.overlap import are_related
from supple.capture.machine import Machine
from supple.capture.recorder import Lifted
from supple.capture.source import Source, is_fragile, is_view, of_fragile, of_leaf, of_view, shows_leaf
from supple.capture.values.base import LazyValue
from supple.ir.graph.nodes import FLAGS, Arg, leaves
from supple.ir.ops import Op


def heed_histories(machine: Machine, op: Op, operands: Arg) -> None:
    """Break where an operator that writes is refused by eager, or changes what other inputs show.

    Args:
        operands: the fakes of its arguments, and its other arguments.
    """
    if op.is_pure:
        return
    tensors = [one for one in leaves(operands) if isinstance(one, torch.Tensor)]
    if op.name in FLAGS and tensors[0].is_inference():  # a fake forgets what it was made in
        machine.unsupported(breaks.ATTRIBUTE, name=op.name, owner="a tensor of inference mode")
    _refuse_views_of_leaves(machine, op, tensors[:1])
    may_record = torch.is_grad_enabled() and any(one.requires_grad for one in tensors)
    if may_record or op.name in FLAGS:
        _refuse_relatives(machine, op, tensors)


def _refuse_views_of_leaves(machine: Machine, op: Op, written: list[torch.Tensor]) -> None:
    """Break where an operator writes to an input that is a view of a leaf with gradients: eager raises."""
    if op.name in FLAGS or not torch.is_grad_enabled():
        return
    for item in machine.recorder.lifted:
        is_written = item.real.requires_grad and any(item.fake is one for one in written)
        if is_written and not item.real.is_leaf and _shows_leaf(machine, item):
            error = (
                "RuntimeError: a view of a leaf Variable that requires grad is used in an in-place operation"
            )
            machine.unsupported(breaks.LEAF_ERROR, name=op.name, error=error)


def _shows_leaf(machine: Machine, item: Lifted) -> bool:
    """Tell whether an input is a view of a leaf; guarded."""
    found = shows_leaf(item.real)
    machine.guard(of_leaf(item.source), Kind.EQUALS, found)
    return found


def heed_views_written(machine: Machine, op: Op, operands: Arg) -> None:
    """Break where an operator wrote, unrecorded, to what an input shows that is a view with gradients.

    Torch counts the write, and looks at the view again by that count. Of writes that are recorded eager runs
    what follows.

    Args:
        operands: the fakes of its arguments, on which it ran, and its other arguments.
    """
    if op.is_pure or op.name in FLAGS:
        return
    written = next((one for one in leaves(operands) if isinstance(one, torch.Tensor)), None)
    if torch.is_grad_enabled() and written is not None and written.requires_grad:
        return
    for item in machine.recorder.lifted:
        if item.may_be_view and _is_written(machine, item):
            machine.guard(of_fragile(item.source), Kind.EQUALS, is_fragile(item.real))
            if is_fragile(item.real):
                machine.unsupported(breaks.UNSEEN, name=op.name, view=item.source.name)


def is_refused(tensor: torch.Tensor) -> bool:
    """Tell whether eager refuses a tensor: a view of what was written since, which may not be."""
    try:
        _ = tensor.is_leaf
    except RuntimeError:
        return True
    return False


def heed_memory_written(machine: Machine, item: Lifted) -> None:
    """Break where an input is a view with gradients of memory that the graph has written."""
    if item.may_be_view and is_fragile(item.real) and _is_written(machine, item):
        machine.unsupported(breaks.UNSEEN, name="The graph", view=item.source.name)


def _is_written(machine: Machine, item: Lifted) -> bool:
    """Tell whether the graph has written to the memory of an input, through whichever input that has it."""
    memory = item.fake.memory
    related = (one for one in machine.recorder.lifted if memory and one.fake.memory == memory)
    return item.is_written or any(one.is_written for one in related)


def _refuse_relatives(machine: Machine, op: Op, tensors: list[torch.Tensor]) -> None:
    """Break where an operator may give or end the history of an input of whose base another is a view."""
    changed = tensors if op.name in FLAGS else [one for one in tensors if not one.requires_grad]
    bases = [one if one._base is None else one._base for one in changed]
    roots = {id(one) for one in bases}
    for item in machine.recorder.lifted:
        if id(item.fake) not in roots:
            continue
        names = {"name": op.name, "target": item.source.name}
        if op.name in FLAGS:  # of a view it says nothing to what else shows its base
            machine.guard(of_view(item.source), Kind.EQUALS, is_view(item.real))
            if is_view(item.real):
                machine.unsupported(breaks.RELATED, other="its base", **names)
        for other in _relatives(machine, item.real):
            machine.unsupported(breaks.RELATED, other=other.name, **names)


def _relatives(machine: Machine, tensor: torch.Tensor) -> Iterator[Source]:
    """Yield the inputs, and arguments not looked at yet, that are views of what a tensor shows."""
    lazy = [one for one in machine.variables() if isinstance(one, LazyValue)]
    found = [(item.real, item.source) for item in machine.recorder.lifted]
    for obj, source in (*found, *((one.obj, one.source) for one in lazy)):
        if isinstance(obj, torch.Tensor) and obj is not tensor and source and are_related(tensor, obj):
            yield source

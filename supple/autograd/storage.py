"""Which fake tensors share memory, and the pure value that each stands for at this point of a trace.

Each memory block has a base value; a view is the base with a chain of view steps. A write makes a new base
value, and views made earlier are computed again from it when they are next read.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, cast

import torch

from supple.expr import Expr, as_expr, less_equal, not_equal
from supple.ir.graph.nodes import Arg, Var
from supple.ir.meta import TensorMeta
from supple.ir.ops import Op
from supple.shapes.decide import ONE, ZERO, is_known

#: Elements that `overlaps` looks at, one by one, before it gives up.
_EXAMINED: Final = 1 << 24


def overlaps(left: TensorMeta, right: TensorMeta) -> bool:
    """Tell whether two tensors of one memory block share an element; True where that is not known, or much
    work."""
    first, second = _reach(left), _reach(right)
    if is_known(less_equal(first[1], second[0])) or is_known(less_equal(second[1], first[0])):
        return False
    if not (left.is_static and right.is_static):
        return True
    start, end = min(first[0].value, second[0].value), max(first[1].value, second[1].value)
    if end - start > _EXAMINED:
        return True
    marks = torch.zeros(end - start, dtype=torch.bool)
    _shown(marks, left, start).fill_(True)
    return bool(_shown(marks, right, start).any())


def _reach(meta: TensorMeta) -> tuple[Expr, Expr]:
    """Return the first address of a tensor and the one after its last, in elements; equal when empty."""
    if ZERO in meta.sizes:
        return meta.offset, meta.offset
    last = sum(
        ((size - 1) * stride for size, stride in zip(meta.sizes, meta.strides, strict=True)), meta.offset
    )
    return meta.offset, last + 1


def _shown(block: torch.Tensor, meta: TensorMeta, start: int) -> torch.Tensor:
    sizes, strides = [size.value for size in meta.sizes], [stride.value for stride in meta.strides]
    return block.as_strided(sizes, strides, meta.offset.value - start)


@dataclass(frozen=True, slots=True)
class ViewStep:
    """One view: `op(tensor, *args, **kwargs)`."""

    op: Op
    args: tuple[Arg, ...]
    kwargs: dict[str, Arg] = field(default_factory=dict[str, Arg])


def are_apart(left: Sequence[ViewStep], right: Sequence[ViewStep]) -> bool:
    """Tell whether two views of one tensor are known to show other elements: other rows of a dimension."""
    for mine, theirs in zip(left, right, strict=False):
        if mine != theirs:
            rows, others = _rows(mine), _rows(theirs)
            return rows is not None and others is not None and _are_disjoint(rows, others)
    return False


def _rows(step: ViewStep) -> tuple[Expr, ...] | None:
    """Return dimension, start, stop and step of a slice or a row, None for other views and open bounds."""
    if not all(isinstance(arg, int | Expr) for arg in step.args):
        return None
    args = tuple(as_expr(cast("int", arg)) for arg in step.args)
    if step.op.name == "aten.select.int":
        args = (*args, args[1] + 1)
    elif step.op.name != "aten.slice.Tensor" or len(args) not in (3, 4):
        return None
    known = (*args, ONE)[:4]
    return known if all(is_known(less_equal(0, arg)) for arg in known) else None


def _are_disjoint(left: tuple[Expr, ...], right: tuple[Expr, ...]) -> bool:
    dim, start, stop, pace = left
    if dim is not right[0]:
        return False
    is_between = pace is right[3] and is_known(not_equal((start - right[1]) % pace, 0))
    return is_between or is_known(less_equal(stop, right[1])) or is_known(less_equal(right[2], start))


@dataclass(frozen=True, slots=True, eq=False)
class Viewing:
    """A call of a view operator as eager makes it, for one view or several.

    Attributes:
        of: the tensor that is viewed.
        requires_grad: whether that required gradients.
        has_grad: whether gradients were recorded.
        is_inference: whether that was in inference mode.
        writes: how often the storage was written before, as eager counts.
    """

    of: torch.Tensor
    op: Op
    args: tuple[Arg, ...]
    kwargs: dict[str, Arg]
    requires_grad: bool
    has_grad: bool
    is_inference: bool
    writes: int


@dataclass(frozen=True, slots=True)
class Value:
    """A graph value and its metadata in the graph being made."""

    var: Var
    meta: TensorMeta


@dataclass(slots=True)
class Storage:
    """A block of memory.

    Attributes:
        value: its contents now.
        meta: the layout of its base tensor, as eager has it.
        base: the tensor that it was made for.
        version: number of writes so far.
        unseen: how many of them eager does not count.
        input: the place of the graph input whose memory it is.
    """

    value: Value
    meta: TensorMeta
    base: torch.Tensor
    version: int = 0
    unseen: int = 0
    input: int | None = None

    @property
    def counted(self) -> int:
        """How many of the writes eager counts."""
        return self.version - self.unseen


@dataclass(slots=True)
class Cell:
    """One tensor: a view (or all) of a storage, and its value as of `version` of the storage.

    `made` is the call that gave the view, and which of its results the view is.
    """

    storage: Storage
    chain: tuple[ViewStep, ...]
    value: Value
    version: int
    made: tuple[Viewing, int | None] | None = None

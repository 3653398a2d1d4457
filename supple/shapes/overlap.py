"""Writes that eager refuses: to one element twice, or to elements of which others are read."""

from collections.abc import Iterable
from typing import Final

from supple.expr import Expr, equal, less
from supple.ir.meta import TensorMeta
from supple.shapes.decide import ONE, ZERO, decide, is_known
from supple.shapes.layout import is_dense, numel

_REFUSED: Final = (
    "unsupported operation: {} to a single memory location. "
    "Please clone() the tensor before performing the operation."
)
TWICE: Final = _REFUSED.format("more than one element of the written-to tensor refers")
SHARED: Final = _REFUSED.format("some elements of the input tensor and the written-to tensor refer")


def clash(target: TensorMeta, operands: Iterable[TensorMeta]) -> str | None:
    """Return what eager says of a write to `target`, if it refuses it.

    The operands of the operator that show the same memory are given. Eager compares tensors without gaps
    only: those show all of their memory from the first element on.
    """
    for size, stride in zip(target.sizes, target.strides, strict=True):
        if is_known(equal(stride, ZERO)) and decide(less(ONE, size)) and not _is_empty(target):
            return TWICE
    for operand in operands:
        pairs = ((target, operand), (operand, target))
        if _is_same(target, operand) or not all(is_dense(one.sizes, one.strides) for one, _ in pairs):
            continue
        if all(decide(less(one.offset, _end(other))) and not _is_empty(one) for one, other in pairs):
            return SHARED
    return None


def _is_same(target: TensorMeta, operand: TensorMeta) -> bool:
    mine, theirs = ((one.offset, one.sizes, one.strides) for one in (target, operand))
    return mine == theirs


def _is_empty(meta: TensorMeta) -> bool:
    return decide(equal(numel(meta.sizes), ZERO))


def _end(meta: TensorMeta) -> Expr:
    """Return the place behind the last element."""
    return meta.offset + numel(meta.sizes)

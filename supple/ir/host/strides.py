"""Strides of fresh tensors: eager counts a size of 0 as 1, which a product of symbolic sizes does not."""

from typing import Final

from supple.expr import Const, Expr, const, maximum
from supple.ir.meta import TensorMeta, contiguous_strides

ONE: Final[Expr] = const(1)


def dense_order(meta: TensorMeta) -> tuple[int, ...] | None:
    """Return the dimensions but those of size 1, innermost first, of a dense tensor; None of another."""
    left = [dim for dim in reversed(range(meta.rank)) if meta.sizes[dim] is not ONE]
    order: list[int] = []
    expected = ONE
    while left:
        found = next((dim for dim in left if meta.strides[dim] is expected), None)
        if found is None:
            return None
        left.remove(found)
        order.append(found)
        expected = expected * meta.sizes[found]
    return tuple(order)


def fresh_strides(meta: TensorMeta) -> tuple[Expr, ...] | None:
    """Return the strides with which a tensor is allocated; None for row-major ones that depend on sizes.

    Eager finds those by itself (`torch.empty`), at twice the price of `torch.empty_strided`.
    """
    is_row_major = meta.strides == contiguous_strides(meta.sizes)
    if meta.is_static or (is_row_major and all(type(stride) is Const for stride in meta.strides)):
        return meta.strides
    if is_row_major:
        return None
    known: dict[Expr, Expr] = {ONE: ONE}
    expected = running = ONE
    for dim in dense_order(meta) or ():
        expected, running = expected * meta.sizes[dim], running * maximum(meta.sizes[dim], 1)
        known[expected] = running
    return tuple(known.get(stride, stride) for stride in meta.strides)

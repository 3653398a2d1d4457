"""Strides: contiguity, dense orders, memory formats, and the strides eager gives to results.

Everything is about sizes and strides in elements, as tuples of Expr. Programs ask the same of the same few
shapes again and again, so the answers are remembered. Source of the rules: the behaviour of eager torch,
which the tests compare with on many layouts. Symbolic sizes are taken to be general ones: a layout that is
row-major only where a size is 0 or 1 is not row-major.
"""

from collections.abc import Callable, Sequence
from functools import partial, wraps
from math import prod
from typing import ParamSpec, TypeVar, cast

import torch

from supple.base.memo import memo
from supple.expr import Const, Expr, both, const, equal, less, less_equal, negate, product
from supple.ir.meta import TensorMeta, contiguous_strides
from supple.shapes.decide import ONE, ZERO, always, current, decide, generally, hint, is_backed, is_known
from supple.shapes.env import active

Exprs = tuple[Expr, ...]


P = ParamSpec("P")
R = TypeVar("R")


def remembered(function: Callable[P, R]) -> Callable[P, R]:
    """Let a function of tuples of sizes remember its answers, on symbolic ones until the facts change."""
    cached = memo(4096)(function)

    @wraps(function)
    def answered(*args: P.args, **kwargs: P.kwargs) -> R:
        for arg in args:
            for size in cast("Exprs", arg):
                if type(size) is not Const:
                    return _under_facts(function, *args, **kwargs)
        return cached(*args, **kwargs)

    return answered


def _under_facts(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    env, key = active(), (function, args)
    if env is None:
        return function(*args, **kwargs)
    if key not in env.answers:
        env.answers[key] = function(*args, **kwargs)
    return cast("R", env.answers[key])


def generally_equal(left: Expr, right: Expr) -> bool:
    """Tell whether two numbers are the same for all general sizes."""
    return left is right or _is_general(equal(left, right))


def generally_less(left: Expr, right: Expr) -> bool:
    """Tell whether `left` < `right` for all general sizes."""
    return left is not right and _is_general(less(left, right))


def _is_general(condition: Expr) -> bool:
    return generally(condition) or is_known(condition)


def generally_all_equal(left: Sequence[Expr], right: Sequence[Expr]) -> bool:
    """Tell whether two lists have the same length and numbers for all general sizes."""
    return len(left) == len(right) and all(map(generally_equal, left, right))


def numel(sizes: Sequence[Expr]) -> Expr:
    """Return the number of elements."""
    if all(type(size) is Const for size in sizes):
        return const(prod([size.value for size in sizes]))
    return product(sizes)


@remembered
def is_contiguous(sizes: Exprs, strides: Exprs) -> bool:
    """Tell whether a tensor is row-major; dimensions of size 1 do not matter, an empty tensor is."""
    expected = ONE
    matches = True
    for size, stride in zip(reversed(sizes), reversed(strides), strict=True):
        if size is ZERO:
            return True
        if stride is not expected and matches and not generally_equal(size, ONE):
            matches = generally_equal(stride, expected)
        expected = expected * size
    return matches


def is_row_major(meta: TensorMeta) -> bool:
    """Tell a program that asks whether a tensor is row-major; what sizes have in special is guarded."""
    if meta.is_static or is_row_major_always(meta):
        return is_contiguous(meta.sizes, meta.strides)
    wide = [(size, step) for size, step in zip(meta.sizes, meta.strides, strict=True) if not _is(size, ONE)]
    expected = contiguous_strides([size for size, _ in wide])
    return any(_is(size, ZERO) for size, _ in wide) or all(
        _is(step, wanted) for (_, step), wanted in zip(wide, expected, strict=True)
    )


def is_row_major_always(meta: TensorMeta) -> bool:
    """Tell whether strides are those of row-major order for all sizes, dimensions of size 1 included."""
    return meta.strides == contiguous_strides(meta.sizes)


def are_strides_general(meta: TensorMeta) -> bool:
    """Tell whether all sizes are at least 2, for which alone symbolic strides are as in eager; guarded."""
    return all(size.is_const or decide(less_equal(2, size)) for size in (*meta.sizes, *meta.strides))


def _is(left: Expr, right: Expr) -> bool:
    return left is right or decide(equal(left, right))


@remembered
def channels_last_strides(sizes: Exprs) -> Exprs:
    """Return the strides of NHWC (rank 4) or NDHWC (rank 5) order for sizes given as NCHW or NCDHW."""
    order = (1, *range(len(sizes) - 1, 1, -1), 0)
    return strides_in_order(sizes, order)


@remembered
def is_channels_last(sizes: Exprs, strides: Exprs) -> bool:
    """Tell whether a rank 4 or 5 tensor is dense with its channels innermost, dimensions of size 1 aside."""
    if len(sizes) not in (4, 5):
        return False
    expected = ONE
    for dim in (1, *range(len(sizes) - 1, 1, -1), 0):
        if strides[dim] is not expected and not generally_equal(sizes[dim], ONE):
            if not generally_equal(strides[dim], expected):
                return False
        expected = expected * sizes[dim]
    return True


@remembered
def is_channels_last_like(sizes: Exprs, strides: Exprs) -> bool:
    """Tell whether eager would choose channels-last for a tensor with these strides, dense or not.

    Ambiguous strides (one channel, one pixel) count as row-major.
    """
    if len(sizes) not in (4, 5) or strides[1] is ZERO or ZERO in sizes:
        return False
    least = ZERO
    for dim in (1, *range(len(sizes) - 1, 1, -1), 0):
        if _is_less(strides[dim], least):
            return False
        if dim == 0 and generally_equal(least, strides[1]):
            return False
        least = strides[dim] if generally_equal(sizes[dim], ONE) else strides[dim] * sizes[dim]
    return True


@remembered
def is_dense(sizes: Exprs, strides: Exprs) -> bool:
    """Tell whether the elements fill a block of memory, each address once, in some order of dimensions."""
    if is_contiguous(sizes, strides):
        return True
    live = [
        (stride, size) for size, stride in zip(sizes, strides, strict=True) if not generally_equal(size, ONE)
    ]
    ordered: list[tuple[Expr, Expr]] = []
    for item in live:
        place = len(ordered)
        while place and generally_less(item[0], ordered[place - 1][0]):
            place -= 1
        ordered.insert(place, item)
    expected = ONE
    for stride, size in ordered:
        if not generally_equal(stride, expected):
            return False
        expected = expected * size
    return True


def strides_in_order(sizes: Exprs, order: Sequence[int]) -> Exprs:
    """Return dense strides; `order` names the dimensions from the innermost to the outermost."""
    strides: list[Expr] = [ONE] * len(sizes)
    running = ONE
    for dim in order:
        strides[dim] = running
        if sizes[dim] is not ZERO:
            running = running * sizes[dim]
    return tuple(strides)


def _sorted_dims(rank: int, compare: Callable[[int, int], int]) -> list[int]:
    """Return dimensions, innermost first, by an insertion sort that steps over ambiguous pairs (0)."""
    order = list(range(rank - 1, -1, -1))
    for start in range(1, rank):
        moving = start
        for place in range(start - 1, -1, -1):
            verdict = compare(order[place], order[moving])
            if verdict > 0:
                order[place], order[moving] = order[moving], order[place]
                moving = place
            elif verdict < 0:
                break
    return order


def _compare_strides(sizes: Exprs, strides: Exprs, first: int, second: int) -> int:
    """Return -1 when dimension `first` is further inside than `second`, 1 when outside, 0 when ambiguous."""
    left, right = strides[first], strides[second]
    if left is ZERO or right is ZERO:
        return 0
    is_open = left is not right and not generally_equal(left, right)
    if is_open and not _are_tied(sizes, strides, first, second):
        return -1 if _is_less(left, right) else 1
    return 1 if _is_less(sizes[second], sizes[first]) else 0


def _are_tied(sizes: Exprs, strides: Exprs, first: int, second: int) -> bool:
    """Tell whether two dimensions overlap in memory; guarded where that is open for some sizes or strides."""
    larger = [less(ONE, sizes[dim]) for dim in (first, second)]
    filled = [less(ZERO, size) for size in sizes]
    condition = current(both(equal(strides[first], strides[second]), *larger, *filled))
    return not always(negate(condition)) and decide(condition)


def _is_less(left: Expr, right: Expr) -> bool:
    """Tell whether one stride or size is less than another; guarded where that is open for general sizes."""
    if generally_less(left, right) or generally_less(right, left):
        return generally_less(left, right)
    condition = current(less(left, right))
    return generally(condition) or (not generally(negate(condition)) and decide(condition))


def preserved_strides(sizes: Exprs, strides: Exprs) -> Exprs:
    """Return the strides of a copy that keeps the layout: the same when dense, else dense in the same
    order."""
    if is_dense(sizes, strides):
        return strides
    order = _sorted_dims(len(sizes), partial(_compare_strides, sizes, strides))
    return strides_in_order(sizes, order)


def cloned_strides(sizes: Exprs, strides: Exprs) -> Exprs:
    """Return the strides of a copy of memory, gaps included: the same, unless elements overlap."""
    last = ZERO
    for dim in _sorted_dims(len(sizes), partial(_compare_strides, sizes, strides)):
        if generally_equal(sizes[dim], ONE):
            continue
        if not _is_less(last, strides[dim]):
            return preserved_strides(sizes, strides)
        last = last + (sizes[dim] - ONE) * strides[dim]
    return strides


def pointwise_strides(operands: Sequence[TensorMeta], sizes: Exprs, *, has_scalar: bool = False) -> Exprs:
    """Return the strides that eager gives to the result of a pointwise operation.

    Args:
        operands: the tensors, in order; broadcast to `sizes`.
        has_scalar: a Python number takes part, which counts as a tensor of rank 0.
    """
    rank = len(sizes)
    first = operands[0]
    if not (has_scalar and rank) and all(
        op.sizes is first.sizes or generally_all_equal(op.sizes, first.sizes) for op in operands
    ):
        fast = _common_strides(operands, sizes)
        if fast is not None:
            return fast
    if rank < 2 or _is_open_row_major(operands):
        return contiguous_strides(sizes)
    aligned = [_aligned_strides(op, sizes) for op in operands if op.sizes]

    def compare(left: int, right: int) -> int:
        verdicts = (_compare_strides(sizes, strides, left, right) for strides in aligned)
        return next(filter(None, verdicts), 0)

    order = _sorted_dims(rank, compare)
    if order == list(range(rank - 1, -1, -1)):
        return contiguous_strides(sizes)
    strides: list[Expr] = [ONE] * rank
    running = ONE
    for dim in order:
        strides[dim] = running
        running = running * sizes[dim]
    return tuple(strides)


def _is_open_row_major(operands: Sequence[TensorMeta]) -> bool:
    """Tell whether all operands are row-major to the letter, and some strides to compare are symbolic."""
    return not all(op.is_static for op in operands) and all(
        op.strides == contiguous_strides(op.sizes) for op in operands
    )


def _common_strides(operands: Sequence[TensorMeta], sizes: Exprs) -> Exprs | None:
    """Return the strides when all operands have one shape and one simple layout, else None."""
    first = operands[0]
    if all(is_contiguous(op.sizes, op.strides) for op in operands):
        return contiguous_strides(sizes)
    if len(sizes) == 4 and all(is_channels_last(op.sizes, op.strides) for op in operands):
        return channels_last_strides(sizes)
    if is_dense(first.sizes, first.strides) and all(
        generally_all_equal(op.strides, first.strides) for op in operands[1:]
    ):
        return first.strides
    return None


def _aligned_strides(operand: TensorMeta, sizes: Exprs) -> Exprs:
    """Return the operand's strides over the broadcast shape: 0 where it is repeated."""
    missing = len(sizes) - operand.rank
    kept = (
        ZERO if generally_equal(mine, ONE) and not generally_equal(theirs, ONE) else stride
        for mine, stride, theirs in zip(operand.sizes, operand.strides, sizes[missing:], strict=True)
    )
    return (ZERO,) * missing + tuple(kept)


Same = Callable[[Expr, Expr], bool]


@remembered
def view_strides(sizes: Exprs, strides: Exprs, wanted: Exprs) -> Exprs | None:
    """Return the strides that show the same elements as `wanted` sizes, or None when no strides do."""
    return _view_strides(sizes, strides, wanted, generally_equal)


def view_strides_now(sizes: Exprs, strides: Exprs, wanted: Exprs) -> Exprs | None:
    """Return `view_strides` for the sizes of this call, what they have in special guarded."""
    is_empty = equal(numel(sizes), ZERO)
    if is_backed(is_empty) and hint(is_empty) and decide(is_empty):
        return contiguous_strides(wanted)
    return _view_strides(sizes, strides, wanted, _equal_now)


def _equal_now(left: Expr, right: Expr) -> bool:
    condition = equal(left, right)
    return generally_equal(left, right) or (
        is_backed(condition) and hint(condition) > 0 and decide(condition)
    )


def view_strides_asked(sizes: Exprs, strides: Exprs, wanted: Exprs) -> Exprs | None:
    """Return `view_strides` for a tensor with elements, as it is in this call; guarded.

    Raises:
        Undecided: that depends on an unbacked symbol.
    """
    return _view_strides(sizes, strides, wanted, is_same)


def is_same(left: Expr, right: Expr) -> bool:
    """Tell whether two numbers are the same, in general or as it is in this call; guarded.

    Raises:
        Undecided: that depends on an unbacked symbol.
    """
    return generally_equal(left, right) or decide(equal(left, right))


def _view_strides(sizes: Exprs, strides: Exprs, wanted: Exprs, same: Same) -> Exprs | None:
    if ZERO in sizes:
        return strides if generally_all_equal(sizes, wanted) else contiguous_strides(wanted)
    if not sizes:
        return (ONE,) * len(wanted)
    result: list[Expr] = [ONE] * len(wanted)
    place = len(wanted) - 1
    base, block, filled = strides[-1], ONE, ONE
    for dim in range(len(sizes) - 1, -1, -1):
        block = block * sizes[dim]
        # A dimension goes on where the ones inside it end: they count as one.
        if dim and (same(sizes[dim - 1], ONE) or same(strides[dim - 1], block * base)):
            continue
        while place >= 0 and (not same(filled, block) or same(wanted[place], ONE)):
            result[place] = filled * base
            filled = filled * wanted[place]
            place -= 1
        if not same(filled, block):
            return None
        if dim:
            base, block, filled = strides[dim - 1], ONE, ONE
    return tuple(result) if place == -1 else None


def format_strides(meta: TensorMeta, memory_format: torch.memory_format | None) -> Exprs:
    """Return the strides of a fresh tensor of `meta`'s sizes in a memory format; None and preserve keep the
    layout.

    Raises:
        RuntimeError: channels_last of a tensor that has not rank 4 (or rank 5 for channels_last_3d).
    """
    if memory_format is None or memory_format is torch.preserve_format:
        return preserved_strides(meta.sizes, meta.strides)
    if memory_format is torch.contiguous_format:
        return contiguous_strides(meta.sizes)
    rank = 4 if memory_format is torch.channels_last else 5
    if meta.rank != rank:
        msg = f"required rank {rank} tensor to use {str(memory_format).removeprefix('torch.')} format"
        raise RuntimeError(msg)
    return channels_last_strides(meta.sizes)

"""The table of shape rules: ATen overload -> function from argument metadata to result metadata.

A rule takes the overload's arguments with each tensor replaced by its `TensorMeta` (lists of tensors by
lists), and returns the metadata of a fresh result or view (a tuple or list for several). It states by
`require` what eager requires of its arguments. Offsets of views are absolute; `requires_grad` is not a rule's
business.
"""

from collections.abc import Callable, Sequence
from typing import cast

import torch

from supple.base.rules import Rules
from supple.expr import Expr, as_expr, either, equal
from supple.ir.dtypes import DType, from_torch
from supple.ir.meta import TensorMeta, contiguous_strides
from supple.shapes.decide import ONE, always, decide, exprs, generally, is_known, must_equal, requires
from supple.shapes.env import active
from supple.shapes.errors import Misfit
from supple.shapes.layout import channels_last_strides, format_strides, is_channels_last_like

Size = Expr | int
ShapeRule = Callable[..., object]

shape_rules: Rules[ShapeRule] = Rules("shape rules")


def aten(*names: str) -> list[object]:
    """Return the ATen overloads with these names ("add.Tensor"; "relu" is "relu.default")."""
    found: list[object] = []
    for name in names:
        packet, _, overload = name.partition(".")
        found.append(getattr(getattr(torch.ops.aten, packet), overload or "default"))
    return found


def fresh(
    sizes: Sequence[Size], dtype: DType, like: TensorMeta | None = None, strides: Sequence[Size] | None = None
) -> TensorMeta:
    """Return the metadata of a new tensor, row-major unless `strides` are given, on the device of `like`."""
    shape = exprs(sizes)
    steps = contiguous_strides(shape) if strides is None else exprs(strides)
    return TensorMeta(shape, steps, dtype, "cpu" if like is None else like.device)


def placed(device: object) -> str:
    """Return the device of a tensor that is made for one: there is one CPU, whatever number it is given."""
    asked = torch.device(cast("torch.device | str", device))
    return asked.type if asked.type in ("cpu", "meta") else str(asked)


def view_of(
    base: TensorMeta, sizes: Sequence[Size], strides: Sequence[Size], offset: Size | None = None
) -> TensorMeta:
    """Return the metadata of a view of `base`'s storage; the offset is `base`'s unless given."""
    start = base.offset if offset is None else as_expr(offset)
    return TensorMeta(exprs(sizes), exprs(strides), base.dtype, base.device, start)


def reordered(base: TensorMeta, dims: Sequence[int], offset: Size | None = None) -> TensorMeta:
    """Return the metadata of a view with these of the dimensions, in this order."""
    return view_of(base, [base.sizes[d] for d in dims], [base.strides[d] for d in dims], offset)


def replaced(sizes: Sequence[Expr], dim: int, size: Size) -> tuple[Expr, ...]:
    """Return sizes with one of them replaced."""
    return (*sizes[:dim], as_expr(size), *sizes[dim + 1 :])


def copied(tensor: TensorMeta, dtype: DType | None = None) -> TensorMeta:
    """Return the metadata of a copy that keeps the layout, of another type if one is given."""
    return fresh(tensor.sizes, dtype or tensor.dtype, tensor, format_strides(tensor, None))


def resized(image: TensorMeta, sizes: Sequence[Size]) -> TensorMeta:
    """Return the metadata of a new tensor of other sizes; channels-last stays so."""
    is_last = is_channels_last_like(image.sizes, image.strides)
    return fresh(sizes, image.dtype, image, channels_last_strides(exprs(sizes)) if is_last else None)


def as_dtype(dtype: torch.dtype | None, otherwise: DType) -> DType:
    """Return our name of an optional dtype argument."""
    return otherwise if dtype is None else from_torch(dtype)


def require(*conditions: object) -> None:
    """Refuse the arguments unless all conditions hold, which may be on sizes (see `decide.requires`).

    Raises:
        Misfit: one does not; `refusal` finds out what eager says then.
    """
    for condition in conditions:
        if not (requires(condition) if isinstance(condition, Expr) else condition):
            raise Misfit("the arguments do not fit together")


def wrapped_dim(dim: int, rank: int) -> int:
    """Return a dimension counted from the front.

    Raises:
        Misfit: out of range. Rank 0 counts as rank 1.
    """
    limit = max(rank, 1)
    require(-limit <= dim < limit)
    return dim % limit


def wrapped_dims(dims: Sequence[int], rank: int) -> tuple[int, ...]:
    """Return dimensions counted from the front, each at most once.

    Raises:
        Misfit: out of range, or a dimension appears twice.
    """
    found: list[int] = []
    for dim in dims:
        place = wrapped_dim(dim, rank)
        require(place not in found)
        found.append(place)
    return tuple(found)


def broadcast(shapes: Sequence[Sequence[Expr]]) -> tuple[Expr, ...]:
    """Return the sizes to which all shapes broadcast.

    Raises:
        Misfit: two sizes of one dimension differ and neither is 1.
    """
    first = shapes[0]
    if all(shape == first for shape in shapes):
        return tuple(first)
    result: list[Expr] = []
    for shape in shapes:
        missing = len(shape) - len(result)
        if missing > 0:
            result[:0] = shape[:missing]
        start = len(result) - len(shape)
        for dim in range(max(missing, 0), len(shape)):
            result[start + dim] = _joined(result[start + dim], shape[dim])
    return tuple(result)


def _joined(mine: Expr, size: Expr) -> Expr:
    for one, other in ((size, mine), (mine, size)):
        if fits(one, other) or _is_one(one, other):
            return other
    require(must_equal(mine, size))
    return mine


def fits(size: Expr, wanted: Expr) -> bool:
    """Tell whether a size is `wanted` or 1, for all sizes that the facts allow."""
    if size is wanted or size is ONE:
        return True
    if size.is_const and wanted.is_const:
        return False
    same, one = equal(size, wanted), equal(size, ONE)
    return is_known(same) or (generally(one) and always(either(one, same)))


def is_repeated(size: Expr, wanted: Expr) -> bool | None:
    """Tell whether a size grows from 1 to `wanted`, or is the same number (False); None for neither."""
    if size is wanted:
        return False
    if fits(size, wanted):
        return size is ONE or generally(equal(size, ONE))
    if _is_one(size, wanted):
        return True
    return False if must_equal(size, wanted) else None


def _is_one(size: Expr, other: Expr) -> bool:
    """Decide whether a size is 1 and the other is not.

    Raises:
        Undecided: the size may be 1, and is known at run time only.
    """
    env, one = active(), equal(size, ONE)
    if one.is_const or env is None or not env.oblivious(one, otherwise=True):
        return False
    if env.is_backed(equal(size, other)) and not env.hint(size) == 1 != env.hint(other):
        return False
    # What a program states of such sizes is more often that they are equal.
    if not env.is_backed(size) and env.decide(equal(size, other)):
        return False
    return decide(one)


def common_device(operands: Sequence[TensorMeta]) -> str:
    """Return the device of the result: that of the operands; CPU tensors of rank 0 may join another device.

    Raises:
        Misfit: operands of different devices.
    """
    device = operands[0].device
    for operand in operands[1:]:
        if operand.device == device:
            continue
        if device == "cpu" and all(op.device != "cpu" or not op.sizes for op in operands):
            device = operand.device
        else:
            require(operand.device == "cpu" and not operand.sizes)
    return device


def require_float(*dtypes: DType) -> None:
    """Refuse integers and truth values, as a kernel for floating-point (and complex) numbers does."""
    require(not any(dtype.is_integer or dtype is DType.BOOL for dtype in dtypes))


def require_number(*dtypes: DType) -> None:
    """Refuse truth values."""
    require(DType.BOOL not in dtypes)

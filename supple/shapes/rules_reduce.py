"""Shape rules of reductions, scans, softmax and normalisations: their results are row-major unless said."""

import math
from collections.abc import Sequence
from typing import Final

import torch

from supple.expr import Expr, as_expr, less, less_equal, product
from supple.ir.dtypes import DType
from supple.ir.meta import TensorMeta
from supple.shapes import layout, rules
from supple.shapes.decide import ONE, ZERO, all_must_equal, exprs, must_equal, requires
from supple.shapes.promote import category, float_dtype, promoted, real_dtype
from supple.shapes.rules import Size, as_dtype, aten, fresh, require, require_float, shape_rules, wrapped_dim
from supple.torch_private import VERSION

Dims = Sequence[int] | int | None
MOST_DIMS: Final = 64
"""How many dimensions a tensor may have that eager reduces."""


def reduced_dims(dims: Dims, rank: int) -> tuple[int, ...]:
    """Return the dimensions that a reduction removes: all for None or an empty list."""
    if dims is None:
        return tuple(range(rank))
    if isinstance(dims, int):
        return (wrapped_dim(dims, rank),) if rank else _checked_scalar(dims)
    if not dims:
        return tuple(range(rank))
    return rules.wrapped_dims(dims, rank) if rank else _checked_scalar(*dims)


def _checked_scalar(*dims: int) -> tuple[int, ...]:
    rules.wrapped_dims(dims, 0)
    return ()


def reduced(tensor: TensorMeta, dims: Dims, dtype: DType, *, keepdim: bool = False) -> TensorMeta:
    """Return the metadata of a reduction over `dims`."""
    gone = reduced_dims(dims, tensor.rank)
    if keepdim:
        sizes = tuple(ONE if dim in gone else size for dim, size in enumerate(tensor.sizes))
    else:
        sizes = tuple(size for dim, size in enumerate(tensor.sizes) if dim not in gone)
    return fresh(sizes, dtype, tensor)


def _sum_dtype(tensor: TensorMeta, dtype: torch.dtype | None) -> DType:
    return as_dtype(dtype, DType.I64 if category(tensor.dtype) < 2 else tensor.dtype)


@shape_rules.on(*aten("sum", "prod", "nansum", "sum.dim_IntList", "prod.dim_int"))
def _(
    self: TensorMeta, dim: Dims = None, keepdim: bool = False, *, dtype: torch.dtype | None = None
) -> TensorMeta:
    """Integers and bool add up (or multiply) in i64."""
    return reduced(self, dim, _sum_dtype(self, dtype), keepdim=keepdim)


@shape_rules.on(*aten("mean", "mean.dim"))
def _(
    self: TensorMeta, dim: Dims = None, keepdim: bool = False, *, dtype: torch.dtype | None = None
) -> TensorMeta:
    """Of floating-point and complex numbers only."""
    kind = as_dtype(dtype, self.dtype)
    require(category(kind) >= 2)
    return reduced(self, dim, kind, keepdim=keepdim)


@shape_rules.on(*aten("amax", "amin", "max", "min"))
def _(self: TensorMeta, dim: Dims = (), keepdim: bool = False) -> TensorMeta:
    """The operand's type; an empty dimension has no largest element."""
    require(self.rank <= MOST_DIMS)
    _require_elements(self, dim)
    return reduced(self, dim, self.dtype, keepdim=keepdim)


def _require_elements(tensor: TensorMeta, dims: Dims = None) -> None:
    require(*(less(ZERO, tensor.sizes[dim]) for dim in reduced_dims(dims, tensor.rank)))


@shape_rules.on(*aten("argmax", "argmin"))
def _(self: TensorMeta, dim: int | None = None, keepdim: bool = False) -> TensorMeta:
    """A position."""
    rules.require_number(self.dtype)
    _require_elements(self, dim)
    return reduced(self, dim, DType.I64, keepdim=keepdim)


@shape_rules.on(*aten("any", "all", "any.dim", "all.dim", "any.dims", "all.dims"))
def _(self: TensorMeta, dim: Dims = None, keepdim: bool = False) -> TensorMeta:
    """A truth value; of u8 a u8."""
    dtype = DType.U8 if self.dtype is DType.U8 else DType.BOOL
    if dim is not None and not isinstance(dim, int) and not dim:
        return fresh(self.sizes, dtype, self)
    return reduced(self, dim, dtype, keepdim=keepdim)


@shape_rules.on(*aten("count_nonzero", "count_nonzero.dim_IntList"))
def _(self: TensorMeta, dim: Dims = None) -> TensorMeta:
    """How many."""
    return reduced(self, dim, DType.I64)


@shape_rules.on(*aten("histc"))
def _(self: TensorMeta, bins: Size = 100, *_ends: object, **_named: object) -> TensorMeta:
    """One count per bin."""
    require_float(self.dtype)
    return fresh((bins,), self.dtype, self)


@shape_rules.on(*aten("aminmax"))
def _(self: TensorMeta, *, dim: int | None = None, keepdim: bool = False) -> tuple[TensorMeta, TensorMeta]:
    """The least and the greatest."""
    require(self.rank <= MOST_DIMS)
    _require_elements(self, dim)
    result = reduced(self, dim, self.dtype, keepdim=keepdim)
    return result, result


@shape_rules.on(*aten("trace"))
def _(self: TensorMeta) -> TensorMeta:
    """The sum of a diagonal; integers add up in i64."""
    require(self.rank == 2)
    rules.require_number(self.dtype)
    return fresh((), _sum_dtype(self, None), self)


@shape_rules.on(*aten("median", "nanmedian"))
def _(self: TensorMeta, *_rest: object) -> TensorMeta:
    """One element."""
    rules.require_number(self.dtype)
    return fresh((), self.dtype, self)


@shape_rules.on(*aten("dist"))
def _(self: TensorMeta, *_rest: object) -> TensorMeta:
    """A real number."""
    require(category(self.dtype) >= 2)
    return fresh((), real_dtype(self.dtype), self)


@shape_rules.on(*aten("kthvalue"))
def _(self: TensorMeta, k: Size, dim: int = -1, keepdim: bool = False) -> tuple[TensorMeta, TensorMeta]:
    """The k-th least value and its position."""
    size = self.sizes[wrapped_dim(dim, self.rank)] if self.rank else ONE
    require(less(ZERO, as_expr(k)), less_equal(as_expr(k), size))
    rules.require_number(self.dtype)
    return reduced(self, dim, self.dtype, keepdim=keepdim), reduced(self, dim, DType.I64, keepdim=keepdim)


@shape_rules.on(*aten("cummax", "cummin"))
def _(self: TensorMeta, dim: int) -> tuple[TensorMeta, TensorMeta]:
    """The greatest (or least) so far and its position."""
    wrapped_dim(dim, self.rank)
    return fresh(self.sizes, self.dtype, self), fresh(self.sizes, DType.I64, self)


@shape_rules.on(*aten("max.dim", "min.dim", "mode", "median.dim"))
def _(self: TensorMeta, dim: int = -1, keepdim: bool = False) -> tuple[TensorMeta, TensorMeta]:
    """Values and their positions."""
    _require_elements(self, dim)
    return (reduced(self, dim, self.dtype, keepdim=keepdim), reduced(self, dim, DType.I64, keepdim=keepdim))


def _spread(
    self: TensorMeta, dim: Dims = None, *, correction: complex | None = None, keepdim: bool = False
) -> TensorMeta:
    """The spread of floating-point or complex numbers, a real number."""
    require(category(self.dtype) >= 2)
    return reduced(self, dim, real_dtype(self.dtype), keepdim=keepdim)


shape_rules.on(*aten("var.correction", "std.correction"))(_spread)


@shape_rules.on(*aten("var_mean.correction", "std_mean.correction"))
def _(
    self: TensorMeta, dim: Dims = None, *, correction: complex | None = None, keepdim: bool = False
) -> tuple[TensorMeta, TensorMeta]:
    """The spread and the mean."""
    return _spread(self, dim, keepdim=keepdim), reduced(self, dim, self.dtype, keepdim=keepdim)


@shape_rules.on(*aten("logsumexp"))
def _(self: TensorMeta, dim: Dims, keepdim: bool = False) -> TensorMeta:
    """A floating-point number. Of no dimensions eager makes all, and then fails to drop them."""
    is_of_all = isinstance(dim, Sequence) and not dim
    require(keepdim or not self.rank or not is_of_all)
    return reduced(self, dim, float_dtype(self.dtype), keepdim=keepdim)


@shape_rules.on(*aten("linalg_vector_norm"))
def _(
    self: TensorMeta,
    ord: complex = 2,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    dtype: torch.dtype | None = None,
) -> TensorMeta:
    """A real number; orders below 0, and the largest, are not defined for no elements."""
    if isinstance(ord, int | float) and (ord < 0 or ord == math.inf):
        _require_elements(self, dim)
    wanted = as_dtype(dtype, self.dtype)
    kind, wide = real_dtype(wanted), promoted(self.dtype, wanted)
    require(category(self.dtype) >= 2 and real_dtype(wide) is kind)
    require(category(self.dtype) == category(wanted))
    return reduced(self, dim, kind, keepdim=keepdim)


@shape_rules.on(*aten("cumsum", "cumprod"))
def _(self: TensorMeta, dim: int, *, dtype: torch.dtype | None = None) -> TensorMeta:
    """A running total along a dimension."""
    wrapped_dim(dim, self.rank)
    return fresh(self.sizes, _sum_dtype(self, dtype), self)


@shape_rules.on(*aten("logcumsumexp"))
def _(self: TensorMeta, dim: int) -> TensorMeta:
    """A running total along a dimension."""
    wrapped_dim(dim, self.rank)
    return fresh(self.sizes, self.dtype, self)


@shape_rules.on(*aten("_safe_softmax"))
def _(self: TensorMeta, dim: int, dtype: torch.dtype | None = None) -> TensorMeta:
    """Numbers that add up to 1 along a dimension, or are all 0."""
    wrapped_dim(dim, self.rank)
    kind = as_dtype(dtype, self.dtype)
    require(category(self.dtype) <= 2, category(kind) == 2)
    return fresh(self.sizes, kind, self)


@shape_rules.on(*aten("_softmax", "_log_softmax"))
def _(self: TensorMeta, dim: int, half_to_float: bool = False) -> TensorMeta:
    """Numbers that add up to 1 along a dimension, or their logarithms."""
    wrapped_dim(dim, self.rank)
    if category(self.dtype) < 2:
        msg = f'"softmax_lastdim_kernel_impl" not implemented for {str(self.dtype.torch)!r}'
        raise NotImplementedError(msg)
    return fresh(self.sizes, DType.F32 if half_to_float else self.dtype, self)


@shape_rules.on(*aten("native_layer_norm"))
def _(
    input: TensorMeta,
    normalized_shape: Sequence[Size],
    weight: TensorMeta | None,
    bias: TensorMeta | None,
    eps: float,
) -> tuple[TensorMeta, TensorMeta, TensorMeta]:
    """The normalised tensor, the mean and the reciprocal deviation of each row."""
    require_float(input.dtype)
    count = len(normalized_shape)
    outer, inner = input.sizes[: input.rank - count], input.sizes[input.rank - count :]
    require(count and all_must_equal(inner, exprs(normalized_shape)))
    require(all(item is None or all_must_equal(item.sizes, inner) for item in (weight, bias)))
    given = weight if weight is not None else bias
    dtype = given.dtype if given is not None and input.dtype.is_low_precision else input.dtype
    stat = fresh((*outer, *(ONE,) * count), dtype, input)
    return fresh(input.sizes, input.dtype, input), stat, stat


@shape_rules.on(*aten("native_group_norm"))
def _(
    input: TensorMeta, weight: TensorMeta | None, bias: TensorMeta | None, *numbers: Size
) -> tuple[TensorMeta, TensorMeta, TensorMeta]:
    """The normalised tensor, the mean and the reciprocal deviation of each group."""
    require_float(input.dtype)
    batch, channels, count, group = exprs(numbers[:4])
    if VERSION >= (2, 14):  # which refuses empty groups
        require(requires(less(ZERO, count)), requires(less(ZERO, channels)))
    require(must_equal(channels % group, ZERO))
    require(input.rank >= 2 and all_must_equal(input.sizes[:2], (batch, channels)))
    is_dense = layout.is_contiguous(input.sizes, input.strides)
    require(is_dense or layout.is_channels_last(input.sizes, input.strides))
    require(must_equal(product(input.sizes[2:]), count))
    require(all(item is None or all_must_equal(item.sizes, (channels,)) for item in (weight, bias)))
    dtype = weight.dtype if weight is not None and input.dtype.is_low_precision else input.dtype
    stat = fresh((batch, group), dtype, input)
    return rules.resized(input, input.sizes), stat, stat


def kept_strides(tensor: TensorMeta) -> tuple[Expr, ...] | None:
    """Return channels-last strides for a channels-last tensor, dense or not; None (row-major) for another."""
    is_last = layout.is_channels_last_like(tensor.sizes, tensor.strides)
    if not layout.is_contiguous(tensor.sizes, tensor.strides):  # with one row, say, the first tells nothing
        is_last = is_last or layout.is_channels_last(tensor.sizes, tensor.strides)
    return layout.channels_last_strides(tensor.sizes) if is_last else None


@shape_rules.on(*aten("_native_batch_norm_legit_functional"))
def _(*args: TensorMeta) -> tuple[TensorMeta, ...]:
    """As batch norm, and the new statistics."""
    return *_batch_norm(*args), *(fresh(one.sizes, one.dtype, one) for one in args[3:5])


def _batch_norm(
    input: TensorMeta, weight: TensorMeta | None, bias: TensorMeta | None, *rest: object
) -> tuple[TensorMeta, ...]:
    """The normalised tensor; the batch's mean and reciprocal deviation in training, else empty tensors.

    These have the type of the parameters, which may be wider than the input's.
    """
    require_float(input.dtype)
    is_training = len(rest) == 5 and rest[2]
    given = (weight, bias, *rest[:2])
    require(input.rank >= 2)
    require(all(all_must_equal(m.sizes, input.sizes[1:2]) for m in given if isinstance(m, TensorMeta)))
    require(len(rest) < 2 or (rest[0] is None) == (rest[1] is None))
    dtype = next((meta.dtype for meta in given if isinstance(meta, TensorMeta)), input.dtype)
    require(all(meta.dtype is dtype for meta in given if isinstance(meta, TensorMeta)))
    require(dtype is input.dtype or (dtype is DType.F32 and input.dtype.is_low_precision))
    stat = fresh((input.sizes[1] if is_training else ZERO,), dtype, input)
    return fresh(input.sizes, input.dtype, input, kept_strides(input)), stat, stat


shape_rules.on(*aten("native_batch_norm", "_native_batch_norm_legit_no_training"))(_batch_norm)


@shape_rules.on(*aten("nll_loss_forward"))
def _(
    self: TensorMeta, target: TensorMeta, weight: TensorMeta | None, reduction: int, ignore_index: int
) -> tuple[TensorMeta, TensorMeta]:
    """The loss (one per row for reduction 0) and the total weight."""
    require(self.rank in (1, 2))
    require(target.rank <= 1 and (self.rank != 2 or all_must_equal(target.sizes, self.sizes[:1])))
    require(weight is None or all_must_equal(weight.sizes, self.sizes[-1:]))
    require_float(self.dtype)
    shape = self.sizes[:1] if reduction == 0 and self.rank == 2 else ()
    return fresh(shape, self.dtype, self), fresh((), self.dtype, self)


@shape_rules.on(*aten("nll_loss2d_forward"))
def _(
    self: TensorMeta, target: TensorMeta, weight: TensorMeta | None, reduction: int, ignore_index: int
) -> tuple[TensorMeta, TensorMeta]:
    """The loss (one per pixel for reduction 0) and the total weight."""
    require(self.rank == 4 and all_must_equal(target.sizes, (self.sizes[0], *self.sizes[2:])))
    require(weight is None or all_must_equal(weight.sizes, self.sizes[1:2]))
    require_float(self.dtype)
    return fresh(target.sizes if reduction == 0 else (), self.dtype, self), fresh((), self.dtype, self)

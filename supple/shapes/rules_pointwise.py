"""Shape rules of element-by-element operators: broadcasting, promotion, and the result's layout."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import cast

import torch

from supple.expr import Expr, as_expr, less_equal, not_equal
from supple.ir.dtypes import DType
from supple.ir.meta import TensorMeta
from supple.shapes import rules
from supple.shapes.decide import ONE, ZERO, must_equal
from supple.shapes.layout import format_strides, pointwise_strides, preserved_strides
from supple.shapes.promote import Operand, category, float_dtype, number_dtype, real_dtype, result_dtype
from supple.shapes.rules import (
    aten,
    broadcast,
    fresh,
    require,
    require_float,
    require_number,
    shape_rules,
    wrapped_dim,
)


def pointwise(operands: Sequence[Operand], dtype: DType, common: DType | None = None) -> TensorMeta:
    """Return the metadata of a pointwise result of `dtype`; at least one operand is a tensor.

    Args:
        common: what operands are converted to first, `dtype` unless given. A converted operand is a dense
        copy.
    """
    wanted = dtype if common is None else common
    tensors = [_converted(operand, wanted) for operand in operands if isinstance(operand, TensorMeta)]
    sizes = broadcast([tensor.sizes for tensor in tensors])
    strides = pointwise_strides(tensors, sizes, has_scalar=len(tensors) < len(operands))
    return TensorMeta(sizes, strides, dtype, rules.common_device(tensors))


def _converted(operand: TensorMeta, dtype: DType) -> TensorMeta:
    if operand.dtype is dtype or operand.device != "cpu":
        return operand
    return replace(operand, strides=preserved_strides(operand.sizes, operand.strides))


def _same(dtype: DType) -> DType:
    return dtype


def _truth(dtype: DType) -> DType:
    return DType.BOOL


def _any(*dtypes: DType) -> None:
    """Take every type."""


def elementwise(
    count: int, names: str, check: Callable[[DType], None] = _any, result: Callable[[DType], DType] = _same
) -> None:
    """Add a rule for overloads of which the first arguments are operands and the others numbers.

    Args:
        count: how many are operands: they are broadcast and promoted.
        check: refuses a promoted type.
        result: returns the type of the result.
    """

    def rule(*args: Operand, **numbers: object) -> TensorMeta:
        common = result_dtype(args[:count])
        check(common)
        require(bool not in map(type, numbers.values()))
        dtype = result(common)
        return pointwise(args[:count], dtype, dtype if result is float_dtype else common)

    shape_rules.on(*aten(*names.split()))(rule)


elementwise(1, "abs", require_number, real_dtype)
elementwise(1, "relu neg floor ceil trunc threshold conj_physical", require_number)
elementwise(1, "round round.decimals", require_number)
elementwise(1, "sign sgn positive")
elementwise(
    1,
    "hardswish hardsigmoid leaky_relu elu softplus mish silu frac hardshrink softshrink",
    require_float,
)
elementwise(
    1,
    "exp exp2 expm1 log log2 log10 log1p sqrt rsqrt sin cos tan asin acos atan sinh cosh tanh asinh acosh "
    "atanh erf erfc erfinv lgamma digamma reciprocal sigmoid sinc i0 special_entr special_erfcx logit "
    "special_i0e special_i1 special_i1e special_log_ndtr special_ndtri",
    result=float_dtype,
)
elementwise(1, "isnan isinf isfinite logical_not signbit isneginf isposinf", result=_truth)
elementwise(1, "bitwise_not", lambda dtype: require(category(dtype) <= 1))
elementwise(
    2,
    "add.Tensor add.Scalar mul.Tensor mul.Scalar maximum minimum fmax fmin pow.Tensor_Tensor heaviside "
    "clamp_min.Tensor clamp_max.Tensor",
)
elementwise(
    2,
    "remainder.Tensor remainder.Scalar remainder.Scalar_Tensor fmod.Tensor fmod.Scalar floor_divide "
    "floor_divide.Scalar clamp_min clamp_max",
    require_number,
)
elementwise(
    2,
    "div.Tensor div.Scalar true_divide.Tensor atan2 copysign.Tensor xlogy.Tensor xlogy.Scalar_Other",
    result=float_dtype,
)
elementwise(2, "hypot logaddexp logaddexp2 nextafter igamma igammac", require_float)
elementwise(
    2,
    "eq.Tensor eq.Scalar ne.Tensor ne.Scalar lt.Tensor lt.Scalar le.Tensor le.Scalar gt.Tensor gt.Scalar "
    "ge.Tensor ge.Scalar logical_and logical_or logical_xor",
    result=_truth,
)
elementwise(
    2,
    "bitwise_and.Tensor bitwise_and.Scalar bitwise_or.Tensor bitwise_or.Scalar bitwise_xor.Tensor "
    "bitwise_xor.Scalar",
    lambda dtype: require(category(dtype) <= 1),
)
elementwise(
    2,
    "bitwise_left_shift.Tensor bitwise_left_shift.Tensor_Scalar bitwise_right_shift.Tensor "
    "bitwise_right_shift.Tensor_Scalar",
    lambda dtype: require(dtype.is_integer),
)
elementwise(3, "addcmul", require_number)
elementwise(3, "addcdiv", require_float)


@shape_rules.on(*aten("log_sigmoid_forward"))
def _(self: TensorMeta) -> tuple[TensorMeta, TensorMeta]:
    """The result and what its gradient reads, which the CPU makes row-major, and other devices leave out."""
    require_float(self.dtype)
    if self.device == "cpu":
        return fresh(self.sizes, self.dtype, self), fresh(self.sizes, self.dtype, self)
    return pointwise([self], self.dtype), fresh((0,), self.dtype, self)


@shape_rules.on(*aten("gelu"))
def _(self: TensorMeta, *, approximate: str = "none") -> TensorMeta:
    """A float tensor like the operand."""
    require_float(self.dtype)
    require(approximate in ("none", "tanh"))
    return pointwise((self,), self.dtype)


@shape_rules.on(*aten("celu"))
def _(self: TensorMeta, alpha: float | Expr = 1.0) -> TensorMeta:
    """A float tensor like the first."""
    require_float(self.dtype)
    require(not_equal(alpha, ZERO) if isinstance(alpha, Expr) else alpha != 0)
    return pointwise((self,), self.dtype)


@shape_rules.on(*aten("pow.Tensor_Scalar"))
def _(self: TensorMeta, exponent: Operand) -> TensorMeta:
    """The promoted type of both; the layout of a function of one tensor. Integers have no negative powers."""
    dtype = result_dtype((self, exponent))
    if category(dtype) < 2 and isinstance(exponent, int | Expr):
        require(less_equal(ZERO, as_expr(exponent)))
    return pointwise((self,), dtype)


@shape_rules.on(*aten("pow.Scalar"))
def _(self: Operand, exponent: TensorMeta) -> TensorMeta:
    """The promoted type of both, row-major."""
    return fresh(exponent.sizes, result_dtype((self, exponent)), exponent)


@shape_rules.on(*aten("sub.Tensor", "sub.Scalar"))
def _(self: Operand, other: Operand, alpha: complex = 1) -> TensorMeta:
    """The promoted type of both; bools have no difference."""
    operands = (self, other)
    require(not isinstance(alpha, bool))
    require(DType.BOOL not in [x.dtype if isinstance(x, TensorMeta) else number_dtype(x) for x in operands])
    return pointwise(operands, result_dtype(operands))


@shape_rules.on(*aten("rsub.Tensor", "rsub.Scalar"))
def _(self: Operand, other: Operand, alpha: complex = 1) -> object:
    """The difference the other way round."""
    return shape_rules[torch.ops.aten.sub.Tensor](other, self, alpha)


@shape_rules.on(*aten("div.Tensor_mode", "div.Scalar_mode"))
def _(self: Operand, other: Operand, *, rounding_mode: str | None = None) -> TensorMeta:
    """As true division without a mode; with one, integers stay integers."""
    operands = (self, other)
    dtype = result_dtype(operands)
    require(rounding_mode in (None, "floor", "trunc"), rounding_mode is None or dtype is not DType.BOOL)
    return pointwise(operands, float_dtype(dtype) if rounding_mode is None else dtype)


@shape_rules.on(*aten("where.self", "where.ScalarOther", "where.ScalarSelf", "where.Scalar"))
def _(condition: TensorMeta, self: Operand, other: Operand) -> TensorMeta:
    """The promoted type of both values; the condition is a bool (or u8) tensor."""
    require(condition.dtype in (DType.BOOL, DType.U8))
    dtype = result_dtype((self, other))
    return pointwise((replace(condition, dtype=dtype), self, other), dtype)


@shape_rules.on(*aten("clamp", "clamp.Tensor"))
def _(self: TensorMeta, min: Operand | None = None, max: Operand | None = None) -> TensorMeta:  # schema
    """The promoted type of the tensor and its bounds."""
    bounds = tuple(bound for bound in (min, max) if bound is not None)
    require(bounds)
    tensors = tuple(bound for bound in bounds if isinstance(bound, TensorMeta))
    dtype = result_dtype((self, *bounds))
    require_number(dtype)
    return pointwise((self, *tensors), dtype)


@shape_rules.on(*aten("lerp.Scalar", "lerp.Tensor"))
def _(self: TensorMeta, end: TensorMeta, weight: Operand) -> TensorMeta:
    """All of one type, a floating-point one."""
    require_float(self.dtype)
    require(self.dtype is end.dtype)
    tensors = (self, end, weight) if isinstance(weight, TensorMeta) else (self, end)
    return pointwise(tensors, self.dtype)


@shape_rules.on(*aten("masked_fill.Scalar", "masked_fill.Tensor"))
def _(self: TensorMeta, mask: TensorMeta, value: Operand) -> TensorMeta:
    """The tensor's type, row-major; one value for all."""
    require(mask.dtype is DType.BOOL and (not isinstance(value, TensorMeta) or not value.rank))
    return fresh(broadcast((self.sizes, mask.sizes)), self.dtype, self)


def expanded(operand: TensorMeta, sizes: Sequence[Expr]) -> TensorMeta:
    """Return the view of `operand` broadcast to `sizes`, with the strides of `expand`.

    Raises:
        Misfit: a size that is neither the operand's nor grown from 1.
    """
    missing = len(sizes) - operand.rank
    require(missing >= 0)
    if not operand.rank:
        return TensorMeta(tuple(sizes), (ZERO,) * len(sizes), operand.dtype, operand.device, operand.offset)
    strides: list[Expr] = []
    for dim in range(len(sizes) - 1, -1, -1):
        old = dim - missing
        mine = operand.sizes[old] if old >= 0 else ONE
        step = operand.strides[old] if old >= 0 else sizes[dim + 1] * strides[-1]
        if mine is not sizes[dim]:
            grows = rules.is_repeated(mine, sizes[dim])
            require(grows is not None)
            step = ZERO if grows else step
        strides.append(step)
    return TensorMeta(tuple(sizes), tuple(reversed(strides)), operand.dtype, operand.device, operand.offset)


@shape_rules.on(*aten("_to_copy"))
def _(self: TensorMeta, **options: object) -> TensorMeta:
    """A copy with another type, device or layout; the layout is kept unless a memory format is given."""
    device, dtype = options.get("device"), cast("torch.dtype | None", options.get("dtype"))
    place = self.device if device is None else rules.placed(device)
    memory_format = cast("torch.memory_format | None", options.get("memory_format"))
    kind, strides = rules.as_dtype(dtype, self.dtype), format_strides(self, memory_format)
    return TensorMeta(self.sizes, strides, kind, place)


@shape_rules.on(*aten("clone"))
def _(self: TensorMeta, *, memory_format: torch.memory_format | None = None) -> TensorMeta:
    """A copy; the layout is kept unless a memory format is given."""
    return fresh(self.sizes, self.dtype, self, format_strides(self, memory_format))


@shape_rules.on(*aten("mse_loss", "smooth_l1_loss"))
def _(self: TensorMeta, target: TensorMeta, reduction: int = 1, *numbers: float) -> TensorMeta:
    """Element by element, or one number (reduction 1: mean, 2: sum)."""
    operands = (self, target)
    require(all(number >= 0 for number in numbers))
    require_float(result_dtype(operands))
    wide = pointwise(operands, result_dtype(operands))
    return wide if reduction == 0 else fresh((), wide.dtype, self)


@shape_rules.on(*aten("huber_loss"))
def _(self: TensorMeta, target: TensorMeta, reduction: int = 1, delta: float = 1.0) -> TensorMeta:
    """As `mse_loss`, in the type of the first operand, whatever that of the second."""
    require(delta >= 0)
    require_float(result_dtype((self, target)))
    require_float(self.dtype)
    wide = pointwise((self, target), self.dtype)
    return wide if reduction == 0 else fresh((), self.dtype, self)


@shape_rules.on(*aten("binary_cross_entropy", "binary_cross_entropy_with_logits", "soft_margin_loss"))
def _(self: TensorMeta, target: TensorMeta, *rest: TensorMeta | int | None) -> TensorMeta:
    """Element by element, or one number, as the last argument says: a reduction, 1 (mean) when left out."""
    require_float(self.dtype)
    sizes = broadcast((self.sizes, target.sizes))
    wide = fresh(sizes, self.dtype, self, format_strides(expanded(self, sizes), None))
    reduction = next((item for item in rest if isinstance(item, int)), 1)
    return wide if reduction == 0 else fresh((), wide.dtype, self)


@shape_rules.on(*aten("glu"))
def _(self: TensorMeta, dim: int = -1) -> TensorMeta:
    """The first half times the sigmoid of the second."""
    require_float(self.dtype)
    require(self.rank)
    place = wrapped_dim(dim, self.rank)
    size = self.sizes[place]
    require(must_equal(size % 2, ZERO))
    half = replace(self, sizes=rules.replaced(self.sizes, place, size // 2))
    return pointwise((half, half), self.dtype)

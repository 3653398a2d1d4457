"""Decompositions of element-by-element operators to the pointwise core."""

import math
from functools import partial
from typing import Final, cast

import torch

from supple.autograd.lowering import Lowering, Operand, decompositions
from supple.expr import Expr, equal
from supple.expr.real import Real
from supple.ir.dtypes import DType, from_torch
from supple.ir.graph.nodes import Var
from supple.shapes.decide import is_known
from supple.shapes.env import active
from supple.shapes.promote import Number, category, default_dtype, float_dtype

FLOAT_UNARY: Final = (
    "sqrt rsqrt exp exp2 log log2 log10 log1p expm1 sin cos tan asin acos atan sinh cosh "
    "tanh asinh acosh atanh erf erfc lgamma reciprocal"
).split()


def _float_unary(name: str, b: Lowering, x: Var) -> Var:
    """Integers are converted to the default type first."""
    return b.unary(name, b.cast(x, default_dtype()) if category(b.tensor_meta(x).dtype) < 2 else x)


def _rounding(name: str, b: Lowering, x: Var) -> Var:
    """Integers stay as they are."""
    return b.unary(name, x) if b.tensor_meta(x).dtype.is_float else b.copy(x)


for _name in FLOAT_UNARY:
    decompositions.on(f"aten.{_name}.default")(partial(_float_unary, _name))
for _name in ("floor", "ceil", "round", "trunc"):
    decompositions.on(f"aten.{_name}.default")(partial(_rounding, _name))

#: Core op of operands cast to their promoted type -> the overloads that it serves.
_BINARY: Final = {
    "mul.Tensor": ("mul.Tensor", "mul.Scalar"),
    "remainder.Tensor": ("remainder.Tensor", "remainder.Scalar", "remainder.Scalar_Tensor"),
    "fmod.Tensor": ("fmod.Tensor", "fmod.Scalar"),
    "maximum.default": ("maximum.default", "clamp_min.Tensor"),
    "minimum.default": ("minimum.default", "clamp_max.Tensor"),
    "hypot.default": ("hypot.default",),
    "pow.Tensor_Tensor": ("pow.Tensor_Tensor", "pow.Scalar"),
    **{
        f"{name}.Tensor": (f"{name}.Tensor", f"{name}.Scalar")
        for name in "eq ne lt le gt ge bitwise_and bitwise_or bitwise_xor".split()
    },
    **{
        f"{name}.Tensor": (f"{name}.Tensor", f"{name}.Tensor_Scalar")
        for name in ("bitwise_left_shift", "bitwise_right_shift")
    },
}
_FLOAT_BINARY: Final = {
    "div.Tensor": ("div.Tensor", "div.Scalar", "true_divide.Tensor"),
    "atan2.default": ("atan2.default",),
    "copysign.Tensor": ("copysign.Tensor",),
}


#: Ops of integers that not every number suits (a divisor of 0): where it is not known, eager's own operator
#: runs, which takes tensors only.
_CHECKED: Final = (
    "remainder.Tensor",
    "fmod.Tensor",
    "bitwise_left_shift.Tensor",
    "bitwise_right_shift.Tensor",
)


def _binary(core: str, b: Lowering, left: Operand, right: Operand) -> Var:
    """Both in the promoted type; a number is rounded to it as eager does, except as a factor."""
    dtype = b.common(left, right)
    if core == "mul.Tensor":
        return _precise(core, b, left, right, dtype)
    if core in _CHECKED and isinstance(right, Expr) and dtype.is_integer:
        right = b.full((), right, dtype)
    return b.point(core, b.bound(left, dtype), b.bound(right, dtype), dtype=dtype)


def _float_binary(core: str, b: Lowering, left: Operand, right: Operand) -> Var:
    """Both in the promoted type; integers in the default floating type."""
    dtype = float_dtype(b.common(left, right))
    if core == "div.Tensor":
        return _precise(core, b, left, right, dtype)
    return b.point(core, left, right, dtype=dtype)


def _precise(core: str, b: Lowering, left: Operand, right: Operand, dtype: DType) -> Var:
    """A product or quotient; what is one element on the right is not rounded to the result's type."""
    is_exact = dtype.is_low_precision and isinstance(right, Var) and not b.tensor_meta(right).sizes
    if not is_exact:
        return b.point(core, left, right, dtype=dtype)
    return b.cast(b.point(core, b.cast(left, dtype), right, dtype=dtype.compute), dtype)


def _is_one_element(b: Lowering, operand: Operand) -> bool:
    """Tell whether an operand is a number, or a tensor all of whose elements are one place in memory."""
    if not isinstance(operand, Var):
        return True
    meta = b.tensor_meta(operand)
    return all(
        is_known(equal(size, 1)) or is_known(equal(stride, 0))
        for size, stride in zip(meta.sizes, meta.strides, strict=True)
    )


for _table, _rule in ((_BINARY, _binary), (_FLOAT_BINARY, _float_binary)):
    for _core, _names in _table.items():
        decompositions.on(*(f"aten.{_name}" for _name in _names))(partial(_rule, _core))


def _scaled(core: str, b: Lowering, left: Operand, right: Operand, alpha: Number = 1) -> Var:
    """left (+ or -) alpha * right, rounded once; a number is rounded to the type before."""
    dtype = b.common(left, right)
    left, right = b.bound(left, dtype), b.bound(right, dtype)
    if alpha == 1:
        return b.point(core, left, right, dtype=dtype)
    first = b.wide(b.cast(left, dtype))
    factor = b.bound(alpha, dtype)
    second = b.mul(b.wide(b.cast(right, dtype)), b.wide(factor) if isinstance(factor, Var) else factor)
    return b.cast(b.point(core, first, second, dtype=dtype.compute), dtype)


decompositions.on("aten.add.Tensor", "aten.add.Scalar")(partial(_scaled, "add.Tensor"))
decompositions.on("aten.sub.Tensor", "aten.sub.Scalar")(partial(_scaled, "sub.Tensor"))


@decompositions.on("aten.rsub.Tensor", "aten.rsub.Scalar")
def _(b: Lowering, left: Operand, right: Operand, alpha: Number = 1) -> Var:
    """right - alpha * left."""
    return _scaled("sub.Tensor", b, right, left, alpha)


@decompositions.on("aten.div.Tensor_mode", "aten.div.Scalar_mode")
def _(b: Lowering, left: Operand, right: Operand, *, rounding_mode: str | None = None) -> Var:
    """True division without a mode, else rounded towards minus infinity or zero."""
    if rounding_mode is None:
        return cast("Var", b.call("aten.div.Tensor", left, right))
    dtype = b.common(left, right)
    if not dtype.is_low_precision:
        args = tuple(b.cast(o, dtype) if isinstance(o, Var) else o for o in (left, right))
        return b.emit("aten.div.Tensor_mode", args, {"rounding_mode": rounding_mode})
    if _is_one_element(b, right):
        divisor = b.cast(right, dtype.compute) if isinstance(right, Var) else right
        args = (b.wide(b.cast(left, dtype)), divisor)
        return b.cast(b.emit("aten.div.Tensor_mode", args, {"rounding_mode": rounding_mode}), dtype)
    left, right = (b.cast(one, dtype) for one in (left, right))
    return b.unary("trunc", b.div(left, right)) if rounding_mode == "trunc" else _floored(b, left, right)


def _floored(b: Lowering, left: Var, right: Var) -> Var:
    """A quotient rounded towards minus infinity in low precision: each step is rounded too."""
    quotient, rest = b.div(left, right), b.point("fmod.Tensor", left, right)
    is_beyond = b.point("gt.Tensor", b.unary("isinf", quotient), b.unary("isinf", left))
    whole = b.div(b.where(is_beyond, left, b.sub(left, rest)), right)
    is_turned = b.point("ne.Tensor", b.point("lt.Tensor", rest, 0), b.point("lt.Tensor", right, 0))
    is_less = b.point("bitwise_and.Tensor", is_turned, b.point("ne.Tensor", rest, 0))
    whole = b.where(is_less, b.sub(whole, 1), whole)
    floor = b.unary("floor", whole)
    floor = b.where(b.point("gt.Tensor", b.sub(whole, floor), 0.5), b.add(floor, 1), floor)
    zero = b.point("copysign.Tensor", b.full((), 0.0, b.tensor_meta(left).dtype), quotient)
    floor = b.where(b.point("eq.Tensor", whole, 0), zero, floor)
    return b.where(b.point("eq.Tensor", right, 0), quotient, floor)


@decompositions.on("aten.floor_divide.default", "aten.floor_divide.Scalar")
def _(b: Lowering, left: Operand, right: Operand) -> Var:
    """Rounded towards minus infinity."""
    return cast("Var", b.call("aten.div.Tensor_mode", left, right, rounding_mode="floor"))


@decompositions.on("aten.pow.Tensor_Scalar")
def _(b: Lowering, x: Var, exponent: Number) -> Var:
    """Small powers as products, roots and reciprocals."""
    dtype = b.common(x, exponent)
    base = b.cast(x, dtype)
    exponent = _decided(exponent)
    if exponent == 0:
        meta = b.tensor_meta(x)
        return b.full(meta.sizes, 1, dtype, meta.device)
    if exponent == 1:
        return b.copy(base)
    if exponent == 2:
        return b.mul(base, base)
    # Eager takes roots of f16 as powers in f32.
    roots = () if dtype is DType.F16 else (0.5, -0.5)
    if dtype.is_float and exponent in (3, -2, -1, *roots):
        return _float_power(b, base, exponent, dtype)
    return b.point("pow.Tensor_Tensor", base, b.bound(exponent, dtype), dtype=dtype)


def _decided(exponent: Number) -> Number:
    """Return an exponent as a plain number where eager's own code for it gives other numbers than `pow`."""
    env = active()
    if env is None or not isinstance(exponent, Real):
        return exponent
    special = next((value for value in _SPECIAL if env.decide_real("==", exponent, value)), None)
    return exponent if special is None else special


_SPECIAL: Final = (0.5, -0.5)
"""Exponents whose results for -0.0 and -inf are not those of `pow`."""


def _float_power(b: Lowering, base: Var, exponent: Number, dtype: DType) -> Var:
    if exponent in (0.5, -0.5, -1):
        return b.unary({0.5: "sqrt", -0.5: "rsqrt", -1: "reciprocal"}[cast("float", exponent)], base)
    wide = b.wide(base)
    square = b.mul(wide, wide)
    result = b.mul(square, wide) if exponent == 3 else b.unary("reciprocal", square)
    return b.cast(result, dtype)


@decompositions.on("aten.square.default")
def _(b: Lowering, x: Var) -> Var:
    """x * x."""
    return b.mul(x, x)


@decompositions.on("aten.positive.default")
def _(b: Lowering, x: Var) -> Var:
    """x."""
    return x


@decompositions.on("aten.sgn.default")
def _(b: Lowering, x: Var) -> Var:
    """The sign of a real number."""
    return b.unary("sign", x)


@decompositions.on("aten.frac.default")
def _(b: Lowering, x: Var) -> Var:
    """x - trunc(x)."""
    return b.sub(x, b.unary("trunc", x))


@decompositions.on("aten.isnan.default", "aten.isinf.default")
def _(b: Lowering, x: Var) -> Var | None:
    """No integer is."""
    meta = b.tensor_meta(x)
    return None if category(meta.dtype) > 1 else b.full(meta.sizes, False, DType.BOOL, meta.device)


@decompositions.on("aten.isfinite.default")
def _(b: Lowering, x: Var) -> Var:
    """Neither infinite nor NaN."""
    meta = b.tensor_meta(x)
    if category(meta.dtype) < 2:
        return b.full(meta.sizes, True, DType.BOOL, meta.device)
    return b.point("lt.Tensor", b.unary("abs", x), math.inf)


def _truth(b: Lowering, x: Var) -> Var:
    return x if b.tensor_meta(x).dtype is DType.BOOL else b.point("ne.Tensor", x, 0)


def _logical(core: str, b: Lowering, left: Var, right: Var) -> Var:
    """Of the truth values of both."""
    return b.point(core, _truth(b, left), _truth(b, right))


for _name in ("and", "or", "xor"):
    decompositions.on(f"aten.logical_{_name}.default")(partial(_logical, f"bitwise_{_name}.Tensor"))


@decompositions.on("aten.where.self", "aten.where.ScalarOther", "aten.where.ScalarSelf", "aten.where.Scalar")
def _(b: Lowering, condition: Var, yes: Operand, no: Operand) -> Var:
    """One type; the condition a bool."""
    return b.where(_truth(b, condition), yes, no)


@decompositions.on("aten.masked_fill.Scalar", "aten.masked_fill.Tensor")
def _(b: Lowering, x: Var, mask: Var, value: Operand) -> Var | None:
    """The value, in the tensor's type, where the mask holds; eager looks whether a tensor's value fits."""
    dtype = b.tensor_meta(x).dtype
    is_exact = b.tensor_meta(value).dtype is dtype if isinstance(value, Var) else b.common(x, value) is dtype
    if not is_exact:
        return None
    number = b.cast(value, dtype) if isinstance(value, Var) else b.bound(value, dtype)
    return b.where(mask, number, x, dtype)


@decompositions.on("aten.clamp.default", "aten.clamp.Tensor", "aten.clamp_min.default")
def _(b: Lowering, x: Var, low: Operand | None = None, high: Operand | None = None) -> Var:
    """max with the lower bound, then min with the upper; a NaN stays."""
    bounds = [bound for bound in (low, high) if bound is not None]
    dtype = b.common(x, *bounds)
    result = b.cast(x, dtype)
    if low is not None:
        result = b.point("maximum.default", result, b.bound(low, dtype), dtype=dtype)
    if high is not None:
        result = b.point("minimum.default", result, b.bound(high, dtype), dtype=dtype)
    return result


@decompositions.on("aten.clamp_max.default")
def _(b: Lowering, x: Var, high: Number) -> Var:
    """min with a bound."""
    return cast("Var", b.call("aten.clamp.default", x, None, high))


def _past_nan(op: str, b: Lowering, left: Var, right: Var) -> Var | None:
    """Integers have no NaN; floats stay a library call."""
    return None if b.common(left, right).is_float else b.point(op, left, right)


decompositions.on("aten.fmax.default")(partial(_past_nan, "maximum.default"))
decompositions.on("aten.fmin.default")(partial(_past_nan, "minimum.default"))


@decompositions.on("aten.lerp.Scalar", "aten.lerp.Tensor")
def _(b: Lowering, start: Var, end: Var, weight: Operand) -> Var:
    """From the nearer end: start + w * (end - start) for |w| < 0.5, else end - (1 - w) * (end - start)."""
    dtype = b.tensor_meta(start).dtype
    first, last = b.wide(start), b.wide(end)
    span = b.sub(last, first)
    if isinstance(weight, Expr | Real):
        weight = b.full((), weight, dtype.compute)
    if not isinstance(weight, Var):
        near = abs(cast("float", weight)) < 0.5
        result = b.add(first, b.mul(span, weight)) if near else b.sub(last, b.mul(span, 1 - weight))
        return b.cast(result, dtype)
    is_float = b.tensor_meta(weight).dtype.is_float
    share = b.wide(weight) if is_float else b.cast(weight, dtype.compute)
    near_start = b.add(first, b.mul(share, span))
    near_end = b.sub(last, b.mul(b.sub(1, share), span))
    is_near = b.point("lt.Tensor", b.unary("abs", share), 0.5)
    return b.cast(b.where(is_near, near_start, near_end), dtype)


def _added(core: str, b: Lowering, x: Var, left: Var, right: Var, *, value: Number = 1) -> Var:
    """x + value * left (* or /) right, rounded once."""
    dtype = b.common(x, left, right)
    base, first, second = (b.wide(b.cast(item, dtype)) for item in (x, left, right))
    scaled = first if value == 1 else b.mul(first, value)
    return b.cast(b.add(base, b.point(core, scaled, second)), dtype)


decompositions.on("aten.addcmul.default")(partial(_added, "mul.Tensor"))
decompositions.on("aten.addcdiv.default")(partial(_added, "div.Tensor"))


@decompositions.on("aten._to_copy.default")
def _(b: Lowering, x: Var, **options: object) -> Var | None:
    """A cast; a copy in another layout is a clone after it; another device stays a library call."""
    meta = b.tensor_meta(x)
    device = options.get("device")
    if device is not None and str(device) != meta.device:
        return None
    dtype = options.get("dtype")
    result = x if dtype is None else b.cast(x, from_torch(cast("torch.dtype", dtype)))
    format_ = options.get("memory_format")
    if format_ is not None:
        return cast("Var", b.call("aten.clone.default", result, memory_format=format_))
    return b.copy(result) if result is x else result

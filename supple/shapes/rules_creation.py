"""Shape rules of tensors made from numbers: filled, counted, and their `new_*` and `*_like` forms.

Each takes the factory options of its overload: dtype, device, memory_format; layout and pin_memory say
nothing about the metadata.
"""

import math
from collections.abc import Sequence
from functools import partial
from typing import Final, cast

import torch

from supple.expr import Expr, Symbol, as_expr, less, less_equal, not_equal
from supple.expr.real import Real
from supple.expr.width import may_be_wide
from supple.ir.dtypes import DType
from supple.ir.meta import TensorMeta
from supple.shapes.decide import ONE, ZERO, decide, exact_ratio, exprs, real_number
from supple.shapes.layout import format_strides
from supple.shapes.promote import Number, default_dtype, number_dtype
from supple.shapes.rules import Size, as_dtype, aten, fresh, placed, require, shape_rules


def _made(
    sizes: Sequence[Size],
    dtype: DType,
    options: dict[str, object],
    like: TensorMeta | None = None,
    strides: Sequence[Size] | None = None,
) -> TensorMeta:
    """Return a fresh tensor; `dtype` and the device of `like` (else the default device) yield to the
    options."""
    kind = as_dtype(cast("torch.dtype | None", options.get("dtype")), dtype)
    require(*(less_equal(ZERO, size) for size in exprs(sizes)))
    made = fresh(sizes, kind, None, strides)
    place = "cpu" if like is None else like.device
    device = options.get("device")
    return TensorMeta(made.sizes, made.strides, kind, place if device is None else placed(device))


def _format(options: dict[str, object]) -> torch.memory_format | None:
    return cast("torch.memory_format | None", options.get("memory_format"))


@shape_rules.on(*aten("empty.memory_format", "zeros", "ones", "rand", "randn"))
def _(size: Sequence[Size], **options: object) -> TensorMeta:
    """Sizes as given, the default type unless one is given."""
    given = _format(options)
    strides = None if given is None else format_strides(fresh(size, DType.F32), given)
    return _made(size, default_dtype(), options, strides=strides)


@shape_rules.on(*aten("full"))
def _(size: Sequence[Size], fill_value: Number, **options: object) -> TensorMeta:
    """The value's type unless one is given."""
    return _made(size, number_dtype(fill_value), options)


def _require_strides(size: Sequence[Size], stride: Sequence[Size]) -> None:
    require(len(size) == len(stride), *(less_equal(ZERO, one) for one in exprs(stride)))


@shape_rules.on(*aten("empty_strided"))
def _(size: Sequence[Size], stride: Sequence[Size], **options: object) -> TensorMeta:
    """Sizes and strides as given; none is negative."""
    _require_strides(size, stride)
    return _made(size, default_dtype(), options, strides=stride)


@shape_rules.on(*aten("empty_permuted"))
def _(size: Sequence[Size], physical_layout: Sequence[int], **options: object) -> TensorMeta:
    """Dense, the dimensions from the outermost to the innermost as given."""
    inner = fresh([size[dim] for dim in physical_layout], DType.F32)
    strides = [inner.strides[physical_layout.index(dim)] for dim in range(len(size))]
    return _made(size, default_dtype(), options, strides=strides)


@shape_rules.on(*aten("arange", "arange.start", "arange.start_step"))
def _(*numbers: Number, **options: object) -> TensorMeta:
    """start (0 unless given), start + step (1 unless given), ... before the end."""
    start, end, step = (0, *numbers, 1) if len(numbers) == 1 else (*numbers, 1)[:3]
    if all(isinstance(item, int | Expr) for item in (start, end, step)):
        first, last, pace = given = exprs(cast("Sequence[Size]", (start, end, step)))
        dtype, distance = DType.I64, last - first
        require(*_within(given, is_float=_is_float(options)))
    else:
        dtype, (distance, pace) = default_dtype(), _steps(start, end, step)
    require(not_equal(pace, ZERO))
    require(less_equal(ZERO, distance) if decide(less(ZERO, pace)) else less_equal(distance, ZERO))
    made = _made((-(-distance // pace),), dtype, options)
    require(made.dtype is not DType.BOOL and (made.dtype.is_float or dtype is DType.I64))
    return made


def _is_float(options: dict[str, object]) -> bool:
    """Tell whether a type of floats is given: eager counts in floats then, and rounds large integers."""
    dtype = cast("torch.dtype | None", options.get("dtype"))
    return dtype is not None and dtype.is_floating_point


def _within(numbers: Sequence[Expr], *, is_float: bool) -> list[Expr]:
    """Return the conditions that integers go into 64 bits, as symbols do, or that floats hold them."""
    largest = as_expr(2**53 if is_float else 2**63 - 1)
    asked = [
        one
        for one in numbers
        if one.is_const or (may_be_wide(one) and (is_float or not isinstance(one, Symbol)))
    ]
    return [less_equal(one, largest) for one in asked] + [less_equal(-largest - 1, one) for one in asked]


def _steps(start: Number, end: Number, step: Number) -> tuple[Expr, Expr]:
    """Return how far it is from start to end, and the step, both in a unit that makes them integers.

    Where float arithmetic may round, sizes are specialised.
    """
    found = exact_ratio(Real("/", (Real("-", (end, start)), step)))
    if found is not None:
        return found.numerator, as_expr(found.denominator)
    first, last, pace = (real_number(item) for item in (start, end, step))
    if not pace:
        return ONE, ZERO
    count = (last - first) / pace
    require(math.isfinite(count) and math.isfinite(pace))
    return as_expr(math.ceil(count) if count >= 0 else -1), ONE


#: Which arguments are the sizes.
SIZES: Final = {"scalar_tensor": (), "linspace": (2,), "eye": (0, 0), "eye.m": (0, 1), "randperm": (0,)}


def _of_sizes(places: tuple[int, ...], dtype: DType | None, /, *args: Size, **options: object) -> TensorMeta:
    """The default type of the overload unless one is given."""
    return _made([args[place] for place in places], dtype or default_dtype(), options)


for _name, _places in SIZES.items():
    shape_rules.on(*aten(_name))(partial(_of_sizes, _places, DType.I64 if _name == "randperm" else None))


@shape_rules.on(*aten("randint", "randint.low"))
def _(*args: object, **options: object) -> TensorMeta:
    """Integers unless a type is given; the bounds come first."""
    return _made(cast("Sequence[Size]", args[-1]), DType.I64, options)


@shape_rules.on(*aten("new_empty", "new_zeros", "new_ones", "new_full"))
def _(self: TensorMeta, size: Sequence[Size], *_value: Number, **options: object) -> TensorMeta:
    """Type and device of the tensor unless given."""
    return _made(size, self.dtype, options, self)


@shape_rules.on(*aten("new_empty_strided"))
def _(self: TensorMeta, size: Sequence[Size], stride: Sequence[Size], **options: object) -> TensorMeta:
    """Type and device of the tensor unless given."""
    _require_strides(size, stride)
    return _made(size, self.dtype, options, self, stride)


@shape_rules.on(
    *aten("empty_like", "zeros_like", "ones_like", "rand_like", "randn_like", "full_like", "randint_like")
)
def _(self: TensorMeta, *_value: Number, **options: object) -> TensorMeta:
    """Sizes of the tensor, its layout kept unless a memory format is given."""
    return _made(self.sizes, self.dtype, options, self, format_strides(self, _format(options)))

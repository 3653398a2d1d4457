"""Decompositions of what the autograd engine runs; in f32 for bf16 and f16, rounded at the end."""

import math
from collections.abc import Callable, Sequence
from typing import Final, cast

import torch

from supple.autograd.decompose_activation import sigmoid
from supple.autograd.decompose_reduce import count_of
from supple.autograd.lowering import Lowering, Size, decompositions, dims_of, index_from_front, plain
from supple.expr import as_expr, maximum, minimum
from supple.ir.dtypes import DType, narrowed
from supple.ir.graph.nodes import Arg, Var
from supple.shapes.promote import Number

Body = Callable[..., Var]


def _elementwise(name: str) -> Callable[[Body], Body]:
    """Return a decorator for the derivative of a function, given (operand or result, ...)."""

    def register(body: Body) -> Body:
        def rule(b: Lowering, grad: Var, x: Var, *args: object, **kwargs: object) -> Var:
            slope = body(b, b.wide(x), *args, **kwargs)
            return b.cast(b.mul(b.wide(grad), slope), b.tensor_meta(grad).dtype)

        decompositions.on(f"aten.{name}.default")(rule)
        return body

    return register


@_elementwise("tanh_backward")
def _(b: Lowering, y: Var) -> Var:
    """1 - tanh(x)**2."""
    return b.sub(1.0, b.mul(y, y))


@decompositions.on("aten.sigmoid_backward.default")
def _(b: Lowering, grad: Var, y: Var) -> Var:
    """grad * (1 - y) * y: so a gradient of 0 is 0, whatever overflows. Eager rounds f16 in between."""
    dtype = b.tensor_meta(grad).dtype
    flowing, slope = (grad, y) if dtype is DType.F16 else (b.wide(grad), b.wide(y))
    return b.cast(b.mul(b.mul(flowing, b.sub(1.0, slope)), slope), dtype)


@_elementwise("silu_backward")
def _(b: Lowering, x: Var) -> Var:
    """s * (1 + x * (1 - s)) for the sigmoid s of x."""
    s = sigmoid(b, x)
    return b.mul(s, b.add(b.mul(x, b.sub(1.0, s)), 1.0))


@_elementwise("gelu_backward")
def _(b: Lowering, x: Var, *, approximate: str = "none") -> Var:
    """The normal distribution function, plus x times its density; or the derivative of the form with tanh."""
    if approximate == "none":
        share = b.add(b.mul(b.unary("erf", b.mul(x, math.sqrt(0.5))), 0.5), 0.5)
        density = b.mul(b.unary("exp", b.mul(b.mul(x, x), -0.5)), 1 / math.sqrt(2 * math.pi))
        return b.add(share, b.mul(x, density))
    factor, cubic = math.sqrt(2 / math.pi), 0.044715
    square = b.mul(x, x)
    t = b.unary("tanh", b.mul(b.mul(x, b.add(b.mul(square, cubic), 1.0)), factor))
    inner = b.mul(b.add(b.mul(square, 3 * cubic), 1.0), factor)
    bend = b.mul(b.mul(b.mul(x, 0.5), b.sub(1.0, b.mul(t, t))), inner)
    return b.add(b.mul(b.add(t, 1.0), 0.5), bend)


@decompositions.on("aten.threshold_backward.default")
def _(b: Lowering, grad: Var, x: Var, threshold: Number) -> Var:
    """The gradient above the threshold, 0 elsewhere; NaN lets it pass."""
    return b.where(b.point("le.Tensor", x, threshold), 0.0, grad, b.tensor_meta(grad).dtype)


@decompositions.on("aten._softmax_backward_data.default")
def _(b: Lowering, grad: Var, y: Var, dim: int, input_dtype: torch.dtype) -> Var:
    """y * (g - sum(g * y))."""
    wide, share = b.wide(grad), b.wide(y)
    total = b.sum(b.mul(wide, share), dims_of(dim, b.tensor_meta(y).rank))
    return b.cast(b.mul(share, b.sub(wide, total)), narrowed(b.tensor_meta(grad).dtype, input_dtype))


@decompositions.on("aten._log_softmax_backward_data.default")
def _(b: Lowering, grad: Var, y: Var, dim: int, input_dtype: torch.dtype) -> Var:
    """g - exp(y) * sum(g)."""
    wide = b.wide(grad)
    total = b.sum(wide, dims_of(dim, b.tensor_meta(y).rank))
    result = b.sub(wide, b.mul(b.unary("exp", b.wide(y)), total))
    return b.cast(result, narrowed(b.tensor_meta(grad).dtype, input_dtype))


@decompositions.on("aten.native_layer_norm_backward.default")
def _(b: Lowering, grad: Var, x: Var, shape: Sequence[Size], *rest: object) -> tuple[Arg, ...]:
    """With n = (x - mean) * rstd and h = g * weight: rstd * (h - mean(h) - n * mean(h * n)); sums of g * n
    and of g over the other dimensions."""
    mean, rstd, weight, bias, mask = cast("tuple[Var, Var, Var | None, Var | None, Sequence[bool]]", rest)
    meta = b.tensor_meta(x)
    inner = list(range(meta.rank - len(shape), meta.rank))
    outer = list(range(meta.rank - len(shape)))
    wide = b.wide(grad)
    normal = b.mul(b.sub(b.wide(x), mean), rstd)
    found: list[Arg] = [None, None, None]
    if mask[0]:
        scaled = wide if weight is None else b.mul(wide, b.wide(weight))
        count = count_of(meta, inner)
        level = b.div(b.sum(scaled, inner), count)
        slope = b.div(b.sum(b.mul(scaled, normal), inner), count)
        moved = b.sub(b.sub(scaled, level), b.mul(normal, slope))
        found[0] = b.cast(b.mul(moved, rstd), meta.dtype)
    for place, terms, parameter in ((1, b.mul(wide, normal), weight), (2, wide, bias)):
        if mask[place] and parameter is not None:
            total = b.sum(terms, outer, keepdim=False) if outer else terms
            found[place] = b.cast(total, b.tensor_meta(parameter).dtype)
    return tuple(found)


@decompositions.on("aten.nll_loss_backward.default")
def _(b: Lowering, grad: Var, x: Var, target: Var, *rest: object) -> Var | None:
    """-g at the target, 0 elsewhere and where it is ignored; of a mean, divided by the total weight."""
    weight, reduction, ignore_index, total = cast("tuple[Var | None, int, int, Var]", rest)
    meta = b.tensor_meta(x)
    if weight is not None or meta.rank != _ROWS:
        return None
    rows, classes = meta.sizes
    column = b.view(target, plain((rows, 1)))
    places = b.iota(classes, meta.device, b.tensor_meta(target).dtype)
    is_hit = b.point("eq.Tensor", column, places)
    is_hit = b.point("bitwise_and.Tensor", is_hit, b.point("ne.Tensor", column, ignore_index))
    share = b.unary("neg", grad)
    share = b.div(share, total) if reduction == 1 else share
    if reduction == 0:
        share = b.view(share, plain((rows, 1)))
    return b.where(is_hit, share, 0.0, meta.dtype)


_ROWS: Final = 2
"""Rank of a batch of rows of classes."""


@decompositions.on("aten.slice_backward.default")
def _(b: Lowering, grad: Var, sizes: Sequence[Size], dim: int, *bounds: Size) -> Arg:
    """The gradient between zeros."""
    start, _, step = bounds
    if step != 1:
        return None
    place = dim % len(sizes)
    size = as_expr(sizes[place])
    before = minimum(maximum(as_expr(index_from_front(start, size)), 0), size)
    after = size - before - b.tensor_meta(grad).sizes[place]
    return _padded(b, grad, place, *plain((before, after)))


@decompositions.on("aten.select_backward.default")
def _(b: Lowering, grad: Var, sizes: Sequence[Size], dim: int, index: Size) -> Arg:
    """The gradient as one row between zeros."""
    place = dim % len(sizes)
    before = index_from_front(index, as_expr(sizes[place]))
    row = b.view(grad, [*sizes[:place], 1, *sizes[place + 1 :]])
    return _padded(b, row, place, before, plain((as_expr(sizes[place]) - before - 1,))[0])


def _padded(b: Lowering, x: Var, dim: int, before: Size, after: Size) -> Arg:
    rank = b.tensor_meta(x).rank
    amounts = [0, 0] * (rank - 1 - dim) + [before, after]
    return b.call("aten.constant_pad_nd.default", x, amounts, 0.0)


@decompositions.on("aten.native_batch_norm_backward.default")
def _(b: Lowering, grad: Var, x: Var, weight: Var | None, *rest: object) -> tuple[Arg, ...]:
    """With c = x - mean: rstd * weight * (g - mean(g) - c * rstd**2 * mean(g * c)), of statistics at rest
    without the means; sums of g * c * rstd and of g over all but the channels."""
    mean, var, saved_mean, saved_rstd, is_training, eps, mask = cast(
        "tuple[Var, Var, Var, Var, bool, float, Sequence[bool]]", rest
    )
    meta = b.tensor_meta(x)
    others = [dim for dim in range(meta.rank) if dim != 1]
    along = [1, meta.sizes[1], *[1] * (meta.rank - 2)]
    wide = b.wide(grad)
    rstd = b.wide(saved_rstd) if is_training else b.unary("rsqrt", b.add(b.wide(var), eps))
    level = b.view(b.wide(saved_mean if is_training else mean), along)
    pace = b.view(rstd, along)
    centered = b.sub(b.wide(x), level)
    total, slope = b.sum(wide, others), b.sum(b.mul(wide, centered), others)
    moved = wide
    if is_training:
        count = count_of(meta, others)
        share = b.mul(b.div(slope, count), b.mul(pace, pace))
        moved = b.sub(b.sub(wide, b.div(total, count)), b.mul(centered, share))
    moved = b.mul(moved, pace)
    scaled = moved if weight is None else b.mul(moved, b.view(b.wide(weight), along))
    kind = meta.dtype if weight is None else b.tensor_meta(weight).dtype
    found = (
        b.cast(scaled, meta.dtype),
        b.cast(b.view(b.mul(slope, pace), along[1:2]), kind),
        b.cast(b.view(total, along[1:2]), kind),
    )
    return tuple(one if is_wanted else None for one, is_wanted in zip(found, mask, strict=True))


@decompositions.on("aten.native_dropout_backward.default")
def _(b: Lowering, grad: Var, mask: Var, scale: float) -> Var | None:
    """The gradient times the scale or 0, as the mask says: what is infinite is none times 0."""
    dtype = b.tensor_meta(grad).dtype
    is_whole = dtype.is_integer or dtype is DType.BOOL  # whose product with the scale is a float
    if b.tensor_meta(mask).dtype is not DType.BOOL or is_whole:
        return None
    wide = b.wide(grad)
    return b.cast(b.mul(wide, b.where(mask, scale, 0.0 * scale, b.tensor_meta(wide).dtype)), dtype)

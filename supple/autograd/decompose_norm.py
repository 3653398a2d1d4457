"""Decompositions of softmax, normalisations and losses: computed in f32 for bf16 and f16, rounded at the
end."""

import math
from collections.abc import Sequence
from typing import cast

import torch

from supple.autograd.decompose_reduce import count_of, moments
from supple.autograd.lowering import Lowering, decompositions, dims_of, plain, rounded
from supple.expr import Expr
from supple.ir.dtypes import DType
from supple.ir.graph.nodes import Arg, Var
from supple.ir.meta import TensorMeta


@decompositions.on("aten._softmax.default")
def _(b: Lowering, x: Var, dim: int, half_to_float: bool = False) -> Var:
    """exp(x - max) divided by its sum."""
    meta = b.tensor_meta(x)
    wide = b.wide(x)
    dims = dims_of(dim, meta.rank)
    shifted = b.unary("exp", b.sub(wide, b.largest(wide, dims)))
    return b.cast(b.div(shifted, b.sum(shifted, dims)), DType.F32 if half_to_float else meta.dtype)


@decompositions.on("aten._safe_softmax.default")
def _(b: Lowering, x: Var, dim: int, dtype: torch.dtype | None = None) -> Var:
    """Softmax; 0 where all is minus infinity."""
    source = x if dtype is None else cast("Var", b.call("aten._to_copy.default", x, dtype=dtype))
    meta = b.tensor_meta(source)
    wide = b.wide(source)
    is_hidden = b.point("eq.Tensor", b.largest(wide, dims_of(dim, meta.rank)), -math.inf)
    soft = cast("Var", b.call("aten._softmax.default", source, dim))
    return b.where(is_hidden, 0.0, soft, meta.dtype)


@decompositions.on("aten._log_softmax.default")
def _(b: Lowering, x: Var, dim: int, half_to_float: bool = False) -> Var:
    """x - max - log(sum(exp(x - max)))."""
    meta = b.tensor_meta(x)
    wide = b.wide(x)
    dims = dims_of(dim, meta.rank)
    shifted = b.sub(wide, b.largest(wide, dims))
    total = b.unary("log", b.sum(b.unary("exp", shifted), dims))
    return b.cast(b.sub(shifted, total), DType.F32 if half_to_float else meta.dtype)


def _normalised(b: Lowering, x: Var, dims: Sequence[int], eps: float) -> tuple[Var, Var, Var]:
    """Return (x - mean) / sqrt(variance + eps), the mean and the reciprocal deviation, all in the compute
    type."""
    variance, mean = moments(b, x, dims)
    deviation = b.unary("rsqrt", b.add(variance, eps))
    return b.mul(b.sub(x, mean), deviation), mean, deviation


def _scaled(b: Lowering, x: Var, weight: Var | None) -> Var:
    """Return x * weight in x's type, which is the compute type."""
    return x if weight is None else b.mul(x, b.cast(weight, b.tensor_meta(x).dtype))


def _shifted(b: Lowering, x: Var, bias: Var | None) -> Var:
    """Return x + bias in x's type, which is the compute type; without a bias a zero, so that none is -0.0."""
    return b.add(x, 0.0 if bias is None else b.cast(bias, b.tensor_meta(x).dtype))


@decompositions.on("aten.native_layer_norm.default")
def _(b: Lowering, x: Var, shape: Sequence[int], weight: Var | None, bias: Var | None, eps: float) -> Arg:
    """Rows over the last dimensions, normalised, scaled and shifted."""
    meta = b.tensor_meta(x)
    dims = list(range(meta.rank - len(shape), meta.rank))
    row, mean, deviation = _normalised(b, b.wide(x), dims, eps)
    result = b.cast(_shifted(b, _scaled(b, row, weight), bias), meta.dtype)
    given = weight if weight is not None else bias
    stat = meta.dtype if given is None or not meta.dtype.is_low_precision else b.tensor_meta(given).dtype
    return result, b.cast(mean, stat), b.cast(deviation, stat)


@decompositions.on("aten._fused_rms_norm.default")
def _(b: Lowering, x: Var, shape: Sequence[int], weight: Var | None, eps: float | None) -> Arg:
    """x / sqrt(mean(x * x) + eps), scaled."""
    meta = b.tensor_meta(x)
    dims = list(range(meta.rank - len(shape), meta.rank))
    wide = b.wide(x)
    square = b.div(b.sum(b.mul(wide, wide), dims), count_of(meta, dims))
    step = torch.finfo(meta.dtype.torch).eps if eps is None else eps
    deviation = b.unary("rsqrt", b.add(square, step))
    return b.cast(_scaled(b, b.mul(wide, deviation), weight), meta.dtype), deviation


@decompositions.on("aten.native_group_norm.default")
def _(b: Lowering, x: Var, weight: Var | None, bias: Var | None, *numbers: object) -> Arg:
    """Groups of channels of each batch element, normalised; each channel scaled and shifted."""
    meta = b.tensor_meta(x)
    groups, eps = cast("int", numbers[3]), cast("float", numbers[4])
    rest = plain(meta.sizes[2:])
    split = b.view(b.wide(x), [*plain(meta.sizes[:1]), groups, *plain((meta.sizes[1] // groups,)), *rest])
    dims = list(range(2, 3 + len(rest)))
    normal, mean, deviation = _normalised(b, split, dims, eps)
    flat = b.view(normal, plain(meta.sizes))
    shifted = _scaled(b, flat, _per_channel(b, weight, meta))
    if weight is not None or bias is not None:
        shifted = _shifted(b, shifted, _per_channel(b, bias, meta))
    given = weight if weight is not None and meta.dtype.is_low_precision else None
    stat = meta.dtype if given is None else b.tensor_meta(given).dtype
    shape = [*plain(meta.sizes[:1]), groups]
    stats = (b.cast(b.view(item, shape), stat) for item in (mean, deviation))
    return (b.cast(shifted, meta.dtype), *stats)


def _per_channel(b: Lowering, x: Var | None, meta: TensorMeta) -> Var | None:
    """Return a vector over channels as it broadcasts over a (batch, channels, ...) tensor."""
    if x is None:
        return None
    ones: list[int | Expr] = [1] * (meta.rank - 2)
    return b.view(x, [*plain(b.tensor_meta(x).sizes), *ones])


@decompositions.on("aten.native_batch_norm.default")
def _(b: Lowering, x: Var, weight: Var | None, bias: Var | None, *rest: object) -> Arg:
    """Outside training only: x * alpha + beta with alpha and beta per channel; in training a library call."""
    means, variances, is_training, _, eps = cast("tuple[Var | None, Var | None, bool, float, float]", rest)
    if is_training or means is None or variances is None:
        return None
    meta, known = b.tensor_meta(x), b.tensor_meta(means)
    compute = meta.dtype.compute
    mean, variance = (b.cast(item, compute) for item in (means, variances))
    alpha = b.unary("rsqrt", b.add(variance, eps))
    if weight is not None:
        alpha = b.mul(alpha, b.cast(weight, compute))
    shift = b.mul(mean, alpha)
    beta = b.sub(0.0 if bias is None else b.cast(bias, compute), shift)  # the negative has another zero
    scaled = b.mul(b.wide(x), cast("Var", _per_channel(b, alpha, meta)))
    result = b.cast(b.add(scaled, cast("Var", _per_channel(b, beta, meta))), meta.dtype)
    empty = b.full((0,), 0, known.dtype, known.device)
    return result, empty, empty


@decompositions.on("aten._native_batch_norm_legit_no_training.default")
def _(b: Lowering, x: Var, weight: Var | None, bias: Var | None, *rest: object) -> Arg:
    """As native_batch_norm outside training."""
    return b.call("aten.native_batch_norm.default", x, weight, bias, *rest[:2], False, *rest[2:])


@decompositions.on("aten.mse_loss.default")
def _(b: Lowering, x: Var, target: Var, reduction: int = 1) -> Var:
    """The square difference: of each element, its mean (1) or its sum (2)."""
    difference = b.sub(x, target)
    return _collected(b, b.mul(difference, difference), reduction)


def _collected(b: Lowering, loss: Var, reduction: int) -> Var:
    if reduction == 0:
        return loss
    return cast("Var", b.call("aten.mean.default" if reduction == 1 else "aten.sum.default", loss))


@decompositions.on("aten.smooth_l1_loss.default")
def _(b: Lowering, x: Var, target: Var, reduction: int = 1, beta: float = 1.0) -> Var:
    """0.5 * d * d / beta below beta, d - 0.5 * beta above, for the distance d; rounded once in bf16."""
    if beta == 0:
        return _collected(b, b.unary("abs", b.sub(x, target)), reduction)
    dtype = b.common(x, target)
    exact = dtype.compute if dtype is DType.BF16 else dtype
    distance = b.unary("abs", b.point("sub.Tensor", x, target, dtype=exact))
    near = b.div(b.mul(b.mul(distance, 0.5), distance), rounded(beta, exact))
    is_near = b.point("lt.Tensor", distance, beta)
    loss = b.where(is_near, near, b.sub(distance, 0.5 * beta))
    return _collected(b, b.cast(loss, dtype), reduction)


def _picked(b: Lowering, x: Var, column: Var) -> Var:
    """Return x at a place of each row; of y less a number for each row, y there less the number."""
    maker = next((node for node in reversed(b.nodes) if node.name == x.name), None)
    if maker is not None and maker.op.name == "aten.sub.Tensor":
        whole, less = (b.tensor_meta(arg).sizes if isinstance(arg, Var) else () for arg in maker.args)
        if whole == b.tensor_meta(x).sizes and less == b.tensor_meta(column).sizes:
            left, right = cast("tuple[Var, Var]", maker.args)
            return b.sub(_picked(b, left, column), right)
    return b.emit("aten.gather.default", (x, b.tensor_meta(x).rank - 1, column))


@decompositions.on("aten.nll_loss_forward.default")
def _(b: Lowering, x: Var, target: Var, weight: Var | None, reduction: int, ignore_index: int) -> Arg:
    """-x at the target, times its weight, 0 where the target is ignored; the mean divides by the total
    weight."""
    meta = b.tensor_meta(x)
    rows = b.tensor_meta(target).sizes
    is_kept = b.point("ne.Tensor", target, ignore_index)
    place = b.where(is_kept, target, 0, b.tensor_meta(target).dtype)
    column = b.view(place, [*plain(rows), 1])
    picked = b.view(_picked(b, x, column), plain(rows))
    loss = b.unary("neg", b.wide(picked))
    wide = b.tensor_meta(loss).dtype
    if weight is None:
        share = b.cast(is_kept, wide)
    else:
        chosen = b.emit("aten.index_select.default", (weight, 0, b.view(place, plain(rows) or [1])))
        share = b.where(is_kept, b.view(b.wide(chosen), plain(rows)), 0.0, wide)
        loss = b.mul(loss, share)
    loss = b.where(is_kept, loss, 0.0, wide)
    if reduction == 0:
        return b.cast(loss, meta.dtype), b.full((), 0.0, meta.dtype, meta.device)
    dims = list(range(len(rows)))
    total, summed = (b.sum(item, dims, keepdim=False) for item in (share, loss))
    result = b.div(summed, total) if reduction == 1 else summed
    return b.cast(result, meta.dtype), b.cast(total, meta.dtype)

"""Decompositions of activation functions. bf16 and f16 are computed in f32 and rounded at the end, as in
eager."""

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from supple.autograd.lowering import Lowering, calculated, decompositions, fixed, plain
from supple.ir.graph.nodes import Var
from supple.shapes.promote import Number, float_dtype


@decompositions.on("aten.relu.default")
def _(b: Lowering, x: Var) -> Var:
    """max(x, 0)."""
    return b.point("maximum.default", x, 0)


def sigmoid(b: Lowering, x: Var) -> Var:
    """1 / (1 + exp(-x))."""
    return b.unary("reciprocal", b.add(b.unary("exp", b.unary("neg", x)), 1.0))


def silu(b: Lowering, x: Var) -> Var:
    """x / (1 + exp(-x))."""
    return b.div(x, b.add(b.unary("exp", b.unary("neg", x)), 1.0))


def gelu(b: Lowering, x: Var, *, approximate: str = "none") -> Var:
    """x times the normal distribution function, exact or by tanh."""
    if approximate == "tanh":
        cube = b.mul(b.mul(x, x), x)
        inner = b.mul(b.add(x, b.mul(cube, 0.044715)), math.sqrt(2 / math.pi))
        return b.mul(b.mul(x, 0.5), b.add(b.unary("tanh", inner), 1.0))
    return b.mul(b.mul(x, 0.5), b.add(b.unary("erf", b.mul(x, math.sqrt(0.5))), 1.0))


def mish(b: Lowering, x: Var) -> Var:
    """x * tanh(log(1 + exp(x)))."""
    return b.mul(x, b.unary("tanh", b.unary("log1p", b.unary("exp", x))))


def softplus(b: Lowering, x: Var, beta: Number = 1, threshold: Number = 20) -> Var:
    """log(1 + exp(beta * x)) / beta; x itself where beta * x is above the threshold."""
    scaled = x if beta == 1 else b.mul(x, beta)
    soft = b.unary("log1p", b.unary("exp", scaled))
    return b.where(b.point("gt.Tensor", scaled, threshold), x, soft if beta == 1 else b.div(soft, beta))


def elu(b: Lowering, x: Var, alpha: Number = 1, scale: Number = 1, input_scale: Number = 1) -> Var:
    """scale * x from 0 on, alpha * scale * (exp(input_scale * x) - 1) below."""
    low = b.unary("expm1", x if input_scale == 1 else b.mul(x, input_scale))
    factor = calculated("*", alpha, scale)
    low = low if factor == 1 else b.mul(low, factor)
    return b.where(b.point("ge.Tensor", x, 0), x if scale == 1 else b.mul(x, scale), low)


def celu(b: Lowering, x: Var, alpha: Number = 1.0) -> Var:
    """x from 0 on, alpha * (exp(x / alpha) - 1) below."""
    return elu(b, x, alpha, 1, calculated("/", 1.0, alpha))


def leaky_relu(b: Lowering, x: Var, negative_slope: Number = 0.01) -> Var:
    """x above 0, slope * x elsewhere."""
    return b.where(b.point("gt.Tensor", x, 0), x, b.mul(x, negative_slope))


def hardsigmoid(b: Lowering, x: Var) -> Var:
    """min(max(x + 3, 0), 6) / 6."""
    return b.div(_ramp(b, x), 6.0)


def hardswish(b: Lowering, x: Var) -> Var:
    """x * min(max(x + 3, 0), 6) / 6."""
    return b.div(b.mul(x, _ramp(b, x)), 6.0)


def _ramp(b: Lowering, x: Var) -> Var:
    shifted = b.point("maximum.default", b.add(x, 3.0), 0.0)
    return b.point("minimum.default", shifted, 6.0)


def _activation(body: Callable[..., Var], b: Lowering, x: Var, *args: object, **kwargs: object) -> Var:
    """An activation in the compute type; its result is cast back."""
    kind = float_dtype(b.tensor_meta(x).dtype)
    return b.cast(body(b, b.cast(x, kind.compute), *args, **kwargs), kind)


#: Operator -> its body, which is also what other bodies call.
_ACTIVATIONS: Final[Mapping[str, Callable[..., Var]]] = {
    **{"sigmoid": sigmoid, "silu": silu, "gelu": gelu, "mish": mish, "softplus": softplus, "elu": elu},
    **{"celu": celu, "leaky_relu": leaky_relu, "hardsigmoid": hardsigmoid, "hardswish": hardswish},
}
for _name, _body in _ACTIVATIONS.items():
    decompositions.on(f"aten.{_name}.default")(partial(_activation, _body))


@decompositions.on("aten.hardtanh.default")
def _(b: Lowering, x: Var, low: Number = -1, high: Number = 1) -> object:
    """Clamped between two numbers."""
    dtype = b.tensor_meta(x).dtype
    bounds = (low, high) if dtype.is_float else (int(fixed(low)), int(fixed(high)))
    return b.call("aten.clamp.default", x, *bounds)


@decompositions.on("aten.threshold.default")
def _(b: Lowering, x: Var, threshold: Number, value: Number) -> Var:
    """The value where x is at most the threshold."""
    return b.where(b.point("le.Tensor", x, threshold), value, x, b.tensor_meta(x).dtype)


@decompositions.on("aten.glu.default")
def _(b: Lowering, x: Var, dim: int = -1) -> Var:
    """The first half times the sigmoid of the second."""
    meta = b.tensor_meta(x)
    place = dim % meta.rank
    half = meta.sizes[place] // 2
    first = b.emit("aten.slice.Tensor", (x, place, *plain((0, half)), 1))
    second = b.emit("aten.slice.Tensor", (x, place, *plain((half, 2 * half)), 1))
    gate = sigmoid(b, b.wide(second))
    return b.cast(b.mul(b.wide(first), gate), meta.dtype)

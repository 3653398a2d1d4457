"""Pieces of models as decomposed ATen graphs."""

from supple.ir.graph.nodes import Var
from tests.unit.schedule.aten_graphs import Program


def softmax(p: Program, x: Var, dim: int = -1) -> Var:
    top = p("amax.default", x, [dim], True)
    exps = p("exp.default", p("sub.Tensor", x, top))
    return p("div.Tensor", exps, p("sum.dim_IntList", exps, [dim], True))


def layer_norm(p: Program, x: Var, weight: Var, bias: Var, size: int, dim: int = -1) -> Var:
    mean = p("div.Tensor", p("sum.dim_IntList", x, [dim], True), size)
    centred = p("sub.Tensor", x, mean)
    squares = p("sum.dim_IntList", p("mul.Tensor", centred, centred), [dim], True)
    scale = p("rsqrt.default", p("add.Tensor", p("div.Tensor", squares, size), 1e-5))
    return p("add.Tensor", p("mul.Tensor", p("mul.Tensor", centred, scale), weight), bias)


def rms_norm(p: Program, x: Var, weight: Var, size: int) -> Var:
    squares = p("sum.dim_IntList", p("mul.Tensor", x, x), [-1], True)
    scale = p("rsqrt.default", p("add.Tensor", p("div.Tensor", squares, size), 1e-6))
    return p("mul.Tensor", weight, p("mul.Tensor", x, scale))


def gelu(p: Program, x: Var) -> Var:
    erf = p("erf.default", p("mul.Tensor", x, 0.7071067811865476))
    return p("mul.Tensor", p("mul.Tensor", x, 0.5), p("add.Tensor", erf, 1.0))


def gelu_tanh(p: Program, x: Var) -> Var:
    cube = p("mul.Tensor", p("mul.Tensor", x, x), x)
    inner = p("mul.Tensor", p("add.Tensor", x, p("mul.Tensor", cube, 0.044715)), 0.7978845608028654)
    return p("mul.Tensor", p("mul.Tensor", x, 0.5), p("add.Tensor", p("tanh.default", inner), 1.0))


def silu(p: Program, x: Var) -> Var:
    return p("div.Tensor", x, p("add.Tensor", p("exp.default", p("neg.default", x)), 1.0))


def rotary(p: Program, x: Var, cos: Var, sin: Var, size: int) -> Var:
    half = size // 2
    low, high = p("slice.Tensor", x, 3, 0, half), p("slice.Tensor", x, 3, half, size)
    turned = p("cat.default", [p("neg.default", high), low], 3)
    return p("add.Tensor", p("mul.Tensor", x, cos), p("mul.Tensor", turned, sin))


def linear(p: Program, x: Var, weight: Var, bias: Var) -> Var:
    return p("addmm.default", bias, x, p("permute.default", weight, [1, 0]))

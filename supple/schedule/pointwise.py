"""Elementwise rules: the result at a point is scalar arithmetic on the operands at that point, broadcast.

Scalars reach a rule in the dtype of the tensor operands (`Operands.COMMON`: comparisons), in the result's
(`SAME`) or as they are in memory (`RAW`). Arithmetic on bf16 and f16 is done in f32 and rounded, as in eager.
"""

from collections.abc import Callable
from enum import Enum
from functools import partial
from typing import Final

from supple.expr import Expr
from supple.expr.real import Real
from supple.ir.core_ops import UNARY
from supple.ir.dtypes import DType
from supple.ir.graph.nodes import Node, Var
from supple.ir.loops.nodes import Scalar
from supple.ir.meta import TensorMeta
from supple.schedule.define import Body, broadcast_index, number
from supple.schedule.lower import Lowering, NotLowered, lowerings


class Operands(Enum):
    """In which dtype a rule gets its operands."""

    SAME = "the result's"
    COMMON = "promoted"
    RAW = "as in memory"


class Point:
    """One point of an elementwise op: scalar operands in, one scalar out. `dtype` is that of the operands."""

    def __init__(self, body: Body, dtype: DType, result: DType) -> None:
        self.body = body
        self.dtype = dtype
        self.result = result

    def __call__(self, op: str, *args: Scalar) -> str:
        """Return `op(args)` in the operands' dtype."""
        return self.body.compute(op, self.dtype, *(self.constant(arg) for arg in args))

    def constant(self, value: Scalar) -> Scalar:
        """Return a Python number as one of the operands' dtype; a name stays."""
        return value if isinstance(value, str) else number(value, self.dtype)

    def test(self, op: str, *args: Scalar) -> str:
        """Return the b1 scalar `op(args)`, a comparison."""
        return self.body.compute(op, DType.BOOL, *(self.constant(arg) for arg in args))

    def choose(self, condition: Scalar, if_true: Scalar, if_false: Scalar) -> str:
        """Return one of two scalars of the operands' dtype."""
        return self.body.compute(
            "where", self.dtype, condition, self.constant(if_true), self.constant(if_false)
        )


PointRule = Callable[..., Scalar]


def elementwise(*names: str, operands: Operands = Operands.SAME) -> Callable[[PointRule], PointRule]:
    """Return a decorator that registers a scalar rule as the lowering of ops, by name."""

    def register(rule: PointRule) -> PointRule:
        lowerings.on(*names)(partial(_lower_elementwise, rule, operands))
        return rule

    return register


def _lower_elementwise(rule: PointRule, policy: Operands, state: Lowering, node: Node) -> None:
    meta = state.result(node)
    body = Body(meta)
    dtype = _operand_dtype(state, node, meta, policy)
    point = Point(body, dtype, meta.dtype)
    args = [_operand(state, point, arg, policy) for arg in node.args]
    kwargs = {key: _operand(state, point, arg, policy) for key, arg in node.kwargs.items()}
    result = rule(point, *args, **kwargs)
    body.named(result, meta.dtype) if isinstance(result, str) else None
    state.define(body.definition(node.name, meta, body.cast(result, meta.dtype)))


def _operand_dtype(state: Lowering, node: Node, meta: TensorMeta, policy: Operands) -> DType:
    """Return the dtype in which the rule gets its operands; of several tensors the first decides."""
    if policy is not Operands.COMMON:
        return meta.dtype.compute
    for arg in node.args:
        if isinstance(state.known(arg), TensorMeta):
            return state.tensor(arg).dtype.compute
    raise NotLowered(f"{node.name} has no tensor operand")


def _operand(state: Lowering, point: Point, arg: object, policy: Operands) -> object:
    """Return a tensor as the scalar that is read at the point, a number of sizes as its value."""
    body, value = point.body, state.known(arg)
    if isinstance(value, TensorMeta):
        source = state.tensor(arg)
        scalar = body.load(str(arg), source.dtype, broadcast_index(body.axes, source.sizes))
        return body.cast(scalar, source.dtype.compute if policy is Operands.RAW else point.dtype)
    if isinstance(value, Expr | Real):
        scalar = state.scalar(body, value)
        return body.cast(scalar, point.dtype) if isinstance(scalar, str) else scalar
    if isinstance(value, complex) or (isinstance(arg, Var) and value is None):
        raise NotLowered(f"{arg} is known at run time only, or complex")
    return value


#: ATen op -> scalar op of the same operands.
_SAME: Final = {
    **{f"{name}.default": name for name in (*UNARY, "atan2", "hypot") if name != "round"},
    **{f"bitwise_{name}.Tensor": name for name in ("and", "or", "xor")},
    "minimum.default": "min",
    "maximum.default": "max",
    "copysign.Tensor": "copysign",
    "div.Tensor": "div",
    "bitwise_not.default": "not",
}


def _same(op: str, p: Point, *operands: Scalar) -> Scalar:
    return p(op, *operands)


def _compared(op: str, p: Point, *operands: Scalar) -> Scalar:
    return p.test(op, *operands)


for _name, _op in _SAME.items():
    elementwise(f"aten.{_name}")(partial(_same, _op))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    elementwise(f"aten.{_name}.Tensor", operands=Operands.COMMON)(partial(_compared, _name))


@elementwise("aten.add.Tensor")
def _(p: Point, x: Scalar, y: Scalar, alpha: Scalar = 1) -> Scalar:
    """x + alpha*y; of booleans: or."""
    if p.dtype is DType.BOOL:
        return p("or", x, y if alpha else False)
    return p("add", x, y if alpha == 1 else p("mul", y, alpha))


@elementwise("aten.mul.Tensor")
def _(p: Point, x: Scalar, y: Scalar) -> Scalar:
    """x * y; of booleans: and."""
    return p("and" if p.dtype is DType.BOOL else "mul", x, y)


@elementwise("aten.sub.Tensor")
def _(p: Point, x: Scalar, y: Scalar, alpha: Scalar = 1) -> Scalar:
    """x - alpha*y."""
    return p("sub", x, y if alpha == 1 else p("mul", y, alpha))


def _integer_division(p: Point, op: str, x: Scalar, y: Scalar) -> Scalar:
    if p.dtype.is_integer and (isinstance(y, str) or y == 0):
        # Eager raises ZeroDivisionError; a kernel would trap.
        raise NotLowered("integer division by a tensor")
    return p(op, x, y)


@elementwise("aten.div.Tensor_mode")
def _(p: Point, x: Scalar, y: Scalar, *, rounding_mode: str | None) -> Scalar:
    """x / y, rounded toward zero or down."""
    if rounding_mode is None:
        return p("div", x, y)
    if rounding_mode == "floor":
        return _integer_division(p, "floordiv", x, y)
    quotient = _integer_division(p, "div", x, y)
    return quotient if p.dtype.is_integer else p("trunc", quotient)


@elementwise("aten.remainder.Tensor")
def _(p: Point, x: Scalar, y: Scalar) -> Scalar:
    """The remainder with the divisor's sign."""
    return _integer_division(p, "mod", x, y)


@elementwise("aten.fmod.Tensor")
def _(p: Point, x: Scalar, y: Scalar) -> Scalar:
    """The remainder with the dividend's sign; floats only."""
    if not p.dtype.is_float:
        raise NotLowered("fmod of integers")
    return p("fmod", x, y)


@elementwise("aten.round.default")
def _(p: Point, x: Scalar) -> Scalar:
    """Round half to even."""
    return p("round", x) if p.dtype.is_float else x


_POWERS: Final[dict[float, Callable[[Point, Scalar], Scalar]]] = {
    0.0: lambda p, x: 1,
    1.0: lambda p, x: x,
    2.0: lambda p, x: p("mul", x, x),
    3.0: lambda p, x: p("mul", p("mul", x, x), x),
}
_FLOAT_POWERS: Final[dict[float, Callable[[Point, Scalar], Scalar]]] = {
    -1.0: lambda p, x: p("reciprocal", x),
    -2.0: lambda p, x: p("reciprocal", p("mul", x, x)),
}


@elementwise("aten.pow.Tensor_Tensor")
def _(p: Point, x: Scalar, y: Scalar) -> Scalar:
    """x to the power of y; small fixed exponents become products, as in eager."""
    if isinstance(y, str):
        if not p.dtype.is_float:
            raise NotLowered("integer power of a tensor")
        return p("pow", x, y)
    special = _POWERS.get(float(y)) or (_FLOAT_POWERS.get(float(y)) if p.dtype.is_float else None)
    if special is not None:
        return special(p, x)
    if not p.dtype.is_float:
        raise NotLowered("integer power")
    return p("pow", x, y)


@elementwise("aten.where.self", operands=Operands.RAW)
def _(p: Point, condition: Scalar, x: Scalar, y: Scalar) -> Scalar:
    """x where the condition holds, else y."""
    b = p.body
    return p.choose(b.cast(condition, DType.BOOL), b.cast(x, p.dtype), b.cast(y, p.dtype))


@elementwise("aten._to_copy.default", "aten.clone.default", operands=Operands.RAW)
def _(p: Point, x: Scalar, **kwargs: object) -> Scalar:
    """The same value in another dtype or layout."""
    return x


@elementwise("aten.logical_not.default", operands=Operands.RAW)
def _(p: Point, x: Scalar) -> Scalar:
    """Whether x is 0."""
    return p.body.compute("not", DType.BOOL, p.body.named(x, DType.BOOL))


def _classified(op: str, p: Point, x: Scalar) -> Scalar:
    return p.test(op, x) if p.dtype.is_float else False


def _shifted(op: str, p: Point, x: Scalar, y: Scalar) -> Scalar:
    if isinstance(y, str) or not 0 <= y < 8 * p.dtype.size:
        raise NotLowered("a shift by a tensor or by more than the width")
    return p(op, x, y)


for _name in ("isnan", "isinf"):
    elementwise(f"aten.{_name}.default", operands=Operands.COMMON)(partial(_classified, _name))
for _name, _op in (("left", "shl"), ("right", "shr")):
    elementwise(f"aten.bitwise_{_name}_shift.Tensor")(partial(_shifted, _op))

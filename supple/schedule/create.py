"""Creation ops: values that need no memory, computed where they are read."""

from supple.expr import Expr, as_expr
from supple.ir.dtypes import DType
from supple.ir.graph.nodes import Constant, Node, Var
from supple.ir.loops.nodes import Scalar
from supple.schedule.define import Body, number
from supple.schedule.lower import Lowering, NotLowered, lowerings


@lowerings.on("aten.full.default")
def _(state: Lowering, node: Node) -> None:
    """Every element is one number."""
    meta = state.result(node)
    body = Body(meta)
    state.define(body.definition(node.name, meta, _number(state, body, node.args[1], meta.dtype)))


@lowerings.on("aten.empty.memory_format")
def _(state: Lowering, node: Node) -> None:
    """Contents are undefined; here they are 0."""
    meta = state.result(node)
    state.define(Body(meta).definition(node.name, meta, number(0, meta.dtype)))


@lowerings.on("aten.arange.start_step")
def _(state: Lowering, node: Node) -> None:
    """start + i * step: an index expression for integers, arithmetic for floats."""
    meta = state.result(node)
    body = Body(meta)
    start, end, *rest = node.args
    step = rest[0] if rest else 1
    del end
    first, by = _known(state, start), _known(state, step)
    if isinstance(first, float) or isinstance(by, float):
        dtype = meta.dtype.compute
        scaled = body.compute("mul", dtype, body.named(body.index(body.axes[0]), dtype), float_of(by))
        result = body.compute("add", dtype, float_of(first), scaled)
    else:
        result = body.index(as_expr(first) + body.axes[0] * as_expr(by))
    state.define(body.definition(node.name, meta, body.cast(result, meta.dtype)))


def float_of(value: Expr | float) -> float:
    """Return a fixed number as a float.

    Raises:
        NotLowered: it is symbolic.
    """
    if isinstance(value, Expr):
        if not value.is_const:
            msg = "a symbolic bound of floats"
            raise NotLowered(msg)
        return float(value.value)
    return float(value)


def _known(state: Lowering, arg: object) -> Expr | float | int:
    """Return a number or an integer expression."""
    value = arg
    if isinstance(arg, Var):
        meta = state.values[str(arg)]
        value = meta.value if isinstance(meta, Constant) else meta
    if isinstance(value, (Expr, float, int)):
        return value
    msg = f"{arg} is no number"
    raise NotLowered(msg)


def _number(state: Lowering, body: Body, arg: object, dtype: DType) -> Scalar:
    value = _known(state, arg)
    if not isinstance(value, Expr):
        return number(value, dtype)
    return number(value.value, dtype) if value.is_const else body.cast(body.index(value), dtype)

"""Creation ops: values that need no memory, computed where they are read."""

from supple.expr import Expr, as_expr
from supple.expr.real import Real
from supple.ir.dtypes import DType
from supple.ir.graph.nodes import Node
from supple.ir.loops.nodes import Scalar
from supple.schedule.define import Body, number
from supple.schedule.lower import Lowering, NotLowered, lowerings


@lowerings.on("aten.full.default")
def _(state: Lowering, node: Node) -> None:
    """Every element is one number."""
    meta = state.result(node)
    body = Body(meta)
    state.define(
        body.definition(node.name, meta, _scalar(state, body, _known(state, node.args[1]), meta.dtype))
    )


@lowerings.on("aten.empty.memory_format")
def _(state: Lowering, node: Node) -> None:
    """Contents are undefined; here they are 0."""
    meta = state.result(node)
    state.define(Body(meta).definition(node.name, meta, number(0, meta.dtype)))


@lowerings.on("aten.arange.start_step")
def _(state: Lowering, node: Node) -> None:
    """start + i * step: an index expression for integers, arithmetic in double precision for floats.

    In eager too start and step are doubles: a step beyond the result's type gives no NaN at i = 0.
    """
    meta = state.result(node)
    body = Body(meta)
    start, _, step = (*node.args, 1)[:3]
    first, by = _known(state, start), _known(state, step)
    if isinstance(first, Expr | int) and isinstance(by, Expr | int):
        begin, by = (state.computed(as_expr(value)) for value in (first, by))
        result = body.index(begin + body.axes[0] * by)
    else:
        start, by = (_scalar(state, body, value, DType.F64) for value in (first, by))
        scaled = body.compute("mul", DType.F64, body.named(body.index(body.axes[0]), DType.F64), by)
        result = body.compute("add", DType.F64, start, scaled)
    state.define(body.definition(node.name, meta, body.cast(result, meta.dtype)))


def _known(state: Lowering, arg: object) -> Expr | Real | float:
    """Return a number, or one that is computed from sizes."""
    value = state.known(arg)
    if isinstance(value, (Expr, Real, float, int)):
        return value
    raise NotLowered(f"{arg} is no number")


def _scalar(state: Lowering, body: Body, value: Expr | Real | float, dtype: DType) -> Scalar:
    return body.cast(state.scalar(body, value) if isinstance(value, Expr | Real) else value, dtype)

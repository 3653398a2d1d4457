"""Operands that decompositions drop: of them an operator reads how they are laid out at most.

What makes such an operand may raise, and eager makes it. So `trace` computes it as if nobody read it. A
decomposition that drops an operand stands here; a test finds those that do not.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import compress
from typing import Final, cast

from supple.base.rules import Rules
from supple.expr import Expr
from supple.expr.real import Real
from supple.ir.graph.nodes import Arg, Meta, Node, Var, meta_of, uses_of, vars_of
from supple.ir.meta import TensorMeta
from supple.shapes.promote import category
from supple.shapes.rules_index import are_joined
from supple.shapes.rules_view import sliced

Metas = Mapping[str, Meta]
reads: Rules[Callable[[Node, Metas], Arg]] = Rules("operands that are read")
"""Name of an op -> what it reads the elements of, of its arguments by position; that of others is all."""


def read_by(node: Node, metas: Metas) -> set[str]:
    """Return the names of the values that a node reads the elements of."""
    rule = reads.find(node.op.name)
    used = uses_of(node) if rule is None else (*vars_of(rule(node, metas)), *vars_of(dict(node.kwargs)))
    return {var.name for var in used}


_FILLED: Final = tuple(
    f"aten.{name}"
    for name in "copy.default fill.Scalar fill.Tensor zero.default zeros_like.default ones_like.default "
    "full_like.default empty_like.default new_zeros.default new_ones.default new_full.default "
    "new_empty.default new_empty_strided.default rand_like.default randn_like.default randint_like.default "
    "bernoulli.p uniform.default normal_functional.default exponential.default random.default".split()
)
"""Operators that fill what looks like their first operand."""


def _without_first(node: Node, *, is_dropped: bool) -> Arg:
    return node.args[1:] if is_dropped else node.args


@reads.on(*_FILLED)
def _(node: Node, _: Metas) -> Arg:
    return _without_first(node, is_dropped=True)


@reads.on("aten.pow.Tensor_Scalar")
def _(node: Node, _: Metas) -> Arg:
    """A power of 0 is 1."""
    return _without_first(node, is_dropped=_may_be_zero(node.args[1]))


@reads.on("aten.isnan.default", "aten.isinf.default", "aten.isfinite.default")
def _(node: Node, metas: Metas) -> Arg:
    """All integers are finite."""
    return _without_first(node, is_dropped=category(_tensor(node.args[0], metas).dtype) < 2)


@reads.on("aten.argmax.default", "aten.argmin.default")
def _(node: Node, metas: Metas) -> Arg:
    """A tensor of rank 0 has one place."""
    return _without_first(node, is_dropped=not _tensor(node.args[0], metas).rank)


@reads.on("aten.slice_scatter.default")
def _(node: Node, metas: Metas) -> Arg:
    """A whole dimension is replaced."""
    meta = _tensor(node.args[0], metas)
    dim, start, end, step = (*node.args[2:], *(0, None, None, 1)[len(node.args) - 2 :])
    size = meta.sizes[cast("int", dim) % meta.rank]
    first = cast("int | Expr | None", start)
    _, count = sliced(size, first, cast("int | Expr | None", end), cast("int", step or 1))
    return _without_first(node, is_dropped=count is size and step in (None, 1))


@reads.on("aten.cat.default")
def _(node: Node, metas: Metas) -> Arg:
    """Empty tensors of rank 1 are left out, whatever the others are."""
    joined = cast("Sequence[Var]", node.args[0])
    return list(compress(joined, are_joined([_tensor(var, metas) for var in joined])))


def _may_be_zero(number: Arg) -> bool:
    return number == 0 or isinstance(number, Expr | Real)


def _tensor(arg: Arg, metas: Metas) -> TensorMeta:
    return cast("TensorMeta", meta_of(cast("Var", arg), metas))

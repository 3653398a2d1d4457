"""The metadata of an op's result from the metadata of its arguments: what every pass over ATen graphs
asks."""

from collections.abc import Mapping, Sequence
from typing import cast

import torch

from supple.expr import Expr
from supple.expr.real import Real
from supple.ir.arguments import map_leaves
from supple.ir.graph.nodes import Constant, Meta
from supple.ir.meta import TensorMeta
from supple.ir.ops import Op
from supple.shapes.env import active
from supple.shapes.fake import fake_from, faking, meta_of
from supple.shapes.symnode import plain, sym
from supple.shapes.table import shape_rules


def infer(op: Op, args: Sequence[object], kwargs: Mapping[str, object]) -> Meta:
    """Return the metadata of `op(*args, **kwargs)`; a TensorMeta stands for each tensor argument.

    Raises:
        DataDependent, NoShapeRule: as fake tensors do.
        Misfit: eager refuses such arguments.
    """
    rule = shape_rules.find(op.call)
    if rule is not None:
        return as_meta(rule(*args, **kwargs))
    with faking(), torch.no_grad():  # some operators are refused where gradients are recorded
        result = op.traced(*map(_to_fake, args), **{name: _to_fake(arg) for name, arg in kwargs.items()})
    return as_meta(result)


def as_meta(result: object) -> Meta:
    """Return a rule's or an operator's result as metadata; a list becomes a tuple."""
    result = plain(result)
    if isinstance(result, TensorMeta | Expr | Real):
        return result
    if isinstance(result, torch.Tensor):
        return meta_of(result)
    if isinstance(result, list | tuple):
        return tuple(as_meta(item) for item in cast("Sequence[object]", result))
    return Constant(result)


def _to_fake(arg: object) -> object:
    env = active()

    def faked(leaf: object) -> object:
        if isinstance(leaf, TensorMeta):
            return fake_from(leaf)
        return sym(leaf, env) if env is not None and isinstance(leaf, Expr | Real) else leaf

    return map_leaves(faked, arg)

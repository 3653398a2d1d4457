"""Operands that a decomposition drops are declared: what makes them may raise, and is computed then."""

import contextlib
import itertools
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch.utils._pytree import tree_map

from supple.autograd.decompose import decompose
from supple.autograd.dropped import read_by
from supple.ir.graph.nodes import Graph, Input, Node, Var, uses_of, vars_of
from supple.ir.meta import TensorMeta
from supple.ir.ops import aten_op
from supple.shapes.errors import DataDependent, NoMeta, NoShapeRule
from supple.shapes.fake import meta_of
from tests.operators.test_samples import OPERATORS, Checked, is_plain, samples, tensors

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.sweep]
SQUARE = torch.ones(2, 2)
WHOLE = torch.ones(2, 2, dtype=torch.int64)
NUMBERS = (0, 1, 0.0, 0.5, -1)


class Dropping(Checked):
    """Notes of each pure ATen call which tensors its decomposition drops, and are not declared.

    Attributes:
        decomposed: how many calls there were.
    """

    def __init__(self) -> None:
        super().__init__()
        self.decomposed = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        op = aten_op(func)
        given = tensors((args, kwargs))
        if op.is_pure and isinstance(result, torch.Tensor) and all(map(is_plain, (*given, result))):
            with contextlib.suppress(DataDependent, NoMeta, NoShapeRule):  # such graphs are not decomposed so
                self.look(op, args, kwargs, result)
        return result

    def look(self, op: Any, args: Any, kwargs: Any, result: torch.Tensor) -> None:
        inputs: dict[str, TensorMeta] = {}

        def named(leaf: object) -> object:
            if not isinstance(leaf, torch.Tensor):
                return leaf
            name = f"x{len(inputs)}"
            inputs[name] = meta_of(leaf)
            return Var(name)

        first, others = tree_map(named, args), tree_map(named, kwargs)
        node = Node("y", op, first, others, meta_of(result))
        graph = Graph(tuple(Input(name, meta) for name, meta in inputs.items()), (node,), (Var("y"),))
        core = decompose(graph)
        self.decomposed += 1
        read = {var.name for each in core.nodes for var in uses_of(each)}
        read |= {var.name for var in vars_of(core.outputs)}
        if undeclared := read_by(node, inputs) - read:
            self.found.append(f"{op.name} of {inputs}, {first}, {others}: drops {undeclared}")


@pytest.mark.parametrize("name", OPERATORS)
def test_dropped_operands_of_samples_are_declared(name: str) -> None:
    with Dropping() as dropping:
        for args, kwargs in samples(name, 40):
            OPERATORS[name](*args, **kwargs)
    assert not dropping.found


def calls() -> Iterator[Any]:
    """Yield calls with the numbers for which a factor, a power or a share may be nothing."""
    x, y = SQUARE, SQUARE * 2
    for a, b in itertools.product(NUMBERS, NUMBERS):
        yield from (
            lambda a=a, b=b: torch.addmm(x, y, y, beta=a, alpha=b),
            lambda a=a, b=b: torch.baddbmm(x[None], y[None], y[None], beta=a, alpha=b),
            lambda a=a, b=b: torch.addbmm(x, y[None], y[None], beta=a, alpha=b),
            lambda a=a, b=b: torch.addmv(x[0], y, y[0], beta=a, alpha=b),
            lambda a=a, b=b: torch.addr(x, y[0], y[0], beta=a, alpha=b),
            lambda a=a, b=b: x.clamp(a, b),
            lambda a=a, b=b: torch.nn.functional.threshold(x, a, b),
            lambda a=a, b=b: torch.nn.functional.hardtanh(x, min(a, b), max(a, b)),
            lambda a=a, b=b: torch.nan_to_num(x, a, b),
        )
    for a in NUMBERS:
        yield from (
            lambda a=a: x**a,
            lambda a=a: a**x,
            lambda a=a: x * a,
            lambda a=a: torch.add(x, y, alpha=a),
            lambda a=a: torch.sub(x, y, alpha=a),
            lambda a=a: torch.rsub(x, y, alpha=a),
            lambda a=a: torch.lerp(x, y, a),
            lambda a=a: torch.addcmul(x, y, y, value=a),
            lambda a=a: torch.addcdiv(x, y, y, value=a),
            lambda a=a: torch.nn.functional.leaky_relu(x, a),
            lambda a=a: torch.nn.functional.elu(x, a),
            lambda a=a: torch.nn.functional.dropout(x, abs(a), training=True),
            lambda a=a: torch.nn.functional.dropout(x, abs(a), training=False),
            lambda a=a: x.masked_fill(x > 0, a),
            lambda a=a: torch.where(x > 0, x, a),
            lambda a=a: torch.fill(x, a),
            lambda a=a: torch.full_like(x, a),
        )
    for one in (x, WHOLE, x[0, 0], WHOLE[0, 0], x > 0):
        yield from (
            *(one.isnan, one.isinf, one.isfinite, one.argmax, one.argmin, one.sign, one.sgn, one.signbit),
            *(one.floor, one.ceil, one.round, one.trunc, one.sum, one.prod, one.any, one.all, one.conj),
            lambda one=one: torch.isreal(one),
            lambda one=one: torch.frac(one.float()),
            lambda one=one: one.cumsum(0),
            lambda one=one: one.softmax(0, dtype=torch.float32),
            lambda one=one: torch.ops.aten.copy(torch.zeros_like(one), one),
            lambda one=one: one.to(torch.float64).std(correction=0),
            lambda one=one: one.triu(5) if one.dim() > 1 else one,
            lambda one=one: one.logical_not(),
            lambda one=one: torch.nan_to_num(one),
        )


def test_dropped_operands_of_special_numbers_are_declared() -> None:
    with Dropping() as dropping:
        for call in calls():
            try:
                call()
            except (RuntimeError, NotImplementedError):  # eager has no such operator for this type
                continue
    assert not dropping.found
    assert dropping.decomposed > 400

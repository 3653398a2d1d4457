"""What a decomposition rule works with: a graph under construction that promotes, casts and reshapes.

`decompositions` maps an ATen op to a rule (lowering, *args, **kwargs) -> value, or a tuple of values for an
op with several results. A rule that returns None leaves the op as it is.
"""

from collections.abc import Callable, Sequence
from typing import cast

import torch

from supple.autograd.builder import Builder
from supple.base.rules import Rules
from supple.expr import Expr, as_expr, less
from supple.expr.real import FUNCTIONS, Real
from supple.ir.dtypes import DType
from supple.ir.graph.nodes import Arg, Var
from supple.ir.meta import TensorMeta, contiguous
from supple.shapes.decide import is_known
from supple.shapes.env import active
from supple.shapes.layout import view_strides
from supple.shapes.promote import Number, result_dtype

Operand = Var | Number
Size = Expr | int
Rule = Callable[..., Arg]

decompositions: Rules[Rule] = Rules("decompositions")


class Lowering(Builder):
    """A builder of core graphs. Every method returns the value of a node, or its argument where nothing is
    to do."""

    def meta(self, operand: Operand) -> TensorMeta | Number:
        """Return the metadata of a tensor; a number is its own."""
        return self.tensor_meta(operand) if isinstance(operand, Var) else operand

    def call(self, name: str, *args: Arg, **kwargs: Arg) -> Arg:
        """Return the result of an ATen op, decomposed when it has a rule."""
        rule = decompositions.find(name)
        result = None if rule is None else rule(self, *args, **kwargs)
        return self.emit(name, args, kwargs) if result is None else result

    def cast(self, operand: Operand, dtype: DType) -> Var:
        """Return a tensor converted to a type; a number becomes a tensor of rank 0."""
        if not isinstance(operand, Var):
            return self.full((), operand, dtype)
        if self.tensor_meta(operand).dtype is dtype:
            return operand
        return self.emit("aten._to_copy.default", (operand,), {"dtype": dtype.torch})

    def wide(self, var: Var) -> Var:
        """Return a tensor in the type that arithmetic on it is done in: f32 for bf16 and f16."""
        return self.cast(var, self.tensor_meta(var).dtype.compute)

    def common(self, *operands: Operand) -> DType:
        """Return the promoted type of operands."""
        return result_dtype([self.meta(operand) for operand in operands])

    def point(self, name: str, *operands: Operand, dtype: DType | None = None) -> Var:
        """Return a pointwise core op of operands, tensors cast to `dtype` or their promoted type."""
        kind = self.common(*operands) if dtype is None else dtype
        args = tuple(self.cast(o, kind) if isinstance(o, Var) else o for o in operands)
        return self.emit(f"aten.{name}", args)

    def add(self, left: Operand, right: Operand) -> Var:
        """left + right."""
        return self.point("add.Tensor", left, right)

    def sub(self, left: Operand, right: Operand) -> Var:
        """left - right."""
        return self.point("sub.Tensor", left, right)

    def mul(self, left: Operand, right: Operand) -> Var:
        """left * right."""
        return self.point("mul.Tensor", left, right)

    def div(self, left: Operand, right: Operand) -> Var:
        """left / right of floats."""
        return self.point("div.Tensor", left, right)

    def unary(self, name: str, operand: Var) -> Var:
        """A pointwise core op of one tensor."""
        return self.emit(f"aten.{name}.default", (operand,))

    def where(self, condition: Var, yes: Operand, no: Operand, dtype: DType | None = None) -> Var:
        """Return yes where the condition holds, else no."""
        kind = self.common(yes, no) if dtype is None else dtype
        if not isinstance(yes, Var) and not isinstance(no, Var):
            yes = self.cast(yes, kind)
        args = tuple(self.cast(o, kind) if isinstance(o, Var) else o for o in (yes, no))
        return self.emit("aten.where.self", (condition, *args))

    def sum(self, var: Var, dims: Sequence[int], keepdim: bool = True) -> Var:
        """Return the sum over dimensions, of the operand's type; over none the operand."""
        return self.emit("aten.sum.dim_IntList", (var, list(dims), keepdim)) if dims else var

    def largest(self, var: Var, dims: Sequence[int]) -> Var:
        """Return the largest float over dimensions, kept as size 1; -inf of no elements (eager refuses)."""
        if not dims:
            return var
        meta = self.tensor_meta(var)
        sizes = [1 if dim in dims else size for dim, size in enumerate(meta.sizes)]
        found = contiguous(sizes, meta.dtype, meta.device)
        return self.emit("aten.amax.default", (var, list(dims), True), meta=found)

    def view(self, var: Var, sizes: Sequence[Size]) -> Var:
        """Return the same elements with other sizes; copied first where the strides do not allow a view."""
        meta = self.tensor_meta(var)
        wanted = contiguous(sizes, meta.dtype).sizes
        if wanted == meta.sizes:
            return var
        source = var
        if view_strides(meta.sizes, meta.strides, wanted) is None:
            source = self.restrided(var, contiguous(meta.sizes, meta.dtype, meta.device))
        return self.emit("aten.view.default", (source, plain(wanted)))

    def expand(self, var: Var, sizes: Sequence[Size]) -> Var:
        """Return a tensor repeated to sizes."""
        meta = self.tensor_meta(var)
        wanted = contiguous(sizes, meta.dtype).sizes
        return var if wanted == meta.sizes else self.emit("aten.expand.default", (var, plain(wanted)))

    def full(self, sizes: Sequence[Size], value: Number, dtype: DType, device: str = "cpu") -> Var:
        """Return a tensor with one value everywhere."""
        options = {"dtype": dtype.torch, "device": torch.device(device)}
        value = value % 256 if dtype is DType.U8 and isinstance(value, int) else value
        return self.emit("aten.full.default", (plain(sizes), value), options)

    def iota(self, count: Size, device: str = "cpu", dtype: DType = DType.I64) -> Var:
        """Return 0, 1, ..., count - 1."""
        options = {"dtype": dtype.torch, "device": torch.device(device)}
        return self.emit("aten.arange.start_step", (0, *plain((count,)), 1), options)

    def bound(self, operand: Operand, dtype: DType) -> Operand:
        """Return a tensor as it is, a number rounded to a type."""
        if isinstance(operand, Var):
            return operand
        is_late = isinstance(operand, Expr | Real) and dtype.is_low_precision
        return self.full((), operand, dtype) if is_late else rounded(operand, dtype)

    def copy(self, var: Var) -> Var:
        """Return a copy: a fresh tensor where eager makes one. It goes away again where nobody can tell."""
        return self.emit("aten.clone.default", (var,))


def plain(sizes: Sequence[Size]) -> list[Size]:
    """Return sizes with constants as integers: the form that eager takes."""
    return [size.value if isinstance(size, Expr) and size.is_const else size for size in sizes]


def dims_of(dims: object, rank: int) -> list[int]:
    """Return dimensions counted from the front; None and an empty list name all."""
    if dims is None:
        return list(range(rank))
    listed = [dims] if isinstance(dims, int) else list(cast("Sequence[int]", dims))
    if not rank:
        return []
    return [dim % rank for dim in listed] or list(range(rank))


def rounded(value: Number, dtype: DType) -> Number:
    """Return a number as eager sees it after conversion to a tensor's type; a symbolic one stays."""
    if dtype.is_low_precision and isinstance(value, int | float):
        return dtype.nearest(value)
    return value


def calculated(op: str, *numbers: Number) -> Number:
    """Return the result of arithmetic, a key of real.FUNCTIONS, on numbers of which some may be symbolic."""
    if any(isinstance(number, Expr | Real) for number in numbers):
        return Real(op, numbers)
    return FUNCTIONS[op](*numbers)


def fixed(number: Number) -> float:
    """Return a number; a symbolic one is specialised to what it is in this call."""
    env = active()
    value = number if env is None else env.specialize_real(number)
    assert isinstance(value, int | float), f"{value} is complex, or no compilation is active"
    return value


def index_from_front(index: Size, size: Expr) -> Size:
    """Return an index of a dimension, counted from its start if it counts from its end."""
    where = as_expr(index)
    return plain((where + size if is_known(less(where, 0)) else where,))[0]

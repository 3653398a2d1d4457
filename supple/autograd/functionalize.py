"""Reads and writes through views, as pure operators: what a view shows now, and what a write does to its
base.

before:  y = aten.select.int(x, 0, 1); aten.add_.Tensor(y, 1)
after:   y = aten.select.int(x, 0, 1); a = aten.add.Tensor(y, 1); x1 = aten.select_scatter.default(x, a, 0, 1)
"""

from collections.abc import Callable
from typing import cast

from supple.autograd.builder import Builder, inverse
from supple.autograd.errors import NotFunctional
from supple.autograd.lowering import plain
from supple.autograd.storage import Cell, Value, ViewStep
from supple.base.rules import Rules
from supple.expr import equal
from supple.ir.graph.nodes import Var
from supple.ir.meta import TensorMeta, contiguous
from supple.ir.ops import op_named
from supple.shapes.decide import is_known
from supple.shapes.layout import is_dense

#: View op name -> (builder, what the view was taken of, step, new value of the view) -> new value of the
#: former.
Undo = Callable[[Builder, Value, ViewStep, Var], Var]
undo_view: Rules[Undo] = Rules("undo a view")


def read(builder: Builder, cell: Cell) -> Value:
    """Return the value of a tensor now; a view of a base written since is computed again."""
    storage = cell.storage
    if cell.version != storage.version:
        value = storage.value
        for step in cell.chain:
            value = shown(builder, value, step)
        cell.value, cell.version = value, storage.version
    return cell.value


def shown(builder: Builder, base: Value, step: ViewStep) -> Value:
    """Return the view of a value; where its strides do not allow it, of a contiguous copy."""
    try:
        var = builder.emit(step.op, (base.var, *step.args), step.kwargs)
    except RuntimeError:
        if step.op.name not in ("aten.view.default", "aten._reshape_alias.default"):
            raise
        copied = builder.restrided(base.var, contiguous(base.meta.sizes, base.meta.dtype, base.meta.device))
        var = builder.emit("aten.view.default", (copied, *step.args[:1]))
    return Value(var, builder.tensor_meta(var))


def write(builder: Builder, cell: Cell, new: Var) -> None:
    """Make `new` the contents of a tensor: its storage gets a new base value.

    Raises:
        NotFunctional: through a view that shows an element twice, or that has no inverse.
    """
    storage = cell.storage
    levels = [storage.value]
    for step in cell.chain[:-1]:
        levels.append(shown(builder, levels[-1], step))
    value = new
    for level, step in zip(reversed(levels), reversed(cell.chain), strict=False):
        rule = undo_view.find(step.op.name)
        if rule is None:
            raise NotFunctional(f"a write through {step.op.name} has no pure form")
        value = rule(builder, level, step, value)
    if storage.input is None and is_dense(storage.meta.sizes, storage.meta.strides):
        value = builder.restrided(value, storage.meta)
    storage.value = Value(value, builder.tensor_meta(value))
    storage.version += 1
    if not cell.chain:
        new = value
    cell.value, cell.version = Value(new, builder.tensor_meta(new)), storage.version


@undo_view.on("aten.alias.default", "aten.detach.default", "aten.lift_fresh.default")
def _(builder: Builder, older: Value, step: ViewStep, new: Var) -> Var:
    """The tensor itself."""
    return new


@undo_view.on(
    *("aten.view.default", "aten._reshape_alias.default", "aten.unsqueeze.default"),
    *("aten.squeeze.default", "aten.squeeze.dim", "aten.squeeze.dims"),
)
def _(builder: Builder, older: Value, step: ViewStep, new: Var) -> Var:
    """Viewed as it was."""
    return _viewed(builder, new, older.meta)


def _viewed(builder: Builder, new: Var, wanted: TensorMeta) -> Var:
    step = ViewStep(op_named("aten.view.default"), (plain(wanted.sizes),))
    return shown(builder, Value(new, builder.tensor_meta(new)), step).var


@undo_view.on("aten.permute.default")
def _(builder: Builder, older: Value, step: ViewStep, new: Var) -> Var:
    """Permuted back."""
    dims = [dim % older.meta.rank for dim in cast("list[int]", step.args[0])]
    return builder.permuted(new, inverse(dims))


@undo_view.on("aten.t.default", "aten.transpose.int")
def _(builder: Builder, older: Value, step: ViewStep, new: Var) -> Var:
    """Transposed again."""
    return builder.emit(step.op, (new, *step.args))


@undo_view.on("aten.select.int")
def _(builder: Builder, older: Value, step: ViewStep, new: Var) -> Var:
    """One row replaced."""
    return builder.emit("aten.select_scatter.default", (older.var, new, *step.args))


@undo_view.on("aten.slice.Tensor")
def _(builder: Builder, older: Value, step: ViewStep, new: Var) -> Var:
    """A range replaced."""
    return builder.emit("aten.slice_scatter.default", (older.var, new, *step.args))


@undo_view.on("aten.diagonal.default")
def _(builder: Builder, older: Value, step: ViewStep, new: Var) -> Var:
    """The diagonal replaced."""
    return builder.emit("aten.diagonal_scatter.default", (older.var, new, *step.args))


@undo_view.on("aten.expand.default")
def _(builder: Builder, older: Value, step: ViewStep, new: Var) -> Var:
    """Only where nothing is repeated: the dimensions added in front have size 1."""
    if not is_known(equal(older.meta.numel, builder.tensor_meta(new).numel)):
        raise NotFunctional("a write through expand writes an element more than once")
    return _viewed(builder, new, older.meta)

"""Retrace a captured graph at ATen level: run it on fake tensors and record the operators, in pure form.

The trace runs under the real autograd engine and autocast, so what is recorded is what eager would run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeVar, cast

import torch

from supple.autograd.builder import Builder, inverse, outermost_first
from supple.autograd.copies import Copy
from supple.autograd.errors import NotFunctional, Raises
from supple.autograd.functionalize import read, write
from supple.autograd.numbers import Numbers
from supple.autograd.selfless import knows_torch_alone
from supple.autograd.storage import Cell, Storage, Value, Viewing, ViewStep, are_apart, overlaps
from supple.expr import Expr
from supple.expr.real import Real
from supple.ir.arguments import leaves
from supple.ir.graph.interp import value_of
from supple.ir.graph.nodes import FLAGS, Arg, Constant, Graph, Input, Meta, Node, Var, hides_writes
from supple.ir.graph.numbers import callable_of
from supple.ir.graph.symbols import CHECK
from supple.ir.meta import TensorMeta
from supple.ir.ops import Op, aten_op, op_named
from supple.shapes.errors import NoShapeRule
from supple.shapes.fake import FakeTensor, Faking, current, fake_from, meta_of, non_leaf
from supple.shapes.symnode import plain
from supple.shapes.writes import completed, is_writer, write_of
from supple.torch_private import OpOverload

T = TypeVar("T")
CONJ: Final = "aten._conj.default"


@dataclass(frozen=True, slots=True)
class Given:
    """A tensor that the graph takes.

    Attributes:
        leaf: what its gradient is taken for: the tensor itself, or what it is made to depend on.
        grad_fn, version: of the tensor before the graph.
    """

    fake: torch.Tensor
    leaf: torch.Tensor
    grad_fn: object
    version: int

    @property
    def has_grown(self) -> bool:
        """Whether a write gave it another place in autograd."""
        return self.fake.grad_fn is not self.grad_fn

    def writes(self, storage: Storage) -> int:
        """Return how often eager counts it as written; where fakes do not count, how often it was.

        In inference mode, the parts of a composite operator write to views that share no count.
        """
        is_counted = not (self.fake.is_inference() or torch.is_inference_mode_enabled())
        return self.fake._version - self.version if is_counted else storage.counted


class Recorder(Faking):
    """Records the ATen operators that run while it is active, as a functional graph.

    Attributes:
        is_hiding: whether a tensor was made whose writes the one that it shows does not count, in inference
            mode, where the recorder counts them itself.
        has_functions: whether a function of the program was called, which has a backward of its own.
    """

    def __init__(self, graph: Graph) -> None:
        super().__init__()  # pyright: ignore[reportUnknownMemberType]  # untyped in torch
        self.numbers = Numbers(graph)
        self.builder = Builder(map(_current_input, graph.inputs))
        self.constants: list[object] = []
        self.copies: list[Copy] = []
        self.given: dict[int, Given] = {}
        self.is_hiding = False
        self.has_functions = False
        self._created: torch.Tensor | None = None
        self._cells: dict[int, tuple[torch.Tensor, Cell]] = {}

    def input_value(self, place: int, item: Input) -> object:
        """Return the object that stands for a graph input while tracing."""
        if isinstance(item.meta, Expr | Real):
            return self.numbers.given(item.meta)
        if not isinstance(item.meta, TensorMeta):
            return item.meta
        with torch.inference_mode(item.is_inference):
            leaf = fake_from(item.meta, is_parameter=item.is_parameter)
            fake = leaf if item.is_leaf else non_leaf(leaf)
        self._adopt(fake, Var(item.name), item.meta).storage.input = place
        self.given[place] = Given(fake, leaf, fake.grad_fn, 0 if fake.is_inference() else fake._version)
        return fake

    def tangent(self, item: Input) -> torch.Tensor:
        """Add an input, past the constants, and return its fake."""
        assert isinstance(item.meta, TensorMeta), item.name
        fake = fake_from(item.meta)
        self._adopt(fake, self.builder.add_input(item), item.meta)
        return fake

    def _adopt(self, fake: torch.Tensor, var: Var, meta: TensorMeta) -> Cell:
        """Make a fake the base of a fresh storage that holds `var`."""
        meta = _shared(fake, meta)
        value = Value(var, meta)
        cell = Cell(Storage(value, meta, fake), (), value, 0)
        self._cells[id(fake)] = (fake, cell)
        return cell

    def cell(self, tensor: torch.Tensor) -> Cell:
        """Return the cell of a tensor; a real tensor becomes a constant of the graph."""
        known = self._cells.get(id(tensor))
        if known is not None:
            return known[1]
        if isinstance(tensor, FakeTensor):
            raise NotFunctional("a tensor that the trace did not make")
        meta = meta_of(tensor)
        cell = self._adopt(tensor, self._constant(tensor, meta), meta)
        cell.storage.input = len(self.builder.inputs) - 1
        return cell

    def run(self, node: Node, values: Mapping[str, object]) -> object:
        """Return what a node of the captured graph gives for the values so far, recording what it runs.

        A number that is read out of a tensor keeps its name. Conditions to check are added at the end.
        """
        if node.op.name == CHECK:
            return None
        args, kwargs = self.value_of((node.args, dict(node.kwargs)), values)
        self.is_hiding |= hides_writes(node) and torch.is_inference_mode_enabled()
        if node.op.name == "Tensor.item" and self.numbers.defines(node.meta):
            assert isinstance(node.meta, Expr | Real), f"{node.name} is {node.meta}"
            self.builder.emit("aten._local_scalar_dense.default", self._args(args), meta=node.meta)
            return self.numbers.given(node.meta)
        if node.op.name in FLAGS:
            cell = self.cell(cast("torch.Tensor", args[0]))
            if cell.chain or (cell.storage.input is not None and node.op.name == "Tensor.detach_"):
                raise NotFunctional(f"{node.op.name} of an input or a view")
        constants = len(self.constants)
        outs = [self.cell(one) for one in leaves(kwargs.get("out")) if isinstance(one, torch.Tensor)]
        versions = [one.storage.version for one in outs]
        try:
            result = callable_of(node.op, args)(*args, **kwargs)
        except NoShapeRule as error:
            raise NotFunctional(str(error)) from error
        except (RuntimeError, ArithmeticError) as error:
            raise Raises(node.op.name, error) from error
        if any(one.storage.version == version for one, version in zip(outs, versions, strict=True)):
            raise NotFunctional(f"{node.op.name} writes out= through a view that no schema tells")
        if node.op.function is not None:
            self.has_functions = True
            self._require_own(node.op.function, result, len(self.constants) > constants)
        if hides_writes(node):
            self._note_call(node, result)
        self.numbers.match(node.meta, result)
        return result

    def _note_call(self, node: Node, result: object) -> None:
        """Note that `x.data` gives a view; operators show `x.detach()`, whose writes count for x too."""
        cell = self.cell(cast("torch.Tensor", result))
        if node.op.name == "builtins.getattr" and cell.made is not None:
            call, item = cell.made
            cell.made = (replace(call, op=node.op, args=node.args[1:]), item)

    def _require_own(self, owner: type, result: object, has_constants: bool) -> None:
        """Check that a function of the program depends on its arguments alone, and gives memory of its own.

        Raises:
            NotFunctional: it reads tensors, or numbers that may vary, or its backward, which runs here and
                never again, knows objects of the program; or autograd does not know its result as the view
                that it is.
        """
        name, backward = owner.__name__, vars(owner).get("backward")
        if has_constants or not self.numbers.are_sizes or not knows_torch_alone(backward):
            raise NotFunctional(f"{name} reads tensors or objects of the program")
        tensors = (one for one in leaves(result) if isinstance(one, torch.Tensor))
        if any(self.cell(one).storage.base is not one for one in tensors):
            raise NotFunctional(f"{name} returns a view")

    def value_of(self, arg: T, values: Mapping[str, object]) -> T:
        """Return an argument with values in place of Vars and numbers of torch in place of expressions."""
        return value_of(arg, values, self.numbers.given)

    def made(self) -> list[torch.Tensor]:
        """Return all tensors of the trace but those that it was given."""
        given = {id(one) for item in self.given.values() for one in (item.fake, item.leaf)}
        return [tensor for key, (tensor, _) in self._cells.items() if key not in given]

    def on_operator(self, func: OpOverload, args: tuple[object, ...], kwargs: Mapping[str, object]) -> object:
        """Record an operator and return its fake results."""
        result = super().on_operator(func, args, kwargs)
        op = aten_op(func)
        if op.name == "aten.lift_fresh.default" and not isinstance(args[0], FakeTensor):
            self._record_literal(cast("torch.Tensor", args[0]), cast("torch.Tensor", result))
        elif is_writer(func):
            self._record_write(func, args, kwargs)
        elif op.is_view and args and isinstance(args[0], torch.Tensor):
            if args[0] is self._created and op.name == "aten.detach.default":
                self._record_creation(args[0], cast("torch.Tensor", result))
            else:
                self._record_view(op, args, kwargs, result)
        else:
            if args and isinstance(args[0], torch.Tensor):
                _require_own_storage(op, self.cell(args[0]))
            self._record_pure(op, args, kwargs, result)
            if op.name == "aten.native_batch_norm.default":
                self._record_statistics(args)
            if isinstance(result, torch.Tensor) and not any(isinstance(one, torch.Tensor) for one in args):
                self._created = result
        if op.name == "aten.clone.default" and kwargs.get("memory_format") in _LAYOUTS:
            self._note_copy(cast("torch.Tensor", args[0]), cast("torch.Tensor", result), kwargs)
        elif op.name == "aten._unsafe_view.default":
            before = self.cell(cast("torch.Tensor", args[0])).storage
            shown = cast("torch.Tensor", result)
            made, wanted = self.cell(shown).storage, meta_of(shown).sizes
            self.copies = [
                replace(copy, made=made, wanted=wanted) if copy.made is before else copy
                for copy in self.copies
            ]
        return result

    def _record_creation(self, made: torch.Tensor, result: torch.Tensor) -> None:
        """Take the second tensor that torch makes of a fresh one for the first, which nobody sees."""
        cell = self.cell(made)
        cell.storage.base = result
        self._cells[id(result)] = (result, cell)

    def _record_statistics(self, args: tuple[object, ...]) -> None:
        """Turn the batch norm just recorded into one that returns the statistics that eager writes."""
        statistics, is_training = cast("tuple[torch.Tensor | None, ...]", args[3:5]), args[5]
        if not is_training or statistics[0] is None:
            return
        node = self.builder.nodes[-1]
        metas = tuple(read(self.builder, self.cell(one)).meta for one in statistics if one is not None)
        op = op_named("aten._native_batch_norm_legit_functional.default")
        meta = (*cast("tuple[Meta, ...]", node.meta), *metas)
        self.builder.nodes[-1] = replace(node, op=op, meta=meta)
        self.builder.metas[node.name] = meta
        for place, one in enumerate(statistics, 3):
            if one is not None:
                write(self.builder, self.cell(one), Var(node.name, (place,)))
                self.cell(one).storage.unseen += 1

    def _note_copy(self, tensor: torch.Tensor, result: torch.Tensor, options: Mapping[str, object]) -> None:
        """Remember a copy that eager may not make for other sizes."""
        meta = meta_of(tensor)
        if not meta.is_static:
            source, made = self.cell(tensor).storage, self.cell(result).storage
            layout = cast("torch.memory_format", options["memory_format"])
            self.copies.append(Copy(source, source.version, made, meta, layout))

    def _record_literal(self, tensor: torch.Tensor, result: torch.Tensor) -> None:
        """Record what `torch.tensor` makes: a fresh tensor on each call, with the numbers that it has now."""
        meta = meta_of(tensor)
        if tensor.numel() == 1 and not tensor.is_complex():
            sizes = [1] * tensor.dim()
            options = {"dtype": tensor.dtype, "device": tensor.device}
            var = self.builder.emit("aten.full.default", (sizes, tensor.item()), options)
        else:
            constant = read(self.builder, self.cell(tensor)).var
            var = self.builder.emit("aten.clone.default", (constant,))
        self._adopt(result, var, meta)

    def _arg(self, arg: object) -> Arg:
        """Return an argument with tensors replaced by their values now."""
        if isinstance(arg, torch.Tensor):
            return read(self.builder, self.cell(arg)).var
        if isinstance(arg, list | tuple):
            return [self._arg(item) for item in cast("Sequence[object]", arg)]
        if isinstance(arg, torch.Generator):
            return self._constant(arg, Constant(torch.Generator))
        return self.numbers.recorded(arg)

    def _constant(self, value: object, meta: Meta) -> Var:
        """Add an object that the program holds to the inputs."""
        self.constants.append(value)
        name = self.builder.fresh_name("constant")
        return self.builder.add_input(Input(name, meta, f"constant {len(self.constants) - 1}"))

    def _args(self, args: Sequence[object]) -> tuple[Arg, ...]:
        return tuple(self._arg(arg) for arg in args)

    def _record_pure(
        self, op: Op, args: tuple[object, ...], kwargs: Mapping[str, object], result: object
    ) -> None:
        values, named = self._args(args), {name: self._arg(arg) for name, arg in kwargs.items()}
        known = result_meta(result)
        if not self.numbers.defines(known) and not self._is_faithful([*args, *kwargs.values()]):
            known = None
        var = self.builder.emit(op, values, named, known)
        self._adopt_results(result, var, self.builder.metas[var.name])

    def _is_faithful(self, operands: Sequence[object]) -> bool:
        """Tell whether the values of all operands have the layout that eager's tensors have."""
        tensors = (one for one in leaves(operands) if isinstance(one, torch.Tensor))
        return all(
            isinstance(one, FakeTensor) and self._cells[id(one)][1].value.meta is one.known_meta
            for one in tensors
        )

    def _adopt_results(self, result: object, var: Var, meta: Meta) -> None:
        if isinstance(result, torch.Tensor):
            assert isinstance(meta, TensorMeta), f"{var} is {meta}"
            self._adopt(result, var, meta)
        elif isinstance(result, list | tuple):
            assert isinstance(meta, tuple), f"{var} is {meta}"
            for place, item in enumerate(cast("Sequence[object]", result)):
                self._adopt_results(item, Var(var.name, (*var.path, place)), meta[place])

    def _record_view(
        self, op: Op, args: tuple[object, ...], kwargs: Mapping[str, object], result: object
    ) -> None:
        of = cast("torch.Tensor", args[0])
        base = self.cell(of)
        named = {name: self._arg(arg) for name, arg in kwargs.items()}
        modes = torch.is_grad_enabled(), torch.is_inference_mode_enabled()
        call = Viewing(of, op, self._args(args[1:]), named, of.requires_grad, *modes, base.storage.counted)
        if op.name == "aten.view_as_real.default" and any(step.op.name == CONJ for step in base.chain):
            raise NotFunctional("a conjugate is seen as real numbers")
        for place, (view, step) in enumerate(self._steps(op, args, kwargs, result)):
            _require_own_storage(step.op, base)
            source = read(self.builder, base)
            is_faithful = self._is_faithful(args[:1]) and view is result
            known = result_meta(result) if is_faithful else None
            var = self.builder.emit(step.op, (source.var, *step.args), step.kwargs, known)
            value = Value(var, _shared(view, self.builder.tensor_meta(var)))
            made = None if view is of else (call, None if view is result else place)
            cell = Cell(base.storage, (*base.chain, step), value, base.storage.version, made)
            self._cells[id(view)] = (view, cell)

    def _require_apart(self, target: torch.Tensor, operands: Sequence[object], *, is_pointwise: bool) -> None:
        """Check that no operand shows part of what is written: eager then raises or reads what it just wrote.

        Raises:
            NotFunctional: one does, and is not the written tensor itself in an operator that works element
                by element.
        """
        mine = meta_of(target)
        for operand in leaves(operands):
            if not isinstance(operand, torch.Tensor):
                continue
            theirs = meta_of(operand)
            is_same = (theirs.sizes, theirs.strides, theirs.offset) == (mine.sizes, mine.strides, mine.offset)
            one, other = self.cell(operand), self.cell(target)
            if one.storage is other.storage and not (is_same and is_pointwise):
                if not are_apart(one.chain, other.chain) and overlaps(mine, theirs):
                    raise NotFunctional("an operand overlaps what is written")

    def _record_reshape(self, op: Op, args: tuple[object, ...], kwargs: Mapping[str, object]) -> None:
        """Record an operator that turns a tensor into a view of itself (`squeeze_`): no memory is written.

        Raises:
            NotFunctional: the tensor is an input, whose own sizes would change.
        """
        target = cast("torch.Tensor", args[0])
        if self.cell(target).storage.input is not None:
            raise NotFunctional(f"{op.name}_ of an input")
        self._record_view(op, args, kwargs, target)

    def _steps(
        self, op: Op, args: tuple[object, ...], kwargs: Mapping[str, object], result: object
    ) -> list[tuple[torch.Tensor, ViewStep]]:
        """Return each view made and how: several views of one op are slices or selects."""
        if isinstance(result, torch.Tensor):
            named = {name: self._arg(arg) for name, arg in kwargs.items()}
            return [(result, ViewStep(op, self._args(args[1:]), named))]
        views = cast("Sequence[torch.Tensor]", result)
        base = cast("torch.Tensor", args[0])
        dim = cast(
            "int", kwargs.get("dim", args[-1] if len(args) == (2 if "unbind" in op.name else 3) else 0)
        )
        dim %= max(base.dim(), 1)
        steps: list[tuple[torch.Tensor, ViewStep]] = []
        start = 0
        for place, view in enumerate(views):
            if op.name == "aten.unbind.int":
                step = ViewStep(aten_op(torch.ops.aten.select.int), (dim, place))
            else:
                stop = start + view.shape[dim]
                bounds = self._args((start, stop))
                step = ViewStep(aten_op(torch.ops.aten.slice.Tensor), (dim, *bounds, 1))
                start = stop
            steps.append((view, step))
        return steps

    def _record_write(self, func: OpOverload, args: tuple[object, ...], kwargs: Mapping[str, object]) -> None:
        found = write_of(func)
        if found is None:
            raise NotFunctional(f"{func} has no pure form")
        if torch.Tag.inplace_view in func.tags:
            self._record_reshape(aten_op(found.pure), args, kwargs)
            return
        named = dict(kwargs)
        written = found.written
        target = cast("torch.Tensor", args[written] if isinstance(written, int) else named.pop(written))
        cell = self.cell(target)
        reads = [*args, *named.values()]
        if isinstance(written, int):
            del reads[written]
        self._require_apart(target, reads, is_pointwise=_is_pointwise(found.pure))
        wanted = read(self.builder, cell).meta
        order = list(range(wanted.rank))
        if func is torch.ops.aten.bernoulli_.float:
            # It draws in the order of the memory, its pure form row by row.
            order = outermost_first(wanted)
        first, *rest = self._args(completed(func, args))
        new = self.builder.emit(
            aten_op(found.pure),
            [self.builder.permuted(cast("Var", first), order), *rest],
            {name: self._arg(arg) for name, arg in named.items()},
        )
        new = self.builder.permuted(new, inverse(order))
        if self.builder.tensor_meta(new).dtype is not wanted.dtype:
            if isinstance(written, str):
                raise NotFunctional("the out argument has another dtype, which some operators refuse")
            new = self.builder.emit("aten._to_copy.default", (new,), {"dtype": wanted.dtype.torch})
        write(self.builder, cell, new)


def _require_own_storage(op: Op, cell: Cell) -> None:
    """Check that what counts elements in the storage of a tensor finds there what eager finds.

    Raises:
        NotFunctional: the tensor is a view, or its storage was written: its value here is another tensor.
    """
    if op.name in _OF_STORAGE and (cell.chain or cell.storage.version):
        raise NotFunctional("as_strided of a view or of written memory")


_LAYOUTS: Final = (torch.contiguous_format, torch.channels_last, torch.channels_last_3d)
_OF_STORAGE: Final = frozenset(
    f"aten.{name}.default" for name in ("as_strided", "as_strided_copy", "as_strided_scatter")
)


def _is_pointwise(func: OpOverload) -> bool:
    """Tell whether an operator reads of its operands only what stands where it writes."""
    return torch.Tag.pointwise in func.tags or func.overloadpacket in _UNTAGGED


_UNTAGGED: Final = (torch.ops.aten.copy, torch.ops.aten.floor_divide)


def _shared(fake: torch.Tensor, meta: TensorMeta) -> TensorMeta:
    """Return the object that a fake holds as its metadata where that is equal, so that `is` tells it."""
    known = fake.known_meta if isinstance(fake, FakeTensor) else None
    return known if known is not None and known == meta else meta


def result_meta(result: object) -> Meta | None:
    """Return the metadata of fakes that an operator just made, None for anything else."""
    if isinstance(result, FakeTensor):
        return result.known_meta
    if isinstance(found := plain(result), Expr | Real):
        return found
    if isinstance(result, list | tuple):
        found = [result_meta(item) for item in cast("Sequence[object]", result)]
        return None if None in found else tuple(item for item in found if item is not None)
    return None


def _current_input(item: Input) -> Input:
    """Return an input with its sizes in the form that they have by now."""
    return replace(item, meta=current(item.meta)) if isinstance(item.meta, TensorMeta) else item

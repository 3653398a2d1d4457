"""Retrace a captured graph at ATen level: run it on fake tensors and record the operators, in pure form.

The trace runs under the real autograd engine and autocast, so what is recorded is what eager would run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, cast

import torch

from supple.autograd.builder import Builder
from supple.autograd.convention import (
    Convention,
    InputItself,
    Mutation,
    Output,
    Plain,
    Result,
    SameAs,
    ViewOfInput,
    ViewOfResult,
)
from supple.autograd.errors import NeedsGrad, NotFunctional
from supple.autograd.functionalize import read, write
from supple.autograd.joint import Gradients, differentiable, gradients
from supple.autograd.numbers import Numbers
from supple.autograd.storage import Cell, Storage, Value, ViewStep, are_apart, overlaps
from supple.expr import Expr, not_equal
from supple.expr.real import Real
from supple.ir.graph.nodes import Arg, Constant, Graph, Input, Meta, Node, Var, map_arg
from supple.ir.graph.numbers import callable_of
from supple.ir.graph.symbols import CHECK
from supple.ir.meta import TensorMeta
from supple.ir.ops import Op, aten_op
from supple.shapes.decide import ONE, decide
from supple.shapes.fake import FakeTensor, Faking, current, fake_from, meta_of
from supple.shapes.layout import generally_all_equal
from supple.shapes.symnode import plain
from supple.shapes.writes import completed, is_writer, write_of
from supple.torch_private import OpOverload, is_composite


@dataclass(frozen=True, slots=True)
class Traced:
    """A functional graph and how to call it; a joint graph where a result requires gradients."""

    graph: Graph
    convention: Convention
    gradients: Gradients | None


@dataclass(frozen=True, slots=True)
class Copy:
    """A row-major copy of a tensor that is row-major itself where its dynamic sizes are 1.

    Attributes:
        version: of the source, when it was copied.
        sizes: of the source.
    """

    source: Storage
    version: int
    made: Storage
    sizes: tuple[Expr, ...]


class Recorder(Faking):
    """Records the ATen operators that run while it is active, as a functional graph."""

    def __init__(self, graph: Graph) -> None:
        super().__init__()  # pyright: ignore[reportUnknownMemberType]  # untyped in torch
        self.numbers = Numbers(graph)
        self.builder = Builder(map(_current_input, graph.inputs))
        self.constants: list[object] = []
        self.copies: list[Copy] = []
        self._cells: dict[int, tuple[torch.Tensor, Cell]] = {}

    def input_value(self, place: int, item: Input) -> object:
        """Return the object that stands for a graph input while tracing."""
        if isinstance(item.meta, Expr | Real):
            return self.numbers.given(item.meta)
        if not isinstance(item.meta, TensorMeta):
            return item.meta
        fake = fake_from(item.meta, is_parameter=item.is_parameter)
        self._adopt(fake, Var(item.name), item.meta).storage.input = place
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
        cell = Cell(Storage(value, meta), (), value, 0)
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
        owner = getattr(node.op.call, "__self__", None)
        if isinstance(owner, type) and issubclass(owner, torch.autograd.Function):
            # What numbers of the program it reads is known to capture alone, where they may be dynamic.
            raise NotFunctional(f"{owner.__name__} runs code of the program")
        args = cast("tuple[object, ...]", self.value_of(node.args, values))
        kwargs = cast("dict[str, object]", self.value_of(dict(node.kwargs), values))
        if node.op.name == "Tensor.item" and self.numbers.defines(node.meta):
            assert isinstance(node.meta, Expr | Real), f"{node.name} is {node.meta}"
            self.builder.emit("aten._local_scalar_dense.default", self._args(args), meta=node.meta)
            return self.numbers.given(node.meta)
        result = callable_of(node.op, args)(*args, **kwargs)
        self.numbers.match(node.meta, result)
        return result

    def value_of(self, arg: Arg, values: Mapping[str, object]) -> object:
        """Return an argument with values in place of Vars and numbers of torch in place of expressions."""

        def look_up(var: Var) -> object:
            value = values[var.name]
            for index in var.path:
                value = cast("Sequence[object]", value)[index]
            return value

        return map_arg(look_up, arg, self.numbers.given)

    def cells(self) -> list[tuple[torch.Tensor, Cell]]:
        """Return every tensor of the trace with its cell, in the order they were made."""
        return list(self._cells.values())

    def __torch_dispatch__(
        self,
        func: OpOverload,
        types: Sequence[type],
        args: tuple[object, ...] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        """Record an operator and return its fake results."""
        named = kwargs or {}
        result = super().__torch_dispatch__(func, types, args, named)
        if is_composite(func):
            return result
        op = aten_op(func)
        if op.name == "aten.lift_fresh.default" and not isinstance(args[0], FakeTensor):
            self._record_literal(cast("torch.Tensor", args[0]), cast("torch.Tensor", result))
        elif is_writer(func):
            self._record_write(func, args, named)
        elif op.is_view and args and isinstance(args[0], torch.Tensor):
            self._record_view(op, args, named, result)
        else:
            self._record_pure(op, args, named, result)
        if op.name == "aten.clone.default" and named.get("memory_format") is torch.contiguous_format:
            self._note_copy(cast("torch.Tensor", args[0]), cast("torch.Tensor", result))
        elif op.name == "aten._unsafe_view.default":
            before = self.cell(cast("torch.Tensor", args[0])).storage
            made = self.cell(cast("torch.Tensor", result)).storage
            self.copies += [replace(copy, made=made) for copy in self.copies if copy.made is before]
        return result

    def _note_copy(self, tensor: torch.Tensor, result: torch.Tensor) -> None:
        """Remember a copy that eager does not make where a size is 1 (`x.t().reshape(-1)`)."""
        meta = meta_of(tensor)
        if not meta.is_static:
            source, made = self.cell(tensor).storage, self.cell(result).storage
            self.copies.append(Copy(source, source.version, made, meta.sizes))

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
        for operand in operands:
            if isinstance(operand, FakeTensor):
                if self._cells[id(operand)][1].value.meta is not operand.known_meta:
                    return False
            elif isinstance(operand, torch.Tensor):
                return False
            elif isinstance(operand, list | tuple) and not self._is_faithful(
                cast("Sequence[object]", operand)
            ):
                return False
        return True

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
        base = self.cell(cast("torch.Tensor", args[0]))
        for view, step in self._steps(op, args, kwargs, result):
            if step.op.name == "aten.as_strided.default" and (base.chain or base.storage.version):
                raise NotFunctional("as_strided of a view or of written memory")
            source = read(self.builder, base)
            is_faithful = self._is_faithful(args[:1]) and view is result
            known = result_meta(result) if is_faithful else None
            var = self.builder.emit(step.op, (source.var, *step.args), step.kwargs, known)
            value = Value(var, _shared(view, self.builder.tensor_meta(var)))
            cell = Cell(base.storage, (*base.chain, step), value, base.storage.version)
            self._cells[id(view)] = (view, cell)

    def _require_apart(self, target: torch.Tensor, operands: Sequence[object]) -> None:
        """Check that no operand shows part of what is written: eager then raises or reads what it just wrote.

        Raises:
            NotFunctional: one does, and is not the written tensor itself.
        """
        mine = meta_of(target)
        for operand in operands:
            if isinstance(operand, list | tuple):
                self._require_apart(target, cast("Sequence[object]", operand))
            elif isinstance(operand, torch.Tensor) and operand is not target:
                theirs = meta_of(operand)
                is_same = (theirs.sizes, theirs.strides, theirs.offset) == (
                    mine.sizes,
                    mine.strides,
                    mine.offset,
                )
                one, other = self.cell(operand), self.cell(target)
                if one.storage is other.storage and not is_same:
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
        if found is not None and torch.Tag.inplace_view in func.tags:
            self._record_reshape(aten_op(found.pure), args, kwargs)
            return
        if found is None:
            raise NotFunctional(f"{func} has no pure form")
        named = dict(kwargs)
        written = found.written
        target = cast("torch.Tensor", args[written] if isinstance(written, int) else named.pop(written))
        cell = self.cell(target)
        self._require_apart(target, [*args, *named.values()])
        new = self.builder.emit(
            aten_op(found.pure),
            self._args(completed(func, args)),
            {name: self._arg(arg) for name, arg in named.items()},
        )
        wanted = read(self.builder, cell).meta
        if self.builder.tensor_meta(new).dtype is not wanted.dtype:
            new = self.builder.emit("aten._to_copy.default", (new,), {"dtype": wanted.dtype.torch})
        write(self.builder, cell, new)


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


def trace(graph: Graph) -> Traced:
    """Return the functional ATen form of a captured graph and how to call it.

    Raises:
        NeedsGrad: an output that requires gradients is a view of another, or of an input, or such an input is
            written.
        NotFunctional: a write has no pure form.
        Exception: whatever eager raises when it runs this graph.
    """
    recorder = Recorder(graph)
    values = {item.name: recorder.input_value(place, item) for place, item in enumerate(graph.inputs)}
    grad_enabled = torch.is_grad_enabled()
    try:
        with recorder:
            for node in graph.nodes:
                recorder.builder.stack = node.where
                values[node.name] = recorder.run(node, values)
    finally:
        torch.set_grad_enabled(grad_enabled)
    recorder.builder.stack = ()
    for item in graph.inputs:
        value = values[item.name]
        if (
            isinstance(value, torch.Tensor)
            and value.requires_grad != cast("TensorMeta", item.meta).requires_grad
        ):
            raise NotFunctional("an input is made to require gradients, or not to")
    outputs = [recorder.value_of(arg, values) for arg in graph.outputs]
    sources = differentiable(recorder.cell, outputs)
    ending = _Ending(recorder, len(graph.inputs), sources)
    if not sources:
        return ending.finish(outputs)
    leaves = {
        place: value
        for place, value in enumerate(values[item.name] for item in graph.inputs)
        if isinstance(value, torch.Tensor) and value.requires_grad
    }
    with recorder:
        fresh = recorder.builder.fresh_name
        tangents, found = gradients(sources, list(leaves.values()), recorder.tangent, fresh)
        return ending.finish(outputs, tangents, dict(zip(leaves, found, strict=True)))


def _current_input(item: Input) -> Input:
    """Return an input with its sizes in the form that they have by now."""
    return replace(item, meta=current(item.meta)) if isinstance(item.meta, TensorMeta) else item


NONE: Final[Mapping[int, torch.Tensor | None]] = {}


class _Ending:
    """Turns the values returned at the end of a trace into graph outputs and a convention."""

    def __init__(self, recorder: Recorder, inputs: int, sources: Sequence[torch.Tensor]) -> None:
        self.recorder = recorder
        self.inputs = inputs
        self.sources = {id(source) for source in sources}
        self.differentiable: list[int] = []
        self.results: list[Arg] = []
        self.sizes: dict[Expr, int] = {}

    def finish(
        self,
        outputs: Sequence[object],
        tangents: tuple[str, ...] = (),
        grads: Mapping[int, torch.Tensor | None] = NONE,
    ) -> Traced:
        """Return the finished graph; `grads` are the gradients of inputs, by place."""
        kinds: list[Output] = []
        seen: dict[int, int] = {}
        counts: dict[int, int] = {}
        for item in {id(item): item for item in outputs if isinstance(item, torch.Tensor)}.values():
            key = id(self.recorder.cell(item).storage)
            counts[key] = counts.get(key, 0) + 1
        bases: dict[int, int] = {}
        for place, item in enumerate(outputs):
            if not isinstance(item, torch.Tensor):
                number = self.recorder.numbers.recorded(item)
                is_computed = isinstance(number, Expr | Real)
                kinds.append(Result(self._add(number)) if is_computed else Plain(number))
            elif id(item) in seen:
                kinds.append(SameAs(seen[id(item)]))
            else:
                seen[id(item)] = place
                kinds.append(self._output(item, counts, bases, place))
        self._require_copies()
        mutations = self._mutations()
        constants = tuple(self.recorder.constants)
        convention = Convention(self.inputs, constants, tuple(kinds), mutations, self.sizes)
        flows = None
        if tangents:
            defined = {place: grad for place, grad in grads.items() if grad is not None}
            flows = Gradients(len(self.results), tuple(self.differentiable), tangents, tuple(defined))
            for grad in defined.values():
                self._add(read(self.recorder.builder, self.recorder.cell(grad)).var)
        graph = self.recorder.numbers.settled(self.recorder.builder.graph(self.results))
        return Traced(graph, convention, flows)

    def _output(
        self, tensor: torch.Tensor, counts: Mapping[int, int], bases: dict[int, int], place: int
    ) -> Output:
        cell = self.recorder.cell(tensor)
        storage = cell.storage
        meta = meta_of(tensor)
        if meta.device == "meta" and storage.input is not None and storage.input >= self.inputs:
            raise NotFunctional("a literal on the meta device is returned, whose making no operator shows")
        if storage.input is not None and not cell.chain:
            return InputItself(storage.input)
        if isinstance(tensor, torch.nn.Parameter):
            raise NotFunctional("a parameter is made")
        if any(step.op.name in ("aten._conj.default", "aten._neg_view.default") for step in cell.chain):
            raise NotFunctional("a view that shows other numbers is returned")
        if id(tensor) in self.sources:
            value = read(self.recorder.builder, cell).var
            self.differentiable.append(self._add(self.recorder.builder.restrided(value, meta)))
            return Result(self.differentiable[-1])
        if tensor.requires_grad:
            raise NeedsGrad(f"output {place}, a view of an input,")
        if storage.input is not None:
            return ViewOfInput(storage.input, self._relative(meta, storage.meta))
        if counts[id(storage)] == 1:
            return self._fresh(cell, meta)
        key = id(storage)
        if key not in bases:
            bases[key] = self._add(self.recorder.builder.restrided(storage.value.var, storage.meta))
        if not cell.chain:
            return Result(bases[key])
        return ViewOfResult(bases[key], self._relative(meta, storage.meta))

    def _fresh(self, cell: Cell, meta: TensorMeta) -> Output:
        """Return an output that shares memory with no other."""
        value = read(self.recorder.builder, cell)
        if generally_all_equal(value.meta.strides, meta.strides):
            return Result(self._add(value.var))
        var = self.recorder.builder.restrided(cell.storage.value.var, cell.storage.meta)
        return ViewOfResult(self._add(var), self._relative(meta, cell.storage.meta))

    def _add(self, result: Arg) -> int:
        self.results.append(result)
        return len(self.results) - 1

    def _relative(self, meta: TensorMeta, base: TensorMeta) -> TensorMeta:
        """Return `meta` with its offset counted from the base's; its symbolic numbers become results.

        Raises:
            NotFunctional: the view has another type, so that the two count in other units.
        """
        if meta.dtype is not base.dtype:
            raise NotFunctional("a view of another type is returned")
        offset = meta.offset - current(base).offset
        for number in () if meta.is_static else (*meta.sizes, *meta.strides, offset):
            if not number.is_const and number not in self.sizes:
                self.sizes[number] = self._add(number)
        return TensorMeta(meta.sizes, meta.strides, meta.dtype, meta.device, offset)

    def _require_copies(self) -> None:
        """Guard that a copy is one in eager too, where a write afterwards would show the difference.

        Raises:
            NotFunctional: in this call it is none.
        """
        for copy in self.recorder.copies:
            if copy.source.version == copy.version and not copy.made.version:
                continue
            for size in copy.sizes:
                if not size.is_const and not decide(not_equal(size, ONE)):
                    raise NotFunctional("a view for this size, and a copy for others, is written")

    def _mutations(self) -> tuple[Mutation, ...]:
        """Add the final value of each written input to the results.

        Raises:
            NotFunctional: a constant of the program is written.
        """
        found: list[Mutation] = []
        storages = {id(c.storage): c.storage for _, c in self.recorder.cells()}
        for storage in storages.values():
            if storage.input is None or not storage.version:
                continue
            if storage.input >= self.inputs:
                raise NotFunctional("a tensor that the program holds is written")
            shown = [tensor for tensor, cell in self.recorder.cells() if cell.storage is storage]
            # What is written where nothing is recorded for autograd stays the leaf that it was.
            if any(item.requires_grad and (self.sources or not item.is_leaf) for item in shown):
                raise NeedsGrad(f"input {storage.input}, which is written,")
            found.append(Mutation(storage.input, self._add(storage.value.var)))
        return tuple(sorted(found, key=lambda mutation: mutation.input))

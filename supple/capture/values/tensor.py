"""Tensors: a fake tensor that stands for the real one, and how calls on it become graph nodes."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

import torch

from supple.capture import breaks
from supple.capture.guards.kinds import Identity, Kind
from supple.capture.machine import Machine
from supple.capture.source import Source, attribute, instance_attribute, is_view, of_view
from supple.capture.values.attributes import MISSING, SLOT_KINDS, is_data_descriptor, lookup
from supple.capture.values.base import NotConstant, Value, refuse_attribute
from supple.capture.values.constant import ConstantValue
from supple.capture.values.function import BoundMethodValue, LeafValue
from supple.capture.values.histories import heed_histories, heed_views_written
from supple.capture.values.instance import InstanceValue
from supple.capture.values.layouts import (
    guard_offsets,
    heed_formats,
    heed_shown_written,
    layout_asked,
    note_layouts,
    operation,
    refuse_small,
)
from supple.capture.values.mapping import DictValue
from supple.capture.values.sequence import SequenceValue, SliceValue, new_tuple
from supple.capture.values.symbolic import TYPES, SymbolicValue
from supple.ir.graph.nodes import Arg, Var, map_arg
from supple.ir.ops import Op, function_op, method_op, op_on
from supple.runtime.classes import own_dict
from supple.shapes.errors import DataDependent, NoShapeRule
from supple.shapes.fake import numbers_read

#: Attributes that are plain metadata, read off the fake tensor.
METADATA: Final = frozenset(
    "shape dtype device ndim layout requires_grad is_cuda is_cpu is_meta is_sparse is_quantized is_nested "
    "itemsize nbytes is_mkldnn is_xpu is_mps is_xla is_mtia is_ipu is_vulkan is_maia "
    "is_sparse_csr".split()
)
#: Attributes that are tensors.
TENSOR_ATTRIBUTES: Final = frozenset("T mT H mH real imag data".split())
_KNOWN: Final = METADATA | TENSOR_ATTRIBUTES | {"is_leaf", "grad_fn"}

#: Methods that answer from metadata; no graph needs them.
QUERIES: Final = frozenset(
    "size stride numel nelement dim ndimension storage_offset is_contiguous element_size is_floating_point "
    "is_complex is_inference is_same_size is_signed __len__".split()
)
#: Those whose answer is another where a size is 1.
LAYOUT_QUERIES: Final = ("stride", "is_contiguous")
#: Operations that count elements from the start of the storage.
OF_STORAGE: Final = (
    "storage_offset",
    "as_strided",
    "as_strided_",
    "as_strided_copy",
    "as_strided_scatter",
    "set_",
)
RAISED: Final = (RuntimeError, TypeError, ValueError, LookupError, ArithmeticError)
"""What torch raises for arguments that do not fit, numbers that C cannot hold among them."""
#: Functions whose other answers fakes give as tensors do: what more they tell of a fake may be wrong.
ANSWERS: Final = QUERIES.union("type get_device result_type".split())


_STACK: Final = "\nException raised from "
"""What stands between torch's words and the stack of its C++ code."""
_OF_VIEWS: Final = "is being modified inplace"
"""What torch says of a write that it refuses for how the view was made."""


class TensorValue(Value):
    """A tensor.

    Attributes:
        fake: carries the metadata, and is what torch functions run on during capture.
        obj: the existing tensor, None for a result.
        attrs: attributes that the program wrote, `grad` included.
    """

    __slots__ = ("attrs", "fake", "obj")

    def __init__(
        self, fake: torch.Tensor, source: Source | None = None, obj: torch.Tensor | None = None
    ) -> None:
        super().__init__(source)
        self.attrs: dict[str, Value] = {}
        self.fake = fake
        self.obj = obj

    def python_type(self) -> type:
        if self.obj is None:
            return torch.nn.Parameter if isinstance(self.fake, torch.nn.Parameter) else torch.Tensor
        return type(self.obj)

    def describe(self) -> str:
        shape = "x".join(str(size) for size in self.fake.shape) or "scalar"
        name = f" {self.source.name}" if self.source else ""
        return f"tensor{name} ({self.fake.dtype}, {shape})"

    def identity(self) -> object:
        return ("tensor", id(self.fake))

    def key(self, machine: Machine) -> object:
        return machine.tell_apart(self)

    def truth(self, machine: Machine) -> bool:
        machine.unsupported(breaks.BRANCH_ON_TENSOR, name=self.describe())

    def length(self, machine: Machine) -> Value:
        if self.fake.ndim == 0:
            machine.throw(TypeError, "len() of a 0-d tensor")
        return machine.wrap(self.fake.shape[0], None)

    def get_attr(self, machine: Machine, name: str) -> Value:
        if name in self.attrs:
            return self.attrs[name]
        if name in _KNOWN:
            return self._known(machine, name)
        if name == "__class__":
            return machine.wrap(self.python_type(), None)
        if self.obj is not None and name in own_dict(self.obj):
            source = instance_attribute(self.source, name) if self.source else None
            return machine.wrap(own_dict(self.obj)[name], source)
        if name == "grad":
            return self._gradient(machine)
        found = lookup(self.python_type(), name)
        if found is MISSING:
            if self.obj is not None:
                machine.guard(self.source, Kind.LACKS_ATTRIBUTE, name)
            refuse_attribute(machine, self.python_type(), name)
        if callable(found):
            if self.obj is not None:
                machine.guard(self.source, Kind.LACKS_ATTRIBUTE, name)
            return BoundMethodValue(self, LeafValue(found))
        machine.unsupported(breaks.ATTRIBUTE, name=name, owner=self.describe())

    def _known(self, machine: Machine, name: str) -> Value:
        """Return what torch itself answers; a program may have put an answer of its own in that place."""
        if not isinstance(lookup(self.python_type(), name), SLOT_KINDS):
            machine.unsupported(breaks.ATTRIBUTE, name=name, owner=self.describe())
        if name in METADATA:
            return machine.wrap(_metadata(self.fake, name), None)
        if name in TENSOR_ATTRIBUTES:
            return emit(machine, function_op("builtins.getattr", getattr), [self, ConstantValue(name)], {})
        return self._place_in_autograd(machine, name)

    def set_attr(self, machine: Machine, name: str, new: Value) -> None:
        if name == "requires_grad":
            _refuse_made(machine, "requires_grad", self)
            if not self._is_leaf(machine, name):  # unlike the method, which may say what holds
                machine.unsupported(breaks.ATTRIBUTE, name=name, owner=f"{self.describe()}, no leaf")
            machine.call_leaf(torch.Tensor.requires_grad_, [self, new], {})
            return
        found = lookup(self.python_type(), name)
        is_plain = not is_data_descriptor(found) if name != "grad" else self._fits_gradient(new)
        if not is_plain:
            machine.unsupported(breaks.ATTRIBUTE, name=name, owner=self.describe())
        machine.heap.put(self.attrs, name, new)
        if self.obj is not None:
            machine.heap.touch(self)
        elif name == "_is_buffer":  # what torch.nn.Buffer asks for
            setattr(self.fake, name, new.truth(machine))

    def _fits_gradient(self, new: Value) -> bool:
        """Tell whether torch takes a value for `x.grad`."""
        if isinstance(new, TensorValue):
            mine, theirs = self.fake, new.fake
            is_alike = (mine.dtype, mine.device) == (theirs.dtype, theirs.device)
            return new is not self and is_alike and mine.shape == theirs.shape
        return isinstance(new, ConstantValue) and new.value is None

    def _place_in_autograd(self, machine: Machine, name: str) -> Value:
        """Return `x.is_leaf` (guarded), or `x.grad_fn` where that is None."""
        is_leaf = self._is_leaf(machine, name)
        if self.obj is not None and self.obj.requires_grad and self.fake.requires_grad:
            is_leaf = self.obj.is_leaf
            if is_leaf:
                self._require_no_view(machine, self.obj, name)
            machine.guard(attribute(self.source, "is_leaf") if self.source else None, Kind.EQUALS, is_leaf)
        if name == "is_leaf":
            return ConstantValue(is_leaf)
        if not is_leaf:
            machine.unsupported(breaks.ATTRIBUTE, name=name, owner=self.describe())
        return ConstantValue(None)

    def _is_leaf(self, machine: Machine, name: str) -> bool:
        """Tell whether it is a leaf now. Break where torch refuses to say: of a view, its base written."""
        try:
            return self.fake.is_leaf
        except RuntimeError:
            machine.unsupported(breaks.ATTRIBUTE, name=name, owner=self.describe())

    def _require_no_view(self, machine: Machine, leaf: torch.Tensor, name: str) -> None:
        """Break where a leaf is a view, older than what its base is; guarded. A write makes such no leaf."""
        if type(leaf) is torch.nn.Parameter:
            return
        machine.guard(of_view(self.source) if self.source else None, Kind.EQUALS, is_view(leaf))
        if is_view(leaf):
            machine.unsupported(breaks.ATTRIBUTE, name=name, owner=f"{self.describe()}, a view of a leaf")

    def _gradient(self, machine: Machine) -> Value:
        """Return `x.grad` of an existing leaf (guarded)."""
        if self.obj is None or self.source is None or not self.obj.is_leaf:
            machine.unsupported(breaks.ATTRIBUTE, name="grad", owner=self.describe())
        if self.obj.grad is None:
            machine.guard(self.source, Kind.NO_GRADIENT)
            return ConstantValue(None)
        return machine.wrap(self.obj.grad, attribute(self.source, "grad"))

    def get_item(self, machine: Machine, key: Value) -> Value:
        part, key = _selected(machine, self, key)
        if part is not self and key.identity() is ...:
            return part
        return machine.call_leaf(torch.Tensor.__getitem__, [part, key], {})

    def set_item(self, machine: Machine, key: Value, new: Value) -> None:
        part, key = _selected(machine, self, key)
        machine.call_leaf(torch.Tensor.__setitem__, [part, key, new], {})

    def contains(self, machine: Machine, item: Value) -> Value:
        machine.unsupported(breaks.BRANCH_ON_TENSOR, name=f"`in` of {self.describe()}")

    def iterate(self, machine: Machine) -> Value:
        if self.fake.ndim == 0:
            machine.throw(TypeError, "iteration over a 0-d tensor")
        return machine.call_leaf(torch.Tensor.unbind, [self, ConstantValue(0)], {}).iterate(machine)

    def call(self, machine: Machine, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
        machine.throw(TypeError, "'Tensor' object is not callable")


def _selected(machine: Machine, tensor: Value, key: Value) -> tuple[Value, Value]:
    """Return a part of a tensor, and a key into it that is what `key` is into the tensor.

    Torch makes plain integers of those in a tuple, so symbolic ones are selected before. A part that is
    all that the key asks for has the key `...`.
    """
    assert isinstance(tensor, TensorValue), tensor.describe()
    keys = key.all(machine) if isinstance(key, SequenceValue) and issubclass(key.kind, tuple) else []
    places = [place for place, one in enumerate(keys) if isinstance(one, SymbolicValue)]
    taken = _dims_before(keys, tensor.fake.ndim, places[-1]) if places else []
    if not taken:
        return tensor, key
    part: Value = tensor
    rest = list(keys)
    for place in range(places[-1]):
        if keys[place].identity() is None:
            # Its stride is that of the dimension behind it, which may be one that is selected.
            at = ConstantValue(sum(taken[:place]))
            part = machine.call_leaf(torch.Tensor.unsqueeze, [part, at], {})
            rest[place], taken[place] = ConstantValue(slice(None)), 1
    for place in reversed(places):  # the last first: the others stay where they are
        dim = ConstantValue(sum(taken[:place]))
        part = machine.call_leaf(torch.Tensor.select, [part, dim, rest.pop(place)], {})
    if all(one.identity() is ... or _is_all(one) for one in rest):
        return part, ConstantValue(...)
    return part, new_tuple(rest)


def _dims_before(keys: Sequence[Value], rank: int, last: int) -> list[int]:
    """Return how many dimensions the keys of a tuple are for, up to the last symbolic integer at least.

    Where eager counts dimensions in a way of its own there are none.
    """
    fills = [place for place, one in enumerate(keys) if one.identity() is ...]
    if len(fills) > 1:
        return []
    is_filled = any(place < last for place in fills)
    counts = [_dims_taken(one) for one in (keys if is_filled else keys[: last + 1])]
    if None in counts:
        return []
    taken = cast("list[int]", counts)
    left = rank - sum(taken)
    if left < 0:
        return []
    if is_filled:
        taken[fills[0]] = left
    return taken


def _dims_taken(key: Value) -> int | None:
    """Return how many dimensions a key of a tuple is for, 0 for `...`; None for masks and truth values."""
    match key:
        case SliceValue():
            return 1
        case TensorValue():
            return None if key.fake.dtype in (torch.bool, torch.uint8) else 1
        case SequenceValue():
            return 1 if all(_is_integer(one) for one in key.items) else None
        case ConstantValue() if key.value is None or key.value is ...:
            return 0
        case ConstantValue() if isinstance(key.value, slice):
            return 1
        case _:
            return 1 if _is_integer(key) else None


def _is_integer(value: Value) -> bool:
    return isinstance(value, ConstantValue | SymbolicValue) and value.python_type() is int


def _is_all(key: Value) -> bool:
    """Tell whether a key is `:`, as such."""
    return isinstance(key, ConstantValue) and key.value == slice(None)


def _metadata(fake: torch.Tensor, name: str) -> object:
    """Return a plain attribute; torch multiplies no symbolic sizes for `nbytes`."""
    return fake.numel() * fake.element_size() if name == "nbytes" else getattr(fake, name)


def emit(machine: Machine, op: Op, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
    """Record a node that calls `op`, run it on the fakes, and return the value of its result.

    Gives up capture when an argument has no place in a graph, or the op needs numbers (`item`).
    """
    machine.heed_mark(op.name)
    if machine.heap.devices:
        op = op_on(op, machine.heap.devices[-1])
    graph_args = tuple(to_arg(machine, value) for value in args)
    graph_kwargs = {name: to_arg(machine, value) for name, value in kwargs.items()}
    machine.heed_shared(op, (graph_args, graph_kwargs))
    fake_args = [to_fake(value) for value in args]
    fake_kwargs = {name: to_fake(value) for name, value in kwargs.items()}
    heed_histories(machine, op, (fake_args, fake_kwargs))
    try:
        with numbers_read() as read:
            result = op.traced(*fake_args, **fake_kwargs)
    except DataDependent:
        machine.unsupported(breaks.TENSOR_VALUE, name=op.name)
    except (NoShapeRule, AssertionError, AttributeError, *RAISED) as error:
        if isinstance(error, AssertionError | AttributeError) and not _is_of_torch(error):
            raise
        said = str(error).partition(_STACK)[0]
        reason = breaks.REFUSED_WRITE if _OF_VIEWS in said else breaks.LEAF_ERROR
        machine.unsupported(reason, name=op.name, error=f"{type(error).__name__}: {said}")
    heed_views_written(machine, op, (fake_args, fake_kwargs))
    heed_shown_written(machine, op, (fake_args, fake_kwargs))
    query = operation(op)
    if read and query not in ANSWERS and query != "item":
        graph_args, graph_kwargs = _with_numbers(machine, op, read, (graph_args, graph_kwargs))
    if query in LAYOUT_QUERIES:
        is_plain = query == "is_contiguous" and len(args) + len(kwargs) == 1
        result = layout_asked(machine, query, fake_args[0], result, is_plain=is_plain)
    if query in OF_STORAGE:
        guard_offsets(machine)
    if query == "storage_offset":
        refuse_small(machine, fake_args[0])
    if query not in QUERIES and _is_of_graph(result):
        heed_formats(machine, op, (fake_args, fake_kwargs))
        machine.recorder.record(op, graph_args, graph_kwargs, result, machine.user_stack())
        note_layouts(machine, op, (fake_args, fake_kwargs), result)
    elif query not in ANSWERS:
        machine.unsupported(breaks.TENSOR_VALUE, name=op.name)
    return of_result(machine, result)


def _with_numbers(
    machine: Machine, op: Op, read: Sequence[tuple[torch.Tensor, object]], args: Any
) -> tuple[tuple[Arg, ...], dict[str, Arg]]:
    """Return arguments in which the tensors that the op reads as numbers are numbers, which nodes read."""
    numbers: dict[Var, Arg] = {}
    for tensor, number in read:
        if type(number) not in TYPES or not machine.recorder.knows(tensor):
            machine.unsupported(breaks.TENSOR_VALUE, name=op.name)
        var = machine.recorder.var_of(tensor)
        machine.recorder.record(method_op("item"), (var,), {}, number, machine.user_stack())
        numbers[var] = SymbolicValue(cast("torch.SymInt | torch.SymFloat | torch.SymBool", number)).expr
    return map_arg(lambda var: numbers.get(var, var), args)


def _is_of_torch(error: BaseException) -> bool:
    """Tell whether a function of torch itself raises an exception."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    return place is not None and str(place.tb_frame.f_globals.get("__name__")).startswith("torch.")


def _refuse_made(machine: Machine, name: str, tensor: TensorValue) -> None:
    """Break where autograd made an argument, of which eager refuses something; guarded."""
    if tensor.obj is not None and tensor.source is not None:
        is_leaf = tensor.obj.is_leaf
        machine.guard(attribute(tensor.source, "is_leaf"), Kind.EQUALS, is_leaf)
        if not is_leaf:
            machine.unsupported(breaks.ATTRIBUTE, name=name, owner=f"{tensor.describe()}, which is no leaf")


def _is_of_graph(result: object) -> bool:
    """Tell whether a torch function gave what a graph can give: tensors, numbers of the run, nothing."""
    if isinstance(result, tuple | list):
        return any(map(_is_of_graph, cast("Sequence[object]", result))) or not result
    return result is None or isinstance(result, torch.Tensor | torch.SymInt | torch.SymFloat | torch.SymBool)


def of_result(machine: Machine, result: object) -> Value:
    """Return the value of what a torch function gave on fakes: tensors, tuples of them, constants."""
    if isinstance(result, torch.Tensor):
        known = machine.tensors.get(id(result))
        if known is None:
            known = machine.tensors[id(result)] = TensorValue(result)
        return known
    if isinstance(result, tuple | list):
        kind: type = type(cast("object", result))
        return SequenceValue(kind, [of_result(machine, item) for item in cast("Sequence[object]", result)])
    return machine.wrap(result, None)


def to_arg(machine: Machine, value: Value) -> Arg:
    """Return a value as an argument of a graph node."""
    return _convert(value, lambda tensor: machine.recorder.var_of(tensor.fake), machine)


def to_fake(value: Value) -> object:
    """Return a value as an argument for running on fakes."""
    return _convert(value, lambda tensor: tensor.fake, None)


def _convert(value: Value, tensor: Callable[[TensorValue], object], machine: Machine | None) -> object:
    match value:
        case TensorValue():
            return tensor(value)
        case SequenceValue():
            parts = value.items if machine is None else value.all(machine)
            items = [_convert(one, tensor, machine) for one in parts]
            return items if value.is_mutable else tuple(items)
        case DictValue():
            if machine is not None:
                value.values(machine)
            return {key: _convert(one, tensor, machine) for key, (_, one) in value.items.items()}
        case SliceValue():
            return slice(*(_convert(one, tensor, machine) for one in value.parts))
        case SymbolicValue() if value.python_type() is bool:
            return value.as_python()
        case SymbolicValue():
            return value.expr if machine is not None else value.number
        case InstanceValue() if isinstance(value.obj, str | int | float) and not value.has_operators():
            return value.obj
        case InstanceValue() if isinstance(value.obj, torch.Generator):
            if machine is not None:
                machine.guard(value.source, Kind.ID, Identity(id(value.obj), "a generator of random numbers"))
            return value.obj
        case _:
            try:
                return value.as_python()
            except NotConstant:
                assert machine is not None, value.describe()
                machine.unsupported(breaks.OPERATOR, name="a graph node", kinds=value.describe())

"""What NumPy does: with arrays the torch function of the same meaning, with numbers NumPy itself."""

import warnings
from collections.abc import Callable, Mapping
from typing import Any, Final, cast

import numpy as np
import torch

from supple.capture import breaks
from supple.capture.library.calls import name_of
from supple.capture.library.operations import torch_op
from supple.capture.library.table import Args, Call, Kwargs, call
from supple.capture.library.text import CallEffect
from supple.capture.machine import Machine
from supple.capture.values.array import ArrayValue, Memory, torch_type
from supple.capture.values.base import NotConstant, Value
from supple.capture.values.constant import ConstantValue, wrap_folded
from supple.capture.values.function import LeafValue
from supple.capture.values.sequence import SequenceValue, new_tuple
from supple.capture.values.symbolic import SymbolicValue
from supple.capture.values.tensor import TensorValue, emit
from supple.runtime.arrays import from_numpy
from supple.runtime.state import numpy_errors

Function = Callable[..., object]

_SAME: Final = (
    "add multiply divide negative sqrt square exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos "
    "arctan sinh cosh tanh floor ceil trunc maximum minimum equal not_equal less less_equal greater "
    "greater_equal isnan isinf isfinite logical_not logical_and logical_or where matmul sum mean prod all "
    "any argmax argmin stack clip ravel squeeze swapaxes moveaxis zeros_like ones_like"
).split()
"""Functions whose names, arguments and results are the same in torch."""
FUNCTIONS: Final[Mapping[str, str]] = {
    **{name: name for name in _SAME},
    **{"subtract": "sub", "abs": "abs", "rint": "round", "max": "amax", "min": "amin"},
    **{"concatenate": "cat", "equal": "eq", "not_equal": "ne"},
}
"""By NumPy's name, torch's."""
_METHODS: Final = "sum mean prod all any argmax argmin max min clip ravel squeeze swapaxes".split()
REFUSALS: Final = (NotConstant, ArithmeticError, LookupError, TypeError, ValueError)
"""What NumPy, or a value that is not known, says to arguments."""
_NAMES: Final = ("axis", "keepdims")
"""Keyword arguments that torch takes too."""


def has_array(*values: Value) -> bool:
    """Tell whether one of the values is an array, or a list or tuple with one in it."""
    return any(
        isinstance(value, ArrayValue) or (isinstance(value, SequenceValue) and has_array(*value.items))
        for value in values
    )


def _as_tensors(value: Value) -> Value:
    match value:
        case ArrayValue():
            return value.tensor
        case SequenceValue():
            return SequenceValue(value.kind, [_as_tensors(item) for item in value.items])
        case ConstantValue(value=np.generic()):
            return ConstantValue(cast("np.generic[object]", value.value).item())
        case _:
            return value


def _example(value: Value) -> object:
    """Return ones of the same type, with as many dimensions."""
    match value:
        case ArrayValue():
            return value.dtype.type(1) if value.is_scalar else np.ones((2,) * value.rank, value.dtype)
        case SequenceValue():
            return [_example(item) for item in value.items]
        case SymbolicValue():
            return value.python_type()(1)
        case _:
            return value.as_python()


def _meant(function: Function, args: Args, kwargs: Kwargs) -> "np.ndarray[Any, Any] | np.generic[Any] | None":
    """Return what a function gives for ones, where that is one array or number."""
    try:
        with warnings.catch_warnings(action="ignore"):
            found = function(*map(_example, args), **{name: _example(arg) for name, arg in kwargs.items()})
    except REFUSALS:
        return None
    return cast("np.generic[Any]", found) if isinstance(found, np.ndarray | np.generic) else None


def _on_arrays(function: Function, of_tensors: object) -> Call:
    """Return the rule of a function whose results have the type and the rank that they have for ones."""
    op = torch_op(of_tensors)

    def rule(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
        if not has_array(*args):
            return _on_numbers(machine, function, args, kwargs)
        machine.ask_state("numpy_errors")
        if not {"ignore", "warn"}.issuperset(numpy_errors()):
            machine.unsupported(
                breaks.NUMPY, name=f"{name_of(function)}, whose errors are to be more than warnings"
            )
        writes = isinstance(function, np.ufunc) and len(args) > function.nin
        if writes or not all(name in _NAMES for name in kwargs):
            machine.unsupported(breaks.NUMPY, name=name_of(function))
        wanted = _meant(function, args, kwargs)
        found = None if wanted is None or op is None else emit(machine, op, [*map(_as_tensors, args)], kwargs)
        if wanted is not None and isinstance(found, TensorValue):
            made = ArrayValue(found, is_scalar=isinstance(wanted, np.generic))
            if (made.dtype, made.rank) == (wanted.dtype, wanted.ndim):
                return made
        machine.unsupported(breaks.NUMPY, name=name_of(function))

    return rule


def _on_numbers(machine: Machine, function: Function, args: Args, kwargs: Kwargs) -> Value:
    """Return what NumPy gives; a warning is for the call to give."""
    if not all(isinstance(value, ConstantValue) for value in (*args, *kwargs.values())):
        machine.unsupported(breaks.NUMPY, name=name_of(function))
    given = [value.as_python() for value in args]
    try:
        with np.errstate(all="raise"):
            return wrap_folded(machine, function(*given, **{k: v.as_python() for k, v in kwargs.items()}))
    except REFUSALS:
        machine.unsupported(breaks.NUMPY, name=name_of(function))


for _name, _of_tensors in FUNCTIONS.items():
    _rule = _on_arrays(getattr(np, _name), getattr(torch, _of_tensors))
    call.on(getattr(np, _name))(_rule)
    if _name in _METHODS:
        call.on(getattr(np.ndarray, _name))(_rule)


def _view(*originals: object) -> Callable[[Call], Call]:
    """Return a decorator for what gives the array's own numbers, seen in another way or copied."""

    def register(change: Call) -> Call:
        def rule(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
            array, *rest = args
            if not isinstance(array, ArrayValue) or kwargs:
                machine.unsupported(breaks.NUMPY, name=change.__name__.strip("_"))
            found = change(machine, [array.tensor, *map(_as_tensors, rest)], kwargs)
            assert isinstance(found, TensorValue), found.describe()
            return ArrayValue(found, memory=array.memory)

        for original in originals:
            call.on(original)(rule)
        return rule

    return register


@_view(np.reshape, np.ndarray.reshape)
def _reshape(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    return machine.call_leaf(torch.Tensor.reshape, args, kwargs)


@_view(np.expand_dims)
def _expand_dims(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    return machine.call_leaf(torch.unsqueeze, args, kwargs)


@_view(np.transpose, np.ndarray.transpose)
def _transpose(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    tensor, *axes = args
    assert isinstance(tensor, TensorValue), tensor.describe()
    order = axes or [ConstantValue(dim) for dim in reversed(range(tensor.fake.ndim))]
    return machine.call_leaf(torch.Tensor.permute, [tensor, *order], kwargs)


@_view(np.ndarray.copy, np.array)
def _copy(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    if len(args) > 1:
        machine.unsupported(breaks.NUMPY, name="copy")
    return machine.call_leaf(torch.clone, args, {"memory_format": ConstantValue(torch.contiguous_format)})


@_view(np.ndarray.astype)
def _astype(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    dtype = torch_type(args[1].as_python()) if len(args) == 2 else None
    if dtype is None or not dtype.is_floating_point:
        machine.unsupported(breaks.NUMPY, name="astype")
    named = {"dtype": ConstantValue(dtype), "copy": ConstantValue(True)}
    return machine.call_leaf(torch.Tensor.to, args[:1], named)


def _are_keys_alike(key: Value) -> bool:
    """Tell whether a key gives the same of an array and of a tensor.

    An integer beside arrays is an array too for NumPy: where others lie between, what they choose comes
    first. Nested lists are one array for it, and it takes one `...` only.
    """
    keys = key.items if isinstance(key, SequenceValue) and key.kind is tuple else [key]
    lists = [one for one in keys if isinstance(one, SequenceValue)]
    if sum(one.identity() is ... for one in keys) > 1:
        return False
    if any(isinstance(item, SequenceValue) for one in lists for item in one.items):
        return False
    arrays = [isinstance(one, ArrayValue | TensorValue | SequenceValue) for one in keys]
    if not any(arrays):
        return True
    chosen = [
        place
        for place, (one, is_array) in enumerate(zip(keys, arrays, strict=True))
        if is_array or issubclass(one.python_type(), int | np.generic)
    ]
    return all(arrays[place] for place in chosen) or chosen[-1] - chosen[0] == len(chosen) - 1


@call.on(np.ndarray.__getitem__)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """a[key]; without dimensions a scalar, unless the key has an ellipsis."""
    array, key = args
    if not isinstance(array, ArrayValue):  # of a type that torch has not
        machine.unsupported(breaks.NUMPY, name="ndarray.__getitem__")
    keys = key.items if isinstance(key, SequenceValue) else [key]
    if not _are_keys_alike(key):
        machine.unsupported(breaks.NUMPY, name="an index with arrays")
    found = array.tensor.get_item(machine, _as_tensors(key))
    assert isinstance(found, TensorValue), found.describe()
    is_scalar = not found.fake.ndim and all(one.identity() is not ... for one in keys)
    found = machine.call_leaf(torch.clone, [found], {}) if is_scalar else found
    assert isinstance(found, TensorValue), found.describe()
    return ArrayValue(found, is_scalar=is_scalar, memory=None if is_scalar else array.memory)


@call.on(np.generic.item)
@call.on(np.ndarray.item)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """The one number of an array, as Python's."""
    array, *rest = args
    if not isinstance(array, ArrayValue) or array.rank or rest:
        machine.unsupported(breaks.NUMPY, name="item")
    return machine.call_leaf(torch.Tensor.item, [array.tensor], kwargs)


@call.on(from_numpy)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """The memory of an array, as another tensor; where it has no elements, NumPy's strides are 0."""
    array = args[0]
    if not isinstance(array, ArrayValue) or array.is_scalar:
        machine.unsupported(breaks.NUMPY, name="torch.from_numpy")
    if array.tensor.fake.is_inference() != torch.is_inference_mode_enabled():
        machine.unsupported(breaks.NUMPY, name="torch.from_numpy in another mode of inference")
    if array.memory.is_shown:
        machine.note_shared()
        tensor = array.tensor.get_attr(machine, "data")  # each tensor counts its own writes
    else:
        tensor = machine.call_leaf(torch.Tensor.detach, [array.tensor], {})
    array.memory.is_shown = True
    if array.tensor.fake.numel() != 0:
        return tensor
    strides = new_tuple([ConstantValue(0) for _ in array.tensor.fake.shape])
    return machine.call_leaf(torch.as_strided, [tensor, array.get_attr(machine, "shape"), strides], {})


@call.on(torch.Tensor.numpy)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """The memory of a tensor without gradients, as an array."""
    tensor = args[0]
    assert isinstance(tensor, TensorValue), tensor.describe()
    fake = tensor.fake
    if kwargs or fake.requires_grad or fake.device.type != "cpu" or torch_type(fake.dtype) is None:
        machine.unsupported(breaks.TENSOR_VALUE, name="Tensor.numpy")
    if tensor.source is not None:  # its memory keeps its size from now on
        machine.heap.defer(CallEffect(LeafValue(torch.Tensor.numpy), (tensor,), {}))
    found = tensor.get_attr(machine, "data")  # nobody counts what is written to an array
    assert isinstance(found, TensorValue), found.describe()
    return ArrayValue(found, memory=Memory(is_shown=True))

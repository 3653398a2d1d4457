"""Operations on tensors: the callables of torch that become nodes of a graph. No other callable does.

A callable is an operation because a table says so, never because torch defines it: much of what torch has
in C changes the process, the thread or the records of autograd. What is no operation has a rule of its own,
is Python that capture reads, or is left to Python.
"""

# Functions of torch are open types here.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false, reportUnknownVariableType=false

import types
from collections.abc import Mapping, Sequence
from typing import Final

import torch

from supple.capture.library.factories import FACTORIES
from supple.capture.library.folding import is_hashable
from supple.capture.values.base import Value
from supple.capture.values.constant import ConstantValue
from supple.ir.ops import Op, aten_op, function_op, method_op
from supple.torch_private import ATEN_NAMES, OPERATOR_NAMESPACES, OpOverload, OpOverloadPacket

EFFECTS: Final = frozenset(
    "_print _foobar _propagate_xla_data _make_dual _unpack_dual _add_batch_dim _remove_batch_dim "
    "record_stream retain_grad from_file _pin_memory _cufft_clear_plan_cache "
    "_cufft_set_plan_cache_max_size".split()
)
"""Operators of ATen that do more than to compute and write tensors."""

METHODS: Final = (
    "__abs__ __add__ __complex__ __div__ __eq__ __floordiv__ __ge__ __getitem__ __gt__ __iadd__ "
    "__idiv__ __ifloordiv__ __imod__ __imul__ __invert__ __ipow__ __isub__ __itruediv__ __le__ __lt__ "
    "__matmul__ __mod__ __mul__ __ne__ __neg__ __pos__ __pow__ __radd__ __rand__ __rdiv__ __rfloordiv__ "
    "__rlshift__ __rmatmul__ __rmod__ __rmul__ __ror__ __rpow__ __rrshift__ __rsub__ __rtruediv__ "
    "__rxor__ __setitem__ __sub__ __truediv__ as_subclass bfloat16 bool byte cdouble cfloat chalf char "
    "cpu cuda double element_size float half int ipu istft long lu mtia ndimension nelement new "
    "new_tensor norm pow pow_ short split stft type to_sparse_coo unflatten unique unique_consecutive "
    "xpu __len__ resize resize_as dim get_device is_contiguous numel storage_offset"
).split()
"""Methods of tensors that are operations, beside those that are operators of ATen by the same name.

The last five are no operators of ATen in torch 2.11."""

_DEPRECATED: Final = "upsample upsample_bilinear upsample_nearest".split()
"""Functions that say so each time, which would leave them to Python."""
_LIKE_OPERATORS: Final = "dsmm hsmm saddmm spmm _parse_to nested_tensor get_device numel".split()
_OF_FUNCTIONS: Final = ("torch.nn.functional", "torch.functional")
_NOT_WHOLE: Final = frozenset(
    {"linear_cross_entropy", "triplet_margin_with_distance_loss", "gaussian_nll_loss"}
)
"""Functions that call the program, take its objects, or raise for what tensors hold."""


def _collect() -> frozenset[object]:
    found: set[object] = set()
    for owner in OPERATOR_NAMESPACES:
        functions = (getattr(owner, name) for name in dir(owner))
        found.update(one for one in functions if _is_operator(one) or _name(one) in _LIKE_OPERATORS)
    methods = {name for name in dir(torch.Tensor) if name in ATEN_NAMES and name not in EFFECTS}
    found.update(getattr(torch.Tensor, name) for name in {*methods, *METHODS})
    for function in torch.overrides.get_testing_overrides():
        if isinstance(function, types.FunctionType) and function.__module__ in _OF_FUNCTIONS:
            found.add(function)
    found.update(getattr(torch.nn.functional, name) for name in _DEPRECATED)
    return frozenset(one for one in found if callable(one) and _name(one) not in _NOT_WHOLE) | FACTORIES


def _name(function: object) -> str:
    return str(getattr(function, "__name__", ""))


def _is_operator(function: object) -> bool:
    name = _name(function)
    return isinstance(function, types.BuiltinFunctionType) and name in ATEN_NAMES and name not in EFFECTS


OPERATIONS: Final = _collect()
"""Functions and methods of torch that compute or write tensors, and do nothing else."""


def is_operation(function: object) -> bool:
    """Tell whether a callable is an operation on tensors."""
    if isinstance(function, OpOverload | OpOverloadPacket):
        return True
    return is_hashable(function) and function in OPERATIONS


def is_factory(function: object) -> bool:
    """Tell whether a callable makes tensors from constants."""
    return is_hashable(function) and function in FACTORIES


def torch_op(function: object) -> Op | None:
    """Return the graph op of an operation, None for other callables."""
    if isinstance(function, OpOverload):
        return aten_op(function)
    if isinstance(function, OpOverloadPacket):
        ops = [aten_op(getattr(function, name)) for name in function.overloads()]
        return function_op(f"torch.ops.{function}", function, is_pure=all(op.is_pure for op in ops))
    if not is_operation(function) or not callable(function):
        return None
    name = _name(function)
    if name and getattr(torch.Tensor, name, None) is function:
        return method_op(name, is_pure=not _writes(name))
    module = getattr(function, "__module__", None) or _owner_module(function)
    made = function_op(f"{module}.{name}", function, is_pure=not name.endswith("_"))
    # Another function of the same name has the op: wrappers and closures of torch do that.
    return made if made.call == function else None


def op_for(function: object, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Op | None:
    """Return the graph op of a call of an operation; one that writes to a tensor says so."""
    op = torch_op(function)
    if op is not None and op.is_pure and _asks_to_write(function, args, kwargs):
        return function_op(f"{op.name}_in_place", op.call, is_pure=False)
    return op


def _asks_to_write(function: object, args: Sequence[Value], kwargs: Mapping[str, Value]) -> bool:
    """Tell whether arguments make a function write to a tensor: `out=` and `inplace=`."""
    given = dict(kwargs)
    if isinstance(function, types.FunctionType):
        names = function.__code__.co_varnames[: function.__code__.co_argcount]
        given.update(zip(names, args, strict=False))
    inplace = given.get("inplace")
    return "out" in kwargs or (isinstance(inplace, ConstantValue) and bool(inplace.value))


def _writes(method: str) -> bool:
    if method.startswith("__"):
        return (method.startswith("__i") and method not in ("__invert__", "__index__", "__int__")) or (
            method in ("__setitem__",)
        )
    return method.endswith("_")


def _owner_module(function: object) -> str:
    owner = getattr(function, "__self__", None)
    return owner.__name__ if isinstance(owner, types.ModuleType) else getattr(type(owner), "__module__", "")

"""Arithmetic by operand kinds: constants fold, tensors become nodes, containers combine, methods inline."""

# Some functions of the operator module are untyped.
# pyright: reportUnknownMemberType=false

import collections
import operator
import types
from collections.abc import Callable, Sequence
from typing import Final, cast

import torch

from supple.capture import breaks
from supple.capture.library import polyfills, sets
from supple.capture.library.table import Args, Kwargs, call
from supple.capture.library.text import percent
from supple.capture.machine import Machine
from supple.capture.values.array import operate
from supple.capture.values.attributes import IN_C, MISSING, is_odd, lookup, special, type_attr
from supple.capture.values.base import NotConstant, Value, name_in_c
from supple.capture.values.constant import ConstantValue, fold, fold_raw
from supple.capture.values.enums import EnumValue
from supple.capture.values.instance import InstanceValue, container
from supple.capture.values.klass import ClassValue
from supple.capture.values.mapping import DictValue, DictView, SetValue
from supple.capture.values.sequence import SequenceValue, index_of
from supple.capture.values.symbolic import applied
from supple.capture.values.tensor import TensorValue, emit
from supple.ir.ops import function_op
from supple.runtime.classes import is_on_heap

_NAMES: Final = dict(
    zip(
        "+ - * / // % ** @ & | ^ << >>".split(),
        "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift".split(),
        strict=True,
    )
)
#: symbol -> (function, name of the special method)
BINARY: Final[dict[str, tuple[Callable[..., object], str]]] = {
    symbol: (getattr(operator, f"__{name}__"), name) for symbol, name in _NAMES.items()
}
IN_PLACE: Final[dict[str, Callable[..., object]]] = {
    symbol: getattr(operator, f"i{name}") for symbol, name in _NAMES.items()
}
UNARY: Final[dict[str, Callable[..., object]]] = {
    "neg": operator.neg,
    "pos": operator.pos,
    "invert": operator.invert,
}


def binary(machine: Machine, symbol: str, left: Value, right: Value) -> Value:
    """Return `left symbol right`; a symbol that ends in `=` works in place where the left operand can."""
    is_in_place = symbol.endswith("=")
    plain = symbol.removesuffix("=")
    function, name = BINARY[plain]
    of_arrays = operate(machine, symbol, left, right)
    if of_arrays is not None:
        return of_arrays
    if isinstance(left, TensorValue) or isinstance(right, TensorValue):
        left, right = (
            _beside_tensor(machine, left, f"__{name}__"),
            _beside_tensor(machine, right, f"__r{name}__"),
        )
        if isinstance(left, InstanceValue | SetValue) or isinstance(right, InstanceValue | SetValue):
            return _by_methods(machine, symbol, left, right)
        return _on_tensors(machine, plain, left, right, is_in_place=is_in_place)
    if isinstance(left, ConstantValue) and isinstance(right, ConstantValue):
        _refuse_members(machine, f"__{name}__", left)
        _refuse_members(machine, f"__r{name}__", right)
        return fold(machine, IN_PLACE[plain] if is_in_place else function, left.value, right.value)
    symbolic = applied(machine, function, [left, right])
    if symbolic is not None:
        return symbolic
    if plain == "%" and isinstance(left, ConstantValue) and isinstance(left.value, str):
        return percent(machine, left.value, right)
    if plain == "%" and issubclass(left.python_type(), str | bytes):
        machine.unsupported(breaks.OPERATOR, name="`%`", kinds=f"{left.describe()} and {right.describe()}")
    if plain in ("+", "*"):
        _refuse_sequences(machine, symbol, left, right)
    if isinstance(right, InstanceValue) and goes_first(left, right, f"__r{name}__"):
        return _by_methods(machine, symbol, left, right)
    found = _on_containers(machine, symbol, left, right)
    return _by_methods(machine, symbol, left, right) if found is None else found


def _refuse_sequences(machine: Machine, symbol: str, left: Value, right: Value) -> None:
    """Raise what CPython says of `left + right` or `left * right` when a sequence cannot be so used.

    A sequence is asked after the methods of both operands; what has methods in Python is left to them.
    """
    method = BINARY[symbol[0]][1]
    mine, theirs = left.python_type(), right.python_type()
    if is_python_method(mine, f"__{method}__") or is_python_method(theirs, f"__r{method}__"):
        return
    if symbol[0] == "+":
        for base, text in _JOINED.items():
            if base in mine.__mro__ and base not in theirs.__mro__ and _is_decided(right):
                machine.throw(TypeError, text.format(*(name_in_c(machine, one) for one in (theirs, mine))))
        return
    is_left = not _SEQUENCES.isdisjoint(mine.__mro__)
    if not is_left and _SEQUENCES.isdisjoint(theirs.__mro__):
        return
    if symbol == "*=" and not is_left and (is_on_heap(mine) or not _CONTAINERS.isdisjoint(mine.__mro__)):
        kinds = f"{name_in_c(machine, mine)!r} and {name_in_c(machine, theirs)!r}"
        machine.throw(TypeError, f"unsupported operand type(s) for *=: {kinds}")
    count = theirs if is_left else mine
    if lookup(count, "__index__") is MISSING:
        shown = name_in_c(machine, count)
        machine.throw(TypeError, f"can't multiply sequence by non-int of type {shown!r}")


_JOINED: Final[dict[type, str]] = {
    str: 'can only concatenate str (not "{}") to str',
    bytes: "can't concat {} to {}",
}
"""What a text says of another operand of `+`."""
_VIEWS: Final[list[type]] = [type(vars(dict)[name]({})) for name in ("keys", "values", "items")]
_SEQUENCES: Final[frozenset[type]] = frozenset((str, bytes, list, tuple, collections.deque))
_CONTAINERS: Final[frozenset[type]] = frozenset(
    (dict, set, frozenset, range, types.MappingProxyType, *_VIEWS)
)
"""What is asked for members like a sequence, and is none."""


def _on_containers(machine: Machine, symbol: str, left: Value, right: Value) -> Value | None:
    """Return what an operator gives of builtin containers, None where it is about something else."""
    is_in_place = symbol.endswith("=")
    plain = symbol.removesuffix("=")
    name = BINARY[plain][1]
    whole = container(left)
    if isinstance(whole, SequenceValue) and not isinstance(left, InstanceValue):
        found = _on_sequences(machine, plain, whole, right, is_in_place=is_in_place)
        if found is not None:
            return found
    if (
        plain == "|"
        and isinstance(left, DictValue)
        and (is_in_place or isinstance(container(right), DictValue))
    ):
        return _on_dicts(machine, left, right, is_in_place=is_in_place)
    if name in sets.COMBINE and _is_set(left, name) and sets.is_set_like(right):
        return _on_sets(machine, name, left, right, is_in_place=is_in_place)
    if isinstance(right, SequenceValue) and plain == "*":
        if isinstance(left, InstanceValue):  # of a class of numbers, whose `__rmul__` nobody asks
            return _on_sequences(machine, "*", right, left, is_in_place=False)
        return binary(machine, "*", right, left)
    return None


def _is_set(value: Value, name: str) -> bool:
    """Tell whether an operator means to a value what it means to sets."""
    methods = [lookup(value.python_type(), f"__{prefix}{name}__") for prefix in ("", "i")]
    return sets.is_set_like(value) and all(one is MISSING or isinstance(one, IN_C) for one in methods)


def _beside_tensor(machine: Machine, value: Value, method: str) -> Value:
    """Return the number that an instance of a subclass is to a tensor; on the left its methods come first.

    Of an object on the right torch asks for its class and more, which a `__getattribute__` in Python sees.
    """
    is_seen = isinstance(value, InstanceValue) and is_python_method(value.cls, "__getattribute__")
    if is_seen and method.startswith("__r"):
        machine.unsupported(breaks.OPERATOR, name=method, kinds=value.describe())
    if not isinstance(value, InstanceValue) or not isinstance(value.payload, ConstantValue):
        return value
    if lookup(value.cls, "__torch_function__") is not MISSING:
        machine.unsupported(breaks.OPERATOR, name=method, kinds=value.describe())
    is_taken = method.startswith("__r") and issubclass(value.cls, int | float | complex)
    return value if not is_taken and is_python_method(value.cls, method) else plain_of(value)


def _on_tensors(machine: Machine, plain: str, left: Value, right: Value, *, is_in_place: bool) -> Value:
    function = IN_PLACE[plain]
    if is_in_place and isinstance(left, TensorValue) and _is_written(function):
        tensor_operator(machine, function, [left, right], is_pure=False)
        return left
    return tensor_operator(machine, BINARY[plain][0], [left, right])


def _is_written(function: Callable[..., object]) -> bool:
    """Tell whether an operator writes to a tensor: `@=` is `@`, for tensors have no method for it."""
    return lookup(torch.Tensor, f"__{function.__name__}__") is not MISSING


def tensor_operator(
    machine: Machine, function: Callable[..., object], operands: Sequence[Value], *, is_pure: bool = True
) -> Value:
    """Return the result of an operator on tensors; what their class has under its names is guarded."""
    name = function.__name__.strip("_")
    for method in (f"__{name}__", f"__r{name}__"):
        found = lookup(torch.Tensor, method)
        if isinstance(found, types.FunctionType) and not str(found.__module__).startswith("torch."):
            machine.unsupported(breaks.OPERATOR, name=method, kinds="tensor, whose class has another one now")
    op = function_op(f"operator.{function.__name__}", function, is_pure=is_pure)
    return emit(machine, op, operands, {})


def _on_sequences(
    machine: Machine, plain: str, left: SequenceValue, right: Value, *, is_in_place: bool
) -> Value | None:
    is_extended = plain == "+" and is_in_place and left.is_mutable
    is_of_subclass = left.is_deque and left.kind is not collections.deque  # which makes a sum of two
    if (left.maxlen is not None or is_of_subclass) and not is_extended:
        return None
    if is_extended:
        machine.call(left.get_attr(machine, "extend"), [right])
        return left
    if plain == "+":
        return _concatenated(machine, left, right)
    return _repeated(machine, left, right, is_in_place=is_in_place) if plain == "*" else None


def _concatenated(machine: Machine, left: SequenceValue, right: Value) -> Value | None:
    """Return `left + right`; of two tuples of which one is empty it is the other."""
    other = container(right)
    if not isinstance(other, SequenceValue) or base_of(other) is not base_of(left):
        if isinstance(right, InstanceValue) and lookup(right.cls, "__radd__") is not MISSING:
            return None
        own, given = base_of(left).__name__, name_in_c(machine, right.python_type())
        if left.kind is torch.Size:
            machine.throw(TypeError, f"can only concatenate tuple (not {given}) to torch.Size")
        machine.throw(TypeError, f'can only concatenate {own} (not "{given}") to {own}')
    kinds = (left.kind, other.kind)
    is_size = torch.Size in (kinds if lookup(torch.Size, "__radd__") is not MISSING else kinds[:1])
    for whole, rest in ((other, left), (left, other)):
        if whole.kind is tuple and not rest.items and not is_size:
            return whole
    items = [*left.all(machine), *other.all(machine)]
    if is_size and any(item.python_type() is not int for item in items):
        machine.unsupported(breaks.OPERATOR, name="+", kinds="torch.Size and what is no size")
    return SequenceValue(torch.Size if is_size else base_of(left), items)


def _repeated(machine: Machine, left: SequenceValue, right: Value, *, is_in_place: bool) -> Value | None:
    """Return `left * right`; a tuple repeated once is itself."""
    count = right
    if isinstance(right, InstanceValue):
        is_asked = lookup(right.cls, "__rmul__") is not MISSING
        if is_asked or lookup(right.cls, "__index__") is MISSING:
            return None
        count = ConstantValue(index_of(machine, right))
    if left.kind is tuple and count.as_python() == 1:
        return left
    items = cast("list[Value]", fold_raw(machine, operator.mul, left.all(machine), count.as_python()))
    if is_in_place and left.is_mutable:
        left.rewrite(machine, items)
        return left
    is_size = left.kind is torch.Size and lookup(torch.Size, "__mul__") is not tuple.__mul__
    return SequenceValue(torch.Size if is_size else base_of(left), items)


def _on_dicts(machine: Machine, left: Value, right: Value, *, is_in_place: bool) -> Value:
    if is_in_place:
        machine.call(left.get_attr(machine, "update"), [right])
        return left
    result = machine.call_python(polyfills.dict_or, left, right)
    if isinstance(result, DictValue) and isinstance(left, DictValue):
        of_class = right if left.kind is dict and isinstance(right, DictValue) else left
        result.kind, result.factory = of_class.kind, of_class.factory
    return result


def _on_sets(machine: Machine, name: str, left: Value, right: Value, *, is_in_place: bool) -> Value:
    found = container(left)
    if isinstance(right, DictView) and isinstance(found, SetValue):
        return _on_set_and_view(machine, name, found, right)
    if is_in_place and isinstance(found, SetValue) and issubclass(found.kind, set):
        sets.combine_in_place(machine, name, found, [right])
        return left
    by_view = getattr(operator, f"__{name}__") if isinstance(left, DictView) else None
    return sets.combined(machine, name, left, [right], by_view)


def _on_set_and_view(machine: Machine, name: str, left: SetValue, right: DictView) -> Value:
    """What the view does, also in place: a new set."""
    function = getattr(operator, f"__{name}__")
    if name == "and":
        return sets.combined(machine, name, right, [left], function)
    made = SetValue()
    made.items, made.history = dict(left.items), left.told()
    return sets.combined(machine, name, made, [right], function)


def _by_methods(machine: Machine, symbol: str, left: Value, right: Value) -> Value:
    plain = symbol.removesuffix("=")
    function, name = BINARY[plain]
    attempts = [(left, f"__{name}__", right), (right, f"__r{name}__", left)]
    if left.python_type() is right.python_type():
        del attempts[1]
    elif goes_first(left, right, f"__r{name}__"):
        attempts.reverse()
    if symbol.endswith("="):
        attempts.insert(0, (left, f"__i{name}__", right))
    for owner, method, other in attempts:
        kind = owner.python_type()
        is_asked = isinstance(owner, ClassValue) and special(machine, owner, method) is not None
        if is_asked or (isinstance(owner, InstanceValue) and lookup(kind, method) is not MISSING):
            result = machine.call(type_attr(machine, owner, kind, method), [other])
            if result.identity() is not NotImplemented:
                return result
    if symbol.endswith("="):
        function = IN_PLACE[plain]
    try:
        return fold(machine, function, left.as_python(), right.as_python())
    except NotConstant:
        pass
    if _is_decided(left) and _is_decided(right):
        kinds = f"{name_in_c(machine, left.python_type())!r} and {name_in_c(machine, right.python_type())!r}"
        shown = "** or pow()" if symbol == "**" else symbol
        machine.throw(TypeError, f"unsupported operand type(s) for {shown}: {kinds}")
    machine.unsupported(
        breaks.OPERATOR, name=f"`{symbol}`", kinds=f"{left.describe()} and {right.describe()}"
    )


def goes_first(left: Value, right: Value, method: str) -> bool:
    """Tell whether the right operand, of a subclass that defines its own method, is asked before the left."""
    mine, theirs = left.python_type(), right.python_type()
    return mine in theirs.__mro__[1:] and lookup(theirs, method) is not lookup(mine, method)


def _is_decided(value: Value) -> bool:
    """Tell whether all operators of a value's type are known here."""
    if isinstance(value, InstanceValue):
        return value.payload is None
    return isinstance(value, ConstantValue) or value.python_type() in _DECIDED


_DECIDED: Final = (list, tuple, dict, set, frozenset, torch.Size, types.GeneratorType)


def _refuse_members(machine: Machine, method: str, value: Value) -> None:
    """Break where the class of a member of an enumeration has an operator of its own."""
    found = lookup(value.python_type(), method) if isinstance(value, EnumValue) else MISSING
    if is_odd(found) or (isinstance(found, types.FunctionType) and found.__module__ != "enum"):
        machine.unsupported(breaks.OPERATOR, name=method, kinds=value.describe())


def is_python_method(cls: type, name: str) -> bool:
    """Tell whether a class has a method that Python code says, which is inlined."""
    found = lookup(cls, name)
    return callable(found) and hasattr(found, "__code__")


def plain_of(value: Value) -> Value:
    """Return the constant that an instance of a subclass of str, int or float carries; others as they are."""
    if isinstance(value, InstanceValue) and isinstance(value.payload, ConstantValue):
        return value.payload
    return value


def base_of(value: SequenceValue) -> type:
    """Return the builtin type within which sequences compare."""
    return next(base for base in (tuple, list, collections.deque) if issubclass(value.kind, base))


def unary(machine: Machine, name: str, operand: Value) -> Value:
    """Return the result of neg, pos or invert."""
    function = UNARY[name]
    of_arrays = operate(machine, name, operand)
    if of_arrays is not None:
        return of_arrays
    if isinstance(operand, TensorValue):
        return tensor_operator(machine, function, [operand])
    symbolic = applied(machine, function, [operand])
    if symbolic is not None:
        return symbolic
    if isinstance(operand, InstanceValue) and lookup(operand.cls, f"__{name}__") is not MISSING:
        return machine.call(type_attr(machine, operand, operand.cls, f"__{name}__"))
    _refuse_members(machine, f"__{name}__", operand)
    try:
        return fold(machine, function, operand.as_python())
    except NotConstant:
        machine.unsupported(breaks.OPERATOR, name=name, kinds=operand.describe())


@call.on(abs)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """abs(x)."""
    operand = args[0]
    if isinstance(operand, TensorValue):
        return machine.call(operand.get_attr(machine, "abs"))
    symbolic = applied(machine, abs, [operand])
    if symbolic is not None:
        return symbolic
    method = special(machine, operand, "__abs__")
    return fold(machine, abs, operand.as_python()) if method is None else machine.call(method)


@call.on(round)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """round(x[, digits])."""
    method = special(machine, args[0], "__round__")
    if method is not None:
        return machine.call(method, args[1:], kwargs)
    if isinstance(args[0], TensorValue):
        machine.unsupported(breaks.OPERATOR, name="round()", kinds=args[0].describe())
    plain = [value.as_python() for value in (*args, *kwargs.values())]
    return fold(machine, round, *plain)

"""copy.copy and copy.deepcopy of containers, constants and objects of Python classes."""

import collections
import copy
import enum
import types
from typing import Final

from supple.capture import breaks
from supple.capture.library.table import Args, Kwargs, call
from supple.capture.machine import Machine
from supple.capture.values.attributes import lookup, special
from supple.capture.values.base import LazyValue, NotConstant, Value
from supple.capture.values.constant import ConstantValue
from supple.capture.values.function import BoundMethodValue, FunctionValue, LeafValue
from supple.capture.values.instance import DELETED, InstanceDict, InstanceValue, has_dict
from supple.capture.values.klass import ClassValue
from supple.capture.values.mapping import DictValue, SetValue
from supple.capture.values.sequence import SequenceValue
from supple.capture.values.symbolic import SymbolicValue
from supple.runtime.sets import History

_HOOKS: Final = "__reduce_ex__ __reduce__ __getstate__ __setstate__ __getnewargs__ __getnewargs_ex__".split()
_OF_ITEMS: Final = frozenset(
    "__new__ __iter__ __getitem__ __setitem__ __len__ append extend add update items keys".split()
)
"""Methods by which a copy of an instance of a builtin container is filled, if its class has them."""
_HOLDING_MORE: Final = (BaseException, collections.defaultdict)
_WHOLE: Final = (ConstantValue, SymbolicValue, FunctionValue, LeafValue, ClassValue)


@call.on(copy.copy)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """copy.copy(x)."""
    value = args[0]
    if isinstance(value, InstanceValue):
        method = special(machine, value, "__copy__")
        if method is not None:
            return machine.call(method)
    return _shallow(machine, value) or value


def _shallow(machine: Machine, value: Value) -> Value | None:
    """Return a new object with the same parts; None for one that is its own copy."""
    match value:
        case _ if isinstance(value, _WHOLE):
            return None
        case SequenceValue():
            if not value.is_mutable:
                return None
            made = SequenceValue(value.kind, value.all(machine))
            made.maxlen = value.maxlen
            return made
        case InstanceDict():
            return value.as_dict(machine)
        case DictValue():
            value.complete(machine)
            copied = DictValue(value.kind)
            copied.factory = value.factory
            copied.items = dict(value.items)
            return copied
        case SetValue():
            if value.kind is frozenset:
                return None
            twin = SetValue(value.kind)
            twin.items = dict(value.items)
            told = value.told()
            twin.history = None if told is None else History(None, set[object].copy, (told,))
            return twin
        case InstanceValue() if not isinstance(value.obj, enum.Enum):
            return _shallow_instance(machine, value)
        case _:
            machine.unsupported(breaks.CALL, name=f"copy of {value.describe()}")


def _shallow_instance(machine: Machine, value: InstanceValue) -> Value:
    for name in _HOOKS:
        found = lookup(value.cls, name)
        if isinstance(found, types.FunctionType):
            machine.unsupported(breaks.CALL, name=f"copy of {value.describe()}, whose class defines {name}")
    asked = ("__new__",) if value.payload is None else _OF_ITEMS
    fills_itself = any(_is_own(value.cls, name) for name in asked)
    holds_more = not has_dict(value.cls) or any(base in value.cls.__mro__ for base in _HOLDING_MORE)
    if fills_itself or holds_more or type(value) is not InstanceValue:
        machine.unsupported(breaks.CALL, name=f"copy of {value.describe()}")
    made = InstanceValue(value.cls)
    for name in value.own_names(machine):
        own = value.own(machine, name)
        assert own is not None, name
        made.attrs[name] = own
    for name, part in value.attrs.items():
        if part is not DELETED:
            made.attrs.setdefault(name, part)
    if value.payload is not None:
        made.payload = _shallow(machine, value.payload) or value.payload
    return made


def _is_own(cls: type, name: str) -> bool:
    """Tell whether a class, or a base that is not builtin, says itself what a method does."""
    found = lookup(cls, name)
    return isinstance(getattr(found, "__func__", found), types.FunctionType)


@call.on(copy.deepcopy)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """copy.deepcopy(x): an object that is reached twice is copied once; tensors are left to Python."""
    if len(args) > 1 or kwargs:
        machine.unsupported(breaks.CALL, name="copy.deepcopy with a memo")
    return _deep(machine, args[0], {})


def _deep(machine: Machine, value: Value, memo: dict[object, Value]) -> Value:
    if isinstance(value, LazyValue):
        value = value.force(machine)
    if isinstance(value, _WHOLE):
        return value
    known = memo.get(machine.tell_apart(value))
    if known is not None:
        return known
    if isinstance(value, InstanceValue) and special(machine, value, "__deepcopy__") is not None:
        machine.unsupported(breaks.CALL, name=f"deep copy of {value.describe()}")
    if isinstance(value, BoundMethodValue) and value.python_type() is types.MethodType:
        owner = _deep(machine, value.owner, memo)
        return value if owner is value.owner else BoundMethodValue(owner, value.function)
    if isinstance(value, SequenceValue) and not value.is_mutable:
        items = [_deep(machine, item, memo) for item in value.all(machine)]
        same = all(new is old for new, old in zip(items, value.items, strict=True))
        return value if same else SequenceValue(value.kind, items)
    try:
        value.as_python()
    except NotConstant:
        pass
    else:
        return value
    made = _shallow(machine, value)
    assert made is not None, value.describe()
    memo[value.identity()] = made
    _deepen(machine, made, memo)
    return made


def _deepen(machine: Machine, made: Value, memo: dict[object, Value]) -> None:
    """Replace the parts of a new object by deep copies."""
    match made:
        case SequenceValue():
            made.items[:] = [_deep(machine, item, memo) for item in made.items]
        case DictValue():
            values = [made.find(machine, key) for key in made.keys(machine)]
            pairs = zip(made.items.items(), values, strict=True)
            made.items = {
                by_key: (_deep(machine, key, memo), _deep(machine, value, memo))
                for (by_key, (key, _)), value in pairs
                if value is not None
            }
        case InstanceValue():
            made.attrs = {name: _deep(machine, part, memo) for name, part in made.attrs.items()}
            if made.payload is not None:
                _deepen(machine, made.payload, memo)
        case _:
            pass

"""Tensors, containers, instances: guarded as far as the kind needs at once, items when they are read."""

import collections
import contextvars
import copy
import enum
import functools
import types
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np
import torch

from supple.capture import breaks
from supple.capture.guards.kinds import Identity, Kind
from supple.capture.guards.overlap import are_related
from supple.capture.source import Called, Source, attribute, item, key_at, type_of
from supple.capture.values.array import ArrayValue, torch_type
from supple.capture.values.attributes import is_odd, lookup, may_change
from supple.capture.values.base import Value
from supple.capture.values.constant import LITERALS, ConstantValue
from supple.capture.values.function import LeafValue, WeakReferenceValue
from supple.capture.values.histories import heed_memory_written, is_refused
from supple.capture.values.instance import InstanceValue
from supple.capture.values.klass import ClassValue
from supple.capture.values.mapping import DictValue, SetValue
from supple.capture.values.memoized import MemoizedValue
from supple.capture.values.pymodule import PythonModuleValue
from supple.capture.values.reach import Reach
from supple.capture.values.sequence import SequenceValue, SliceValue, is_plain_record, wrap_sequence
from supple.capture.values.symbolic import SymbolicValue
from supple.capture.values.tensor import TensorValue
from supple.capture.wrapping.table import wrap, wrap_rules, wraps
from supple.runtime.arrays import memory_of
from supple.runtime.classes import own_dict
from supple.runtime.rebuild import stored_set
from supple.runtime.sets import History
from supple.shapes.fake import is_describable
from supple.torch_private import is_zero_tensor, no_torch_dispatch

if TYPE_CHECKING:
    from supple.capture.interp.engine import Engine

#: Classes of tensors that a graph takes.
PLAIN_TENSORS: Final = (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer)

BITS: Final[Mapping[str, Callable[[torch.Tensor], bool]]] = {
    "is_conj": torch.Tensor.is_conj,
    "is_neg": torch.Tensor.is_neg,
    "is_zerotensor": is_zero_tensor,
}
"""What says that a tensor's elements are not what its memory holds."""


@wraps(torch.Tensor)
def _(engine: "Engine", obj: torch.Tensor, source: Source | None) -> Value:
    """A tensor becomes a graph input; plain tensors and parameters only."""
    if type(obj) not in PLAIN_TENSORS and not engine.recorder.knows(obj):
        engine.unsupported(breaks.OBJECT, name=type(obj).__name__, detail="it is a subclass of torch.Tensor")
    if engine.recorder.knows(obj):
        return engine.tensors[id(obj)]
    if source is None:
        engine.unsupported(breaks.OBJECT, name="tensor constant", detail="no path leads to it")
    if not is_describable(obj):
        for name in ("layout", "dtype", "is_quantized", "is_nested"):
            engine.guard(attribute(source, name), Kind.EQUALS, getattr(obj, name))
        for name, ask in BITS.items():
            engine.guard(Called(f"{source.name}.{name}()", source, ask), Kind.EQUALS, ask(obj))
        detail = "only strided tensors of usual types without a conjugate or negative bit are"
        engine.unsupported(breaks.OBJECT, name=f"{obj.layout} tensor of {obj.dtype}", detail=detail)
    if is_refused(obj):
        engine.unsupported(breaks.OBJECT, name="view out of date", detail="eager refuses to use it")
    meta, expected = engine.sizes.tensor(obj, source)
    engine.guard(source, Kind.TENSOR, expected)
    for known in engine.recorder.lifted:
        if known.has_changed and are_related(known.real, obj):
            engine.unsupported(breaks.RELATED, name="The graph", target=known.source.name, other=source.name)
    fake = engine.recorder.lift(obj, source, meta)
    heed_memory_written(engine, engine.recorder.lifted[-1])
    value = TensorValue(fake, source, obj)
    engine.tensors[id(fake)] = value
    return value


@wrap_rules.on(list, tuple, torch.Size)
def _(engine: "Engine", obj: object, source: Source | None) -> Value:
    """A list or tuple; its length is guarded, its items when they are read."""
    kind: type = type(obj)
    if kind not in (list, tuple, torch.Size) and not is_plain_record(kind):
        if issubclass(kind, tuple) and kind.__module__.startswith("torch"):
            return wrap_sequence(engine, cast("tuple[object, ...]", obj), source, type(obj))
        return _subclass_instance(engine, obj, source, list if issubclass(kind, list) else tuple)
    items = cast("list[object]", obj)
    varied = _varied(engine, items, source) if kind is tuple and source is not None else None
    return varied or wrap_sequence(engine, items, source, kind)


def _varied(engine: "Engine", items: Sequence[object], source: Source) -> SequenceValue | None:
    """Return the value of a tuple of which a number is dynamic, item by item; None for others."""
    if not any(type(one) in (int, float) for one in items):
        return None
    places = [item(source, place, tuple) for place in range(len(items))]
    numbers = [
        engine.sizes.number(cast("float", one), place) if type(one) in (int, float) else None
        for one, place in zip(items, places, strict=True)
    ]
    if not any(number is not None for number in numbers):
        return None
    engine.guard(source, Kind.TYPE, tuple)
    engine.guard(source, Kind.LENGTH, len(items))
    values: list[Value] = []
    for one, place, number in zip(items, places, numbers, strict=True):
        if number is None:
            values.append(wrap(engine, one, place))
            continue
        engine.guard(place, Kind.TYPE, type(one))
        values.append(SymbolicValue(number, place))
    return SequenceValue(tuple, values, source, items)


@wrap_rules.on(collections.deque)
def _(engine: "Engine", obj: object, source: Source | None) -> Value:
    """A deque."""
    kind = type(obj)
    if kind is not collections.deque:
        return _subclass_instance(engine, obj, source, collections.deque)
    return wrap_sequence(engine, cast("list[object]", obj), source, kind)


def _subclass_instance(engine: "Engine", obj: object, source: Source | None, base: type) -> Value:
    value = instance(engine, obj, source)
    assert isinstance(value, InstanceValue), obj
    payload: Value
    if base is dict:
        contents = DictValue(type(obj), source, cast("dict[object, object]", obj))
        payload = contents
    else:
        payload = wrap_sequence(engine, cast("list[object]", obj), source, type(obj))
    value.payload = payload
    return value


@wrap_rules.on(dict)
def _(engine: "Engine", obj: object, source: Source | None) -> Value:
    """A dict; keys are guarded one by one, or all when something depends on all."""
    kind = type(obj)
    assert isinstance(obj, dict), obj
    contents = cast("dict[object, object]", obj)
    stored = list(cast("Iterator[object]", vars(dict)["__iter__"](contents)))  # whatever a subclass says
    _refuse_noticed(engine, kind, stored)
    _claim(engine, contents, contents)
    if kind not in (dict, collections.OrderedDict, collections.defaultdict):
        return _subclass_instance(engine, contents, source, dict)
    engine.guard(source, Kind.TYPE, kind)
    value = DictValue(kind, source, contents)
    if source is None:
        value.is_complete = False
        value.complete(engine)
        value.obj = None
    if isinstance(contents, collections.defaultdict):
        factory = attribute(source, "default_factory") if source else None
        made = wrap(engine, contents.default_factory, factory)
        value.factory = None if made.identity() is None else made
    return value


def _refuse_noticed(engine: "Engine", kind: type, keys: Sequence[object]) -> None:
    """Leave a container to Python where the program notices that a key is looked up, as guards do."""
    classes = {type(one) for one in keys} - LITERALS
    if tuple in classes:
        classes |= {type(one) for key in keys if type(key) is tuple for one in cast("tuple[object]", key)}
    for cls in classes - LITERALS:
        reach = Reach()
        reach.enter(lookup(cls, "__hash__"))
        reach.enter(lookup(cls, "__eq__"))
        if reach.has_effects():
            detail = f"`__hash__` or `__eq__` of {cls.__name__}, a class of its keys, may have effects"
            engine.unsupported(breaks.OBJECT, name=kind.__name__, detail=detail)


@wrap_rules.on(types.MappingProxyType)
def _(engine: "Engine", obj: object, source: Source | None) -> Value:
    """A read-only view of a dict."""
    engine.guard(source, Kind.TYPE, types.MappingProxyType)
    value = DictValue(types.MappingProxyType, source, cast("dict[object, object]", obj))
    return value


@wrap_rules.on(set, frozenset)
def _(engine: "Engine", obj: object, source: Source | None) -> Value:
    """A set: of constants, guarded as a whole; of others, member by member, in its own order."""
    members = stored_set(cast("set[object]", obj))
    kind = type(obj)
    _refuse_noticed(engine, kind, members)
    whole = source
    if kind not in (set, frozenset) and source is not None:
        whole = Called(f"frozenset({source.name})", source, frozenset)
    value = SetValue(kind, source, obj if source else None)
    if source is None:
        is_plain = kind in (set, frozenset) and all(type(member) in LITERALS for member in members)
        value.history = History(None, kind, (copy.copy(obj),)) if is_plain else None
    value.is_placed = not all(
        type(member) in LITERALS or isinstance(member, type | enum.Enum) for member in members
    )
    if not value.is_placed:
        engine.guard(whole, Kind.EQUALS, set(members) if kind is set else frozenset(members))
    else:
        _guard_places(engine, kind, members, source)
    for place, member in enumerate(members):
        at = key_at(source, place) if value.is_placed and source is not None else None
        made = wrap(engine, member, at)
        value.items[made.key(engine)] = made
    if len(value.items) != len(members):
        engine.unsupported(breaks.OBJECT, name=kind.__name__, detail="members of it are equal by now")
    if kind in (set, frozenset):
        return value
    made = instance(engine, obj, source)
    assert isinstance(made, InstanceValue), obj
    made.payload = value
    return made


def _guard_places(engine: "Engine", kind: type, members: Sequence[object], source: Source | None) -> None:
    """Guard the class and the length of a set of which each member is guarded at its place."""
    if source is None or kind not in (set, frozenset) or len(members) > _MOST_MEMBERS:
        detail = "it holds objects that are not constants"
        engine.unsupported(breaks.OBJECT, name=kind.__name__, detail=detail)
    engine.guard(source, Kind.TYPE, kind)
    engine.guard(source, Kind.LENGTH, len(members))


_MOST_MEMBERS: Final = 64


@wrap_rules.on(slice)
def _(engine: "Engine", obj: object, source: Source | None) -> Value:
    """A slice of constants."""
    engine.guard(source, Kind.EQUALS, obj)
    parts = [wrap(engine, getattr(obj, name), None) for name in ("start", "stop", "step")]
    return SliceValue((parts[0], parts[1], parts[2]))


@wrap_rules.on(np.ndarray)
def _(engine: "Engine", obj: object, source: Source | None) -> Value:
    """An array of numbers: a tensor of the same memory."""
    with no_torch_dispatch():
        memory = memory_of(obj)
    if memory is None or source is None or torch_type(memory.dtype) is None:
        return instance(engine, obj, source)
    engine.guard(source, Kind.TYPE, np.ndarray)
    tensor = wrap(engine, memory, Called(f"memory_of({source})", source, memory_of))
    assert isinstance(tensor, TensorValue), tensor.describe()
    return ArrayValue(tensor, source)


@wrap_rules.on(weakref.ReferenceType)
def _(engine: "Engine", obj: object, source: Source | None) -> Value:
    """A weak reference; a subclass says itself what a call does."""
    if type(obj) is not weakref.ReferenceType:
        return instance(engine, obj, source)
    engine.guard(source, Kind.TYPE, weakref.ReferenceType)
    return WeakReferenceValue(cast("object", obj), source)


_BY_IDENTITY: Final[dict[type, Callable[[Any, Source | None], Value]]] = {
    type: ClassValue,
    types.ModuleType: PythonModuleValue,
    contextvars.ContextVar: LeafValue,  # its value is read when the program asks
    functools._lru_cache_wrapper: MemoizedValue,  # pyright: ignore[reportPrivateUsage]  # it has no public name
}
"""Classes of objects that are known by identity, with the kinds of their values."""


@wrap_rules.on(*_BY_IDENTITY)
def _(engine: "Engine", obj: object, source: Source | None) -> Value:
    """An object known by identity."""
    engine.guard(source, Kind.IS, obj)
    if isinstance(obj, types.ModuleType):
        _claim(engine, vars(obj), obj)
    return next(made for cls, made in _BY_IDENTITY.items() if isinstance(obj, cls))(obj, source)


@wrap_rules.on(BaseException)
def _(engine: "Engine", obj: object, source: Source | None) -> Value:
    """An exception object: its arguments are its contents."""
    value = instance(engine, obj, source)
    assert isinstance(value, InstanceValue), obj
    assert isinstance(obj, BaseException), obj
    value.payload = wrap(engine, obj.args, attribute(source, "args") if source else None)
    return value


@wrap_rules.on(str, int, float)
def _(engine: "Engine", obj: object, source: Source | None) -> Value:
    """An instance of a subclass of str, int or float."""
    value = instance(engine, obj, source)
    assert isinstance(value, InstanceValue), obj
    read = next(read for kind, read in _CONTENTS.items() if isinstance(obj, kind))
    plain = read(obj)
    called = f"{read.__qualname__}({source})"
    engine.guard(Called(called, source, read) if source else None, Kind.EQUALS, plain)
    value.payload = ConstantValue(plain)
    return value


_CONTENTS: Final[Mapping[type, Callable[[Any], object]]] = {
    str: str.__str__,
    int: int.__int__,
    float: float.__float__,
}
"""What gives the plain object that one of a subclass holds, whatever the subclass says."""


@wrap_rules.on(object)
def instance(engine: "Engine", obj: object, source: Source | None) -> Value:
    """Any other object: its type is guarded; attributes when they are read."""
    kind = type(obj)
    if may_change(kind) and is_odd(lookup(kind, "__call__")):
        engine.unsupported(breaks.OBJECT, name=kind.__name__, detail="its `__call__` is no function")
    if callable(obj) and _is_opaque_callable(kind):
        engine.guard(source, Kind.ID, Identity(id(obj), repr(obj)))
        return LeafValue(obj, source)
    if source is not None:
        engine.guard(type_of(source), Kind.IS, kind)
    _claim(engine, own_dict(obj), obj)
    return InstanceValue(kind, source, obj)


def _claim(engine: "Engine", names: dict[Any, Any], owner: object) -> None:
    """Break where a dict that holds the attributes of an object is that of another, or a dict by itself."""
    _, first = engine.namespaces.setdefault(id(names), (names, owner))
    if first is not owner or (names is owner and own_dict(owner) is names):
        detail = "its `__dict__` is shared with another object, or is a dict of the program"
        engine.unsupported(breaks.OBJECT, name=type(owner).__name__, detail=detail)


_CALLED_BY_PARTS: Final = (
    functools.partial,
    torch.nn.Module,
    *(dict, list, tuple, set, frozenset, collections.deque),
    *(str, int, float),
)
"""Classes whose objects have parts that are read, callable or not."""


def _is_opaque_callable(kind: type) -> bool:
    """Callables written in C, torch's overloads included: known by identity."""
    if issubclass(kind, _CALLED_BY_PARTS):
        return False
    call = lookup(cast("type[object]", kind), "__call__")
    return not isinstance(call, types.FunctionType) or kind.__module__.startswith("torch._ops")

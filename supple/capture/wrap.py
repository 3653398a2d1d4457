"""Python object -> Value: one table by class, then by base; guarded as far as the kind needs at once."""

import collections
import contextvars
import enum
import functools
import re
import types
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import numpy as np
import torch

from supple.base.errors import Unsupported
from supple.base.marks import ORIGINAL
from supple.base.memo import of_object
from supple.base.rules import Rules
from supple.capture import breaks
from supple.capture.guards.kinds import Identity, Kind
from supple.capture.guards.reads import note_whole
from supple.capture.source import (
    Called,
    Local,
    Source,
    attribute,
    instance_attribute,
    is_weak,
    item,
    key_at,
    type_of,
)
from supple.capture.values.array import ArrayValue, torch_type
from supple.capture.values.attributes import C_CALLABLES, is_odd, is_of_program, lookup, may_change
from supple.capture.values.base import Value, take_all
from supple.capture.values.callables import MemoizedValue
from supple.capture.values.constant import LITERALS, NUMPY_NUMBERS, ConstantValue
from supple.capture.values.function import (
    BoundMethodValue,
    CellValue,
    LeafValue,
    WeakReferenceValue,
    wrap_cell,
    wrap_function,
)
from supple.capture.values.generator import GOING_ON, GeneratorValue
from supple.capture.values.instance import EnumValue, InstanceValue
from supple.capture.values.klass import ClassValue, SuperValue
from supple.capture.values.mapping import DictValue, SetValue
from supple.capture.values.pymodule import PythonModuleValue
from supple.capture.values.sequence import (
    ITERATORS,
    IteratorValue,
    SequenceValue,
    SliceValue,
    is_plain_record,
    wrap_sequence,
)
from supple.capture.values.symbolic import TYPES, SymbolicValue
from supple.capture.values.tensor import TensorValue
from supple.runtime.arrays import memory_of
from supple.runtime.compiled import CompiledModule
from supple.runtime.rebuild import box_of, dict_of, made_of, over, relay, stored_set
from supple.shapes.fake import is_describable
from supple.shapes.symnode import Symbolic
from supple.torch_private import WRAPPED, is_patched, is_zero_tensor, no_torch_dispatch

if TYPE_CHECKING:
    from supple.capture.interp.engine import Engine

#: Classes of tensors that a graph takes.
PLAIN_TENSORS: Final = (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer)

Wrap = Callable[["Engine", object, Source | None], Value]
wrap_rules: Final[Rules[Wrap]] = Rules("wrap")
T = TypeVar("T")


def _wraps(*classes: type[T]) -> "Callable[[Callable[[Engine, T, Source | None], Value]], object]":
    """Return a decorator that makes a function the rule for objects of these classes."""
    return cast("Callable[[Callable[[Engine, T, Source | None], Value]], object]", wrap_rules.on(*classes))


def wrap(engine: "Engine", obj: object, source: Source | None) -> Value:
    """Return the value of an existing object; the same object gives the same value.

    When an object is reached by a second path, a guard ties the two paths together.
    """
    try:
        return _wrapped(engine, obj, source)
    except Unsupported:  # calls with objects of other classes need not run eager
        engine.guard(source, Kind.TYPE, type(obj))
        raise


def _wrapped(engine: "Engine", obj: object, source: Source | None) -> Value:
    kind = type(obj)
    if type(kind) is not type or issubclass(kind, type):
        _refuse_own_hash(engine, kind)
    if kind in LITERALS and not (isinstance(source, Local) and kind in NUMPY_NUMBERS):
        return _literal(engine, obj, source)
    if kind in TYPES:
        return SymbolicValue(cast("Symbolic", obj), source)
    if issubclass(kind, enum.Enum):
        engine.guard(source, Kind.IS, obj)
        note_whole(kind)
        return EnumValue(cast("enum.Enum", obj), source)
    known = engine.objects.get(id(obj))
    if known is not None:
        value = known[1]
        # The source of a cell names its contents.
        there = value.source.base if isinstance(value, CellValue) and value.source else value.source
        if source is None or source == there:
            return value
        if there is not None:
            engine.guard_same(source, there)
            if is_weak(there) and isinstance(source, Local):
                value.source = source  # the argument is what holds it
            return value
    value = _rule(kind)(engine, obj, source)
    if not (source is None and kind in (list, dict, tuple, set)):
        engine.objects[id(obj)] = (obj, value)
    return value


def _refuse_own_hash(engine: "Engine", kind: type) -> None:
    """Leave a class whose metaclass says what it is equal to, and its instances, to Python."""
    metaclass = type(cast("object", kind))
    for cls in (metaclass, kind) if issubclass(kind, type) else (metaclass,):
        if any([is_of_program(lookup(cls, name)) for name in ("__hash__", "__eq__")]):
            engine.unsupported(breaks.OBJECT, name=cls.__name__, detail="it says which classes are equal")


def _literal(engine: "Engine", obj: object, source: Source | None) -> Value:
    if source is not None and type(obj) in (int, float):
        number = engine.sizes.number(cast("float", obj), source)
        if number is not None:
            engine.guard(source, Kind.TYPE, type(obj))
            return SymbolicValue(number, source)
    kind = Kind.IS if obj is None or isinstance(obj, bool | types.CodeType) else Kind.EQUALS
    engine.guard(source, kind, obj)
    return ConstantValue(obj, source)


@of_object
def _rule(kind: type) -> Wrap:
    for cls in kind.__mro__:
        rule = wrap_rules.find(cls)
        if rule is not None:
            return rule
    raise AssertionError(kind)


BITS: Final[Mapping[str, Callable[[torch.Tensor], bool]]] = {
    "is_conj": torch.Tensor.is_conj,
    "is_neg": torch.Tensor.is_neg,
    "is_zerotensor": is_zero_tensor,
}
"""What says that a tensor's elements are not what its memory holds."""


@_wraps(torch.Tensor)
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
    meta, expected = engine.sizes.tensor(obj, source)
    engine.guard(source, Kind.TENSOR, expected)
    fake = engine.recorder.lift(obj, source, meta)
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
    return wrap_sequence(engine, cast("list[object]", obj), source, type(obj))


def _subclass_instance(engine: "Engine", obj: object, source: Source | None, base: type) -> Value:
    value = _instance(engine, obj, source)
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
    whole = source
    if kind not in (set, frozenset) and source is not None:
        whole = Called(f"frozenset({source.name})", source, frozenset)
    value = SetValue(kind, source, obj if source else None)
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
    instance = _instance(engine, obj, source)
    assert isinstance(instance, InstanceValue), obj
    instance.payload = value
    return instance


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


@_wraps(types.FunctionType)
def _(engine: "Engine", obj: types.FunctionType, source: Source | None) -> Value:
    """A Python function; its code is guarded. Of a compiled function, the original is captured.

    So it is of an optimizer's own function, on which torch.compile puts a mark for itself once it is loaded.
    """
    inner = WRAPPED if is_patched(obj) else ORIGINAL
    if inner in obj.__dict__:
        engine.guard(source, Kind.CODE, obj.__code__)
        return wrap(engine, obj.__dict__[inner], instance_attribute(source, inner) if source else None)
    value = wrap_function(engine, obj, source)
    value.closure = [engine.shared_cell(cell) for cell in value.closure]
    return value


@_wraps(CompiledModule)
def _(engine: "Engine", obj: CompiledModule, source: Source | None) -> Value:
    """A compiled module stands for its original."""
    engine.guard(source, Kind.TYPE, type(obj))
    return wrap(engine, obj.orig, attribute(source, "orig") if source else None)


@_wraps(types.CellType)
def _(engine: "Engine", obj: types.CellType, source: Source | None) -> Value:
    """A closure cell."""
    return engine.shared_cell(wrap_cell(obj, attribute(source, "cell_contents") if source else None))


@_wraps(types.MethodType)
def _(engine: "Engine", obj: types.MethodType, source: Source | None) -> Value:
    """A bound method: its function and its owner."""
    engine.guard(source, Kind.TYPE, types.MethodType)
    function = wrap(engine, obj.__func__, attribute(source, "__func__") if source else None)
    owner = wrap(engine, obj.__self__, attribute(source, "__self__") if source else None)
    return BoundMethodValue(owner, function, source)


@wrap_rules.on(super)
def _(engine: "Engine", obj: object, source: Source | None) -> Value:
    """A `super(cls, owner)` that was made before."""
    after, owner = (getattr(obj, name) for name in ("__thisclass__", "__self__"))
    if owner is None:
        engine.unsupported(breaks.OBJECT, name="super", detail="it is of a class alone")
    engine.guard(source, Kind.TYPE, super)
    engine.guard(attribute(source, "__thisclass__") if source else None, Kind.IS, after)
    return SuperValue(after, wrap(engine, owner, attribute(source, "__self__") if source else None), source)


@wrap_rules.on(*C_CALLABLES)
def _(engine: "Engine", obj: object, source: Source | None) -> Value:
    """A callable without Python code, known by identity; a method bound to an object is taken apart."""
    owner = getattr(obj, "__self__", None)
    if isinstance(obj, types.BuiltinFunctionType | types.MethodWrapperType) and not _is_free(owner):
        function = getattr(cast("type", type(owner)), obj.__name__, None)
        if function is not None:
            engine.guard(source, Kind.TYPE, type(obj))
            engine.guard(attribute(source, "__name__") if source else None, Kind.EQUALS, obj.__name__)
            wrapped = wrap(engine, owner, attribute(source, "__self__") if source else None)
            return BoundMethodValue(wrapped, LeafValue(function), source)
    engine.guard(source, Kind.IS, obj)
    return LeafValue(obj, source)


def _is_free(owner: object) -> bool:
    return owner is None or isinstance(owner, types.ModuleType | type)


@wrap_rules.on(np.ndarray)
def _(engine: "Engine", obj: object, source: Source | None) -> Value:
    """An array of numbers: a tensor of the same memory."""
    with no_torch_dispatch():
        memory = memory_of(obj)
    if memory is None or source is None or torch_type(memory.dtype) is None:
        return _instance(engine, obj, source)
    engine.guard(source, Kind.TYPE, np.ndarray)
    tensor = wrap(engine, memory, Called(f"memory_of({source})", source, memory_of))
    assert isinstance(tensor, TensorValue), tensor.describe()
    return ArrayValue(tensor, source)


@wrap_rules.on(weakref.ReferenceType)
def _(engine: "Engine", obj: object, source: Source | None) -> Value:
    """A weak reference; a subclass says itself what a call does."""
    if type(obj) is not weakref.ReferenceType:
        return _instance(engine, obj, source)
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
    return next(made for cls, made in _BY_IDENTITY.items() if isinstance(obj, cls))(obj, source)


_VIEWS: Final[Mapping[type, Callable[..., object]]] = {
    type(getattr(kind(), name)()): getattr(kind, name)
    for kind in (dict[str, object], collections.OrderedDict[str, object])
    for name in ("keys", "values", "items")
}


@wrap_rules.on(*_VIEWS)
def _(engine: "Engine", obj: object, source: Source | None) -> Value:
    """A view of a dict: what the method of its class in C gives."""
    engine.guard(source, Kind.TYPE, type(obj))
    viewed = wrap(engine, dict_of(obj), Called(f"dict_of({source})", source, dict_of) if source else None)
    view = engine.call_leaf(_VIEWS[type(obj)], [viewed], {})
    view.source = source
    return view


@wrap_rules.on(types.GenericAlias, types.UnionType, re.Pattern, re.Match)
def _(engine: "Engine", obj: object, source: Source | None) -> Value:
    """`list[int]`, `int | None`, a regular expression: constants."""
    engine.guard(source, Kind.EQUALS, obj)
    return ConstantValue(obj, source)


@wrap_rules.on(*ITERATORS)
def _(engine: "Engine", obj: object, source: Source | None) -> Value:
    """An iterator over a builtin container."""
    if source is None:
        engine.unsupported(breaks.OBJECT, name=type(obj).__name__, detail="no path leads to it")
    engine.guard(source, Kind.TYPE, type(obj))
    return IteratorValue(cast("Iterator[object]", obj), source)


@wrap_rules.on(reversed)
def _(engine: "Engine", obj: object, source: Source | None) -> Value:
    """An iterator that goes backwards over what has no methods of the program."""
    reversed_now = cast("Iterator[object]", obj)
    if source is None or type(over(reversed_now)) not in (tuple, str, bytes):
        return _instance(engine, obj, source)
    engine.guard(source, Kind.TYPE, reversed)
    engine.guard(Called(f"over({source.name})", source, over), Kind.TYPE, type(over(reversed_now)))
    return IteratorValue(reversed_now, source)


@wrap_rules.on(*GOING_ON)
def _(engine: "Engine", obj: object, source: Source | None) -> Value:
    """A view of the iterators that it is made of."""
    if source is None:
        return _instance(engine, obj, source)
    engine.guard(source, Kind.TYPE, type(obj))
    made_now = made_of(cast("Iterator[object]", obj))
    parts = wrap(engine, made_now, Called(f"made_of({source})", source, made_of))
    assert isinstance(parts, SequenceValue), parts.describe()
    if len(parts.items) > 2:  # zip(strict=True)
        return _instance(engine, obj, source)
    function, given = parts.all(engine)
    made = engine.call(function, take_all(engine, given))
    assert isinstance(made, GeneratorValue), made.describe()
    engine.generators.pop()  # Python closes it
    made.source = source
    return made


@wrap_rules.on(*weakref.ProxyTypes)
def _(engine: "Engine", obj: object, source: Source | None) -> Value:
    """A weak proxy, of which even the class is asked of an object that may be dead."""
    engine.unsupported(breaks.OBJECT, name=type(obj).__name__, detail="what it stands for may die")


@wrap_rules.on(types.GeneratorType)
def _(engine: "Engine", obj: object, source: Source | None) -> Value:
    """A generator that was made at a graph break goes on, if no Python code has gone on with it."""
    generator = cast("types.GeneratorType[object, object, object]", obj)
    if source is None or generator.gi_code is not relay.__code__ or generator.gi_frame is None:
        return _instance(engine, obj, source)
    engine.guard(source, Kind.TYPE, types.GeneratorType)
    engine.guard(attribute(source, "gi_code"), Kind.IS, relay.__code__)
    box = wrap(engine, box_of(generator), Called(f"box_of({source})", source, box_of))
    assert isinstance(box, SequenceValue), box.describe()
    if not box.items:
        return _instance(engine, obj, source)
    function, is_started, *state = box.all(engine)
    made = engine.call(function, state)
    assert isinstance(made, GeneratorValue), made.describe()
    if is_started.as_python():
        made.advance(engine)
    engine.generators.pop()  # Python closes it
    made.source = source
    return made


@wrap_rules.on(BaseException)
def _(engine: "Engine", obj: object, source: Source | None) -> Value:
    """An exception object: its arguments are its contents."""
    value = _instance(engine, obj, source)
    assert isinstance(value, InstanceValue), obj
    assert isinstance(obj, BaseException), obj
    value.payload = wrap(engine, obj.args, attribute(source, "args") if source else None)
    return value


@wrap_rules.on(str, int, float)
def _(engine: "Engine", obj: object, source: Source | None) -> Value:
    """An instance of a subclass of str, int or float."""
    value = _instance(engine, obj, source)
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
def _instance(engine: "Engine", obj: object, source: Source | None) -> Value:
    """Any other object: its type is guarded; attributes when they are read."""
    kind = type(obj)
    if may_change(kind) and is_odd(lookup(kind, "__call__")):
        engine.unsupported(breaks.OBJECT, name=kind.__name__, detail="its `__call__` is no function")
    if callable(obj) and _is_opaque_callable(kind):
        engine.guard(source, Kind.ID, Identity(id(obj), repr(obj)))
        return LeafValue(obj, source)
    if source is not None:
        engine.guard(type_of(source), Kind.IS, kind)
    return InstanceValue(kind, source, obj)


def _is_opaque_callable(kind: type) -> bool:
    """Callables written in C, torch's overloads included: known by identity."""
    if issubclass(
        kind, functools.partial | torch.nn.Module | dict | list | tuple | set | frozenset | str | int | float
    ):
        return False
    call = lookup(cast("type[object]", kind), "__call__")
    return not isinstance(call, types.FunctionType) or kind.__module__.startswith("torch._ops")

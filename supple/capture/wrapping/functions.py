"""Functions, methods and other callables; the cells and the `super` objects that their code meets."""

import types
from typing import TYPE_CHECKING, cast

from supple.base.marks import ORIGINAL
from supple.capture import breaks
from supple.capture.guards.kinds import Identity, Kind
from supple.capture.source import Called, Source, attribute, instance_attribute, pinned
from supple.capture.values.attributes import C_CALLABLES
from supple.capture.values.base import Value
from supple.capture.values.callables import GETTER_CALLS, GetterValue
from supple.capture.values.constant import LITERALS
from supple.capture.values.function import BoundMethodValue, LeafValue, wrap_cell, wrap_function
from supple.capture.values.klass import SuperValue
from supple.capture.wrapping.table import wrap, wrap_rules, wraps
from supple.runtime.compiled import CompiledModule
from supple.runtime.rebuild import arguments_of, typed_arguments
from supple.torch_private import WRAPPED, is_patched

if TYPE_CHECKING:
    from supple.capture.interp.engine import Engine


@wraps(types.FunctionType)
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


@wraps(CompiledModule)
def _(engine: "Engine", obj: CompiledModule, source: Source | None) -> Value:
    """A compiled module stands for its original."""
    engine.guard(source, Kind.TYPE, type(obj))
    return wrap(engine, obj.orig, attribute(source, "orig") if source else None)


@wraps(types.CellType)
def _(engine: "Engine", obj: types.CellType, source: Source | None) -> Value:
    """A closure cell."""
    return engine.shared_cell(wrap_cell(obj, attribute(source, "cell_contents") if source else None))


@wraps(types.MethodType)
def _(engine: "Engine", obj: types.MethodType, source: Source | None) -> Value:
    """A bound method: its function and its owner."""
    engine.guard(source, Kind.TYPE, types.MethodType)
    function = wrap(engine, obj.__func__, attribute(source, "__func__") if source else None)
    owner = wrap(engine, obj.__self__, attribute(source, "__self__") if source else None)
    return BoundMethodValue(owner, function, source)


@wrap_rules.on(*GETTER_CALLS)
def _(engine: "Engine", obj: object, source: Source | None) -> Value:
    """An existing getter, which never changes: known by the constants that it is made of, or by identity."""
    args, kwargs = arguments_of(obj)
    given = [*args, *kwargs.values()]
    engine.guard(source, Kind.TYPE, type(obj))
    if source is not None and all(type(one) in LITERALS for one in given):
        typed = Called(f"typed_arguments({source.name})", source, typed_arguments)
        engine.guard(typed, Kind.EQUALS, typed_arguments(obj))
        values = [wrap(engine, one, None) for one in given]
    else:
        engine.guard(source, Kind.ID, Identity(id(obj), repr(obj)))
        values = [wrap(engine, one, pinned(f"of_getter[{id(one):x}]", one)) for one in given]
    named = dict(zip(kwargs, values[len(args) :], strict=True))
    return GetterValue(type(obj), values[: len(args)], named, source)


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

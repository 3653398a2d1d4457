"""Iterators, generators and views: what goes over something else, and where it stands."""

import collections
import re
import types
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Final, cast

from supple.capture import breaks
from supple.capture.guards.kinds import Kind
from supple.capture.source import Called, Source, attribute
from supple.capture.values.base import Value, take_all
from supple.capture.values.begun import GOING_ON
from supple.capture.values.constant import ConstantValue
from supple.capture.values.generator import GeneratorValue
from supple.capture.values.sequence import ITERATORS, IteratorValue, SequenceValue
from supple.capture.wrapping.data import instance
from supple.capture.wrapping.table import wrap, wrap_rules
from supple.runtime.rebuild import box_of, dict_of, made_of, over, relay

if TYPE_CHECKING:
    from supple.capture.interp.engine import Engine

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
        return instance(engine, obj, source)
    engine.guard(source, Kind.TYPE, reversed)
    engine.guard(Called(f"over({source.name})", source, over), Kind.TYPE, type(over(reversed_now)))
    return IteratorValue(reversed_now, source)


@wrap_rules.on(*GOING_ON)
def _(engine: "Engine", obj: object, source: Source | None) -> Value:
    """A view of the iterators that it is made of."""
    if source is None:
        return instance(engine, obj, source)
    engine.guard(source, Kind.TYPE, type(obj))
    made_now = made_of(cast("Iterator[object]", obj))
    parts = wrap(engine, made_now, Called(f"made_of({source})", source, made_of))
    assert isinstance(parts, SequenceValue), parts.describe()
    if len(parts.items) > 2:  # zip(strict=True)
        return instance(engine, obj, source)
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
        return instance(engine, obj, source)
    engine.guard(source, Kind.TYPE, types.GeneratorType)
    engine.guard(attribute(source, "gi_code"), Kind.IS, relay.__code__)
    box = wrap(engine, box_of(generator), Called(f"box_of({source})", source, box_of))
    assert isinstance(box, SequenceValue), box.describe()
    if not box.items:
        return instance(engine, obj, source)
    function, is_started, *state = box.all(engine)
    made = engine.call(function, state)
    assert isinstance(made, GeneratorValue), made.describe()
    if is_started.as_python():
        made.advance(engine)
    engine.generators.pop()  # Python closes it
    made.source = source
    return made

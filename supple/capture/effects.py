"""Heap changes -> instructions that replay them on the objects that existed before the call."""

from collections.abc import Callable
from typing import Final

from supple.base.rules import Rules
from supple.capture import breaks
from supple.capture.rebuild import (
    Builder,
    advance,
    restore_generator,
    write_attributes,
    write_mapping,
    write_on_tensor,
    write_sequence,
    write_set,
)
from supple.capture.values.attributes import SLOT_KINDS, lookup
from supple.capture.values.base import Value
from supple.capture.values.function import CellValue
from supple.capture.values.generator import GeneratorValue
from supple.capture.values.instance import DELETED, InstanceValue, instance_dict
from supple.capture.values.mapping import DictValue, SetValue
from supple.capture.values.sequence import IteratorValue, SequenceValue
from supple.capture.values.tensor import TensorValue
from supple.runtime import rebuild as runtime

Replay = Callable[[Builder, Value], None]
replay: Final[Rules[Replay]] = Rules("replay")


@replay.on(InstanceValue)
def _(builder: Builder, value: Value) -> None:
    """Attributes written or deleted."""
    assert isinstance(value, InstanceValue), value.describe()
    kept = [name for name in value.written if value.attrs[name] is not DELETED]
    write_attributes(builder, value, kept)
    slots = {name for name in value.written if isinstance(lookup(value.cls, name), SLOT_KINDS)}
    there = {*instance_dict(value.obj), *(name for name in slots if hasattr(value.obj, name))}
    gone = tuple(name for name in value.written if value.attrs[name] is DELETED and name in there)
    if gone:
        owner = builder.prepare(value)
        builder.writer.function(runtime.delete_attributes)
        builder.writer.op("LOAD_FAST", owner)
        builder.writer.constant(gone)
        builder.writer.call(2)
        builder.writer.op("POP_TOP")


replay.on(TensorValue)(write_on_tensor)


@replay.on(SequenceValue)
def _(builder: Builder, value: Value) -> None:
    """The contents of a list or deque."""
    assert isinstance(value, SequenceValue), value.describe()
    write_sequence(builder, value)


@replay.on(DictValue)
def _(builder: Builder, value: Value) -> None:
    """The contents of a dict."""
    assert isinstance(value, DictValue), value.describe()
    write_mapping(builder, runtime.replace_mapping, builder.prepare(value), value)


@replay.on(SetValue)
def _(builder: Builder, value: Value) -> None:
    """The contents of a set."""
    assert isinstance(value, SetValue), value.describe()
    write_set(builder, builder.prepare(value), value)


@replay.on(CellValue)
def _(builder: Builder, value: Value) -> None:
    """The contents of an existing cell."""
    assert isinstance(value, CellValue), value.describe()
    contents = value.get(builder.engine)
    if contents is None:
        builder.engine.unsupported(breaks.SIDE_EFFECT, name="a deleted closure variable")
    part = builder.prepare(contents)
    cell = builder.prepare(value)
    builder.writer.op("LOAD_FAST", part)
    builder.writer.op("LOAD_FAST", cell)
    builder.writer.op("STORE_ATTR", "cell_contents")


@replay.on(IteratorValue)
def _(builder: Builder, value: Value) -> None:
    """What was taken from an existing iterator."""
    advance(builder, value)


@replay.on(GeneratorValue)
def _(builder: Builder, value: Value) -> None:
    """Where a generator from before stands."""
    assert isinstance(value, GeneratorValue), value.describe()
    restore_generator(builder, value)

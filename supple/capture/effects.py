"""What objects hold: the contents of new ones, and the changes of those that existed before the call."""

from collections.abc import Callable, Sequence
from typing import cast

from supple.capture import breaks
from supple.capture.rebuild import Builder, V, asks_keys, contents, held_by, is_existing
from supple.capture.residual import Const
from supple.capture.values.constant import ConstantIterator
from supple.capture.values.function import CellValue, FunctionValue
from supple.capture.values.generator import GeneratorValue
from supple.capture.values.instance import DELETED, InstanceValue
from supple.capture.values.mapping import DictIterator, DictValue, SetValue
from supple.capture.values.sequence import IteratorValue, SequenceIterator, SequenceValue
from supple.capture.values.tensor import TensorValue
from supple.runtime import rebuild as runtime
from supple.runtime.sets import History, replay_onto


def _holds(*kinds: type[V]) -> Callable[[Callable[[Builder, V], None]], object]:
    return cast("Callable[[Callable[[Builder, V], None]], object]", contents.on(*kinds))


@_holds(InstanceValue)
def _(builder: Builder, value: InstanceValue) -> None:
    """Contents and attributes of a new object; attributes of an existing one that were written or deleted."""
    if value.obj is None:
        payload = value.payload
        if isinstance(payload, DictValue) and payload.items:
            _write_mapping(builder, builder.prepare(value), payload)
        elif isinstance(payload, SequenceValue) and payload.is_mutable:
            _write_sequence(builder, builder.prepare(value), payload)
        elif isinstance(payload, SetValue):
            _write_set(builder, builder.prepare(value), payload)
        _write_attributes(builder, value, [name for name, part in value.attrs.items() if part is not DELETED])
        return
    gone = tuple(name for name, was_deleted in value.written.items() if was_deleted)
    if gone:
        builder.writer.run(runtime.delete_attributes, builder.prepare(value), Const(gone))
    _write_attributes(builder, value, [name for name in value.written if value.attrs[name] is not DELETED])


def _write_attributes(builder: Builder, value: InstanceValue, names: Sequence[str]) -> None:
    parts = builder.all(value.attrs[name] for name in names)
    if parts:
        builder.writer.run(runtime.set_attributes, builder.prepare(value), Const(tuple(names)), parts)


@_holds(FunctionValue, TensorValue)
def _(builder: Builder, value: FunctionValue | TensorValue) -> None:
    """Attributes set on a new function or on a tensor."""
    for name, attribute in value.attrs.items():
        builder.writer.push(builder.prepare(attribute), builder.prepare(value))
        builder.writer.op("STORE_ATTR", name)


@_holds(SequenceValue)
def _(builder: Builder, value: SequenceValue) -> None:
    """The contents of a list or deque."""
    if is_existing(value) or (value.is_mutable and value.items):
        _write_sequence(builder, builder.prepare(value), value)


def _write_sequence(builder: Builder, target: str, value: SequenceValue) -> None:
    """Make the list in the variable `target` hold the items of `value`."""
    appended, writer = value.appended, builder.writer
    parts = builder.all(value.all(builder.engine) if appended is None else appended)
    if appended is None:
        writer.run(runtime.replace_sequence, target, parts)
    else:
        writer.push(target, parts)
        writer.op("LIST_EXTEND", 1)
        writer.op("POP_TOP")


@_holds(DictValue)
def _(builder: Builder, value: DictValue) -> None:
    """The contents of a dict."""
    if is_existing(value) or value.items:
        _write_mapping(builder, builder.prepare(value), value)


def _write_mapping(builder: Builder, target: str, value: DictValue) -> None:
    parts = builder.all(part for _, part in value.items.values())
    keys = builder.members(value.items, [key for key, _ in value.items.values()])
    function = runtime.replace_mapping if is_existing(value) else runtime.fill_mapping
    builder.writer.run(function, target, dict(zip(keys, parts, strict=True)))


@_holds(SetValue)
def _(builder: Builder, value: SetValue) -> None:
    """The contents of an existing set, and of a new one that the program compares."""
    if is_existing(value) or (asks_keys(value) and value.kind is not frozenset):
        _write_set(builder, builder.prepare(value), value)


def _write_set(builder: Builder, target: str, value: SetValue) -> None:
    history, writer = value.history, builder.writer
    if isinstance(history, History):
        writer.run(replay_onto, target, Const(history), builder.given(history))
    else:
        writer.run(runtime.replace_set, target, builder.members(value.items, value.items.values()))


@_holds(CellValue)
def _(builder: Builder, value: CellValue) -> None:
    """The contents of a cell."""
    held = value.get(builder.engine)
    if held is not None:
        builder.writer.push(builder.prepare(held), builder.prepare(value))
        builder.writer.op("STORE_ATTR", "cell_contents")
    elif is_existing(value):
        builder.engine.unsupported(breaks.SIDE_EFFECT, name="a deleted closure variable")


@_holds(SequenceIterator, ConstantIterator, DictIterator, IteratorValue)
def _(builder: Builder, value: SequenceIterator | ConstantIterator | DictIterator | IteratorValue) -> None:
    """Items that were taken from an iterator; by now the container has them."""
    builder.writer.run(runtime.advance, builder.prepare(value), Const(value.position))


@_holds(GeneratorValue)
def _(builder: Builder, value: GeneratorValue) -> None:
    """Where a generator from before stands; a new one was made there."""
    if is_existing(value):
        builder.writer.run(runtime.restore_generator, builder.prepare(value), *held_by(builder, value))
    elif (again := value.again()) is not None and again.place is not None:
        builder.writer.run(runtime.place_backwards, builder.prepare(value), builder.prepare(again.place))

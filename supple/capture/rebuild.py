"""Values -> instructions that make or load them, each once."""

import functools
import types
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final, cast

from supple.base.rules import Rules
from supple.capture import breaks
from supple.capture.residual import Writer
from supple.capture.values.base import LazyValue, Value
from supple.capture.values.callables import PartialValue
from supple.capture.values.constant import ConstantValue
from supple.capture.values.function import BoundMethodValue, CellValue, FunctionValue, LeafValue
from supple.capture.values.generator import GeneratorValue, Suspended
from supple.capture.values.instance import DELETED, InstanceDict, InstanceValue
from supple.capture.values.klass import ClassValue
from supple.capture.values.mapping import DictIterator, DictValue, DictView, SetValue
from supple.capture.values.pymodule import PythonModuleValue
from supple.capture.values.sequence import IteratorValue, SequenceIterator, SequenceValue, SliceValue
from supple.capture.values.symbolic import SymbolicValue
from supple.capture.values.tensor import TensorValue
from supple.expr.real import computed
from supple.runtime import rebuild as runtime

if TYPE_CHECKING:
    from supple.capture.interp.engine import Engine

Rebuild = Callable[["Builder", Value], None]
rebuild: Final[Rules[Rebuild]] = Rules("rebuild")


class Builder:
    """Makes values in residual code, each once; what is one object in capture is one object after.

    Attributes:
        tensors: results that the graph must return, in order of first need.
        numbers: numbers known only when the graph runs, which it must return after them.
        generators: the frames of those that are made.
    """

    def __init__(self, engine: "Engine", writer: Writer) -> None:
        self.engine = engine
        self.writer = writer
        self.tensors: dict[int, TensorValue] = {}
        self.numbers: dict[int, SymbolicValue] = {}
        self.generators: list[Suspended] = []
        self.results = ""
        self._made: dict[object, str] = {}
        self._fills: list[Callable[[], None]] = []

    def need(self, value: Value) -> None:
        """Collect the tensors that making `value` needs, before the graph is compiled."""
        seen: set[int] = set()
        pending = [value]
        while pending:
            one = pending.pop()
            if isinstance(one, LazyValue):
                one = one.force(self.engine)
            if id(one) in seen:
                continue
            seen.add(id(one))
            if isinstance(one, TensorValue):
                if one.source is None:
                    self.tensors.setdefault(id(one.fake), one)
                pending.extend(one.attrs.values())
                continue
            if isinstance(one, SymbolicValue) and not self.engine.sizes.env.is_backed(one.expr):
                self.numbers.setdefault(id(one), one)
            if isinstance(one, GeneratorValue):
                self.generators.append(one.frame)
            pending.extend(parts_of(self.engine, one))

    def prepare(self, value: Value) -> str:
        """Emit instructions that make or load `value`; return the variable that holds it."""
        if isinstance(value, LazyValue):
            value = value.force(self.engine)
        key = value.identity() if not isinstance(value, ConstantValue) else ("constant", id(value.value))
        key = key if not isinstance(value, InstanceDict | DictView) else id(value)
        known = self._made.get(key)
        if known is not None:
            return known
        self._push(value)
        name = self.writer.store()
        self._made[key] = name
        fill = _FILLS.find(type(value))
        if fill is not None and not is_existing(value):
            self._fills.append(lambda: fill(self, value))
        return name

    def finish(self) -> None:
        """Emit the contents of containers made so far (they may refer to each other)."""
        while self._fills:
            self._fills.pop(0)()

    def keys(self, values: Iterable[Value]) -> list[str]:
        """Prepare values that are about to be hashed: what was made so far is complete then."""
        names = [self.prepare(value) for value in values]
        if not all(isinstance(value, ConstantValue) for value in values):
            self.finish()
        return names

    def push(self, value: Value) -> None:
        """Push a value, prepared when it is not a plain constant."""
        if isinstance(value, ConstantValue):
            self.writer.constant(value.value)
        else:
            self.writer.op("LOAD_FAST", self.prepare(value))

    def called(self, function: object, *values: Value) -> None:
        """Push `function(*values)`."""
        names = [self.prepare(value) for value in values]
        self.writer.function(function)
        for name in names:
            self.writer.op("LOAD_FAST", name)
        self.writer.call(len(names))

    def push_tuple(self, values: Sequence[Value]) -> None:
        """Push a tuple of values."""
        names = [self.prepare(value) for value in values]
        for name in names:
            self.writer.op("LOAD_FAST", name)
        self.writer.op("BUILD_TUPLE", len(names))

    def _push(self, value: Value) -> None:
        if is_existing(value) and value.source is not None and not isinstance(value, CellValue):
            self.writer.source(value.source)
            return
        rule = next((found for cls in type(value).__mro__ if (found := rebuild.find(cls))), None)
        if rule is None:
            self.engine.unsupported(breaks.REBUILD, name=value.describe())
        rule(self, value)


def is_existing(value: Value) -> bool:
    """Tell whether the object was there before the call."""
    return value.source is not None or (isinstance(value, InstanceValue) and value.obj is not None)


def parts_of(engine: "Engine", value: Value) -> Sequence[Value]:
    """Return the values that making or replaying `value` needs."""
    found: list[Value] = []
    match value:
        case SequenceValue():
            appended = value.appended
            if appended is None:
                appended = value.items if is_existing(value) else value.all(engine)
            found = appended
            found = [item for item in found if not isinstance(item, LazyValue)]
        case DictValue():
            found = [
                part for pair in value.items.values() for part in pair if not isinstance(part, LazyValue)
            ]
        case SetValue():
            found = list(value.items.values())
        case SliceValue():
            found = list(value.parts)
        case TensorValue():
            found = list(value.attrs.values())
        case InstanceValue():
            found = [
                part
                for part in value.attrs.values()
                if part is not DELETED and not isinstance(part, LazyValue)
            ]
            found += [value.payload] if value.payload is not None else []
            found += list(getattr(value, "args", ())) + list(getattr(value, "kwargs", {}).values())
            found += [value.function] if hasattr(value, "function") else []  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]  # a partial
        case FunctionValue() if value.fn is None:
            found = [*value.closure, *value.defaults, *value.kwdefaults.values(), *value.attrs.values()]
        case CellValue(contents=contents):
            found = [contents] if contents is not None and not isinstance(contents, LazyValue) else []
        case _:
            found = _parts_of_views(value)
    return found


def _parts_of_views(value: Value) -> list[Value]:
    """Return the values that what looks at other objects needs: methods, views, iterators, generators."""
    match value:
        case BoundMethodValue():
            return [value.owner, value.function]
        case InstanceDict():
            return [value.instance]
        case DictView():
            return [value.mapping]
        case SequenceIterator():
            return [value.sequence]
        case DictIterator():
            return [value.mapping]
        case GeneratorValue() if (held := value.frame.held()) is not None:
            return [*held.cells, *held.values]
        case _:
            return []


@rebuild.on(ConstantValue)
def _(builder: Builder, value: Value) -> None:
    """A constant of the code."""
    assert isinstance(value, ConstantValue), value.describe()
    builder.writer.constant(value.value)


@rebuild.on(SymbolicValue)
def _(builder: Builder, value: Value) -> None:
    """A number computed from sizes, which the call reads; one that the run gives is a result of the graph."""
    assert isinstance(value, SymbolicValue), value.describe()
    writer = builder.writer
    if id(value) in builder.numbers:
        writer.op("LOAD_FAST", builder.results)
        writer.constant(len(builder.tensors) + list(builder.numbers).index(id(value)))
        writer.op("BINARY_SUBSCR")
        return
    compute, names = computed(value.expr)
    writer.function(compute)
    for name in names:
        writer.source(builder.engine.sizes.sources[name])
    writer.call(len(names))


@rebuild.on(LeafValue, ClassValue, PythonModuleValue)
def _(builder: Builder, value: Value) -> None:
    """A callable, class or module: the code holds it."""
    builder.writer.constant(value.as_python())


@rebuild.on(TensorValue)
def _(builder: Builder, value: Value) -> None:
    """A result of the graph."""
    assert isinstance(value, TensorValue), value.describe()
    builder.writer.op("LOAD_FAST", builder.results)
    builder.writer.constant(list(builder.tensors).index(id(value.fake)))
    builder.writer.op("BINARY_SUBSCR")


@rebuild.on(SequenceValue)
def _(builder: Builder, value: Value) -> None:
    """A list is made empty and filled later; a tuple-like is made of its items."""
    assert isinstance(value, SequenceValue), value.describe()
    writer = builder.writer
    if value.is_mutable:
        writer.function(value.kind)
        if value.maxlen is not None:
            writer.constant(())
            writer.constant(value.maxlen)
        writer.call(0 if value.maxlen is None else 2)
        return
    if value.kind is tuple:
        builder.push_tuple(value.all(builder.engine))
        return
    names = [builder.prepare(item) for item in value.all(builder.engine)]
    writer.function(getattr(value.kind, "_make", value.kind))
    for name in names:
        writer.op("LOAD_FAST", name)
    writer.op("BUILD_TUPLE", len(names))
    writer.call(1)


@rebuild.on(DictValue)
def _(builder: Builder, value: Value) -> None:
    """A dict, empty; filled later."""
    assert isinstance(value, DictValue), value.describe()
    if value.kind is types.MappingProxyType:
        builder.engine.unsupported(breaks.REBUILD, name=value.describe())
    factory = builder.prepare(value.factory) if value.factory is not None else None
    builder.writer.function(value.kind)
    if factory is not None:
        builder.writer.op("LOAD_FAST", factory)
    builder.writer.call(int(factory is not None))


@rebuild.on(SetValue)
def _(builder: Builder, value: Value) -> None:
    """A set of its members."""
    assert isinstance(value, SetValue), value.describe()
    names = builder.keys(value.items.values())
    builder.writer.function(value.kind)
    for name in names:
        builder.writer.op("LOAD_FAST", name)
    builder.writer.op("BUILD_TUPLE", len(names))
    builder.writer.call(1)


@rebuild.on(SliceValue)
def _(builder: Builder, value: Value) -> None:
    """slice(start, stop, step)."""
    assert isinstance(value, SliceValue), value.describe()
    builder.called(slice, *value.parts)


@rebuild.on(InstanceValue)
def _(builder: Builder, value: Value) -> None:
    """An object of a Python class: made without `__init__`; contents and attributes follow."""
    assert isinstance(value, InstanceValue), value.describe()
    if value.obj is not None:
        builder.writer.constant(value.obj)
        return
    if not runtime.can_be_bare(value.cls):
        builder.engine.unsupported(breaks.REBUILD, name=value.describe())
    payload = value.payload
    is_exception = issubclass(cast("type[object]", value.cls), BaseException)
    arguments: Sequence[Value] = ()
    if isinstance(payload, SequenceValue) and not payload.is_mutable:
        arguments = payload.all(builder.engine)
        if issubclass(payload.kind, tuple) and not is_exception:
            arguments = [SequenceValue(tuple, list(arguments))]
    elif isinstance(payload, ConstantValue):
        arguments = [payload]
    elif isinstance(payload, SetValue) and issubclass(payload.kind, frozenset):
        builder.engine.unsupported(breaks.REBUILD, name=value.describe())
    names = [builder.prepare(argument) for argument in arguments]
    builder.writer.function(runtime.bare_instance)
    builder.writer.constant(value.cls)
    for name in names:
        builder.writer.op("LOAD_FAST", name)
    builder.writer.op("BUILD_TUPLE", len(names))
    builder.writer.call(2)


@rebuild.on(PartialValue)
def _(builder: Builder, value: Value) -> None:
    """functools.partial(function, *args, **kwargs)."""
    assert isinstance(value, PartialValue), value.describe()
    names = [builder.prepare(part) for part in (value.function, *value.args, *value.kwargs.values())]
    builder.writer.function(functools.partial)
    for name in names:
        builder.writer.op("LOAD_FAST", name)
    builder.writer.op("CALL", (len(names) - len(value.kwargs), tuple(value.kwargs)))


@rebuild.on(FunctionValue)
def _(builder: Builder, value: Value) -> None:
    """A function: the existing one, or one made over cells."""
    assert isinstance(value, FunctionValue), value.describe()
    writer = builder.writer
    if value.fn is not None:
        writer.constant(value.fn)
        return
    cells = [builder.prepare(cell) for cell in value.closure]
    defaults = [builder.prepare(default) for default in value.defaults]
    keyword = {name: builder.prepare(default) for name, default in value.kwdefaults.items()}
    writer.function(runtime.make_function)
    writer.constant(value.code)
    writer.constant(value.global_names)
    for names, op in ((defaults, "BUILD_TUPLE"), (keyword, "BUILD_MAP"), (cells, "BUILD_TUPLE")):
        if not names and names is not cells:
            writer.constant(None)
            continue
        for name in names:
            if isinstance(names, dict):
                writer.constant(name)
                writer.op("LOAD_FAST", names[name])
            else:
                writer.op("LOAD_FAST", name)
        writer.op(op, len(names))
    writer.call(5)


@rebuild.on(CellValue)
def _(builder: Builder, value: Value) -> None:
    """A cell: the existing one, or a new one that is filled later."""
    assert isinstance(value, CellValue), value.describe()
    if value.obj is not None and value.source is not None:
        assert value.source.base is not None, value.source
        builder.writer.source(value.source.base)
        return
    builder.writer.function(types.CellType)
    builder.writer.call(0)


@rebuild.on(BoundMethodValue)
def _(builder: Builder, value: Value) -> None:
    """owner.function."""
    assert isinstance(value, BoundMethodValue), value.describe()
    bind = runtime.bound if isinstance(value.function, LeafValue) else types.MethodType
    builder.called(bind, value.function, value.owner)


@rebuild.on(InstanceDict)
def _(builder: Builder, value: Value) -> None:
    """x.__dict__."""
    assert isinstance(value, InstanceDict), value.describe()
    builder.push(value.instance)
    builder.writer.op("LOAD_ATTR", "__dict__")


@rebuild.on(DictView)
def _(builder: Builder, value: Value) -> None:
    """d.keys(), d.values(), d.items()."""
    assert isinstance(value, DictView), value.describe()
    builder.called(getattr(dict, value.part), value.mapping)


@rebuild.on(SequenceIterator)
def _(builder: Builder, value: Value) -> None:
    """An iterator over a sequence; advanced later."""
    assert isinstance(value, SequenceIterator), value.describe()
    sequence = builder.prepare(value.sequence)
    if value.sequence.kind is deque:
        is_replayed = any(value.sequence is one for one in builder.engine.heap.dirty.values())
        if is_replayed or value.before not in (None, value.sequence.all(builder.engine)):
            builder.engine.unsupported(breaks.REBUILD, name="iterator over a deque that has changed")
        builder.finish()
    builder.writer.function(iter)
    builder.writer.op("LOAD_FAST", sequence)
    builder.writer.call(1)


@rebuild.on(DictIterator)
def _(builder: Builder, value: Value) -> None:
    """An iterator over a dict's keys; advanced later."""
    assert isinstance(value, DictIterator), value.describe()
    mapping, engine = value.mapping, builder.engine
    if value.keys != (mapping.keys(engine) if isinstance(mapping, DictValue) else mapping.ordered(engine)):
        builder.engine.unsupported(breaks.REBUILD, name="iterator over a dict that has changed")
    (mapping,) = builder.keys([value.mapping])
    builder.writer.function(iter)
    builder.writer.op("LOAD_FAST", mapping)
    builder.writer.call(1)


@rebuild.on(GeneratorValue)
def _(builder: Builder, value: Value) -> None:
    """A generator that goes on where the captured one stands."""
    assert isinstance(value, GeneratorValue), value.describe()
    writer = builder.writer
    state = _held(builder, value)
    writer.function(runtime.make_generator)
    for name in state:
        writer.op("LOAD_FAST", name)
    writer.call(len(state))


def restore_generator(builder: Builder, value: GeneratorValue) -> None:
    """Make an existing generator go on where the captured one stands."""
    writer = builder.writer
    names = (builder.prepare(value), *_held(builder, value))
    writer.function(runtime.restore_generator)
    for name in names:
        writer.op("LOAD_FAST", name)
    writer.call(len(names))
    writer.op("POP_TOP")


def _held(builder: Builder, value: GeneratorValue) -> tuple[str, str, str]:
    """Emit what a generator goes on with; return variables: a function, whether it has started, arguments."""
    writer = builder.writer
    held = value.frame.held()
    if value.is_finished:
        writer.constant(runtime.finished)
        function = writer.store()
    elif held is None:
        builder.engine.unsupported(breaks.REBUILD, name=value.describe())
    else:
        cells = [builder.prepare(cell) for cell in held.cells]
        writer.function(runtime.make_function)
        for constant in (held.code, held.global_names, None, None):
            writer.constant(constant)
        for name in cells:
            writer.op("LOAD_FAST", name)
        writer.op("BUILD_TUPLE", len(cells))
        writer.call(5)
        function = writer.store()
    writer.constant(held is not None and held.is_started)
    is_started = writer.store()
    builder.push_tuple(() if held is None else held.values)
    return function, is_started, writer.store()


_FILLS: Final[Rules[Rebuild]] = Rules("fill")


@_FILLS.on(SequenceValue)
def _(builder: Builder, value: Value) -> None:
    """The items of a new list."""
    assert isinstance(value, SequenceValue), value.describe()
    if value.is_mutable and value.items:
        write_sequence(builder, value)


@_FILLS.on(SequenceIterator, DictIterator)
def advance(builder: Builder, value: Value) -> None:
    """Items that were taken; by now the container has them."""
    assert isinstance(value, SequenceIterator | DictIterator | IteratorValue), value.describe()
    iterator = builder.prepare(value)
    builder.writer.function(runtime.advance)
    builder.writer.op("LOAD_FAST", iterator)
    builder.writer.constant(value.position)
    builder.writer.call(2)
    builder.writer.op("POP_TOP")


@_FILLS.on(DictValue)
def _(builder: Builder, value: Value) -> None:
    """The entries of a new dict."""
    assert isinstance(value, DictValue), value.describe()
    if value.items:
        write_mapping(builder, runtime.fill_mapping, builder.prepare(value), value)


@_FILLS.on(InstanceValue, PartialValue)
def _(builder: Builder, value: Value) -> None:
    """Contents and attributes of a new object."""
    assert isinstance(value, InstanceValue), value.describe()
    payload = value.payload
    if isinstance(payload, DictValue) and payload.items:
        write_mapping(builder, runtime.fill_mapping, builder.prepare(value), payload)
    elif isinstance(payload, SequenceValue) and payload.is_mutable:
        fill_sequence(builder, builder.prepare(value), payload)
    elif isinstance(payload, SetValue):
        write_set(builder, builder.prepare(value), payload)
    write_attributes(builder, value, [name for name, part in value.attrs.items() if part is not DELETED])


@_FILLS.on(CellValue)
def _(builder: Builder, value: Value) -> None:
    """The contents of a new cell."""
    assert isinstance(value, CellValue), value.describe()
    contents = value.get(builder.engine)
    if contents is not None:
        name = builder.prepare(contents)
        builder.writer.op("LOAD_FAST", name)
        builder.writer.op("LOAD_FAST", builder.prepare(value))
        builder.writer.op("STORE_ATTR", "cell_contents")


@_FILLS.on(FunctionValue, TensorValue)
def write_on_tensor(builder: Builder, value: Value) -> None:
    """Attributes set on a new function or on a tensor."""
    assert isinstance(value, FunctionValue | TensorValue), value.describe()
    for name, attribute in value.attrs.items():
        part = builder.prepare(attribute)
        builder.writer.op("LOAD_FAST", part)
        builder.writer.op("LOAD_FAST", builder.prepare(value))
        builder.writer.op("STORE_ATTR", name)


def write_attributes(builder: Builder, value: InstanceValue, names: Sequence[str]) -> None:
    """Write these own attributes."""
    parts = [builder.prepare(value.attrs[name]) for name in names]
    if not parts:
        return
    owner = builder.prepare(value)
    builder.writer.function(runtime.set_attributes)
    builder.writer.op("LOAD_FAST", owner)
    builder.writer.constant(tuple(names))
    for part in parts:
        builder.writer.op("LOAD_FAST", part)
    builder.writer.op("BUILD_TUPLE", len(parts))
    builder.writer.call(3)
    builder.writer.op("POP_TOP")


def write_sequence(builder: Builder, value: SequenceValue) -> None:
    """Make a list hold its items."""
    fill_sequence(builder, builder.prepare(value), value)


def fill_sequence(builder: Builder, target: str, value: SequenceValue) -> None:
    """Make the list in the variable `target` hold the items of `value`."""
    appended = value.appended
    parts = [builder.prepare(item) for item in (value.all(builder.engine) if appended is None else appended)]
    writer = builder.writer
    if appended is None:
        writer.function(runtime.replace_sequence)
    writer.op("LOAD_FAST", target)
    for part in parts:
        writer.op("LOAD_FAST", part)
    writer.op("BUILD_LIST", len(parts))
    if appended is None:
        writer.call(2)
    else:
        writer.op("LIST_EXTEND", 1)
    writer.op("POP_TOP")


def write_set(builder: Builder, target: str, value: SetValue) -> None:
    """Make the set in the variable `target` hold the members of `value`."""
    parts = builder.keys(value.items.values())
    builder.writer.function(runtime.replace_set)
    for name in (target, *parts):
        builder.writer.op("LOAD_FAST", name)
    builder.writer.op("BUILD_TUPLE", len(parts))
    builder.writer.call(2)
    builder.writer.op("POP_TOP")


def write_mapping(builder: Builder, function: object, target: str, value: DictValue) -> None:
    """Call `function(target, entries of value)`."""
    parts = [builder.prepare(part) for _, part in value.items.values()]
    pairs = list(zip(builder.keys([key for key, _ in value.items.values()]), parts, strict=True))
    builder.writer.function(function)
    builder.writer.op("LOAD_FAST", target)
    for key, part in pairs:
        builder.writer.op("LOAD_FAST", key)
        builder.writer.op("LOAD_FAST", part)
    builder.writer.op("BUILD_MAP", len(pairs))
    builder.writer.call(2)
    builder.writer.op("POP_TOP")

"""Values -> instructions that make or load them, each once."""

import functools
import types
from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TypeVar, cast

from supple.base.rules import Rules
from supple.capture import breaks
from supple.capture.residual import Const, Operand, Writer
from supple.capture.source import Source
from supple.capture.values.array import ArrayValue
from supple.capture.values.base import LazyValue, Unique, Value
from supple.capture.values.callables import GetterValue, PartialValue
from supple.capture.values.constant import ConstantIterator, ConstantValue
from supple.capture.values.function import BoundMethodValue, CellValue, FunctionValue, LeafValue
from supple.capture.values.generator import GeneratorValue, Suspended
from supple.capture.values.hashing import HashKey
from supple.capture.values.instance import DELETED, InstanceDict, InstanceValue
from supple.capture.values.klass import ClassValue
from supple.capture.values.mapping import DictIterator, DictValue, DictView, SetValue
from supple.capture.values.pymodule import PythonModuleValue
from supple.capture.values.sequence import SequenceIterator, SequenceValue, SliceValue
from supple.capture.values.symbolic import SymbolicValue
from supple.capture.values.tensor import TensorValue
from supple.expr.real import computed
from supple.runtime import rebuild as runtime
from supple.runtime.arrays import array_of
from supple.runtime.sets import Given, History, givens, replay

if TYPE_CHECKING:
    from supple.capture.interp.engine import Engine

Rebuild = Callable[["Builder", Value], None]
V = TypeVar("V", bound=Value)
rebuild: Final[Rules[Rebuild]] = Rules("rebuild")
"""How a value is pushed: an object is made, or loaded."""
contents: Final[Rules[Rebuild]] = Rules("contents")
"""How an object gets what its value holds: a new one its contents, an existing one its changes."""


def rebuilds(*kinds: type[V]) -> "Callable[[Callable[[Builder, V], None]], object]":
    """Return a decorator that makes a function the rule for values of these kinds."""
    return cast("Callable[[Callable[[Builder, V], None]], object]", rebuild.on(*kinds))


class Builder:
    """Makes values in residual code, each once; what is one object in capture is one object after.

    Attributes:
        tensors: results that the graph must return, in order of first need.
        numbers: numbers known only when the graph runs, which it must return after them.
        generators: the frames of those that are made.
        needed: what was collected, by id: an id is that of one value as long as this holds it.
    """

    def __init__(self, engine: "Engine", writer: Writer) -> None:
        self.engine = engine
        self.writer = writer
        self.tensors: dict[int, TensorValue] = {}
        self.numbers: dict[int, SymbolicValue] = {}
        self.generators: list[Suspended] = []
        self.needed: dict[int, Value] = {}
        self.results = ""
        self._prepared = writer.code
        self._made: dict[object, str] = {}
        self._begun: set[object] = set()
        self._unfilled: dict[object, Value] = {}
        self._late: list[Value] = []

    def need(self, value: Value) -> None:
        """Collect the tensors that making `value` needs, before the graph is compiled."""
        pending = [value]
        while pending:
            one = pending.pop()
            if isinstance(one, LazyValue):
                one = one.force(self.engine)
            if id(one) in self.needed:
                continue
            self.needed[id(one)] = one
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
        if key in self._begun:  # what must be complete before it is made holds it
            self.engine.unsupported(breaks.REBUILD, name=value.describe())
        self._begun.add(key)
        with self._ahead():
            self._push(value)
            name = self.writer.store()
        self._made[key] = name
        if rule_of(contents, value) is not None and not is_existing(value):
            if _has_place(value) or asks_keys(value):
                self._late.append(value)
            else:
                self._unfilled[key] = value
        return name

    def complete(self, value: Value) -> str:
        """Prepare a container whose contents are complete then, whatever the objects in it hold."""
        name = self.prepare(value)
        unfilled = self._unfilled.pop(value.identity(), None)
        if unfilled is not None:
            with self._ahead():
                self._fill(unfilled)
        return name

    def finish(self, *, late: bool = False) -> None:
        """Emit the contents of containers made so far (they may refer to each other).

        Args:
            late: also what iterators took, now that lists from before the call hold it, and what asks
                methods of the program, now that cells and globals have their values.
        """
        while self._unfilled or (late and self._late):
            if not self._unfilled:
                self._fill(self._late.pop(0))
                continue
            with self._ahead():
                self._fill(self._unfilled.pop(next(iter(self._unfilled))))

    def _fill(self, value: Value) -> None:
        """Emit the contents of a container that is made."""
        fill = rule_of(contents, value)
        assert fill is not None, value.describe()
        fill(self, value)

    def members(self, items: Mapping[object, object], values: Iterable[Value]) -> list[str]:
        """Prepare keys that are about to be hashed: where the program does it, all made so far is complete.

        Args:
            items: the container, by key.
        """
        names = self.all(values)
        if any(map(_asks, items)):
            self.finish()
        return names

    def all(self, values: Iterable[Value]) -> list[str]:
        """Prepare values; return the variables that hold them."""
        return [self.prepare(value) for value in values]

    def given(self, history: History | Given) -> dict[Operand, Operand]:
        """Load the sets that were there before the call, which a set was made of."""
        found: dict[Operand, Operand] = {}
        for one in givens(history):
            with self._ahead():
                self.writer.source(cast("Source", one.source))
                found[Const(one)] = self.writer.store()
        return found

    def named(self, values: Mapping[str, Value]) -> dict[str, str]:
        """Prepare values that have names; return their variables."""
        return dict(zip(values, self.all(values.values()), strict=True))

    def called(self, function: object, *values: Value) -> None:
        """Push `function(*values)`."""
        self.writer.called(function, *self.all(values))

    @contextmanager
    def _ahead(self) -> Generator[None]:
        """Emit among what is prepared: no effect changes what is loaded."""
        code, self.writer.code = self.writer.code, self._prepared
        yield
        self.writer.code = code

    def _push(self, value: Value) -> None:
        if is_existing(value) and value.source is not None and not isinstance(value, CellValue):
            self.writer.source(value.source)
            return
        rule = rule_of(rebuild, value)
        if rule is None:
            self.engine.unsupported(breaks.REBUILD, name=value.describe())
        rule(self, value)


def rule_of(rules: "Rules[Rebuild]", value: Value) -> "Rebuild | None":
    """Return the rule for the kind of a value, or the nearest one that it is made of."""
    return next((found for cls in type(value).__mro__ if (found := rules.find(cls))), None)


def _has_place(value: Value) -> bool:
    """Tell whether an iterator, where it is made, stands at the beginning of what it goes over."""
    if isinstance(value, GeneratorValue):
        again = value.again()
        return again is not None and again.place is not None
    return isinstance(value, SequenceIterator | ConstantIterator)


def asks_keys(value: Value) -> bool:
    """Tell whether entries are put in their places by `__hash__` and `__eq__` of the program."""
    return isinstance(value, DictValue | SetValue) and any(map(_asks, value.items))


def _asks(key: object) -> bool:
    """Tell whether a key, or a part of it, is hashed by the program."""
    if isinstance(key, tuple | frozenset):
        return any(map(_asks, cast("Collection[object]", key)))
    return isinstance(key, HashKey)


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
        case ArrayValue():
            found = [value.tensor]
        case InstanceValue():
            found = [
                part
                for part in value.attrs.values()
                if part is not DELETED and not isinstance(part, LazyValue)
            ]
            found += [value.payload] if value.payload is not None else []
            found += list(getattr(value, "args", ())) + list(getattr(value, "kwargs", {}).values())
            found += [value.function] if hasattr(value, "function") else []  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]  # a partial
        case GetterValue():
            found = [*value.args, *value.kwargs.values()]
        case FunctionValue() if value.fn is None:
            found = [*value.closure, *value.defaults, *value.kwdefaults.values(), *value.attrs.values()]
        case CellValue(contents=contents):
            found = [contents] if contents is not None and not isinstance(contents, LazyValue) else []
        case _:
            return _parts_of_views(value)
    return found


def _parts_of_views(value: Value) -> Sequence[Value]:
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
        case GeneratorValue() if (again := value.again()) is not None:
            return [*again.args, *again.kwargs.values()]
        case GeneratorValue() if (held := value.frame.held()) is not None:
            return [*held.cells, *held.values]
        case _:
            return []


@rebuilds(ConstantValue)
def _(builder: Builder, value: ConstantValue) -> None:
    """A constant of the code."""
    builder.writer.constant(value.value)


@rebuilds(SymbolicValue)
def _(builder: Builder, value: SymbolicValue) -> None:
    """A number computed from sizes, which the call reads; one that the run gives is a result of the graph."""
    if id(value) in builder.numbers:
        _result(builder, len(builder.tensors) + list(builder.numbers).index(id(value)))
        return
    compute, names = computed(value.expr)
    builder.writer.function(compute)
    for name in names:
        builder.writer.source(builder.engine.sizes.sources[name])
    builder.writer.call(len(names))


def _result(builder: Builder, index: int) -> None:
    builder.writer.push(builder.results, Const(index))
    builder.writer.op("BINARY_SUBSCR")


@rebuilds(LeafValue, ClassValue, PythonModuleValue)
def _(builder: Builder, value: Unique) -> None:
    """A callable, class or module: the code holds it."""
    builder.writer.constant(value.as_python())


@rebuilds(TensorValue)
def _(builder: Builder, value: TensorValue) -> None:
    """A result of the graph."""
    _result(builder, list(builder.tensors).index(id(value.fake)))


@rebuilds(ArrayValue)
def _(builder: Builder, value: ArrayValue) -> None:
    """tensor.numpy(), or the number in it."""
    builder.writer.called(array_of, builder.prepare(value.tensor), Const(value.is_scalar))


@rebuilds(SequenceValue)
def _(builder: Builder, value: SequenceValue) -> None:
    """A list is made empty and filled later; a tuple-like is made of its items."""
    writer = builder.writer
    if value.is_mutable:
        writer.called(value.kind, *(() if value.maxlen is None else ((), Const(value.maxlen))))
        return
    names = builder.all(value.all(builder.engine))
    if value.kind is tuple:
        writer.push(names)
    else:
        writer.called(getattr(value.kind, "_make", value.kind), names)


@rebuilds(DictValue)
def _(builder: Builder, value: DictValue) -> None:
    """A dict, empty; filled later."""
    if value.kind is types.MappingProxyType:
        builder.engine.unsupported(breaks.REBUILD, name=value.describe())
    builder.called(value.kind, *(() if value.factory is None else (value.factory,)))


@rebuilds(SetValue)
def _(builder: Builder, value: SetValue) -> None:
    """A set of its members; empty, and filled later, where those are compared by the program."""
    is_filled_later = asks_keys(value) and value.kind is not frozenset
    if value.history is not None and not is_filled_later:
        builder.writer.called(replay, Const(value.history), builder.given(value.history))
        return
    members = () if is_filled_later else builder.members(value.items, value.items.values())
    builder.writer.called(value.kind, members)


@rebuilds(SliceValue)
def _(builder: Builder, value: SliceValue) -> None:
    """slice(start, stop, step)."""
    builder.called(slice, *value.parts)


@rebuilds(InstanceValue)
def _(builder: Builder, value: InstanceValue) -> None:
    """An object of a Python class: made without `__init__`; contents and attributes follow."""
    if value.obj is not None:
        builder.writer.constant(value.obj)
        return
    payload = value.payload
    is_frozen = isinstance(payload, SetValue) and frozenset in payload.kind.__mro__
    if is_frozen or not runtime.can_be_bare(value.cls):
        builder.engine.unsupported(breaks.REBUILD, name=value.describe())
    is_exception = issubclass(cast("type[object]", value.cls), BaseException)
    arguments: Sequence[Value] = ()
    if isinstance(payload, SequenceValue) and not payload.is_mutable:
        arguments = payload.all(builder.engine)
        if issubclass(payload.kind, tuple) and not is_exception:
            arguments = [SequenceValue(tuple, list(arguments))]
    elif isinstance(payload, ConstantValue):
        arguments = [payload]
    builder.writer.called(runtime.bare_instance, Const(value.cls), builder.all(arguments))


@rebuilds(PartialValue)
def _(builder: Builder, value: PartialValue) -> None:
    """functools.partial(function, *args, **kwargs), of its class."""
    names = builder.all((value.function, *value.args, *value.kwargs.values()))
    builder.writer.function(functools.partial.__new__)
    builder.writer.push(Const(value.cls), *names)
    builder.writer.op("CALL", (1 + len(names) - len(value.kwargs), tuple(value.kwargs)))


@rebuilds(GetterValue)
def _(builder: Builder, value: GetterValue) -> None:
    """operator.itemgetter(key) or its like."""
    builder.writer.called(value.kind, *builder.all(value.args), **builder.named(value.kwargs))


@rebuilds(FunctionValue)
def _(builder: Builder, value: FunctionValue) -> None:
    """A function: the existing one, or one made over cells."""
    if value.fn is not None:
        builder.writer.constant(value.fn)
        return
    cells, defaults = builder.all(value.closure), builder.all(value.defaults)
    keyword: dict[Operand, Operand] = {
        Const(name): builder.prepare(default) for name, default in value.kwdefaults.items()
    }
    held = (Const(value.code), Const(value.global_names), defaults or Const(None), keyword or Const(None))
    builder.writer.called(runtime.make_function, *held, cells)


@rebuilds(CellValue)
def _(builder: Builder, value: CellValue) -> None:
    """A cell: the existing one, or a new one that is filled later."""
    if value.obj is not None and value.source is not None:
        assert value.source.base is not None, value.source
        builder.writer.source(value.source.base)
    else:
        builder.writer.called(types.CellType)


@rebuilds(BoundMethodValue)
def _(builder: Builder, value: BoundMethodValue) -> None:
    """owner.function."""
    bind = runtime.bound if isinstance(value.function, LeafValue) else types.MethodType
    builder.called(bind, value.function, value.owner)


@rebuilds(InstanceDict)
def _(builder: Builder, value: InstanceDict) -> None:
    """x.__dict__."""
    builder.writer.push(builder.prepare(value.instance))
    builder.writer.op("LOAD_ATTR", "__dict__")


@rebuilds(DictView)
def _(builder: Builder, value: DictView) -> None:
    """d.keys(), d.values(), d.items()."""
    kind = value.mapping.kind
    base = next(one for one in (OrderedDict, types.MappingProxyType, dict) if issubclass(kind, one))
    builder.called(getattr(base, value.part), value.mapping)


@rebuilds(SequenceIterator)
def _(builder: Builder, value: SequenceIterator) -> None:
    """An iterator over a sequence; advanced later."""
    if value.sequence.kind is deque:
        is_replayed = any(value.sequence is one for one in builder.engine.heap.dirty.values())
        if is_replayed or value.is_changed():
            builder.engine.unsupported(breaks.REBUILD, name="iterator over a deque that has changed")
        builder.complete(value.sequence)
    if value.is_reversed:
        builder.called(reversed, value.sequence)
        return
    kind = next(cls for cls in value.sequence.kind.__mro__ if "__iter__" in vars(cls) and cls in _SEQUENCES)
    builder.writer.called(cast("type", vars(kind)["__iter__"]), builder.prepare(value.sequence))


_SEQUENCES: Final = frozenset({list, tuple, deque})


@rebuilds(ConstantIterator)
def _(builder: Builder, value: ConstantIterator) -> None:
    """An iterator over a constant; advanced later."""
    builder.called(iter, value.constant)


@rebuilds(DictIterator)
def _(builder: Builder, value: DictIterator) -> None:
    """An iterator over a dict, a view of it or a set; advanced later."""
    mapping, engine = value.mapping, builder.engine
    is_replayed = is_existing(mapping) and any(mapping is one for one in engine.heap.dirty.values())
    keys = mapping.keys(engine) if isinstance(mapping, DictValue) else mapping.ordered(engine)
    is_late = asks_keys(mapping) and not is_existing(mapping)
    if is_replayed or is_late or value.keys != keys or mapping.changes != value.before:
        builder.engine.unsupported(breaks.REBUILD, name="iterator over a dict that has changed")
    builder.complete(mapping)
    view = DictView(mapping, value.part) if isinstance(mapping, DictValue) else mapping
    builder.called(reversed if value.is_reversed else iter, view)


@rebuilds(GeneratorValue)
def _(builder: Builder, value: GeneratorValue) -> None:
    """What goes on where this stands: a generator, or an iterator of the same class."""
    again = value.again()
    if again is not None:
        maker = again.maker or value.kind
        builder.writer.called(maker, *builder.all(again.args), **builder.named(again.kwargs))
        return
    builder.writer.called(runtime.make_generator, *held_by(builder, value))


def held_by(builder: Builder, value: GeneratorValue) -> tuple[Operand, Operand, Operand]:
    """Return what a generator goes on with: a function, whether it has started, arguments."""
    held = value.frame.held()
    if value.is_finished:
        return Const(runtime.finished), Const(held is not None and held.is_started), ()
    if held is None:
        builder.engine.unsupported(breaks.REBUILD, name=value.describe())
    cells = builder.all(held.cells)
    parts = (Const(held.code), Const(held.global_names), Const(None), Const(None), cells)
    builder.writer.called(runtime.make_function, *parts)
    names = [value.named(builder.engine, name).as_python() for name in ("__name__", "__qualname__")]
    if names != [held.code.co_name, held.code.co_qualname]:
        builder.writer.called(runtime.renamed, builder.writer.store(), *map(Const, names))
    return builder.writer.store(), Const(held.is_started), builder.all(held.values)

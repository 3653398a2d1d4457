"""Dicts and sets: values by key. An existing dict is read key by key; its whole key list is guarded only when
something depends on it (iteration, length, writing).
"""

import collections
import types
from collections.abc import Callable, Collection, Iterable, Mapping, Reversible
from typing import Final, NamedTuple, cast

from supple.capture import breaks
from supple.capture.guards.kinds import Kind
from supple.capture.machine import Machine
from supple.capture.source import Called, Source, item, key_at
from supple.capture.values.attributes import type_attr
from supple.capture.values.base import LazyValue, Value
from supple.capture.values.constant import FINISHED, LITERALS, ConstantValue
from supple.capture.values.sequence import BROKEN, SequenceValue, new_list, new_tuple
from supple.runtime.sets import Given, History, givens, replay

UNKNOWN: Final = object()
"""In a history, what no constant stands for; so the order of a set that is made of it is not known."""


def item_of(mapping: Mapping[object, object], key: object) -> object:
    """Return an item of a dict past any `__getitem__` of a subclass."""
    return dict[object, object].__getitem__(mapping, key) if isinstance(mapping, dict) else mapping[key]


_PLAIN_DICTS: Final = (dict, collections.OrderedDict, collections.defaultdict, types.MappingProxyType)


def keys_of(kind: type) -> Callable[..., Collection[object]] | None:
    """Return what gives a view of the keys of a dict of a subclass, past its methods; None of others."""
    if kind in _PLAIN_DICTS:
        return None
    base = collections.OrderedDict if issubclass(kind, collections.OrderedDict) else dict
    return cast("Callable[..., Collection[object]]", vars(base)["keys"])


class Address(NamedTuple):
    """The key of a number that is known as an object's address only."""

    of: object


def refuse_address(machine: Machine, key: object, others: Iterable[object]) -> None:
    """Give up where an address may be a number that another key is."""
    other = int if isinstance(key, Address) else Address
    if type(key) in (int, Address) and any(type(one) is other for one in others):
        machine.unsupported(breaks.OPERATOR, name="an address", kinds="the key of a dict or set")


class DictValue(Value):
    """A dict, OrderedDict, defaultdict, or the contents of an instance of a dict subclass.

    Attributes:
        items: key -> (key value, value), in order; written by the heap alone. For an existing dict that is
            not complete these are only the entries read so far.
        obj: the existing dict, None when capture made it.
        is_complete: the keys are all known (and guarded).
        factory: of a defaultdict.
        changes: how often keys came, went, or were moved; that all went at once may not count.
    """

    __slots__ = ("changes", "factory", "is_complete", "items", "kind", "obj")

    def __init__(
        self, kind: type = dict, source: Source | None = None, obj: Mapping[object, object] | None = None
    ) -> None:
        super().__init__(source)
        self.kind = kind
        self.items: dict[object, tuple[Value, Value]] = {}
        self.obj = obj
        self.is_complete = obj is None
        self.factory: Value | None = None
        self.changes = 0

    def python_type(self) -> type:
        return self.kind

    def _require_mutable(self, machine: Machine, what: str) -> None:
        if self.kind is types.MappingProxyType:
            machine.throw(TypeError, f"'mappingproxy' object does not support item {what}")

    def truth(self, machine: Machine) -> bool:
        self.complete(machine)
        return bool(self.items)

    def length(self, machine: Machine) -> Value:
        self.complete(machine)
        return ConstantValue(len(self.items))

    def _keys_now(self) -> Collection[object]:
        """Return the keys of an existing dict."""
        assert self.obj is not None, "it exists"
        view = keys_of(self.kind)
        return self.obj.keys() if view is None else view(self.obj)

    def _keys_source(self) -> Source | None:
        """Return where checks find what has the keys: the dict, of a subclass a view of them."""
        view = keys_of(self.kind)
        if self.source is None or view is None:
            return self.source
        return Called(f"{view.__qualname__}({self.source.name})", self.source, view)

    def complete(self, machine: Machine) -> None:
        """Guard the key list of an existing dict and know all its entries."""
        if self.is_complete or self.obj is None:
            return
        keys = list(self._keys_now())
        if all(type(key) in LITERALS for key in keys):
            machine.guard(self._keys_source(), Kind.KEYS, tuple(keys))
        else:
            machine.guard(self._keys_source(), Kind.LENGTH, len(keys))
        known = self.items
        ordered: dict[object, tuple[Value, Value]] = {}
        for position, key in enumerate(keys):
            by_key, value = self._entry(machine, key, position)
            # An entry that was read with an equal key of another type (1 and True) keeps the key of the dict.
            ordered[by_key] = (value[0], known[by_key][1]) if by_key in known else value
        if len(ordered) != len(keys):
            machine.unsupported(breaks.OBJECT, name="dict", detail="keys of it are equal by now")
        self.items = ordered
        self.is_complete = True

    def _entry(self, machine: Machine, key: object, position: int) -> tuple[object, tuple[Value, Value]]:
        assert self.obj is not None
        if type(key) in LITERALS:
            key_value: Value = ConstantValue(key)
        else:
            source = self._keys_source()
            key_value = machine.wrap(key, key_at(source, position) if source else None)
        source = self._source_of(machine, key)
        try:
            found = item_of(self.obj, key)
        except KeyError:  # the key stood for an object that died just now
            machine.unsupported(breaks.OBJECT, name="dict", detail="its entries go away by themselves")
        return key_value.key(machine), (key_value, LazyValue(found, source))

    def _source_of(self, machine: Machine, key: object) -> Source | None:
        if self.source is None:
            return None
        found = item(self.source, key, self.kind if self.kind is types.MappingProxyType else dict)
        if hasattr(self.kind, "__missing__"):  # a defaultdict makes what is read as an item
            machine.guard(self._keys_source(), Kind.HAS_KEY, key)
            return Called(found.name, self.source, dict[object, object].get, (key,))
        return found

    def find(self, machine: Machine, key: Value) -> Value | None:
        """Return the value at a key, None when there is none (guarded)."""
        by_key = key.key(machine)
        entry = self.items.get(by_key)
        if entry is None:
            entry = self._read(machine, key, by_key)
        if entry is None:
            refuse_address(machine, by_key, self.items)
            return None
        found = entry[1]
        if isinstance(found, LazyValue):
            found = found.force(machine)
            self.items[by_key] = (entry[0], found)
        return found

    def _read(self, machine: Machine, key: Value, by_key: object) -> tuple[Value, Value] | None:
        if self.is_complete or self.obj is None:
            return None
        if not isinstance(key, ConstantValue) and not isinstance(by_key, str | int):
            self.complete(machine)
            return self.items.get(by_key)
        raw = key.as_python()
        if raw not in self._keys_now():
            machine.guard(self._keys_source(), Kind.LACKS_KEY, raw)
            return None
        source = self._source_of(machine, raw)
        entry: tuple[Value, Value] = (key, LazyValue(item_of(self.obj, raw), source))
        self.items[by_key] = entry
        return entry

    def get_item(self, machine: Machine, key: Value) -> Value:
        found = self.find(machine, key)
        if found is None and self.factory is not None:
            found = machine.call(self.factory)
            self.set_item(machine, key, found)
        if found is None:
            machine.throw_value(KeyError, [key])
        return found

    def set_item(self, machine: Machine, key: Value, new: Value) -> None:
        self._require_mutable(machine, "assignment")
        self.complete(machine)
        by_key = key.key(machine)
        old = self.items.get(by_key)
        if old is None or old[1] is not new:
            self._lose(machine, old)
            machine.heap.put(self.items, by_key, (old[0] if old else key, new))
            self._changed(machine, is_moved=old is None)

    def delete_item(self, machine: Machine, key: Value) -> None:
        self._require_mutable(machine, "deletion")
        self.complete(machine)
        by_key = key.key(machine)
        if by_key not in self.items:
            machine.throw_value(KeyError, [key])
        self._lose(machine, self.items[by_key])
        machine.heap.drop(self.items, by_key)
        self._changed(machine, is_moved=True)

    def rewrite(self, machine: Machine, items: dict[object, tuple[Value, Value]]) -> None:
        """Replace all entries, with undo."""
        self.complete(machine)
        for key, entry in self.items.items():
            if items.get(key, (None, None))[1] is not entry[1]:
                self._lose(machine, entry)
        is_moved = (bool(items) or CLEARING_COUNTS) and list(items) != list(self.items)
        machine.heap.set_field(self, "items", items)
        self._changed(machine, is_moved=is_moved)

    def _lose(self, machine: Machine, entry: tuple[Value, Value] | None) -> None:
        if self.source is not None and entry is not None:
            machine.let_go(entry[1])

    def _changed(self, machine: Machine, *, is_moved: bool) -> None:
        if is_moved:
            machine.heap.set_field(self, "changes", self.changes + 1)
        if self.source is not None:
            machine.heap.touch(self)

    def contains(self, machine: Machine, item: Value) -> Value:
        return ConstantValue(self.find(machine, item) is not None)

    def keys(self, machine: Machine) -> list[Value]:
        """Return the keys in order."""
        self.complete(machine)
        return [key for key, _ in self.items.values()]

    def values(self, machine: Machine) -> list[Value]:
        """Return the values in key order."""
        return [value for key in self.keys(machine) if (value := self.find(machine, key)) is not None]

    def iterate(self, machine: Machine) -> Value:
        return DictIterator(self, self.keys(machine))

    def get_attr(self, machine: Machine, name: str) -> Value:
        if name == "default_factory" and self.factory is not None:
            return self.factory
        return type_attr(machine, self, self.kind, name)


class DictIterator(Value):
    """An iterator over a dict, a view of it or a set; raises RuntimeError when the size changes meanwhile."""

    __slots__ = ("before", "is_reversed", "keys", "mapping", "part", "position")

    def __init__(
        self,
        mapping: "DictValue | SetValue",
        keys: list[Value],
        part: str = "keys",
        *,
        is_reversed: bool = False,
    ) -> None:
        super().__init__()
        self.mapping = mapping
        self.keys = keys
        self.part = part
        self.is_reversed = is_reversed
        self.position = 0
        self.before = mapping.changes

    def python_type(self) -> type:
        if isinstance(self.mapping, SetValue):
            return type(iter({0}))
        view = empty_view(self.mapping.kind, self.part)
        return type(reversed(cast("Reversible[object]", view)) if self.is_reversed else iter(view))

    def iterate(self, machine: Machine) -> Value:
        return self

    def advance(self, machine: Machine) -> Value | None:
        is_ordered = issubclass(self.mapping.kind, collections.OrderedDict)
        is_resized = self.position == BROKEN or len(self.mapping.items) != len(self.keys)
        if self.position == FINISHED or (is_ordered and self.position >= len(self.keys)):
            return None
        if is_resized or self.mapping.changes != self.before:
            self._refuse_changes(machine, is_ordered=is_ordered, is_resized=is_resized)
        if self.position >= len(self.keys):
            machine.heap.set_field(self, "position", FINISHED)
            return None
        machine.heap.set_field(self, "position", self.position + 1)
        key = self.keys[-self.position if self.is_reversed else self.position - 1]
        if isinstance(self.mapping, SetValue) or self.part == "keys":
            return key
        found = self.mapping.get_item(machine, key)
        return found if self.part == "values" else new_tuple([key, found])

    def _refuse_changes(self, machine: Machine, *, is_ordered: bool, is_resized: bool) -> None:
        """Raise for another size, each time; for other keys of an OrderedDict once, and end.

        Which keys an iterator over a dict of the same size gives, that has lost keys and got others, CPython
        knows.
        """
        if is_ordered and self.mapping.changes != self.before:
            machine.heap.set_field(self, "position", FINISHED)
            machine.throw(RuntimeError, "OrderedDict mutated during iteration")
        if is_resized:
            machine.heap.set_field(self, "position", BROKEN)
            name = "dictionary" if isinstance(self.mapping, DictValue) else "Set"
            shown = "OrderedDict" if is_ordered else name
            machine.throw(RuntimeError, f"{shown} changed size during iteration")
        machine.unsupported(breaks.OBJECT, name=self.describe(), detail="its dict has other keys by now")


def _clearing_counts() -> bool:
    """Return whether an iterator over an OrderedDict takes a cleared one for changed, not for smaller."""
    cleared = collections.OrderedDict.fromkeys("a")
    left = iter(cleared)
    cleared.clear()
    try:
        next(left)
    except RuntimeError as error:
        return "mutated" in str(error)
    return False


CLEARING_COUNTS: Final = _clearing_counts()
"""So from 3.13."""


def empty_view(kind: type, part: str) -> Collection[object]:
    """Return `keys()`, `values()` or `items()` of an empty dict, or of an OrderedDict, which has its own."""
    made: dict[str, object] = collections.OrderedDict() if issubclass(kind, collections.OrderedDict) else {}
    return getattr(made, part)()


class DictView(Value):
    """`keys()`, `values()` or `items()` of a dict."""

    __slots__ = ("mapping", "part")

    def __init__(self, mapping: DictValue, part: str) -> None:
        super().__init__()
        self.mapping = mapping
        self.part = part

    def python_type(self) -> type:
        return type(empty_view(self.mapping.kind, self.part))

    def length(self, machine: Machine) -> Value:
        return self.mapping.length(machine)

    def truth(self, machine: Machine) -> bool:
        return self.mapping.truth(machine)

    def list(self, machine: Machine) -> Value:
        """Return the view's contents as a list."""
        keys = self.mapping.keys(machine)
        if self.part == "keys":
            return new_list(keys)
        values = self.mapping.values(machine)
        if self.part == "values":
            return new_list(values)
        return new_list([new_tuple(pair) for pair in zip(keys, values, strict=True)])

    def iterate(self, machine: Machine) -> Value:
        return DictIterator(self.mapping, self.mapping.keys(machine), self.part)

    def contains(self, machine: Machine, item: Value) -> Value:
        if self.part == "keys":
            return self.mapping.contains(machine, item)
        if self.part == "values":
            return self.list(machine).contains(machine, item)
        if not isinstance(item, SequenceValue) or item.is_mutable or len(item.items) != 2:
            return ConstantValue(False)
        key, wanted = item.all(machine)
        found = self.mapping.find(machine, key)
        return new_list([] if found is None else [found]).contains(machine, wanted)

    def get_attr(self, machine: Machine, name: str) -> Value:
        if name == "mapping":
            machine.unsupported(breaks.ATTRIBUTE, name=name, owner=self.describe())
        return type_attr(machine, self, self.python_type(), name)


class SetValue(Value):
    """A set or frozenset: key -> value.

    Attributes:
        history: the calls that made it, so a set made alike has the same order; None where it is not known.
        first: the `items` of an existing set, as they were before anything changed them.
        changes: how often members came or went.
        is_placed: `first` is in the order of the existing set, which is guarded member by member.
    """

    __slots__ = ("changes", "first", "history", "is_placed", "items", "kind", "obj")

    def __init__(self, kind: type = set, source: Source | None = None, obj: object = None) -> None:
        super().__init__(source)
        self.kind = kind
        self.items: dict[object, Value] = {}
        self.obj = obj
        self.history: History | Given | None = History(None, kind) if source is None else Given(source)
        self.first = self.items
        self.is_placed = False
        self.changes = 0

    def ordered(self, machine: Machine) -> list[Value]:
        """Return the members in the order in which CPython gives them; gives up where that is not known."""
        if len(self.items) < 2 or (self.is_placed and self.items is self.first):
            return list(self.items.values())
        if any(type(key) not in LITERALS for key in self.items):
            machine.unsupported(breaks.SET_ORDER, name=self.kind.__name__)
        if self.history is not None and not givens(self.history):
            return [self.items[key] for key in replay(self.history)]
        existing = cast("set[object] | None", self.obj)
        if existing is None or self.items is not self.first or set(self.items) != existing:
            machine.unsupported(breaks.SET_ORDER, name=self.kind.__name__)
        machine.guard(self.source, Kind.KEYS, tuple(existing))
        return [self.items[key] for key in existing]

    def popped(self, machine: Machine) -> Value:
        """Return the member that `pop` takes, which depends on those that it took before."""
        if len(self.items) > 1 and (self.history is None or givens(self.history)):
            machine.unsupported(breaks.SET_ORDER, name=self.kind.__name__)
        if len(self.items) == 1:
            return next(iter(self.items.values()))
        assert self.history is not None
        alike = cast("set[object]", replay(self.history))
        return self.items[alike.pop()]

    def told(self) -> History | Given | None:
        """Return what stands for the set in the history of another one, if a replay can make it again."""
        is_changed = self.source is not None and isinstance(self.history, History)
        return None if is_changed else self.history

    def note(self, machine: Machine, function: Callable[..., object], *operands: object) -> None:
        """Note a call that changed the set, with undo. An operand `UNKNOWN` leaves its order unknown."""
        known = self.history
        if known is not None:
            known = None if UNKNOWN in operands else History(known, function, operands)
        machine.heap.set_field(self, "history", known)

    def python_type(self) -> type:
        return self.kind

    def as_python(self) -> object:
        if issubclass(self.kind, set):
            return super().as_python()
        return frozenset(value.as_python() for value in self.items.values())

    def key(self, machine: Machine) -> object:
        return frozenset(self.items) if issubclass(self.kind, frozenset) else super().key(machine)

    def truth(self, machine: Machine) -> bool:
        return bool(self.items)

    def length(self, machine: Machine) -> Value:
        return ConstantValue(len(self.items))

    def key_of(self, machine: Machine, item: Value) -> object:
        """Return by which key to look for a member; a set is looked for as a frozenset."""
        if isinstance(item, SetValue) and item.kind is set:
            return frozenset(item.items)
        return item.key(machine)

    def contains(self, machine: Machine, item: Value) -> Value:
        key = self.key_of(machine, item)
        refuse_address(machine, key, self.items)
        return ConstantValue(key in self.items)

    def iterate(self, machine: Machine) -> Value:
        return DictIterator(self, self.ordered(machine))

    def rewrite(self, machine: Machine, items: dict[object, Value]) -> None:
        """Replace the members, with undo."""
        for key in self.items.keys() - items.keys():
            machine.let_go(self.items[key])
        if items.keys() != self.items.keys():
            machine.heap.set_field(self, "changes", self.changes + 1)
        machine.heap.set_field(self, "items", items)
        if self.source is not None:
            machine.heap.touch(self)

    def get_attr(self, machine: Machine, name: str) -> Value:
        return type_attr(machine, self, self.kind, name)

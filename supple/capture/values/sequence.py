"""Lists, tuples, torch.Size, named tuples, deques, slices: a Python kind and a list of values.

A sequence that exists already is read lazily: its length is guarded when it is wrapped (of a list, when
anything but `append` looks at it), an item when it is read.
"""

import collections
import itertools
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import delitem, getitem, setitem
from typing import Final, NoReturn, cast

import torch

from supple.capture import breaks
from supple.capture.guards.kinds import Kind
from supple.capture.machine import Machine
from supple.capture.source import Called, Source, attribute, item
from supple.capture.values.attributes import MISSING, Record, lookup, place_of_field, special, type_attr
from supple.capture.values.base import LazyValue, NotConstant, Raised, Value, name_in_c
from supple.capture.values.constant import FINISHED, LITERALS, ConstantValue, fold_raw
from supple.runtime import rebuild

_GENERATED: Final = frozenset(vars(Record)) | {"__orig_bases__", "__annotations__"}
_NAMES: Final = frozenset(vars(tuple)) - _GENERATED | {"__bool__", "__getattr__", "__setattr__"}
_OF_TUPLES: Final[Mapping[str, object]] = {
    name: vars(tuple).get(name, getattr(object, name, MISSING)) for name in _NAMES
}
"""What a tuple has under names of which a class that `namedtuple` makes has no other."""


def is_plain_record(kind: type) -> bool:
    """Tell whether instances of a class are tuples with names, of which no method of tuple is another."""
    if tuple not in kind.__mro__ or not hasattr(kind, "_fields"):
        return False
    return all(lookup(kind, name) is found for name, found in _OF_TUPLES.items())


class SequenceValue(Value):
    """A list (mutable) or a tuple-like.

    Attributes:
        kind: list, tuple, torch.Size, a namedtuple class, collections.deque.
        obj: the existing object, None when capture made it.
        maxlen: of a deque.
    """

    __slots__ = ("_before", "_items", "kind", "maxlen", "obj")

    def __init__(
        self,
        kind: type,
        items: list[Value],
        source: Source | None = None,
        obj: object = None,
        before: Callable[[], list[Value]] | None = None,
    ) -> None:
        super().__init__(source)
        self.kind = kind
        self._items = items
        self._before = before
        self.obj = obj
        self.maxlen: int | None = None

    @property
    def items(self) -> list[Value]:
        """All items, written by the heap alone; from here on they are guarded to be so many."""
        if self._before is not None:
            read, self._before = self._before, None
            self._items[:0] = read()
        return self._items

    @property
    def appended(self) -> list[Value] | None:
        """What was appended to an existing list of which nothing was read; None of any other."""
        return None if self._before is None else self._items

    def python_type(self) -> type:
        return self.kind

    @property
    def is_mutable(self) -> bool:
        """Whether it is a list or a deque."""
        return issubclass(self.kind, list | collections.deque)

    @property
    def is_deque(self) -> bool:
        """Whether it is a deque, or what an instance of a class of deques holds."""
        return issubclass(self.kind, collections.deque)

    def at(self, machine: Machine, index: int) -> Value:
        """Return the value of one item, wrapped on first use."""
        found = self.items[index]
        if isinstance(found, LazyValue):
            found = found.force(machine)
            self.items[index] = found
        return found

    def all(self, machine: Machine) -> list[Value]:
        """Return all items."""
        return [self.at(machine, index) for index in range(len(self.items))]

    def as_python(self) -> object:
        if self.is_mutable:
            raise NotConstant
        found: list[object] = []
        for value in self.items:
            if isinstance(value, LazyValue):
                raise NotConstant
            found.append(value.as_python())
        return make_tuple(self.kind, found)

    def key(self, machine: Machine) -> object:
        if self.is_mutable:
            return super().key(machine)
        return tuple(value.key(machine) for value in self.all(machine))

    def identity(self) -> object:
        return () if self.kind is tuple and not self._items else self

    def truth(self, machine: Machine) -> bool:
        return bool(self.items)

    def length(self, machine: Machine) -> Value:
        return ConstantValue(len(self.items))

    def get_item(self, machine: Machine, key: Value) -> Value:
        index, places = index_of(machine, key), range(len(self.items))
        try:
            found = places[cast("int", index)] if not self.is_deque else None
        except (IndexError, TypeError, ValueError):
            found = None
        if found is None:
            found = fold_raw(machine, getitem, self.real(places), index)
        if isinstance(found, int):
            return self.at(machine, found)
        if self.kind is tuple and isinstance(found, range) and found.step == 1 and found == places:
            return self
        kind = list if self.is_mutable else (torch.Size if self.kind is torch.Size else tuple)
        return SequenceValue(kind, [self.at(machine, place) for place in cast("Sequence[int]", found)])

    def real(self, items: Iterable[object]) -> object:
        """Return a Python object like this one with other items."""
        if self.is_deque:
            return collections.deque(items, self.maxlen)
        return list(items) if self.is_mutable else tuple(items)

    def change(self, machine: Machine, method: Callable[..., object], *args: object) -> object:
        """Return what a method of the builtin class gives that only moves, adds and drops items."""
        real = self.real(self.items)
        found = fold_raw(machine, method, real, *args)
        self.rewrite(machine, list(cast("Iterable[Value]", real)))
        if found is real:
            return self
        return found.force(machine) if isinstance(found, LazyValue) else found

    def set_item(self, machine: Machine, key: Value, new: Value) -> None:
        if not self.is_mutable:
            shown = name_in_c(machine, self.kind)
            machine.throw(TypeError, f"{shown!r} object does not support item assignment")
        index = index_of(machine, key)
        given: Value | list[Value] = new
        if isinstance(index, slice) and not self.is_deque:
            # The place is found before items are asked for, which may change the list.
            places = cast(
                "tuple[int, int, int]",
                fold_raw(machine, slice.indices, cast("object", index), len(self.items)),
            )
            given = self._assigned(machine, cast("object", index), new)
            start, stop, step = places
            index = slice(start, stop if step > 0 or stop >= 0 else None, step)
        self.change(machine, setitem, cast("object", index), given)

    def _assigned(self, machine: Machine, place: object, new: Value) -> list[Value]:
        """Return the items that a part of the list is replaced by."""
        try:
            iterator = new.iterate(machine)
        except Raised as raised:
            if raised.is_a(TypeError):
                fold_raw(machine, setitem, list[object](), place, None)
            raise
        return cast("SequenceValue", machine.call(machine.wrap(list, None), [iterator])).items

    def delete_item(self, machine: Machine, key: Value) -> None:
        if not self.is_mutable:
            refuse_deletion(machine, self, key)
        self.change(machine, delitem, index_of(machine, key))

    def rewrite(self, machine: Machine, items: list[Value]) -> None:
        """Replace the contents, with undo, and note the change for replay."""
        if self.source is not None:
            kept = set(map(id, items))
            for gone in self.items:
                if id(gone) not in kept:
                    machine.let_go(gone)
            machine.heap.touch(self)
        machine.heap.replace(self.items, items)

    def extend(self, machine: Machine, items: Sequence[Value]) -> None:
        """Append items to a list."""
        for one in items:
            machine.heap.append(self._items, one)
        if self.source is not None:
            machine.heap.touch(self)

    def contains(self, machine: Machine, item: Value) -> Value:
        from_library = machine.call_python(contains, self, item)
        return ConstantValue(from_library.truth(machine))

    def iterate(self, machine: Machine) -> Value:
        return SequenceIterator(self)

    def get_attr(self, machine: Machine, name: str) -> Value:
        place = place_of_field(self.kind, name)
        if place is not None:
            return self.at(machine, place)
        if name == "maxlen" and self.is_deque:
            return ConstantValue(self.maxlen)
        return type_attr(machine, self, self.kind, name)


def contains(items: Iterable[object], wanted: object) -> bool:
    """`wanted in items`, inlined."""
    for item_ in items:  # inlined during capture: a plain loop is the shortest trace
        if item_ is wanted or item_ == wanted:
            return True
    return False


def index_of(machine: Machine, key: Value) -> object:
    """Return an index as a Python object; an object gives it by `__index__`, unless it is an int itself."""
    if issubclass(key.python_type(), int):
        return key.as_python()
    method = special(machine, key, "__index__")
    if method is None:
        return key.as_python()
    found = machine.call(method).as_python()
    if not isinstance(found, int):
        machine.throw(TypeError, f"__index__ returned non-int (type {name_in_c(machine, type(found))})")
    return found


def refuse_deletion(machine: Machine, value: Value, key: Value) -> NoReturn:
    """Raise what CPython says of `del value[key]`: what could be a sequence is asked for places as one."""
    kind, asked = value.python_type(), lookup(key.python_type(), "__index__")
    if isinstance(asked, types.FunctionType) or issubclass(key.python_type(), torch.Tensor):
        machine.unsupported(breaks.OPERATOR, name="del []", kinds=value.describe())  # the key is asked first
    is_place = asked is not MISSING and _has_slots_of_sequences(kind)
    place = key.value if is_place and isinstance(key, ConstantValue) else 0
    if isinstance(place, int) and not -sys.maxsize - 1 <= place <= sys.maxsize:
        machine.throw(IndexError, f"cannot fit {key.python_type().__name__!r} into an index-sized integer")
    how = "doesn't" if is_place else "does not"
    machine.throw(TypeError, f"{name_in_c(machine, kind)!r} object {how} support item deletion")


def _has_slots_of_sequences(kind: type) -> bool:
    """Tell whether a class could be one of sequences for CPython: made at run time, or with a length."""
    is_made = bool(kind.__flags__ & _HEAP_TYPE)
    return is_made or any(lookup(kind, name) is not MISSING for name in ("__len__", "__contains__"))


_HEAP_TYPE: Final = 1 << 9
"""The flag Py_TPFLAGS_HEAPTYPE."""
BROKEN: Final = -1
"""The position of an iterator that has noticed a change, which it says each time from then on."""


class SequenceIterator(Value):
    """An iterator over a sequence; sees changes of a list made while it runs, as in CPython.

    Attributes:
        is_reversed: it begins at the end, of a deque.
    """

    __slots__ = ("before", "is_reversed", "position", "sequence")

    def __init__(self, sequence: SequenceValue, *, is_reversed: bool = False) -> None:
        super().__init__()
        self.sequence = sequence
        self.is_reversed = is_reversed
        self.position = 0
        self.before: list[Value] | None = list(sequence.items) if sequence.is_deque else None

    def python_type(self) -> type:
        if self.sequence.is_deque:
            empty = collections.deque[object]()
            return type(reversed(empty) if self.is_reversed else iter(empty))
        return type(iter(())) if not self.sequence.is_mutable else type(iter([]))

    def iterate(self, machine: Machine) -> Value:
        return self

    def advance(self, machine: Machine) -> Value | None:
        position, count = self.position, len(self.sequence.items)
        is_over = self.is_reversed and position >= len(self.before or ())
        if self.before is not None and not is_over:
            self._refuse_changes(machine)
        if is_over or position >= count:
            machine.heap.set_field(self, "position", FINISHED)
            return None
        machine.heap.set_field(self, "position", position + 1)
        return self.sequence.at(machine, count - 1 - position if self.is_reversed else position)

    def is_changed(self) -> bool:
        """Tell whether a deque has other items than at the beginning, or this has said so."""
        now, before = self.sequence.items, self.before
        if before is None or self.position == BROKEN or len(now) != len(before):
            return before is not None
        return not all(map(_is_one, now, before))

    def _refuse_changes(self, machine: Machine) -> None:
        if self.position == BROKEN or len(self.sequence.items) != len(self.before or ()):
            machine.heap.set_field(self, "position", FINISHED if self.is_reversed else BROKEN)
            machine.throw(RuntimeError, "deque mutated during iteration")
        if self.is_changed():
            machine.unsupported(breaks.OBJECT, name=self.describe(), detail="its deque may have changed")


def _is_one(new: Value, old: Value) -> bool:
    """Tell whether an item is the one that was there before, which may not have been looked at then."""
    return new is old or (isinstance(old, LazyValue) and new.source == old.source is not None)


class IteratorValue(Value):
    """An existing iterator over a container: what it gives next is guarded, and read from a copy of it."""

    __slots__ = ("obj", "position")

    def __init__(self, obj: Iterator[object], source: Source) -> None:
        super().__init__(source)
        self.obj = obj
        self.position = 0

    def python_type(self) -> type:
        return type(self.obj)

    def truth(self, machine: Machine) -> bool:
        return True

    def iterate(self, machine: Machine) -> Value:
        return self

    def advance(self, machine: Machine) -> Value | None:
        position, source = self.position, self.source
        assert source is not None, "it exists"
        has_next = rebuild.has_next(self.obj, position)
        if has_next is None or self._is_changed(machine):
            machine.unsupported(breaks.OBJECT, name=self.describe(), detail="its container may have changed")
        place = f"{source.name}[{position}:]"
        machine.guard(Called(f"any({place})", source, rebuild.has_next, (position,)), Kind.IS, has_next)
        machine.heap.set_field(self, "position", position + 1)
        machine.heap.touch(self)
        if not has_next:
            if type(self.obj) in _OVER_LISTS:
                ended = Called(f"has_ended({source.name})", source, rebuild.has_ended)
                machine.guard(ended, Kind.IS, rebuild.has_ended(self.obj))
            return None
        found = Called(f"{place}[0]", source, rebuild.upcoming, (position,))
        return machine.wrap(rebuild.upcoming(self.obj, position), found)

    def _is_changed(self, machine: Machine) -> bool:
        """Tell whether capture may have written to the container, of which the copy would not know.

        A list becomes known to capture here, which guards that the lists that it writes are others.
        """
        found, source = rebuild.over(self.obj), self.source
        if source is None or not isinstance(found, list):
            return False
        if type(self.obj) in _OVER_LISTS:
            if rebuild.has_ended(self.obj):
                return False
            over = cast("list[object]", found)
            container = machine.wrap(over, Called(f"over({source.name})", source, rebuild.over))
            return id(container) in machine.heap.dirty
        written = [getattr(value, "obj", None) for value in machine.heap.dirty.values()]
        return any(isinstance(obj, dict | set) or hasattr(obj, "__dict__") for obj in written)


_ITERABLES: Final[tuple[object, ...]] = (
    *([0], (0,), "a", "\u0100", b"a", range(1), {0}, collections.OrderedDict({0: 0})),
    *({0: 0}, {0: 0}.values(), {0: 0}.items(), itertools.count()),
)
_OVER_LISTS: Final = (type(iter([0])), type(reversed([0])))
ITERATORS: Final = frozenset(
    {*_OVER_LISTS, *(type(iter(cast("Iterable[object]", items))) for items in _ITERABLES)}
)
"""The classes of iterators that a copy can stand for."""


def make_tuple(kind: type, items: list[object]) -> object:
    """Return a tuple-like Python object of `kind`."""
    return cast("object", tuple.__new__(kind, items) if hasattr(kind, "_make") else kind(items))  # pyright: ignore[reportUnknownMemberType]  # its items are open


_BASES: Final[tuple[type, ...]] = (tuple, list, collections.deque)


def stored(whole: Iterable[object]) -> list[object]:
    """Return what a list, tuple or deque holds, past what a subclass says by its methods."""
    base = next(base for base in _BASES if isinstance(whole, base))
    return list(cast("Iterator[object]", vars(base)["__iter__"](whole)))


_SHORT: Final = 8
"""Longest tuple of constants that is guarded as a whole."""


def wrap_sequence(
    machine: Machine, obj: Sequence[object], source: Source | None, kind: type
) -> SequenceValue:
    """Return the value of an existing sequence.

    A short tuple of constants is guarded as a whole; of others the type and the length, and items when read.
    """
    if kind is tuple and 0 < len(obj) <= _SHORT and all(type(element) in LITERALS for element in obj):
        machine.guard(source, Kind.EQUALS, obj)
        return SequenceValue(kind, [ConstantValue(element) for element in obj], source, obj)
    machine.guard(source, Kind.TYPE, kind)
    if source is None:
        made = SequenceValue(kind, [machine.wrap(element, None) for element in stored(obj)])
    else:
        base = next(base for base in _BASES if base in kind.__mro__)

        def items() -> list[Value]:
            held = stored(obj)
            if kind is base or kind is torch.Size:
                machine.guard(source, Kind.LENGTH, len(held))
            else:
                counted = Called(f"{base.__name__}.__len__({source.name})", source, vars(base)["__len__"])
                machine.guard(counted, Kind.EQUALS, len(held))
            return [LazyValue(element, item(source, i, base)) for i, element in enumerate(held)]

        made = (
            SequenceValue(kind, [], source, obj, items)
            if kind is list
            else SequenceValue(kind, items(), source, obj)
        )
    if isinstance(obj, collections.deque):
        made.maxlen = obj.maxlen
        machine.guard(attribute(source, "maxlen") if source else None, Kind.EQUALS, made.maxlen)
    return made


class SliceValue(Value):
    """A slice whose parts are not all constant."""

    __slots__ = ("parts",)

    def __init__(self, parts: tuple[Value, Value, Value]) -> None:
        super().__init__()
        self.parts = parts

    def python_type(self) -> type:
        return slice

    def as_python(self) -> object:
        return slice(*(part.as_python() for part in self.parts))

    def key(self, machine: Machine) -> object:
        return super().key(machine) if getattr(slice, "__hash__", None) is None else self.as_python()

    def get_attr(self, machine: Machine, name: str) -> Value:
        if name in ("start", "stop", "step"):
            return self.parts[("start", "stop", "step").index(name)]
        return type_attr(machine, self, slice, name)

    def call(self, machine: Machine, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
        machine.throw(TypeError, "'slice' object is not callable")


def new_list(items: Sequence[Value]) -> SequenceValue:
    """Return a list made during capture."""
    return SequenceValue(list, list(items))


def new_tuple(items: Sequence[Value]) -> SequenceValue:
    """Return a tuple made during capture."""
    return SequenceValue(tuple, list(items))

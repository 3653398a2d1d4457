"""Instances of Python classes: existing objects read lazily, and objects made during capture.

Attribute access follows CPython's `object.__getattribute__`: data descriptors, the instance's own dict, other
class attributes, `__getattr__`. Instances of subclasses of builtin containers carry a `payload`.
"""

import collections
import itertools
import threading
import types
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, cast

from supple.capture import breaks
from supple.capture.guards.kinds import Kind
from supple.capture.machine import Machine
from supple.capture.source import (
    Source,
    attribute,
    instance_attribute,
    own_names,
    own_or_none,
    own_value,
)
from supple.capture.values.attributes import (
    IN_C,
    MISSING,
    SLOT_KINDS,
    bind,
    guard_lookup,
    guard_no_setter,
    guard_not_first,
    is_asked,
    is_data_descriptor,
    is_odd,
    is_of_program,
    lookup,
    place_of_field,
    refuse_property,
    says_class,
    special,
    type_attr,
)
from supple.capture.values.base import (
    LazyValue,
    NotConstant,
    Raised,
    Value,
    name_in_c,
    refuse_attribute,
    refuse_slot,
    refuse_to_set,
    take_all,
)
from supple.capture.values.constant import ConstantValue, fold
from supple.capture.values.hashing import HashKey, as_hash
from supple.capture.values.mapping import DictValue, SetValue
from supple.capture.values.sequence import SequenceValue, contains, refuse_deletion
from supple.capture.values.trace import Trace
from supple.runtime.classes import own_dict
from supple.runtime.rebuild import bare_instance

DELETED: Final = Value()
_EXCEPTION_DEFAULTS: Final[dict[str, object]] = {
    "__cause__": None,
    "__context__": None,
    "__suppress_context__": False,
}


_PLAIN: Final = frozenset({str, int, float, tuple})
_REFUSALS: Final = {
    "__len__": "object of type {} has no len()",
    "__getitem__": "{} object is not subscriptable",
    "__setitem__": "{} object does not support item assignment",
    "__delitem__": "{} object does not support item deletion",
    "__iter__": "{} object is not iterable",
    "__next__": "{} object is not an iterator",
    "__contains__": "{} object is not a container",
}


_HALVES: Final = {"__setitem__": "__delitem__", "__delitem__": "__setitem__"}
"""Methods that CPython keeps in one slot: it looks for the one where a class has the other."""


def has_dict(cls: type) -> bool:
    """Tell whether instances can have attributes of any name."""
    return bool(cls.__dictoffset__) or issubclass(cls, threading.local)


_NAMES: Final = (
    "abs bool bytes ceil complex contains divmod eq float floor format fspath ge getitem gt hash index int "
    "invert iter le len lt ne neg pos repr reversed round str trunc"
).split()
_BINARY: Final = "add and floordiv lshift matmul mod mul or pow rshift sub truediv xor".split()
_OPERATORS: Final = tuple(
    f"__{name}__" for name in (*_NAMES, "rdivmod", *_BINARY, *(f"r{one}" for one in _BINARY))
)
"""Special methods of numbers, texts and tuples."""


class InstanceValue(Value):
    """An instance of `cls`.

    Attributes:
        attrs: the instance's own attributes as read or written so far; DELETED marks a deleted one.
        obj: the existing object, None when capture made it.
        payload: contents, for a subclass of dict, list, tuple, set, str, int, or of an exception (its args).
        written: names of attributes that capture wrote or deleted, in order, and whether it deleted them.
    """

    __slots__ = ("attrs", "cls", "obj", "payload", "written")

    def __init__(self, cls: type, source: Source | None = None, obj: object = None) -> None:
        super().__init__(source)
        self.cls = cls
        self.obj = obj
        self.attrs: dict[str, Value] = {}
        self.payload: Value | None = None
        self.written: dict[str, bool] = {}

    def python_type(self) -> type:
        return self.cls

    def as_python(self) -> object:
        is_plain = not _PLAIN.isdisjoint(self.cls.__mro__) and lookup(self.cls, "__hash__") is not None
        if self.payload is None or self.attrs or not is_plain or self.has_operators():
            raise NotConstant
        return self.obj if self.obj is not None else bare_instance(self.cls, (self.payload.as_python(),))

    def has_operators(self) -> bool:
        """Tell whether the program says what an operator or a builtin function makes of the object."""
        if self.cls.__module__ == "torch.torch_version":
            return False  # a text with an order of versions
        return any([is_of_program(lookup(self.cls, name)) for name in _OPERATORS])

    def identity(self) -> object:
        return ("object", id(self.obj)) if self.obj is not None else self

    def key(self, machine: Machine) -> object:
        hasher = lookup(self.cls, "__hash__")
        if isinstance(hasher, types.FunctionType):
            number = machine.call(bind(machine, self, self.cls, "__hash__", hasher))
            given = cast("int", checked(machine, hash, "__hash__", number).as_python())
            return HashKey(machine, self, as_hash(given))
        if hasher is None:
            return super().key(machine)
        guard_lookup(machine, self.cls, "__hash__", hasher)
        if hasher is object.__hash__ or hasher is BaseException.__hash__:
            return machine.tell_apart(self)
        if self.payload is None:
            machine.unsupported(breaks.OPERATOR, name="hash()", kinds=self.describe())
        return self.payload.key(machine)

    def truth(self, machine: Machine) -> bool:
        for name in ("__bool__", "__len__"):
            if lookup(self.cls, name) is not MISSING:
                found = type_attr(machine, self, self.cls, name).call(machine, (), {})
                return checked(machine, bool if name == "__bool__" else len, name, found).truth(machine)
        for name in ("__bool__", "__len__"):
            guard_lookup(machine, self.cls, name, MISSING)
        return True

    def length(self, machine: Machine) -> Value:
        return checked(machine, len, "__len__", self._special(machine, "__len__"))

    def has_own_in_c(self, name: str, found: object) -> bool:
        payload = self.payload
        return isinstance(payload, ConstantValue) and found is not lookup(type(payload.value), name)

    def get_item(self, machine: Machine, key: Value) -> Value:
        return self._special(machine, "__getitem__", key)

    def set_item(self, machine: Machine, key: Value, new: Value) -> None:
        self._special(machine, "__setitem__", key, new)

    def delete_item(self, machine: Machine, key: Value) -> None:
        if all(lookup(self.cls, name) is MISSING for name in _HALVES):
            refuse_deletion(machine, self, key)
        self._special(machine, "__delitem__", key)

    def contains(self, machine: Machine, item: Value) -> Value:
        if lookup(self.cls, "__contains__") is MISSING:
            is_iterable = lookup(self.cls, "__iter__") not in (MISSING, None)
            if not is_iterable and lookup(self.cls, "__getitem__") is MISSING:
                machine.throw(TypeError, f"argument of type {name_in_c(machine, self.cls)!r} is not iterable")
            return ConstantValue(machine.call_python(contains, self, item).truth(machine))
        return ConstantValue(self._special(machine, "__contains__", item).truth(machine))

    def iterate(self, machine: Machine) -> Value:
        by_index = lookup(self.cls, "__getitem__")
        if lookup(self.cls, "__iter__") is MISSING and by_index is not MISSING:
            if isinstance(by_index, IN_C):  # which may be one of a mapping
                machine.unsupported(breaks.OBJECT, name=self.cls.__name__, detail="its `__getitem__` is in C")
            return machine.call_python(_iterate_by_index, self).iterate(machine)
        found = self._special(machine, "__iter__")
        kind = found.python_type()
        if lookup(kind, "__next__") is MISSING:
            machine.throw(TypeError, f"iter() returned non-iterator of type {name_in_c(machine, kind)!r}")
        return found

    def advance(self, machine: Machine) -> Value | None:
        try:
            return self._special(machine, "__next__")
        except Raised as raised:
            if raised.is_a(StopIteration):
                return None
            raise

    def call(self, machine: Machine, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
        found = lookup(self.cls, "__call__")
        if found is MISSING:
            machine.throw(TypeError, f"{name_in_c(machine, self.cls)!r} object is not callable")
        if not isinstance(found, types.FunctionType | types.WrapperDescriptorType):
            machine.unsupported(breaks.CALL, name=self.describe())
        return machine.call(bind(machine, self, self.cls, "__call__", found), args, kwargs)

    def _special(self, machine: Machine, name: str, *args: Value) -> Value:
        found = lookup(self.cls, name)
        if found is None and name not in ("__iter__", "__contains__"):
            machine.throw(TypeError, "'NoneType' object is not callable")
        if found is MISSING and lookup(self.cls, _HALVES.get(name, name)) is not MISSING:
            machine.throw(AttributeError, name)
        if found is MISSING or found is None:
            machine.throw(TypeError, _REFUSALS[name].format(repr(name_in_c(machine, self.cls))))
        return machine.call(bind(machine, self, self.cls, name, found), args)

    def get_attr(self, machine: Machine, name: str) -> Value:
        getter = special(machine, self, "__getattribute__")
        if getter is not None:
            try:
                return machine.call(getter, [ConstantValue(name)])
            except Raised as raised:
                fallback = self._fallback(machine, raised)
                if fallback is None:
                    raise
            return machine.call(fallback, [ConstantValue(name)])
        try:
            return self.generic_get(machine, name)
        except Raised as raised:
            fallback = self._fallback(machine, raised)
            if fallback is None:
                raise
        return machine.call(fallback, [ConstantValue(name)])

    def _fallback(self, machine: Machine, raised: Raised) -> Value | None:
        """Return `__getattr__`, which answers in place of an AttributeError, None where there is none."""
        fallback = lookup(self.cls, "__getattr__")
        if fallback is MISSING:
            guard_lookup(machine, self.cls, "__getattr__", MISSING)
        if fallback is MISSING or not raised.is_a(AttributeError):
            return None
        return bind(machine, self, self.cls, "__getattr__", fallback)

    def generic_get(self, machine: Machine, name: str) -> Value:
        """Return what `object.__getattribute__(x, name)` gives."""
        if name == "__class__" and not says_class(self.cls):
            return machine.wrap(self.cls, None)
        if name == "__dict__" and has_dict(self.cls):
            return InstanceDict(self)
        found = lookup(self.cls, name)
        if is_odd(lookup(type(found), "__get__")):
            machine.unsupported(breaks.ATTRIBUTE, name=name, owner=self.describe())
        if found is not MISSING and is_data_descriptor(found):
            if isinstance(found, SLOT_KINDS):
                return self._slot(machine, name) or refuse_slot(machine, self.cls, name)
            place = place_of_field(self.cls, name)
            if place is not None and isinstance(self.payload, SequenceValue):
                return self.payload.at(machine, place)
            if lookup(type(found), "__get__") is MISSING:  # the instance's own comes first, if there is one
                machine.unsupported(breaks.ATTRIBUTE, name=name, owner=self.describe())
            return bind(machine, self, self.cls, name, found)
        if found is not MISSING:
            guard_no_setter(machine, found)
        own = self.own(machine, name)
        if own is not None:
            guard_not_first(machine, self.cls, name, found)
            return own
        if found is MISSING:
            guard_lookup(machine, self.cls, name, MISSING)
            refuse_attribute(machine, self.cls, name)
        return bind(machine, self, self.cls, name, found)

    def _slot(self, machine: Machine, name: str) -> Value | None:
        """Return what a slot holds, None where it holds nothing."""
        in_class = lookup(self.cls, name)
        if issubclass(self.cls, BaseException):
            found = self._exception_field(machine, name)
            if found is not None:
                return found
        if name not in self.attrs and self.obj is not None:
            found = getattr(self.obj, name, MISSING)
            if found is not MISSING:
                self.attrs[name] = machine.wrap(found, attribute(self.source, name) if self.source else None)
            else:
                machine.guard(self.source, Kind.LACKS_SLOT, name)
        value = self.attrs.get(name)
        if value is None and isinstance(in_class, types.GetSetDescriptorType):
            if not isinstance(self.payload, ConstantValue):
                machine.unsupported(breaks.ATTRIBUTE, name=name, owner=self.describe())
            return self.payload.get_attr(machine, name)  # `real` of a new int
        return None if value is DELETED else value

    def _exception_field(self, machine: Machine, name: str) -> Value | None:
        if name == "args":
            return self.payload
        if name in self.attrs or self.obj is not None:
            return None
        if name == "value" and issubclass(self.cls, StopIteration):
            assert isinstance(self.payload, SequenceValue), self.describe()
            return self.payload.at(machine, 0) if self.payload.items else ConstantValue(None)
        if name in ("name", "obj") and issubclass(self.cls, AttributeError | NameError):
            return ConstantValue(None)
        if name in _EXCEPTION_DEFAULTS:
            return ConstantValue(_EXCEPTION_DEFAULTS[name])
        if name == "__traceback__" and machine.handling() is self:
            return Trace()
        reason = breaks.FRAMES if name == "__traceback__" else breaks.ATTRIBUTE
        machine.unsupported(reason, name=name, owner=self.describe())

    def own(self, machine: Machine, name: str) -> Value | None:
        """Return the instance's own attribute, None when it has none (guarded)."""
        value = self.attrs.get(name)
        if value is not None:
            if isinstance(value, LazyValue):
                value = value.force(machine)
                self.attrs[name] = value
            return None if value is DELETED else value
        if self.obj is None:
            return None
        raw = own_dict(self.obj).get(name, MISSING)
        if raw is MISSING:
            if self.source is not None and has_dict(self.cls):
                if is_asked(self.cls):
                    machine.guard(own_names(self.source, is_asked=True), Kind.LACKS_KEY, name)
                else:
                    machine.guard(self.source, Kind.LACKS_ATTRIBUTE, name)
            return None
        value = machine.wrap(raw, self._place_of(name))
        self.attrs[name] = value
        return value

    def _place_of(self, name: str) -> Source | None:
        return instance_attribute(self.source, name, is_asked=is_asked(self.cls)) if self.source else None

    def own_is_empty(self, machine: Machine, name: str) -> bool:
        """Tell whether an own attribute is an empty dict, with no guard but that; False is no promise."""
        if self.obj is None or self.source is None or name in self.attrs:
            own = self.attrs.get(name)
            return isinstance(own, DictValue) and own.is_complete and not own.items
        raw = own_dict(self.obj).get(name)
        if type(raw) not in (dict, OrderedDict) or raw or machine.known(raw) is not None:
            return False
        machine.guard(self._place_of(name), Kind.EMPTY)
        return True

    def set_attr(self, machine: Machine, name: str, new: Value) -> None:
        setter = special(machine, self, "__setattr__")
        if setter is not None:
            machine.call(setter, [ConstantValue(name), new])
        else:
            self.generic_set(machine, name, new)

    def generic_set(self, machine: Machine, name: str, new: Value) -> None:
        """What `object.__setattr__(x, name, new)` does."""
        found = lookup(self.cls, name)
        if self._by_descriptor(machine, name, "__set__", new):
            return
        if name in ("__class__", "__dict__"):
            machine.unsupported(breaks.SIDE_EFFECT, name=f"{name} of {self.describe()}")
        if not has_dict(self.cls) and not isinstance(found, SLOT_KINDS):
            refuse_to_set(machine, self.cls, name, is_on_class=found is not MISSING)
        guard_not_first(machine, self.cls, name, found)
        self.write(machine, name, new)

    def _by_descriptor(self, machine: Machine, name: str, verb: str, *args: Value) -> bool:
        """Call `__set__` or `__delete__` of what the class has for an attribute; tell whether it has them."""
        found = lookup(self.cls, name)
        if found is MISSING or isinstance(found, SLOT_KINDS) or lookup(type(found), verb) is MISSING:
            return False
        source = guard_lookup(machine, self.cls, name, found)
        if isinstance(found, property):
            part = "fset" if verb == "__set__" else "fdel"
            bound = machine.wrap(getattr(found, part), attribute(source, part) if source else None)
            if bound.identity() is None:
                given = [None] * len(args)
                refuse_property(machine, self.cls, found, lambda one: getattr(found, verb)(one, *given))
            machine.call(bound, [self, *args])
            return True
        bound = special(machine, machine.wrap(found, source), verb)
        if bound is None:
            machine.unsupported(breaks.ATTRIBUTE, name=name, owner=self.describe())
        machine.call(bound, [self, *args])
        return True

    def delete_attr(self, machine: Machine, name: str) -> None:
        deleter = special(machine, self, "__delattr__")
        if deleter is not None:
            machine.call(deleter, [ConstantValue(name)])
        else:
            self.generic_delete(machine, name)

    def generic_delete(self, machine: Machine, name: str) -> None:
        """What `object.__delattr__(x, name)` does."""
        if self._by_descriptor(machine, name, "__delete__"):
            return
        found = lookup(self.cls, name)
        if isinstance(found, SLOT_KINDS):
            if self._slot(machine, name) is None:
                machine.throw(AttributeError, name)
        elif self.own(machine, name) is None:
            # The text depends on how CPython keeps the attributes of this object.
            machine.unsupported(breaks.ATTRIBUTE, name=name, owner=self.describe())
        self.write(machine, name, DELETED)

    def write(self, machine: Machine, name: str, new: Value) -> None:
        """Write an own attribute past any descriptor; DELETED deletes it."""
        if name == "args" and issubclass(self.cls, BaseException):
            if new is DELETED:
                machine.throw(TypeError, "args may not be deleted")
            new = SequenceValue(tuple, take_all(machine, new))
            machine.heap.set_field(self, "payload", new)
            if self.obj is None:
                return
        if self.obj is not None:
            place = own_or_none(self.source, name) if self.source else None
            machine.let_go(self.attrs.get(name) or LazyValue(own_value(self.obj, name), place))
            machine.heap.touch(self)
        was_deleted = new is DELETED or self.written.get(name, False)
        if new is not DELETED and self.attrs.get(name) is DELETED:  # it is the last one from now on
            machine.heap.drop(self.attrs, name)
            machine.heap.drop(self.written, name)
        machine.heap.put(self.attrs, name, new)
        machine.heap.put(self.written, name, was_deleted)

    def own_names(self, machine: Machine) -> list[str]:
        """Return the names in the instance's dict, in order; guards the whole list for an existing object."""
        names: dict[str, None] = {}
        if self.obj is not None:
            existing = own_dict(self.obj)
            if self.source is not None:
                machine.guard(own_names(self.source, is_asked=is_asked(self.cls)), Kind.KEYS, tuple(existing))
            names.update((name, None) for name in existing if not self.written.get(name))
        names.update(dict.fromkeys(self.attrs))
        slots = {name for name in names if isinstance(lookup(self.cls, name), SLOT_KINDS)}
        return [name for name in names if name not in slots and self.attrs.get(name) is not DELETED]


def checked(machine: Machine, builtin: Callable[..., object], name: str, found: Value) -> Value:
    """Return what a builtin function makes of the result of a special method; it may raise about it."""
    if found.python_type() is builtin:
        return found
    kind = found.python_type()
    if builtin is bool:
        machine.throw(TypeError, f"__bool__ should return bool, returned {name_in_c(machine, kind)}")
    if isinstance(found, InstanceValue) and isinstance(found.payload, ConstantValue) and builtin is not str:
        found = found.payload
    if not isinstance(found, ConstantValue):
        if kind is int and builtin is len and machine.compare("<", found, ConstantValue(0)).truth(machine):
            machine.throw(ValueError, "__len__() should return >= 0")
        if kind is int:
            return found
        if builtin not in (str, repr) or not issubclass(kind, str):
            machine.unsupported(breaks.OBJECT, name=found.describe(), detail=f"a {name} returned it")
        return found
    plain = found.value

    def method(_: object) -> object:
        return plain

    return fold(machine, builtin, type("", (), {name: method})())


def _iterate_by_index(sequence: Sequence[object]) -> Iterator[object]:
    for index in itertools.count():
        try:
            item = sequence[index]
        except (IndexError, StopIteration):
            return
        yield item


class InstanceDict(Value):
    """`x.__dict__` of an instance: a view that reads and writes its attributes."""

    __slots__ = ("instance",)

    def __init__(self, instance: InstanceValue) -> None:
        super().__init__()
        self.instance = instance

    def python_type(self) -> type:
        return dict

    def identity(self) -> object:
        return ("dict", self.instance.identity())

    def as_dict(self, machine: Machine) -> DictValue:
        """Return a copy as a dict."""
        made = DictValue()
        for name in self.instance.own_names(machine):
            value = self.instance.own(machine, name)
            assert value is not None, name
            made.items[name] = (ConstantValue(name), value)
        return made

    def find(self, machine: Machine, key: Value) -> Value | None:
        """Return the attribute named by `key`, None when there is none."""
        return self.instance.own(machine, self._name(machine, key))

    def _name(self, machine: Machine, key: Value) -> str:
        name = key.as_python()
        if not isinstance(name, str):
            machine.unsupported(breaks.OBJECT, name=self.describe(), detail=f"{name!r} is no name")
        return name

    def get_item(self, machine: Machine, key: Value) -> Value:
        found = self.find(machine, key)
        if found is None:
            machine.throw(KeyError, key.as_python())
        return found

    def set_item(self, machine: Machine, key: Value, new: Value) -> None:
        name = self._name(machine, key)
        if is_data_descriptor(lookup(self.instance.cls, name)):
            machine.unsupported(breaks.SIDE_EFFECT, name=f"{name!r} of {self.describe()}, below a descriptor")
        self.instance.write(machine, name, new)

    def delete_item(self, machine: Machine, key: Value) -> None:
        if self.find(machine, key) is None:
            machine.throw(KeyError, key.as_python())
        self.instance.write(machine, self._name(machine, key), DELETED)

    def contains(self, machine: Machine, item: Value) -> Value:
        return ConstantValue(self.find(machine, item) is not None)

    def truth(self, machine: Machine) -> bool:
        return bool(self.instance.own_names(machine))

    def length(self, machine: Machine) -> Value:
        return ConstantValue(len(self.instance.own_names(machine)))

    def iterate(self, machine: Machine) -> Value:
        return self.as_dict(machine).iterate(machine)

    def get_attr(self, machine: Machine, name: str) -> Value:
        return type_attr(machine, self, dict, name)


def is_iterated_as_dict(value: Value) -> bool:
    """Tell whether a dict, or an object of a subclass, gives its entries by itself, and not by `keys()`."""
    return not isinstance(value, InstanceValue) or lookup(value.cls, "__iter__") in _ITERATIONS


_ITERATIONS: Final = tuple(vars(kind)["__iter__"] for kind in (dict, collections.OrderedDict))


def payload_of(value: Value) -> Value:
    """Return the container that a value is or carries."""
    if isinstance(value, InstanceValue) and value.payload is not None:
        return value if issubclass(value.cls, BaseException) else value.payload
    return value


def container(value: Value) -> "SequenceValue | DictValue | SetValue | InstanceDict | None":
    """Return the builtin container that a value is or carries, None for others."""
    found = payload_of(value)
    return found if isinstance(found, SequenceValue | DictValue | SetValue | InstanceDict) else None

"""Facts about a class that compiled code rests on: its bases, and what lies under names that were looked up.

A check compares the class's version tag, a number that CPython changes with each change of the class or of a
base. Only when the tag is another one are the names looked up again: a class whose counter goes up in each
call keeps its entries.
"""

import ctypes
import types
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from operator import is_
from typing import Any, Final, cast

from supple.runtime.entries import Watch

MISSING: Final = object()
"""What is found under a name that no class of the MRO has."""

_TAG_OFFSET: Final = 384
"""Where PyTypeObject keeps tp_version_tag, on 64-bit builds of CPython 3.11 to 3.13."""

_NAME_OFFSET: Final = object.__basicsize__ + tuple.__itemsize__
"""Where PyTypeObject keeps tp_name: behind the header of an object of variable size."""

_HEAP_TYPE: Final = 1 << 9  # Py_TPFLAGS_HEAPTYPE
_IMMUTABLE: Final = 1 << 8  # Py_TPFLAGS_IMMUTABLETYPE


_NOTED_BY_COPYING: Final = "__slotnames__"
"""What `copyreg` keeps in a class of which it has copied an instance."""


def is_passing(cls: type) -> bool:
    """Tell whether a call has made a class, which may end while the program runs."""
    return "<locals>" in _QUALIFIED_NAME(cls)


_QUALIFIED_NAME: Final = vars(type)["__qualname__"].__get__
"""A class -> its `__qualname__`, whatever its metaclass says."""


def is_on_heap(cls: type) -> bool:
    """Tell whether a class was made at run time, as those of class statements and some in C are."""
    return bool(cls.__flags__ & _HEAP_TYPE)


def may_change(cls: type) -> bool:
    """Tell whether attributes of the class can be assigned."""
    return is_on_heap(cls) and not cls.__flags__ & _IMMUTABLE


def lookup(cls: type, name: str) -> object:
    """Return the attribute as it lies in the dict of the first class of the MRO that has it, or MISSING."""
    for owner in cls.__mro__:
        if name in owner.__dict__:
            return owner.__dict__[name]
    return MISSING


def own_dict(obj: object) -> dict[str, object]:
    """Return an object's own dict, past any `__getattribute__` in Python; {} where it has none.

    The one in C is its class's: `threading.local` has a dict for each thread.
    """
    found: object = None
    for owner in type(obj).__mro__:
        getter = owner.__dict__.get("__getattribute__")
        if isinstance(getter, types.WrapperDescriptorType):
            with suppress(AttributeError):
                found = getter(obj, "__dict__")
            break
    return cast("dict[str, object]", found) if isinstance(found, dict) else {}


def name_in_c(cls: type) -> str:
    """Return what errors in C call a class: of a class in C its name may have the module in front."""
    return (ctypes.c_char_p.from_address(id(cls) + _NAME_OFFSET).value or b"").decode()


def tag_of(cls: type) -> "ctypes.Array[ctypes.c_uint]":
    """Return a view of the version tag of a class: one number, 0 where it has none; the class must live."""
    return (ctypes.c_uint * 1).from_address(id(cls) + _TAG_OFFSET)


def _tags_work() -> bool:
    """Tell whether tags change with a class and with its base, as CPython's own caches of attributes need."""
    base = type("base", (), {"x": 1})
    derived = type("derived", (base,), {})
    seen = set[int]()
    for change in range(3):
        if change:
            type.__setattr__((base, derived)[change - 1], "x", change)
        hasattr(derived, "x")  # whoever looks something up gives the class a tag
        seen.add(tag_of(derived)[0])
    return len(seen) == 3 and 0 not in seen


HAS_TAGS: Final = _tags_work()


class ClassFacts:
    """What holds of a class.

    Attributes:
        cls, label: the class, and its name.
        names: what was found under each name.
        whole: where all of the class counts, what each class of the MRO that may change holds.
        mro: its bases, itself first.
        version: a view of the tag of now.
        tag: the tag under which all of this was seen to hold, -1 for none.
    """

    __slots__ = ("cls", "label", "mro", "names", "tag", "version", "whole")

    def __init__(self, cls: type, names: Mapping[str, object], *, is_whole: bool = False) -> None:
        self.cls = cls
        self.label = cls.__qualname__
        self.names = dict(names)
        self.mro = cls.__mro__
        self.whole = {one: dict(vars(one)) for one in self.mro if is_whole and may_change(one)}
        self.version = tag_of(cls)
        self.tag = self._tag_now()

    def differ(self) -> bool:
        """Look again, after the tag has changed; where all still holds, the new tag stands for that."""
        tag = self._tag_now()
        if self.changed():
            return True
        self.tag = tag
        return False

    def changed(self) -> list[str]:
        """Return the names under which something else is found, and "__mro__" for other bases."""
        found = [] if _are_same(self.mro, self.cls.__mro__) else ["__mro__"]
        found += [name for name, was in self.names.items() if lookup(self.cls, name) is not was]
        for one, was in self.whole.items():
            now = vars(one)
            found += [name for name in was | now if was.get(name, MISSING) is not now.get(name, MISSING)]
        return [name for name in dict.fromkeys(found) if name != _NOTED_BY_COPYING]

    def _tag_now(self) -> int:
        if not HAS_TAGS:
            return -1
        hasattr(self.cls, "__mro__")  # whoever looks something up gives the class a tag
        return self.version[0] or -1


class PassingClassFacts:
    """The same of a class that a call made, which the facts hold no more than what lies in it.

    Of what no weak reference can name it is unknown, once the class has changed, whether it is the same.

    Attributes:
        cls: what refers to the class.
        label: its name.
        version, tag: as those of `ClassFacts`.
    """

    __slots__ = ("_is_whole", "_mro", "_names", "cls", "label", "tag", "version")

    def __init__(self, facts: ClassFacts) -> None:
        self.cls = Watch(facts.cls)
        self.label = facts.cls.__qualname__
        self.version, self.tag = facts.version, facts.tag
        self._mro = tuple(map(Watch, facts.mro))
        own = {name for one in facts.mro if is_passing(one) for name in vars(one)}
        self._names = {
            name: _referred(found) if name in own else found for name, found in facts.names.items()
        }
        self._is_whole = bool(facts.whole)

    def differ(self) -> bool:
        """Look again, after the tag has changed; where all still holds, the new tag stands for that."""
        if self.changed():
            return True
        hasattr(self.cls(), "__mro__")  # whoever looks something up gives the class a tag
        self.tag = self.version[0] or -1
        return False

    def changed(self) -> list[str]:
        """Return the names under which something else is found, and "__mro__" for other bases."""
        cls = cast("type | None", self.cls())
        if cls is None or self._is_whole or not _are_same([one() for one in self._mro], cls.__mro__):
            return ["__mro__"]
        return [name for name, was in self._names.items() if not _is_named(was, lookup(cls, name))]


def _are_same(was: Sequence[object], now: Sequence[object]) -> bool:
    return len(was) == len(now) and all(map(is_, was, now))


_LASTING: Final = (type(None), bool, int, float, str, types.BuiltinFunctionType)
"""Classes of values that hold no others."""


def _referred(found: object) -> object:
    """Return what is held for what a class that a call made holds: what refers to it, itself, or nothing."""
    if type(found) in _LASTING:
        return found
    if type(found) in _PARTS:
        return _Made(type(found), tuple(map(_referred, _PARTS[type(found)](found))))
    return Watch(found) if type(found).__weakrefoffset__ else _UNKNOWN


def _is_named(was: object, found: object) -> bool:
    if isinstance(was, Watch):
        return found is not None and was() is found
    if isinstance(was, _Made):
        return type(found) is was.kind and all(map(_is_named, was.parts, _PARTS[was.kind](found)))
    return was is found


@dataclass(frozen=True, slots=True)
class _Made:
    """What an object is made of that no weak reference can name."""

    kind: type
    parts: tuple[object, ...]


_PARTS: Final[Mapping[type, Callable[[Any], tuple[object, ...]]]] = {
    staticmethod: lambda found: (found.__func__,),
    classmethod: lambda found: (found.__func__,),
    property: lambda found: (found.fget, found.fset, found.fdel),
}
"""Classes of such objects: what one of them is made of."""


_UNKNOWN: Final = object()

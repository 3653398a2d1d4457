"""Facts about a class that compiled code rests on: its bases, and what lies under names that were looked up.

A check compares the class's version tag, a number that CPython changes with each change of the class or of a
base. Only when the tag is another one are the names looked up again: a class whose counter goes up in each
call keeps its entries.
"""

import ctypes
from collections.abc import Mapping
from typing import Final

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
        cls: the class.
        names: what was found under each name.
        whole: where all of the class counts, what each class of the MRO that may change holds.
        mro: its bases, itself first.
        version: a view of the tag of now.
        tag: the tag under which all of this was seen to hold, -1 for none.
    """

    __slots__ = ("cls", "mro", "names", "tag", "version", "whole")

    def __init__(self, cls: type, names: Mapping[str, object], *, is_whole: bool = False) -> None:
        self.cls = cls
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
        found = [] if self.cls.__mro__ == self.mro else ["__mro__"]
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

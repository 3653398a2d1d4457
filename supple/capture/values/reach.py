"""What a function of the program reaches by the names in its code: may it read, or change, what others do?"""

import builtins
import dis
import enum
import functools
import re
import sys
import sysconfig
import types
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, cast

import torch

from supple.capture.values.constant import LITERALS


class Reach:
    """What a function and those that it calls name: a walk over their code, of which nothing runs.

    A function of an installed library is taken to change nothing of the program, and is not looked into.
    """

    def __init__(self) -> None:
        self._functions: dict[types.FunctionType, list[object]] = {}
        self._operations: set[str] = set()
        self._objects: dict[int, object] = {}
        self._has_effects = False

    def enter(self, function: object) -> None:
        """Look into a function, and into those that it calls by name; a function in C says nothing."""
        if not isinstance(function, types.FunctionType) or function in self._functions:
            return
        names = _names_in(function.__code__)
        values = self._functions[function] = [*_values_of(function, names)]
        if _is_installed_code(function):
            self.enter(getattr(function, "__wrapped__", None))  # a library has put its own around it
            return
        if names & _BY_NAME:
            names = names | _texts_in(function.__code__)
        self._operations |= names | _stores_in(function.__code__)
        seen: set[int] = set()
        for value in values:
            self._look_at(value, names, seen)

    def give(self, value: object) -> None:
        """Look at an object that is an argument: any of the functions may have it."""
        self._look_at(value, {*self._operations}, set())

    def _enter_methods(self) -> None:
        """Look into the methods that methods call: any of the functions may have any of the objects."""
        known = -1
        while known != len(self._operations):
            known = len(self._operations)
            for value in [*self._objects.values()]:
                self.give(value)

    def _look_at(self, value: object, names: set[str], seen: set[int]) -> None:
        """Look at a value that a function has.

        Args:
            names: the names in the function, which may be of attributes.
            seen: identities of values that were looked at for this function.
        """
        if id(value) in seen or issubclass(type(value), _UNCHANGING):  # no code of the program may run here
            return
        seen.add(id(value))
        for inner in self._inside(value, type(value), names):
            self._look_at(inner, names, seen)

    def _inside(self, value: Any, kind: type, names: set[str]) -> Iterator[object]:
        """Give what a function may have of a value: items, attributes and methods that it names."""
        if kind is types.FunctionType:
            self.enter(value)
        elif kind is types.MethodType:
            yield from (value.__func__, value.__self__)
        elif kind is functools.partial:
            yield from (value.func, *value.args, *value.keywords.values())
        elif kind in (tuple, frozenset):
            yield from value
        elif kind is _CACHED:
            yield getattr(value, "__wrapped__")  # noqa: B009  # no stub of a cache names it
        elif is_of_a_library(value) or _is_installed(value):
            self._has_effects |= any(value is one for one in _WITH_EFFECTS)
        elif issubclass(kind, types.ModuleType):
            yield from _attributes([value], names)
        elif issubclass(kind, type):
            yield from _attributes(_mro(value), names | _OF_CONSTRUCTION)
        else:
            cls = cast("type[object]", kind)
            self._objects[id(value)] = value
            yield from _contents(value, cls)
            self._has_effects |= hasattr(cls, "__next__")
            yield from _attributes([value], names)
            if not _is_installed(cls):
                yield from _attributes(_mro(cls), names | _special_names(cls))

    def may_read(self, written: Mapping[int, set[str]], changed: set[int]) -> bool:
        """Tell whether one of the functions names what was written or may hold what was.

        Args:
            written: by the identity of a module's dict, the variables that were.
            changed: identities of objects that were.
        """
        for function, values in self._functions.items():
            if _is_installed_code(function):  # it reaches what it names itself
                if any(id(one) in changed for one in values):
                    return True
                continue
            if function.__closure__ or any((function.__defaults__, function.__kwdefaults__)):
                return True
            if _names_in(function.__code__) & written.get(id(function.__globals__), set()):
                return True
            if not all(id(one) not in changed and _holds_nothing(one) for one in values):
                return True
        return False

    def called(self) -> Iterator[tuple[dict[str, object], str, types.FunctionType]]:
        """Give the functions that a global names: each with the dict of the module, and the name."""
        for function in self._functions:
            names = function.__globals__
            for name in sorted(names.keys() & _names_in(function.__code__)):
                if type(names[name]) is types.FunctionType and not _is_installed_code(function):
                    yield names, name, names[name]

    def reads_variables(self) -> bool:
        """Tell whether one of the functions names what may be another value in a later call."""
        return any(
            not (type(value) is types.FunctionType or is_of_a_library(value))
            for function, values in self._functions.items()
            for value in values
            if not _is_installed_code(function)
        )

    def has_effects(self) -> bool:
        """Tell whether one of the functions may do what is seen besides its result."""
        self._enter_methods()
        if self._has_effects or self._operations & _STORES or any(map(_DRAWS.match, self._operations)):
            return True
        return bool(self._objects) and any(map(_CHANGES.fullmatch, self._operations))


def _is_installed_code(function: types.FunctionType) -> bool:
    return function.__code__.co_filename.startswith(_INSTALLED)


def is_of_a_library(value: Any) -> bool:
    """Tell whether a module, a class or a function in C is torch's, NumPy's or Python's."""
    if not issubclass(type(value), types.ModuleType | types.BuiltinFunctionType | type):
        return False
    owner = value.__name__ if isinstance(value, types.ModuleType) else value.__module__
    return str(owner).partition(".")[0] in _LIBRARIES


def _is_installed(value: Any) -> bool:
    """Tell whether a module or a class comes of an installed package."""
    if not issubclass(type(value), types.ModuleType | type):
        return False
    module = value if isinstance(value, types.ModuleType) else sys.modules.get(value.__module__)
    return is_of_a_library(value) or str(getattr(module, "__file__", "")).startswith(_INSTALLED)


def _holds_nothing(value: object) -> bool:
    return type(value) in LITERALS or type(value) is types.FunctionType or is_of_a_library(value)


def _values_of(function: types.FunctionType, names: set[str]) -> Iterator[object]:
    """Give the globals and builtins that a function names, its defaults, and what its cells hold."""
    for name in names:
        if name in function.__globals__:
            yield function.__globals__[name]
        elif hasattr(builtins, name):
            yield getattr(builtins, name)
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
    for cell in function.__closure__ or ():
        if cell != types.CellType():
            yield cell.cell_contents


def _attributes(owners: Iterable[object], names: set[str]) -> Iterator[object]:
    """Give the attributes of these names as they lie in an object, or in a class and its bases."""
    dicts = [_dict_of(one) for one in owners]
    for found in (one[name] for name in names for one in dicts if name in one):
        if type(found) is property:
            yield found.fget
        else:
            yield found.__func__ if type(found) in (staticmethod, classmethod) else found


def _contents(value: Any, kind: type) -> Iterable[object]:
    """Give what one of Python's own containers holds: it may be a function that is called."""
    return value.values() if kind is dict else value if kind in (list, set) else ()


def _mro(cls: Any) -> tuple[type, ...]:
    return type.__getattribute__(cls, "__mro__")


def _dict_of(owner: Any) -> Mapping[str, Any]:
    """Return the dict of an object or a class, past what the program says of its attributes."""
    get = type.__getattribute__ if issubclass(type(owner), type) else object.__getattribute__
    try:
        return get(owner, "__dict__")
    except AttributeError:  # of slots
        return {}


def _special_names(cls: type) -> set[str]:
    """Return the names of the methods by which Python runs an operator, an iteration or a call."""
    owners = [one for one in _mro(cls) if not is_of_a_library(one)]
    return {name for one in owners for name in _dict_of(one) if name.startswith("__")}


def _names_in(code: types.CodeType) -> set[str]:
    """Return the names of globals and attributes that a code object reads, with those of functions in it."""
    inner = (_names_in(one) for one in code.co_consts if isinstance(one, types.CodeType))
    return set(code.co_names).union(*inner)


def _texts_in(code: types.CodeType) -> set[str]:
    """Return the texts that a code object has, with those of functions in it: names for `getattr`."""
    inner = (_texts_in(one) for one in code.co_consts if isinstance(one, types.CodeType))
    return {one for one in code.co_consts if isinstance(one, str)}.union(*inner)


def _stores_in(code: types.CodeType) -> set[str]:
    """Return the names of the instructions of a code object; a constructor fills what is new."""
    inner = (_stores_in(one) for one in code.co_consts if isinstance(one, types.CodeType))
    found = {one.opname for one in dis.get_instructions(code)}.union(*inner)
    return found - {"STORE_ATTR"} if code.co_name in _OF_CONSTRUCTION else found


_INSTALLED: Final = tuple(sysconfig.get_paths()[name] for name in ("purelib", "platlib", "stdlib"))
_LIBRARIES: Final = frozenset({*sys.stdlib_module_names, "torch", "numpy"}) - {"__main__"}
_CACHED: Final = type(functools.lru_cache(len))
_UNCHANGING: Final = (*LITERALS, enum.Enum, range, re.Pattern, torch.dtype, torch.device)
_WITH_EFFECTS: Final[tuple[Any, ...]] = (print, setattr, delattr, next, exec, eval, input, vars, globals)
_OF_CONSTRUCTION: Final = {"__init__", "__new__", "__post_init__"}
_BY_NAME: Final = {"getattr", "attrgetter", "methodcaller"}
_STORES: Final = {"STORE_GLOBAL", "DELETE_GLOBAL", "STORE_ATTR", "DELETE_ATTR"}
_CHANGES: Final = re.compile(
    "STORE_SUBSCR|DELETE_SUBSCR|STORE_SLICE|(append|extend|pop)(left)?|insert|remove|clear|update|setdefault|add"
    "|discard|popitem|sort|reverse|rotate|write|writelines|(intersection|symmetric_difference)_update|.*[^_]_"
)
"""Instructions that store in a container, and methods that change their object."""
_DRAWS: Final = re.compile(
    "rand|manual_seed|seed$|normal|bernoulli|multinomial|dropout|shuffle|choice|uniform"
)
"""Functions that draw of a generator of the process."""

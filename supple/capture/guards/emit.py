"""Guards -> one Python function that checks them all: the first tier, run on every call.

The function has the parameters of the captured function, so that Python itself binds the arguments. Each
source is read at most once, into a local variable just before its first use. Guards are checked in the
recorded order: one that makes an access safe stands before it.

    def check(self, x):
        try:
            if grad_enabled() is not True: return 0
            v1 = type(self)
            if v1 is not k0: return 1
            v2 = self.__dict__
            v3 = v2['scale']
            if v3 is not k1 and (type(v3) is not k2 or v3 != k1): return 2
        except FAILURES as error:
            return at(error)
"""

import inspect
import types
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, cast

import torch

from supple.base.rules import Rules
from supple.capture.guards.equality import has_slot, same
from supple.capture.guards.kinds import Guard, Identity, Kind
from supple.capture.guards.overlap import share_memory
from supple.capture.guards.state import READERS, State, StatePart, compared
from supple.capture.source import (
    Attr,
    Cell,
    ContextValue,
    InstanceAttr,
    Item,
    KeyAt,
    Local,
    Pinned,
    Source,
    TypeOf,
    attribute,
)
from supple.torch_private import any_autocast, functorch_level

#: What reading a source raises when the program's objects are not as they were.
FAILURES: Final = (AttributeError, LookupError, TypeError, ValueError, RuntimeError)

UNSET: Final = object()

Load = Callable[["Emitter", Source], str]
load_rules: Final[Rules[Load]] = Rules("guard load")
Check = Callable[["Emitter", Guard], str]
check_rules: Final[Rules[Check]] = Rules("guard check")

_EXACT: Final = (list, tuple, dict, OrderedDict, set, frozenset)
_BUILTIN_ITEM: Final = (list, tuple, dict)
_FIXED: Final = {"__dict__": dict, "__defaults__": tuple, "__kwdefaults__": dict}


@dataclass(frozen=True, slots=True)
class Checker:
    """A generated check.

    Attributes:
        check: takes the captured function's arguments; returns None when all guards hold, else the index of
            the first that fails. Raises TypeError when the arguments do not fit the parameters.
        text: its source.
    """

    check: types.FunctionType
    text: str


def checker(guards: Sequence[Guard], function: types.FunctionType) -> Checker:
    """Return the check of `guards`, with the parameters and the defaults of `function`.

    It holds what the guards hold (`hold.weakened`). Ids are reused: the entry must be dropped when an object
    that an ID guard names dies.
    """
    emitter = Emitter(function.__code__)
    for index, guard in enumerate(guards):
        emitter.add(index, guard)
    text = emitter.text()
    namespace = emitter.namespace
    exec(compile(text, "<supple guards>", "exec"), namespace)
    check = cast("types.FunctionType", namespace["check"])
    check.__defaults__ = function.__defaults__
    check.__kwdefaults__ = function.__kwdefaults__
    return Checker(check, text)


def parameters(code: types.CodeType) -> str:
    """Return the parameter list of a code object, without defaults, as Python text."""
    names = code.co_varnames
    positional, keyword = code.co_argcount, code.co_kwonlyargcount
    only = code.co_posonlyargcount
    parts = [*names[:only], "/"] if only else []
    parts += names[only:positional]
    next_name = positional + keyword
    if code.co_flags & inspect.CO_VARARGS:
        parts.append(f"*{names[next_name]}")
        next_name += 1
    elif keyword:
        parts.append("*")
    parts += names[positional : positional + keyword]
    if code.co_flags & inspect.CO_VARKEYWORDS:
        parts.append(f"**{names[next_name]}")
    return ", ".join(parts)


class Emitter:
    """The text and the constants of one check function under construction."""

    def __init__(self, code: types.CodeType) -> None:
        self.namespace: dict[str, object] = {"__builtins__": {}}
        self.known_types: dict[str, type] = {}
        self._parameters = parameters(code)
        self._prefix = "_"
        while any(name.startswith(self._prefix) for name in code.co_varnames):
            self._prefix += "_"
        self._variables: dict[str, str] = {}
        self._constants: dict[int, str] = {}
        self._class_dicts: dict[type, str] = {}
        self._lines: list[str] = []
        self._owners: list[int] = []
        self._index = 0

    def add(self, index: int, guard: Guard) -> None:
        """Append the check of one guard."""
        self._index = index
        condition = check_rules[guard.kind](self, guard)
        if condition:
            self._line(f"if {condition}: return {index}")
        self._learn(guard)

    def variable(self, source: Source) -> str:
        """Return the local variable that holds the value of a source, read before if need be."""
        known = self._variables.get(source.name)
        if known is None:
            known = self.store(source.name, load_rules[type(source)](self, source))
        return known

    def store(self, name: str, expression: str) -> str:
        """Return the local variable that holds the value of an expression known by `name`."""
        known = self._variables.get(name)
        if known is None:
            known = expression
            if not expression.isidentifier():
                known = f"{self._prefix}v{len(self._variables)}"
                self._line(f"{known} = {expression}")
            self._variables[name] = known
        return known

    def stored(self, name: str) -> str | None:
        """Return the local variable that holds what is known by `name`, None when it was not stored."""
        return self._variables.get(name)

    def constant(self, value: object) -> str:
        """Return the name of a global of the check that holds `value` itself."""
        known = self._constants.get(id(value))
        if known is None:
            known = f"{self._prefix}k{len(self._constants)}"
            self._constants[id(value)] = known
            self.namespace[known] = value
        return known

    def class_dict(self, cls: type) -> str:
        """Return the name of a global of the check that holds a live view of a class's dict."""
        known = self._class_dicts.get(cls)
        if known is None:
            known = self._class_dicts[cls] = self.constant(cls.__dict__)
        return known

    def type_of(self, source: Source) -> str:
        """Return an expression for the type of the value at a source."""
        known = self._variables.get(f"type({source.name})")
        return known or f"{self.constant(type)}({self.variable(source)})"

    def text(self) -> str:
        """Return the function's source; the text and the namespace belong together."""
        at = self.constant(_at(tuple(self._owners)))
        failures = self.constant(FAILURES)
        error = f"{self._prefix}error"
        body = self._lines or ["        pass"]
        return "\n".join(
            (
                f"def check({self._parameters}):",
                "    try:",
                *body,
                f"    except {failures} as {error}:",
                f"        return {at}({error})",
                "",
            )
        )

    def _line(self, text: str) -> None:
        self._lines.append(f"        {text}")
        self._owners.append(self._index)

    def _learn(self, guard: Guard) -> None:
        """Note what holds from here on: exact types that make plain subscripts safe."""
        if guard.kind is Kind.TYPE and isinstance(guard.expected, type):
            self.known_types[guard.source.name] = guard.expected
        elif guard.kind is Kind.IS and isinstance(guard.source, TypeOf) and guard.source.base is not None:
            self.known_types[guard.source.base.name] = cast("type", guard.expected)


def _at(owners: tuple[int, ...]) -> Callable[[BaseException], int]:
    """Return the function that finds the guard in whose lines an exception arose."""

    def at(error: BaseException) -> int:
        trace = error.__traceback__
        assert trace is not None, error
        return owners[trace.tb_lineno - 3]

    return at


def base_of(source: Source) -> Source:
    """Return the source that a source is read from."""
    assert source.base is not None, source
    return source.base


# load: Source class -> the expression that reads it.


@load_rules.on(Local)
def _(emitter: Emitter, source: Source) -> str:
    """An argument is a parameter of the check."""
    return cast("Local", source).variable


@load_rules.on(Pinned)
def _(emitter: Emitter, source: Source) -> str:
    """The object itself, or what its weak reference leads to."""
    value = cast("Pinned", source).value
    held = emitter.constant(value)
    return f"{held}()" if isinstance(value, weakref.ref) else held


@load_rules.on(Attr)
def _(emitter: Emitter, source: Source) -> str:
    """Ordinary attribute access."""
    return f"{emitter.variable(base_of(source))}.{cast('Attr', source).attribute}"


@load_rules.on(InstanceAttr)
def _(emitter: Emitter, source: Source) -> str:
    """The instance's dict is read once per object."""
    own = emitter.variable(attribute(base_of(source), "__dict__"))
    return f"{own}[{cast('InstanceAttr', source).attribute!r}]"


@load_rules.on(Item)
def _(emitter: Emitter, source: Source) -> str:
    """Plain subscript where the exact type is known, else the builtin type's own method."""
    found = cast("Item", source)
    base = base_of(source)
    key = repr(found.key) if type(found.key) in (str, int) else emitter.constant(found.key)
    if _exact_type(emitter, base) in _BUILTIN_ITEM:
        return f"{emitter.variable(base)}[{key}]"
    of = next(kind for kind in (*_BUILTIN_ITEM, object) if issubclass(found.of, kind))
    if of is object:
        return f"{emitter.variable(base)}[{key}]"
    getter = emitter.constant(_GETTERS[of])
    return f"{getter}({emitter.variable(base)}, {key})"


_GETTERS: Final[dict[type, object]] = {kind: vars(kind)["__getitem__"] for kind in _BUILTIN_ITEM}


def _exact_type(emitter: Emitter, source: Source) -> type | None:
    match source:
        case Pinned():
            return None if isinstance(source.value, weakref.ref) else type(source.value)
        case Attr() if source.attribute in _FIXED:
            return _FIXED[source.attribute]
        case _:
            return emitter.known_types.get(source.name)


@load_rules.on(KeyAt)
def _(emitter: Emitter, source: Source) -> str:
    """The key list of a dict is made once."""
    base = base_of(source)
    keys = emitter.store(f"[*{base.name}]", f"[*{emitter.variable(base)}]")
    return f"{keys}[{cast('KeyAt', source).position}]"


@load_rules.on(Cell)
def _(emitter: Emitter, source: Source) -> str:
    """The closure tuple is read once per function."""
    closure = emitter.variable(attribute(base_of(source), "__closure__"))
    return f"{closure}[{cast('Cell', source).index}].cell_contents"


@load_rules.on(ContextValue)
def _(emitter: Emitter, source: Source) -> str:
    """The value of a context variable."""
    return f"{emitter.variable(base_of(source))}.get()"


@load_rules.on(TypeOf)
def _(emitter: Emitter, source: Source) -> str:
    """`type(x)`."""
    return f"{emitter.constant(type)}({emitter.variable(base_of(source))})"


# check: Kind -> the condition under which the guard fails.


@check_rules.on(Kind.TYPE)
def _(emitter: Emitter, guard: Guard) -> str:
    """The exact class."""
    return f"{emitter.type_of(guard.source)} is not {emitter.constant(guard.expected)}"


@check_rules.on(Kind.EQUALS)
def _(emitter: Emitter, guard: Guard) -> str:
    """Identity is tried first: small ints and interned strings need no more."""
    expected = guard.expected
    value = emitter.variable(guard.source)
    if expected is None or isinstance(expected, bool | Enum):
        return f"{value} is not {emitter.constant(expected)}"
    constant = emitter.constant(expected)
    if type(expected) in (int, str, bytes, torch.device):
        kind = f"{emitter.constant(type)}({value}) is not {emitter.constant(type(expected))}"
        return f"{value} is not {constant} and ({kind} or {value} != {constant})"
    return f"{value} is not {constant} and not {emitter.constant(same)}({value}, {constant})"


@check_rules.on(Kind.IS)
def _(emitter: Emitter, guard: Guard) -> str:
    """Identity with an object that the entry holds."""
    return f"{_direct(emitter, guard.source)} is not {emitter.constant(guard.expected)}"


def _direct(emitter: Emitter, source: Source) -> str:
    """Return an expression for a value; `type(x)`, which nothing else reads, gets no variable."""
    if isinstance(source, TypeOf) and source.base is not None:
        return emitter.type_of(source.base)
    return emitter.variable(source)


@check_rules.on(Kind.ID)
def _(emitter: Emitter, guard: Guard) -> str:
    """The id alone; the entry dies with the object."""
    return (
        f"{emitter.constant(id)}({emitter.variable(guard.source)}) != {cast('Identity', guard.expected).key}"
    )


@check_rules.on(Kind.CODE)
def _(emitter: Emitter, guard: Guard) -> str:
    """The code object of a Python function."""
    return f"{emitter.variable(guard.source)}.__code__ is not {emitter.constant(guard.expected)}"


@check_rules.on(Kind.EMPTY)
def _(emitter: Emitter, guard: Guard) -> str:
    """Not false; read in place where nothing else reads it."""
    known = emitter.stored(guard.source.name)
    return known or load_rules[type(guard.source)](emitter, guard.source)


@check_rules.on(Kind.ALL)
def _(emitter: Emitter, guard: Guard) -> str:
    """One condition after the other."""
    parts = cast("tuple[Guard, ...]", guard.expected)
    return " or ".join(check_rules[part.kind](emitter, part) for part in parts)


@check_rules.on(Kind.LENGTH)
def _(emitter: Emitter, guard: Guard) -> str:
    """The length; an empty builtin container is simply false."""
    value = emitter.variable(guard.source)
    if guard.expected == 0 and _exact_type(emitter, guard.source) in _EXACT:
        return value
    return f"{emitter.constant(len)}({value}) != {guard.expected}"


@check_rules.on(Kind.KEYS)
def _(emitter: Emitter, guard: Guard) -> str:
    """All keys, in order; an empty builtin container is simply false."""
    expected = list(cast("tuple[object, ...]", guard.expected))
    value = emitter.variable(guard.source)
    if not expected and _exact_type(emitter, guard.source) in _EXACT:
        return value
    keys = f"[*{value}]"
    if all(type(key) is str for key in expected):
        return f"{keys} != {emitter.constant(expected)}"
    return f"not {emitter.constant(same)}({keys}, {emitter.constant(expected)})"


@check_rules.on(Kind.HAS_KEY)
def _(emitter: Emitter, guard: Guard) -> str:
    """A key of a dict, a member of a set."""
    return f"{_key(emitter, guard.expected)} not in {emitter.variable(guard.source)}"


@check_rules.on(Kind.LACKS_KEY)
def _(emitter: Emitter, guard: Guard) -> str:
    """No such key or member."""
    return f"{_key(emitter, guard.expected)} in {emitter.variable(guard.source)}"


def _key(emitter: Emitter, key: object) -> str:
    return repr(key) if type(key) in (str, int) else emitter.constant(key)


@check_rules.on(Kind.LACKS_ATTRIBUTE)
def _(emitter: Emitter, guard: Guard) -> str:
    """Nothing of this name in the object's own dict."""
    own = emitter.variable(attribute(guard.source, "__dict__"))
    return f"{guard.expected!r} in {own}"


@check_rules.on(Kind.LACKS_SLOT)
def _(emitter: Emitter, guard: Guard) -> str:
    """Nothing in a slot; `__getattr__` of the class is not asked."""
    return f"{emitter.constant(has_slot)}({emitter.variable(guard.source)}, {guard.expected!r})"


@check_rules.on(Kind.LACKS_CLASS_ATTRIBUTE)
def _(emitter: Emitter, guard: Guard) -> str:
    """Nothing of this name on a class or its bases.

    `hasattr` costs a microsecond when it finds nothing, because it makes an exception; live views of the
    classes' dicts cost a twentieth each.
    """
    source = guard.source
    if not isinstance(source, Pinned) or not isinstance(source.value, type):
        return f"{emitter.constant(hasattr)}({emitter.variable(source)}, {guard.expected!r})"
    order = source.value.__mro__
    parts = [
        f"{guard.expected!r} in {emitter.class_dict(cls)}" for cls in order if cls.__flags__ & _HEAP_TYPE
    ]
    if emitter.stored(f"{source.name}.__mro__") is None:
        mro = emitter.store(f"{source.name}.__mro__", f"{emitter.variable(source)}.__mro__")
        parts.insert(0, f"{mro} is not {emitter.constant(order)}")
    return " or ".join(parts)


_HEAP_TYPE: Final = 1 << 9
"""Py_TPFLAGS_HEAPTYPE: made by a class statement, so its dict may change."""


@check_rules.on(Kind.NO_GRADIENT)
def _(emitter: Emitter, guard: Guard) -> str:
    """No gradient has been accumulated."""
    return f"{emitter.variable(guard.source)}.grad is not None"


@check_rules.on(Kind.CONTEXT_UNSET)
def _(emitter: Emitter, guard: Guard) -> str:
    """A context variable without a value."""
    return f"{emitter.variable(guard.source)}.get({emitter.constant(UNSET)}) is not {emitter.constant(UNSET)}"


@check_rules.on(Kind.SAME)
def _(emitter: Emitter, guard: Guard) -> str:
    """One object at all sources."""
    first = emitter.variable(guard.source)
    return " or ".join(f"{first} is not {emitter.variable(other)}" for other in guard.others)


@check_rules.on(Kind.DISTINCT)
def _(emitter: Emitter, guard: Guard) -> str:
    """Pairwise different objects; with expected=True no memory in common either."""
    values = [emitter.variable(source) for source in (guard.source, *guard.others)]
    if guard.expected is True:
        return f"{emitter.constant(share_memory)}({', '.join(values)})"
    if len(values) <= _FEW:
        pairs = [(a, b) for i, a in enumerate(values) for b in values[i + 1 :]]
        return " or ".join(f"{a} is {b}" for a, b in pairs)
    ids = ", ".join(f"{emitter.constant(id)}({value})" for value in values)
    return f"{emitter.constant(len)}({{{ids}}}) != {len(values)}"


_FEW: Final = 4


@check_rules.on(Kind.STATE)
def _(emitter: Emitter, guard: Guard) -> str:
    """Part by part, so that no tuple is made."""
    parts = dict(compared(cast("State | StatePart", guard.expected)))
    if parts.get("function_modes") == 0 and parts["default_device"] is None:
        # A default device is itself a function mode.
        del parts["default_device"]
    return " or ".join(_state_part(emitter, name, value) for name, value in parts.items())


_QUICK: Final[dict[str, tuple[object, object]]] = {
    "autocast": (None, any_autocast),
    "deterministic": (None, torch.are_deterministic_algorithms_enabled),
    "functorch": (False, functorch_level),
    "function_modes": (0, READERS["function_modes"]),
    "dispatch_modes": (0, READERS["dispatch_modes"]),
}
"""Parts that are nearly always off: the value that means so, and a reader that is false then."""


def _state_part(emitter: Emitter, name: str, value: object) -> str:
    quick = _QUICK.get(name)
    if quick is not None and value is quick[0]:
        return f"{emitter.constant(quick[1])}()"
    read = emitter.constant(READERS[name])
    comparison = "is not" if value is None or isinstance(value, bool | torch.dtype) else "!="
    return f"{read}() {comparison} {emitter.constant(value)}"

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

import types
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, cast

import torch

from supple.capture.guards.emit_tensors import shape_fails, tensor_fails
from supple.capture.guards.equality import has_slot, same
from supple.capture.guards.kinds import Guard, Identity, Kind
from supple.capture.guards.overlap import are_related
from supple.capture.guards.writer import Emitter, parameters
from supple.capture.source import Pinned, type_of
from supple.runtime.classes import ClassFacts, PassingClassFacts
from supple.runtime.state import READERS, State
from supple.torch_private import any_autocast, functorch_level

UNSET: Final = object()
_EXACT: Final = (list, tuple, dict, OrderedDict, set, frozenset)
_BY_IDENTITY: Final = (bool, Enum, torch.dtype, type(None))


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
    check, text = _checker(guards, parameters(function.__code__))
    check.__defaults__ = function.__defaults__
    check.__kwdefaults__ = function.__kwdefaults__
    return Checker(check, text)


def failing(guards: Sequence[Guard], values: Mapping[str, object]) -> int | None:
    """Return the index of the first guard that does not hold for these arguments, None when all hold."""
    check, _ = _checker(guards, ", ".join(values))
    return check(**values)


def _checker(guards: Sequence[Guard], parameters: str) -> tuple[types.FunctionType, str]:
    emitter = Emitter(parameters)
    for index, guard in enumerate(guards):
        emitter.add(index, guard, FAILS[guard.kind])
    text = emitter.text()
    exec(compile(text, "<supple guards>", "exec"), emitter.namespace)
    return cast("types.FunctionType", emitter.namespace["check"]), text


def _equals_fails(emitter: Emitter, guard: Guard) -> str:
    """Identity is tried first: small ints and interned strings need no more."""
    expected = guard.expected
    value, constant = emitter.variable(guard.source), emitter.constant(expected)
    differs = f"{value} is not {constant}"
    if isinstance(expected, _BY_IDENTITY):
        return differs
    if type(expected) in (int, str, bytes, torch.device):
        kind = emitter.constant(type(expected))
        return f"{differs} and ({emitter.called(type, value)} is not {kind} or {value} != {constant})"
    return f"{differs} and not {emitter.called(same, value, constant)}"


def _all_fail(emitter: Emitter, guard: Guard) -> str:
    """One condition after the other."""
    parts = cast("tuple[Guard, ...]", guard.expected)
    return " or ".join(FAILS[part.kind](emitter, part) for part in parts)


def _length_fails(emitter: Emitter, guard: Guard) -> str:
    """The length; an empty builtin container is simply false."""
    value = emitter.variable(guard.source)
    if guard.expected == 0 and emitter.exact_type(guard.source) in _EXACT:
        return value
    return f"{emitter.called(len, value)} != {guard.expected}"


def _keys_fail(emitter: Emitter, guard: Guard) -> str:
    """All keys, in order; an empty builtin container is simply false."""
    expected = list(cast("tuple[object, ...]", guard.expected))
    value = emitter.variable(guard.source)
    if not expected and emitter.exact_type(guard.source) in _EXACT:
        return value
    if all(type(key) is str for key in expected):
        return f"[*{value}] != {emitter.constant(expected)}"
    return f"not {emitter.called(same, f'[*{value}]', emitter.constant(expected))}"


def _class_attribute_fails(emitter: Emitter, guard: Guard) -> str:
    """Nothing of this name on a class or its bases.

    `hasattr` costs a microsecond when it finds nothing, because it makes an exception; live views of the
    classes' dicts cost a twentieth each.
    """
    source = guard.source
    if not isinstance(source, Pinned) or not isinstance(source.value, type):
        return emitter.called(hasattr, emitter.variable(source), repr(guard.expected))
    order = source.value.__mro__
    parts = [
        f"{guard.expected!r} in {emitter.class_dict(cls)}" for cls in order if cls.__flags__ & _HEAP_TYPE
    ]
    path = f"{source.name}.__mro__"
    if path not in emitter.variables:
        mro = emitter.store(path, f"{emitter.variable(source)}.__mro__")
        parts.insert(0, f"{mro} is not {emitter.constant(order)}")
    return " or ".join(parts)


_HEAP_TYPE: Final = 1 << 9
"""Py_TPFLAGS_HEAPTYPE: made by a class statement, so its dict may change."""


def _class_fails(emitter: Emitter, guard: Guard) -> str:
    """The version tag, and where it is another one, the names one by one."""
    facts = cast("ClassFacts | PassingClassFacts", guard.expected)
    known = emitter.constant(facts)
    differs = f"{emitter.constant(facts.version)}[0] != {known}.tag and {known}.differ()"
    is_passing = isinstance(facts, PassingClassFacts)  # its tag is memory of the class
    return f"{emitter.variable(guard.source)} is None or {differs}" if is_passing else differs


def _builtins_fail(emitter: Emitter, guard: Guard) -> str:
    """One after the other."""
    pairs = cast("tuple[tuple[str, object], ...]", guard.expected)
    names = emitter.variable(guard.source)
    return " or ".join(f"{names}.get({name!r}) is not {emitter.constant(was)}" for name, was in pairs)


def _same_fails(emitter: Emitter, guard: Guard) -> str:
    """One object at all sources."""
    first = emitter.variable(guard.source)
    return " or ".join(f"{first} is not {emitter.variable(other)}" for other in guard.others)


def _distinct_fails(emitter: Emitter, guard: Guard) -> str:
    """Pairwise different objects; with expected=True the first is no view of what another shows either."""
    values = [emitter.variable(source) for source in (guard.source, *guard.others)]
    if guard.expected is True:
        return emitter.called(are_related, *values)
    if len(values) <= _FEW:
        pairs = [(a, b) for i, a in enumerate(values) for b in values[i + 1 :]]
        return " or ".join(f"{a} is {b}" for a, b in pairs)
    ids = ", ".join(emitter.called(id, value) for value in values)
    return f"{emitter.called(len, f'{{{ids}}}')} != {len(values)}"


_FEW: Final = 4


def _state_fails(emitter: Emitter, guard: Guard) -> str:
    """Part by part, so that no tuple is made."""
    parts = dict(cast("State", guard.expected).parts)
    if parts.get("function_modes") == 0 and parts["default_device"] is None:
        # A default device is itself a function mode.
        del parts["default_device"]
    return " or ".join(_state_part(emitter, name, value) for name, value in parts.items())


_QUICK: Final[dict[str, tuple[object, object]]] = {
    "autocast": (None, any_autocast),
    "deterministic": (None, torch.are_deterministic_algorithms_enabled),
    "functorch": (False, functorch_level),
    "tracing": (False, READERS["tracing"]),
    "function_modes": (0, READERS["function_modes"]),
    "dispatch_modes": (0, READERS["dispatch_modes"]),
}
"""Parts that are nearly always off: the value that means so, and a reader that is false then."""


def _state_part(emitter: Emitter, name: str, value: object) -> str:
    quick = _QUICK.get(name)
    if quick is not None and value is quick[0]:
        return emitter.called(quick[1])
    comparison = "is not" if isinstance(value, _BY_IDENTITY) else "!="
    return f"{emitter.called(READERS[name])} {comparison} {emitter.constant(value)}"


FAILS: Final[Mapping[Kind, Callable[[Emitter, Guard], str]]] = {
    Kind.TYPE: lambda e, g: f"{e.variable(type_of(g.source))} is not {e.constant(g.expected)}",
    Kind.EQUALS: _equals_fails,
    Kind.IS: lambda e, g: f"{e.variable(g.source)} is not {e.constant(g.expected)}",
    Kind.ID: lambda e, g: f"{e.called(id, e.variable(g.source))} != {cast('Identity', g.expected).key}",
    Kind.CODE: lambda e, g: f"{e.variable(g.source)}.__code__ is not {e.constant(g.expected)}",
    Kind.EMPTY: lambda e, g: e.inline(g.source),
    Kind.LENGTH: _length_fails,
    Kind.KEYS: _keys_fail,
    Kind.HAS_KEY: lambda e, g: f"{e.literal(g.expected)} not in {e.variable(g.source)}",
    Kind.LACKS_KEY: lambda e, g: f"{e.literal(g.expected)} in {e.variable(g.source)}",
    Kind.LACKS_ATTRIBUTE: lambda e, g: f"{g.expected!r} in {e.own(g.source)}",
    Kind.LACKS_SLOT: lambda e, g: e.called(has_slot, e.variable(g.source), repr(g.expected)),
    Kind.LACKS_CLASS_ATTRIBUTE: _class_attribute_fails,
    Kind.CLASS: _class_fails,
    Kind.BUILTINS: _builtins_fail,
    Kind.TENSOR: tensor_fails,
    Kind.CONTEXT_UNSET: lambda e, g: (
        f"{e.variable(g.source)}.get({e.constant(UNSET)}) is not {e.constant(UNSET)}"
    ),
    Kind.NO_GRADIENT: lambda e, g: f"{e.variable(g.source)}.grad is not None",
    Kind.SAME: _same_fails,
    Kind.DISTINCT: _distinct_fails,
    Kind.ALL: _all_fail,
    Kind.SHAPE: shape_fails,
    Kind.STATE: _state_fails,
}
"""The condition under which a guard of each kind fails, as Python text."""

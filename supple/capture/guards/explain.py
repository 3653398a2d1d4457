"""Which guard failed, in the user's words: source, what was expected, what is found, the user's line."""

import inspect
import operator
import re
import types
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import Final, cast

import torch

from supple.base.events import FailedGuard
from supple.base.rules import Rules
from supple.capture.guards.kinds import Guard, Identity, Kind, ShapeCondition, TensorExpectation
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
    SizeAt,
    Source,
    StrideAt,
    TypeOf,
)
from supple.expr import Symbol, free_symbols, substitute
from supple.expr import text as expression
from supple.expr.real import Comparison
from supple.torch_private import dispatch_keys

Read = Callable[["Reader", Source], object]
read_rules: Final[Rules[Read]] = Rules("guard read")
Explain = Callable[["Reader", Guard], str]
explain_rules: Final[Rules[Explain]] = Rules("guard explain")


class Reader:
    """Evaluates sources one by one on the arguments of a call; for explanations, where time is no matter."""

    def __init__(self, arguments: Mapping[str, object]) -> None:
        self.arguments = arguments

    def value(self, source: Source) -> object:
        """Return the value at a source; raises what reading it raises."""
        return read_rules[type(source)](self, source)


def arguments(
    function: types.FunctionType, args: Sequence[object], kwargs: Mapping[str, object]
) -> dict[str, object]:
    """Return the values of a function's parameters in a call, defaults included.

    Raises:
        TypeError: when the arguments do not fit.
    """
    bound = inspect.signature(function, follow_wrapped=False).bind(*args, **kwargs)
    bound.apply_defaults()
    return dict(bound.arguments)


def why(guard: Guard, values: Mapping[str, object]) -> str:
    """Return why a guard fails for these argument values, in one line, with the line that asked for it."""
    try:
        text = explain_rules[guard.kind](Reader(values), guard)
    except (AttributeError, LookupError, TypeError, ValueError, RuntimeError) as error:
        text = f"{guard.source}: cannot be read any more ({type(error).__name__}: {error})"
    return f"{text}{line_of(guard)}"


def failure(entry: str, guard: Guard, values: Mapping[str, object]) -> FailedGuard:
    """Return why a guard of an entry fails for these argument values, and what to do about it."""
    text = why(guard, values)
    key: Kind | str = guard.kind
    if guard.kind is Kind.TENSOR:
        key = next(iter(re.findall(r"(\w+) mismatch", text)), "type")
    elif type(guard.expected) in (int, float) and f" ({type(guard.expected).__name__})" in text:
        key = "number"
    index = next(iter(re.findall(r"at index (\d+)", text)), "0")
    hint = HINTS.get(key, HINTS[Kind.LENGTH])
    return FailedGuard(
        entry, text, key in SIZES, hint.format(source=guard.source, name=named(guard.source), index=index)
    )


def named(source: Source) -> str:
    """Return a source as the user's program names it: "L['x']" is x."""
    return re.sub(r"^L\['(\w+)'\]", r"\1", source.name)


SIZES: Final = ("size", "stride", "number", Kind.SHAPE)
"""Keys of HINTS about what may be dynamic."""
HINTS: Final[Mapping[Kind | str, str]] = {
    "size": "To compile once for all sizes: supple.mark_dynamic({name}, {index}), "
    'or SUPPLE_DYNAMIC_SOURCES="{source}".',
    "stride": 'Pass {name}.contiguous(), or to compile once: SUPPLE_DYNAMIC_SOURCES="{source}".',
    "number": 'To compile once for all values: SUPPLE_DYNAMIC_SOURCES="{source}".',
    "rank": "Another number of dimensions is another program: reshape {name} before the call.",
    "requires_grad": "Call always with gradients, or never: pass {name}.detach().",
    Kind.SHAPE: "It is the program's own condition, a graph per outcome: remove it where all branches agree.",
    Kind.TYPE: "Another class is another program: pass objects of one class.",
    Kind.EQUALS: "Each value is a program of its own: make it a tensor, or compile one function per value.",
    Kind.STATE: "Keep this state of the process as it is, or make a first call under each.",
    Kind.LENGTH: "Keep the lengths and names in containers and objects; one stacked tensor has any length.",
    **dict.fromkeys(
        ("type", "dtype", "device", "layout", "keys"),
        "That is another program: convert {name} before the call.",
    ),
    **dict.fromkeys(
        (Kind.IS, Kind.ID, Kind.CODE),
        "Pass the same object in each call: make it once, outside of the function.",
    ),
    **dict.fromkeys(
        (Kind.SAME, Kind.DISTINCT), "Share memory in the same way in each call: {name}.clone() shares none."
    ),
}
"""What to do about a failed guard, by its kind or by what of a tensor differs; others ask of containers."""


def line_of(guard: Guard) -> str:
    """Return "  # the user's line  (file:line in function)", empty where it is not known."""
    where = guard.where
    if where is None:
        return ""
    return f"  # {where.text}  ({where.filename}:{where.line} in {where.function})"


def _base(reader: Reader, source: Source) -> object:
    assert source.base is not None, source
    return reader.value(source.base)


# read: Source class -> its value.


@read_rules.on(Local)
def _(reader: Reader, source: Source) -> object:
    """An argument."""
    return reader.arguments[cast("Local", source).variable]


@read_rules.on(Pinned)
def _(_: Reader, source: Source) -> object:
    """The object itself, or what its weak reference leads to."""
    value = cast("Pinned", source).value
    return cast("weakref.ref[object]", value)() if isinstance(value, weakref.ref) else value


@read_rules.on(Attr)
def _(reader: Reader, source: Source) -> object:
    """Ordinary attribute access."""
    return getattr(_base(reader, source), cast("Attr", source).attribute)


@read_rules.on(InstanceAttr)
def _(reader: Reader, source: Source) -> object:
    """Through the instance's dict."""
    return vars(_base(reader, source))[cast("InstanceAttr", source).attribute]


@read_rules.on(Item)
def _(reader: Reader, source: Source) -> object:
    """As the builtin type reads it."""
    found = cast("Item", source)
    base = _base(reader, source)
    for kind, getter in _GETTERS.items():
        if issubclass(found.of, kind):
            return getter(base, found.key)
    return operator.getitem(cast("list[object]", base), cast("int", found.key))


_GETTERS: Final[dict[type, Callable[[object, object], object]]] = {
    kind: cast("Callable[[object, object], object]", vars(kind)["__getitem__"])
    for kind in (list, tuple, dict)
}


@read_rules.on(KeyAt)
def _(reader: Reader, source: Source) -> object:
    """The n-th key."""
    return list(cast("dict[object, object]", _base(reader, source)))[cast("KeyAt", source).position]


@read_rules.on(Cell)
def _(reader: Reader, source: Source) -> object:
    """The contents of a closure cell."""
    closure = cast("types.FunctionType", _base(reader, source)).__closure__ or ()
    return closure[cast("Cell", source).index].cell_contents


@read_rules.on(ContextValue)
def _(reader: Reader, source: Source) -> object:
    """The value of a context variable."""
    return cast("ContextVar[object]", _base(reader, source)).get()


@read_rules.on(SizeAt)
def _(reader: Reader, source: Source) -> object:
    """A size of a tensor."""
    return cast("torch.Tensor", _base(reader, source)).shape[cast("SizeAt", source).dim]


@read_rules.on(StrideAt)
def _(reader: Reader, source: Source) -> object:
    """A stride of a tensor."""
    return cast("torch.Tensor", _base(reader, source)).stride(cast("StrideAt", source).dim)


@read_rules.on(TypeOf)
def _(reader: Reader, source: Source) -> object:
    """The class."""
    return type(_base(reader, source))


# explain: Kind -> a sentence.


def _named(kind: object) -> str:
    return kind.__qualname__ if isinstance(kind, type) else repr(kind)


def _short(value: object) -> str:
    text = (
        repr(value) if not isinstance(value, torch.Tensor | torch.nn.Module) else f"a {type(value).__name__}"
    )
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


_LONGEST: Final = 100


@explain_rules.on(Kind.TYPE)
def _(reader: Reader, guard: Guard) -> str:
    """The two classes."""
    found = type(reader.value(guard.source))
    return f"type({guard.source}) was {_named(guard.expected)}, is {_named(found)}"


@explain_rules.on(Kind.EQUALS)
def _(reader: Reader, guard: Guard) -> str:
    """The two values, with the type where that differs."""
    found = reader.value(guard.source)
    return f"{guard.source} was {_short(guard.expected)}, is {_short(found)} ({type(found).__name__})"


@explain_rules.on(Kind.IS)
def _(reader: Reader, guard: Guard) -> str:
    """The two objects."""
    found = reader.value(guard.source)
    return f"{guard.source} was {_short(guard.expected)}, is {_short(found)}"


@explain_rules.on(Kind.ID)
def _(reader: Reader, guard: Guard) -> str:
    """A different object; its id says nothing to people."""
    found = reader.value(guard.source)
    return (
        f"{guard.source} was the object {cast('Identity', guard.expected).label}, is another: {_short(found)}"
    )


@explain_rules.on(Kind.CODE)
def _(reader: Reader, guard: Guard) -> str:
    """The two functions."""
    found = reader.value(guard.source)
    was = cast("types.CodeType", guard.expected).co_qualname
    code = getattr(found, "__code__", None)
    now = code.co_qualname if isinstance(code, types.CodeType) else _short(found)
    detail = " (another function of this name)" if was == now else ""
    return f"the code of {guard.source} was {was}, is {now}{detail}"


@explain_rules.on(Kind.EMPTY)
def _(reader: Reader, guard: Guard) -> str:
    """What is there now."""
    return f"{guard.source} was empty, is {_short(reader.value(guard.source))}"


@explain_rules.on(Kind.ALL)
def _(reader: Reader, guard: Guard) -> str:
    """The first condition that fails."""
    parts = cast("tuple[Guard, ...]", guard.expected)
    failed = next((part for part in parts if not _holds(reader, part)), parts[-1])
    return explain_rules[failed.kind](reader, failed)


def _holds(reader: Reader, part: Guard) -> bool:
    return hold_rules[part.kind](reader.value(part.source), part.expected)


Holds = Callable[[object, object], bool]
hold_rules: Final[Rules[Holds]] = Rules("guard holds")
"""Whether a part of an ALL guard holds for (the value at its source, what it expects)."""


@hold_rules.on(Kind.EMPTY)
def _(value: object, _: object) -> bool:
    """False."""
    return not value


@hold_rules.on(Kind.HAS_KEY)
def _(value: object, expected: object) -> bool:
    """The key is there."""
    return expected in cast("dict[object, object]", value)


@hold_rules.on(Kind.LACKS_KEY)
def _(value: object, expected: object) -> bool:
    """The key is not there."""
    return expected not in cast("dict[object, object]", value)


@hold_rules.on(Kind.LACKS_ATTRIBUTE)
def _(value: object, expected: object) -> bool:
    """The object's own dict has no such name."""
    return expected not in vars(value)


@hold_rules.on(Kind.LACKS_CLASS_ATTRIBUTE)
def _(value: object, expected: object) -> bool:
    """No class of the MRO has the name."""
    return all(expected not in vars(cls) for cls in cast("type", value).__mro__)


@explain_rules.on(Kind.LENGTH)
def _(reader: Reader, guard: Guard) -> str:
    """The two lengths."""
    found = len(cast("list[object]", reader.value(guard.source)))
    return f"len({guard.source}) was {guard.expected}, is {found}"


@explain_rules.on(Kind.KEYS)
def _(reader: Reader, guard: Guard) -> str:
    """The two key lists."""
    found = list(cast("dict[object, object]", reader.value(guard.source)))
    expected = list(cast("tuple[object, ...]", guard.expected))
    return f"the keys of {guard.source} were {_short(expected)}, are {_short(found)}"


@explain_rules.on(Kind.HAS_KEY)
def _(_: Reader, guard: Guard) -> str:
    """A key went."""
    return f"{guard.source} had {guard.expected!r}, has it no more"


@explain_rules.on(Kind.LACKS_KEY)
def _(_: Reader, guard: Guard) -> str:
    """A key came."""
    return f"{guard.source} had no {guard.expected!r}, has it now"


@explain_rules.on(Kind.LACKS_ATTRIBUTE, Kind.LACKS_SLOT, Kind.LACKS_CLASS_ATTRIBUTE)
def _(_: Reader, guard: Guard) -> str:
    """An attribute came."""
    return f"{guard.source} had no attribute {guard.expected!r}, has it now"


@explain_rules.on(Kind.NO_GRADIENT)
def _(_: Reader, guard: Guard) -> str:
    """A gradient came."""
    return f"{guard.source}.grad was None, is a tensor"


@explain_rules.on(Kind.CONTEXT_UNSET)
def _(reader: Reader, guard: Guard) -> str:
    """A context variable was set."""
    variable = cast("ContextVar[object]", reader.value(guard.source))
    return f"the context variable {variable.name} had no value, has {_short(variable.get(None))}"


@explain_rules.on(Kind.SAME)
def _(_: Reader, guard: Guard) -> str:
    """Objects were one."""
    names = ", ".join(str(source) for source in guard.others)
    return f"{guard.source} and {names} were one object, are different ones"


@explain_rules.on(Kind.DISTINCT)
def _(reader: Reader, guard: Guard) -> str:
    """The pair that came together."""
    sources = (guard.source, *guard.others)
    values = [reader.value(source) for source in sources]
    for later, value in enumerate(values):
        for earlier in range(later):
            if values[earlier] is value:
                return f"{sources[earlier]} and {sources[later]} were different objects, are one"
            if guard.expected is True and _share(values[earlier], value):
                return f"{sources[earlier]} and {sources[later]} shared no memory, do now"
    return f"{', '.join(map(str, sources))} are different objects"


def _share(left: object, right: object) -> bool:
    return share_memory(cast("torch.Tensor", left), cast("torch.Tensor", right))


@explain_rules.on(Kind.SHAPE)
def _(reader: Reader, guard: Guard) -> str:
    """The condition over sources, and the numbers that were found."""
    expected = cast("ShapeCondition", guard.expected)
    sources = dict(zip(expected.names, guard.others, strict=True))
    found = ", ".join(f"{source} = {reader.value(source)}" for source in guard.others)
    if isinstance(expected.condition, Comparison):
        return f"{expected.condition.renamed({name: sources[name].name for name in sources})}, but {found}"
    full = {s: Symbol(sources[s.name].name, None, None) for s in free_symbols(expected.condition)}
    return f"{expression(substitute(expected.condition, full))}, but {found}"


@explain_rules.on(Kind.TENSOR)
def _(reader: Reader, guard: Guard) -> str:
    """The first property that differs."""
    was = cast("TensorExpectation", guard.expected)
    found = reader.value(guard.source)
    if not isinstance(found, torch.Tensor):
        return f"{guard.source} was a {was.kind.__name__}, is {_short(found)}"
    return f"tensor '{named(guard.source)}' {_difference(was, found)}"


def _difference(was: TensorExpectation, found: torch.Tensor) -> str:
    sizes, strides = tuple(found.shape), found.stride()
    if was.is_row_major and not was.is_static and found.is_contiguous():
        strides = was.strides
    elif not was.is_static:
        strides = tuple(b if size > 1 else None for size, b in zip(sizes, strides, strict=True))
    pairs = (
        ("type", was.kind.__name__, type(found).__name__),
        ("dtype", was.dtype, found.dtype),
        ("device", was.device, found.device),
        ("rank", len(was.sizes), found.ndim),
        *_at_index("size", was.sizes, sizes),
        ("requires_grad", was.requires_grad, found.requires_grad),
        *_at_index("stride", was.strides, strides),
        ("layout", "row-major", "row-major" if not was.is_row_major or found.is_contiguous() else "another"),
        ("dispatch keys", was.keys, dispatch_keys(found)),
    )
    differing = next((pair for pair in pairs if pair[1] != pair[2]), None)
    if differing is None:
        return "metadata changed"
    name, expected, actual = differing
    what, _, index = name.partition(" at ")
    return f"{what} mismatch{index and f' at {index}'}. expected {expected}, actual {actual}"


def _at_index(
    name: str, was: Sequence[int | None], found: Sequence[int | None]
) -> list[tuple[str, object, object]]:
    pairs = enumerate(zip(was, found, strict=False))
    return [(f"{name} at index {i}", a, b) for i, (a, b) in pairs if a is not None and b is not None]


@explain_rules.on(Kind.STATE)
def _(_: Reader, guard: Guard) -> str:
    """The parts of the state that differ."""
    parts = compared(cast("State | StatePart", guard.expected))
    changed = [(name, was, READERS[name]()) for name, was in parts if READERS[name]() != was]
    return "; ".join(f"{name.replace('_', ' ')} was {was}, is {now}" for name, was, now in changed)

"""Which guard failed, in the user's words: source, what was expected, what is found, the user's line."""

import builtins
import inspect
import re
import types
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from operator import attrgetter
from typing import Final, cast

import torch

from supple.base.events import FailedGuard
from supple.base.rules import Rules
from supple.capture.guards.emit import failing
from supple.capture.guards.kinds import Guard, Kind, ShapeCondition, TensorExpectation
from supple.capture.guards.overlap import are_related
from supple.capture.guards.writer import FAILURES
from supple.capture.source import Source, size_at, value_at
from supple.expr import shortened
from supple.runtime.classes import ClassFacts, PassingClassFacts
from supple.runtime.state import READERS, State
from supple.torch_private import dispatch_keys

Explain = Callable[["Arguments", Guard], str]
explain_rules: Final[Rules[Explain]] = Rules("guard explain")
Arguments = Mapping[str, object]
"""The values of the parameters in a call."""


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
        text = _sentence(guard, values)
    except FAILURES as error:
        text = f"{guard.source}: cannot be read any more ({type(error).__name__}: {error})"
    return f"{text}{line_of(guard)}"


def _sentence(guard: Guard, values: Arguments) -> str:
    sentence = SENTENCES.get(guard.kind)
    return sentence.about(values, guard) if sentence else explain_rules[guard.kind](values, guard)


def failures(failed: Iterable[tuple[str, Guard]], values: Mapping[str, object]) -> tuple[FailedGuard, ...]:
    """Return why guards of entries fail for these argument values, and what to do about each.

    That a number may vary is no advice where a later entry let it vary, and asks for its value all the same.
    """
    pairs = tuple(failed)
    asked = {guard.source.name for _, guard in pairs if guard.is_specialised}
    return tuple(_failure(entry, guard, values, asked) for entry, guard in pairs)


def _failure(entry: str, guard: Guard, values: Mapping[str, object], asked: Collection[str]) -> FailedGuard:
    text = why(guard, values)
    key: Kind | str = guard.kind
    if guard.kind is Kind.TENSOR:
        key = next(iter(re.findall(r"(\w+) mismatch", text)), "type")
    elif type(guard.expected) in (int, float) and f" ({type(guard.expected).__name__})" in text:
        key = "number"
    elif type(guard.expected) is bool:
        key = Kind.EQUALS
    index = next(iter(re.findall(r"at index (\d+)", text)), "0")
    place = size_at(guard.source, int(index)) if key == "size" else guard.source
    if key in ("size", "number", Kind.SHAPE) and place.name in asked:
        return FailedGuard(entry, text, True, HINTS["value"].format(name=named(place)))
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
    "value": "The line needs the number itself, as a loop, a text or an operator of plain numbers does: each "
    "value is a graph. Keep {name} as it is, or compute with tensors there.",
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


def _class(kind: object) -> str:
    return kind.__qualname__ if isinstance(kind, type) else repr(kind)


def _short(value: object) -> str:
    is_long = isinstance(value, torch.Tensor | torch.nn.Module)
    text = f"a {type(value).__name__}" if is_long else repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


_LONGEST: Final = 100


def _keys(value: object) -> str:
    keys = list(cast("dict[object, object]", value))
    text = f"[{', '.join(map(_short, keys[:_LONGEST]))}]"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _code(value: object) -> str:
    code = getattr(value, "__code__", value)
    return code.co_qualname if isinstance(code, types.CodeType) else _short(value)


def _unset(found: object) -> str:
    variable = cast("ContextVar[object]", found)
    return f"{variable.name} had no value, has {_short(variable.get(None))}"


@dataclass(frozen=True, slots=True)
class Sentence:
    """What a failed guard is explained by.

    Attributes:
        text: in it stand {source}, {others}, {was} for what is expected, {now} for what is found, {again} for
            a remark where the two read alike.
        now, was: the text of what is found at the source, and of what is expected.
    """

    text: str
    now: Callable[[object], str] = _short
    was: Callable[[object], str] = _short

    def about(self, values: Arguments, guard: Guard) -> str:
        """Return the sentence for a guard."""
        now = self.now(value_at(guard.source, values)) if "{now}" in self.text else ""
        was = self.was(guard.expected) if "{was}" in self.text else ""
        again = " (another function of this name)" if was == now else ""
        others = ", ".join(map(str, guard.others))
        return self.text.format(source=guard.source, others=others, was=was, now=now, again=again)


_NO_ATTRIBUTE: Final = Sentence("{source} had no attribute {was}, has it now")
SENTENCES: Final[Mapping[Kind, Sentence]] = {
    Kind.TYPE: Sentence("type({source}) was {was}, is {now}", lambda found: _class(type(found)), _class),
    Kind.EQUALS: Sentence("{source} was {was}, is {now}", lambda x: f"{_short(x)} ({type(x).__name__})"),
    Kind.IS: Sentence("{source} was {was}, is {now}"),
    Kind.ID: Sentence("{source} was the object {was}, is another: {now}", was=attrgetter("label")),
    Kind.CODE: Sentence("the code of {source} was {was}, is {now}{again}", _code, _code),
    Kind.EMPTY: Sentence("{source} was empty, is {now}"),
    Kind.LENGTH: Sentence("len({source}) was {was}, is {now}", lambda x: str(len(cast("list[object]", x)))),
    Kind.KEYS: Sentence("the keys of {source} were {was}, are {now}", _keys, _keys),
    Kind.HAS_KEY: Sentence("{source} had {was}, has it no more"),
    Kind.LACKS_KEY: Sentence("{source} had no {was}, has it now"),
    Kind.LACKS_ATTRIBUTE: _NO_ATTRIBUTE,
    Kind.LACKS_SLOT: _NO_ATTRIBUTE,
    Kind.LACKS_CLASS_ATTRIBUTE: _NO_ATTRIBUTE,
    Kind.NO_GRADIENT: Sentence("{source}.grad was None, is a tensor"),
    Kind.CONTEXT_UNSET: Sentence("the context variable {now}", _unset),
    Kind.SAME: Sentence("{source} and {others} were one object, are different ones"),
}
"""Explanations that need no more than the value at the source; `explain_rules` has the others."""


@explain_rules.on(Kind.ALL)
def _(values: Arguments, guard: Guard) -> str:
    """The first condition that fails."""
    parts = cast("tuple[Guard, ...]", guard.expected)
    index = failing(parts, values)
    return _sentence(parts[-1 if index is None else index], values)


@explain_rules.on(Kind.DISTINCT)
def _(values: Arguments, guard: Guard) -> str:
    """The pair that came together."""
    sources = (guard.source, *guard.others)
    found = [value_at(source, values) for source in sources]
    for later, earlier in ((b, a) for b in range(len(found)) for a in range(b)):
        if found[earlier] is found[later]:
            return f"{sources[earlier]} and {sources[later]} were different objects, are one"
        pair = cast("list[torch.Tensor]", [found[earlier], found[later]])
        if guard.expected is True and earlier == 0 and are_related(*pair):
            return f"{sources[earlier]} and {sources[later]} were no views of one tensor, are now"
    return f"{', '.join(map(str, sources))} are different objects"


@explain_rules.on(Kind.CLASS)
def _(_: Arguments, guard: Guard) -> str:
    """The names under which the class, or a base, has something else now."""
    facts = cast("ClassFacts | PassingClassFacts", guard.expected)
    changed = facts.changed()
    if "__mro__" in changed:
        return f"the bases of class {facts.label} changed"
    return f"{', '.join(changed)} of class {facts.label} changed"


@explain_rules.on(Kind.BUILTINS)
def _(_: Arguments, guard: Guard) -> str:
    """The builtins that were replaced."""
    pairs = cast("tuple[tuple[str, object], ...]", guard.expected)
    changed = [name for name, was in pairs if vars(builtins).get(name) is not was]
    return f"the builtins {', '.join(changed)} were replaced"


@explain_rules.on(Kind.SHAPE)
def _(values: Arguments, guard: Guard) -> str:
    """The condition over sources, and the numbers that were found."""
    expected = cast("ShapeCondition", guard.expected)
    words = dict(zip(expected.names, map(str, guard.others), strict=True))
    found = ", ".join(f"{source} = {value_at(source, values)}" for source in guard.others)
    return f"{expected.text(lambda word: words.get(word, word), shortened)}, but {found}"


@explain_rules.on(Kind.TENSOR)
def _(values: Arguments, guard: Guard) -> str:
    """The first property that differs."""
    was = cast("TensorExpectation", guard.expected)
    found = value_at(guard.source, values)
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
def _(_: Arguments, guard: Guard) -> str:
    """The parts of the state that differ."""
    parts = cast("State", guard.expected).parts
    changed = [(name, was, READERS[name]()) for name, was in parts if READERS[name]() != was]
    return "; ".join(f"{name.replace('_', ' ')} was {was}, is {now}" for name, was, now in changed)

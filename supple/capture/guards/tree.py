"""Guards as a readable tree: grouped by the path to the value, in the order in which they were recorded."""

import types
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from supple.capture.guards.explain import line_of
from supple.capture.guards.kinds import Guard, Identity, Kind, ShapeCondition, TensorExpectation
from supple.capture.source import Source, root_of
from supple.runtime.state import State


def text(guards: Sequence[Guard]) -> str:
    """Return the guard tree as text: `| ` for each level, `+- ` before each line.

    A source stands below the nearest source on its path that has guards too, or the one it begins with.
    """
    below: dict[Source | None, list[Source]] = {}
    of: dict[Source, list[Guard]] = {}
    for guard in guards:
        of.setdefault(guard.source, []).append(guard)
        of.setdefault(root_of(guard.source), [])
    for source in of:
        above = source.base
        while above is not None and above not in of:
            above = above.base
        below.setdefault(above, []).append(source)

    def lines(above: Source | None, indent: str) -> Iterator[str]:
        for source in below.get(above, ()):
            yield f"{indent}+- {source}"
            yield from (f"{indent}| +- {describe(guard)}{line_of(guard)}" for guard in of[source])
            yield from lines(source, f"{indent}| ")

    return "\n".join((f"GUARDS ({len(guards)})", *lines(None, "")))


def sizes(guards: Sequence[Guard], symbols: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield each size of the guarded tensors, and each symbolic number, with what it is in the graph."""
    rest = dict(symbols)
    for guard in guards:
        if isinstance(guard.expected, TensorExpectation):
            for dim, size in enumerate(guard.expected.sizes):
                place = f"{guard.source}.size()[{dim}]"
                yield place, rest.pop(place, str(size))
    yield from rest.items()


def describe(guard: Guard) -> str:
    """Return a guard as one line, without its source: "EQUALS 3"."""
    expected = guard.expected
    match expected:
        case TensorExpectation():
            detail = (
                f"{expected.kind.__name__}, {expected.dtype}, device={expected.device}, "
                f"requires_grad={expected.requires_grad}, size={list(expected.sizes)}, "
                f"stride={list(expected.strides)}"
            )
        case ShapeCondition():
            named = zip(expected.names, guard.others, strict=True)
            where = ", ".join(f"{name} = {source}" for name, source in named)
            return f"{guard.kind.value} {expected.condition} where {where}"
        case State(parts=parts):
            detail = ", ".join(f"{name}={value}" for name, value in parts)
        case Identity():
            detail = expected.label
        case tuple() if guard.kind is Kind.ALL:
            detail = ", ".join(_part(part) for part in cast("tuple[Guard, ...]", expected))
        case types.CodeType():
            detail = f"{expected.co_qualname} in {expected.co_filename}:{expected.co_firstlineno}"
        case type():
            detail = f"{expected.__module__}.{expected.__qualname__}"
        case dict() if guard.kind is Kind.IS:
            names = cast("dict[str, object]", expected)
            detail = (
                f"the variables of {names['__name__']}" if "__name__" in names else f"a dict of {len(names)}"
            )
        case None if guard.kind is not Kind.IS and guard.kind is not Kind.EQUALS:
            detail = ""
        case _:
            detail = repr(expected)
    others = ", ".join(str(source) for source in guard.others)
    return " ".join(part for part in (guard.kind.value, detail, others) if part)


def _part(guard: Guard) -> str:
    where = f" {guard.source}" if guard.kind is Kind.EMPTY else ""
    return f"{describe(guard)}{where}"

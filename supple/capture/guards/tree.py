"""Guards as a readable tree: grouped by the path to the value, in the order in which they were recorded."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from supple.capture.guards.explain import line_of
from supple.capture.guards.kinds import Guard, Identity, Kind, ShapeCondition, TensorExpectation
from supple.capture.guards.state import State, StatePart, compared
from supple.capture.source import Source


@dataclass(slots=True)
class Branch:
    """A source with its guards and the sources that are read from it."""

    title: str
    guards: list[Guard] = field(default_factory=list[Guard])
    branches: "dict[str, Branch]" = field(default_factory=dict[str, "Branch"])


def text(guards: Sequence[Guard]) -> str:
    """Return the guard tree as text: `| ` for each level, `+- ` before each line."""
    root = Branch("guards")
    for guard in guards:
        _branch(root, guard.source).guards.append(guard)
    lines = [f"GUARDS ({len(guards)})"]
    for branch in root.branches.values():
        _write(branch, 0, lines)
    return "\n".join(lines)


def _branch(root: Branch, source: Source) -> Branch:
    parent = root if source.base is None else _branch(root, source.base)
    return parent.branches.setdefault(source.name, Branch(source.name))


def _write(branch: Branch, depth: int, lines: list[str]) -> None:
    lines.append(f"{'| ' * depth}+- {branch.title}")
    inner = "| " * (depth + 1)
    lines.extend(f"{inner}+- {describe(guard)}{line_of(guard)}" for guard in branch.guards)
    for below in branch.branches.values():
        _write(below, depth + 1, lines)


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
        case State() | StatePart():
            detail = ", ".join(f"{name}={value}" for name, value in compared(expected))
        case Identity():
            detail = expected.label
        case tuple() if guard.kind is Kind.ALL:
            detail = ", ".join(_part(part) for part in cast("tuple[Guard, ...]", expected))
        case type():
            detail = f"{expected.__module__}.{expected.__qualname__}"
        case None if guard.kind is not Kind.IS and guard.kind is not Kind.EQUALS:
            detail = ""
        case _:
            detail = repr(expected)
    others = ", ".join(str(source) for source in guard.others)
    return " ".join(part for part in (guard.kind.value, detail, others) if part)


def _part(guard: Guard) -> str:
    where = f" {guard.source}" if guard.kind is Kind.EMPTY else ""
    return f"{describe(guard)}{where}"

"""New code objects: normal instructions with labels, made into a code object of the running interpreter."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import CodeType

from supple.capture.bytecode.encode import encode
from supple.capture.bytecode.instruction import Decoded, Header, Instruction, Position, Region


@dataclass(frozen=True, slots=True, eq=False)
class Label:
    """A place between instructions; it stands in the list given to `assemble`, before what it names."""


@dataclass(frozen=True, slots=True)
class Jump:
    """A jump whose target is a label."""

    op: str
    label: Label
    position: Position | None = None


@dataclass(frozen=True, slots=True)
class Protected:
    """A `Region` between labels."""

    start: Label
    end: Label
    handler: Label
    depth: int
    lasti: bool = False


def assemble(
    items: Sequence[Instruction | Jump | Label], *, like: Header, protected: Sequence[Protected] = ()
) -> CodeType:
    """Return a code object of `items` for the running interpreter.

    Args:
        items: normal instructions, with `Jump`s and `Label`s for targets.
        like: names, parameters and flags; every local, cell and free variable that `items` use is in it.
        protected: where they overlap, the first one counts, so inner regions come first.

    Raises:
        ValueError: for an op or an arrangement that the running interpreter has no words for, and
            for an unbalanced stack.
    """
    index_of: dict[Label, int] = {}
    bodies: list[Instruction | Jump] = []
    for item in items:
        if isinstance(item, Label):
            index_of[item] = len(bodies)
        else:
            bodies.append(item)
    fields = {name: getattr(like, name) for name in Header.__dataclass_fields__}
    return encode(
        Decoded(
            **fields,
            instructions=tuple(_resolved(item, at, index_of) for at, item in enumerate(bodies)),
            regions=tuple(_flattened(protected, index_of, len(bodies))),
        )
    )


def _resolved(item: Instruction | Jump, at: int, index_of: dict[Label, int]) -> Instruction:
    if isinstance(item, Instruction):
        return item
    target = index_of[item.label]
    return Instruction(item.op, target <= at if item.op == "JUMP" else None, target, item.position)


def _flattened(protected: Sequence[Protected], index_of: dict[Label, int], count: int) -> Iterator[Region]:
    """Yield disjoint regions in order; an earlier one of `protected` hides a later one."""
    owner: list[Protected | None] = [None] * count
    for each in reversed(protected):
        start, end = index_of[each.start], index_of[each.end]
        owner[start:end] = [each] * (end - start)
    start = 0
    for index in range(1, count + 1):
        if index < count and owner[index] is owner[start]:
            continue
        each = owner[start]
        if each is not None:
            yield Region(start, index, index_of[each.handler], each.depth, each.lasti)
        start = index

"""The version-normal instruction set: what the rest of capture sees of CPython's bytecode.

One meaning per op on every supported interpreter; `tables.EFFECTS` lists the ops. The calling convention on
the stack is (NULL, callable, arguments...) or (method, self, arguments...), whatever the interpreter uses.
"""

from bisect import bisect_right
from dataclasses import dataclass
from operator import attrgetter
from typing import Final


@dataclass(frozen=True, slots=True)
class Position:
    """A span of source text: lines count from 1, columns are UTF-8 byte offsets; None is unknown."""

    line: int | None
    end_line: int | None = None
    column: int | None = None
    end_column: int | None = None


@dataclass(frozen=True, slots=True)
class Instruction:
    """One normal instruction.

    Attributes:
        op: a key of `tables.EFFECTS`.
        arg: the operand in the op's own terms (a name, a constant, a count, a symbol); None without one.
        target: for a jump, the index in `Decoded.instructions` where it leads.
        position: where it comes from in the source; None when the compiler gave none.
    """

    op: str
    arg: object = None
    target: int | None = None
    position: Position | None = None


@dataclass(frozen=True, slots=True)
class Region:
    """Instructions `start` to `end` (exclusive) whose exceptions go to `handler`.

    The stack is cut to `depth` values; then the offset of the raising instruction (only if `lasti`) and the
    exception are pushed. Regions of one code object are sorted and disjoint.
    """

    start: int
    end: int
    handler: int
    depth: int
    lasti: bool


FREE_MARK: Final = " (free)"

_region_start = attrgetter("start")


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """What a code object holds beside its instructions.

    Attributes:
        argcount: positional parameters, positional-only ones included.
        varnames: parameters in order (`*args` and `**kwargs` last), then the other fast locals.
        cellvars: locals that inner functions capture; a parameter may be in `varnames` too.
        freevars: variables captured from enclosing functions; one that shares its name with a local or a
            cell of this function has `FREE_MARK` behind it, here and in the instructions.
        docstring: the first constant where it is a string, as `MAKE_FUNCTION` reads it.
    """

    name: str
    qualname: str
    filename: str
    firstlineno: int
    flags: int
    argcount: int = 0
    posonlyargcount: int = 0
    kwonlyargcount: int = 0
    varnames: tuple[str, ...] = ()
    cellvars: tuple[str, ...] = ()
    freevars: tuple[str, ...] = ()
    docstring: str | None = None

    @property
    def argnames(self) -> tuple[str, ...]:
        """All parameters, `*args` and `**kwargs` included, in the order of `varnames`."""
        count = self.argcount + self.kwonlyargcount
        return self.varnames[: count + bool(self.flags & 4) + bool(self.flags & 8)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoded(Header):
    """A code object in normal form."""

    instructions: tuple[Instruction, ...]
    regions: tuple[Region, ...] = ()

    def handler_at(self, index: int) -> Region | None:
        """Return the region that catches exceptions of instruction `index`, or None."""
        at = bisect_right(self.regions, index, key=_region_start) - 1
        if at < 0 or index >= self.regions[at].end:
            return None
        return self.regions[at]

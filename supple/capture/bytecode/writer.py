"""A code object under construction: physical instructions, places, tables of names and constants."""

import opcode
from dataclasses import dataclass
from types import EllipsisType
from typing import Final

from supple.capture.bytecode.analysis import unbound_loads
from supple.capture.bytecode.instruction import Decoded, Header, Position
from supple.capture.bytecode.tables import DIALECT

_ATOMS: Final = frozenset({bool, bytes, int, str, EllipsisType, type(None)})


@dataclass(slots=True)
class Item:
    """One physical instruction; a jump has the number of a label, whose distance becomes the operand."""

    name: str
    operand: int
    target: int | None
    position: Position | None


@dataclass(frozen=True, slots=True)
class Pad:
    """Ops of clean-up that a loop or a delegation goes through on its way to its normal target."""

    label: int
    ops: tuple[str, ...]
    position: Position | None


class Writer:
    """The physical instructions of one code object, in the making.

    Attributes:
        items: what is written so far.
        place: for each label number, the item it stands before. Normal instruction i has label i; further
            labels are numbered after them.
        bound: for each normal index, the item where a region that starts or ends there is cut.
        targets: indices that control comes to other than from the one before.
        edges: indices where regions start and end.
        anchors: targets and edges: they stay apart from the one before.
        pads: for a normal index, the clean-ups that lead to it, by the op that needs them.
        nulls: for a normal index, the positions of NULLs to push before it.
        depths: values on the stack before each normal instruction; None where control never comes.
        index: the normal instruction at hand.
        position: what is written next has it.
        consts: constants, the docstring or None first.
        names: attribute and global names, with their indices.
    """

    def __init__(self, decoded: Decoded, depths: list[int | None]) -> None:
        self.decoded = decoded
        self.instructions = decoded.instructions
        self.depths = depths
        self.items: list[Item] = []
        self.place: dict[int, int] = {}
        self.bound: dict[int, int] = {}
        self.targets = _targets(decoded)
        self.edges = {edge for region in decoded.regions for edge in (region.start, region.end)}
        self.anchors = self.targets | self.edges
        self.pads: dict[int, dict[str, Pad]] = {}
        self.nulls: dict[int, list[Position | None]] = {}
        self.unbound = unbound_loads(decoded) if DIALECT.unchecked_loads else frozenset[int]()
        self.index = 0
        self.position: Position | None = None
        self.consts: list[object] = []
        self.names: dict[str, int] = {}
        self._const_at: dict[object, int] = {}
        self._varnames = {name: slot for slot, name in enumerate(decoded.varnames)}
        self._cells = _cell_slots(decoded)
        self._labels = len(self.instructions)
        self.const(decoded.docstring)

    def emit(self, name: str, operand: int = 0, target: int | None = None) -> None:
        """Append a physical instruction at the position at hand."""
        if name not in opcode.opmap:
            raise ValueError(f"{self.decoded.qualname}: this version of Python has no {name}")
        self.items.append(Item(name, operand, target, self.position))

    def joins(self, op: str, arg: object = None, *, anywhere: bool = False) -> bool:
        """Skip the next instruction if it is `op` and nothing refers to it; return whether it is so.

        Its position has to be the same, except with `anywhere`.
        """
        at = self.index + 1
        if at >= len(self.instructions) or at in self.anchors:
            return False
        following = self.instructions[at]
        if following.op != op or (arg is not None and following.arg != arg):
            return False
        if not anywhere and following.position != self.instructions[self.index].position:
            return False
        self.index = at
        return True

    def new_label(self) -> int:
        """Return the number of a label that is to be placed by hand."""
        self._labels += 1
        return self._labels

    def const(self, value: object) -> int:
        """Return the index of a constant: equal atoms share one, other objects only with themselves."""
        key = (type(value), value) if type(value) in _ATOMS else id(value)
        if key not in self._const_at:
            self._const_at[key] = len(self.consts)
            self.consts.append(value)
        return self._const_at[key]

    def name(self, arg: object) -> int:
        """Return the index of an attribute or global name."""
        return self.names.setdefault(str(arg), len(self.names))

    def slot(self, arg: object) -> int:
        """Return the slot of a fast local, or of the cell of that name."""
        name = str(arg)
        return self._varnames[name] if name in self._varnames else self.cell(name)

    def cell(self, arg: object) -> int:
        """Return the slot of a cell or free variable."""
        name = str(arg)
        if name not in self._cells:
            raise ValueError(f"{self.decoded.qualname}: no variable {name!r}")
        return self._cells[name]


def _cell_slots(header: Header) -> dict[str, int]:
    """Return the slots behind the fast locals: cells that are no parameter, then free variables."""
    slots = {name: slot for slot, name in enumerate(header.varnames)}
    count = len(slots)
    for name in header.cellvars:
        slots.setdefault(name, len(slots))
        count = len(slots)
    cells = {name: slots[name] for name in header.cellvars}
    return {**{name: count + at for at, name in enumerate(header.freevars)}, **cells}


def _targets(decoded: Decoded) -> frozenset[int]:
    jumps = {each.target for each in decoded.instructions if each.target is not None}
    return frozenset(jumps | {region.handler for region in decoded.regions})

"""Points: where in a function a frame goes on behind a graph break, and what of the frame that needs.

What can be told of a function, an instruction or a stack before code is made of it (`capture.resume`) is told
here: whether a step can run an instruction, which variables are still read, what lies on the stack.
"""

import enum
import inspect
import os
import types
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, cast

from supple.base.memo import ByObject, memo, of_object
from supple.capture.bytecode import Decoded, Instruction, decode
from supple.capture.bytecode.analysis import NamesAt, bindings, liveness
from supple.capture.bytecode.tables import effect

REFUSED: Final = frozenset(
    (
        *("COPY_FREE_VARS", "MAKE_CELL", "LOAD_SUPER_ATTR", "SEND", "RETURN_GENERATOR"),
        *("PUSH_EXC_INFO", "POP_EXCEPT", "PUSH_NULL", "RERAISE", "LOAD_FAST_AND_CLEAR"),
    )
)
"""Instructions that a step does not run."""
_LOOKS: Final = frozenset(("eval", "exec", "locals"))
"""Functions that look at the variables of the frame that calls them."""
_LOOKS_ALONE: Final = frozenset(("vars", "dir"))
"""Functions that do so when they are called without arguments."""
PEEKS: Final = frozenset(("COPY", "WITH_EXCEPT_START"))
"""Instructions that leave the stack as it is and push one object."""


class Slot(enum.Enum):
    """What a value on the stack of a frame is: of what a handler keeps, the state has what it handles."""

    OBJECT = enum.auto()
    NULL = enum.auto()
    """Of a call."""
    UNBOUND = enum.auto()
    """What a local, kept during a comprehension, had: no value."""
    HANDLED = enum.auto()


PLAIN: Final = (Slot.OBJECT,)
"""The slot of one object."""
EMPTY: Final = frozenset((Slot.NULL, Slot.UNBOUND))
"""What is no object."""
ORIGINS: Final = ByObject[types.CodeType, "Origin"]()
"""Of the code of a continuation: what it is made of."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Of which code a continuation's code is a part, and which instruction each of its own is there."""

    code: types.CodeType
    indices: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class Point:
    """Where a frame goes on: never in the code of a continuation, always in the one that this is made of.

    Attributes:
        index: of the instruction in the normal form.
        names: fast locals that have values and are still read, and those that nothing reads any more but
            which may hold an object until something else is bound to them.
        slots: what each value on the stack is, deepest first.
        is_suspended: the frame is that of a generator which is at a `yield`, or has not begun.
    """

    code: types.CodeType
    index: int
    names: tuple[str, ...]
    slots: tuple[Slot, ...]
    is_suspended: bool = False

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of what the code takes: locals, then the objects on the stack."""
        return (
            *self.names,
            *(slot_name(place) for place, slot in enumerate(self.slots) if slot not in EMPTY),
        )


def slot_name(place: int) -> str:
    """Return the parameter that holds a value of the stack."""
    return f"_supple_{place}"


@memo(1024)
def live_names(code: types.CodeType, index: int) -> frozenset[str]:
    """Return the fast locals that an instruction, or one after it, reads before it writes them."""
    return _liveness(code).at(index)


@of_object
def _liveness(code: types.CodeType) -> NamesAt:
    return liveness(normal_form(code))


@memo(1024)
def unread_names(code: types.CodeType, index: int) -> frozenset[str]:
    """Return the fast locals that may have a value before an instruction, and are not read from there on.

    `super()` reads the first. Code of this package stands for functions in C, which hold what they need.
    """
    if code.co_filename.startswith(_HERE):
        return frozenset()
    read = live_names(code, index).union([_first(code)] if _calls_super(code) else [])
    return _bindings(code).at(index) - read


_HERE: Final = os.path.dirname(__file__) + os.sep


@of_object
def _bindings(code: types.CodeType) -> NamesAt:
    return bindings(normal_form(code))


@of_object
def normal_form(code: types.CodeType) -> Decoded:
    """Return the instructions of a function, whose parameters are names that Python's text can have."""
    normal = decode(code)
    if _ITEMS not in code.co_varnames:
        return normal
    renamed = (
        replace(instruction, arg=renamed_local(_ITEMS)) if instruction.arg == _ITEMS else instruction
        for instruction in normal.instructions
    )
    return replace(normal, instructions=tuple(renamed), varnames=tuple(map(renamed_local, normal.varnames)))


_ITEMS: Final = ".0"
"""What the iterator of a comprehension is called, which no function in Python's text can call a parameter."""


def renamed_local(name: str) -> str:
    """Return what steps and continuations call a local variable."""
    return "_supple_items" if name == _ITEMS else name


def cell_names(code: types.CodeType) -> tuple[str, ...]:
    """Return the variables in cells, in the order in which the made functions take their cells."""
    normal = normal_form(code)
    return (*normal.cellvars, *normal.freevars)


def can_step(code: types.CodeType, index: int) -> bool:
    """Tell whether a step can run an instruction, as far as the code tells."""
    origin = ORIGINS.get(code)
    is_own = origin is None or origin.indices[index] is not None
    return is_own and normal_form(code).instructions[index].op not in REFUSED


def can_generate(code: types.CodeType) -> bool:
    """Tell whether a function is a generator's that can be compiled from one `yield` to the next.

    What is raised at a `yield from` goes to another generator first.
    """
    is_generator = bool(code.co_flags & inspect.CO_GENERATOR)
    return is_generator and all(instruction.op != "SEND" for instruction in normal_form(code).instructions)


def can_continue(code: types.CodeType) -> bool:
    """Tell whether continuations of a function do as it does: it asks for no more than its variables.

    Where super() is called, the first parameter cannot be in a cell; `except*` handles parts of an exception.
    """
    has_parts = any(instruction.op == "CHECK_EG_MATCH" for instruction in normal_form(code).instructions)
    return not (has_parts or _looks(code)) and (not _calls_super(code) or _first(code) is not None)


@of_object
def _looks(code: types.CodeType) -> bool:
    if (_LOOKS | _LOOKS_ALONE).isdisjoint(code.co_names):
        return False
    if "locals" in code.co_names or any("builtins" in name for name in code.co_names):
        return True  # they may be attributes of a module, as in what pytest makes of an assert
    instructions = normal_form(code).instructions
    return any(
        one.arg in _LOOKS or (one.arg in _LOOKS_ALONE and not _has_argument(instructions[at:]))
        for at, one in enumerate(instructions, 1)
        if one.op in ("LOAD_GLOBAL", "LOAD_NAME")
    )


def _has_argument(instructions: Iterable[Instruction]) -> bool:
    """Tell whether the function on the stack is called next, with arguments made without a jump."""
    depth = 0
    for instruction in instructions:
        pops, pushes = effect(instruction.op, instruction.arg)
        if pops > depth or instruction.target is not None:
            return instruction.op == "CALL" and pops == depth + 2 > 2
        depth += pushes - pops
    return False


def can_take(code: types.CodeType, index: int, slots: tuple[Slot, ...]) -> bool:
    """Tell whether a step can run an instruction with this stack."""
    instruction = normal_form(code).instructions[index]
    if instruction.op == "COPY":
        return slots[-cast("int", instruction.arg)] is Slot.OBJECT
    taken = slots[len(slots) - effect(instruction.op, instruction.arg)[0] :]
    if instruction.op == "SWAP" and Slot.NULL in taken:
        return False
    return instruction.op in PEEKS or not {Slot.HANDLED, Slot.UNBOUND}.intersection(taken)


def _calls_super(code: types.CodeType) -> bool:
    return "__class__" in code.co_freevars


def _first(code: types.CodeType) -> str | None:
    name = code.co_varnames[0] if code.co_argcount else None
    return None if name in code.co_cellvars else name


def needed_names(code: types.CodeType, index: int, bound: Iterable[str]) -> tuple[str, ...]:
    """Return the locals that a point needs; `super()` looks at the first."""
    bound = frozenset(bound)
    names = sorted(live_names(code, index).union(unread_names(code, index)) & bound)
    first = _first(code) if _calls_super(code) else None
    if first is None or first not in bound:
        return tuple(names)
    return (first, *(name for name in names if name != first))


def point_at(code: types.CodeType, index: int, names: Iterable[str], slots: tuple[Slot, ...]) -> Point:
    """Return the point of a frame whose bound fast locals are `names`."""
    origin = ORIGINS.get(code)
    if origin is not None:
        while (found := origin.indices[index]) is None:
            # The state is loaded, and nothing has happened since.
            target = normal_form(code).instructions[index].target
            assert target is not None, "no step begins where the state is loaded"
            index = target
        code, index = origin.code, found
    bound = unread_names(code, index).union(map(renamed_local, names))
    return Point(code, index, needed_names(code, index, bound), slots)


def suspended(
    code: types.CodeType, pc: int, names: Iterable[str], slots: tuple[Slot, ...], *, is_started: bool
) -> Point:
    """Return where a generator's frame goes on at the next `next()`."""
    if not is_started:
        ops = [instruction.op for instruction in normal_form(code).instructions]
        pc = ops.index("RETURN_GENERATOR") + 2
    return replace(point_at(code, pc, names, slots), is_suspended=True)

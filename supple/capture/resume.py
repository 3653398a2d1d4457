"""Code that goes on in the middle of a function, for graph breaks.

At a break, each frame of the captured stack is at an instruction. Its *step* takes what the frame holds
(locals that are still read, values on the stack), runs that one instruction in Python, and hands over to a
*continuation*: a function that begins behind the instruction, or at the handler of what it raised, and is
compiled like any other. Where the instruction is the call of a frame that is captured too, the step calls
that frame's step in its place. So the steps of a stack, called from the outermost inwards, do what Python
would, and what an exception finds on its way out are the original handlers.

    def f(x):                     step(x):                            continuation(x, value):
        y = g(x) + 1                  value = g(x)   # in Python          y = value + 1
        return y * x                  return continuation(x, value)       return y * x
"""

import enum
import functools
import inspect
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, cast

from supple.base.memo import memo
from supple.capture.bytecode import Decoded, Header, Instruction, Jump, Label, Protected, assemble
from supple.capture.bytecode.analysis import reachable
from supple.capture.bytecode.tables import DIALECT, ENDS, TAKEN, effect
from supple.capture.drive import Onward
from supple.capture.points import (
    EMPTY,
    ORIGINS,
    PEEKS,
    PLAIN,
    Origin,
    Point,
    Slot,
    cell_names,
    needed_names,
    normal_form,
    slot_name,
)
from supple.runtime.rebuild import asked, make_function, with_traceback

Function = Callable[..., object]
Compile = Callable[[types.FunctionType], Function]

NEXT: Final = "_supple_next"
"""The parameter that holds the step of the frame that was called."""
MADE: Final = "_supple_made"
"""The parameter that holds the instance whose `__init__` was called, or of which an attribute is asked."""
CELLS: Final = "_supple_cells"
_UNBOUND: Final = Instruction("LOAD_FAST_AND_CLEAR", "_supple_unbound")
"""Pushes what this pushes for a local without a value: nothing binds it."""


class Runs(enum.Enum):
    """What a step runs: its instruction, or in its place the step of the frame that was called.

    When that frame is an `__init__`, the instruction gives the instance, a further argument of the step; so
    is the object of which the getter of a property is called. Or the step runs a call that raises.
    """

    INSTRUCTION = enum.auto()
    CALLED = enum.auto()
    INIT = enum.auto()
    GETTER = enum.auto()
    ERROR = enum.auto()


class Continuations:
    """The continuations of one compiled object, each made at its first use.

    Args:
        compile_function: returns the compiled form of a function.
    """

    def __init__(self, compile_function: Compile) -> None:
        self.compile = compile_function
        self._known: dict[tuple[Point, int], Continuation] = {}

    def at(self, point: Point, global_names: dict[str, object]) -> "Continuation":
        """Return the continuation at a point of a function with these globals."""
        key = (point, id(global_names))
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = Continuation(point, global_names, self)
        return found


class Continuation:
    """A compiled function that begins at a point: (cells, *locals, *stack), no cells if there are none."""

    def __init__(self, point: Point, global_names: dict[str, object], owner: Continuations) -> None:
        self._point = point
        self._globals = global_names
        self._owner = owner
        self._run: Function | None = None

    def later(self, *state: object) -> Onward:
        """Return the call that goes on with the frame's cells (if it has any), locals and stack."""
        if self._run is None:
            self._run = self._made()
        return Onward(self._run, state, self)

    def pause(self, *state: object) -> Onward:
        """Return the same, for a generator that first gives the object on top of the stack."""
        return self.later(*state)._replace(is_yield=True)

    def fail(self, error: BaseException, state: tuple[object, ...], *, at_yield: bool = False) -> object:
        """Raise in the frame, where it would go on, or at the `yield` before: its handlers run."""
        cells = cast("Sequence[object]", state[0]) if cell_names(self._point.code) else ()
        point = replace(self._point, index=self._point.index - at_yield)
        made = step(point, self._globals, self._owner, Runs.ERROR)(cells)
        return made(*state[bool(cells) :], functools.partial(_raise, error))

    def _made(self) -> Function:
        code = continued(self._point)
        if not cell_names(self._point.code):
            function = types.FunctionType(code, self._globals, code.co_name)
            function.__dict__[CONTINUES] = True
            return self._owner.compile(function)
        make = functools.partial(make_function, code, self._globals, None, None)
        namespace: dict[str, object] = {"make": make, "__name__": __name__}
        parameters = ", ".join(self._point.parameters)
        exec(f"def enter({CELLS}, {parameters}): return make({CELLS})({parameters})", namespace)
        enter = namespace["enter"]
        assert isinstance(enter, types.FunctionType), enter
        own = self._point.code
        enter.__code__ = enter.__code__.replace(
            co_name=own.co_name,
            co_qualname=f"{own.co_qualname} from {self._point.index}",
            co_filename=own.co_filename,
            co_firstlineno=own.co_firstlineno,
        )
        enter.__dict__.update({ENTERS: (code, self._globals), CONTINUES: True})
        return self._owner.compile(enter)


def _raise(error: BaseException) -> None:
    raise error


CONTINUES: Final = "__supple_continues__"
"""Attribute of a function that is a continuation: its caller is `drive`."""
ENTERS: Final = "__supple_enters__"
"""Attribute of a function that only calls a made one: (its code, its globals). Capture begins in that one."""


def step(
    point: Point, global_names: dict[str, object], continuations: Continuations, runs: Runs
) -> Callable[[Sequence[object]], Function]:
    """Return a function of the frame's cells that gives its step: `(*locals, *stack)`.

    Of a frame that calls another, what the instruction takes from the stack is not among the values.
    """
    code = _Step(point, global_names, continuations, runs).code()

    def made(cells: Sequence[object]) -> Function:
        return make_function(code, global_names, None, None, cast("tuple[types.CellType, ...]", cells))

    return made


Item = Instruction | Jump | Label


@memo(1024)
def continued(point: Point) -> types.CodeType:
    """Return code that takes a point's state and goes on there; that of a generator makes a generator.

    One point has one code object: it is guarded.
    """
    normal = normal_form(point.code)
    reached = reachable(normal, point.index)
    labels = [Label() for _ in range(len(normal.instructions) + 1)]
    is_generator = bool(normal.flags & inspect.CO_GENERATOR)
    items: list[Item] = [*_cells(point.code)]
    if is_generator:
        items += [Instruction("RETURN_GENERATOR"), Instruction("POP_TOP")]
    items += _prologue(point, len(point.slots), in_python=point.is_suspended)
    before = normal.instructions[point.index - 1]
    regions: list[Protected] = []
    if point.is_suspended and before.op == "YIELD_VALUE":
        # It is suspended here, under the handlers of the original `yield`.
        start, end, region = Label(), Label(), normal.handler_at(point.index - 1)
        items += [Instruction("LOAD_CONST", None), start, *_given(normal, point.index, labels), end]
        if region is not None:
            handler = labels[region.handler]
            regions.append(Protected(start, end, handler, region.depth, region.lasti))
            reached |= reachable(normal, region.handler)
        sends = normal.instructions[point.index - 2]
        if sends.op == "SEND":
            reached |= reachable(normal, cast("int", sends.target))
    items.append(Jump("JUMP", labels[point.index]))
    for index, instruction in enumerate(normal.instructions):
        items.append(labels[index])
        if index in reached:
            items.append(_relabelled(instruction, labels))
    items.append(labels[-1])
    regions += [
        Protected(labels[each.start], labels[each.end], labels[each.handler], each.depth, each.lasti)
        for each in normal.regions
        if each.handler in reached
    ]
    made = assemble(_placed(point, items), like=_header(point, items), protected=regions)
    _note_origin(made, point.code, items, sorted(reached))
    return made


def _given(normal: Decoded, index: int, labels: Sequence[Label]) -> Iterator[Item]:
    """Yield the `yield` before `index`.

    What is raised at a `yield from` goes to the inner generator first. When that one ends, CPython 3.11 goes
    on where the SEND in front of the `yield` says, which is there to be read, and not to be run.
    """
    given = Instruction("YIELD_VALUE", normal.instructions[index - 1].arg)
    sends = normal.instructions[index - 2]
    if sends.op != "SEND":
        yield given
        return
    suspend, ended, onward = Label(), Label(), Label()
    yield from (Jump("JUMP", suspend), Jump("SEND", ended), suspend, given, Jump("JUMP", onward))
    yield from (ended, Jump("JUMP", labels[cast("int", sends.target)]), onward)


def _cells(code: types.CodeType) -> Iterator[Instruction]:
    count = len(cell_names(code))
    if count:
        yield Instruction("COPY_FREE_VARS", count)


def _placed(point: Point, items: Iterable[Item]) -> list[Item]:
    """Return items of which each instruction has a line."""
    position = normal_form(point.code).instructions[point.index].position
    return [
        Instruction(item.op, item.arg, None, item.position or position)
        if isinstance(item, Instruction)
        else item
        for item in items
    ]


def _note_origin(
    made: types.CodeType, code: types.CodeType, items: Sequence[Item], reached: Sequence[int]
) -> None:
    bodies = [item.op for item in items if not isinstance(item, Label)]
    origins = [*[None] * (len(bodies) - len(reached)), *reached]
    indices: list[int | None] = []
    place = 0
    for instruction in normal_form(made).instructions:
        if place == len(bodies) or instruction.op not in (bodies[place], "NOP", "END_SEND"):
            return
        indices.append(origins[place])
        # The others the encoder writes: NOPs before calls, what cleans up behind a SEND.
        place += instruction.op == bodies[place]
    if place == len(bodies):
        ORIGINS.put(made, Origin(code, tuple(indices)))


def _prologue(point: Point, taken: int, *, in_python: bool) -> Iterator[Instruction]:
    """Yield what puts the stack back, where what is no object below the `taken` topmost is a None.

    Python takes for granted that what it handles has a traceback; code that is captured has no need.
    """
    for place in _places(point.slots, taken):
        slot = point.slots[place]
        if slot in EMPTY:
            kept = Instruction("LOAD_CONST", None)
            put = _UNBOUND if slot is Slot.UNBOUND else Instruction("PUSH_NULL")
            yield put if place >= len(point.slots) - taken else kept
            continue
        if slot is Slot.HANDLED and in_python:
            yield from (Instruction("PUSH_NULL"), Instruction("LOAD_CONST", with_traceback))
        yield from _taken(slot_name(place))
        if slot is Slot.HANDLED:
            if in_python:
                yield Instruction("CALL", (1, ()))
            yield from (Instruction("PUSH_EXC_INFO"), Instruction("POP_TOP"))


def _places(slots: tuple[Slot, ...], taken: int) -> list[int]:
    """Return the places of the stack, deepest first, as an instruction that takes the topmost looks at it.

    What stands for the NULL of a call lies above the callable where the NULL would: an error looks for it.
    """
    places = list(range(len(slots)))
    for place in range(len(slots) - taken - 1 if DIALECT.null_follows_callable else 0):
        if slots[place] is Slot.NULL:
            places[place : place + 2] = place + 1, place
    return places


def _taken(name: str) -> tuple[Instruction, Instruction]:
    """Return what moves a local to the stack: a traceback may keep the frame, not what was on its stack."""
    return Instruction("LOAD_FAST", name), Instruction("DELETE_FAST", name)


def _relabelled(
    instruction: Instruction, labels: Sequence[Label] | Mapping[int | None, Label]
) -> Instruction | Jump:
    if instruction.target is None:
        return instruction
    return Jump(instruction.op, labels[instruction.target], instruction.position)


@dataclass(frozen=True, slots=True)
class _Step:
    """How the code of a step is made."""

    point: Point
    global_names: dict[str, object]
    continuations: Continuations
    runs: Runs

    def code(self) -> types.CodeType:
        """Return code that runs the instruction, then hands over; also at a handler, when it raises."""
        point = self.point
        normal = normal_form(point.code)
        instruction = normal.instructions[point.index]
        calls_next = self.runs is not Runs.INSTRUCTION
        taken = 0 if calls_next else effect(instruction.op, instruction.arg)[0]
        start, end = Label(), Label()
        items: list[Item] = [*_cells(point.code), *_prologue(point, taken, in_python=True), start]
        if calls_next:
            items += [*self._call_next(instruction), end, *self._returned()]
        else:
            items += self._run(instruction, end)
        protected: list[Protected] = []
        region = normal.handler_at(point.index)
        if region is not None:
            handler = Label()
            pushed = PLAIN * (1 + region.lasti)
            items += [handler, *self._onward(region.handler, point.slots[: region.depth], pushed)]
            protected.append(Protected(start, end, handler, region.depth, region.lasti))
        header = _header(point, items)
        header = replace(header, flags=header.flags & ~inspect.CO_GENERATOR)
        return assemble(_placed(point, items), like=header, protected=protected)

    def _call_next(self, instruction: Instruction) -> Iterator[Instruction]:
        """Yield what calls the step of the next frame, and leaves what the instruction gives."""
        yield Instruction("PUSH_NULL")
        if self.runs is Runs.GETTER:
            yield from (Instruction("LOAD_CONST", asked), *_taken(MADE))
            yield from (Instruction("LOAD_CONST", instruction.arg), *_taken(NEXT))
            yield Instruction("CALL", (3, ()))
            return
        yield from (*_taken(NEXT), Instruction("CALL", (0, ())))
        if self.runs is Runs.INIT:
            yield from (Instruction("POP_TOP"), *_taken(MADE))

    def _returned(self) -> Iterator[Instruction]:
        """Yield what goes on after the call in place of the instruction."""
        if self.runs is Runs.ERROR:
            return iter([Instruction("RETURN_VALUE")])
        return self._onward(self.point.index + 1, self.point.slots, PLAIN)

    def _run(self, instruction: Instruction, end: Label) -> Iterator[Item]:
        """Yield the instruction, the label of its end, and what hands over where control goes after it."""
        index, slots = self.point.index + 1, self.point.slots
        pops, pushes = effect(instruction.op, instruction.arg)
        kept, pushed = slots[: len(slots) - pops], PLAIN * pushes
        if instruction.op in PEEKS:
            kept, pushed = slots, PLAIN
        elif instruction.op == "LOAD_METHOD":
            # The attribute may be no method: it is called as any object.
            instruction = Instruction("LOAD_ATTR", instruction.arg, None, instruction.position)
            pushed = (Slot.NULL, Slot.OBJECT)
        elif instruction.op == "RETURN_VALUE" and normal_form(self.point.code).flags & inspect.CO_GENERATOR:
            yield Instruction("BUILD_TUPLE", 1)
        jumped = Label()
        if instruction.op != "YIELD_VALUE":
            yield _relabelled(instruction, {instruction.target: jumped})
        yield end
        if instruction.op not in ENDS:
            yield from self._onward(index, kept, pushed, instruction)
        if instruction.target is not None:
            pops, pushes = TAKEN.get(instruction.op, (pops, pushes))
            yield jumped
            yield from self._onward(instruction.target, slots[: len(slots) - pops], PLAIN * pushes)

    def _onward(
        self,
        index: int,
        kept: tuple[Slot, ...],
        pushed: tuple[Slot, ...],
        instruction: Instruction | None = None,
    ) -> Iterator[Instruction]:
        """Yield what hands the step's locals and stack to the continuation at `index`, and returns.

        Args:
            index: where the continuation begins.
            kept: what was on the stack before; `_prologue` left no NULL there.
            pushed: what the instruction pushed.
            instruction: it may have bound or deleted a variable.
        """
        point, slots = self.point, (*kept, *pushed)
        index = _behind_jumps(normal_form(point.code), index)
        op, name = ("", "") if instruction is None else (instruction.op, str(instruction.arg))
        changed = {name} if op in ("STORE_FAST", "DELETE_FAST") else set[str]()
        bound = {*point.names, name} if op == "STORE_FAST" else set(point.names) - changed
        is_yield = op == "YIELD_VALUE"
        # What a generator is closed or failed with is raised at the `yield`.
        names = needed_names(point.code, index - is_yield, bound)
        for place in reversed(_places(slots, len(pushed))):
            if slots[place] is Slot.HANDLED:
                yield from (Instruction("PUSH_NULL"), Instruction("LOAD_CONST", sys.exception))
                yield from (Instruction("CALL", (0, ())), Instruction("STORE_FAST", slot_name(place)))
                yield Instruction("POP_EXCEPT")
            elif slots[place] is Slot.OBJECT or place < len(kept):
                yield Instruction("STORE_FAST", slot_name(place))
        onward = self.continuations.at(Point(point.code, index, names, slots), self.global_names)
        yield from (
            Instruction("PUSH_NULL"),
            Instruction("LOAD_CONST", onward.pause if is_yield else onward.later),
        )
        cells = cell_names(point.code)
        if cells:
            yield from (Instruction("LOAD_CLOSURE", name) for name in cells)
            yield Instruction("BUILD_TUPLE", len(cells))
        objects = [slot_name(place) for place, slot in enumerate(slots) if slot not in EMPTY]
        for name in (*names, *objects):
            yield from _taken(name)
        yield Instruction("CALL", (bool(cells) + len(names) + len(objects), ()))
        yield Instruction("RETURN_VALUE")


def _behind_jumps(normal: Decoded, index: int) -> int:
    """Return where control comes to from an index by jumps alone: one point needs one continuation."""
    seen: set[int] = set()
    while (one := normal.instructions[index]).op == "JUMP" and one.target is not None and index not in seen:
        seen.add(index)
        index = one.target
    return index


def _header(point: Point, items: Sequence[Item]) -> Header:
    normal = normal_form(point.code)
    used = [
        str(item.arg)
        for item in items
        if isinstance(item, Instruction) and item.op.endswith(("_FAST", "_FAST_AND_CLEAR")) and item.arg
    ]
    parameters = [*point.parameters, *(name for name in (MADE, NEXT) if name in used)]
    return Header(
        name=normal.name,
        qualname=normal.qualname,
        filename=normal.filename,
        firstlineno=normal.firstlineno,
        flags=normal.flags & ~(4 | 8),
        argcount=len(parameters),
        varnames=tuple(dict.fromkeys([*parameters, *used])),
        freevars=cell_names(point.code),
    )

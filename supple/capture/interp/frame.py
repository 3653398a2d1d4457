"""One frame: locals, cells, a stack of values, a program counter, and the loop that runs its instructions."""

import types
from collections.abc import Callable, Container, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from supple.base.errors import SuppleError, Where
from supple.base.memo import of_object
from supple.base.rules import Rules
from supple.capture import breaks
from supple.capture.bytecode import Decoded, Instruction, Region, decode
from supple.capture.lifetimes import remainder
from supple.capture.points import (
    Point,
    Slot,
    can_continue,
    cell_names,
    renamed_local,
    suspended,
    unread_names,
)
from supple.capture.resume import continued
from supple.capture.values.base import NotConstant, Raised, Value
from supple.capture.values.constant import ConstantValue
from supple.capture.values.function import BoundMethodValue, CellValue, FunctionValue
from supple.capture.values.generator import Held, is_generator

if TYPE_CHECKING:
    from supple.capture.interp.engine import Engine


class Signal:
    """What an opcode rule returns to leave the loop: a returned or yielded value."""

    __slots__ = ("is_yield", "value")

    def __init__(self, value: Value, *, is_yield: bool = False) -> None:
        self.value = value
        self.is_yield = is_yield


Handler = Callable[["Frame", Instruction], Signal | None]
opcode: Final[Rules[Handler]] = Rules("opcode")

NULL: Final = Value()
"""What PUSH_NULL pushes."""
UNBOUND: Final = Value()
"""What LOAD_FAST_AND_CLEAR pushes for a local that has no value."""
_SLOTS: Final = {NULL: Slot.NULL, UNBOUND: Slot.UNBOUND}


def count_of(instruction: Instruction) -> int:
    """Return the operand of an instruction that counts."""
    assert isinstance(instruction.arg, int), f"{instruction.op} takes a count, not {instruction.arg!r}"
    return instruction.arg


@of_object
def decoded(code: types.CodeType) -> tuple[Decoded, tuple[Handler | None, ...]]:
    """Return a code object in normal form, with the rule of each instruction."""
    normal = decode(code)
    return normal, tuple(opcode.find(instruction.op) for instruction in normal.instructions)


@dataclass(slots=True, eq=False, repr=False)
class Frame:
    """A frame being interpreted.

    Attributes:
        engine: the capture it belongs to.
        locals: by name; an unbound local is absent.
        cells: of cell and free variables, by name.
        exception: the one being handled, None outside of handlers.
        is_handing_on: the generator to which a `yield from` delegates is asked what to do with an error.
        began: the number of the instruction that is being interpreted.
        callees: of the instruction being interpreted, the code of which the first to run gives its result.
        asked: the object of which that instruction asks for an attribute.
        is_direct: its result is what the instruction of the calling frame gives, or else `about` is.
        about: the instance of which it is the `__init__`, or the object whose attribute it gives.
        handled: where on the stack handlers keep the exception that was handled before theirs.
    """

    engine: "Engine"
    function: FunctionValue
    locals: dict[str, Value]
    cells: dict[str, CellValue] = field(init=False)
    code: Decoded = field(init=False)
    handlers: tuple[Handler | None, ...] = field(init=False)
    stack: list[Value] = field(default_factory=list[Value])
    pc: int = 0
    exception: Value | None = None
    is_started: bool = False
    is_finished: bool = False
    is_handing_on: bool = False
    began: int = 0
    callees: tuple[types.CodeType, ...] = ()
    asked: Value | None = None
    is_direct: bool = False
    about: Value | None = None
    handled: list[int] = field(default_factory=list[int])

    def __post_init__(self) -> None:
        self.code, self.handlers = decoded(self.function.code)
        self.cells = dict(zip(self.code.freevars, self.function.closure, strict=True))

    @property
    def code_object(self) -> types.CodeType:
        """The code being interpreted."""
        return self.function.code

    def slots(self) -> tuple[Slot, ...]:
        """Return what each value on the stack is."""
        kinds = [_SLOTS.get(value, Slot.OBJECT) for value in self.stack]
        for place in self.handled:
            kinds[place] = Slot.HANDLED
        return tuple(kinds)

    def state(self, point: Point, stays: Container[int] = ()) -> list[Value]:
        """Return the values for the parameters of a point.

        Args:
            stays: ids of the values that others hold too.
        """
        stack = list(self.stack)
        handled = self.exception
        for place in reversed(self.handled):
            assert handled is not None, "a handler handles an exception"
            stack[place], handled = handled, stack[place]
        values = {renamed_local(name): value for name, value in self.locals.items()}
        for name in unread_names(point.code, point.index):
            rest = remainder(values[name], stays) if name in values else None
            values[name] = ConstantValue(None) if rest is None else rest
        return [*(values[name] for name in point.names), *(v for v in stack if v not in _SLOTS)]

    @property
    def name(self) -> str:
        """The function's name."""
        return self.code.name

    @property
    def is_of_library(self) -> bool:
        """Whether it runs Python code of this package, which stands for functions of C."""
        return str(self.function.global_names.get("__name__", "")).startswith("supple.capture")

    def where(self) -> Where:
        """Return the line that is being interpreted."""
        code, at = self.code, max(self.pc - 1, 0)
        position, region = code.instructions[at].position, code.handler_at(at)
        line = position.line if position and position.line else code.firstlineno
        while region is not None and self._raises_again(region):
            region = code.handler_at(region.handler)
        is_caught = region is not None or self.exception is not None  # of which an error would tell
        return Where(code.filename, line, code.qualname, is_caught=is_caught)

    def _raises_again(self, region: Region) -> bool:
        """Tell whether a handler only cleans up, or leaves a `with` block of torch: exceptions fly on.

        The modes are then those in which the call begins. A block that was entered before must be left.
        """
        first, second = self.code.instructions[region.handler : region.handler + 2]
        if second.op != "WITH_EXCEPT_START":
            return first.op == "COPY"
        leave = self.stack[region.depth - 1]
        if not isinstance(leave, BoundMethodValue) or leave.owner.source is not None:
            return False
        return leave.owner.python_type().__module__[:5] == "torch"

    @contextmanager
    def expecting(self, codes: tuple[types.CodeType, ...], asked: Value | None = None) -> Generator[None]:
        """Note the code of which the first to run gives what the instruction gives."""
        self.callees, self.asked = codes, asked
        try:
            yield
        finally:
            self.callees, self.asked = (), None

    def push(self, value: Value) -> None:
        """Push one value."""
        self.stack.append(value)

    def pop(self) -> Value:
        """Pop one value."""
        return self.stack.pop()

    def pop_many(self, count: int) -> list[Value]:
        """Pop `count` values; the deepest comes first."""
        if not count:
            return []
        taken = self.stack[-count:]
        del self.stack[-count:]
        return taken

    def run(self) -> Signal:
        """Interpret until a return or a yield.

        Raises:
            Raised: an exception of the program leaves the frame.
            Unsupported: capture cannot go on.
        """
        engine = self.engine
        instructions = self.code.instructions
        handlers = self.handlers
        if engine.root_frame is None:
            engine.root_frame = self
        engine.frames.append(self)
        try:
            while True:
                pc = self.pc
                instruction = instructions[pc]
                self.pc = pc + 1
                engine.step(self)
                handler = handlers[pc]
                if handler is None:
                    engine.unsupported(breaks.OPCODE, op=instruction.op)
                try:
                    signal = handler(self, instruction)
                except Raised as raised:
                    engine.note_raised(raised.value)
                    if not self._handle(raised.value, pc):
                        raise
                    continue
                except RecursionError:
                    engine.unsupported(breaks.DEPTH, limit="Python's own stack allows here")
                except NotConstant:
                    engine.unsupported(breaks.NOT_CONSTANT, op=instruction.op)
                if signal is not None:
                    return signal
        except SuppleError as error:
            engine.note_break(error)
            raise
        finally:
            engine.frames.pop()

    def _handle(self, error: Value, index: int) -> bool:
        """Go to the handler of an error that an instruction raised; tell whether there is one."""
        region = self.code.handler_at(index)
        if region is None:
            self.is_finished = True
            return False
        del self.stack[region.depth :]
        if region.lasti:
            self.push(ConstantValue(index))
        self.push(error)
        self.pc = region.handler
        return True

    def send(self, value: Value) -> Value:
        """Resume a generator's frame with the value of its `yield`."""
        if self.is_started:
            self.push(value)
        self.is_started = True
        return self._resumed()

    def throw(self, error: Value) -> Value:
        """Resume a generator's frame by raising at its `yield`; a delegating one hands the error on."""
        if not self.is_started:
            self.is_finished = True
            raise Raised(error)
        try:
            receiver = self.delegate()
            if receiver is not None:
                given = self._throw_to(receiver, error)
                if given is not None:
                    return given
        except Raised as raised:
            error, receiver = raised.value, None
        if receiver is not None:
            return self._resumed()
        self.engine.frames.append(self)
        try:
            if not self._handle(error, self.pc - 1):
                raise Raised(error)
        finally:
            self.engine.frames.pop()
        return self._resumed()

    def _throw_to(self, receiver: Value, error: Value) -> Value | None:
        """Hand an error on; return what comes of it, None where the other one ended and this one goes on."""
        is_exit = issubclass(error.python_type(), GeneratorExit)
        result: Value | None = None
        self.is_handing_on = True
        try:
            method = self._method(receiver, "close" if is_exit else "throw")
            if method is not None:
                given = method.call(self.engine, () if is_exit else (error,), {})
                if not is_exit:
                    return given
        except Raised as raised:
            if not raised.is_a(StopIteration):
                raise
            result = raised.value.get_attr(self.engine, "value")
        finally:
            self.is_handing_on = False
        if result is None:  # the other one is closed, or takes no errors
            raise Raised(error)
        target = self.code.instructions[self.pc - 2].target
        assert target is not None, "SEND has a target"
        self.pop()
        self.push(result)
        self.pc = target
        return None

    def _method(self, receiver: Value, name: str) -> Value | None:
        """Return a method that what gives the items may have or not."""
        try:
            return receiver.get_attr(self.engine, name)
        except Raised as raised:
            if raised.is_a(AttributeError):
                return None
            raise

    def held(self) -> Held | None:
        """Return what another generator needs to go on in this one's place; None when none can."""
        code = self.code_object
        names = cell_names(code)
        is_ready = not self.is_finished and all(name in self.cells for name in names)
        if not is_ready or not can_continue(code):
            return None
        point = suspended(code, self.pc, self.locals, self.slots(), is_started=self.is_started)
        values = tuple(self.state(point))
        cells = tuple(self.cells[name] for name in names)
        return Held(continued(point), self.function.global_names, cells, values, self.is_started)

    def is_inside_a_block(self) -> bool:
        """Tell whether a suspended frame would run handlers if it were closed now, or another's `close`."""
        if self._is_handled():
            return True
        receiver = self.delegate()
        if receiver is None or is_generator(receiver):
            return False
        return self._method(receiver, "close") is not None

    def _is_handled(self) -> bool:
        """Tell whether a handler of the program's catches what is raised where the frame is suspended."""
        is_suspended = self.is_started and not self.is_finished
        region = self.code.handler_at(self.pc - 1) if is_suspended else None
        if region is not None and self.code.instructions[region.handler].op == "CLEANUP_THROW":
            region = self.code.handler_at(region.handler)  # that of a `yield from` raises again
        return region is not None and self.code.instructions[region.handler].op != "STOPITERATION_ERROR"

    def delegate(self) -> Value | None:
        """Return what a suspended frame gives the items of by `yield from`, None where it gives its own."""
        is_suspended = self.is_started and not self.is_finished and not self.is_handing_on and self.pc > 1
        return self.stack[-1] if is_suspended and self.code.instructions[self.pc - 2].op == "SEND" else None

    def _resumed(self) -> Value:
        try:
            signal = self.run()
        except Raised as raised:
            if not raised.is_a(StopIteration):
                raise
            self.engine.throw_from(RuntimeError("generator raised StopIteration"), raised.value)
        if signal.is_yield:
            return signal.value
        self.engine.throw_value(StopIteration, [] if signal.value.identity() is None else [signal.value])

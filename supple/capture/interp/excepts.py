"""raise, handlers, finally, with blocks."""

from supple.capture import breaks
from supple.capture.bytecode import Instruction
from supple.capture.interp.frame import Frame, opcode
from supple.capture.machine import Machine
from supple.capture.values.attributes import MISSING, lookup, type_attr
from supple.capture.values.base import Raised, Value, name_in_c
from supple.capture.values.constant import ConstantValue
from supple.capture.values.klass import ClassValue
from supple.capture.values.sequence import SequenceValue
from supple.capture.values.trace import Trace

_NONE = ConstantValue(None)


@opcode.on("RAISE_VARARGS")
def _(frame: Frame, instruction: Instruction) -> None:
    """`raise`, `raise x`, `raise x from y`."""
    engine = frame.engine
    cause = frame.pop() if instruction.arg == 2 else None
    if instruction.arg == 0:
        current = engine.handling()
        if current is None:
            engine.throw(RuntimeError, "No active exception to reraise")
        raise Raised(current)
    error = _made(engine, frame.pop(), "exceptions must derive from BaseException")
    if cause is not None and cause.identity() is not None:
        cause = _made(engine, cause, "exception causes must derive from BaseException")
    engine.chain(error, cause)
    raise Raised(error)


def _made(machine: Machine, given: Value, refusal: str) -> Value:
    """Return an exception, or what a class of exceptions makes; anything else raises a TypeError."""
    if isinstance(given, ClassValue) and issubclass(given.cls, BaseException):
        made = machine.call(given, [], {})
        if not issubclass(made.python_type(), BaseException):
            machine.unsupported(breaks.OBJECT, name=given.describe(), detail="it makes no exceptions")
        return made
    if not issubclass(given.python_type(), BaseException):
        machine.throw(TypeError, refusal)
    return given


@opcode.on("RERAISE")
def _(frame: Frame, instruction: Instruction) -> None:
    """Raise the exception on top again."""
    raise Raised(frame.pop())


@opcode.on("PUSH_EXC_INFO")
def _(frame: Frame, instruction: Instruction) -> None:
    """Begin a handler: the exception on top becomes the one being handled."""
    error = frame.pop()
    frame.handled.append(len(frame.stack))
    frame.push(frame.exception or _NONE)
    frame.push(error)
    frame.exception = error


@opcode.on("POP_EXCEPT")
def _(frame: Frame, instruction: Instruction) -> None:
    """End a handler: the outer exception is handled again."""
    frame.handled.pop()
    outer = frame.pop()
    frame.exception = None if outer.identity() is None else outer


@opcode.on("CHECK_EXC_MATCH")
def _(frame: Frame, instruction: Instruction) -> None:
    """Push whether the exception below matches the class (or tuple of classes) on top."""
    wanted = frame.pop()
    frame.push(ConstantValue(issubclass(frame.stack[-1].python_type(), _classes(frame, wanted))))


def _classes(frame: Frame, wanted: Value) -> tuple[type, ...]:
    if isinstance(wanted, SequenceValue):
        return tuple(cls for one in wanted.all(frame.engine) for cls in _classes(frame, one))
    cls = wanted.as_python()
    if not isinstance(cls, type) or not issubclass(cls, BaseException):
        msg = "catching classes that do not inherit from BaseException is not allowed"
        frame.engine.throw(TypeError, msg)
    return (cls,)


@opcode.on("CHECK_EG_MATCH", "PREP_RERAISE_STAR")
def _(frame: Frame, instruction: Instruction) -> None:
    """`except*` is left to Python."""
    frame.engine.unsupported(breaks.EXCEPTION_GROUP)


@opcode.on("LOAD_ASSERTION_ERROR")
def _(frame: Frame, instruction: Instruction) -> None:
    """Push AssertionError."""
    frame.push(frame.engine.wrap(AssertionError, None))


@opcode.on("STOPITERATION_ERROR")
def _(frame: Frame, instruction: Instruction) -> None:
    """A StopIteration that leaves a generator becomes a RuntimeError."""
    error = frame.pop()
    if issubclass(error.python_type(), StopIteration):
        error = frame.engine.call(
            frame.engine.wrap(RuntimeError, None), [ConstantValue("generator raised StopIteration")]
        )
    frame.push(error)


@opcode.on("CLEANUP_THROW")
def _(frame: Frame, instruction: Instruction) -> None:
    """What is raised at a `yield from` is raised again; a StopIteration is the end of the other generator."""
    error = frame.pop()
    if not issubclass(error.python_type(), StopIteration):
        raise Raised(error)
    frame.stack[-2:] = [_NONE, error.get_attr(frame.engine, "value")]


@opcode.on("BEFORE_WITH")
def _(frame: Frame, instruction: Instruction) -> None:
    """Replace a context manager by its bound `__exit__` and the result of `__enter__`."""
    engine = frame.engine
    manager = frame.pop()
    enter, leave = _special(frame, manager, "__enter__"), _special(frame, manager, "__exit__")
    frame.push(leave)
    frame.push(engine.call(enter))


def _special(frame: Frame, manager: Value, name: str) -> Value:
    cls = manager.python_type()
    if lookup(cls, name) is MISSING:
        refusal = f"{name_in_c(frame.engine, cls)!r} object does not support the context manager protocol"
        missed = " (missed __exit__ method)" if name == "__exit__" else ""
        frame.engine.throw(TypeError, refusal + missed)
    return type_attr(frame.engine, manager, cls, name)


@opcode.on("WITH_EXCEPT_START")
def _(frame: Frame, instruction: Instruction) -> None:
    """Call `__exit__` with the exception on top; push what it returns."""
    error = frame.stack[-1]
    leave = frame.stack[-4]
    kind = frame.engine.wrap(error.python_type(), None)
    frame.push(frame.engine.call(leave, [kind, error, Trace()]))

"""Branches, loops, returns, generators."""

from supple.capture import breaks
from supple.capture.bytecode import Instruction
from supple.capture.interp.frame import Frame, Signal, opcode
from supple.capture.interp.refusal import is_true
from supple.capture.values.base import Raised
from supple.capture.values.constant import ConstantValue
from supple.capture.values.generator import GeneratorValue, is_generator


def _target(instruction: Instruction) -> int:
    assert instruction.target is not None, f"{instruction.op} has no target"
    return instruction.target


@opcode.on("JUMP")
def _(frame: Frame, instruction: Instruction) -> None:
    """Go to the target."""
    frame.pc = _target(instruction)


@opcode.on("POP_JUMP_IF_TRUE", "POP_JUMP_IF_FALSE")
def _(frame: Frame, instruction: Instruction) -> None:
    """Jump if the top, which is dropped, is true (or false)."""
    if is_true(frame, instruction, frame.pop()) is (instruction.op == "POP_JUMP_IF_TRUE"):
        frame.pc = _target(instruction)


@opcode.on("POP_JUMP_IF_NONE", "POP_JUMP_IF_NOT_NONE")
def _(frame: Frame, instruction: Instruction) -> None:
    """Jump if the top, which is dropped, is None (or is not)."""
    if (frame.pop().identity() is None) is (instruction.op == "POP_JUMP_IF_NONE"):
        frame.pc = _target(instruction)


@opcode.on("JUMP_IF_TRUE_OR_POP", "JUMP_IF_FALSE_OR_POP")
def _(frame: Frame, instruction: Instruction) -> None:
    """Jump if the top is true (or false) and keep it, else drop it."""
    if frame.stack[-1].truth(frame.engine) is (instruction.op == "JUMP_IF_TRUE_OR_POP"):
        frame.pc = _target(instruction)
    else:
        frame.pop()


@opcode.on("GET_ITER", "GET_YIELD_FROM_ITER")
def _(frame: Frame, instruction: Instruction) -> None:
    """iter(top)."""
    frame.push(frame.pop().iterate(frame.engine))


@opcode.on("FOR_ITER")
def _(frame: Frame, instruction: Instruction) -> None:
    """Push the next item, or drop the iterator and leave the loop."""
    item = frame.stack[-1].advance(frame.engine)
    if item is None:
        frame.pop()
        frame.pc = _target(instruction)
    else:
        frame.push(item)


@opcode.on("RETURN_VALUE")
def _(frame: Frame, instruction: Instruction) -> Signal:
    """Leave the frame."""
    frame.is_finished = True
    return Signal(frame.pop())


@opcode.on("RETURN_GENERATOR")
def _(frame: Frame, instruction: Instruction) -> None:
    """The frame is a generator's: the engine has handed it over already; push what starts it."""
    frame.push(ConstantValue(None))


@opcode.on("YIELD_VALUE")
def _(frame: Frame, instruction: Instruction) -> Signal:
    """Suspend the frame; that of the call breaks."""
    if frame is frame.engine.root_frame:
        frame.engine.unsupported(breaks.GENERATOR, name=f"`yield` ({frame.code.qualname})")
    return Signal(frame.pop(), is_yield=True)


@opcode.on("SEND")
def _(frame: Frame, instruction: Instruction) -> None:
    """Hand a value to the inner generator of `yield from`; at its end go to the target with its result."""
    engine = frame.engine
    value = frame.pop()
    receiver = frame.stack[-1]
    try:
        if isinstance(receiver, GeneratorValue):
            receiver.within = frame
        if value.identity() is not None and not is_generator(receiver):
            frame.push(receiver.get_attr(engine, "send").call(engine, (value,), {}))
            return
        if isinstance(receiver, GeneratorValue):
            frame.push(receiver.send(engine, value))
            return
        item = receiver.advance(engine)
    except Raised as raised:
        if not raised.is_a(StopIteration):
            raise
        frame.pop()
        frame.push(raised.value.get_attr(engine, "value"))
        frame.pc = _target(instruction)
        return
    if item is not None:
        frame.push(item)
        return
    frame.pop()
    frame.push(ConstantValue(None))
    frame.pc = _target(instruction)


@opcode.on("END_SEND")
def _(frame: Frame, instruction: Instruction) -> None:
    """Drop the receiver under the result."""
    del frame.stack[-2]


@opcode.on("GET_AWAITABLE", "GET_AITER", "GET_ANEXT", "BEFORE_ASYNC_WITH", "END_ASYNC_FOR", "ASYNC_GEN_WRAP")
def _(frame: Frame, instruction: Instruction) -> None:
    """Coroutines are left to Python."""
    frame.engine.unsupported(breaks.GENERATOR, name="coroutine")

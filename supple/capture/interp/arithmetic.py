"""Operators: unary, binary, comparison, subscript. What they do by operand kinds is in library.operators."""

import types

from supple.capture.bytecode import Instruction
from supple.capture.interp.frame import Frame, opcode
from supple.capture.library import operators
from supple.capture.values.attributes import lookup
from supple.capture.values.base import Value
from supple.capture.values.constant import ConstantValue
from supple.capture.values.instance import InstanceValue
from supple.capture.values.layouts import identity_asked
from supple.capture.values.sequence import SliceValue
from supple.capture.values.tensor import TensorValue


@opcode.on("BINARY_OP")
def _(frame: Frame, instruction: Instruction) -> None:
    """`a + b`, `a += b` and so on."""
    left, right = frame.pop_many(2)
    frame.push(operators.binary(frame.engine, str(instruction.arg), left, right))


@opcode.on("COMPARE_OP")
def _(frame: Frame, instruction: Instruction) -> None:
    """`a < b` and so on."""
    left, right = frame.pop_many(2)
    frame.push(frame.engine.compare(str(instruction.arg), left, right))


@opcode.on("IS_OP")
def _(frame: Frame, instruction: Instruction) -> None:
    """`a is b`, `a is not b`."""
    left, right = frame.pop_many(2)
    if isinstance(left, TensorValue) and isinstance(right, TensorValue) and left is not right:
        identity_asked(frame.engine, left.fake, right.fake)
    same = frame.engine.is_same(left, right)
    frame.push(ConstantValue(same is not bool(instruction.arg)))


@opcode.on("CONTAINS_OP")
def _(frame: Frame, instruction: Instruction) -> None:
    """`a in b`, `a not in b`."""
    item, whole = frame.pop_many(2)
    found = whole.contains(frame.engine, item).truth(frame.engine)
    frame.push(ConstantValue(found is not bool(instruction.arg)))


@opcode.on("UNARY_NOT")
def _(frame: Frame, instruction: Instruction) -> None:
    """`not a`."""
    frame.push(ConstantValue(not frame.pop().truth(frame.engine)))


@opcode.on("TO_BOOL")
def _(frame: Frame, instruction: Instruction) -> None:
    """bool(a)."""
    frame.push(ConstantValue(frame.pop().truth(frame.engine)))


@opcode.on("UNARY_NEGATIVE", "UNARY_INVERT", "UNARY_POSITIVE")
def _(frame: Frame, instruction: Instruction) -> None:
    """`-a`, `~a`, `+a`."""
    symbol = {"UNARY_NEGATIVE": "neg", "UNARY_INVERT": "invert", "UNARY_POSITIVE": "pos"}[instruction.op]
    operand = frame.pop()
    with frame.expecting(_method(operand, f"__{symbol}__")):
        frame.push(operators.unary(frame.engine, symbol, operand))


def _method(owner: Value, name: str) -> tuple[types.CodeType, ...]:
    """Return the code of the method that gives what an operator with one object gives."""
    found = lookup(owner.cls, name) if isinstance(owner, InstanceValue) else None
    return (found.__code__,) if isinstance(found, types.FunctionType) else ()


@opcode.on("BINARY_SUBSCR")
def _(frame: Frame, instruction: Instruction) -> None:
    """`a[b]`."""
    owner, key = frame.pop_many(2)
    with frame.expecting(_method(owner, "__getitem__")):
        frame.push(owner.get_item(frame.engine, key))


@opcode.on("STORE_SUBSCR")
def _(frame: Frame, instruction: Instruction) -> None:
    """`a[b] = c`."""
    value, owner, key = frame.pop_many(3)
    owner.set_item(frame.engine, key, value)


@opcode.on("DELETE_SUBSCR")
def _(frame: Frame, instruction: Instruction) -> None:
    """`del a[b]`."""
    owner, key = frame.pop_many(2)
    owner.delete_item(frame.engine, key)


@opcode.on("BINARY_SLICE")
def _(frame: Frame, instruction: Instruction) -> None:
    """`a[b:c]`."""
    owner, start, stop = frame.pop_many(3)
    frame.push(owner.get_item(frame.engine, SliceValue((start, stop, ConstantValue(None)))))


@opcode.on("STORE_SLICE")
def _(frame: Frame, instruction: Instruction) -> None:
    """`a[b:c] = d`."""
    value, owner, start, stop = frame.pop_many(4)
    owner.set_item(frame.engine, SliceValue((start, stop, ConstantValue(None))), value)

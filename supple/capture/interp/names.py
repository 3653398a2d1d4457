"""Locals, globals, cells, attributes, constants and the stack itself."""

import builtins
import types
from typing import Final, NoReturn, cast

from supple.capture import breaks
from supple.capture.bytecode import Instruction
from supple.capture.guards import reads
from supple.capture.guards.kinds import Kind
from supple.capture.interp.frame import NULL, UNBOUND, Frame, count_of, opcode
from supple.capture.lifetimes import let_go_of_name
from supple.capture.source import BUILTINS
from supple.capture.values.attributes import MISSING, lookup
from supple.capture.values.base import LazyValue, Raised, Value
from supple.capture.values.constant import LITERALS, ConstantValue
from supple.capture.values.function import BoundMethodValue, CellValue
from supple.capture.values.instance import InstanceValue
from supple.capture.values.klass import super_of


@opcode.on("NOP", "COPY_FREE_VARS", "SETUP_ANNOTATIONS")
def _(frame: Frame, instruction: Instruction) -> None:
    """Nothing to do: closures are bound when the frame is made."""


@opcode.on("POP_TOP")
def _(frame: Frame, instruction: Instruction) -> None:
    """Drop the top."""
    let_go_of_name(frame.engine, frame.stack[-1])
    frame.stack.pop()


@opcode.on("COPY")
def _(frame: Frame, instruction: Instruction) -> None:
    """Push the n-th value from the top again."""
    frame.push(frame.stack[-count_of(instruction)])


@opcode.on("SWAP")
def _(frame: Frame, instruction: Instruction) -> None:
    """Exchange the top with the n-th value."""
    at = -count_of(instruction)
    frame.stack[-1], frame.stack[at] = frame.stack[at], frame.stack[-1]


@opcode.on("PUSH_NULL")
def _(frame: Frame, instruction: Instruction) -> None:
    """Push the mark that says: no self."""
    frame.push(NULL)


@opcode.on("LOAD_CONST")
def _(frame: Frame, instruction: Instruction) -> None:
    """Push a constant of the code object."""
    value = instruction.arg
    frame.push(ConstantValue(value) if type(value) in LITERALS else frame.engine.wrap(value, None))


@opcode.on("LOAD_FAST")
def _(frame: Frame, instruction: Instruction) -> None:
    """Push a local."""
    frame.push(_local(frame, _name(instruction)))


@opcode.on("LOAD_FAST_AND_CLEAR")
def _(frame: Frame, instruction: Instruction) -> None:
    """Push a local (or the mark of an unbound one) and unbind it, around an inlined comprehension."""
    frame.push(frame.locals.pop(_name(instruction), UNBOUND))


@opcode.on("STORE_FAST")
def _(frame: Frame, instruction: Instruction) -> None:
    """Bind a local."""
    if not _name(instruction).startswith(OF_SUPPLE):
        _let_go(frame, frame.locals.get(_name(instruction)))
    value = frame.pop()
    frame.locals.pop(_name(instruction), None)
    if value is not UNBOUND:
        frame.locals[_name(instruction)] = value


@opcode.on("DELETE_FAST")
def _(frame: Frame, instruction: Instruction) -> None:
    """Unbind a local."""
    if not _name(instruction).startswith(OF_SUPPLE):
        _let_go(frame, _local(frame, _name(instruction)))
    del frame.locals[_name(instruction)]


OF_SUPPLE: Final = "_supple_"
"""How names begin that the code of continuations uses for what was on the stack."""


def _let_go(frame: Frame, value: Value | None) -> None:
    """Break where CPython would end what the program sees the end of, or close a generator in a block."""
    let_go_of_name(frame.engine, value)
    if value is not None and value.source is not None and frame.engine.is_open(value):
        frame.engine.unsupported(breaks.GENERATOR, name="generator left inside a block")


_UNBOUND: Final = "where it is not associated with a value"


def _local(frame: Frame, name: str) -> Value:
    found = frame.locals.get(name)
    if found is None:
        frame.engine.throw(UnboundLocalError, f"cannot access local variable {name!r} {_UNBOUND}")
    if isinstance(found, LazyValue):
        found = found.force(frame.engine)
        frame.locals[name] = found
    return found


@opcode.on("MAKE_CELL")
def _(frame: Frame, instruction: Instruction) -> None:
    """Make the cell of a local that inner functions capture."""
    name = _name(instruction)
    frame.cells[name] = CellValue(frame.locals.pop(name, None))


@opcode.on("LOAD_CLOSURE")
def _(frame: Frame, instruction: Instruction) -> None:
    """Push a cell itself."""
    frame.push(frame.cells[_name(instruction)])


@opcode.on("LOAD_DEREF")
def _(frame: Frame, instruction: Instruction) -> None:
    """Push the contents of a cell."""
    frame.push(_contents(frame, _name(instruction)))


def _contents(frame: Frame, name: str) -> Value:
    found = frame.cells[name].get(frame.engine)
    if found is None and name in frame.function.code.co_cellvars:
        frame.engine.throw(UnboundLocalError, f"cannot access local variable {name!r} {_UNBOUND}")
    if found is None:
        text = f"cannot access free variable {name!r} {_UNBOUND} in enclosing scope"
        _throw_named(frame, NameError, text, name=ConstantValue(name))
    return found


def _throw_named(frame: Frame, kind: type[BaseException], text: str, **fields: Value) -> NoReturn:
    """Raise an exception that also tells what it is about."""
    try:
        frame.engine.throw(kind, text)
    except Raised as raised:
        _tell(frame, raised, **fields)
        raise


def _tell(frame: Frame, raised: Raised, **fields: Value) -> None:
    error = raised.value
    if isinstance(error, InstanceValue) and error.obj is None and "name" not in error.attrs:
        for name, value in fields.items():
            error.write(frame.engine, name, value)


@opcode.on("STORE_DEREF")
def _(frame: Frame, instruction: Instruction) -> None:
    """Write a cell."""
    frame.cells[_name(instruction)].put(frame.engine, frame.pop())


@opcode.on("DELETE_DEREF")
def _(frame: Frame, instruction: Instruction) -> None:
    """Empty a cell."""
    _contents(frame, _name(instruction))
    frame.cells[_name(instruction)].put(frame.engine, None)


@opcode.on("LOAD_GLOBAL", "LOAD_NAME")
def _(frame: Frame, instruction: Instruction) -> None:
    """Push a global variable, or a builtin."""
    name = _name(instruction)
    found = frame.engine.globals_of(frame.function).find(frame.engine, name)
    if found is None:
        if name not in vars(builtins):
            frame.engine.guard(BUILTINS, Kind.LACKS_KEY, name)
            _throw_named(frame, NameError, f"name {name!r} is not defined", name=ConstantValue(name))
        found = frame.engine.wrap(reads.builtin(name), None)
    frame.push(found)


@opcode.on("STORE_GLOBAL")
def _(frame: Frame, instruction: Instruction) -> None:
    """Write a global variable; replayed after the graph."""
    frame.engine.globals_of(frame.function).put(frame.engine, _name(instruction), frame.pop())


@opcode.on("DELETE_GLOBAL")
def _(frame: Frame, instruction: Instruction) -> None:
    """Delete a global variable."""
    frame.engine.unsupported(breaks.SIDE_EFFECT, name=f"global {instruction.arg}")


@opcode.on("LOAD_ATTR")
def _(frame: Frame, instruction: Instruction) -> None:
    """Replace the top by its attribute."""
    owner, name = frame.pop(), _name(instruction)
    with frame.expecting(_getter(owner, name), owner):
        frame.push(_attribute(frame, owner, name))


def _getter(owner: Value, name: str) -> tuple[types.CodeType, ...]:
    """Return the code of a property that gives an attribute, unless `__getattr__` may in the end."""
    if not isinstance(owner, InstanceValue) or lookup(owner.cls, "__getattr__") is not MISSING:
        return ()
    found = lookup(owner.cls, name)
    given = found.fget if isinstance(found, property) else None
    return (given.__code__,) if isinstance(given, types.FunctionType) else ()


def _attribute(frame: Frame, owner: Value, name: str) -> Value:
    try:
        return owner.get_attr(frame.engine, name)
    except Raised as raised:
        if raised.is_a(AttributeError):
            _tell(frame, raised, name=ConstantValue(name), obj=owner)
        raise


@opcode.on("LOAD_METHOD")
def _(frame: Frame, instruction: Instruction) -> None:
    """Push (function, self) when the attribute is a method, else (NULL, attribute)."""
    _push_method(frame, _attribute(frame, frame.pop(), _name(instruction)))


def _push_method(frame: Frame, found: Value) -> None:
    is_method = isinstance(found, BoundMethodValue)
    frame.stack += (found.function, found.owner) if is_method else (NULL, found)


@opcode.on("LOAD_SUPER_ATTR")
def _(frame: Frame, instruction: Instruction) -> None:
    """`super().name`, on 3.12 one instruction: pops the global super, the class and self."""
    name, is_method, _ = cast("tuple[str, bool, bool]", instruction.arg)
    _, after, owner = frame.pop_many(3)
    found = super_of(frame.engine, after, owner).get_attr(frame.engine, name)
    _push_method(frame, found) if is_method else frame.push(found)


@opcode.on("STORE_ATTR")
def _(frame: Frame, instruction: Instruction) -> None:
    """`top.name = below`."""
    owner = frame.pop()
    owner.set_attr(frame.engine, _name(instruction), frame.pop())


@opcode.on("DELETE_ATTR")
def _(frame: Frame, instruction: Instruction) -> None:
    """`del top.name`."""
    frame.pop().delete_attr(frame.engine, _name(instruction))


def _name(instruction: Instruction) -> str:
    assert isinstance(instruction.arg, str), f"{instruction.op} takes a name, not {instruction.arg!r}"
    return instruction.arg

"""Residual code: bytecode with the captured function's parameters that loads the graph's inputs, calls it,
makes the objects that leave the call, replays side effects, and returns.

It has three parts in this order: *prepare* loads and makes every object that is needed, into variables, so
that no later write can change what is loaded; *effects* writes to objects that existed before; *finish*
returns.
"""

import logging
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final, TypeAlias

from supple.base.config import config
from supple.base.errors import MemoryFault, TraceError, VerificationError
from supple.base.interrupts import is_interrupt
from supple.capture.bytecode import Header, Instruction, Label, Position, Protected, assemble
from supple.capture.source import Attr, Called, Local, Pinned, Source
from supple.runtime.classes import is_passing
from supple.runtime.entries import Watch
from supple.runtime.undo import DRAWN, is_unwritten
from supple.torch_private import StopRecomputation

_log: Final = logging.getLogger("supple")
MEANT: Final = (VerificationError, MemoryFault, TraceError, StopRecomputation)
"""Exceptions that the user is to see: of checks that the user asked for, and what is no error at all."""


@dataclass(frozen=True, slots=True)
class Const:
    """An object that the code holds, among variables."""

    value: object


Operand: TypeAlias = "str | Const | Sequence[Operand] | dict[Operand, Operand]"
"""What code pushes: a variable, a constant, a tuple or a dict of operands."""


class Writer:
    """Builds the instructions of one residual function."""

    def __init__(self, line: int = 1) -> None:
        self.code: list[Instruction | Label] = []
        self.protected: list[Protected] = []
        self._position = Position(line, line)
        self.at_end: tuple[Label, Recovery] | None = None
        self._variables: list[str] = []
        self._bases: dict[Source, str] = {}

    def op(self, op: str, arg: object = None) -> None:
        """Append one instruction."""
        self.code.append(Instruction(op, arg, None, self._position))

    def constant(self, value: object) -> None:
        """Push an object that the code holds; to a class that a call has made it refers."""
        if isinstance(value, type) and is_passing(value):
            self.function(Watch(value))
            self.call(0)
        else:
            self.op("LOAD_CONST", value)

    def call(self, count: int) -> None:
        """Call what lies below `count` arguments, pushed by `function` first."""
        self.op("CALL", (count, ()))

    def function(self, function: object) -> None:
        """Push a callable, ready for arguments and `call`."""
        self.op("PUSH_NULL")
        self.constant(function)

    def push(self, *operands: Operand) -> None:
        """Push operands."""
        for operand in operands:
            match operand:
                case str():
                    self.op("LOAD_FAST", operand)
                case Const(value=value):
                    self.constant(value)
                case dict():
                    self.push(*chain.from_iterable(operand.items()))
                    self.op("BUILD_MAP", len(operand))
                case _:
                    self.push(*operand)
                    self.op("BUILD_TUPLE", len(operand))

    def called(self, function: object, /, *operands: Operand, **named: Operand) -> None:
        """Push `function(*operands, **named)`."""
        self.function(function)
        self.push(*operands, *named.values())
        self.op("CALL", (len(operands), tuple(named)))

    def run(self, function: object, *operands: Operand) -> None:
        """Call `function(*operands)` for its effect."""
        self.called(function, *operands)
        self.op("POP_TOP")

    def source(self, source: Source) -> None:
        """Push the object at a source."""
        match source:
            case Local(variable=variable):
                self.op("LOAD_FAST", variable)
            case Pinned(value=value):
                self.constant(value)
            case Attr(base=base, attribute=name):
                self._base(base)
                self.op("LOAD_ATTR", name)
            case Called(base=base, arguments=arguments):
                self.function(source.function)
                self._base(base)
                self.push(*map(Const, arguments))
                self.call(1 + len(arguments))
            case _:
                raise TypeError(f"{source}: a source of class {type(source).__name__}")

    def _base(self, base: Source) -> None:
        """Push an object that sources are read from; a path that many of them share is walked once."""
        if base.base is None:
            self.source(base)
            return
        known = self._bases.get(base)
        if known is None:
            self.source(base)
            self._bases[base] = known = self.store()
        self.op("LOAD_FAST", known)

    def store(self) -> str:
        """Pop the top into a new variable; return its name."""
        name = f"#{len(self._variables)}"  # which no parameter is called
        self._variables.append(name)
        self.op("STORE_FAST", name)
        return name

    def _recover(self, like: types.CodeType) -> None:
        """Append what handles an exception of the graph, with nothing handled any more, on the parameters."""
        if self.at_end is None:
            return
        handler, recover = self.at_end
        self.code.append(handler)
        self.op("PUSH_EXC_INFO")
        error = self.store()
        self.op("POP_EXCEPT")
        count, named = like.co_argcount, like.co_kwonlyargcount
        names = like.co_varnames
        self.function(recover)
        self.push((error, *names[:count]))
        self.op("DELETE_FAST", error)  # whose traceback holds this frame
        after = count + named
        if like.co_flags & 4:
            self.push(names[after])
            self.op("BINARY_OP", "+")
            after += 1
        self.push({Const(name): name for name in names[count : count + named]})
        if like.co_flags & 8:
            self.push(names[after])
            self.op("DICT_UPDATE", 1)
        self.op("CALL_FUNCTION_EX", True)
        self.op("RETURN_VALUE")

    def assemble(self, like: types.CodeType) -> types.CodeType:
        """Return the code object, with the parameters of `like`."""
        self._recover(like)
        parameters = like.co_argcount + like.co_kwonlyargcount
        parameters += bool(like.co_flags & 4) + bool(like.co_flags & 8)
        header = Header(
            name=like.co_name,
            qualname=like.co_qualname,
            filename=f"<supple residual of {like.co_filename}:{like.co_firstlineno}>",
            firstlineno=like.co_firstlineno,
            flags=like.co_flags & (4 | 8) | 3,
            argcount=like.co_argcount,
            posonlyargcount=like.co_posonlyargcount,
            kwonlyargcount=like.co_kwonlyargcount,
            varnames=(*like.co_varnames[:parameters], *self._variables),
        )
        return assemble(self.code, like=header, protected=self.protected)


def call_graph(
    writer: Writer, compiled: Callable[..., object], inputs: Sequence[Source], recover: "Recovery"
) -> str:
    """Call the compiled graph with its inputs; return the variable that holds its results."""
    writer.function(compiled)
    for source in inputs:
        writer.source(source)
    start, end, handler = Label(), Label(), Label()
    writer.code.append(start)
    writer.call(len(inputs))
    writer.code.append(end)
    results = writer.store()
    writer.protected.append(Protected(start, end, handler, 0))
    writer.at_end = (handler, recover)
    return results


@dataclass(frozen=True, slots=True)
class Recovery:
    """What residual code does when its graph raises, which is before any other effect of the call.

    The modes of torch and the random state are put back, and the function runs as plain Python: it raises
    the exception at its place among the effects. Where the graph has written to tensors, the exception goes
    on. An OverflowError is of kernels, which take 64 bits of an integer: eager may make a float of it.

    Attributes:
        settings: calls that set the modes, with their arguments.
        is_caught: the program may catch what an operator raises, and go on.
    """

    function: types.FunctionType
    settings: Sequence[tuple[Callable[..., object], tuple[object, ...]]]
    writes: bool
    is_caught: bool

    def __call__(self, error: BaseException, *args: object, **kwargs: object) -> object:
        """Return what the function gives for the arguments of the call whose graph raised an exception."""
        for setter, values in self.settings:
            setter(*values)
        try:
            has_written = self.writes and not is_unwritten(error)
            is_final = isinstance(error, MEANT) or not isinstance(error, Exception) or is_interrupt(error)
            if has_written or is_final:
                raise error
            for generator, state in getattr(error, DRAWN, ()):
                generator.set_state(state)
            result = self.function(*args, **kwargs)
            is_expected = self.is_caught or isinstance(error, OverflowError)
            if not is_expected and config.now().suppress_errors is False:
                raise error
            level = logging.INFO if self.is_caught else logging.WARNING
            _log.log(level, "%s ran as plain Python: its graph raised %r", self.function.__qualname__, error)
            return result
        finally:
            del error  # whose traceback holds this frame

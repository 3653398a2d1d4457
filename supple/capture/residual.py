"""Residual code: bytecode with the captured function's parameters that loads the graph's inputs, calls it,
makes the objects that leave the call, replays side effects, and returns.

It has three parts in this order: *prepare* loads and makes every object that is needed, into variables, so
that no later write can change what is loaded; *effects* writes to objects that existed before; *finish*
returns.
"""

import types
from collections.abc import Callable, Sequence

from supple.capture.bytecode import Header, Instruction, Position, assemble
from supple.capture.source import Attr, Called, Local, Pinned, Source


class Writer:
    """Builds the instructions of one residual function."""

    def __init__(self, line: int = 1) -> None:
        self.code: list[Instruction] = []
        self._position = Position(line, line)
        self._variables: list[str] = []
        self._bases: dict[Source, str] = {}

    def op(self, op: str, arg: object = None) -> None:
        """Append one instruction."""
        self.code.append(Instruction(op, arg, None, self._position))

    def constant(self, value: object) -> None:
        """Push an object that the code holds."""
        self.op("LOAD_CONST", value)

    def call(self, count: int) -> None:
        """Call what lies below `count` arguments, pushed by `function` first."""
        self.op("CALL", (count, ()))

    def function(self, function: object) -> None:
        """Push a callable, ready for arguments and `call`."""
        self.op("PUSH_NULL")
        self.constant(function)

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
                for argument in arguments:
                    self.constant(argument)
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
        name = f"_{len(self._variables)}"
        self._variables.append(name)
        self.op("STORE_FAST", name)
        return name

    def assemble(self, like: types.CodeType) -> types.CodeType:
        """Return the code object, with the parameters of `like`."""
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
        return assemble(self.code, like=header)


def call_graph(writer: Writer, compiled: Callable[..., object], inputs: Sequence[Source]) -> str:
    """Call the compiled graph with its inputs; return the variable that holds its results."""
    writer.function(compiled)
    for source in inputs:
        writer.source(source)
    writer.call(len(inputs))
    return writer.store()

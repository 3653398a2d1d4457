"""Residual code: bytecode with the captured function's parameters that loads the graph's inputs, calls it,
makes the objects that leave the call, replays side effects, and returns.

It has three parts in this order: *prepare* loads and makes every object that is needed, into variables, so
that no later write can change what is loaded; *effects* writes to objects that existed before; *finish*
returns.
"""

import types
from collections.abc import Callable, Sequence
from typing import Final

from supple.base.rules import Rules
from supple.capture.bytecode import Header, Instruction, Position, assemble
from supple.capture.source import (
    Attr,
    Cell,
    ContextValue,
    InstanceAttr,
    Item,
    KeyAt,
    Local,
    Pinned,
    SizeAt,
    Source,
    StrideAt,
    TypeOf,
)

Emit = Callable[["Writer", Source], None]
load: Final[Rules[Emit]] = Rules("load")


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
        load[type(source)](self, source)

    def base_of(self, source: Source) -> None:
        """Push the object that `source` is read from; a path that many sources share is walked once."""
        base = source.base
        assert base is not None, source.name
        if isinstance(base, Local | Pinned):
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


@load.on(Local)
def _(writer: Writer, source: Source) -> None:
    """A parameter."""
    assert isinstance(source, Local), source
    writer.op("LOAD_FAST", source.variable)


@load.on(Pinned)
def _(writer: Writer, source: Source) -> None:
    """An object that the entry holds."""
    assert isinstance(source, Pinned), source
    writer.constant(source.value)


@load.on(Attr)
def _(writer: Writer, source: Source) -> None:
    """base.attribute."""
    assert isinstance(source, Attr), source
    writer.base_of(source)
    writer.op("LOAD_ATTR", source.attribute)


@load.on(InstanceAttr)
def _(writer: Writer, source: Source) -> None:
    """base.__dict__[attribute]."""
    assert isinstance(source, InstanceAttr), source
    writer.base_of(source)
    writer.op("LOAD_ATTR", "__dict__")
    writer.constant(source.attribute)
    writer.op("BINARY_SUBSCR")


@load.on(Item)
def _(writer: Writer, source: Source) -> None:
    """base[key], past any `__getitem__` of a subclass."""
    assert isinstance(source, Item), source
    writer.function(vars(source.of)["__getitem__"])
    writer.base_of(source)
    writer.constant(source.key)
    writer.call(2)


@load.on(KeyAt)
def _(writer: Writer, source: Source) -> None:
    """list(base)[position]."""
    assert isinstance(source, KeyAt), source
    writer.function(list)
    writer.base_of(source)
    writer.call(1)
    writer.constant(source.position)
    writer.op("BINARY_SUBSCR")


@load.on(Cell)
def _(writer: Writer, source: Source) -> None:
    """base.__closure__[index].cell_contents."""
    load_cell(writer, source)
    writer.op("LOAD_ATTR", "cell_contents")


def load_cell(writer: Writer, source: Source) -> None:
    """Push the cell itself whose contents `source` names."""
    if isinstance(source, Attr) and source.base is not None:
        writer.source(source.base)
        return
    assert isinstance(source, Cell), source
    writer.base_of(source)
    writer.op("LOAD_ATTR", "__closure__")
    writer.constant(source.index)
    writer.op("BINARY_SUBSCR")


@load.on(ContextValue)
def _(writer: Writer, source: Source) -> None:
    """base.get()."""
    writer.base_of(source)
    writer.op("LOAD_METHOD", "get")
    writer.call(0)


@load.on(TypeOf)
def _(writer: Writer, source: Source) -> None:
    """type(base)."""
    writer.function(type)
    writer.base_of(source)
    writer.call(1)


@load.on(SizeAt)
def _(writer: Writer, source: Source) -> None:
    """base.shape[dim]."""
    assert isinstance(source, SizeAt), source
    writer.base_of(source)
    writer.op("LOAD_ATTR", "shape")
    writer.constant(source.dim)
    writer.op("BINARY_SUBSCR")


@load.on(StrideAt)
def _(writer: Writer, source: Source) -> None:
    """base.stride(dim)."""
    assert isinstance(source, StrideAt), source
    writer.base_of(source)
    writer.op("LOAD_METHOD", "stride")
    writer.constant(source.dim)
    writer.call(1)


def call_graph(writer: Writer, compiled: Callable[..., object], inputs: Sequence[Source]) -> str:
    """Call the compiled graph with its inputs; return the variable that holds its results."""
    writer.function(compiled)
    for source in inputs:
        writer.source(source)
    writer.call(len(inputs))
    return writer.store()

"""Physical instructions to a code object, by the `bytecode` package: jump operands, caches, tables."""

import opcode
from types import CodeType

from bytecode import CompilerFlags, ConcreteBytecode, ConcreteInstr
from bytecode.concrete import ExceptionTableEntry
from bytecode.instr import InstrLocation

from supple.capture.bytecode.decode import has_operand
from supple.capture.bytecode.instruction import FREE_MARK, Position
from supple.capture.bytecode.writer import Item, Writer


def assembled(writer: Writer, stack_size: int) -> CodeType:
    """Return the code object of what `writer` has, with room for `stack_size` values."""
    header = writer.decoded
    pieces, offsets = _laid_out(writer)
    code = ConcreteBytecode(
        pieces,
        consts=tuple(writer.consts),
        names=tuple(writer.names),
        varnames=header.varnames,
        exception_table=[
            ExceptionTableEntry(
                offsets[writer.bound[region.start]],
                offsets[writer.bound[region.end]] - 1,
                offsets[writer.place[region.handler]],
                region.depth,
                region.lasti,
            )
            for region in header.regions
        ],
    )
    code.name, code.qualname, code.filename = header.name, header.qualname, header.filename
    code.first_lineno = header.firstlineno
    code.flags = CompilerFlags(header.flags)
    code.argcount, code.posonlyargcount = header.argcount, header.posonlyargcount
    code.kwonlyargcount = header.kwonlyargcount
    code.cellvars = list(header.cellvars)
    code.freevars = [name.removesuffix(FREE_MARK) for name in header.freevars]
    return code.to_code(stack_size, compute_exception_stack_depths=False)


def _laid_out(writer: Writer) -> tuple[list[ConcreteInstr], list[int]]:
    """Return the physical instructions with their caches, and where each item begins, in code units."""
    items = writer.items
    spans: dict[Position | None, InstrLocation] = {}
    made = [_concrete(item, spans) for item in items]
    caches = [piece.use_cache_opcodes() for piece in made]
    sizes = [piece.size // 2 for piece in made]
    jumps = [(at, item.target) for at, item in enumerate(items) if item.target is not None]
    offsets: list[int] = []
    # A jump's operand may need a prefix, which moves all that follows: sizes only grow, until they fit.
    grown = True
    while grown:
        grown = False
        offsets = [0]
        for size, units in zip(sizes, caches, strict=True):
            offsets.append(offsets[-1] + size + units)
        for at, target in jumps:
            distance = offsets[writer.place[target]] - offsets[at + 1]
            operand = -distance if "BACKWARD" in items[at].name else distance
            if operand < 0:
                raise ValueError(f"{writer.decoded.qualname}: {items[at].name} cannot jump {distance} units")
            prefixes = sizes[at] - 1 if operand < 256 ** sizes[at] else (operand.bit_length() - 1) // 8
            grown = grown or prefixes >= sizes[at]
            sizes[at] = prefixes + 1
            made[at] = ConcreteInstr(
                items[at].name, operand, location=made[at].location, extended_args=prefixes
            )
    pieces: list[ConcreteInstr] = []
    for piece, units in zip(made, caches, strict=True):
        pieces.append(piece)
        pieces += [ConcreteInstr("CACHE", 0, location=piece.location)] * units
    return pieces, offsets


def _concrete(item: Item, spans: dict[Position | None, InstrLocation]) -> ConcreteInstr:
    position = item.position
    if position not in spans:
        spans[position] = (
            InstrLocation(None, None, None, None)
            if position is None
            else InstrLocation(position.line, position.end_line, position.column, position.end_column)
        )
    location = spans[position]
    if has_operand(opcode.opmap[item.name]):
        return ConcreteInstr(item.name, item.operand, location=location)
    return ConcreteInstr(item.name, location=location)

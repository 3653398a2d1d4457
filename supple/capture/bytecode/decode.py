"""Code objects of CPython 3.11 to 3.14 to normal instructions.

Most ops keep their name and only have their operand read. A rule stands for an op that is renamed, split,
dropped, or joined with the one before. Source: Python/bytecodes.c of 3.12 to 3.14, Python/ceval.c of 3.11.
"""

import opcode
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from types import CodeType
from typing import Final, cast

from supple.base.rules import Rules
from supple.capture.bytecode import tables
from supple.capture.bytecode.analysis import loads_of_plain_values
from supple.capture.bytecode.instruction import FREE_MARK, Decoded, Instruction, Position, Region

Emitted = tuple[str, object, int | None, Position | None]
_Span = tuple[int | None, int | None, int | None, int | None]

_EXTENDED_ARG: Final = opcode.opmap["EXTENDED_ARG"]
_UNIT_NAMES: Final = tuple(opcode.opname)


@dataclass(slots=True, eq=False)
class _Reader:
    """The instructions read so far of one code object.

    Attributes:
        out: (op, arg, target in code units, position) of the normal instructions.
        index_of: for each code unit, the index of the first normal instruction at or after it.
        edges: where it differs, the index at which a region is cut that starts or ends at a code unit.
        keywords: names for the call to come.
        unit: where the instruction at hand starts, its EXTENDED_ARGs included.
        after: the code unit behind the instruction at hand and its caches.
        previous: the physical name of the instruction before the one at hand.
    """

    code: CodeType
    names: tuple[str, ...]
    free: tuple[str, ...]
    slots: tuple[str, ...]
    out: list[Emitted] = field(default_factory=list[Emitted])
    index_of: list[int] = field(default_factory=list[int])
    edges: dict[int, int] = field(default_factory=dict[int, int])
    keywords: tuple[str, ...] = ()
    position: Position | None = None
    previous: str = ""
    unit: int = 0
    after: int = 0

    def emit(self, op: str, arg: object = None, target: int | None = None) -> None:
        """Append a normal instruction at the position at hand."""
        self.out.append((op, arg, target, self.position))

    def take(self) -> Emitted:
        """Remove the last instruction, so that one joined with it takes its place."""
        last = self.out.pop()
        for unit in range(self.unit, len(self.index_of)):
            self.index_of[unit] = len(self.out)
        return last


_Rule = Callable[[_Reader, int], None]
_rules: Final[Rules[_Rule]] = Rules("decode")


def _reader(code: CodeType) -> _Reader:
    own = {*code.co_varnames, *code.co_cellvars}
    free = tuple(name + FREE_MARK if name in own else name for name in code.co_freevars)
    cells = tuple(name for name in code.co_cellvars if name not in code.co_varnames)
    return _Reader(code, code.co_names, free, code.co_varnames + cells + free)


def decode(code: CodeType) -> Decoded:
    """Return the normal form of `code`; code objects among its constants stay as they are."""
    reader = _reader(code)
    _read(reader)
    index_of = reader.index_of
    made = Decoded(
        name=code.co_name,
        qualname=code.co_qualname,
        filename=code.co_filename,
        firstlineno=code.co_firstlineno,
        flags=code.co_flags,
        argcount=code.co_argcount,
        posonlyargcount=code.co_posonlyargcount,
        kwonlyargcount=code.co_kwonlyargcount,
        varnames=code.co_varnames,
        cellvars=code.co_cellvars,
        freevars=reader.free,
        docstring=code.co_consts[0] if code.co_consts and isinstance(code.co_consts[0], str) else None,
        instructions=tuple(
            [
                Instruction(op, arg, None if target is None else index_of[target], position)
                for op, arg, target, position in reader.out
            ]
        ),
        regions=tuple(_regions(reader)),
    )
    return _with_plain_loads(made) if tables.DIALECT.closure_is_local else made


def _with_plain_loads(made: Decoded) -> Decoded:
    """Make LOAD_FASTs again of what was taken for loads of cells: a comprehension's own variables."""
    cells = {*made.cellvars, *made.freevars}
    if not any(one.op == "LOAD_FAST_AND_CLEAR" and one.arg in cells for one in made.instructions):
        return made
    plain = loads_of_plain_values(made)
    return replace(
        made,
        instructions=tuple(
            [
                replace(one, op="LOAD_FAST") if index in plain else one
                for index, one in enumerate(made.instructions)
            ]
        ),
    )


def _read(reader: _Reader) -> None:
    raw = reader.code.co_code
    numbers, opargs = raw[::2], raw[1::2]
    out, index_of = reader.out, reader.index_of
    spans = list(reader.code.co_positions())
    known: dict[_Span, Position | None] = {(None, None, None, None): None}
    unit, prefix, count = 0, 0, len(numbers)
    start = 0
    while unit < count:
        index_of.append(len(out))
        number = numbers[unit]
        oparg = prefix | opargs[unit]
        if number == _EXTENDED_ARG:
            prefix = oparg << 8
            unit += 1
            continue
        prefix = 0
        span = spans[unit]
        if span not in known:
            known[span] = Position(*span)
        reader.position = known[span]
        reader.unit = start
        caches = _CACHES[number]
        unit += 1 + caches
        start = reader.after = unit
        _BY_NUMBER[number](reader, oparg)
        reader.previous = _UNIT_NAMES[number]
        if caches:
            index_of += [len(out)] * caches
    index_of.append(len(out))


def _varints(table: bytes) -> Iterator[int]:
    """Yield the numbers of an exception table: 6 bits a byte, bit 6 for another byte to come."""
    value = 0
    for byte in table:
        value = value << 6 | byte & 63
        if not byte & 64:
            yield value
            value = 0


def _regions(reader: _Reader) -> Iterator[Region]:
    index_of, edges = reader.index_of, reader.edges
    numbers = _varints(reader.code.co_exceptiontable)
    for first, length, handler, depth in zip(numbers, numbers, numbers, numbers, strict=True):
        start = edges.get(first, index_of[first])
        end = edges.get(first + length, index_of[first + length])
        if start < end:
            yield Region(start, end, index_of[handler], depth >> 1, bool(depth & 1))


def _with(op: str, operand: Callable[[_Reader, int], object]) -> _Rule:
    """Return the rule that emits an op with the operand in its own terms."""
    return lambda reader, oparg: reader.emit(op, operand(reader, oparg))


def _slot(reader: _Reader, oparg: int) -> str:
    return reader.slots[oparg]


def _forward(op: str) -> _Rule:
    return lambda reader, oparg: reader.emit(op, None, reader.after + oparg)


def _backward(op: str) -> _Rule:
    return lambda reader, oparg: reader.emit(op, None, reader.after - oparg)


_OPERANDS: Final[dict[str, Callable[[_Reader, int], object]]] = {
    **dict.fromkeys(tables.FLAGGED, lambda _, oparg: bool(oparg & 1)),
    # 3.14 knows the distance to the SEND, for who watches.
    "END_ASYNC_FOR": lambda _, oparg: None,
    "LOAD_SPECIAL": lambda _, oparg: tables.SPECIAL_METHODS[oparg],
    # 3.12 counts the enclosing handlers; 1 is the generator's own.
    "YIELD_VALUE": lambda _, oparg: (1, tables.DIALECT.yield_depth and oparg == 1),
    # Bit 0: a method load; bit 1: super had its arguments written out.
    "LOAD_SUPER_ATTR": lambda reader, oparg: (reader.names[oparg >> 2], bool(oparg & 1), bool(oparg & 2)),
    # Low byte: before the star; the rest: after it.
    "UNPACK_EX": lambda _, oparg: (oparg & 255, oparg >> 8),
    # 3.11 and 3.12: conversion in two bits, then whether there is a spec.
    "FORMAT_VALUE": lambda _, oparg: (oparg & 3, bool(oparg & 4)),
}
"""The operands of ops that keep their name, where they are more than `opcode` tells."""

for _op, _operand in _OPERANDS.items():
    _rules.on(_op)(_with(_op, _operand))

for _condition in tables.CONDITIONS:
    _rules.on(f"POP_JUMP_FORWARD_IF_{_condition}")(_forward(f"POP_JUMP_IF_{_condition}"))
    _rules.on(f"POP_JUMP_BACKWARD_IF_{_condition}")(_backward(f"POP_JUMP_IF_{_condition}"))


_rules.on("LOAD_SMALL_INT")(_with("LOAD_CONST", lambda _, oparg: oparg))


@_rules.on("PRECALL", "END_FOR", "CACHE", "NOT_TAKEN")
def _drop(reader: _Reader, oparg: int) -> None:
    """PRECALL belongs to CALL, END_FOR to FOR_ITER; NOT_TAKEN is for who watches branches."""


@_rules.on("POP_TOP", "POP_ITER")
def _pop_top(reader: _Reader, oparg: int) -> None:
    """3.13 drops the exhausted iterator by a second op behind END_FOR; FOR_ITER skips both."""
    if reader.previous != "END_FOR" or len(tables.DIALECT.cleanups["FOR_ITER"]) == 1:
        reader.emit("POP_TOP")


@_rules.on("BINARY_OP")
def _binary_op(reader: _Reader, oparg: int) -> None:
    """The operator as it is written: '+', '+='; from 3.14 a subscript is one."""
    symbol = tables.BINARY_SYMBOLS[oparg]
    reader.emit("BINARY_SUBSCR") if symbol == tables.SUBSCRIPT else reader.emit("BINARY_OP", symbol)


@_rules.on("LOAD_COMMON_CONSTANT")
def _load_common_constant(reader: _Reader, oparg: int) -> None:
    """3.14+: an object that every interpreter has."""
    constant = tables.COMMON_CONSTANTS[oparg]
    if constant is AssertionError:
        reader.emit("LOAD_ASSERTION_ERROR")
    else:
        reader.emit("LOAD_CONST", constant)


@_rules.on("RESUME")
def _resume(reader: _Reader, oparg: int) -> None:
    """RESUME n tells of the YIELD_VALUE before it what kind it is: 1 yield, 2 yield from, 3 await."""
    if oparg & 3:
        op, arg, target, position = reader.out[-1]
        _, is_outermost = cast("tuple[int, bool]", arg)
        reader.out[-1] = (op, (oparg & 3, is_outermost or bool(oparg & 4)), target, position)


@_rules.on("PUSH_NULL")
def _push_null(reader: _Reader, oparg: int) -> None:
    """PUSH_NULL above the callable goes below it."""
    reader.emit("PUSH_NULL")
    if tables.DIALECT.null_follows_callable:
        reader.emit("SWAP", 2)


@_rules.on("LOAD_GLOBAL")
def _load_global(reader: _Reader, oparg: int) -> None:
    """The lowest bit asks for a NULL with the value."""
    if oparg & 1:
        reader.emit("PUSH_NULL")
    reader.emit("LOAD_GLOBAL", reader.names[oparg >> 1])


@_rules.on("LOAD_ATTR")
def _load_attr(reader: _Reader, oparg: int) -> None:
    """3.12+: the lowest bit makes it a method load."""
    if tables.DIALECT.method_bit:
        reader.emit("LOAD_METHOD" if oparg & 1 else "LOAD_ATTR", reader.names[oparg >> 1])
    else:
        reader.emit("LOAD_ATTR", reader.names[oparg])


@_rules.on("LOAD_FAST", "LOAD_FAST_BORROW")
def _load_fast(reader: _Reader, oparg: int) -> None:
    """3.13 pushes cells by LOAD_FAST, too."""
    name = reader.slots[oparg]
    nlocals = len(reader.code.co_varnames)
    is_cell = tables.DIALECT.closure_is_local and (oparg >= nlocals or name in reader.code.co_cellvars)
    reader.emit("LOAD_CLOSURE" if is_cell else "LOAD_FAST", name)


_rules.on("LOAD_FAST_CHECK")(_with("LOAD_FAST", _slot))


_PAIRED: Final[dict[str, _Rule]] = {"LOAD_FAST": _load_fast, "STORE_FAST": _with("STORE_FAST", _slot)}


def _paired(first: str, second: str, reader: _Reader, oparg: int) -> None:
    """Joined loads and stores of 3.13+: four bits for each slot."""
    _PAIRED[first](reader, oparg >> 4)
    _PAIRED[second](reader, oparg & 15)


for _first, _second in (("LOAD", "LOAD"), ("STORE", "LOAD"), ("STORE", "STORE")):
    _pair = f"{_first}_FAST", f"{_second}_FAST"
    _rules.on("_".join(_pair))(partial(_paired, *_pair))
_rules.on("LOAD_FAST_BORROW_LOAD_FAST_BORROW")(partial(_paired, "LOAD_FAST", "LOAD_FAST"))


@_rules.on("LOAD_CLASSDEREF")
def _load_classderef(reader: _Reader, oparg: int) -> None:
    """3.11 looks into the class namespace, then the cell, in one op."""
    reader.emit("LOAD_LOCALS")
    reader.emit("LOAD_FROM_DICT_OR_DEREF", reader.slots[oparg])


@_rules.on("RETURN_CONST")
def _return_const(reader: _Reader, oparg: int) -> None:
    """LOAD_CONST, RETURN_VALUE."""
    reader.emit("LOAD_CONST", reader.code.co_consts[oparg])
    reader.emit("RETURN_VALUE")


def _without_result(op: str, reader: _Reader, oparg: int) -> None:
    """What pushes no result on 3.11."""
    reader.emit(op)
    reader.emit("POP_TOP")


_rules.on("IMPORT_STAR")(partial(_without_result, "IMPORT_STAR"))
_rules.on("PRINT_EXPR")(partial(_without_result, "PRINT"))


def _intrinsic(op: str, names: tuple[str, ...], reader: _Reader, oparg: int) -> None:
    """An intrinsic goes by its own name where it has a normal op."""
    name = names[oparg]
    reader.emit(name) if name in tables.NAMED_INTRINSICS else reader.emit(op, name)


_rules.on("CALL_INTRINSIC_1")(partial(_intrinsic, "INTRINSIC_1", tables.INTRINSICS_1))
_rules.on("CALL_INTRINSIC_2")(partial(_intrinsic, "INTRINSIC_2", tables.INTRINSICS_2))


@_rules.on("COMPARE_OP")
def _compare_op(reader: _Reader, oparg: int) -> None:
    """3.13 may test the result's truth in one go."""
    reader.emit("COMPARE_OP", tables.COMPARISONS[oparg >> tables.DIALECT.compare_shift])
    if tables.DIALECT.exact_bools and oparg & 16:
        reader.emit("TO_BOOL")


def _test(reader: _Reader) -> None:
    """Drop a truth test that the op at hand makes itself; the region of the test is then its own."""
    if (
        tables.DIALECT.exact_bools
        and reader.previous in {"TO_BOOL", "COMPARE_OP"}
        and reader.out[-1][0] == "TO_BOOL"
    ):
        _, _, _, position = reader.take()
        # Where the test of truth raises is where the joined op raises.
        reader.position = position if reader.previous == "TO_BOOL" else reader.position
        reader.edges[reader.unit] = len(reader.out) + 1


def _tested(op: str, reader: _Reader, oparg: int) -> None:
    """A jump on truth, which 3.12+ has forward only."""
    _test(reader)
    reader.emit(op, None, reader.after + oparg)


for _op in ("POP_JUMP_IF_TRUE", "POP_JUMP_IF_FALSE"):
    _rules.on(_op)(partial(_tested, _op))


@_rules.on("UNARY_NOT")
def _unary_not(reader: _Reader, oparg: int) -> None:
    """3.13: of an exact bool."""
    _test(reader)
    reader.emit("UNARY_NOT")


@_rules.on("JUMP_FORWARD")
def _jump_forward(reader: _Reader, oparg: int) -> None:
    """JUMP False."""
    reader.emit("JUMP", False, reader.after + oparg)


@_rules.on("JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT")
def _jump_backward(reader: _Reader, oparg: int) -> None:
    """JUMP True; which jumps poll for signals follows from where they stand."""
    reader.emit("JUMP", True, reader.after - oparg)


@_rules.on("SEND")
def _send(reader: _Reader, oparg: int) -> None:
    """3.12+ leaves the receiver to the END_SEND at the target; the normal SEND drops it."""
    reader.emit("SEND", None, reader.after + oparg + ("SEND" in tables.DIALECT.cleanups))


@_rules.on("KW_NAMES")
def _kw_names(reader: _Reader, oparg: int) -> None:
    """3.11 and 3.12: the names are for the CALL that follows."""
    reader.keywords = reader.code.co_consts[oparg]


@_rules.on("CALL")
def _call(reader: _Reader, oparg: int) -> None:
    """The operand counts keyword arguments, too."""
    reader.emit("CALL", (oparg - len(reader.keywords), reader.keywords))
    reader.keywords = ()


@_rules.on("CALL_KW")
def _call_kw(reader: _Reader, oparg: int) -> None:
    """3.13 pushes the names as a constant."""
    op, names, _, _ = reader.take()
    assert op == "LOAD_CONST", f"CALL_KW after {op}: its names are not a constant"
    keywords = cast("tuple[str, ...]", names)
    reader.emit("CALL", (oparg - len(keywords), keywords))


@_rules.on("CALL_FUNCTION_EX")
def _call_function_ex(reader: _Reader, oparg: int) -> None:
    """Whether it has keyword arguments: bit 0, on 3.14+ whether there is no NULL for them."""
    has_keywords = bool(oparg & 1)
    if tables.DIALECT.null_for_keywords:
        has_keywords = reader.previous != "PUSH_NULL"
    if tables.DIALECT.null_for_keywords and not has_keywords:
        reader.take()  # decoding made two of it
        reader.take()
    reader.emit("CALL_FUNCTION_EX", has_keywords)


@_rules.on("MAKE_FUNCTION")
def _make_function(reader: _Reader, oparg: int) -> None:
    """3.13 has no operand and adds the parts one by one."""
    flags = 0 if tables.DIALECT.split_make_function else oparg
    parts = frozenset(part for bit, part in tables.FUNCTION_PARTS.items() if flags & bit)
    reader.emit("MAKE_FUNCTION", parts)


@_rules.on("SET_FUNCTION_ATTRIBUTE")
def _set_function_attribute(reader: _Reader, oparg: int) -> None:
    """3.13: parts right after MAKE_FUNCTION, in the order of the stack, join it."""
    op, arg, _, _ = reader.out[-1]
    part = tables.FUNCTION_PARTS[oparg]
    parts = cast("frozenset[str]", arg) if op == "MAKE_FUNCTION" else None
    earlier = {name for bit, name in tables.FUNCTION_PARTS.items() if bit <= oparg}
    if parts is None or parts & earlier:
        reader.emit("SET_FUNCTION_ATTRIBUTE", part)
        return
    reader.take()
    reader.emit("MAKE_FUNCTION", parts | {part})


@_rules.on("FORMAT_SIMPLE")
def _format_simple(reader: _Reader, oparg: int) -> None:
    """3.13: joined with a conversion before it."""
    conversion = reader.take()[1] if reader.previous == "CONVERT_VALUE" else 0
    reader.emit("FORMAT_VALUE", (conversion, False))


@_rules.on("FORMAT_WITH_SPEC")
def _format_with_spec(reader: _Reader, oparg: int) -> None:
    """3.13: a conversion stands before the spec, as an op of its own."""
    reader.emit("FORMAT_VALUE", (0, True))


def _default(name: str, number: int) -> _Rule:
    """Return the rule for an op that keeps its name and has the operand that `opcode` tells."""
    if number in opcode.hasjrel:
        return _forward(name)
    if number in opcode.hasconst:
        return _with(name, lambda reader, oparg: reader.code.co_consts[oparg])
    if number in opcode.hasname:
        return _with(name, lambda reader, oparg: reader.names[oparg])
    if number in opcode.haslocal or number in opcode.hasfree:
        return _with(name, _slot)
    takes_operand = has_operand(number)
    return _with(name, lambda _, oparg: oparg if takes_operand else None)


def has_operand(number: int) -> bool:
    """Return whether an opcode has an operand."""
    operands = cast("list[int] | None", vars(opcode).get("hasarg"))
    return number >= opcode.HAVE_ARGUMENT if operands is None else number in operands


def _cache_units() -> tuple[int, ...]:
    table = cast("list[int] | dict[str, int]", vars(opcode)["_inline_cache_entries"])
    if isinstance(table, dict):
        return tuple(table.get(name, 0) for name in _UNIT_NAMES[:256])
    return tuple(table[:256])


_CACHES: Final = _cache_units()
_BY_NUMBER: Final = tuple(
    _rules.find(name) or _default(name, number) for number, name in enumerate(_UNIT_NAMES[:256])
)

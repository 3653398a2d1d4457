"""What the tests of this folder compare: code objects by way of `dis`, and code through decode and encode."""

import dis
import sys
from collections.abc import Iterator
from types import CodeType

from supple.capture.bytecode import decode, encode
from supple.capture.bytecode.analysis import reachable

DIRECTIONS = ("FORWARD_", "BACKWARD_")
# The normal form has no place for where a function is entered, nor for keyword names apart from their call.
UNPLACED = frozenset({"KW_NAMES", "RESUME"})
# 3.13 splits these in two; the position of the half that may raise is kept.
TESTS = frozenset({"POP_JUMP_IF_FALSE", "POP_JUMP_IF_TRUE", "UNARY_NOT"})
# A name can be that of a local, a cell and a free variable at once: the slot tells.
CELLS = frozenset({"DELETE_FAST", "LOAD_FAST", "LOAD_FAST_AND_CLEAR", "STORE_FAST"})
INVISIBLE = frozenset({"CACHE", "EXTENDED_ARG", "NOT_TAKEN"})
# 3.14 spells some ops in two ways.
SPELLINGS = {"LOAD_COMMON_CONSTANT": "LOAD_CONST", "LOAD_SMALL_INT": "LOAD_CONST", "POP_ITER": "POP_TOP"}


def nested(code: CodeType) -> Iterator[CodeType]:
    """Yield `code` and the code objects in its constants, at any depth."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from nested(constant)


def reassembled(code: CodeType) -> CodeType:
    """Return `code` after decode and encode, and so the code objects among its constants."""
    again = encode(decode(code))
    consts = tuple(reassembled(each) if isinstance(each, CodeType) else each for each in again.co_consts)
    return again.replace(co_consts=consts)


def key(value: object) -> object:
    """Return what tells constants apart: 1 from True and 1.0, 0.0 from -0.0, code objects by identity."""
    if isinstance(value, tuple | frozenset):
        return type(value), tuple(key(each) for each in value)
    return type(value), id(value) if isinstance(value, CodeType) else repr(value)


Line = tuple[str, object, object]


def parts(instruction: dis.Instruction, code: CodeType) -> Iterator[tuple[str, object]]:
    """Yield the plain ops, with operands, that an instruction stands for."""
    op, value = instruction.opname.replace("_BORROW", ""), instruction.argval
    op = SPELLINGS.get(op, op)
    if op == "RETURN_CONST":
        yield "LOAD_CONST", key(value)
        yield "RETURN_VALUE", None
    elif op == "LOAD_FAST_CHECK":
        yield "LOAD_FAST", (value, instruction.arg)
    elif op in {"LOAD_FAST_LOAD_FAST", "STORE_FAST_LOAD_FAST", "STORE_FAST_STORE_FAST"}:
        first, second = op[: op.index("FAST") + 4], op[op.index("FAST") + 5 :]
        arg = instruction.arg or 0
        yield first, (value[0], arg >> 4)
        yield second, (value[1], arg & 15)
    elif op == "LOAD_GLOBAL" and instruction.arg is not None and instruction.arg & 1:
        # 3.11 and 3.12 push the NULL first.
        ops = [("PUSH_NULL", None), ("LOAD_GLOBAL", value)]
        yield from reversed(ops) if sys.version_info >= (3, 13) else ops
    elif op == "LOAD_ATTR" and sys.version_info >= (3, 12) and instruction.arg is not None:
        yield op, (value, instruction.arg & 1)
    elif op == "LOAD_SUPER_ATTR" and instruction.arg is not None:
        yield op, (value, instruction.arg & 3)
    elif op in {"LOAD_CONST", "KW_NAMES"}:
        yield op, key(value)
    elif op == "END_ASYNC_FOR":
        yield op, None
    elif op == "MAKE_FUNCTION":
        yield op, instruction.arg
    elif op == "YIELD_VALUE" and instruction.arg is not None:
        yield op, instruction.arg == 1
    elif instruction.opcode in dis.hasfree or op in CELLS:
        yield op, (value, instruction.arg)
    else:
        yield op, value


def listing(code: CodeType) -> tuple[list[Line], list[tuple[int, int, int, int, bool]]]:
    """Return `code` as `dis` sees it: ops in plain words with operand and position; the exception table.

    Offsets become counts of the ops before them, so that they compare between code objects.
    """
    lines: list[Line] = []
    ordinal: dict[int, int] = {}
    jumps: list[int] = []
    begin: int | None = None
    for instruction in dis.get_instructions(code):
        begin = instruction.offset if begin is None else begin
        if instruction.opname in INVISIBLE:
            continue
        for offset in range(begin, instruction.offset + 2, 2):
            ordinal[offset] = len(lines)
        begin = None
        is_jump = instruction.opcode in dis.hasjrel and instruction.opname != "END_ASYNC_FOR"
        where = None if instruction.opname in UNPLACED else tuple(instruction.positions or ())
        if instruction.opname == "CALL_KW":
            lines[-1] = (*lines[-1][:2], None)
        if lines and lines[-1][0] == "TO_BOOL" and instruction.opname in TESTS:
            where = None
        for op, value in parts(instruction, code):
            if is_jump:
                jumps.append(len(lines))
            lines.append((op, value, where))
    for at in jumps:
        op, value, where = lines[at]
        # 3.13 also writes jumps back from cold code so; only those into a delegation have to be.
        if op == "JUMP_BACKWARD_NO_INTERRUPT" and lines[at - 1][0] not in {"RESUME", "CLEANUP_THROW"}:
            op = "JUMP_BACKWARD"
        lines[at] = op, ordinal[value], where
    silent = [is_silent(lines, at) for at in range(len(lines))]
    rows = [table_row(entry, ordinal, silent) for entry in exception_table(code)]
    return lines, [row for row in rows if row[0] < row[1]]


def is_silent(lines: list[Line], at: int) -> bool:
    """Return whether an op never raises and is no op, or part of one that does, in the normal form."""
    op, before = lines[at][0], lines[at - 1][0] if at else ""
    if sys.version_info >= (3, 13) and op in TESTS:
        return True
    return op in {"RESUME", "END_FOR"} or (op == "POP_TOP" and before == "END_FOR")


def exception_table(code: CodeType) -> list[object]:
    """Return the entries of the exception table, offsets in bytes and ends exclusive."""
    return list(vars(dis)["_parse_exception_table"](code))


def table_row(entry: object, ordinal: dict[int, int], silent: list[bool]) -> tuple[int, int, int, int, bool]:
    """Return an entry with counts of ops for offsets, cut to the ops that may raise."""
    start, end = ordinal[entry.start], ordinal.get(entry.end, len(silent))
    while start < end and silent[start]:
        start += 1
    while start < end and silent[end - 1]:
        end -= 1
    return start, end, ordinal[entry.target], entry.depth, entry.lasti


HEADER = (
    "co_name",
    "co_qualname",
    "co_filename",
    "co_firstlineno",
    "co_flags",
    "co_argcount",
    "co_posonlyargcount",
    "co_kwonlyargcount",
    "co_varnames",
    "co_cellvars",
    "co_freevars",
)


def check(code: CodeType) -> int:
    """Assert that `code` survives decode and encode; return how many normal instructions it has."""
    first = decode(code)
    again = encode(first)
    second = decode(again)
    assert [(each.op, each.target, each.position) for each in second.instructions] == [
        (each.op, each.target, each.position) for each in first.instructions
    ]
    assert [key(each.arg) for each in second.instructions] == [key(each.arg) for each in first.instructions]
    assert second.regions == first.regions
    assert second.docstring == first.docstring
    for name in HEADER:
        assert getattr(again, name) == getattr(code, name), name
    # CPython also makes room for handlers that nothing can reach.
    is_whole = len(reachable(first)) == len(first.instructions)
    assert again.co_stacksize >= code.co_stacksize or not is_whole
    assert listing(again) == listing(code)
    return len(first.instructions)

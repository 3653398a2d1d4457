"""Normal instructions to a code object of the running interpreter.

Most ops keep their name and only have their operand written. A rule stands for an op that is renamed, split,
or joined with the next one; each is the inverse of a rule in decode.py.
"""

import opcode
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Final, cast

from supple.base.rules import Rules
from supple.capture.bytecode.analysis import stack_depths
from supple.capture.bytecode.instruction import Decoded, Instruction, Position
from supple.capture.bytecode.layout import assembled
from supple.capture.bytecode.tables import (
    BINARY_SYMBOLS,
    BOOL_OPS,
    COMMON_CONSTANTS,
    COMPARISONS,
    DIALECT,
    ENDS,
    FLAGGED,
    FUNCTION_PARTS,
    INTRINSICS_1,
    INTRINSICS_2,
    NAMED_INTRINSICS,
    OPPOSITE,
    RUN_PYTHON,
    SMALL_INTS,
    SPECIAL_METHODS,
    SUBSCRIPT,
    effect,
)
from supple.capture.bytecode.verify import verified
from supple.capture.bytecode.writer import Pad, Writer

_TRUTH_TESTS: Final = frozenset({"POP_JUMP_IF_FALSE", "POP_JUMP_IF_TRUE", "UNARY_NOT"})
# Specialised ops may need a slot more than the plain ones, CALL_KW one for its names.
_SPARE_SLOTS: Final = 2


def encode(decoded: Decoded) -> CodeType:
    """Return the code object that `decoded` describes.

    Raises:
        ValueError: for an op or an arrangement that the running interpreter has no words for, and
            for an unbalanced stack.
        MalformedCode: what was made must not run.
    """
    depths = stack_depths(decoded)
    writer = Writer(decoded, depths)
    _write(writer)
    return verified(assembled(writer, _stack_size(decoded, depths)))


def _stack_size(decoded: Decoded, depths: list[int | None]) -> int:
    size = 0
    for instruction, depth in zip(decoded.instructions, depths, strict=True):
        if depth is not None:
            pops, pushes = effect(instruction.op, instruction.arg)
            size = max(size, depth, depth - pops + pushes)
    return size + _SPARE_SLOTS


def _entry(instructions: Sequence[Instruction]) -> int:
    """Return the index where the body begins: after the cells and the making of a generator."""
    index = 0
    while instructions[index].op in {"COPY_FREE_VARS", "MAKE_CELL"}:
        index += 1
    return index + 2 if instructions[index].op == "RETURN_GENERATOR" else index


def _write(writer: Writer) -> None:
    instructions = writer.instructions
    entry = _entry(instructions)
    _plan_pads(writer)
    while writer.index < len(instructions):
        index = writer.index
        instruction = instructions[index]
        if index == entry:
            writer.bound[index] = len(writer.items)
            line = writer.decoded.firstlineno
            writer.position = Position(line, line, 0, 0)
            writer.emit("RESUME", 0)
        writer.bound.setdefault(index, len(writer.items))  # clean-ups have the depth of what follows them
        _write_pads(writer, index)
        if DIALECT.calls_look_back and index in writer.edges and instruction.op in RUN_PYTHON:
            writer.emit("NOP")  # it has the handler of the call
        writer.place[index] = len(writer.items)
        for position in writer.nulls.get(index, ()):
            writer.position = position
            writer.emit("PUSH_NULL")
        writer.position = instruction.position
        rule = _rules.find(instruction.op)
        if rule is None:
            _write_plain(writer, instruction)
        else:
            rule(writer, instruction)
        writer.index += 1
    writer.bound.setdefault(len(instructions), len(writer.items))


def _plan_pads(writer: Writer) -> None:
    """Find where loops and delegations go through an op of clean-up that the normal form does not have."""
    for instruction in writer.instructions:
        op, target = instruction.op, instruction.target
        ops = DIALECT.cleanups.get(op, ())
        if target is None or not ops or _follows_end_send(writer, op, target):
            continue
        pads = writer.pads.setdefault(target, {})
        if op not in pads:
            pads[op] = Pad(writer.new_label(), ops, instruction.position)


def _follows_end_send(writer: Writer, op: str, target: int) -> bool:
    return op == "SEND" and writer.instructions[target - 1].op == "END_SEND"


def _write_pads(writer: Writer, index: int) -> None:
    """Write the clean-ups before `index`; control that falls into it goes around them."""
    through = bool(index) and writer.instructions[index - 1].op not in ENDS
    for pad in writer.pads.get(index, {}).values():
        if through:
            writer.emit("JUMP_FORWARD", target=index)
        through = True
        writer.place[pad.label] = len(writer.items)
        writer.position = pad.position
        for op in pad.ops:
            writer.emit(op)


def _write_plain(writer: Writer, instruction: Instruction) -> None:
    """Write an op that keeps its name."""
    name, arg = instruction.op, instruction.arg
    number = opcode.opmap.get(name, -1)
    if name in _OPERANDS:
        writer.emit(name, _OPERANDS[name](writer, arg))
    elif number in opcode.hasconst:
        writer.emit(name, writer.const(arg))
    elif number in opcode.hasname:
        writer.emit(name, writer.name(arg))
    elif number in opcode.haslocal:
        writer.emit(name, writer.slot(arg))
    elif number in opcode.hasfree:
        writer.emit(name, writer.cell(arg))
    elif instruction.target is not None:
        writer.emit(name, target=instruction.target)
    else:
        writer.emit(name, cast("int", arg) if arg is not None else 0)


_BITS: Final = {part: bit for bit, part in FUNCTION_PARTS.items()}
_OPERANDS: Final[dict[str, Callable[[Writer, object], int]]] = {
    **dict.fromkeys(FLAGGED, lambda _, arg: int(bool(arg))),
    # Without a NULL, without the method bit.
    "LOAD_GLOBAL": lambda writer, arg: writer.name(arg) << 1,
    "LOAD_ATTR": lambda writer, arg: writer.name(arg) << DIALECT.method_bit,
    "LOAD_SPECIAL": lambda _, arg: SPECIAL_METHODS.index(str(arg)),
    "MAKE_CELL": lambda writer, arg: writer.cell(arg),
    "BINARY_OP": lambda _, arg: BINARY_SYMBOLS.index(str(arg)),
    "SET_FUNCTION_ATTRIBUTE": lambda _, arg: _BITS[str(arg)],
}
"""The operands of ops that keep their name, where `opcode` does not tell them."""

_Rule = Callable[[Writer, Instruction], None]
_rules: Final[Rules[_Rule]] = Rules("encode")


@_rules.on("PUSH_NULL")
def _push_null(writer: Writer, instruction: Instruction) -> None:
    """Together with LOAD_GLOBAL where they fit; on 3.13, after the callable is complete."""
    if not DIALECT.null_follows_callable:
        if writer.joins("LOAD_GLOBAL"):
            writer.emit("LOAD_GLOBAL", writer.name(writer.instructions[writer.index].arg) << 1 | 1)
        else:
            writer.emit("PUSH_NULL")
        return
    if writer.joins("SWAP", 2, anywhere=True):
        writer.emit("PUSH_NULL")
        return
    at = _callable_end(writer, writer.index)
    if at == writer.index + 2 and writer.joins("LOAD_GLOBAL", anywhere=True):
        following = writer.instructions[writer.index]
        writer.position = following.position
        writer.emit("LOAD_GLOBAL", writer.name(following.arg) << 1 | 1)
    else:
        writer.nulls.setdefault(at, []).append(instruction.position)


def _callable_end(writer: Writer, null: int) -> int:
    """Return the index before which the callable above the NULL of instruction `null` is complete.

    That is after the last instruction, before the call, that writes the slot of the callable.
    """
    base, end = writer.depths[null], null + 1
    if base is None:
        # No control comes here; one instruction is taken to load the callable.
        return null + 2
    reached: set[int | None] = {null + 1}
    for index, instruction in enumerate(writer.instructions):
        depth = writer.depths[index]
        if depth is None or index not in reached:
            continue
        reached |= {instruction.target, None if instruction.op in ENDS else index + 1}
        pops, _ = effect(instruction.op, instruction.arg)
        if depth - pops <= base:
            break
        if depth - pops == base + 1:
            end = index + 1
    for region in writer.decoded.regions:
        if null < region.start < end or null < region.end < end or null < region.handler < end:
            msg = f"{writer.decoded.qualname}: a handler between PUSH_NULL at {null} and its callable"
            raise ValueError(msg)
    return end


@_rules.on("LOAD_CONST")
def _load_const(writer: Writer, instruction: Instruction) -> None:
    """3.14+: small numbers, and what every interpreter has, need no entry among the constants."""
    value = instruction.arg
    common = [index for index, each in enumerate(COMMON_CONSTANTS) if each is value]
    if type(value) is int and 0 <= value < SMALL_INTS:
        writer.emit("LOAD_SMALL_INT", value)
    elif common:
        writer.emit("LOAD_COMMON_CONSTANT", common[0])
    else:
        writer.emit("LOAD_CONST", writer.const(value))


@_rules.on("LOAD_ASSERTION_ERROR")
def _load_assertion_error(writer: Writer, instruction: Instruction) -> None:
    """3.14+: one of the common constants."""
    if AssertionError in COMMON_CONSTANTS:
        writer.emit("LOAD_COMMON_CONSTANT", COMMON_CONSTANTS.index(AssertionError))
    else:
        writer.emit("LOAD_ASSERTION_ERROR")


@_rules.on("BINARY_SUBSCR")
def _binary_subscr(writer: Writer, instruction: Instruction) -> None:
    """3.14+: an operator of BINARY_OP."""
    if SUBSCRIPT in BINARY_SYMBOLS:
        writer.emit("BINARY_OP", BINARY_SYMBOLS.index(SUBSCRIPT))
    else:
        writer.emit("BINARY_SUBSCR")


@_rules.on("CALL_FUNCTION_EX")
def _call_function_ex(writer: Writer, instruction: Instruction) -> None:
    """Bit 0 for keyword arguments; 3.14+: a NULL where there are none."""
    if DIALECT.null_for_keywords and not instruction.arg:
        writer.emit("PUSH_NULL")
    writer.emit("CALL_FUNCTION_EX", 0 if DIALECT.null_for_keywords else int(bool(instruction.arg)))


@_rules.on("END_ASYNC_FOR")
def _end_async_for(writer: Writer, instruction: Instruction) -> None:
    """3.14+ has the distance to the SEND in its operand, which only who watches branches asks for."""
    writer.emit("END_ASYNC_FOR")


@_rules.on("LOAD_METHOD")
def _load_method(writer: Writer, instruction: Instruction) -> None:
    """3.12+: LOAD_ATTR with the method bit."""
    if DIALECT.method_bit:
        writer.emit("LOAD_ATTR", writer.name(instruction.arg) << 1 | 1)
    else:
        writer.emit("LOAD_METHOD", writer.name(instruction.arg))


@_rules.on("LOAD_SUPER_ATTR")
def _load_super_attr(writer: Writer, instruction: Instruction) -> None:
    """3.12+ only."""
    name, is_method, is_two_arg = cast("tuple[str, bool, bool]", instruction.arg)
    writer.emit("LOAD_SUPER_ATTR", writer.name(name) << 2 | is_two_arg << 1 | is_method)


@_rules.on("LOAD_FAST")
def _load_fast(writer: Writer, instruction: Instruction) -> None:
    """3.12+ checks only where it is told to."""
    checked = writer.index in writer.unbound
    writer.emit("LOAD_FAST_CHECK" if checked else "LOAD_FAST", writer.slot(instruction.arg))


@_rules.on("LOAD_CLOSURE")
def _load_closure(writer: Writer, instruction: Instruction) -> None:
    """3.13: LOAD_FAST of the cell's slot."""
    writer.emit("LOAD_FAST" if DIALECT.closure_is_local else "LOAD_CLOSURE", writer.cell(instruction.arg))


@_rules.on("LOAD_LOCALS")
def _load_locals(writer: Writer, instruction: Instruction) -> None:
    """3.11 has it only together with LOAD_FROM_DICT_OR_DEREF."""
    if "LOAD_CLASSDEREF" in opcode.opmap and writer.joins("LOAD_FROM_DICT_OR_DEREF", anywhere=True):
        writer.emit("LOAD_CLASSDEREF", writer.cell(writer.instructions[writer.index].arg))
    else:
        writer.emit("LOAD_LOCALS")


@_rules.on(*NAMED_INTRINSICS)
def _named_intrinsic(writer: Writer, instruction: Instruction) -> None:
    """3.12+: an intrinsic; 3.11: an op of its own, where IMPORT_STAR and PRINT_EXPR push nothing."""
    name = instruction.op
    if name in INTRINSICS_1:
        writer.emit("CALL_INTRINSIC_1", INTRINSICS_1.index(name))
    elif name in INTRINSICS_2:
        writer.emit("CALL_INTRINSIC_2", INTRINSICS_2.index(name))
    elif name in {"IMPORT_STAR", "PRINT"}:
        writer.emit({"PRINT": "PRINT_EXPR"}.get(name, name))
        if not writer.joins("POP_TOP", anywhere=True):
            writer.emit("LOAD_CONST", writer.const(None))
    else:
        writer.emit(name)


@_rules.on("INTRINSIC_1", "INTRINSIC_2")
def _intrinsic(writer: Writer, instruction: Instruction) -> None:
    """By name."""
    names = INTRINSICS_1 if instruction.op == "INTRINSIC_1" else INTRINSICS_2
    writer.emit(f"CALL_{instruction.op}", names.index(str(instruction.arg)))


@_rules.on("COMPARE_OP")
def _compare_op(writer: Writer, instruction: Instruction) -> None:
    """3.13 tests the truth in one go where a branch follows."""
    symbol = COMPARISONS.index(str(instruction.arg))
    operand = symbol << DIALECT.compare_shift | DIALECT.compare_masks[symbol]
    at = writer.index + 1
    if DIALECT.exact_bools and at not in writer.targets:
        tested = writer.joins("TO_BOOL") or writer.instructions[at].op in _TRUTH_TESTS
        operand |= tested << 4
    writer.emit("COMPARE_OP", operand)


def _test(writer: Writer) -> None:
    """3.13: make an exact bool of what a branch is to test, unless it is one."""
    at = writer.index
    if not DIALECT.exact_bools:
        return
    if at in writer.targets or not at or writer.instructions[at - 1].op not in BOOL_OPS:
        writer.emit("TO_BOOL")


@_rules.on("UNARY_NOT")
def _unary_not(writer: Writer, instruction: Instruction) -> None:
    """3.13: of an exact bool."""
    _test(writer)
    writer.emit("UNARY_NOT")


@_rules.on("TO_BOOL")
def _to_bool(writer: Writer, instruction: Instruction) -> None:
    """Before 3.13: not not."""
    if DIALECT.exact_bools:
        writer.emit("TO_BOOL")
    else:
        writer.emit("UNARY_NOT")
        writer.emit("UNARY_NOT")


@_rules.on(*OPPOSITE)
def _pop_jump(writer: Writer, instruction: Instruction) -> None:
    """3.12+ has no conditional jump backward: the opposite one skips a JUMP."""
    op, target = instruction.op, cast("int", instruction.target)
    backward = target <= writer.index
    if op in _TRUTH_TESTS:
        _test(writer)
    if DIALECT.precall:
        direction = "BACKWARD" if backward else "FORWARD"
        writer.emit(op.replace("POP_JUMP_", f"POP_JUMP_{direction}_"), target=target)
    elif backward:
        around = writer.new_label()
        writer.emit(OPPOSITE[op], target=around)
        writer.emit("JUMP_BACKWARD", target=target)
        writer.place[around] = len(writer.items)
    else:
        writer.emit(op, target=target)


@_rules.on("JUMP_IF_FALSE_OR_POP", "JUMP_IF_TRUE_OR_POP")
def _jump_or_pop(writer: Writer, instruction: Instruction) -> None:
    """3.12+: COPY 1, the popping jump, POP_TOP."""
    op, target = instruction.op, cast("int", instruction.target)
    if DIALECT.precall:
        writer.emit(op, target=target)
        return
    writer.emit("COPY", 1)
    if DIALECT.exact_bools:
        writer.emit("TO_BOOL")
    writer.emit(f"POP_{op.removesuffix('_OR_POP')}", target=target)
    writer.emit("POP_TOP")


@_rules.on("JUMP")
def _jump(writer: Writer, instruction: Instruction) -> None:
    """A jump back into a delegation must not poll for signals, lest one be raised in the wrong frame."""
    target = cast("int", instruction.target)
    if target > writer.index:
        writer.emit("JUMP_FORWARD", target=target)
        return
    before = writer.instructions[writer.index - 1] if writer.index else instruction
    delegates = before.op == "YIELD_VALUE" and cast("tuple[int, bool]", before.arg)[0] > 1
    quiet = delegates or (DIALECT.yield_kind and before.op == "CLEANUP_THROW")
    writer.emit("JUMP_BACKWARD_NO_INTERRUPT" if quiet else "JUMP_BACKWARD", target=target)


@_rules.on("FOR_ITER", "SEND")
def _for_iter(writer: Writer, instruction: Instruction) -> None:
    """3.12+: to the clean-up on the way to its target."""
    op, target = instruction.op, cast("int", instruction.target)
    pad = writer.pads.get(target, {}).get(op)
    if pad is not None:
        writer.emit(op, target=pad.label)
    else:
        writer.emit(op, target=target - (op in DIALECT.cleanups and _follows_end_send(writer, op, target)))


@_rules.on("END_SEND")
def _end_send(writer: Writer, instruction: Instruction) -> None:
    """3.11: SWAP 2, POP_TOP."""
    if "SEND" in DIALECT.cleanups:
        writer.emit("END_SEND")
    else:
        writer.emit("SWAP", 2)
        writer.emit("POP_TOP")


@_rules.on("CALL")
def _call(writer: Writer, instruction: Instruction) -> None:
    """The names of the keyword arguments: KW_NAMES before, on 3.13 a constant on the stack."""
    positional, keywords = cast("tuple[int, tuple[str, ...]]", instruction.arg)
    total = positional + len(keywords)
    if DIALECT.keyword_call and keywords:
        writer.emit("LOAD_CONST", writer.const(keywords))
        writer.emit("CALL_KW", total)
        return
    if keywords:
        writer.emit("KW_NAMES", writer.const(keywords))
    if DIALECT.precall:
        writer.emit("PRECALL", total)
    writer.emit("CALL", total)


@_rules.on("MAKE_FUNCTION")
def _make_function(writer: Writer, instruction: Instruction) -> None:
    """3.13 adds the parts one by one, topmost first."""
    parts = cast("frozenset[str]", instruction.arg)
    bits = [bit for bit, part in FUNCTION_PARTS.items() if part in parts]
    writer.emit("MAKE_FUNCTION", 0 if DIALECT.split_make_function else sum(bits))
    if DIALECT.split_make_function:
        for bit in reversed(bits):
            writer.emit("SET_FUNCTION_ATTRIBUTE", bit)


@_rules.on("UNPACK_EX")
def _unpack_ex(writer: Writer, instruction: Instruction) -> None:
    """Low byte: before the star; the rest: after it."""
    before, after = cast("tuple[int, int]", instruction.arg)
    writer.emit("UNPACK_EX", before | after << 8)


@_rules.on("FORMAT_VALUE")
def _format_value(writer: Writer, instruction: Instruction) -> None:
    """3.13 converts the value, which may lie below the spec, in an op of its own."""
    conversion, has_spec = cast("tuple[int, bool]", instruction.arg)
    if "FORMAT_VALUE" in opcode.opmap:
        writer.emit("FORMAT_VALUE", conversion | has_spec << 2)
        return
    if conversion and has_spec:
        writer.emit("SWAP", 2)
    if conversion:
        writer.emit("CONVERT_VALUE", conversion)
    if conversion and has_spec:
        writer.emit("SWAP", 2)
    writer.emit("FORMAT_WITH_SPEC" if has_spec else "FORMAT_SIMPLE")


@_rules.on("CONVERT_VALUE")
def _convert_value(writer: Writer, instruction: Instruction) -> None:
    """Before 3.13: a FORMAT_VALUE without a spec leaves the converted string as it is."""
    conversion = cast("int", instruction.arg)
    writer.emit("FORMAT_VALUE" if "FORMAT_VALUE" in opcode.opmap else "CONVERT_VALUE", conversion)


@_rules.on("YIELD_VALUE")
def _yield_value(writer: Writer, instruction: Instruction) -> None:
    """With the RESUME after it, which belongs to the region of the next instruction."""
    kind, is_outermost = cast("tuple[int, bool]", instruction.arg)
    operand = (1 if is_outermost else 2) if DIALECT.yield_depth else int(DIALECT.yield_kind and kind > 1)
    writer.emit("YIELD_VALUE", operand)
    writer.bound[writer.index + 1] = len(writer.items)
    writer.emit("RESUME", kind | (is_outermost and DIALECT.yield_kind) << 2)


@_rules.on("BINARY_SLICE", "STORE_SLICE")
def _slice(writer: Writer, instruction: Instruction) -> None:
    """3.11: by a slice object."""
    if instruction.op in opcode.opmap:
        writer.emit(instruction.op)
    else:
        writer.emit("BUILD_SLICE", 2)
        writer.emit(instruction.op.replace("SLICE", "SUBSCR"))

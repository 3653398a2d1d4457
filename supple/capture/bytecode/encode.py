"""Normal instructions to a code object of the running interpreter, assembled by the `bytecode` package.

Most ops keep their name and only have their operand written. A rule stands for an op that is renamed, split,
or joined with the next one; each is the inverse of a rule in decode.py.
"""

import opcode
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import CodeType, EllipsisType
from typing import Final, cast

from bytecode import CompilerFlags, ConcreteBytecode, ConcreteInstr
from bytecode.concrete import ExceptionTableEntry
from bytecode.instr import InstrLocation

from supple.base.rules import Rules
from supple.capture.bytecode.analysis import stack_depths, unbound_loads
from supple.capture.bytecode.decode import has_operand
from supple.capture.bytecode.instruction import Decoded, Header, Instruction, Position, Region
from supple.capture.bytecode.tables import (
    BINARY_SYMBOLS,
    BOOL_OPS,
    COMPARISONS,
    DIALECT,
    ENDS,
    FLAGGED,
    FUNCTION_PARTS,
    INTRINSICS_1,
    INTRINSICS_2,
    NAMED_INTRINSICS,
    OPPOSITE,
    effect,
)

_TRUTH_TESTS: Final = frozenset({"POP_JUMP_IF_FALSE", "POP_JUMP_IF_TRUE", "UNARY_NOT"})
_ATOMS: Final = (bool, bytes, int, str, EllipsisType, type(None))
# Specialised ops may need a slot more than the plain ones, CALL_KW one for its names.
_SPARE_SLOTS: Final = 2


class Label:
    """A place between instructions, as an object; it stands in the list given to `assemble`."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Jump:
    """A jump whose target is a label."""

    op: str
    label: Label
    position: Position | None = None


@dataclass(frozen=True, slots=True)
class Protected:
    """A `Region` between labels."""

    start: Label
    end: Label
    handler: Label
    depth: int
    lasti: bool = False


def assemble(
    items: Sequence[Instruction | Jump | Label], *, like: Header, protected: Sequence[Protected] = ()
) -> CodeType:
    """Return a code object of `items` for the running interpreter.

    Args:
        items: normal instructions, with `Jump`s and `Label`s for targets.
        like: names, parameters and flags; every local, cell and free variable that `items` use is in it.
        protected: where they overlap, the first one counts, so inner regions come first.

    Raises:
        ValueError: for an op or an arrangement that the running interpreter has no words for, and
            for an unbalanced stack.
    """
    index_of: dict[Label, int] = {}
    count = 0
    for item in items:
        if isinstance(item, Label):
            index_of[item] = count
        else:
            count += 1
    instructions = tuple(
        Instruction(item.op, item.op == "JUMP" and index_of[item.label] <= at or None, index_of[item.label])
        if isinstance(item, Jump)
        else item
        for at, item in enumerate(each for each in items if not isinstance(each, Label))
    )
    fields = {name: getattr(like, name) for name in Header.__dataclass_fields__}
    return encode(
        Decoded(**fields, instructions=instructions, regions=tuple(_flattened(protected, index_of, count)))
    )


def _flattened(protected: Sequence[Protected], index_of: dict[Label, int], count: int) -> Iterator[Region]:
    """Yield disjoint regions in order; an earlier one of `protected` hides a later one."""
    owner: list[Protected | None] = [None] * count
    for each in reversed(protected):
        start, end = index_of[each.start], index_of[each.end]
        owner[start:end] = [each] * (end - start)
    start = 0
    for index in range(1, count + 1):
        if index < count and owner[index] is owner[start]:
            continue
        each = owner[start]
        if each is not None:
            yield Region(start, index, index_of[each.handler], each.depth, each.lasti)
        start = index


def encode(decoded: Decoded) -> CodeType:
    """Return the code object that `decoded` describes.

    Raises:
        ValueError: for an op or an arrangement that the running interpreter has no words for, and
            for an unbalanced stack.
    """
    depths = stack_depths(decoded)
    writer = _Writer(decoded, depths)
    _write(writer)
    return _assembled(writer, _stack_size(decoded, depths))


def _stack_size(decoded: Decoded, depths: list[int | None]) -> int:
    size = 0
    for instruction, depth in zip(decoded.instructions, depths, strict=True):
        if depth is not None:
            pops, pushes = effect(instruction.op, instruction.arg)
            size = max(size, depth, depth - pops + pushes)
    return size + _SPARE_SLOTS


@dataclass(slots=True)
class _Item:
    """One physical instruction; `target` is a label number of the writer, whose offset becomes the operand."""

    name: str
    operand: int
    target: int | None
    position: Position | None


class _Writer:
    """The physical instructions of one code object under construction.

    Attributes:
        items: what is written so far.
        place: for each label number, the item it stands before. Normal instruction i has label i; further
            labels are numbered after them.
        bound: for each normal index, the item where a region that starts or ends there is cut.
        anchors: indices that a jump or a region refers to, so that they stay apart from the one before.
        pads: for a normal index, (label, ops, position) of the clean-ups that lead to it.
        nulls: for a normal index, the positions of NULLs to push before it.
        index: the normal instruction at hand.
    """

    def __init__(self, decoded: Decoded, depths: list[int | None]) -> None:
        self.decoded = decoded
        self.instructions = decoded.instructions
        self.depths = depths
        self.items: list[_Item] = []
        self.place: dict[int, int] = {}
        self.bound: dict[int, int] = {}
        self.anchors = _anchors(decoded)
        self.pads: dict[int, list[tuple[int, tuple[str, ...], Position | None]]] = {}
        self.nulls: dict[int, list[Position | None]] = {}
        self.unbound = unbound_loads(decoded) if DIALECT.unchecked_loads else frozenset[int]()
        self.index = 0
        self.position: Position | None = None
        self.consts: list[object] = [decoded.docstring]
        self.const_at: dict[object, int] = {_const_key(decoded.docstring): 0}
        self.names: dict[str, int] = {}
        self.varnames = {name: slot for slot, name in enumerate(decoded.varnames)}
        self.cells = _cell_slots(decoded)
        self.labels = len(self.instructions) + 1

    def emit(self, name: str, operand: int = 0, target: int | None = None) -> None:
        """Append a physical instruction at the position at hand."""
        if name not in opcode.opmap:
            msg = f"{self.decoded.qualname}: no {name} in this version of Python"
            raise ValueError(msg)
        self.items.append(_Item(name, operand, target, self.position))

    def joins(self, op: str, arg: object = None, *, anywhere: bool = False) -> bool:
        """Skip the next instruction if it is `op` and nothing refers to it; return whether it is so."""
        at = self.index + 1
        if at >= len(self.instructions) or at in self.anchors:
            return False
        following = self.instructions[at]
        if following.op != op or (arg is not None and following.arg != arg):
            return False
        if not anywhere and following.position != self.instructions[self.index].position:
            return False
        self.index = at
        return True

    def new_label(self) -> int:
        """Return a label number that is placed by hand."""
        self.labels += 1
        return self.labels - 1

    def const(self, value: object) -> int:
        """Return the index of a constant: equal atoms share one, other objects only with themselves."""
        key = _const_key(value)
        if key not in self.const_at:
            self.const_at[key] = len(self.consts)
            self.consts.append(value)
        return self.const_at[key]

    def name(self, arg: object) -> int:
        """Return the index of an attribute or global name."""
        return self.names.setdefault(str(arg), len(self.names))

    def slot(self, arg: object) -> int:
        """Return the slot of a fast local, or of the cell of that name."""
        name = str(arg)
        return self.varnames[name] if name in self.varnames else self.cell(name)

    def cell(self, arg: object) -> int:
        """Return the slot of a cell or free variable."""
        name = str(arg)
        if name not in self.cells:
            msg = f"{self.decoded.qualname} has no variable {name!r}"
            raise ValueError(msg)
        return self.cells[name]


def _const_key(value: object) -> object:
    return (type(value), value) if isinstance(value, _ATOMS) and type(value) in _ATOMS else id(value)


def _cell_slots(header: Header) -> dict[str, int]:
    slots = {name: slot for slot, name in enumerate(header.varnames)}
    cells: dict[str, int] = {}
    free = len(slots) + sum(name not in slots for name in header.cellvars)
    for name in header.cellvars:
        cells[name] = slots[name] if name in slots else len(slots) + sum(each not in slots for each in cells)
    return {**{name: free + at for at, name in enumerate(header.freevars)}, **cells}


def _anchors(decoded: Decoded) -> frozenset[int]:
    targets = {each.target for each in decoded.instructions if each.target is not None}
    edges = {index for region in decoded.regions for index in (region.start, region.end, region.handler)}
    return frozenset(targets | edges)


def _entry(instructions: Sequence[Instruction]) -> int:
    """Return the index where the body begins: after the cells and the making of a generator."""
    index = 0
    while instructions[index].op in {"COPY_FREE_VARS", "MAKE_CELL"}:
        index += 1
    return index + 2 if instructions[index].op == "RETURN_GENERATOR" else index


def _write(writer: _Writer) -> None:
    instructions = writer.instructions
    entry = _entry(instructions)
    _plan_pads(writer)
    while writer.index < len(instructions):
        index = writer.index
        instruction = instructions[index]
        writer.bound.setdefault(index, len(writer.items))
        if index == entry:
            line = writer.decoded.firstlineno
            writer.position = Position(line, line, 0, 0)
            writer.emit("RESUME", 0)
        _write_pads(writer, index)
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


def _plan_pads(writer: _Writer) -> None:
    """Find where loops and delegations end in an op of clean-up that the normal form does not have."""
    for instruction in writer.instructions:
        target = instruction.target
        if instruction.op == "FOR_ITER" and DIALECT.loop_end and target not in writer.pads:
            assert target is not None, "FOR_ITER without a target"
            writer.pads[target] = [(writer.new_label(), DIALECT.loop_end, instruction.position)]


def _write_pads(writer: _Writer, index: int) -> None:
    """Write the clean-ups before `index`; control that falls into it goes around them."""
    for label, ops, position in writer.pads.get(index, ()):
        if index and (writer.instructions[index - 1].op not in ENDS):
            writer.emit("JUMP_FORWARD", target=index)
        writer.place[label] = len(writer.items)
        writer.position = position
        for op in ops:
            writer.emit(op)


def _write_plain(writer: _Writer, instruction: Instruction) -> None:
    """Write an op that keeps its name."""
    name, arg = instruction.op, instruction.arg
    number = opcode.opmap.get(name, -1)
    if number in opcode.hasconst:
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


_Rule = Callable[[_Writer, Instruction], None]
_rules: Final[Rules[_Rule]] = Rules("encode")


@_rules.on("PUSH_NULL")
def _push_null(writer: _Writer, instruction: Instruction) -> None:
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


def _callable_end(writer: _Writer, null: int) -> int:
    """Return the index before which the callable above the NULL of instruction `null` is complete.

    That is after the last instruction, before the call, that writes the slot of the callable.
    """
    base = writer.depths[null]
    assert base is not None, f"PUSH_NULL at {null} is not reachable"
    end = null + 1
    for index in range(null + 1, len(writer.instructions)):
        depth = writer.depths[index]
        if depth is None:
            continue
        instruction = writer.instructions[index]
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


@_rules.on("LOAD_GLOBAL")
def _load_global(writer: _Writer, instruction: Instruction) -> None:
    """Without a NULL."""
    writer.emit("LOAD_GLOBAL", writer.name(instruction.arg) << 1)


@_rules.on("LOAD_ATTR")
def _load_attr(writer: _Writer, instruction: Instruction) -> None:
    """Without the method bit."""
    writer.emit("LOAD_ATTR", writer.name(instruction.arg) << DIALECT.method_bit)


@_rules.on("LOAD_METHOD")
def _load_method(writer: _Writer, instruction: Instruction) -> None:
    """3.12+: LOAD_ATTR with the method bit."""
    if DIALECT.method_bit:
        writer.emit("LOAD_ATTR", writer.name(instruction.arg) << 1 | 1)
    else:
        writer.emit("LOAD_METHOD", writer.name(instruction.arg))


@_rules.on("LOAD_SUPER_ATTR")
def _load_super_attr(writer: _Writer, instruction: Instruction) -> None:
    """3.12+ only."""
    name, is_method, is_two_arg = cast("tuple[str, bool, bool]", instruction.arg)
    writer.emit("LOAD_SUPER_ATTR", writer.name(name) << 2 | is_two_arg << 1 | is_method)


@_rules.on("LOAD_FAST")
def _load_fast(writer: _Writer, instruction: Instruction) -> None:
    """3.12+ checks only where it is told to."""
    checked = writer.index in writer.unbound
    writer.emit("LOAD_FAST_CHECK" if checked else "LOAD_FAST", writer.slot(instruction.arg))


@_rules.on("LOAD_CLOSURE")
def _load_closure(writer: _Writer, instruction: Instruction) -> None:
    """3.13: LOAD_FAST of the cell's slot."""
    writer.emit("LOAD_FAST" if DIALECT.closure_is_local else "LOAD_CLOSURE", writer.cell(instruction.arg))


@_rules.on("MAKE_CELL")
def _make_cell(writer: _Writer, instruction: Instruction) -> None:
    """The operand is the cell's slot."""
    writer.emit("MAKE_CELL", writer.cell(instruction.arg))


@_rules.on("LOAD_LOCALS")
def _load_locals(writer: _Writer, instruction: Instruction) -> None:
    """3.11 has it only together with LOAD_FROM_DICT_OR_DEREF."""
    if "LOAD_CLASSDEREF" in opcode.opmap and writer.joins("LOAD_FROM_DICT_OR_DEREF", anywhere=True):
        writer.emit("LOAD_CLASSDEREF", writer.cell(writer.instructions[writer.index].arg))
    else:
        writer.emit("LOAD_LOCALS")


@_rules.on(*NAMED_INTRINSICS)
def _named_intrinsic(writer: _Writer, instruction: Instruction) -> None:
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


@_rules.on("INTRINSIC_1")
def _intrinsic_1(writer: _Writer, instruction: Instruction) -> None:
    """By name."""
    writer.emit("CALL_INTRINSIC_1", INTRINSICS_1.index(str(instruction.arg)))


@_rules.on("INTRINSIC_2")
def _intrinsic_2(writer: _Writer, instruction: Instruction) -> None:
    """By name."""
    writer.emit("CALL_INTRINSIC_2", INTRINSICS_2.index(str(instruction.arg)))


@_rules.on("BINARY_OP")
def _binary_op(writer: _Writer, instruction: Instruction) -> None:
    """By symbol."""
    writer.emit("BINARY_OP", BINARY_SYMBOLS.index(str(instruction.arg)))


@_rules.on("COMPARE_OP")
def _compare_op(writer: _Writer, instruction: Instruction) -> None:
    """3.13 tests the truth in one go where a branch follows."""
    symbol = COMPARISONS.index(str(instruction.arg))
    operand = symbol << DIALECT.compare_shift | DIALECT.compare_masks[symbol]
    at = writer.index + 1
    if DIALECT.exact_bools and at not in writer.anchors:
        tested = writer.joins("TO_BOOL") or writer.instructions[at].op in _TRUTH_TESTS
        operand |= tested << 4
    writer.emit("COMPARE_OP", operand)


def _flagged(writer: _Writer, instruction: Instruction) -> None:
    """Write an op whose operand is a flag."""
    writer.emit(instruction.op, int(bool(instruction.arg)))


_rules.on(*FLAGGED)(_flagged)


def _test(writer: _Writer) -> None:
    """3.13: make an exact bool of what a branch is to test, unless it is one."""
    at = writer.index
    if not DIALECT.exact_bools:
        return
    if at in writer.anchors or not at or writer.instructions[at - 1].op not in BOOL_OPS:
        writer.emit("TO_BOOL")


@_rules.on("UNARY_NOT")
def _unary_not(writer: _Writer, instruction: Instruction) -> None:
    """3.13: of an exact bool."""
    _test(writer)
    writer.emit("UNARY_NOT")


@_rules.on("TO_BOOL")
def _to_bool(writer: _Writer, instruction: Instruction) -> None:
    """Before 3.13: not not."""
    if DIALECT.exact_bools:
        writer.emit("TO_BOOL")
    else:
        writer.emit("UNARY_NOT")
        writer.emit("UNARY_NOT")


@_rules.on(*OPPOSITE)
def _pop_jump(writer: _Writer, instruction: Instruction) -> None:
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
def _jump_or_pop(writer: _Writer, instruction: Instruction) -> None:
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
def _jump(writer: _Writer, instruction: Instruction) -> None:
    """A jump back into a delegation must not poll for signals, lest one be raised in the wrong frame."""
    target = cast("int", instruction.target)
    if target > writer.index:
        writer.emit("JUMP_FORWARD", target=target)
        return
    before = writer.instructions[writer.index - 1] if writer.index else instruction
    delegates = before.op == "YIELD_VALUE" and cast("tuple[int, bool]", before.arg)[0] > 1
    quiet = delegates or (DIALECT.yield_kind and before.op == "CLEANUP_THROW")
    writer.emit("JUMP_BACKWARD_NO_INTERRUPT" if quiet else "JUMP_BACKWARD", target=target)


@_rules.on("FOR_ITER")
def _for_iter(writer: _Writer, instruction: Instruction) -> None:
    """3.12+: to the clean-up at its target."""
    target = cast("int", instruction.target)
    label = writer.pads[target][0][0] if DIALECT.loop_end else target
    writer.emit("FOR_ITER", target=label)


@_rules.on("SEND")
def _send(writer: _Writer, instruction: Instruction) -> None:
    """3.12+: to the END_SEND before its target."""
    target = cast("int", instruction.target)
    if not DIALECT.send_end:
        writer.emit("SEND", target=target)
        return
    if writer.instructions[target - 1].op != "END_SEND":
        msg = f"{writer.decoded.qualname}: the target {target} of SEND does not follow an END_SEND"
        raise ValueError(msg)
    writer.emit("SEND", target=target - 1)


@_rules.on("END_SEND")
def _end_send(writer: _Writer, instruction: Instruction) -> None:
    """3.11: SWAP 2, POP_TOP."""
    if DIALECT.send_end:
        writer.emit("END_SEND")
    else:
        writer.emit("SWAP", 2)
        writer.emit("POP_TOP")


@_rules.on("CALL")
def _call(writer: _Writer, instruction: Instruction) -> None:
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
def _make_function(writer: _Writer, instruction: Instruction) -> None:
    """3.13 adds the parts one by one, topmost first."""
    parts = cast("frozenset[str]", instruction.arg)
    bits = [bit for bit, part in FUNCTION_PARTS.items() if part in parts]
    writer.emit("MAKE_FUNCTION", 0 if DIALECT.split_make_function else sum(bits))
    if DIALECT.split_make_function:
        for bit in reversed(bits):
            writer.emit("SET_FUNCTION_ATTRIBUTE", bit)


@_rules.on("SET_FUNCTION_ATTRIBUTE")
def _set_function_attribute(writer: _Writer, instruction: Instruction) -> None:
    """3.13 only."""
    bits = {part: bit for bit, part in FUNCTION_PARTS.items()}
    writer.emit("SET_FUNCTION_ATTRIBUTE", bits[str(instruction.arg)])


@_rules.on("UNPACK_EX")
def _unpack_ex(writer: _Writer, instruction: Instruction) -> None:
    """Low byte: before the star; the rest: after it."""
    before, after = cast("tuple[int, int]", instruction.arg)
    writer.emit("UNPACK_EX", before | after << 8)


@_rules.on("FORMAT_VALUE")
def _format_value(writer: _Writer, instruction: Instruction) -> None:
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
def _convert_value(writer: _Writer, instruction: Instruction) -> None:
    """Before 3.13: a FORMAT_VALUE without a spec leaves the converted string as it is."""
    conversion = cast("int", instruction.arg)
    writer.emit("FORMAT_VALUE" if "FORMAT_VALUE" in opcode.opmap else "CONVERT_VALUE", conversion)


@_rules.on("YIELD_VALUE")
def _yield_value(writer: _Writer, instruction: Instruction) -> None:
    """With the RESUME after it, which belongs to the region of the next instruction."""
    kind, is_outermost = cast("tuple[int, bool]", instruction.arg)
    operand = (1 if is_outermost else 2) if DIALECT.yield_depth else int(DIALECT.yield_kind and kind > 1)
    writer.emit("YIELD_VALUE", operand)
    writer.bound[writer.index + 1] = len(writer.items)
    writer.emit("RESUME", kind | (is_outermost and DIALECT.yield_kind) << 2)


@_rules.on("BINARY_SLICE")
def _binary_slice(writer: _Writer, instruction: Instruction) -> None:
    """3.11: by a slice object."""
    if "BINARY_SLICE" in opcode.opmap:
        writer.emit("BINARY_SLICE")
    else:
        writer.emit("BUILD_SLICE", 2)
        writer.emit("BINARY_SUBSCR")


@_rules.on("STORE_SLICE")
def _store_slice(writer: _Writer, instruction: Instruction) -> None:
    """3.11: by a slice object."""
    if "STORE_SLICE" in opcode.opmap:
        writer.emit("STORE_SLICE")
    else:
        writer.emit("BUILD_SLICE", 2)
        writer.emit("STORE_SUBSCR")


def _assembled(writer: _Writer, stack_size: int) -> CodeType:
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
    code.cellvars, code.freevars = list(header.cellvars), list(header.freevars)
    return code.to_code(stack_size, compute_exception_stack_depths=False)


def _laid_out(writer: _Writer) -> tuple[list[ConcreteInstr], list[int]]:
    """Return the physical instructions with their caches, and where each item begins, in code units.

    A jump's operand may need a prefix, which moves everything behind it: sizes grow until they fit.
    """
    items = writer.items
    spans: dict[Position | None, InstrLocation] = {}
    made = [_concrete(item, spans) for item in items]
    caches = [piece.use_cache_opcodes() for piece in made]
    offsets: list[int] = []
    grown = True
    while grown:
        grown = False
        offsets = [0]
        for piece, units in zip(made, caches, strict=True):
            offsets.append(offsets[-1] + piece.size // 2 + units)
        for at, item in enumerate(items):
            if item.target is None:
                continue
            distance = offsets[writer.place[item.target]] - offsets[at + 1]
            operand = -distance if "BACKWARD" in item.name else distance
            if operand < 0:
                msg = f"{writer.decoded.qualname}: {item.name} cannot jump {distance} units"
                raise ValueError(msg)
            size = made[at].size
            made[at].arg = operand
            if made[at].size < size:
                made[at] = ConcreteInstr(
                    item.name, operand, location=made[at].location, extended_args=size // 2 - 1
                )
            grown = grown or made[at].size != size
    pieces: list[ConcreteInstr] = []
    for piece, units in zip(made, caches, strict=True):
        pieces.append(piece)
        pieces += [ConcreteInstr("CACHE", 0, location=piece.location)] * units
    return pieces, offsets


def _concrete(item: _Item, spans: dict[Position | None, InstrLocation]) -> ConcreteInstr:
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

"""Code objects are verified before they run, since CPython believes what it runs.

What is checked follows the running interpreter's own metadata (`dis`, `opcode`), not the tables of this
layer, so that a wrong table is found: jumps and handlers lead to instructions, every path agrees on the depth
of the stack, which stays within its bounds, operands name what there is, and a NULL is handed to nobody but a
call. What lies on the stack at a return, the interpreter drops.
"""

import dis
import opcode
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType
from typing import Final, NoReturn, cast

OFFSET: Final = 2
"""Bytes of one unit of code."""
SHOWN: Final = 4
"""Instructions on each side of a fault that the error shows."""
_BYTE: Final = 8


class MalformedCode(Exception):
    """A code object that must not run: a bug of this layer, or of who wrote the instructions."""


@dataclass(frozen=True, slots=True)
class Op:
    """An instruction as the interpreter reads it.

    Attributes:
        offset: of the opcode itself; those of EXTENDED_ARG before it are no place to jump to but `begin`.
        begin: where the instruction begins.
        end: where the next one begins: behind the caches.
    """

    code: int
    name: str
    arg: int
    offset: int
    begin: int
    end: int
    target: int | None


@dataclass(frozen=True, slots=True)
class Handler:
    """An entry of the exception table: offsets, and what is on the stack when the handler begins."""

    start: int
    end: int
    target: int
    depth: int
    lasti: bool


def verified(code: CodeType) -> CodeType:
    """Return a code object that may run.

    Raises:
        MalformedCode: it would read past its constants, names or stack, or jump into the middle of something.
    """
    _Check(code).run()
    return code


class _Check:
    """One code object, and the depth of the stack before each of its instructions."""

    def __init__(self, code: CodeType) -> None:
        self.code = code
        self.ops = list(operations(code.co_code))
        self.at = {op.begin: index for index, op in enumerate(self.ops)}
        self.handlers = list(exception_table(code.co_exceptiontable))
        self.cells = len({*code.co_varnames, *code.co_cellvars})
        self.slots = self.cells + len(code.co_freevars)
        self.states: dict[int, tuple[int, frozenset[int]]] = {}

    def run(self) -> None:
        """Check everything."""
        self._check_handlers()
        self._check_cells()
        for index, op in enumerate(self.ops):
            self._check_operand(index, op)
        self._check_stack()

    def _fail(self, index: int, rule: str) -> NoReturn:
        around = self.ops[max(0, index - SHOWN) : index + SHOWN + 1]
        shown = "\n".join(
            f"  {'>' if op is self.ops[index] else ' '} {op.offset:4} {op.name} {op.arg}" for op in around
        )
        name = getattr(self.code, "co_qualname", self.code.co_name)
        raise MalformedCode(f"{name} at {self.ops[index].offset}: {rule}\n{shown}")

    def _check_handlers(self) -> None:
        before = 0
        for one in self.handlers:
            if not before <= one.start < one.end <= len(self.code.co_code) or one.start not in self.at:
                self._fail(0, f"the exception table has a range from {one.start} to {one.end}")
            if one.target not in self.at:
                self._fail(0, f"a handler is at {one.target}, where no instruction begins")
            before = one.end
        for index, op in enumerate(self.ops):
            looks = _LOOKS_BACK and (op.name in _RUN_PYTHON or _is_subscript(op))
            if looks and self._handler(op.offset - OFFSET) != self._handler(op.offset):
                self._fail(index, "what it runs would look for a handler one unit before it")

    def _handler(self, offset: int) -> Handler | None:
        """Return the handler of what is raised at a place."""
        return next((one for one in self.handlers if one.start <= offset < one.end), None)

    def _check_cells(self) -> None:
        """Check that free variables and cells are there before the body begins.

        `super()` looks at them from outside, so a call counts as a read.
        """
        made = [op.arg for op in self.ops if op.name == "MAKE_CELL"]
        copied = [op.arg for op in self.ops if op.name == "COPY_FREE_VARS"]
        is_read = any(_KINDS.get(op.code) in ("cell", "variable") or "CALL" in op.name for op in self.ops)
        free, cells = len(self.code.co_freevars), len(self.code.co_cellvars)
        if copied not in ([], [free]) or (free and is_read and not copied):
            self._fail(0, f"{copied} free variables are copied, of {free}")
        if len(made) < cells and is_read:
            self._fail(0, f"{len(made)} cells are made, of {cells}")
        if all(op.name != "RESUME" for op in self.ops):
            self._fail(0, "there is no RESUME")

    def _check_operand(self, index: int, op: Op) -> None:
        if op.name[0] == "<" or op.name == "CACHE":
            self._fail(index, "there is no such instruction")
        if op.target is not None and op.target not in self.at:
            self._fail(index, f"it jumps to {op.target}, where no instruction begins")
        code, kind = self.code, _KINDS.get(op.code)
        if kind == "constant" and not op.arg < len(code.co_consts):
            self._fail(index, f"there are {len(code.co_consts)} constants")
        if op.name == "KW_NAMES" and not _are_names(code.co_consts[op.arg]):
            self._fail(index, "names of keyword arguments are a tuple of texts")
        if kind == "name" and not op.arg >> _NAME_SHIFTS.get(op.name, 0) < len(code.co_names):
            self._fail(index, f"there are {len(code.co_names)} names")
        if kind == "variable" and any(slot >= self.slots for slot in _slots(op)):
            self._fail(index, f"there are {self.slots} variables")
        if kind == "cell" and not self._is_cell(op.arg):
            self._fail(index, "it is no cell and no free variable")
        if _READS_SEND and op.name == "RESUME" and op.arg & _WHERE >= _DELEGATES:
            sends = self.ops[max(0, index - 2)]
            if sends.name != "SEND" or sends.begin != sends.offset:
                self._fail(index, "`throw` reads a SEND before the `yield`, which is not there in one unit")

    def _is_cell(self, slot: int) -> bool:
        names = self.code.co_varnames
        is_argument = slot < len(names) and names[slot] in self.code.co_cellvars
        return is_argument or len(names) <= slot < self.slots

    def _check_stack(self) -> None:
        """Walk every path; a state is the depth, and which slots hold a NULL."""
        work: list[tuple[int, int, frozenset[int]]] = [(0, 0, frozenset())]
        covers = self._covers()
        while work:
            index, depth, nulls = work.pop()
            if index in self.states:
                known, marked = self.states[index]
                if known != depth:
                    self._fail(index, f"one path has {known} values on the stack here, another has {depth}")
                if marked <= nulls:
                    continue
                nulls &= marked  # what is a NULL on every path
            self.states[index] = depth, nulls
            handler = covers.get(index)
            if handler is not None:
                if handler.depth > depth:
                    self._fail(index, f"its handler wants {handler.depth} of {depth} values")
                kept = frozenset(slot for slot in nulls if slot < handler.depth)
                work.append((self.at[handler.target], handler.depth + handler.lasti + 1, kept))
            work += self._onward(index, depth, nulls)

    def _covers(self) -> dict[int, Handler]:
        found: dict[int, Handler] = {}
        for one in self.handlers:
            for index in range(self.at[one.start], len(self.ops)):
                if self.ops[index].offset >= one.end:
                    break
                found[index] = one
        return found

    def _onward(
        self, index: int, depth: int, nulls: frozenset[int]
    ) -> Iterator[tuple[int, int, frozenset[int]]]:
        op = self.ops[index]
        for is_jump in (False, True):
            if (is_jump and op.target is None) or (not is_jump and op.name in _ENDS):
                continue
            after = depth + effect(op.code, op.arg, is_jump)
            if not 0 <= after <= self.code.co_stacksize:
                self._fail(index, f"it leaves {after} values on a stack of {self.code.co_stacksize}")
            left = self._nulls_after(index, depth, after, nulls)
            following = index + 1 if not is_jump else self.at[cast("int", op.target)]
            if following >= len(self.ops):
                self._fail(index, "control runs off the end")
            yield following, after, left

    def _nulls_after(self, index: int, depth: int, after: int, nulls: frozenset[int]) -> frozenset[int]:
        """Return the slots that hold a NULL after an instruction."""
        op = self.ops[index]
        if not nulls and op.name not in _ABOUT_NULLS:
            return nulls
        if op.name == "PUSH_NULL":
            return nulls | {depth}
        if op.name == "LOAD_GLOBAL" and op.arg & 1:
            return nulls | {depth if NULL_FIRST else depth + 1}
        if op.name == "SWAP":
            swapped = {depth - 1: depth - op.arg, depth - op.arg: depth - 1}
            return frozenset(swapped.get(slot, slot) for slot in nulls)
        if op.name == "COPY":
            return nulls | {depth} if depth - op.arg in nulls else nulls
        taken = depth - (op.arg + 2 + op.name.startswith(("CALL_KW", "CALL_FUNCTION_EX")))
        if op.name.startswith("CALL") and "INTRINSIC" not in op.name:
            self._require_callable(index, depth, nulls)
            taken = min(taken, after - 1)
        elif any(after <= slot < depth for slot in nulls) and op.name not in _TAKES_NULL:
            self._fail(index, "it takes a NULL")
        else:
            taken = after
        return frozenset(slot for slot in nulls if slot < taken)

    def _require_callable(self, index: int, depth: int, nulls: frozenset[int]) -> None:
        """Check that a call has a callable, and no NULL among its arguments."""
        op = self.ops[index]
        if op.name == "CALL":
            first = depth - op.arg
            where = first - 1 if NULL_FIRST else first - 2
            if where < 0:
                self._fail(index, f"there are {depth} values for {op.arg} arguments and a callable")
            if where in nulls or any(slot >= first for slot in nulls):
                self._fail(index, "it calls a NULL, or hands one over")


def operations(code: bytes) -> Iterator[Op]:
    """Yield the instructions of a code object: prefixes joined, caches skipped."""
    place, arg, begin = 0, 0, 0
    while place < len(code):
        number = code[place]
        arg = arg << _BYTE | code[place + 1]
        name = opcode.opname[number]
        if name == "EXTENDED_ARG":
            place += OFFSET
            continue
        end = place + OFFSET * (1 + _caches(number))
        target = None
        if number in _JUMPS:
            target = end - OFFSET * arg if "BACKWARD" in name else end + OFFSET * arg
        yield Op(number, name, arg, place, begin, end, target)
        place, arg, begin = end, 0, end


def exception_table(table: bytes) -> Iterator[Handler]:
    """Yield the entries of `co_exceptiontable`: numbers of 6 bits a byte, the highest bits first."""
    numbers: list[int] = []
    value = 0
    for byte in table:
        value = value << 6 | byte & 63
        if not byte & 64:
            numbers.append(value)
            value = 0
    for start, size, target, depth in zip(*[iter(numbers)] * 4, strict=True):
        begin = start * OFFSET
        yield Handler(begin, begin + size * OFFSET, target * OFFSET, depth >> 1, bool(depth & 1))


@lru_cache(maxsize=4096)
def effect(number: int, arg: int, is_jump: bool) -> int:
    """Return by how much an instruction makes the stack deeper, as `dis` says."""
    name = opcode.opname[number]
    if name == "RETURN_GENERATOR":
        return 1  # whoever starts the generator pushes a value
    if name == "PRECALL":
        return 0  # 3.11 counts the arguments of a call here
    if name == "CALL":
        return -1 - arg
    given = arg if number >= opcode.HAVE_ARGUMENT else None
    return dis.stack_effect(number, given, jump=is_jump)


def _is_subscript(op: Op) -> bool:
    """Return whether an instruction of 3.14 or later takes a subscript."""
    return op.name == "BINARY_OP" and vars(opcode)["_nb_ops"][op.arg][0] == "NB_SUBSCR"


def _slots(op: Op) -> tuple[int, ...]:
    """Return the variables that an instruction names: two in one operand of 3.13."""
    is_pair = op.name.count("FAST") == 2
    return (op.arg >> 4, op.arg & 15) if is_pair else (op.arg,)


def _are_names(value: object) -> bool:
    return isinstance(value, tuple) and all(
        isinstance(name, str) for name in cast("tuple[object, ...]", value)
    )


def _caches(number: int) -> int:
    return _CACHES.get(number, 0)


def _cache_table() -> Mapping[int, int]:
    """Return how many units of cache follow an opcode."""
    said: object = vars(opcode)["_inline_cache_entries"]
    if isinstance(said, dict):  # 3.13: by name
        return {opcode.opmap[name]: count for name, count in cast("dict[str, int]", said).items()}
    return {number: count for number, count in enumerate(cast("list[int]", said)) if count}


NULL_FIRST: Final = sys.version_info < (3, 13)
"""Whether the NULL lies below the callable."""
_READS_SEND: Final = sys.version_info < (3, 12)
"""Whether `throw` finds the end of a `yield from` in the operand of its SEND."""
_LOOKS_BACK: Final = sys.version_info >= (3, 13)
"""Whether an exception out of a function in Python looks for its handler at the unit before the call."""
_RUN_PYTHON: Final = frozenset("BINARY_SUBSCR CALL CALL_FUNCTION_EX CALL_KW FOR_ITER LOAD_ATTR SEND".split())
"""Instructions that may run a function in Python without a new loop of the interpreter."""
_WHERE: Final = 3
"""The bits of RESUME's operand that say what is resumed."""
_DELEGATES: Final = 2
"""What is resumed: a `yield from`, or an `await`."""
_CACHES: Final = _cache_table()
_KINDS: Final[Mapping[int, str]] = {
    **dict.fromkeys(opcode.hasconst, "constant"),
    **dict.fromkeys(opcode.hasname, "name"),
    **dict.fromkeys(opcode.haslocal, "variable"),
    **dict.fromkeys((*opcode.hasfree, opcode.opmap["LOAD_DEREF"]), "cell"),
}
"""What the operand of an opcode names."""
_JUMPS: Final = frozenset((*opcode.hasjrel, *opcode.hasjabs)) - {opcode.opmap["END_ASYNC_FOR"]}
"""Instructions whose operand is a distance; control does not go where END_ASYNC_FOR points."""
_NAME_SHIFTS: Final[Mapping[str, int]] = {
    "LOAD_GLOBAL": 1,
    "LOAD_SUPER_ATTR": 2,
    **({} if sys.version_info < (3, 12) else {"LOAD_ATTR": 1}),
}
"""By how many bits the name lies above flags in an operand."""
_ENDS: Final = frozenset(
    "RETURN_VALUE RETURN_CONST RAISE_VARARGS RERAISE JUMP_FORWARD JUMP_BACKWARD "
    "JUMP_BACKWARD_NO_INTERRUPT INTERPRETER_EXIT".split()
)
_ABOUT_NULLS: Final = frozenset(("PUSH_NULL", "LOAD_GLOBAL", "CALL"))
"""Instructions that push a NULL, or ask for values; to all others it matters only where there is one."""
_TAKES_NULL: Final = frozenset(("POP_TOP", "STORE_FAST", "PRECALL"))

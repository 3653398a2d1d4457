"""Facts about normal instructions that hold on every path: reachability, stack depth, liveness, bound locals.

Exception edges count: an instruction in a region may go to the region's handler instead of the next one.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast

from supple.capture.bytecode.instruction import Decoded, Instruction, Region
from supple.capture.bytecode.tables import ENDS, TAKEN, effect

_READS = frozenset({"DELETE_FAST", "LOAD_FAST", "LOAD_FAST_AND_CLEAR"})
_KILLS = frozenset({"LOAD_FAST_AND_CLEAR", "STORE_FAST"})


def successors(instructions: Sequence[Instruction], index: int) -> tuple[int, ...]:
    """Return where control goes after instruction `index` unless it raises; fall-through comes first."""
    instruction = instructions[index]
    through = () if instruction.op in ENDS else (index + 1,)
    return through if instruction.target is None else (*through, instruction.target)


def handlers(decoded: Decoded) -> list[Region | None]:
    """Return for each instruction the region that catches what it raises."""
    table: list[Region | None] = [None] * len(decoded.instructions)
    for region in decoded.regions:
        table[region.start : region.end] = [region] * (region.end - region.start)
    return table


def stack_depths(decoded: Decoded) -> list[int | None]:
    """Return how many values are on the stack before each instruction; None where control never comes.

    Raises:
        ValueError: when two paths disagree, a pop finds nothing, or control runs off the end.
    """
    instructions = decoded.instructions
    table = handlers(decoded)
    depths: list[int | None] = [None] * len(instructions)
    work = [(0, 0)]
    while work:
        index, depth = work.pop()
        if index >= len(instructions):
            raise ValueError(f"{decoded.qualname}: control runs off the end of the code")
        if depths[index] is not None:
            if depths[index] != depth:
                msg = f"{decoded.qualname}: {depths[index]} or {depth} values on the stack at {index}"
                raise ValueError(msg)
            continue
        depths[index] = depth
        work += _onward(instructions, index, depth)
        region = table[index]
        if region is not None:
            work.append((region.handler, region.depth + region.lasti + 1))
    return depths


def _onward(instructions: Sequence[Instruction], index: int, depth: int) -> Iterable[tuple[int, int]]:
    instruction = instructions[index]
    pops, pushes = effect(instruction.op, instruction.arg)
    if pops > depth:
        raise ValueError(f"{instruction.op} at {index} pops {pops} of {depth} values")
    if instruction.op not in ENDS:
        yield index + 1, depth - pops + pushes
    if instruction.target is not None:
        pops, pushes = TAKEN.get(instruction.op, (pops, pushes))
        yield instruction.target, depth - pops + pushes


def reachable(decoded: Decoded, start: int = 0) -> frozenset[int]:
    """Return the indices that control can come to from `start`."""
    table = handlers(decoded)
    seen: set[int] = set()
    work = [start]
    while work:
        index = work.pop()
        if index in seen:
            continue
        seen.add(index)
        work += successors(decoded.instructions, index)
        region = table[index]
        if region is not None:
            work.append(region.handler)
    return frozenset(seen)


@dataclass(frozen=True, slots=True)
class NamesAt:
    """Of which fast locals something holds, by the index of an instruction."""

    names: tuple[str, ...]
    masks: tuple[int, ...]

    def at(self, index: int) -> frozenset[str]:
        """Return the names of which it holds before instruction `index`."""
        mask = self.masks[index]
        return frozenset(name for bit, name in enumerate(self.names) if mask >> bit & 1)


def liveness(decoded: Decoded) -> NamesAt:
    """Return the live fast locals of every instruction: it or one after it reads them before any write.

    Cells are not among them: whoever holds a cell can read it at any time.
    """
    instructions, table = decoded.instructions, handlers(decoded)
    names = tuple(sorted({str(each.arg) for each in instructions if each.op in _READS | _KILLS}))
    bit_of = {name: 1 << bit for bit, name in enumerate(names)}
    live = [0] * (len(instructions) + 1)
    changed = True
    while changed:
        changed = False
        for index in range(len(instructions) - 1, -1, -1):
            instruction = instructions[index]
            mask = 0
            for each in successors(instructions, index):
                mask |= live[each]
            if instruction.op in _KILLS:
                mask &= ~bit_of[str(instruction.arg)]
            if instruction.op in _READS:
                mask |= bit_of[str(instruction.arg)]
            region = table[index]
            if region is not None:
                mask |= live[region.handler]
            if mask != live[index]:
                live[index] = mask
                changed = True
    return NamesAt(names, tuple(live[:-1]))


def bindings(decoded: Decoded) -> NamesAt:
    """Return the fast locals that may have a value before every instruction."""
    instructions, table = decoded.instructions, handlers(decoded)
    stored = {str(each.arg) for each in instructions if each.op in _READS | _KILLS}
    names = tuple(sorted(stored | set(decoded.argnames)))
    bit_of = {name: 1 << bit for bit, name in enumerate(names)}
    bound = [0] * (len(instructions) + 1)
    seen: set[int] = set()
    work = [(0, sum(bit_of[name] for name in decoded.argnames))]
    while work:
        index, mask = work.pop()
        if index in seen and not mask & ~bound[index]:
            continue
        seen.add(index)
        bound[index] |= mask
        if index == len(instructions):
            continue
        instruction, after = instructions[index], bound[index]
        if instruction.op == "STORE_FAST":
            after |= bit_of[str(instruction.arg)]
        elif instruction.op in ("DELETE_FAST", "LOAD_FAST_AND_CLEAR"):
            after &= ~bit_of[str(instruction.arg)]
        work += [(each, after) for each in successors(instructions, index)]
        region = table[index]
        if region is not None:
            work.append((region.handler, bound[index] | after))
    return NamesAt(names, tuple(bound[:-1]))


def unbound_loads(decoded: Decoded) -> frozenset[int]:
    """Return the indices of the LOAD_FASTs that may find no value.

    A name that LOAD_FAST_AND_CLEAR ever saves counts as unbound: its restoring store may store nothing.
    """
    instructions, table = decoded.instructions, handlers(decoded)
    cleared = {each.arg for each in instructions if each.op == "LOAD_FAST_AND_CLEAR"}
    stored = {each.arg for each in instructions if each.op == "STORE_FAST"}
    names = sorted({str(name) for name in stored | set(decoded.argnames)} - {str(name) for name in cleared})
    bit_of = {name: 1 << bit for bit, name in enumerate(names)}
    start = sum(bit_of.get(name, 0) for name in set(decoded.argnames))
    bound: list[int | None] = [None] * len(instructions)
    work = [(0, start)]
    while work:
        index, mask = work.pop()
        known = bound[index]
        if known is not None:
            mask &= known
            if mask == known:
                continue
        bound[index] = mask
        instruction = instructions[index]
        after = mask
        if instruction.op in {"LOAD_FAST", "STORE_FAST"}:
            after |= bit_of.get(str(instruction.arg), 0)
        elif instruction.op == "DELETE_FAST":
            after &= ~bit_of.get(str(instruction.arg), 0)
        work += [(each, after) for each in successors(instructions, index) if each < len(instructions)]
        region = table[index]
        if region is not None:
            work.append((region.handler, mask & after))
    return frozenset(
        index
        for index, instruction in enumerate(instructions)
        if instruction.op == "LOAD_FAST" and not (bound[index] or 0) & bit_of.get(str(instruction.arg), 0)
    )


def loads_of_plain_values(decoded: Decoded) -> frozenset[int]:
    """Return the indices of the LOAD_CLOSUREs that push a plain value, and no cell.

    An inlined comprehension keeps the cell of a variable on the stack while it has a plain variable in its
    slot. Its end is the store of what was kept.
    """
    instructions, table = decoded.instructions, handlers(decoded)
    found: set[int] = set()
    seen: set[int] = set()
    work: list[tuple[int, _Slots]] = [(0, ((), frozenset()))]
    while work:
        index, slots = work.pop()
        if index in seen or index == len(instructions):
            continue
        seen.add(index)
        one, (stack, plain) = instructions[index], slots
        if one.op == "LOAD_CLOSURE" and one.arg in plain:
            found.add(index)
        if one.op not in ENDS:
            work.append((index + 1, _slots_after(one, slots)))
        if one.target is not None:
            pops, pushes = TAKEN.get(one.op, effect(one.op, one.arg))
            work.append((one.target, (_replaced(stack, len(stack) - pops, pushes), plain)))
        region = table[index]
        if region is not None:
            work.append((region.handler, (_replaced(stack, region.depth, 1 + region.lasti), plain)))
    return frozenset(found)


_Kept = tuple[str, bool]
"""A variable that is kept on the stack, and whether it was a plain one."""
_Slots = tuple[tuple[_Kept | None, ...], frozenset[str]]
"""What is kept on the stack, and which variables are plain now."""


def _slots_after(one: Instruction, slots: _Slots) -> _Slots:
    """Return what is kept and plain behind an instruction that does not jump."""
    stack, plain = slots
    name = str(one.arg) if one.op in ("LOAD_FAST_AND_CLEAR", "MAKE_CELL") else ""
    match one.op:
        case "LOAD_FAST_AND_CLEAR":
            return (*stack, (name, name in plain)), plain | {name}
        case "MAKE_CELL":
            return stack, plain - {name}
        case "SWAP":
            depth = cast("int", one.arg)
            return (*stack[:-depth], stack[-1], *stack[1 - depth : -1], stack[-depth]), plain
        case "STORE_FAST" if stack[-1] is not None:
            name, was_plain = stack[-1]
            return stack[:-1], plain | {name} if was_plain else plain - {name}
        case _:
            pops, pushes = effect(one.op, one.arg)
            return _replaced(stack, len(stack) - pops, pushes), plain


def _replaced(stack: tuple[_Kept | None, ...], depth: int, pushes: int) -> tuple[_Kept | None, ...]:
    return (*stack[:depth], *(None,) * pushes)

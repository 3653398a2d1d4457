"""Loops: vectors of the innermost axis with masked tails, several accumulators, blocked sums.

The innermost axis of a loop runs in chunks of `copies` vectors (scalars where it is not VECTOR), each with
its own accumulators so that steps do not wait for each other; then one vector at a time, masked to what is
left. Long float sums restart their accumulators every BLOCK chunks and add the partial sums up, which bounds
the error.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Final

from supple.codegen.cpu.block import Block, Lanes, iota
from supple.codegen.cpu.reduce import ExtremePosition, Folding, State, chosen, folding
from supple.codegen.cpu.registers import Reg, constant
from supple.codegen.cpu.statements import write, write_rules
from supple.expr import as_expr, product
from supple.ir.dtypes import DType
from supple.ir.loops.nodes import Compute, Loop, Role
from supple.ir.loops.nodes import flat as flat_statements
from supple.ir.loops.types import definitions

LIGHT: Final = 8
"""Statements up to which a body is repeated four times."""
BLOCK: Final = 64
"""Chunks that one accumulator of a float sum takes before it is added to the total."""

CALLS: Final = frozenset(
    "pow atan2 fmod hypot exp2 log log2 log10 log1p expm1 tan asin acos atan sinh cosh "
    "asinh acosh atanh erfc lgamma floordiv mod".split()
)
"""Operators that call functions: those are long enough to keep the processor busy."""
LONG: Final = frozenset(("exp", "tanh", "erf", "sin", "cos", "div", "sqrt", "rsqrt"))
"""Operators that are many or slow instructions."""

Steps = Folding | ExtremePosition


@write_rules.on(Loop)
def write_loop(block: Block, statement: Loop) -> None:
    """Write a loop; the results of its reduces become names of the block."""
    code = block.code
    dtypes = dict(definitions(statement.body))
    steps = tuple(
        folding(each, dtypes[each.value] if each.value in dtypes else block.names[each.value].dtype)
        for each in statement.reduces
    )
    run = run_of(statement, steps, block)
    first = tuple(step.initial(run.lanes) for _ in range(run.copies) for step in steps)
    states = _axes(run, block, 0, first)
    is_vector = statement.axes[-1].role is Role.VECTOR
    for number, (each, step) in enumerate(zip(statement.reduces, steps, strict=True)):
        merged = reduce(partial(step.merge, code), states[number :: len(steps)])
        block.names[each.name] = step.result(code, step.across(code, merged) if is_vector else merged)


@dataclass(frozen=True, slots=True)
class Run:
    """A loop being written.

    Attributes:
        loop: the loop.
        steps: how each of its reduces is carried out.
        copies: chunks of iterations in flight, each with its own states.
        width: iterations of one chunk: lanes of its vectors, 1 for an axis that is not VECTOR.
        lanes: lanes of the states.
    """

    loop: Loop
    steps: tuple[Steps, ...]
    copies: int
    width: int
    lanes: int

    def grouped(self, regs: Sequence[Reg]) -> tuple[State, ...]:
        """Return registers that a loop carried as the states they are: all of copy 0, then of copy 1, ..."""
        states: list[State] = []
        rest = list(regs)
        while rest:
            size = self.steps[len(states) % len(self.steps)].size
            states.append(tuple(rest[:size]))
            del rest[:size]
        return tuple(states)


def run_of(loop: Loop, steps: tuple[Steps, ...], block: Block) -> Run:
    """Return how a loop is run: how many vectors of iterations are in flight, as copies or as wide ones."""
    lanes = block.features.lanes
    if loop.axes[-1].role is not Role.VECTOR:
        return Run(loop, steps, _fitting(loop, _copies(loop), 1), 1, block.width)
    if any(isinstance(statement, Loop) for statement in loop.body):
        # Loops inside run once for all copies, so the copies are one wide vector.
        vectors = 1 if loop.reduces else 4 if len(list(flat_statements(loop.body))) <= LIGHT else 2
        return Run(loop, steps, 1, lanes * _fitting(loop, vectors, lanes), lanes)
    return Run(loop, steps, _fitting(loop, _copies(loop), lanes), lanes, lanes)


def _copies(loop: Loop) -> int:
    """Return how many chunks of iterations keep the processor busy."""
    if any(isinstance(statement, Loop) for statement in loop.body):
        return 1
    ops = {statement.op for statement in loop.body if isinstance(statement, Compute)}
    return 1 if ops & CALLS else 4 if len(loop.body) <= LIGHT and not ops & LONG else 2


def _fitting(loop: Loop, copies: int, width: int) -> int:
    """Return `copies` (a power of two), or fewer so that a pass of them fits into the last axis."""
    extent = loop.axes[-1].extent
    while extent.is_const and copies > 1 and copies * width > extent.value:
        copies //= 2
    return copies


def flat(states: Sequence[State]) -> tuple[Reg, ...]:
    """Return all registers of the states."""
    return tuple(reg for state in states for reg in state)


def _axes(run: Run, block: Block, depth: int, states: tuple[State, ...]) -> tuple[State, ...]:
    """Write the loop over the axes from `depth` inwards; return the states after it."""
    axis = run.loop.axes[depth]
    begin, end = constant(DType.I64, 0), block.index(axis.extent)
    if depth == len(run.loop.axes) - 1:
        return write_axis(run, block, (begin, end), states)
    with block.code.loop(begin, end, 1, flat(states)) as loop:
        inside = block.inside({axis.symbol.name: loop.index}, block.lanes)
        loop.next = flat(_axes(run, inside, depth + 1, run.grouped(loop.carried)))
    return run.grouped(loop.results)


def write_axis(run: Run, block: Block, span: tuple[Reg, Reg], states: tuple[State, ...]) -> tuple[State, ...]:
    """Write the innermost axis from span[0] (a multiple of the vector length) to span[1].

    Chunks of `copies` vectors come first, then single vectors, the last of them masked.
    """
    begin, end = span
    code = block.code
    middle = _whole_chunks(block, begin, end, run.width * run.copies)
    if not _is_empty(begin, middle):
        chunks = _blocks if _is_long(run) else _chunks
        states = chunks(run, block, (begin, middle), states)
    if _is_empty(middle, end):
        return states
    one = len(run.steps)
    single = replace(run, width=min(run.width, block.features.lanes))
    with code.loop(middle, end, single.width, flat(states[:one])) as loop:
        mask = _remaining(block, loop.index, end, single.width) if run.width > 1 else None
        loop.next = flat(_body(single, block, loop.index, mask, run.grouped(loop.carried)))
    return (*run.grouped(loop.results), *states[one:])


def _is_empty(begin: Reg, end: Reg) -> bool:
    return begin.number is not None and end.number is not None and end.number <= begin.number


def _whole_chunks(block: Block, begin: Reg, end: Reg, chunk: int) -> Reg:
    """Return begin + the largest multiple of `chunk` (a power of two) below the span's length."""
    first, last = begin.number, end.number
    if chunk == 1:
        return end
    if first is not None and last is not None:
        return constant(DType.I64, first + (last - first) // chunk * chunk)
    code = block.code
    length = code.op("and", code.op("sub", end, begin), constant(DType.I64, -chunk))
    return code.op("add", begin, length)


def _chunks(run: Run, block: Block, span: tuple[Reg, Reg], states: tuple[State, ...]) -> tuple[State, ...]:
    """Write the loop over whole chunks."""
    one = len(run.steps)
    with block.code.loop(*span, run.width * run.copies, flat(states)) as loop:
        carried = run.grouped(loop.carried)
        after: list[State] = []
        for copy in range(run.copies):
            base = (
                block.code.op("add", loop.index, constant(DType.I64, copy * run.width))
                if copy
                else loop.index
            )
            after += _body(run, block, base, None, carried[copy * one : (copy + 1) * one])
        loop.next = flat(after)
    return run.grouped(loop.results)


def _blocks(run: Run, block: Block, span: tuple[Reg, Reg], states: tuple[State, ...]) -> tuple[State, ...]:
    """Write the loop over whole chunks in blocks; each starts anew and is merged into the totals."""
    code = block.code
    length = run.width * run.copies * BLOCK
    with code.loop(*span, length, flat(states)) as loop:
        end = code.intrinsic("smin", code.op("add", loop.index, constant(DType.I64, length)), span[1])
        first = tuple(step.initial(run.lanes) for _ in range(run.copies) for step in run.steps)
        partial_states = _chunks(run, block, (loop.index, end), first)
        totals = run.grouped(loop.carried)
        merged = [
            run.steps[number % len(run.steps)].merge(code, total, part)
            for number, (total, part) in enumerate(zip(totals, partial_states, strict=True))
        ]
        loop.next = flat(merged)
    return run.grouped(loop.results)


def _is_long(run: Run) -> bool:
    """Tell whether a float sum is so long that blocks keep it more accurate."""
    if not any(each.op == "sum" and each.dtype.is_float for each in run.loop.reduces):
        return False
    chunks = product(axis.extent for axis in run.loop.axes)
    innermost = run.loop.axes[-1].extent
    if innermost.is_const and innermost.value < 8 * run.width * run.copies:
        return False
    return not chunks.is_const or chunks.value > 4 * BLOCK * run.width * run.copies


def _remaining(block: Block, base: Reg, end: Reg, count: int) -> Reg:
    """Return which of the lanes from `base` on lie before `end`."""
    if base.number is not None and end.number is not None:
        left = end.number - base.number
        items = ", ".join(f"i1 {'true' if lane < left else 'false'}" for lane in range(count))
        return Reg(f"<{items}>", DType.BOOL, count)
    code = block.code
    left = code.convert("trunc", code.op("sub", end, base), DType.I32)
    return code.compare("icmp slt", iota(count, DType.I32), code.splat(left, count))


def _body(run: Run, block: Block, base: Reg, mask: Reg | None, states: Sequence[State]) -> tuple[State, ...]:
    """Write one pass through the loop's body; return the states after it."""
    axis = run.loop.axes[-1]
    if axis.role is Role.VECTOR:
        lanes = Lanes(axis.symbol.name, run.width, base, mask)
        inside = block.inside({}, lanes)
    else:
        inside = block.inside({axis.symbol.name: base}, block.lanes)
    write(inside, run.loop.body)
    after: list[State] = []
    for each, step, state in zip(run.loop.reduces, run.steps, states, strict=True):
        value = block.code.splat(inside.names[each.value], run.lanes)
        position = _position(run.loop, inside) if step.needs_position else constant(DType.I64, 0)
        new = step.step(block.code, state, value, position)
        after.append(new if mask is None else chosen(block.code, mask, new, state))
    return tuple(after)


def _position(loop: Loop, inside: Block) -> Reg:
    """Return the number of this iteration in the order of the loop's axes."""
    position = as_expr(0)
    for axis in loop.axes:
        position = position * axis.extent + axis.symbol
    return inside.index(position)

"""Branches of which one side only raises: the other side is captured, under a check in the graph.

    if (scale <= 0).any():
        raise ValueError("scales are positive")

The numbers exist only when the graph runs. Where its check fails, the call runs as plain Python, which raises
what the program says at its place (`residual.Recovery`): nothing of the raising side is captured, and nothing
of the check is lost. Such a branch is left to Python as any other where that would not be the same: where the
program may catch the exception and go on, and where the graph has written to its inputs before. What this
package has in Python for functions of C raises to end an iterator, which is no exception of the program.
"""

import torch

from supple.capture.bytecode import Decoded, Instruction
from supple.capture.bytecode.analysis import successors
from supple.capture.interp.frame import Frame
from supple.capture.library.checks import can_run_again, expected
from supple.capture.library.contents import item_of
from supple.capture.values.base import Value
from supple.capture.values.constant import ConstantValue
from supple.capture.values.symbolic import SymbolicValue
from supple.capture.values.tensor import TensorValue
from supple.expr import Expr, not_equal
from supple.expr.simplify import negated
from supple.runtime.undo import RAISES

_RAISES = frozenset({"RAISE_VARARGS", "RERAISE"})
_LEAVES = frozenset({"RETURN_VALUE", "YIELD_VALUE", "SEND", "FOR_ITER"})
_LONGEST = 200
_COUNTS = frozenset((torch.bool, torch.int64, torch.int32))


def only_raises(code: Decoded, start: int, jump: int) -> bool:
    """Tell whether every way from an instruction raises, without a loop, out of what a jump there is in."""
    work, seen, around = [start], {start}, code.handler_at(jump)
    while work:
        index = work.pop()
        one = code.instructions[index]
        if one.op in _RAISES:
            region = code.handler_at(index)
            is_out = region is None or (around is not None and region.handler == around.handler)
            onward = [] if region is None or is_out else [region.handler]
        else:
            onward = successors(code.instructions, index)
        if one.op in _LEAVES or len(seen) > _LONGEST or any(after <= index for after in onward):
            return False
        work.extend(after for after in onward if after not in seen)
        seen.update(onward)
    return True


def is_true(frame: Frame, instruction: Instruction, value: Value) -> bool:
    """Return the truth of what a conditional jump, the instruction before `frame.pc`, decides by."""
    if not _is_undecided(frame, value):
        return value.truth(frame.engine)
    jumps_if = instruction.op == "POP_JUMP_IF_TRUE"
    assert instruction.target is not None, instruction
    ends = [only_raises(frame.code, place, frame.pc - 1) for place in (instruction.target, frame.pc)]
    if ends[0] == ends[1] or frame.is_of_library or not can_run_again(frame.engine):
        return value.truth(frame.engine)
    wanted = jumps_if is not ends[0]
    _expect(frame, value, wanted)
    return wanted


def _is_undecided(frame: Frame, value: Value) -> bool:
    """Tell whether only the run decides whether a value is true."""
    if isinstance(value, SymbolicValue):
        return isinstance(value.expr, Expr) and not frame.engine.sizes.env.is_backed(value.expr)
    return isinstance(value, TensorValue)


def _expect(frame: Frame, value: Value, wanted: bool) -> None:
    engine = frame.engine
    if isinstance(value, TensorValue):
        is_plain = value.fake.dtype in _COUNTS
        value = item_of(engine, value if is_plain else engine.compare("!=", value, ConstantValue(0)))
    assert isinstance(value, SymbolicValue), value.describe()
    condition = value.expr
    assert isinstance(condition, Expr), condition
    if value.python_type() is not bool:
        condition = not_equal(condition, 0)
    expected(engine, condition if wanted else negated(condition), RAISES)

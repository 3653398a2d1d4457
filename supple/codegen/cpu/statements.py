"""Statements -> code, one rule for each kind; loops are in `vector`."""

from collections.abc import Callable, Sequence
from typing import Final

from supple.base.rules import Rules
from supple.codegen.cpu import division, math, memory
from supple.codegen.cpu.block import Block, iota
from supple.codegen.cpu.convert import cast
from supple.codegen.cpu.registers import Reg, constant
from supple.codegen.cpu.scalars import Scalars, scalars
from supple.ir.dtypes import DType
from supple.ir.loops.nodes import Compute, IndexValue, Load, Statement, Store
from supple.ir.loops.types import operand_dtypes

#: Kind of statement -> (block, statement) -> None.
write_rules: Final[Rules[Callable[..., None]]] = Rules("LLVM statement")
LINE_COMPARISONS: Final = {"lt": "slt", "le": "sle", "gt": "sgt", "ge": "sge", "eq": "eq", "ne": "ne"}
SCALAR_RULES: Final = (math, division)
"""Modules that fill the table of scalar operators."""


def write(block: Block, statements: Sequence[Statement]) -> None:
    """Write the statements in order; the names they define are added to the block."""
    for statement in statements:
        write_rules[type(statement)](block, statement)


@write_rules.on(Load)
def _(block: Block, statement: Load) -> None:
    """A load defines its name."""
    block.names[statement.name] = memory.load(block, statement)


@write_rules.on(Store)
def _(block: Block, statement: Store) -> None:
    """A store defines nothing."""
    memory.store(block, statement)


@write_rules.on(IndexValue)
def _(block: Block, statement: IndexValue) -> None:
    """An index expression is computed in 64 bits."""
    if block.stride(statement.value) == 1:
        block.starts[statement.name] = block.index_at_lane_0(statement.value)
    block.names[statement.name] = cast(
        block.code, block.features, block.index(statement.value), statement.dtype
    )


@write_rules.on(Compute)
def _(block: Block, statement: Compute) -> None:
    """An operator on scalars stays scalar; with one vector among its operands all become vectors."""
    named = {arg: block.names[arg].dtype for arg in statement.args if isinstance(arg, str)}
    operands = [
        block.operand(arg, dtype)
        for arg, dtype in zip(statement.args, operand_dtypes(statement, named), strict=True)
    ]
    is_line = len(operands) == 2 and statement.op in LINE_COMPARISONS and statement.args[0] in block.starts
    if is_line and operands[1].lanes == 1:
        block.names[statement.name] = _compared_line(block, statement, operands[1])
        return
    lanes = max(reg.lanes for reg in operands)
    operands = [block.code.splat(reg, lanes) for reg in operands]
    emit = scalars[statement.op]
    block.names[statement.name] = emit(Scalars(block.code, block.features), statement.dtype, tuple(operands))


def _compared_line(block: Block, statement: Compute, bound: Reg) -> Reg:
    """Return a comparison of an integer that grows by 1 per lane with one that is the same in all.

    Lanes are numbered in 32 bits; a bound before the first or beyond the last is moved there.
    """
    code, lanes = block.code, block.width
    place = code.op("sub", cast(code, block.features, bound, DType.I64), block.starts[str(statement.args[0])])
    place = code.intrinsic("smax", place, constant(DType.I64, -1))
    place = code.convert("trunc", code.intrinsic("smin", place, constant(DType.I64, lanes)), DType.I32)
    return code.compare(
        f"icmp {LINE_COMPARISONS[statement.op]}", iota(lanes, DType.I32), code.splat(place, lanes)
    )

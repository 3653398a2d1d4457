"""Statements -> code, one rule for each kind; loops are in `vector`."""

from collections.abc import Callable, Sequence
from typing import Final

from supple.base.rules import Rules
from supple.codegen.cpu import division, math, memory
from supple.codegen.cpu.block import Block
from supple.codegen.cpu.convert import cast
from supple.codegen.cpu.scalars import Scalars, scalars
from supple.ir.loops.nodes import Compute, IndexValue, Load, Statement, Store
from supple.ir.loops.types import operand_dtypes

write_rules: Final[Rules[Callable[[Block, Statement], None]]] = Rules("LLVM statement")
SCALAR_RULES: Final = (math, division)
"""Modules that fill the table of scalar operators."""


def write(block: Block, statements: Sequence[Statement]) -> None:
    """Write the statements in order; the names they define are added to the block."""
    for statement in statements:
        write_rules[type(statement)](block, statement)


@write_rules.on(Load)
def _(block: Block, statement: Statement) -> None:
    """A load defines its name."""
    assert isinstance(statement, Load)
    block.names[statement.name] = memory.load(block, statement)


@write_rules.on(Store)
def _(block: Block, statement: Statement) -> None:
    """A store defines nothing."""
    assert isinstance(statement, Store)
    memory.store(block, statement)


@write_rules.on(IndexValue)
def _(block: Block, statement: Statement) -> None:
    """An index expression is computed in 64 bits."""
    assert isinstance(statement, IndexValue)
    block.names[statement.name] = cast(block.code, block.index(statement.value), statement.dtype)


@write_rules.on(Compute)
def _(block: Block, statement: Statement) -> None:
    """An operator on scalars stays scalar; with one vector among its operands all become vectors."""
    assert isinstance(statement, Compute)
    named = {arg: block.names[arg].dtype for arg in statement.args if isinstance(arg, str)}
    operands = [
        block.operand(arg, dtype)
        for arg, dtype in zip(statement.args, operand_dtypes(statement, named), strict=True)
    ]
    lanes = max(reg.lanes for reg in operands)
    operands = [block.code.splat(reg, lanes) for reg in operands]
    emit = scalars[statement.op]
    block.names[statement.name] = emit(Scalars(block.code, block.features), statement.dtype, tuple(operands))

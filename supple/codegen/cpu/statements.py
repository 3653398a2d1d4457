"""Statements -> code, one rule for each kind; loops are in `vector`."""

from collections.abc import Callable, Sequence
from typing import Final

from supple.base.rules import Rules
from supple.codegen.cpu import memory
from supple.codegen.cpu.block import Block
from supple.codegen.cpu.convert import cast
from supple.codegen.cpu.registers import Reg
from supple.codegen.cpu.scalars import Scalars, scalars
from supple.ir.dtypes import DType
from supple.ir.loops.nodes import Compute, IndexValue, Load, Scalar, Statement, Store
from supple.ir.loops.scalar_ops import SCALAR_OPS, Operands

write_rules: Final[Rules[Callable[[Block, Statement], None]]] = Rules("LLVM statement")
operand_rules: Final[Rules[Callable[[Block, Compute], list[Reg]]]] = Rules("LLVM operands")


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
    operands = operand_rules[SCALAR_OPS[statement.op].operands](block, statement)
    lanes = max(reg.lanes for reg in operands)
    operands = [block.code.splat(reg, lanes) for reg in operands]
    emit = scalars[statement.op]
    block.names[statement.name] = emit(Scalars(block.code, block.features), statement.dtype, tuple(operands))


def _all_of(block: Block, args: Sequence[Scalar], dtype: DType) -> list[Reg]:
    return [block.operand(arg, dtype) for arg in args]


@operand_rules.on(Operands.SAME, Operands.BITS)
def _(block: Block, statement: Compute) -> list[Reg]:
    """Operands have the dtype of the result."""
    return _all_of(block, statement.args, statement.dtype)


@operand_rules.on(Operands.COMPARE)
def _(block: Block, statement: Compute) -> list[Reg]:
    """Operands have the dtype of the first that is a name."""
    named = (block.names[arg].dtype for arg in statement.args if isinstance(arg, str))
    return _all_of(block, statement.args, next(named, DType.F64))


@operand_rules.on(Operands.WHERE)
def _(block: Block, statement: Compute) -> list[Reg]:
    """The first operand is b1, the others have the dtype of the result."""
    condition, *values = statement.args
    return [block.operand(condition, DType.BOOL), *_all_of(block, values, statement.dtype)]


@operand_rules.on(Operands.CAST)
def _(block: Block, statement: Compute) -> list[Reg]:
    """The operand has any dtype; a number has that of its Python type."""
    (value,) = statement.args
    match value:
        case bool():
            dtype = DType.BOOL
        case int():
            dtype = DType.I64
        case _:
            dtype = DType.F64
    return [block.operand(value, dtype)]

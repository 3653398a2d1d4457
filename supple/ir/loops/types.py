"""The dtypes of scalars and operands: what a statement's operator makes of them."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from supple.base.rules import Rules
from supple.ir.dtypes import DType
from supple.ir.loops.nodes import Compute, Loop, Scalar, Statement, Store, flat
from supple.ir.loops.scalar_ops import SCALAR_OPS, Operands

Dtypes = Mapping[str, DType]


def definitions(statements: Iterable[Statement]) -> Iterator[tuple[str, DType]]:
    """Yield each scalar that the statements define, inner loops included, with its dtype."""
    for statement in flat(statements):
        if not isinstance(statement, Store):
            named = statement.reduces if isinstance(statement, Loop) else (statement,)
            yield from ((each.name, each.dtype) for each in named)


def number_dtype(value: Scalar) -> DType:
    """Return the dtype of a number that stands alone, by its Python type."""
    if isinstance(value, bool):
        return DType.BOOL
    return DType.I64 if isinstance(value, int) else DType.F64


def operand_dtypes(statement: Compute, dtypes: Dtypes) -> tuple[DType, ...]:
    """Return the dtype that each operand must have, where `dtypes` gives those of names."""
    rule = operand_rules[SCALAR_OPS[statement.op].operands]
    return rule(statement, dtypes)


operand_rules: Final[Rules[Callable[[Compute, Dtypes], tuple[DType, ...]]]] = Rules("operand dtypes")


@operand_rules.on(Operands.SAME, Operands.BITS)
def _(statement: Compute, dtypes: Dtypes) -> tuple[DType, ...]:
    """Operands have the dtype of the result."""
    return (statement.dtype,) * len(statement.args)


@operand_rules.on(Operands.COMPARE)
def _(statement: Compute, dtypes: Dtypes) -> tuple[DType, ...]:
    """Operands have the dtype of the first that is a name; of numbers alone, float64."""
    named = (dtypes[arg] for arg in statement.args if isinstance(arg, str))
    return (next(named, DType.F64),) * len(statement.args)


@operand_rules.on(Operands.WHERE)
def _(statement: Compute, dtypes: Dtypes) -> tuple[DType, ...]:
    """The first operand is b1, the others have the dtype of the result."""
    return DType.BOOL, statement.dtype, statement.dtype


@operand_rules.on(Operands.FROM_BITS)
def _(statement: Compute, dtypes: Dtypes) -> tuple[DType, ...]:
    """The operand is the bits as an integer."""
    return (DType.I64,)


@operand_rules.on(Operands.CAST)
def _(statement: Compute, dtypes: Dtypes) -> tuple[DType, ...]:
    """The operand has any dtype; a number that of its Python type."""
    (value,) = statement.args
    return (dtypes[value] if isinstance(value, str) else number_dtype(value),)

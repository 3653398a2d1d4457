"""The scalar operators of the loop language, as data: name, number of operands, operand dtypes."""

from dataclasses import dataclass
from enum import Enum
from typing import Final

from supple.ir.core_ops import UNARY


class Operands(Enum):
    """Which dtypes an op takes. `SAME`: all operands have the statement's dtype."""

    SAME = "same"
    COMPARE = "compare"  # two of one dtype, named by the first operand that is a name; the result is b1
    WHERE = "where"  # (b1, same, same)
    CAST = "cast"  # one of any dtype; C-like value conversion, float to int truncates, to b1 is != 0
    FROM_BITS = "from bits"  # one i64; the result is f64
    BITS = "bits"  # integers and b1 only, all the same


@dataclass(frozen=True, slots=True)
class ScalarOp:
    """One scalar operator and what its operands are."""

    name: str
    arity: int
    operands: Operands = Operands.SAME


_BINARY: Final = (
    # div is true division (floats) or C division (integers); floordiv and mod follow Python's signs.
    "add sub mul div floordiv mod pow atan2 fmod min max hypot copysign"
).split()

_OPS: Final = (
    *(ScalarOp(name, 1) for name in UNARY),
    *(ScalarOp(name, 2) for name in _BINARY),
    ScalarOp("fma", 3),
    *(ScalarOp(name, 2, Operands.COMPARE) for name in ("eq", "ne", "lt", "le", "gt", "ge")),
    *(ScalarOp(name, 1, Operands.COMPARE) for name in ("isnan", "isinf")),
    ScalarOp("where", 3, Operands.WHERE),
    ScalarOp("cast", 1, Operands.CAST),
    ScalarOp("float_of_bits", 1, Operands.FROM_BITS),
    *(ScalarOp(name, 2, Operands.BITS) for name in ("and", "or", "xor", "shl", "shr")),
    ScalarOp("not", 1, Operands.BITS),
)
SCALAR_OPS: Final = {op.name: op for op in _OPS}

"""Scalar operations on numbers are computed while scheduling; some are decided by one operand."""

import math
import operator
from collections.abc import Callable
from typing import Final

from supple.ir.dtypes import DType
from supple.ir.loops.nodes import Scalar
from supple.schedule.define import number

_COMPARISONS: Final[dict[str, Callable[[float, float], bool]]] = {
    name: getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")
}


def folded(op: str, dtype: DType, args: tuple[Scalar, ...]) -> Scalar | None:
    """Return the operand or number that `op(args)` is known to be; None when it must be computed."""
    if op == "where" and isinstance(args[0], bool):
        return args[1] if args[0] else args[2]
    if op in ("and", "or") and dtype is DType.BOOL:
        return _connective(op, args)
    numbers = [arg for arg in args if not isinstance(arg, str)]
    if len(numbers) != len(args):
        return None
    if op == "cast":
        return number(numbers[0], dtype) if dtype.is_float or math.isfinite(numbers[0]) else None
    if op == "not" and dtype is DType.BOOL:
        return not numbers[0]
    if op in _COMPARISONS:
        return _COMPARISONS[op](*numbers)
    if op in ("isnan", "isinf"):
        return numbers[0] != numbers[0] if op == "isnan" else abs(numbers[0]) == float("inf")
    return None


def _connective(op: str, args: tuple[Scalar, ...]) -> Scalar | None:
    """Return `and` or `or` of booleans, one of them known."""
    for known, other in (args, args[::-1]):
        if isinstance(known, bool):
            return other if known is (op == "and") else known
    return None

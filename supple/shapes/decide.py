"""Decisions about sizes: the only place where a shape rule turns an Expr into a Python bool or int."""

from collections.abc import Iterable, Sequence

from supple.expr import Expr, as_expr, const
from supple.shapes.errors import Undecided

ONE = const(1)
ZERO = const(0)


def is_equal(left: Expr, right: Expr) -> bool:
    """Tell whether two sizes are the same number.

    Raises:
        Undecided: when that depends on a symbol.
    """
    if left is right:
        return True
    if left.is_const and right.is_const:
        return False
    return _number(left - right, "==") == 0


def is_less(left: Expr, right: Expr) -> bool:
    """Tell whether `left` < `right`.

    Raises:
        Undecided: when that depends on a symbol.
    """
    if left is right:
        return False
    if left.is_const and right.is_const:
        return left.value < right.value
    return _number(left - right, "<") < 0


def all_equal(left: Sequence[Expr], right: Sequence[Expr]) -> bool:
    """Tell whether two lists of sizes have the same length and numbers."""
    return len(left) == len(right) and all(map(is_equal, left, right))


def _number(difference: Expr, relation: str) -> int:
    if not difference.is_const:
        msg = f"nothing decides {difference} {relation} 0"
        raise Undecided(msg)
    return difference.value


def exprs(sizes: Iterable[Expr | int]) -> tuple[Expr, ...]:
    """Return sizes as expressions."""
    return tuple(as_expr(size) for size in sizes)


def printed(sizes: Iterable[Expr]) -> str:
    """Return sizes as torch prints them in messages: "[2, 3]"."""
    return f"[{', '.join(str(size) for size in sizes)}]"

"""The constructors: each returns the canonical form, so equal polynomials are the same object.

Sums and products are made by `polynomial`; the local rules for the other kinds are the table of `simplify`.
"""

from collections.abc import Callable, Iterable
from keyword import iskeyword
from typing import Final

from supple.base.memo import memo
from supple.expr.nodes import (
    FALSE,
    TRUE,
    And,
    BoolExpr,
    Const,
    Eq,
    Expr,
    FloorDiv,
    Le,
    Lt,
    Max,
    Min,
    Mod,
    Ne,
    Operand,
    Or,
    Symbol,
    Truth,
    construct,
    sort_key,
)
from supple.expr.polynomial import MEMO_SIZE, number
from supple.expr.simplify import negated, rewritten

RESERVED: Final = frozenset({"min", "max"})


def const(value: int) -> Const:
    """Return the constant `value`."""
    return Const(value)


def truth(value: bool) -> Truth:
    """Return TRUE or FALSE."""
    return TRUE if value else FALSE


def symbol(name: str, *, minimum: int | None = None, maximum: int | None = None) -> Symbol:
    """Return the symbol of this name and range; both bounds are inclusive, None is unbounded.

    Symbols of one name and different ranges are different to the algebra but evaluate to the same value: a
    name should have one range.

    Raises:
        ValueError: the name is not an identifier, or is a keyword, `min` or `max`; or the range is empty.
    """
    if not name.isidentifier() or iskeyword(name) or name in RESERVED:
        raise ValueError(f"{name!r} is not a name for a symbol")
    if minimum is not None and maximum is not None and minimum > maximum:
        raise ValueError(f"the range of {name} is empty: {minimum}..{maximum}")
    return Symbol(name, minimum, maximum)


@memo(MEMO_SIZE)
def _canonical(kind: type[FloorDiv | Mod | Min | Max | Eq | Ne | Lt | Le], *args: Expr) -> Expr:
    """Return what the rules make of `kind(*args)`."""
    found = rewritten(kind, args)
    return kind(*args) if found is None else found


def _of_two(kind: type[FloorDiv | Mod | Eq | Ne | Lt | Le]) -> Callable[[Operand, Operand], Expr]:
    """Return the constructor of a kind that has two numbers as operands."""

    @construct.on(kind)
    def constructor(left: Operand, right: Operand) -> Expr:
        return _canonical(kind, number(left), number(right))

    return constructor


floor_div, modulo = _of_two(FloorDiv), _of_two(Mod)
"""(numerator, divisor) -> the quotient, rounded down; the remainder, with the sign of the divisor.

Division by the constant 0 fails when evaluated."""
equal, not_equal = _of_two(Eq), _of_two(Ne)
"""(left, right) -> `left == right`; `left != right`."""
less, less_equal = _of_two(Lt), _of_two(Le)
"""(left, right) -> `left < right`; `left <= right`."""


def _flat(kind: type[Expr], args: Iterable[Expr]) -> tuple[Expr, ...]:
    """Return the operands with those of nested nodes of `kind` spliced in, each once, in the total order."""
    seen: set[Expr] = set()
    for arg in args:
        seen.update(arg.args if type(arg) is kind else (arg,))
    return tuple(sorted(seen, key=sort_key))


def _extreme(kind: type[Min | Max], operands: tuple[Operand, ...]) -> Expr:
    """Return the canonical Min or Max."""
    args = _flat(kind, map(number, operands))
    if not args:
        raise ValueError(f"{kind.__name__} of nothing")
    if len(args) == 1:
        return args[0]
    return _canonical(kind, *args)


@construct.on(Min)
def minimum(*operands: Operand) -> Expr:
    """Return the least of the operands, one at least."""
    return _extreme(Min, operands)


@construct.on(Max)
def maximum(*operands: Operand) -> Expr:
    """Return the greatest of the operands, one at least."""
    return _extreme(Max, operands)


def boolean(value: Expr | bool) -> Expr:
    """Return `value` as a boolean expression.

    Raises:
        TypeError: `value` is a number.
    """
    if isinstance(value, bool):
        return truth(value)
    if isinstance(value, BoolExpr):
        return value
    raise TypeError(f"{value!r} is not true or false")


def _connective(kind: type[And | Or], operands: tuple[Expr | bool, ...]) -> Expr:
    """Return the canonical conjunction or disjunction: flat, sorted, constants absorbed."""
    neutral, absorbing = (TRUE, FALSE) if kind is And else (FALSE, TRUE)
    args = tuple(arg for arg in _flat(kind, map(boolean, operands)) if arg is not neutral)
    if absorbing in args:
        return absorbing
    if len(args) < 2:
        return args[0] if args else neutral
    known = set(args)
    if any(negate(arg) in known for arg in args):
        return absorbing
    return kind(*args)


@construct.on(And)
def both(*operands: Expr | bool) -> Expr:
    """Return the conjunction; TRUE of nothing."""
    return _connective(And, operands)


@construct.on(Or)
def either(*operands: Expr | bool) -> Expr:
    """Return the disjunction; FALSE of nothing."""
    return _connective(Or, operands)


def negate(operand: Expr | bool) -> Expr:
    """Return the negation: the opposite comparison, or the connective of the opposites."""
    return negated(boolean(operand))

"""Isolate one symbol in a comparison: 2*s + 6 == 20 becomes s == 7, 3*s <= t becomes s <= t // 3."""

from dataclasses import dataclass

from supple.expr.divide import exact_quotient
from supple.expr.interval import excludes_zero
from supple.expr.nodes import BoolExpr, Eq, Expr, Le, Lt, Ne, Symbol
from supple.expr.walk import coefficient


@dataclass(frozen=True, slots=True)
class Isolated:
    """A symbol compared with a value that is free of it.

    Attributes:
        relation: one of "==", "!=", "<=", ">=".
    """

    symbol: Symbol
    relation: str
    value: Expr


def isolate(e: Expr, symbol: Symbol) -> Isolated | None:
    """Return a comparison with `symbol` alone on one side; None when it cannot be isolated exactly.

    An equation needs a factor of the symbol that divides the rest and is known not to be 0; an order needs an
    integer factor.
    """
    if not isinstance(e, BoolExpr) or type(e) not in (Eq, Ne, Le, Lt):
        return None
    difference = e.args[1] - e.args[0] - int(type(e) is Lt)
    found = coefficient(difference, symbol)
    if found is None:
        return None
    factor, rest = found
    if type(e) in (Eq, Ne):
        value = exact_quotient(-rest, factor) if excludes_zero(factor) else None
        return None if value is None else Isolated(symbol, "==" if type(e) is Eq else "!=", value)
    if not factor.is_const or not factor.value:
        return None
    if factor.value > 0:
        return Isolated(symbol, ">=", (factor - 1 - rest) // factor)
    return Isolated(symbol, "<=", rest // -factor)

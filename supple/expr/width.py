"""Whether a number may need more than 64 bits: memory bounds sizes, nothing bounds integers of a program."""

from typing import Final

from supple.base.memo import memo
from supple.expr.nodes import BoolExpr, Expr, Function, Symbol, factors_of

WIDE_FACTOR: Final = 2**14
"""A size, which memory bounds, times less than this fits into 64 bits."""
WIDE_SUMMAND: Final = 2**62
"""Sizes and less than this fit into 64 bits."""


@memo(4096)
def may_be_wide(e: Expr) -> bool:
    """Tell whether a number may leave 64 bits: a product of symbols, or of an integer of the program."""
    if isinstance(e, Function | BoolExpr):
        return any(map(may_be_wide, e.args))
    if abs(e.constant) >= WIDE_SUMMAND:
        return True
    for mono, coefficient in e.terms:
        factors = factors_of(mono)
        atoms = [atom for atom, power in factors for _ in range(power)]
        is_bounded = all(_is_narrow(atom) for atom in atoms)
        if len(atoms) > 1 or not is_bounded or abs(coefficient) >= WIDE_FACTOR:
            return True
    return False


def _is_narrow(atom: Expr) -> bool:
    """Tell whether an atom is a size, or computed from such; an integer of the program has no least value."""
    if isinstance(atom, Symbol):
        return atom.minimum is not None and (atom.minimum >= 0 or atom.maximum is not None)
    return not may_be_wide(atom)

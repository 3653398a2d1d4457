"""Look into expressions and replace symbols: free symbols, substitution, coefficients."""

from collections.abc import Mapping

from supple.base.memo import memo
from supple.expr.divide import exact_quotient
from supple.expr.nodes import Expr, FloorDiv, Mod, Operand, Symbol, construct, factors_of, monomial
from supple.expr.polynomial import MEMO_SIZE, as_expr, polynomial


@memo(MEMO_SIZE)
def free_symbols(e: Expr) -> frozenset[Symbol]:
    """Return the symbols in `e`; to iterate in the same order in every process, sort by `sort_key`."""
    if isinstance(e, Symbol):
        return frozenset((e,))
    nothing: frozenset[Symbol] = frozenset()
    return nothing.union(*map(free_symbols, e.args))


@memo(MEMO_SIZE)
def may_divide_by_zero(e: Expr) -> bool:
    """Tell whether a division in `e` has a divisor that is not constant."""
    divides = isinstance(e, FloorDiv | Mod) and not e.args[1].is_const
    return divides or any(map(may_divide_by_zero, e.args))


def substitute(e: Expr, replacements: Mapping[Symbol, Operand]) -> Expr:
    """Return `e` with all symbols replaced at once, in canonical form."""
    known: dict[Expr, Expr] = {old: as_expr(new) for old, new in replacements.items()}
    return _substitute(e, frozenset(replacements), known)


def _substitute(e: Expr, symbols: frozenset[Symbol], known: dict[Expr, Expr]) -> Expr:
    """Return `e` with the parts that contain `symbols` rebuilt; `known` maps parts that were met before."""
    found = known.get(e)
    if found is not None:
        return found
    if symbols.isdisjoint(free_symbols(e)):
        return e
    result = construct[type(e)](*[_substitute(arg, symbols, known) for arg in e.args])
    known[e] = result
    return result


def undivided(e: Expr) -> Expr:
    """Return `e` with divisions of multiples of their divisors replaced by quotients: no divisor is 0."""
    known: dict[Expr, Expr] = {}

    def found(part: Expr) -> Expr:
        if part not in known:
            quotient = exact_quotient(*part.args) if isinstance(part, FloorDiv) else None
            whole = part if quotient is None else quotient
            known[part] = construct[type(whole)](*map(found, whole.args)) if whole.args else whole
        return known[part]

    return found(e)


def coefficient(e: Expr, symbol: Symbol) -> tuple[Expr, Expr] | None:
    """Return (a, b) with `e == a*symbol + b`, free of `symbol`; None when `e` is not affine in it."""
    with_symbol: dict[Expr, int] = {}
    constant = 0
    without: dict[Expr, int] = {}
    for mono, c in e.terms:
        if symbol not in free_symbols(mono):
            without[mono] = c
            continue
        if mono is symbol:
            constant = c
            continue
        rest = tuple(factor for factor in factors_of(mono) if factor != (symbol, 1))
        if any(symbol in free_symbols(atom) for atom, _ in rest):
            return None
        with_symbol[monomial(rest)] = c
    return polynomial(constant, with_symbol), polynomial(e.constant, without)

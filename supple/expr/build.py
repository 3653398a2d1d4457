"""The constructors: each returns the canonical form, so equal polynomials are the same object.

Sums and products are merged here; the local rules for the other kinds are the table of `simplify`. A number is a
polynomial over atoms (see `nodes`); products are multiplied out.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from keyword import iskeyword
from typing import Final

from supple.expr.nodes import (
    FALSE,
    OPERANDS,
    TRUE,
    Add,
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
    Mul,
    Ne,
    Not,
    Operand,
    Or,
    Symbol,
    Truth,
    construct,
    factors_of,
    monomial,
    scaled,
    sort_key,
)
from supple.expr.simplify import rewritten

RESERVED: Final = frozenset({"min", "max"})


def const(value: int) -> Const:
    """Return the constant `value`."""
    return Const(value)


def truth(value: bool) -> Truth:  # noqa: FBT001
    """Return TRUE or FALSE."""
    return TRUE if value else FALSE


def symbol(name: str, *, minimum: int | None = None, maximum: int | None = None) -> Symbol:
    """Return the symbol of this name and range; both bounds are inclusive, None is unbounded.

    Raises:
        ValueError: the name is not an identifier, or is a keyword, `min` or `max`; or the range is empty.
    """
    if not name.isidentifier() or iskeyword(name) or name in RESERVED:
        msg = f"{name!r} is not a name for a symbol"
        raise ValueError(msg)
    if minimum is not None and maximum is not None and minimum > maximum:
        msg = f"the range of {name} is empty: {minimum}..{maximum}"
        raise ValueError(msg)
    return Symbol(name, minimum, maximum)


def as_expr(value: Operand) -> Expr:
    """Return `value` itself if it is an expression, else the constant.

    Raises:
        TypeError: `value` is neither.
    """
    if isinstance(value, Expr):
        return value
    if isinstance(value, int):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are not all typed
        return Const(value)
    msg = f"{value!r} is neither an expression nor an int"
    raise TypeError(msg)


def number(value: Operand) -> Expr:
    """Return `as_expr(value)`.

    Raises:
        TypeError: `value` is a boolean expression.
    """
    e = as_expr(value)
    if isinstance(e, BoolExpr):
        msg = f"{e} is true or false, not a number"
        raise TypeError(msg)
    return e


def polynomial(constant: int, coefficients: Mapping[Expr, int]) -> Expr:
    """Return `constant + sum(coefficient * monomial)`; coefficients may be 0."""
    terms = [term for term in coefficients.items() if term[1]]
    if not terms:
        return Const(constant)
    if len(terms) == 1 and not constant:
        mono, coefficient = terms[0]
        return scaled(coefficient, mono)
    terms.sort(key=lambda term: term[0].sort_key)
    return Add(constant, tuple(terms))


def total(operands: Iterable[Operand]) -> Expr:
    """Return the sum of all operands, in time linear in their terms."""
    constant = 0
    coefficients: dict[Expr, int] = {}
    for operand in operands:
        e = number(operand)
        constant += e.constant
        for mono, coefficient in e.terms:
            coefficients[mono] = coefficients.get(mono, 0) + coefficient
    return polynomial(constant, coefficients)


@construct.on(Add)
def add(*operands: Operand) -> Expr:
    """Return the sum."""
    return total(operands)


@construct.on(Mul)
def multiply(*operands: Operand) -> Expr:
    """Return the product, multiplied out."""
    result: Expr = Const(1)
    for operand in operands:
        result = _product(result, number(operand))
    return result


def product(operands: Iterable[Operand]) -> Expr:
    """Return the product of all operands, multiplied out."""
    return multiply(*operands)


def _product(a: Expr, b: Expr) -> Expr:
    """Return the product of two polynomials."""
    if a.is_const:
        a, b = b, a
    if b.is_const:
        factor = b.constant
        if factor == 1:
            return a
        return polynomial(a.constant * factor, {mono: c * factor for mono, c in a.terms})
    coefficients: dict[Expr, int] = {}
    for left, c in a.terms:
        for right, d in b.terms:
            mono = _monomial_product(left, right)
            coefficients[mono] = coefficients.get(mono, 0) + c * d
    for e, constant in ((a, b.constant), (b, a.constant)):
        if constant:
            for mono, c in e.terms:
                coefficients[mono] = coefficients.get(mono, 0) + c * constant
    return polynomial(a.constant * b.constant, coefficients)


def _monomial_product(a: Expr, b: Expr) -> Expr:
    """Return the product of two monomials."""
    powers = Counter(dict(factors_of(a)))
    for atom, exponent in factors_of(b):
        powers[atom] += exponent
    return monomial(tuple(sorted(powers.items(), key=lambda factor: factor[0].sort_key)))


@construct.on("power")
def power(base: Operand, exponent: int) -> Expr:
    """Return `base ** exponent`, multiplied out.

    Raises:
        ValueError: the exponent is negative.
    """
    if exponent < 0:
        msg = f"the exponent {exponent} is negative"
        raise ValueError(msg)
    result: Expr = Const(1)
    square = number(base)
    while exponent:
        if exponent & 1:
            result = _product(result, square)
        exponent >>= 1
        if exponent:
            square = _product(square, square)
    return result


@construct.on(FloorDiv)
def floor_div(numerator: Operand, divisor: Operand) -> Expr:
    """Return `numerator // divisor`, rounded down. Division by the constant 0 stays and fails when evaluated."""
    a, d = number(numerator), number(divisor)
    found = rewritten(FloorDiv, (a, d))
    return FloorDiv(a, d) if found is None else found


@construct.on(Mod)
def modulo(numerator: Operand, divisor: Operand) -> Expr:
    """Return `numerator % divisor`, with the sign of the divisor."""
    a, d = number(numerator), number(divisor)
    found = rewritten(Mod, (a, d))
    return Mod(a, d) if found is None else found


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
        msg = f"{kind.__name__} of nothing"
        raise ValueError(msg)
    if len(args) == 1:
        return args[0]
    found = rewritten(kind, args)
    return kind(*args) if found is None else found


@construct.on(Min)
def minimum(*operands: Operand) -> Expr:
    """Return the least of the operands, one at least."""
    return _extreme(Min, operands)


@construct.on(Max)
def maximum(*operands: Operand) -> Expr:
    """Return the greatest of the operands, one at least."""
    return _extreme(Max, operands)


def _compare(kind: type[Eq | Ne | Lt | Le], left: Operand, right: Operand) -> Expr:
    """Return the canonical comparison."""
    args = (number(left), number(right))
    found = rewritten(kind, args)
    return kind(*args) if found is None else found


@construct.on(Eq)
def equal(left: Operand, right: Operand) -> Expr:
    """Return `left == right`."""
    return _compare(Eq, left, right)


@construct.on(Ne)
def not_equal(left: Operand, right: Operand) -> Expr:
    """Return `left != right`."""
    return _compare(Ne, left, right)


@construct.on(Lt)
def less(left: Operand, right: Operand) -> Expr:
    """Return `left < right`."""
    return _compare(Lt, left, right)


@construct.on(Le)
def less_equal(left: Operand, right: Operand) -> Expr:
    """Return `left <= right`."""
    return _compare(Le, left, right)


def boolean(value: Expr | bool) -> Expr:  # noqa: FBT001
    """Return `value` as a boolean expression.

    Raises:
        TypeError: `value` is a number.
    """
    if isinstance(value, bool):
        return truth(value)
    if isinstance(value, BoolExpr):
        return value
    msg = f"{value!r} is not true or false"
    raise TypeError(msg)


def _connective(kind: type[And | Or], operands: tuple[Expr | bool, ...]) -> Expr:
    """Return the canonical conjunction or disjunction: flat, sorted, constants absorbed."""
    neutral, absorbing = (TRUE, FALSE) if kind is And else (FALSE, TRUE)
    args = tuple(arg for arg in _flat(kind, map(boolean, operands)) if arg is not neutral)
    if absorbing in args:
        return absorbing
    if len(args) < 2:  # noqa: PLR2004
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


@construct.on(Not)
def negate(operand: Expr | bool) -> Expr:  # noqa: FBT001
    """Return the negation: of a comparison the opposite comparison."""
    e = boolean(operand)
    found = rewritten(Not, (e,))
    return Not(e) if found is None else found


@construct.on(Const)
def _(value: int) -> Expr:
    """A constant."""
    return Const(value)


assert OPERANDS, "the operators of nodes need their operand types"

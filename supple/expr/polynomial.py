"""Sums, products and powers of polynomials over atoms, merged and multiplied out."""

from collections.abc import Iterable, Mapping
from typing import Final

from supple.base.memo import memo
from supple.expr import nodes
from supple.expr.nodes import Const, Expr, Operand, construct, factors_of, monomial, scaled

MEMO_SIZE: Final = 1 << 16


def as_expr(value: Operand) -> Expr:
    """Return `value` itself if it is an expression, else the constant.

    Raises:
        TypeError: `value` is neither.
    """
    if isinstance(value, Expr):
        return value
    if isinstance(value, int):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are not all typed
        return Const(value)
    raise TypeError(f"{value!r} is neither an expression nor an int")


def number(value: Operand) -> Expr:
    """Return `as_expr(value)`.

    Raises:
        TypeError: `value` is a boolean expression.
    """
    e = as_expr(value)
    if isinstance(e, nodes.BoolExpr):
        raise TypeError(f"{e} is true or false, not a number")
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
    return nodes.Add(constant, tuple(terms))


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


@construct.on(nodes.Add)
def add(*operands: Operand) -> Expr:
    """Return the sum."""
    return _sum(*operands) if len(operands) == 2 else total(operands)


@memo(MEMO_SIZE)
def _sum(a: Operand, b: Operand) -> Expr:
    """Return the sum of two operands."""
    return total((a, b))


def product(operands: Iterable[Operand]) -> Expr:
    """Return the product of all operands, multiplied out."""
    result: Expr = Const(1)
    for operand in operands:
        result = _product(result, operand)
    return result


@construct.on(nodes.Mul)
def multiply(*operands: Operand) -> Expr:
    """Return the product, multiplied out."""
    return _product(*operands) if len(operands) == 2 else product(operands)


@memo(MEMO_SIZE)
def _product(left: Operand, right: Operand) -> Expr:
    """Return the product of two operands."""
    a, b = number(left), number(right)
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
            mono = monomial_product(left, right)
            coefficients[mono] = coefficients.get(mono, 0) + c * d
    for e, constant in ((a, b.constant), (b, a.constant)):
        if constant:
            for mono, c in e.terms:
                coefficients[mono] = coefficients.get(mono, 0) + c * constant
    return polynomial(a.constant * b.constant, coefficients)


def monomial_product(a: Expr, b: Expr) -> Expr:
    """Return the product of two monomials."""
    powers = dict(factors_of(a))
    for atom, exponent in factors_of(b):
        powers[atom] = powers.get(atom, 0) + exponent
    return monomial(tuple(sorted(powers.items(), key=lambda factor: factor[0].sort_key)))


@construct.on("power")
def power(base: Operand, exponent: int) -> Expr:
    """Return `base ** exponent`, multiplied out.

    Raises:
        ValueError: the exponent is negative.
    """
    if exponent < 0:
        raise ValueError(f"the exponent {exponent} is negative")
    result: Expr = Const(1)
    square = number(base)
    while exponent:
        if exponent & 1:
            result = _product(result, square)
        exponent >>= 1
        if exponent:
            square = _product(square, square)
    return result

"""Exact facts about division of polynomials: multiples split off, common factors, contents.

Everything here is an identity of polynomials or of integers; what needs the range of a value says so.
"""

from functools import reduce
from math import gcd

from supple.expr.interval import excludes_zero, interval
from supple.expr.nodes import Expr, Operand, factors_of, monomial, scaled
from supple.expr.polynomial import monomial_product, number, polynomial


def content(e: Expr) -> int:
    """Return the greatest integer that divides every coefficient and the constant; 0 for 0."""
    return reduce(gcd, (c for _, c in e.terms), abs(e.constant))


def divided_by_int(e: Expr, divisor: int) -> Expr:
    """Return `e / divisor`, where `divisor` divides the content."""
    return polynomial(e.constant // divisor, {mono: c // divisor for mono, c in e.terms})


def _truncated(c: int, d: int) -> int:
    """Return c / d rounded towards 0, so that the remainder has the sign of c."""
    q = abs(c) // abs(d)
    return q if (c < 0) == (d < 0) else -q


def split(a: Expr, d: Expr) -> tuple[Expr, Expr]:
    """Return (q, r) with `a == d*q + r`; q is 0 where no term of `a` is a multiple of `d`.

    By a constant: the constant of r is in [0, |d|), the other coefficients of r are less than |d| and keep
    their sign. By a polynomial of several terms: q is not 0 only if r has fewer terms than `a`.
    """
    if d.is_const:
        return _split_by_int(a, d.value)
    if len(d.terms) == 1 and not d.constant:
        return _split_by_term(a, *d.terms[0])
    return _split_by_sum(a, d)


def _split_by_int(a: Expr, d: int) -> tuple[Expr, Expr]:
    """Split by a constant."""
    if not d:
        return number(0), a
    if all(abs(c) < abs(d) for _, c in a.terms) and 0 <= a.constant < abs(d):
        return number(0), a
    quotients = {mono: _truncated(c, d) for mono, c in a.terms}
    remainders = {mono: c - d * quotients[mono] for mono, c in a.terms}
    rest = a.constant % abs(d)
    return polynomial((a.constant - rest) // d, quotients), polynomial(rest, remainders)


def _split_by_term(a: Expr, mono: Expr, c: int) -> tuple[Expr, Expr]:
    """Split by `c * mono`."""
    quotient: dict[Expr, int] = {}
    constant = 0
    remainder: dict[Expr, int] = {}
    for term, coefficient in a.terms:
        cofactor = _cofactor(term, mono)
        q = 0 if cofactor is None else _truncated(coefficient, c)
        remainder[term] = coefficient - q * c
        if cofactor is None:
            continue
        if cofactor.is_const:
            constant = q
        else:
            quotient[cofactor] = q
    return polynomial(constant, quotient), polynomial(a.constant, remainder)


def _cofactor(term: Expr, mono: Expr) -> Expr | None:
    """Return `term / mono` for monomials, 1 included; None when `mono` does not divide `term`."""
    if term is mono:
        return number(1)
    powers = dict(factors_of(term))
    for atom, power in factors_of(mono):
        left = powers.get(atom, 0) - power
        if left < 0:
            return None
        powers[atom] = left
    return monomial(tuple((atom, power) for atom, power in powers.items() if power))


def _split_by_sum(a: Expr, d: Expr) -> tuple[Expr, Expr]:
    """Split by a sum: long division by its first term, which has the highest degree."""
    lead, lead_coefficient = d.terms[0]
    rest: dict[Expr, int] = dict(a.terms)
    constant = a.constant
    quotient = number(0)
    for mono, _ in a.terms:
        cofactor = _cofactor(mono, lead)
        q = 0 if cofactor is None else _truncated(rest.get(mono, 0), lead_coefficient)
        if cofactor is None or not q:
            continue
        step = scaled(q, cofactor) if not cofactor.is_const else number(q)
        quotient += step
        for other, c in d.terms:
            key = other if cofactor.is_const else monomial_product(other, cofactor)
            rest[key] = rest.get(key, 0) - q * c
        if cofactor.is_const:
            constant -= q * d.constant
        else:
            rest[cofactor] = rest.get(cofactor, 0) - q * d.constant
    remainder = polynomial(constant, rest)
    if _size(remainder) < _size(a):
        return quotient, remainder
    return number(0), a


def _size(e: Expr) -> int:
    """Return the number of summands."""
    return len(e.terms) + (e.constant != 0)


def exact_quotient(numerator: Operand, divisor: Operand) -> Expr | None:
    """Return q with `numerator == divisor*q` as polynomials; None when there is none."""
    a, d = number(numerator), number(divisor)
    if d.is_const and not d.value:
        return None
    q, r = split(a, d)
    return q if r.is_const and not r.value else None


def common_factor(a: Expr, d: Expr) -> Expr | None:
    """Return the largest product of atoms that divides `a` and `d` and is known not to be 0; None for 1."""
    if a.constant or d.constant or not a.terms or not d.terms:
        return None
    monomials = [mono for mono, _ in (*d.terms, *a.terms)]
    powers = dict(factors_of(monomials[0]))
    for mono in monomials[1:]:
        others = dict(factors_of(mono))
        powers = {atom: min(power, others[atom]) for atom, power in powers.items() if atom in others}
    factors = tuple((atom, power) for atom, power in powers.items() if excludes_zero(atom))
    return monomial(factors) if factors else None


def aligned(a: Expr, g: int) -> tuple[Expr, Expr] | None:
    """Return (u, r) with `a == g*u + r` and 0 <= r < g by the interval of r; None when that is not known."""
    low = polynomial(a.constant % g, {mono: c for mono, c in a.terms if c % g})
    bounds = interval(low)
    if bounds.lo is None or bounds.hi is None or bounds.lo // g != bounds.hi // g:
        return None
    low -= bounds.lo // g * g
    return divided_by_int(a - low, g), low


def steps(a: Expr, d: Expr) -> list[int]:
    """Return the integers above 1 that divide `d` and some coefficient of `a`, largest first."""
    whole = content(d)
    return sorted({gcd(c, whole) for _, c in a.terms} - {0, 1}, reverse=True)

"""Expressions as z3 terms: a second opinion on what follows from what."""

from collections.abc import Callable, Iterable
from typing import Final

import z3

from supple.expr import (
    Add,
    And,
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
    Or,
    Symbol,
    free_symbols,
    negate,
)

Term = z3.ExprRef


def _floor_div(x: Term, d: Term) -> Term:
    """z3 rounds so that the remainder is not negative; Python rounds down."""
    return z3.If(d > 0, x / d, (-x) / (-d))


def _product(*args: Term) -> Term:
    """Return the product."""
    result = args[0]
    for arg in args[1:]:
        result = result * arg
    return result


def _least(*args: Term) -> Term:
    """Return the least."""
    result = args[0]
    for arg in args[1:]:
        result = z3.If(arg < result, arg, result)
    return result


MEANING: Final[dict[type[Expr], Callable[..., Term]]] = {
    Add: lambda *args: z3.Sum(*args),
    Mul: _product,
    FloorDiv: _floor_div,
    Mod: lambda x, d: x - d * _floor_div(x, d),
    Min: _least,
    Max: lambda *args: -_least(*(-arg for arg in args)),
    Eq: lambda x, y: x == y,
    Ne: lambda x, y: x != y,
    Lt: lambda x, y: x < y,
    Le: lambda x, y: x <= y,
    And: z3.And,
    Or: z3.Or,
}


def term(e: Expr) -> Term:
    """Return an expression as a z3 term."""
    if isinstance(e, Symbol):
        return z3.Int(e.name)
    if isinstance(e, Const):
        return z3.IntVal(e.value)
    if e.is_const:
        return z3.BoolVal(bool(e.value))
    return MEANING[type(e)](*map(term, e.args))


def solver_of(symbols: Iterable[Symbol], milliseconds: int = 10_000) -> z3.Solver:
    """Return a solver that knows the ranges of the symbols."""
    solver = z3.Solver()
    solver.set("timeout", milliseconds)
    for s in symbols:
        solver.add(*([z3.Int(s.name) >= s.minimum] if s.minimum is not None else []))
        solver.add(*([z3.Int(s.name) <= s.maximum] if s.maximum is not None else []))
    return solver


def follows(facts: Iterable[Expr], claim: Expr, milliseconds: int = 10_000) -> bool:
    """Tell whether z3 shows that the facts leave no counterexample to the claim."""
    listed = [*facts, negate(claim)]
    solver = solver_of(frozenset().union(*map(free_symbols, listed)), milliseconds)
    solver.add(*map(term, listed))
    return solver.check() == z3.unsat

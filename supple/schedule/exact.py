"""Integers that the host computes for a kernel, exactly, where 64 bits may not hold what is in between.

Sums and products that wrap are right as long as their result fits. Quotients, remainders, minima, maxima and
conditions are not: those of sizes alone become numbers that the kernel is given.

    before:  for k < (n * n) % 7        (kernel of n)
    after:   for k < number0            (the host passes n * n % 7)
"""

from collections.abc import Callable

from supple.base.memo import memo
from supple.expr import Expr, Symbol, free_symbols, interval, symbol
from supple.expr.interval import Interval
from supple.expr.nodes import BoolExpr, Function, construct
from supple.expr.width import may_be_wide

Computed = dict[Expr, Symbol]
"""The symbol that stands for each number that the host computes."""


def stands_for(number: Expr, computed: Computed) -> Symbol:
    """Return the symbol of a number that the host computes, with its range; a condition is 0 or 1."""
    if number not in computed:
        bounds = Interval(0, 1) if isinstance(number, BoolExpr) else interval(number)
        made = symbol(f"number{len(computed)}", minimum=bounds.lo, maximum=bounds.hi)
        assert isinstance(made, Symbol), f"{number} is one number"
        computed[number] = made
    return computed[number]


def exact(e: Expr, sizes: frozenset[Symbol], name: Callable[[Expr], Symbol]) -> Expr:
    """Return an expression in which `name` stands for each part of sizes that 64 bits may not hold."""
    known: dict[Expr, Expr] = {}

    def made(e: Expr) -> Expr:
        if e not in known:
            known[e] = found(e)
        return known[e]

    def found(e: Expr) -> Expr:
        symbols = free_symbols(e)
        if not symbols or not _has_function(e):
            return e
        if isinstance(e, Function | BoolExpr) and symbols <= sizes and any(map(may_be_wide, e.args)):
            return name(e)
        return construct[type(e)](*map(made, e.args))

    return made(e)


@memo(4096)
def _has_function(e: Expr) -> bool:
    return isinstance(e, Function | BoolExpr) or any(map(_has_function, e.args))

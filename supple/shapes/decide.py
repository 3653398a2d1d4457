"""Questions of shape rules about sizes. See `env` for the three kinds of question.

`is_equal`, `is_less` and `number` are questions that the program's result depends on: left open by the
facts, they are answered as it is for this call, and guarded. `generally` and `is_one` are the framework's: an
unknown size is taken to be a general one (at least 2), nothing is guarded, and what the rule does with the
answer must be right for every size.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache

from supple.expr import (
    Expr,
    Symbol,
    as_expr,
    const,
    equal,
    free_symbols,
    interval,
    less,
    simplify,
    substitute,
    symbol,
)
from supple.shapes import env
from supple.shapes.errors import Undecided

ONE = const(1)
ZERO = const(0)


def is_equal(left: Expr, right: Expr) -> bool:
    """Tell whether two sizes are the same number; guarded.

    Raises:
        Undecided: when that depends on an unbacked symbol, or no compilation is active.
    """
    if left is right:
        return True
    if left.is_const and right.is_const:
        return False
    return decide(equal(left, right))


def is_less(left: Expr, right: Expr) -> bool:
    """Tell whether `left` < `right`; guarded.

    Raises:
        Undecided: when that depends on an unbacked symbol, or no compilation is active.
    """
    if left is right:
        return False
    if left.is_const and right.is_const:
        return left.value < right.value
    return decide(less(left, right))


def decide(condition: Expr) -> bool:
    """Tell whether a condition on sizes holds; guarded.

    Raises:
        Undecided: when that depends on an unbacked symbol, or no compilation is active.
    """
    if condition.is_const:
        return bool(condition.value)
    active = env.active()
    if active is None:
        raise Undecided(condition)
    return active.decide(condition)


def is_known(condition: Expr) -> bool:
    """Tell whether a condition is known to hold; never guards."""
    if condition.is_const:
        return bool(condition.value)
    active = env.active()
    return active is not None and active.is_known(condition)


def number(size: Expr | int) -> int:
    """Return a size as a number; a symbolic one is specialised to what it is in this call.

    Raises:
        Undecided: it depends on an unbacked symbol, or no compilation is active.
    """
    if isinstance(size, int):
        return size
    if size.is_const:
        return size.value
    active = env.active()
    if active is None:
        raise Undecided(size)
    return active.specialize(size)


def is_one(size: Expr) -> bool:
    """Tell whether a size is known to be 1; unknown ones are taken not to be."""
    return size is ONE or is_known(equal(size, ONE))


@lru_cache(maxsize=8192)
def generally(condition: Expr) -> bool:
    """Tell whether a condition holds when all sizes in it are at least 2; where that leaves it open, no."""
    if condition.is_const:
        return bool(condition.value)
    general = {s: _at_least_2(s) for s in free_symbols(condition)}
    found = simplify(substitute(condition, general))
    return found.is_const and bool(found.value)


def _at_least_2(s: Symbol) -> Expr:
    lo, hi = interval(s).lo, interval(s).hi
    if lo is not None and (lo >= 2 or lo < 0):
        return s
    return s if hi is not None and hi <= 2 else symbol(f"{s.name}_general", minimum=2, maximum=hi)


def all_equal(left: Sequence[Expr], right: Sequence[Expr]) -> bool:
    """Tell whether two lists of sizes have the same length and numbers; guarded."""
    return len(left) == len(right) and all(map(is_equal, left, right))


def exprs(sizes: Iterable[Expr | int]) -> tuple[Expr, ...]:
    """Return sizes as expressions."""
    return tuple(as_expr(size) for size in sizes)


def printed(sizes: Iterable[Expr]) -> str:
    """Return sizes as torch prints them in messages: "[2, 3]"."""
    return f"[{', '.join(str(size) for size in sizes)}]"

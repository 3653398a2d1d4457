"""Questions of shape rules about sizes. See `env` for the three kinds of question.

`decide`, `is_equal` and `number` are questions that the program's result depends on: left open by the facts,
they are answered as it is for this call, and guarded. `requires` and `must_equal` ask for what an error
follows from otherwise: of integers that are known at run time only, it is checked then. `generally` and
`is_one` are the framework's: an unknown size is taken to be a general one (at least 2), nothing is guarded,
and what the rule does with the answer must be right for every size.
"""

from collections.abc import Iterable, Sequence
from itertools import product

from supple import expr
from supple.base.memo import memo
from supple.expr import (
    Expr,
    both,
    equal,
    free_symbols,
    interval,
    less_equal,
    simplify,
    substitute,
    symbol,
)
from supple.expr.real import Ratio, Real, ratio
from supple.shapes import env
from supple.shapes.errors import Undecided

ONE = expr.const(1)
ZERO = expr.const(0)


def _active(asked: object) -> env.ShapeEnv:
    """Return the environment of the compilation that runs.

    Raises:
        Undecided: there is none to answer what is asked.
    """
    found = env.active()
    if found is None:
        raise Undecided(asked)
    return found


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


def decide(condition: Expr) -> bool:
    """Tell whether a condition on sizes holds; guarded.

    Raises:
        Undecided: when that depends on an unbacked symbol, or no compilation is active.
    """
    return bool(condition.value) if condition.is_const else _active(condition).decide(condition)


def requires(condition: Expr) -> bool:
    """Tell whether a condition holds without which there is an error; where it depends on an unbacked symbol,
    it is taken for true and checked when the program runs.

    Raises:
        Undecided: no compilation is active.
    """
    active = env.active()
    if condition.is_const or active is None or active.is_backed(condition):
        return decide(condition)
    if not active.oblivious(condition, otherwise=True):
        return False
    active.expect(condition)
    return True


def must_equal(left: Expr, right: Expr) -> bool:
    """Tell whether two sizes are the same number, as they must be; see `requires`."""
    return left is right or requires(equal(left, right))


def all_must_equal(left: Sequence[Expr], right: Sequence[Expr]) -> bool:
    """Tell whether two lists of sizes have the same length and numbers, as they must; see `requires`."""
    return len(left) == len(right) and all(map(must_equal, left, right))


def is_known(condition: Expr) -> bool:
    """Tell whether a condition is known to hold; never guards."""
    if condition.is_const:
        return bool(condition.value)
    active = env.active()
    return active is not None and active.is_known(condition)


def is_so(condition: Expr) -> bool:
    """Tell whether a condition holds; guarded. One that depends on an unbacked symbol is taken for false."""
    active = env.active()
    is_decided = condition.is_const or (active is not None and active.is_backed(condition))
    return decide(condition) if is_decided else is_known(condition)


def number(size: Expr | int) -> int:
    """Return a size as a number; a symbolic one is specialised to what it is in this call.

    Raises:
        Undecided: it depends on an unbacked symbol, or no compilation is active.
    """
    if isinstance(size, int):
        return size
    return size.value if size.is_const else _active(size).specialize(size)


def exact_ratio(value: Real) -> Ratio | None:
    """Return the quotient of integers that the size of a result is; None where float arithmetic rounds.

    What is not larger than the quotient itself is small enough: no result has so many elements.
    """
    found = ratio(value)
    if found is None:
        return None
    top = found.numerator
    is_small = all(
        is_known(both(less_equal(ZERO, part), less_equal(part, top))) or _active(part).is_exact(part)
        for part in found.through
    )
    return found if is_small else None


def real_number(value: object) -> float:
    """Return a number, symbolic ones specialised to what they are in this call; see `number`."""
    if isinstance(value, int | float):
        return value
    return _active(value).specialize_real(value)


def hint(size: Expr) -> int:
    """Return what a size is in this call, without a guard.

    Raises:
        Undecided: it depends on an unbacked symbol, or no compilation is active.
    """
    return size.value if size.is_const else _active(size).hint(size)


def is_backed(size: Expr) -> bool:
    """Tell whether a size has a value in this call."""
    active = env.active()
    return size.is_const or (active is not None and active.is_backed(size))


def current(size: Expr) -> Expr:
    """Return a size in the simplest form that the facts give."""
    active = env.active()
    return size if active is None else active.current(size)


def is_one(size: Expr) -> bool:
    """Tell whether a size is known to be 1; unknown ones are taken not to be."""
    return size is ONE or is_known(equal(size, ONE))


@memo(8192)
def generally(condition: Expr) -> bool:
    """Tell whether a condition holds when all sizes in it are at least 2; where that leaves it open, no."""
    if condition.is_const:
        return bool(condition.value)
    general = {s: _at_least_2(s) for s in free_symbols(condition)}
    found = simplify(substitute(condition, general))
    return found.is_const and bool(found.value)


def _at_least_2(s: expr.Symbol) -> Expr:
    lo, hi = interval(s).lo, interval(s).hi
    if lo is not None and (lo >= 2 or lo < 0):
        return s
    if hi is not None and hi <= 2:
        return s
    # Counted from 2: then s < s**2, for one, is a sum of what is not negative.
    return 2 + symbol(f"{s.name}_general", minimum=0, maximum=None if hi is None else hi - 2)


def always(condition: Expr) -> bool:
    """Tell whether a condition holds for all sizes that the facts allow, tried for 0, 1 and general ones."""
    return is_known(condition) or _by_cases(condition)


@memo(8192)
def _by_cases(condition: Expr) -> bool:
    general = {s: _at_least_2(s) for s in free_symbols(condition)}
    if len(general) > 3:
        return False
    cases = [
        (big,) if big is s else (*(expr.as_expr(size) for size in (0, 1) if size in interval(s)), big)
        for s, big in general.items()
    ]
    return all(
        simplify(substitute(condition, dict(zip(general, case, strict=True)))) is expr.TRUE
        for case in product(*cases)
    )


def exprs(sizes: Iterable[Expr | int]) -> tuple[Expr, ...]:
    """Return sizes as expressions."""
    return tuple(map(expr.as_expr, sizes))

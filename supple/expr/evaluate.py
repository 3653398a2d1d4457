"""The obvious evaluator over Python ints: the oracle of the tests, and what a hint is."""

from collections.abc import Callable, Mapping
from math import prod
from typing import Final, TypeAlias

from supple.base.rules import Rules
from supple.expr.nodes import (
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
    Not,
    Or,
    Symbol,
    Truth,
)

Meaning: TypeAlias = Callable[[Expr, Mapping[str, int], list[int]], int]
meanings: Final[Rules[Meaning]] = Rules("evaluate")


def evaluate(e: Expr, env: Mapping[str, int]) -> int:
    """Return the value of `e`, an int or a bool, where `env` gives the symbols by name.

    The ranges of symbols are not checked. Shared parts are evaluated once.

    Raises:
        KeyError: a symbol has no value.
        ZeroDivisionError: a division by 0 was met, needed or not.
    """
    return _evaluate(e, env, {})


def _evaluate(e: Expr, env: Mapping[str, int], known: dict[Expr, int]) -> int:
    """Return the value of `e`, from `known` when it was met before."""
    value = known.get(e)
    if value is None:
        value = meanings[type(e)](e, env, [_evaluate(arg, env, known) for arg in e.args])
        known[e] = value
    return value


@meanings.on(Const, Truth)
def _(e: Expr, env: Mapping[str, int], args: list[int]) -> int:
    """The constant itself."""
    return e.value


@meanings.on(Symbol)
def _(e: Expr, env: Mapping[str, int], args: list[int]) -> int:
    """What the environment says."""
    assert isinstance(e, Symbol), f"{e} is not a symbol"
    return env[e.name]


@meanings.on(Add)
def _(e: Expr, env: Mapping[str, int], args: list[int]) -> int:
    """The sum."""
    return sum(args)


@meanings.on(Mul)
def _(e: Expr, env: Mapping[str, int], args: list[int]) -> int:
    """The product."""
    return prod(args)


@meanings.on(FloorDiv)
def _(e: Expr, env: Mapping[str, int], args: list[int]) -> int:
    """Rounded down."""
    return args[0] // args[1]


@meanings.on(Mod)
def _(e: Expr, env: Mapping[str, int], args: list[int]) -> int:
    """With the sign of the divisor."""
    return args[0] % args[1]


@meanings.on(Min)
def _(e: Expr, env: Mapping[str, int], args: list[int]) -> int:
    """The least."""
    return min(args)


@meanings.on(Max)
def _(e: Expr, env: Mapping[str, int], args: list[int]) -> int:
    """The greatest."""
    return max(args)


@meanings.on(Eq)
def _(e: Expr, env: Mapping[str, int], args: list[int]) -> int:
    """Equal."""
    return args[0] == args[1]


@meanings.on(Ne)
def _(e: Expr, env: Mapping[str, int], args: list[int]) -> int:
    """Not equal."""
    return args[0] != args[1]


@meanings.on(Lt)
def _(e: Expr, env: Mapping[str, int], args: list[int]) -> int:
    """Less."""
    return args[0] < args[1]


@meanings.on(Le)
def _(e: Expr, env: Mapping[str, int], args: list[int]) -> int:
    """Less or equal."""
    return args[0] <= args[1]


@meanings.on(And)
def _(e: Expr, env: Mapping[str, int], args: list[int]) -> int:
    """All are true."""
    return all(args)


@meanings.on(Or)
def _(e: Expr, env: Mapping[str, int], args: list[int]) -> int:
    """One is true."""
    return any(args)


@meanings.on(Not)
def _(e: Expr, env: Mapping[str, int], args: list[int]) -> int:
    """It is false."""
    return not args[0]

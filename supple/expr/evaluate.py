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

Meaning: TypeAlias = Callable[[list[int]], int]
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
    if e.is_const:
        return e.value
    if isinstance(e, Symbol):
        return env[e.name]
    value = known.get(e)
    if value is None:
        value = meanings[type(e)]([_evaluate(arg, env, known) for arg in e.args])
        known[e] = value
    return value


meanings.on(Add)(sum)
meanings.on(Mul)(prod)
meanings.on(Min)(min)
meanings.on(Max)(max)
meanings.on(And)(all)
meanings.on(Or)(any)


@meanings.on(FloorDiv)
def _(args: list[int]) -> int:
    """Rounded down."""
    return args[0] // args[1]


@meanings.on(Mod)
def _(args: list[int]) -> int:
    """The sign of the divisor."""
    return args[0] % args[1]


@meanings.on(Eq)
def _(args: list[int]) -> bool:
    """Equal."""
    return args[0] == args[1]


@meanings.on(Ne)
def _(args: list[int]) -> bool:
    """Not equal."""
    return args[0] != args[1]


@meanings.on(Lt)
def _(args: list[int]) -> bool:
    """Less."""
    return args[0] < args[1]


@meanings.on(Le)
def _(args: list[int]) -> bool:
    """Less or equal."""
    return args[0] <= args[1]


@meanings.on(Not)
def _(args: list[int]) -> bool:
    """Not."""
    return not args[0]


@meanings.on(Const, Truth)
def _(args: list[int]) -> int:
    """A constant has no operands; its value is taken before this table is asked."""
    msg = f"a constant with operands {args}"
    raise AssertionError(msg)

"""The obvious evaluator over Python ints: the oracle of the tests, and what a hint is."""

from collections.abc import Callable, Mapping, Sequence
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
    Or,
    Symbol,
    Truth,
)

Meaning: TypeAlias = Callable[[Sequence[int]], int]
meanings: Final[Rules[Meaning]] = Rules("evaluate")
meanings.on(Add)(sum)
meanings.on(Mul)(prod)
meanings.on(FloorDiv)(lambda args: args[0] // args[1])
meanings.on(Mod)(lambda args: args[0] % args[1])
meanings.on(Min)(min)
meanings.on(Max)(max)
meanings.on(Eq)(lambda args: args[0] == args[1])
meanings.on(Ne)(lambda args: args[0] != args[1])
meanings.on(Lt)(lambda args: args[0] < args[1])
meanings.on(Le)(lambda args: args[0] <= args[1])
meanings.on(And)(all)
meanings.on(Or)(any)


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
    if isinstance(e, Symbol):
        return env[e.name]
    if isinstance(e, Const | Truth):
        return e.value
    value = known.get(e)
    if value is None:
        value = meanings[type(e)]([_evaluate(arg, env, known) for arg in e.args])
        known[e] = value
    return value

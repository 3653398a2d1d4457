"""The obvious evaluator over Python ints: the oracle of the tests, and what a hint is."""

from collections.abc import Mapping
from functools import reduce

from supple.expr.nodes import Const, Expr, Symbol, Truth
from supple.expr.python import PYTHON


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
        value = known[e] = reduce(PYTHON[e.sign], [_evaluate(arg, env, known) for arg in e.args])
    return value

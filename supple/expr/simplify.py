"""Rewrite rules, one table, each with its side condition; and `simplify`, which applies all of them."""

from collections.abc import Callable
from functools import cache
from typing import Final, TypeAlias

from supple.base.rules import Rules
from supple.expr.interval import interval
from supple.expr.nodes import Const, Eq, Expr, FloorDiv, Le, Lt, Mod, Ne, Not, Symbol, Truth, construct

Rule: TypeAlias = Callable[[tuple[Expr, ...]], Expr | None]
simplifications: Final[Rules[Rule]] = Rules("simplification")


@cache
def _rules_of(kind: type[Expr]) -> tuple[Rule, ...]:
    """Return the rules for nodes of `kind`."""
    return tuple(simplifications[key] for key in simplifications if isinstance(key, tuple) and key[0] is kind)


def rewritten(kind: type[Expr], args: tuple[Expr, ...]) -> Expr | None:
    """Return what the first rule that applies to `kind(*args)` makes of it; None when none applies."""
    for rule in _rules_of(kind):
        found = rule(args)
        if found is not None:
            return found
    return None


@cache
def simplify(e: Expr) -> Expr:
    """Return an equal expression to which no rule applies any more."""
    if not e.args:
        return e
    return construct[type(e)](*map(simplify, e.args))


@simplifications.on((FloorDiv, "constants"))
def _(args: tuple[Expr, ...]) -> Expr | None:
    """a // b is computed when both are constants and b is not 0."""
    a, b = args
    return Const(a.value // b.value) if a.is_const and b.is_const and b.value else None


@simplifications.on((Mod, "constants"))
def _(args: tuple[Expr, ...]) -> Expr | None:
    """a % b is computed when both are constants and b is not 0."""
    a, b = args
    return Const(a.value % b.value) if a.is_const and b.is_const and b.value else None


@simplifications.on((Eq, "interval"))
def _(args: tuple[Expr, ...]) -> Expr | None:
    """a == b is decided by the interval of a - b."""
    bounds = interval(args[0] - args[1])
    if 0 not in bounds:
        return Truth(False)  # noqa: FBT003
    return Truth(True) if bounds.lo == bounds.hi == 0 else None  # noqa: FBT003


@simplifications.on((Ne, "interval"))
def _(args: tuple[Expr, ...]) -> Expr | None:
    """a != b is decided by the interval of a - b."""
    bounds = interval(args[0] - args[1])
    if 0 not in bounds:
        return Truth(True)  # noqa: FBT003
    return Truth(False) if bounds.lo == bounds.hi == 0 else None  # noqa: FBT003


@simplifications.on((Lt, "interval"))
def _(args: tuple[Expr, ...]) -> Expr | None:
    """a < b is decided by the interval of b - a."""
    bounds = interval(args[1] - args[0])
    if bounds.lo is not None and bounds.lo >= 1:
        return Truth(True)  # noqa: FBT003
    return Truth(False) if bounds.hi is not None and bounds.hi <= 0 else None  # noqa: FBT003


@simplifications.on((Le, "interval"))
def _(args: tuple[Expr, ...]) -> Expr | None:
    """a <= b is decided by the interval of b - a."""
    bounds = interval(args[1] - args[0])
    if bounds.lo is not None and bounds.lo >= 0:
        return Truth(True)  # noqa: FBT003
    return Truth(False) if bounds.hi is not None and bounds.hi < 0 else None  # noqa: FBT003


OPPOSITE: Final[Rules[Callable[..., Expr]]] = Rules("opposite")


@simplifications.on((Not, "comparison"))
def _(args: tuple[Expr, ...]) -> Expr | None:
    """The negation of a comparison is the opposite comparison; of a negation, its operand."""
    (e,) = args
    kind = type(e)
    if kind is Truth:
        return Truth(not e.value)
    if kind is Not:
        return e.args[0]
    if kind is Eq:
        return construct[Ne](*e.args)
    if kind is Ne:
        return construct[Eq](*e.args)
    if kind is Lt:
        return construct[Le](e.args[1], e.args[0])
    if kind is Le:
        return construct[Lt](e.args[1], e.args[0])
    return None


assert Symbol, "imported"

"""Floats that a program computes from sizes: `n / 2`, `scale * n`, `sqrt(d)`.

A Real is evaluated, never simplified: float arithmetic is not exact. Where it is known to be exact, `ratio`
turns a Real into integers, and conditions on it into conditions on sizes.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from supple.expr.evaluate import evaluate
from supple.expr.nodes import Expr, Symbol
from supple.expr.polynomial import as_expr
from supple.expr.text import text
from supple.expr.walk import free_symbols, substitute

EXACT_BITS: Final = 2**20
"""Factors below this leave products with sizes below 2**33 exact in a float."""

_BINARY: Final[dict[str, Callable[[float, float], float]]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "**": lambda a, b: a**b,
    "min": min,
    "max": max,
}
FUNCTIONS: Final[dict[str, Callable[..., float]]] = {**_BINARY, "float": float, "sqrt": math.sqrt}


@dataclass(frozen=True, slots=True)
class Real:
    """One operation on sizes and floats.

    Attributes:
        op: a key of FUNCTIONS, or "input": a float that the caller passes, named by the only argument.
        args: Reals, Exprs and floats.
    """

    op: str
    args: tuple[object, ...]

    def __str__(self) -> str:
        parts = [text(arg, ranges=False) if isinstance(arg, Expr) else str(arg) for arg in self.args]
        if self.op == "input":
            return parts[0]
        if self.op.isidentifier():
            return f"{self.op}({', '.join(parts)})"
        return f"({f' {self.op} '.join(parts)})"


def evaluate_real(real: object, env: Mapping[str, int], floats: Mapping[str, float]) -> float:
    """Return the value of a Real, Expr or float for values of its symbols and float inputs."""
    if isinstance(real, Expr):
        return evaluate(real, env)
    if not isinstance(real, Real):
        assert isinstance(real, int | float), real
        return real
    if real.op == "input":
        return floats[str(real.args[0])]
    return FUNCTIONS[real.op](*(evaluate_real(arg, env, floats) for arg in real.args))


def symbols_of(real: object) -> frozenset[Symbol]:
    """Return the size symbols in a Real."""
    return frozenset(found for leaf in leaves(real) if isinstance(leaf, Expr) for found in free_symbols(leaf))


def inputs_of(real: object) -> frozenset[str]:
    """Return the names of the float inputs in a Real."""
    if not isinstance(real, Real):
        return frozenset()
    if real.op == "input":
        return frozenset((str(real.args[0]),))
    return frozenset(name for arg in real.args for name in inputs_of(arg))


def leaves(real: object) -> Iterator[object]:
    """Yield the Exprs and floats that a Real is made of."""
    if isinstance(real, Real):
        for arg in real.args if real.op != "input" else ():
            yield from leaves(arg)
    else:
        yield real


def replaced(real: object, replacements: Mapping[Symbol, Expr]) -> object:
    """Return a Real, Expr or float with symbols replaced."""
    if isinstance(real, Expr):
        return substitute(real, replacements)
    if isinstance(real, Real) and real.op != "input":
        return Real(real.op, tuple(replaced(arg, replacements) for arg in real.args))
    return real


def ratio(real: object) -> tuple[Expr, int] | None:
    """Return (numerator, positive denominator) when the float is their quotient, rounded once at most.

    None where float arithmetic may round in between.
    """
    match real:
        case Expr():
            return real, 1
        case int() | float():
            if not math.isfinite(real):
                return None
            exact = Fraction(real)
            small = max(abs(exact.numerator), exact.denominator) < EXACT_BITS
            return (as_expr(exact.numerator), exact.denominator) if small else None
        case Real(op="float", args=(inner,)):
            return ratio(inner)
        case Real(op="*" | "/" | "+" | "-" as op, args=(left, right)):
            return _combined(op, ratio(left), ratio(right))
        case _:
            return None


def _combined(
    op: str, left: tuple[Expr, int] | None, right: tuple[Expr, int] | None
) -> tuple[Expr, int] | None:
    if left is None or right is None or not (_is_exact(left[1]) and (_is_exact(right[1]))):
        return None
    (a, b), (c, d) = left, right
    match op:
        case "*":
            made = a * c, b * d
        case "/":
            if not c.is_const or c.value <= 0:
                return None
            made = a * d, b * c.value
        case "+":
            made = a * d + c * b, b * d
        case _:
            made = a * d - c * b, b * d
    return made if made[1] < EXACT_BITS else None


def _is_exact(denominator: int) -> bool:
    """A quotient by a power of two is a float without rounding."""
    return denominator & (denominator - 1) == 0

"""Floats that a program computes from sizes: `n / 2`, `scale * n`, `sqrt(d)`.

A Real is evaluated, never simplified: float arithmetic is not exact. Where it is exact for integers that are
not too large, `ratio` turns a Real into integers, and conditions on it into conditions on sizes; that the
integers are not too large is for the caller to guard.
"""

import ast
import math
import re
import struct
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, NoReturn, cast

from supple.base.memo import memo
from supple.expr.evaluate import evaluate
from supple.expr.nodes import Expr, Symbol
from supple.expr.polynomial import MEMO_SIZE, as_expr
from supple.expr.python import PYTHON, SIGNS
from supple.expr.text import LOOSE, TIGHT, Kept, Print, parse, printers, text
from supple.expr.walk import free_symbols, substitute

EXACT_BITS: Final = 2**20
"""Constants of a ratio are below this."""
EXACT: Final = 2**52
"""Up to this a float holds every integer, and a quotient of two does not round to another integer."""

OF_MATH: Final = "exp expm1 log log2 log10 log1p tanh atan erf erfc".split()
"""Functions of module math that give a float for every number of an open interval, and no other thing."""
_MATH: Final = ("sqrt", "sin", "cos", "floor", "ceil", "trunc", *OF_MATH)
OPERATORS: Final = frozenset(("+", "-", "*", "/", "//", "%", "**"))
FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    **{sign: PYTHON[sign] for sign in (*OPERATORS, "min", "max")},
    "float": float,
    **{name: getattr(math, name) for name in _MATH},
    "round": round,
    "abs": abs,
}
NAMES: Final[dict[str, object]] = {name: getattr(math, name) for name in (*_MATH, "inf", "nan")}
"""What the text of a Real uses beyond Python's builtins."""
OF_INTEGERS: Final = frozenset(("/", "float", "sqrt", "sin", "cos", "input", *OF_MATH))
"""Operations that make a float of integers."""


class Real:
    """One operation on sizes and floats; interned as an Expr is, so equal ones are one object.

    Attributes:
        op: a key of FUNCTIONS; or "input": a float that the caller passes (f0, ...), or that a tensor holds
            when the program runs (uf0, ...), named by the only argument.
        args: Reals, Exprs and floats.
    """

    __slots__ = ("__weakref__", "args", "op")

    op: str
    args: tuple[object, ...]

    def __new__(cls, op: str, args: tuple[object, ...]) -> "Real":
        """Return the one Real with these operands; integers become what the operation makes a float of."""
        args = tuple(as_expr(arg) if isinstance(arg, int) else arg for arg in args)
        if op not in OF_INTEGERS and all(isinstance(arg, Expr) for arg in args):
            args = (Real("float", args[:1]), *args[1:])
        made = object.__new__(cls)
        object.__setattr__(made, "op", op)
        object.__setattr__(made, "args", args)
        key = (op, *(struct.pack("=d", arg) if isinstance(arg, float) else arg for arg in args))
        with _LOCK:
            return _INTERNED.setdefault(key, made)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a Real is immutable; cannot set {name!r}")

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return Real, (self.op, self.args)

    def __copy__(self) -> "Real":
        return self

    def __deepcopy__(self, memo: object) -> "Real":
        return self

    def __repr__(self) -> str:
        return text(self, ranges=False)


_INTERNED: Final[weakref.WeakValueDictionary[tuple[object, ...], Real]] = weakref.WeakValueDictionary()
"""By operation and operands, floats as their bits: -0.0 equals 0.0."""
_LOCK: Final = threading.RLock()


@printers.on(Real)
def _(real: Real, show: Print) -> tuple[str, int]:
    """An operator between operands that stand in parentheses, a function of operands, or a name."""
    if real.op == "input":
        return str(real.args[0]), TIGHT
    if real.op in OPERATORS:
        return f" {real.op} ".join(show(arg, TIGHT) for arg in real.args), LOOSE
    return f"{real.op}({', '.join(show(arg) for arg in real.args)})", TIGHT


def total_text(number: "Expr | Real", shown: str) -> str:
    """Return the text of a number, which it has in code that runs for all sizes.

    Args:
        shown: its text. A division of sizes alone goes through `float_of`, as tensors may be empty.
    """
    is_total = isinstance(number, Expr) or "/" not in shown or inputs_of(number)
    return shown if is_total else f"float_of(lambda: {shown})"


@dataclass(frozen=True, slots=True)
class Comparison:
    """A condition on numbers of which one at least is a Real: `op` is Python's, and `holds` its truth.

    The opposite of `<` is not `>=`: NaN is neither.
    """

    op: str
    left: object
    right: object
    holds: bool = True

    def __str__(self) -> str:
        return self.text()

    def text(self, kept: Kept | None = None) -> str:
        """Return the condition as Python text; for `kept` see `Print`."""
        show = Print(ranges=False, kept=kept)
        shown = f"{show(self.left, TIGHT)} {self.op} {show(self.right, TIGHT)}"
        return shown if self.holds else f"not ({shown})"

    @property
    def names(self) -> frozenset[str]:
        """The symbols and float inputs in it."""
        return names_of(self.left) | names_of(self.right)


def parse_number(line: str) -> object:
    """Return the Real, Expr or float that `line` denotes; the inverse of `str`.

    Raises:
        ValueError: it denotes none.
    """
    return _read(ast.parse(line.strip(), mode="eval").body)


def _read(tree: ast.expr) -> object:
    match tree:
        case ast.Constant(value=float() as value):
            return value
        case ast.Name(id="inf" | "nan" as name):
            return NAMES[name]
        case ast.Name(id=name) if re.fullmatch(r"u?f\d+", name):
            return Real("input", (name,))
        case ast.UnaryOp(op=ast.USub(), operand=operand) if isinstance(value := _read(operand), float):
            return -value
        case ast.BinOp(left=left, op=operation, right=right):
            op, args = SIGNS.get(type(operation), ""), (_read(left), _read(right))
        case ast.Call(func=ast.Name(id=op)):
            args = tuple(map(_read, tree.args))
        case _:
            return parse(ast.unparse(tree))
    if op in FUNCTIONS and (op in OF_INTEGERS or not all(isinstance(arg, Expr) for arg in args)):
        return Real(op, args)
    return parse(ast.unparse(tree))


def evaluate_real(real: object, env: Mapping[str, int], floats: Mapping[str, float]) -> float:
    """Return the value of a Real, Expr or float for values of its symbols and float inputs."""
    known: dict[Real, float] = {}

    def value_of(number: object) -> float:
        if isinstance(number, Expr):
            return evaluate(number, env)
        if not isinstance(number, Real):
            assert isinstance(number, int | float), number
            return number
        if number.op == "input":
            return floats[str(number.args[0])]
        if number not in known:
            known[number] = FUNCTIONS[number.op](*map(value_of, number.args))
        return known[number]

    return value_of(real)


def computed(number: object) -> tuple[Callable[..., float], tuple[str, ...]]:
    """Return a function of plain numbers that gives an Expr or Real, and the names of its parameters."""
    names = (*sorted(s.name for s in symbols_of(number)), *sorted(inputs_of(number)))
    namespace = dict(NAMES)
    lines: list[str] = []

    def kept(_: object, shown: str) -> str:
        lines.append(f" _{len(lines)} = {shown}")
        return f"_{len(lines) - 1}"

    result = text(number, ranges=False, kept=kept)
    exec("\n".join((f"def compute({', '.join(names)}):", *lines, f" return {result}")), namespace)
    return cast("Callable[..., float]", namespace["compute"]), names


def leaves(real: object) -> Iterator[object]:
    """Yield the Exprs, floats and float inputs that a Real is made of, those of a shared part once."""
    met: set[Real] = set()
    ahead = [real]
    while ahead:
        part = ahead.pop()
        if not isinstance(part, Real) or part.op == "input":
            yield part
        elif part not in met:
            met.add(part)
            ahead += reversed(part.args)


def symbols_of(real: object) -> frozenset[Symbol]:
    """Return the size symbols in a Real."""
    return frozenset(found for leaf in leaves(real) if isinstance(leaf, Expr) for found in free_symbols(leaf))


def inputs_of(real: object) -> frozenset[str]:
    """Return the names of the float inputs in a Real."""
    return frozenset(str(leaf.args[0]) for leaf in leaves(real) if isinstance(leaf, Real))


def names_of(real: object) -> frozenset[str]:
    """Return the names of the size symbols and float inputs in a Real or Expr."""
    return inputs_of(real).union(s.name for s in symbols_of(real))


def replaced(
    real: object, replacements: Mapping[Symbol, Expr], floats: Mapping[str, float] | None = None
) -> object:
    """Return a Real, Expr or float with symbols and, by name, float inputs replaced."""
    known: dict[Real, object] = {}

    def made_of(number: object) -> object:
        if isinstance(number, Expr):
            return substitute(number, replacements)
        if not isinstance(number, Real):
            return number
        if number.op == "input":
            return number if floats is None else floats.get(str(number.args[0]), number)
        if number not in known:
            known[number] = Real(number.op, tuple(map(made_of, number.args)))
        return known[number]

    return made_of(real)


def folded(real: object) -> object:
    """Return the float that a Real without symbols and float inputs is; other numbers as they are.

    One whose computation raises stays a Real: it raises when the program runs.
    """
    if not isinstance(real, Real) or names_of(real):
        return real
    try:
        return evaluate_real(real, {}, {})
    except ArithmeticError:
        return real
    except ValueError:  # a domain error of `math`
        return real


@dataclass(frozen=True, slots=True)
class Ratio:
    """A float as a quotient of integers.

    Attributes:
        numerator: of sizes.
        denominator: positive.
        through: the integers of sizes that float arithmetic goes through, the largest first as a rule. The
            number is the quotient, rounded once at most, where each of them is within `EXACT`.
    """

    numerator: Expr
    denominator: int
    through: tuple[Expr, ...] = ()


def ratio(real: object) -> Ratio | None:
    """Return the quotient that a float is where its integers are small; None where arithmetic may round."""
    return _ratio_of_operation(real) if isinstance(real, Real) else _ratio_of_number(real)


def _ratio_of_number(number: object) -> Ratio | None:
    if isinstance(number, Expr):
        return Ratio(number, 1)
    if not isinstance(number, int | float) or not math.isfinite(number):
        return None
    exact = Fraction(number)
    small = max(abs(exact.numerator), exact.denominator) < EXACT_BITS
    return Ratio(as_expr(exact.numerator), exact.denominator) if small else None


@memo(MEMO_SIZE)
def _ratio_of_operation(real: Real) -> Ratio | None:
    match real:
        case Real(op="float", args=(inner,)):
            found = ratio(inner)
            return _made(found.numerator, found.denominator, found.through) if found else None
        case Real(op="*" | "/" | "+" | "-" as op, args=(left, right)):
            return _combined(op, ratio(left), ratio(right))
        case _:
            return None


def _combined(op: str, left: Ratio | None, right: Ratio | None) -> Ratio | None:
    if left is None or right is None or not (_is_exact(left.denominator) and _is_exact(right.denominator)):
        return None
    a, b, c, d = left.numerator, left.denominator, right.numerator, right.denominator
    match op:
        case "*":
            made, unit = a * c, b * d
        case "/":
            if not c.is_const or c.value <= 0:
                return None
            made, unit = a * d, b * c.value
        case "+":
            made, unit = a * d + c * b, b * d
        case _:
            made, unit = a * d - c * b, b * d
    return _made(made, unit, (a * d, c * b, *left.through, *right.through))


def _made(numerator: Expr, denominator: int, others: Sequence[Expr]) -> Ratio | None:
    """Return a ratio that arithmetic gives; None where a constant in it is too large."""
    through = (numerator, *others)
    constants = [abs(part.value) for part in through if part.is_const]
    if denominator >= EXACT_BITS or max(constants, default=0) > EXACT:
        return None
    return Ratio(numerator, denominator, tuple(part for part in dict.fromkeys(through) if not part.is_const))


def _is_exact(denominator: int) -> bool:
    """A quotient by a power of two is a float without rounding."""
    return denominator & (denominator - 1) == 0

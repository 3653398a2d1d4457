"""Print expressions as Python text and parse them back: `parse(text(e)) is e`.

A symbol with a range prints like a slice, `k[0:64]` for 0 <= k < 64, `s0[2:]` for 2 <= s0. The printers for
target languages live in code generation.
"""

import ast
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from supple.base.rules import Rules
from supple.expr.build import boolean, negate, symbol
from supple.expr.nodes import (
    KINDS,
    Add,
    Const,
    Expr,
    Function,
    Mul,
    Symbol,
    Truth,
    construct,
    factors_of,
    presenters,
)
from supple.expr.python import SIGNS

# How tightly an operator binds, loosest first; an operand that binds looser than its place gets parentheses.
LOOSE, OR, AND, COMPARE, SUM, PRODUCT, UNARY, TIGHT = range(8)

Printer: TypeAlias = Callable[..., tuple[str, int]]
"""(expression, print) -> its text, and how tightly it binds."""
printers: Final[Rules[Printer]] = Rules("expression text")


Kept: TypeAlias = Callable[[Any, str], str]
"""(operation, its text) -> what stands for its result, such as a variable, or the text itself."""


class Print:
    """One printing: remembers the text of shared parts.

    A minimum of minima of the same sizes is small, for its parts are shared, and its text may be larger than
    memory. So who prints more than one size says what stands for each function of sizes.

    Args:
        kept: says what stands for a function of sizes, or an operation on floats, given its text; it is asked
            once for each, after those in it.
    """

    __slots__ = ("_kept", "_known", "ranges")

    def __init__(self, *, ranges: bool, kept: Kept | None = None) -> None:
        self.ranges = ranges
        self._kept = kept
        self._known: dict[object, tuple[str, int]] = {}

    def __call__(self, number: object, binding: int = LOOSE) -> str:
        """Return the text of a number for a place that needs an operator at least as tight as `binding`."""
        found = self._printed(number) if isinstance(number, int | float) else self._known.get(number)
        if found is None:
            found = self._known[number] = self._printed(number)
        shown, tightness = found
        return shown if tightness >= binding else f"({shown})"

    def _printed(self, number: object) -> tuple[str, int]:
        """Return the text of a number, or what stands for it, and how tightly that binds."""
        found = printers[type(number)](number, self)
        is_operation = isinstance(number, Function) or not isinstance(number, Expr | int | float)
        if self._kept is None or not is_operation or found[0].isidentifier():
            return found
        stands_for = self._kept(number, found[0])
        return found if stands_for == found[0] else (stands_for, TIGHT)


def text(number: object, *, ranges: bool = True, kept: Kept | None = None) -> str:
    """Return an Expr (or a Real, or a float in one) as Python text.

    Without `ranges` it is shorter, but the ranges of the symbols are lost. For `kept` see `Print`.
    """
    return Print(ranges=ranges, kept=kept)(number)


def brief(number: object) -> str:
    """Return a number as text for people, which need not parse: `...` stands for what is long."""
    return text(number, ranges=False, kept=lambda _, shown: shortened(shown))


def shortened(shown: str) -> str:
    """Return the text of an operation, or what stands for a long one."""
    return shown if len(shown) < _LONG else "..."


_LONG: Final = 100


@presenters.on(Expr)
def _(e: Expr) -> str:
    """The repr of an expression is its text without ranges."""
    return text(e, ranges=False)


@printers.on(Const)
def _(e: Expr, show: Print) -> tuple[str, int]:
    """A negative constant is a unary minus; Python writes a very long one in hexadecimal alone."""
    shown = str(e.value) if e.value.bit_length() <= _LONGEST else hex(e.value)
    return shown, TIGHT if e.value >= 0 else UNARY


_LONGEST: Final = 2**11
"""Bits of the longest number in decimal; `sys.set_int_max_str_digits` may be 640 digits."""


@printers.on(Truth)
def _(e: Expr, show: Print) -> tuple[str, int]:
    """True or False."""
    return str(e.value), TIGHT


@printers.on(Symbol)
def _(e: Symbol, show: Print) -> tuple[str, int]:
    """name, or name[minimum:maximum + 1]."""
    if not show.ranges or (e.minimum is None and e.maximum is None):
        return e.name, TIGHT
    start = "" if e.minimum is None else str(e.minimum)
    stop = "" if e.maximum is None else str(e.maximum + 1)
    return f"{e.name}[{start}:{stop}]", TIGHT


@printers.on(int, float)
def _(number: float, show: Print) -> tuple[str, int]:
    """What conditions compare with, and operations on floats take: the text tells -0.0 from 0.0."""
    shown = str(number)
    return shown, UNARY if shown.startswith("-") else TIGHT


@printers.on(Mul)
def _(e: Expr, show: Print) -> tuple[str, int]:
    """coefficient * atom ** power * ...; a coefficient of -1 is a unary minus."""
    ((mono, coefficient),) = e.terms
    parts = [] if coefficient in (1, -1) else [str(coefficient)]
    for atom, exponent in factors_of(mono):
        parts.append(show(atom, UNARY) if exponent == 1 else f"{show(atom, TIGHT)}**{exponent}")
    return ("-" if coefficient == -1 else "") + "*".join(parts), PRODUCT


@printers.on(Add)
def _(e: Expr, show: Print) -> tuple[str, int]:
    """The terms in order, the constant last; a negative one is subtracted."""
    line = ""
    for arg in e.args:
        part = show(arg, PRODUCT)
        if line:
            part = f" - {part[1:]}" if part.startswith("-") else f" + {part}"
        line += part
    return line, SUM


def _joined(sign: str, inner: int, binding: int) -> Printer:
    """Return the printer of an operator between operands; both of a division stand in parentheses."""

    def printer(e: Expr, show: Print) -> tuple[str, int]:
        return f" {sign} ".join(show(arg, inner) for arg in e.args), binding

    return printer


BINDINGS: Final = {
    **dict.fromkeys(("//", "%"), (TIGHT, PRODUCT)),
    **dict.fromkeys(("==", "!=", "<", "<="), (SUM, COMPARE)),
    "and": (COMPARE, AND),
    "or": (AND, OR),
}
"""How tightly the operands and the operator of a sign bind."""

for _sign, (_inner, _binding) in BINDINGS.items():
    printers.on(KINDS[_sign])(_joined(_sign, _inner, _binding))

FUNCTIONS: Final = ("min", "max")


@printers.on(*(KINDS[name] for name in FUNCTIONS))
def _(e: Expr, show: Print) -> tuple[str, int]:
    """A function of all operands."""
    return f"{e.sign}({', '.join(show(arg, LOOSE) for arg in e.args)})", TIGHT


def parse(line: str) -> Expr:
    """Return the expression that `line` denotes; the inverse of `text`.

    Raises:
        ValueError: `line` is not in the language of `text`.
    """
    try:
        tree = ast.parse(line.strip(), mode="eval")
    except (SyntaxError, MemoryError) as error:
        raise ValueError(f"{line!r} is not an expression: {error}") from error
    try:
        return _read(tree.body)
    except TypeError as error:
        raise ValueError(f"{line!r} mixes numbers and conditions: {error}") from error


def _read(tree: ast.expr) -> Expr:
    """Return the expression of a syntax tree."""
    match tree:
        case ast.Constant(value=bool() as value):
            return boolean(value)
        case ast.Constant(value=int() as value):
            return Const(value)
        case ast.Name(id=name):
            return symbol(name)
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Slice(lower=lower, upper=upper, step=None)):
            stop = None if upper is None else _read(upper).value - 1
            return symbol(name, minimum=None if lower is None else _read(lower).value, maximum=stop)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_read(operand)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return negate(_read(operand))
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            return _read(left) - _read(right)
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return _read(left) ** _read(right).value
        case _:
            sign, operands = _operation(tree)
            return construct[KINDS[sign]](*map(_read, operands))


def _operation(tree: ast.expr) -> tuple[str, Sequence[ast.expr]]:
    """Return what a syntax tree makes of which operands.

    Raises:
        ValueError: it has no meaning in an expression.
    """
    match tree:
        case (
            ast.BinOp(left=left, op=op, right=right) | ast.Compare(left=left, ops=[op], comparators=[right])
        ) if SIGNS.get(type(op)) in KINDS:
            return SIGNS[type(op)], (left, right)
        case ast.BoolOp(op=op, values=values):
            return SIGNS[type(op)], values
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in FUNCTIONS:
            return name, args
        case _:
            raise ValueError(f"{ast.unparse(tree)!r} has no meaning in an expression")

"""Print expressions as Python text and parse them back: `parse(text(e)) is e`.

A symbol with a range prints like a slice, `k[0:64]` for 0 <= k < 64, `s0[2:]` for 2 <= s0. The printers for
target languages live in code generation.
"""

import ast
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from supple.base.rules import Rules
from supple.expr.build import boolean, negate, symbol
from supple.expr.nodes import KINDS, Add, Const, Expr, Mul, Symbol, Truth, construct, factors_of, presenters
from supple.expr.python import SIGNS

# How tightly an operator binds, loosest first; an operand that binds looser than its place gets parentheses.
LOOSE, OR, AND, COMPARE, SUM, PRODUCT, UNARY, TIGHT = range(8)

Printer: TypeAlias = Callable[..., tuple[str, int]]
"""(expression, print) -> its text, and how tightly it binds."""
printers: Final[Rules[Printer]] = Rules("expression text")


class Print:
    """One printing: remembers the text of shared parts."""

    __slots__ = ("_known", "ranges")

    def __init__(self, *, ranges: bool) -> None:
        self.ranges = ranges
        self._known: dict[Expr, tuple[str, int]] = {}

    def __call__(self, e: Expr, binding: int) -> str:
        """Return the text of `e` for a place that needs an operator at least as tight as `binding`."""
        found = self._known.get(e)
        if found is None:
            found = self._known[e] = printers[type(e)](e, self)
        text, tightness = found
        return text if tightness >= binding else f"({text})"


def text(e: Expr, *, ranges: bool = True) -> str:
    """Return `e` as Python text; without `ranges` shorter, but the ranges of the symbols are lost."""
    return Print(ranges=ranges)(e, LOOSE)


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

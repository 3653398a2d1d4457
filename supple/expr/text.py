"""Print expressions as Python text and parse them back: `parse(text(e)) is e`.

A symbol with a range prints like a slice, `k[0:64]` for 0 <= k < 64, `s0[2:]` for 2 <= s0. The printers for
target languages live in code generation.
"""

import ast
from collections.abc import Callable
from typing import Final, TypeAlias, TypeVar

from supple.base.rules import Rules
from supple.expr.build import boolean, negate, symbol
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
    construct,
    factors_of,
    presenters,
)

# How tightly an operator binds, loosest first; an operand that binds looser than its place gets parentheses.
LOOSE, OR, AND, COMPARE, SUM, PRODUCT, UNARY, TIGHT = range(8)

Printer: TypeAlias = "Callable[[Expr, Print], tuple[str, int]]"
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
            found = printers[type(e)](e, self)
            self._known[e] = found
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
    """A negative constant is a unary minus."""
    return str(e.value), TIGHT if e.value >= 0 else UNARY


@printers.on(Truth)
def _(e: Expr, show: Print) -> tuple[str, int]:
    """True or False."""
    return str(e.value), TIGHT


@printers.on(Symbol)
def _(e: Expr, show: Print) -> tuple[str, int]:
    """name, or name[minimum:maximum + 1]."""
    assert isinstance(e, Symbol), f"{e} is not a symbol"
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
    return lambda e, show: (sign.join(show(arg, inner) for arg in e.args), binding)


def _called(name: str) -> Printer:
    """Return the printer of a function of all operands."""
    return lambda e, show: (f"{name}({', '.join(show(arg, LOOSE) for arg in e.args)})", TIGHT)


printers.on(FloorDiv)(_joined(" // ", TIGHT, PRODUCT))
printers.on(Mod)(_joined(" % ", TIGHT, PRODUCT))
printers.on(Min)(_called("min"))
printers.on(Max)(_called("max"))
printers.on(Eq)(_joined(" == ", SUM, COMPARE))
printers.on(Ne)(_joined(" != ", SUM, COMPARE))
printers.on(Lt)(_joined(" < ", SUM, COMPARE))
printers.on(Le)(_joined(" <= ", SUM, COMPARE))
printers.on(And)(_joined(" and ", COMPARE, AND))
printers.on(Or)(_joined(" or ", AND, OR))


Reader: TypeAlias = Callable[[ast.expr], Expr]
readers: Final[Rules[Reader]] = Rules("parse expression")
KINDS: Final[dict[type[ast.AST], type[Expr]]] = {
    ast.Add: Add,
    ast.Mult: Mul,
    ast.FloorDiv: FloorDiv,
    ast.Mod: Mod,
    ast.Eq: Eq,
    ast.NotEq: Ne,
    ast.Lt: Lt,
    ast.LtE: Le,
    ast.And: And,
    ast.Or: Or,
}
FUNCTIONS: Final[dict[str, type[Expr]]] = {"min": Min, "max": Max}
N = TypeVar("N", bound=ast.AST)


def parse(line: str) -> Expr:
    """Return the expression that `line` denotes; the inverse of `text`.

    Raises:
        ValueError: `line` is not in the language of `text`.
    """
    try:
        tree = ast.parse(line.strip(), mode="eval")
    except (SyntaxError, MemoryError) as error:
        msg = f"{line!r} is not an expression: {error}"
        raise ValueError(msg) from error
    try:
        return _read(tree.body)
    except TypeError as error:
        msg = f"{line!r} mixes numbers and conditions: {error}"
        raise ValueError(msg) from error


def _read(node: ast.expr) -> Expr:
    """Return the expression of a syntax node."""
    reader = readers.find(type(node))
    if reader is None:
        msg = f"{ast.unparse(node)!r} has no meaning in an expression"
        raise ValueError(msg)
    return reader(node)


def _expect(node: ast.AST, kind: type[N]) -> N:
    """Return `node`.

    Raises:
        ValueError: it is not of `kind`.
    """
    if not isinstance(node, kind):
        msg = f"expected {kind.__name__}, not {ast.unparse(node)!r}"
        raise ValueError(msg)  # noqa: TRY004
    return node


@readers.on(ast.Constant)
def _(node: ast.expr) -> Expr:
    """An int or a bool."""
    value = _expect(node, ast.Constant).value
    if isinstance(value, bool):
        return boolean(value)
    if isinstance(value, int):
        return Const(value)
    msg = f"the constant {value!r} is not an integer"
    raise ValueError(msg)


@readers.on(ast.Name)
def _(node: ast.expr) -> Expr:
    """A symbol without a range."""
    return symbol(_expect(node, ast.Name).id)


def _bound(node: ast.expr | None) -> int | None:
    """Return a bound of a range."""
    return None if node is None else _read(node).value


@readers.on(ast.Subscript)
def _(node: ast.expr) -> Expr:
    """name[minimum:maximum + 1]."""
    subscript = _expect(node, ast.Subscript)
    name = _expect(subscript.value, ast.Name).id
    bounds = _expect(subscript.slice, ast.Slice)
    if bounds.step is not None:
        msg = f"{ast.unparse(node)!r} has a step"
        raise ValueError(msg)
    stop = _bound(bounds.upper)
    return symbol(name, minimum=_bound(bounds.lower), maximum=None if stop is None else stop - 1)


@readers.on(ast.UnaryOp)
def _(node: ast.expr) -> Expr:
    """-a, not a."""
    unary = _expect(node, ast.UnaryOp)
    operand = _read(unary.operand)
    if isinstance(unary.op, ast.USub):
        return -operand
    if isinstance(unary.op, ast.Not):
        return negate(operand)
    msg = f"{ast.unparse(node)!r} has no meaning in an expression"
    raise ValueError(msg)


@readers.on(ast.BinOp)
def _(node: ast.expr) -> Expr:
    """a + b, a - b, a * b, a // b, a % b, a ** n."""
    binary = _expect(node, ast.BinOp)
    left, right = _read(binary.left), _read(binary.right)
    if isinstance(binary.op, ast.Sub):
        return left - right
    if isinstance(binary.op, ast.Pow):
        return left**right.value
    return construct[_kind(binary.op, node)](left, right)


def _kind(operator: ast.AST, node: ast.expr) -> type[Expr]:
    """Return the kind that an operator makes."""
    kind = KINDS.get(type(operator))
    if kind is None:
        msg = f"{ast.unparse(node)!r} has no meaning in an expression"
        raise ValueError(msg)
    return kind


@readers.on(ast.Compare)
def _(node: ast.expr) -> Expr:
    """a == b, and the other comparisons; no chains."""
    compare = _expect(node, ast.Compare)
    if len(compare.ops) != 1:
        msg = f"{ast.unparse(node)!r} is a chain of comparisons"
        raise ValueError(msg)
    return construct[_kind(compare.ops[0], node)](_read(compare.left), _read(compare.comparators[0]))


@readers.on(ast.BoolOp)
def _(node: ast.expr) -> Expr:
    """a and b, a or b."""
    connective = _expect(node, ast.BoolOp)
    return construct[_kind(connective.op, node)](*map(_read, connective.values))


@readers.on(ast.Call)
def _(node: ast.expr) -> Expr:
    """min(...), max(...)."""
    call = _expect(node, ast.Call)
    kind = FUNCTIONS.get(_expect(call.func, ast.Name).id)
    if kind is None or call.keywords:
        msg = f"{ast.unparse(node)!r} has no meaning in an expression"
        raise ValueError(msg)
    return construct[kind](*map(_read, call.args))

"""Print nests as text and parse them back: `parse(text(nest)) == nest`.

    nest norm(x: f32 in [128*s0], out: f32 out [128]; s0[1:]) from mean, sub:
      over r[0:128] < 128 parallel:
        for k[0:] < s0 vector reducing s: f32 = sum(t0):
          i: i32 = index k + 1
          m: b1 = lt(i, 7)
          t0: f32 = load x[r*s0 + k] where m else 1
        store out[r] = s

Symbols print their ranges where they are declared; elsewhere the name says which is meant. Names of scalars
in an index have no range; an expression with one that has prints all ranges. Numbers print as Python does.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf, nan
from typing import Any, Final

from supple import expr
from supple.expr import Expr, Symbol, free_symbols, substitute, symbol
from supple.ir.forms import DTYPE, WORD, Form, Part, listed, optional, part, read_one
from supple.ir.loops import nodes

Declared = Mapping[str, Symbol]
"""The symbols that a name without range stands for."""


def text(nest: nodes.Nest) -> str:
    """Return the nest as text, a line for each statement."""
    declared = {size.name: size for size in nest.sizes}
    body = _block(nest.body, _with_axes(declared, nest.axes), "    ")
    return "\n".join((_NEST.show(nest, declared), *body))


def _block(statements: Sequence[nodes.Statement], declared: Declared, indent: str) -> Iterator[str]:
    for statement in statements:
        yield indent + FORMS[type(statement)].show(statement, declared)
        if isinstance(statement, nodes.Loop):
            yield from _block(statement.body, _with_axes(declared, statement.axes), f"{indent}  ")


def _with_axes(declared: Declared, axes: Sequence[nodes.Axis]) -> Declared:
    return {**declared, **{axis.symbol.name: axis.symbol for axis in axes}}


def parse(source: str) -> nodes.Nest:
    """Return the nest that the text denotes; the inverse of `text`.

    Raises:
        ValueError: the text is not in the language.
    """
    lines = [line for line in source.splitlines() if line.strip()]
    head = "\n".join(lines[:2])
    declared = {size.name: size for size in read_one((_NEST,), head, {}).sizes}
    nest = read_one((_NEST,), head, declared)
    body = Reader(lines, 2)
    statements = tuple(body.block("    ", _with_axes(declared, nest.axes)))
    if body.place != len(lines):
        raise ValueError(f"line {body.place + 1} is indented like no block: {lines[body.place]!r}")
    return replace(nest, body=statements)


@dataclass(slots=True)
class Reader:
    """Reads blocks of lines: `place` is the next line."""

    lines: Sequence[str]
    place: int = 0

    def block(self, indent: str, declared: Declared) -> Iterator[nodes.Statement]:
        """Yield the statements that stand at this indentation from here on."""
        while self.place < len(self.lines) and re.match(rf"{indent}\S", self.lines[self.place]):
            found = read_one(tuple(FORMS.values()), self.lines[self.place].strip(), declared)
            self.place += 1
            if isinstance(found, nodes.Loop):
                inside = self.block(f"{indent}  ", _with_axes(declared, found.axes))
                found = replace(found, body=tuple(inside))
            yield found


def _show_expr(e: Expr, declared: Declared) -> str:
    """Return the text of an expression: without ranges if it says which symbols are meant."""
    is_plain = all(declared.get(s.name, symbol(s.name)) is s for s in free_symbols(e))
    return expr.text(e, ranges=not is_plain)


def _read_expr(line: str, declared: Declared) -> Expr:
    return substitute(expr.parse(line), {symbol(name): known for name, known in declared.items()})


def _read_symbol(line: str) -> Symbol:
    parsed = expr.parse(line)
    if not isinstance(parsed, Symbol):
        raise ValueError(f"{line!r} is not a symbol")  # noqa: TRY004  # the text is wrong, not a type
    return parsed


def _read_scalar(line: str) -> nodes.Scalar:
    if line in _NUMBERS:
        return _NUMBERS[line]
    if line.isidentifier():
        return line
    return int(line) if re.fullmatch(r"-?\d+", line) else float(line)


def _show_over(axes: tuple[nodes.Axis, ...], declared: Declared) -> str:
    return f"over {_AXES.show(axes, declared)}" if axes else "once"


def _read_over(line: str, declared: Declared) -> object:
    return () if line == "once" else _AXES.read(line.removeprefix("over "), declared)


_NUMBERS: Final = {"inf": inf, "-inf": -inf, "nan": nan, "True": True, "False": False}
_EXPR: Final = Part(".+?", _show_expr, _read_expr)
_INDEX: Final = listed(_EXPR)
_SYMBOL: Final = part(".+?", expr.text, _read_symbol)
_SCALAR: Final = part(r"\S+?", lambda value: value if isinstance(value, str) else repr(value), _read_scalar)
_ROLE: Final = part(
    "(?: parallel| vector)?",
    lambda role: "" if role is nodes.Role.SERIAL else f" {role.value}",
    lambda line: nodes.Role(line.strip() or "serial"),
)
_ACCESS: Final = part(r"\w+", lambda access: access.value, nodes.Access)
_MASK: Final = optional(" where ", WORD, absent=None)
_OTHER: Final = part(
    r"(?: else \S+)?",
    lambda other: "" if repr(other) == "0" else f" else {other!r}",
    lambda line: _read_scalar(line.removeprefix(" else ") or "0"),
)
_AXIS: Final = Form(nodes.Axis, "{symbol} < {extent}{role}", symbol=_SYMBOL, extent=_EXPR, role=_ROLE)
_AXES: Final = listed(_AXIS.item(), ".+?")
_BUFFER: Final = Form(
    nodes.Buffer, "{name}: {dtype} {access} [{size}]", dtype=DTYPE, access=_ACCESS, size=_EXPR
)
_REDUCE: Final = Form(nodes.Reduce, "{name}: {dtype} = {op}({value})", dtype=DTYPE)
_NEST: Final = Form(
    partial(nodes.Nest, body=()),
    "nest {name}({buffers}{sizes}){origin}:\n  {axes}:",
    buffers=listed(_BUFFER.item(), ".*?"),
    sizes=optional("; ", listed(_SYMBOL, ".+")),
    origin=optional(" from ", listed(WORD)),
    axes=Part("once|over .+", _show_over, _read_over),
)
_LOAD: Final = "{name}: {dtype} = load {buffer}[{index}]{mask}{other}"
_STORE: Final = "store {buffer}[{index}] = {value}{mask}"
FORMS: Final[Mapping[type[nodes.Statement], Form[Any]]] = {
    nodes.Load: Form(nodes.Load, _LOAD, dtype=DTYPE, index=_INDEX, mask=_MASK, other=_OTHER),
    nodes.Store: Form(nodes.Store, _STORE, index=_INDEX, value=_SCALAR, mask=_MASK),
    nodes.IndexValue: Form(nodes.IndexValue, "{name}: {dtype} = index {value}", dtype=DTYPE, value=_EXPR),
    nodes.Compute: Form(nodes.Compute, "{name}: {dtype} = {op}({args})", dtype=DTYPE, args=listed(_SCALAR)),
    nodes.Loop: Form(
        partial(nodes.Loop, body=()),
        "for {axes}{reduces}:",
        axes=_AXES,
        reduces=optional(" reducing ", listed(_REDUCE.item())),
    ),
}

"""Print nests as text and parse them back: `parse(text(nest)) == nest`.

    nest norm(x: f32 in [128*s0], out: f32 out [128]; s0[1:]) from mean, sub:
      over r[0:128] < 128 parallel:
        for k[0:] < s0 vector reducing s: f32 = sum(t0):
          i: i32 = index k + 1
          m: b1 = lt(i, 7)
          t0: f32 = load x[r*s0 + k] where m else 0
        store out[r] = s

Symbols print their ranges where they are declared; elsewhere the name says which is meant. Names of scalars
in an index have no range; an expression with one that has prints all ranges. Numbers print as Python does.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

from supple import expr
from supple.base.rules import Rules
from supple.expr import Expr, Symbol, free_symbols, substitute, symbol
from supple.ir.dtypes import DType
from supple.ir.loops.nodes import (
    Access,
    Axis,
    Buffer,
    Compute,
    IndexValue,
    Load,
    Loop,
    Nest,
    Reduce,
    Role,
    Scalar,
    Statement,
    Store,
)

T = TypeVar("T")

NUMBERS: Final = {
    "inf": float("inf"),
    "-inf": -float("inf"),
    "nan": float("nan"),
    "True": True,
    "False": False,
}


def text(nest: Nest) -> str:
    """Return the nest as text, a line for each statement."""
    declared = {size.name: size for size in nest.sizes}
    buffers = ", ".join(_buffer(buffer, declared) for buffer in nest.buffers)
    sizes = "; " + ", ".join(map(expr.text, nest.sizes)) if nest.sizes else ""
    origin = f" from {', '.join(nest.origin)}" if nest.origin else ""
    lines = [f"nest {nest.name}({buffers}{sizes}){origin}:"]
    inner = _with_axes(declared, nest.axes)
    lines.append(f"  over {_axes(nest.axes, declared)}:" if nest.axes else "  once:")
    lines += _block(nest.body, inner, "    ")
    return "\n".join(lines)


Declared = Mapping[str, Symbol]


def _buffer(buffer: Buffer, declared: Declared) -> str:
    return f"{buffer.name}: {buffer.dtype.value} {buffer.access.value} [{_expr(buffer.size, declared)}]"


def _with_axes(declared: Declared, axes: Sequence[Axis]) -> Declared:
    return {**declared, **{axis.symbol.name: axis.symbol for axis in axes}}


def _block(statements: Sequence[Statement], declared: Declared, indent: str) -> list[str]:
    return [
        line for statement in statements for line in printers[type(statement)](statement, declared, indent)
    ]


def _expr(e: Expr, declared: Declared) -> str:
    """Return the text of an expression: without ranges if it says which symbols are meant."""
    is_plain = all(declared.get(s.name, symbol(s.name)) is s for s in free_symbols(e))
    return expr.text(e, ranges=not is_plain)


def _axes(axes: Sequence[Axis], declared: Declared) -> str:
    parts: list[str] = []
    for axis in axes:
        role = "" if axis.role is Role.SERIAL else f" {axis.role.value}"
        parts.append(f"{expr.text(axis.symbol)} < {_expr(axis.extent, declared)}{role}")
    return ", ".join(parts)


def _place(buffer: str, index: Sequence[Expr], declared: Declared) -> str:
    return f"{buffer}[{', '.join(_expr(e, declared) for e in index)}]"


Printer = Callable[[Statement, Declared, str], list[str]]
printers: Final[Rules[Printer]] = Rules("loops text")


@printers.on(Load)
def _(statement: Statement, declared: Declared, indent: str) -> list[str]:
    """`t: f32 = load x[k] where m else 0`."""
    assert isinstance(statement, Load)
    mask = "" if statement.mask is None else f" where {statement.mask}"
    other = "" if statement.mask is None and statement.other == 0 else f" else {statement.other!r}"
    place = _place(statement.buffer, statement.index, declared)
    return [f"{indent}{statement.name}: {statement.dtype.value} = load {place}{mask}{other}"]


@printers.on(Compute)
def _(statement: Statement, declared: Declared, indent: str) -> list[str]:
    """`t: f32 = add(a, 1.0)`."""
    assert isinstance(statement, Compute)
    args = ", ".join(arg if isinstance(arg, str) else repr(arg) for arg in statement.args)
    return [f"{indent}{statement.name}: {statement.dtype.value} = {statement.op}({args})"]


@printers.on(IndexValue)
def _(statement: Statement, declared: Declared, indent: str) -> list[str]:
    """`t: i64 = index k + 1`."""
    assert isinstance(statement, IndexValue)
    return [f"{indent}{statement.name}: {statement.dtype.value} = index {_expr(statement.value, declared)}"]


@printers.on(Store)
def _(statement: Statement, declared: Declared, indent: str) -> list[str]:
    """`store x[k] = t where m`."""
    assert isinstance(statement, Store)
    mask = "" if statement.mask is None else f" where {statement.mask}"
    value = statement.value if isinstance(statement.value, str) else repr(statement.value)
    return [f"{indent}store {_place(statement.buffer, statement.index, declared)} = {value}{mask}"]


@printers.on(Loop)
def _(statement: Statement, declared: Declared, indent: str) -> list[str]:
    """`for k < 8 reducing s: f32 = sum(t):` and the body, indented."""
    assert isinstance(statement, Loop)
    reduces = ", ".join(f"{r.name}: {r.dtype.value} = {r.op}({r.value})" for r in statement.reduces)
    head = f"{indent}for {_axes(statement.axes, declared)}{f' reducing {reduces}' if reduces else ''}:"
    inner = _with_axes(declared, statement.axes)
    return [head, *_block(statement.body, inner, f"{indent}  ")]


def parse(source: str) -> Nest:
    """Return the nest that the text denotes; the inverse of `text`.

    Raises:
        ValueError: the text is not in the language.
    """
    lines = [line for line in source.splitlines() if line.strip()]
    head = _match(r"nest (\w+)\((.*)\)(?: from (.*))?:", lines[0])
    buffers, _, sizes = head[1].partition(";")
    declared = {size.name: size for size in map(_symbol, _split(sizes))}
    over = _match(r"  (?:once|over (.*)):", lines[1])[0]
    axes = tuple(_read_axis(part, declared) for part in _split(over))
    body = Reader(lines, 2)
    statements = body.block(4, _with_axes(declared, axes))
    if body.place != len(lines):
        raise ValueError(f"line {body.place + 1} is indented like no block: {lines[body.place]!r}")
    parameters = tuple(_read_buffer(part, declared) for part in _split(buffers))
    return Nest(head[0], parameters, tuple(declared.values()), axes, statements, tuple(_split(head[2])))


@dataclass(slots=True)
class Reader:
    """Reads blocks of lines: `place` is the next line."""

    lines: Sequence[str]
    place: int = field(default=0)

    def block(self, indent: int, declared: Declared) -> tuple[Statement, ...]:
        """Return the statements that stand at this indentation from here on."""
        return tuple(self._statements(indent, declared))

    def _statements(self, indent: int, declared: Declared) -> Iterator[Statement]:
        while self.place < len(self.lines) and _indent(self.lines[self.place]) == indent:
            line = self.lines[self.place].strip()
            self.place += 1
            if not line.startswith("for "):
                yield _read_statement(line, declared)
                continue
            head = _match(r"for (.*?)(?: reducing (.*))?:", line)
            axes = tuple(_read_axis(part, declared) for part in _split(head[0]))
            body = self.block(indent + 2, _with_axes(declared, axes))
            yield Loop(axes, body, tuple(map(_read_reduce, _split(head[1]))))


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _match(pattern: str, line: str) -> list[str]:
    """Return the groups of a pattern that the whole line follows; what is not there is empty."""
    found = re.fullmatch(pattern, line)
    if found is None:
        raise ValueError(f"{line!r} does not follow {pattern}")
    return [group or "" for group in found.groups()]


def _split(line: str) -> list[str]:
    """Return the parts between commas that stand in no bracket."""
    parts: list[str] = []
    depth = start = 0
    for place, letter in enumerate(line):
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            parts.append(line[start:place])
            start = place + 1
    return [part.strip() for part in [*parts, line[start:]] if part.strip()]


def _symbol(line: str) -> Symbol:
    parsed = expr.parse(line)
    if not isinstance(parsed, Symbol):
        raise ValueError(f"{line!r} is not a symbol")  # noqa: TRY004  # the text is wrong, not a type
    return parsed


def _read_expr(line: str, declared: Declared) -> Expr:
    return substitute(expr.parse(line), {symbol(name): known for name, known in declared.items()})


def _read_axis(line: str, declared: Declared) -> Axis:
    name, extent, role = _match(r"(.+?) < (.+?)(?: (parallel|vector))?", line)
    return Axis(_symbol(name), _read_expr(extent, declared), Role(role) if role else Role.SERIAL)


def _read_buffer(line: str, declared: Declared) -> Buffer:
    name, dtype, access, size = _match(r"(\w+): (\w+) (\w+) \[(.*)\]", line)
    return Buffer(name, DType(dtype), Access(access), _read_expr(size, declared))


def _read_reduce(line: str) -> Reduce:
    name, dtype, op, value = _match(r"(\w+): (\w+) = (\w+)\((\w+)\)", line)
    return Reduce(name, DType(dtype), op, value)


def _read_scalar(line: str) -> Scalar:
    if line in NUMBERS:
        return NUMBERS[line]
    if line.isidentifier():
        return line
    return int(line) if re.fullmatch(r"-?\d+", line) else float(line)


def _read_statement(line: str, declared: Declared) -> Statement:
    if line.startswith("store "):
        buffer, index, value, mask = _match(r"store (\w+)\[(.*)\] = (\S+?)(?: where (\w+))?", line)
        return Store(buffer, _read_index(index, declared), _read_scalar(value), mask or None)
    name, dtype, value = _match(r"(\w+): (\w+) = (.*)", line)
    if value.startswith("load "):
        buffer, index, mask, other = _match(r"load (\w+)\[(.*)\](?: where (\w+))?(?: else (\S+))?", value)
        number = _read_scalar(other or "0")
        assert not isinstance(number, str), f"{line!r}: what stands for masked elements is a number"
        return Load(name, DType(dtype), buffer, _read_index(index, declared), mask or None, number)
    if value.startswith("index "):
        return IndexValue(name, DType(dtype), _read_expr(value.removeprefix("index "), declared))
    op, args = _match(r"(\w+)\((.*)\)", value)
    return Compute(name, DType(dtype), op, tuple(map(_read_scalar, _split(args))))


def _read_index(line: str, declared: Declared) -> tuple[Expr, ...]:
    return tuple(_read_expr(part, declared) for part in _split(line))

"""Graphs as Python text, and back: `parse(text(graph)) == graph` (the user's stack is not printed).

    def graph(s0: "int s0[0:] from L['n']", x: "f32[s0,3](3,1) from L['x']", w: "f32[3](1) parameter"):
        mul: "f32[s0,3](3,1)" = aten.mul.Tensor(x, w)
        return (mul,)

A quoted text is what is known of a value; the first that names a symbol has its range. In a call,
`size('s0 + 1')` is a number computed from sizes, `opaque(0)` an object without literal.
"""

import ast
import re
from collections.abc import Callable, Sequence
from typing import Final, cast

import torch

from supple.expr import Expr, Symbol, brief
from supple.expr import text as expr_text
from supple.expr.real import Real, parse_number, replaced, symbols_of
from supple.ir.forms import separated
from supple.ir.graph.nodes import Arg, Constant, Graph, Input, Meta, Node, Number, Var, numbers_in
from supple.ir.literals import read, shown
from supple.ir.meta import TensorMeta, meta_text, parse_meta
from supple.ir.ops import op_named

_PARAMETER: Final = " parameter"
_FROM: Final = " from "


def text(graph: Graph, *, is_brief: bool = False) -> str:
    """Return a graph as Python text; a brief one is for people, long sizes are `...`."""
    writer = _Writer(is_brief=is_brief)
    inputs = ", ".join(
        f"{item.name}: {_quoted(writer.declared(item.meta) + _origin(item))}" for item in graph.inputs
    )
    lines = [f"def graph({inputs}):"]
    for node in graph.nodes:
        args = [writer.arg(arg) for arg in node.args]
        args += [f"{name}={writer.arg(arg)}" for name, arg in node.kwargs.items()]
        declared = _quoted(writer.declared(node.meta))
        lines.append(f"    {node.name}: {declared} = {node.op.name}({', '.join(args)})")
    lines.append(f"    return {writer.arg(tuple(graph.outputs))}")
    return "\n".join(lines) + "\n"


class _Writer:
    """Turns arguments and metadata into text."""

    def __init__(self, *, is_brief: bool) -> None:
        self._opaque: list[object] = []
        self._declared: set[Symbol] = set()
        self._is_brief = is_brief

    def declared(self, meta: Meta) -> str:
        """Return what is known of a value as one line; a symbol has its range where it is met first."""
        content = self.meta(meta)
        for number in numbers_in(meta):
            for s in symbols_of(number) - self._declared:
                self._declared.add(s)
                content = re.sub(rf"\b{s.name}\b", expr_text(s), content, count=1)
        return content

    def meta(self, meta: Meta) -> str:
        """Return what is known of a value as one line."""
        if isinstance(meta, TensorMeta):
            return meta_text(meta, self.number)
        if isinstance(meta, Expr):
            return f"int {self.number(meta)}"
        if isinstance(meta, Real):
            return f"float {self.number(meta)}"
        if isinstance(meta, tuple):
            return f"({'; '.join(map(self.meta, meta))})"
        return f"value {self.arg(meta.value)}"

    def number(self, number: Number) -> str:
        """Return a number without the ranges of its symbols."""
        return brief(number) if self._is_brief else expr_text(number, ranges=False)

    def arg(self, arg: Arg) -> str:
        """Return an argument as a Python expression; an object without literal is noted as opaque."""
        return shown(arg, self._special)

    def _special(self, part: object) -> str | None:
        if isinstance(part, Var):
            return str(part)
        if isinstance(part, Expr | Real):
            return f"size({self.number(part)!r})"
        if type(part) in _PLAIN or isinstance(part, _TORCH):
            return None
        self._opaque.append(part)
        return f"opaque({len(self._opaque) - 1})"


def _quoted(content: str) -> str:
    return '"' + content.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _origin(item: Input) -> str:
    kind = _PARAMETER if item.is_parameter else ""
    return kind + (_FROM + item.source if item.source else "")


_PLAIN: Final = frozenset(
    (bool, int, float, complex, str, list, tuple, dict, slice, type(None), type(Ellipsis))
)
_TORCH: Final = (torch.dtype, torch.device, torch.memory_format, torch.layout)


def parse(source: str, opaque: Sequence[object] = ()) -> Graph:
    """Return the graph that a text shows; `opaque` are the objects that it has no literal for.

    Raises:
        ValueError: the text is not what `text` prints, or names an unknown operator or object.
    """
    module = ast.parse(source)
    function = module.body[0]
    if not isinstance(function, ast.FunctionDef):
        msg = "a graph is printed as one function"
        raise ValueError(msg)  # noqa: TRY004  # the text is wrong, not a type
    reader = _Reader(opaque)
    inputs = tuple(reader.input(item) for item in function.args.args)
    nodes = tuple(reader.node(statement) for statement in function.body[:-1])
    last = function.body[-1]
    if not isinstance(last, ast.Return) or last.value is None:
        raise ValueError("the last line of a graph is its return")
    return Graph(inputs, nodes, cast("tuple[Arg, ...]", reader.arg(last.value)))


class _Reader:
    """Turns syntax trees into arguments, metadata and nodes."""

    def __init__(self, opaque: Sequence[object]) -> None:
        self._symbols: dict[str, Symbol] = {}
        self._calls: dict[str, Callable[..., object]] = {"size": self.number, "opaque": opaque.__getitem__}

    def input(self, item: ast.arg) -> Input:
        """Return an input from a parameter and its annotation."""
        content, _, source = self._annotation(item.annotation).partition(_FROM)
        is_parameter = content.endswith(_PARAMETER)
        return Input(item.arg, self.meta(content.removesuffix(_PARAMETER)), source, is_parameter)

    def node(self, statement: ast.stmt) -> Node:
        """Return a node from an annotated assignment."""
        if not (
            isinstance(statement, ast.AnnAssign)
            and isinstance(statement.target, ast.Name)
            and isinstance(statement.value, ast.Call)
        ):
            msg = f"not a node: {ast.unparse(statement)}"
            raise ValueError(msg)  # noqa: TRY004  # the text is wrong, not a type
        call = statement.value
        try:
            op = op_named(ast.unparse(call.func))
        except (KeyError, AttributeError) as error:
            raise ValueError(f"unknown operator {ast.unparse(call.func)}") from error
        kwargs = {str(item.arg): self.arg(item.value) for item in call.keywords}
        known = self.meta(self._annotation(statement.annotation))
        return Node(statement.target.id, op, tuple(self.arg(item) for item in call.args), kwargs, known)

    def _annotation(self, tree: ast.expr | None) -> str:
        if isinstance(tree, ast.Constant) and isinstance(tree.value, str):
            return tree.value
        raise ValueError("a value has a quoted annotation")

    def arg(self, tree: ast.expr) -> Arg:
        """Return an argument from an expression."""
        return read(tree, _var, self._calls)

    def meta(self, content: str) -> Meta:
        """Return metadata from its text."""
        if content.startswith("("):
            return tuple(self.meta(part) for part in separated(content[1:-1], ";"))
        kind, _, rest = content.partition(" ")
        if kind in ("int", "float"):
            return self.number(rest)
        if kind == "value":
            return Constant(self.arg(ast.parse(rest, mode="eval").body))
        return parse_meta(content, self.size)

    def number(self, content: str) -> Expr | Real:
        """Return a number from its text; symbols have the range with which they were met first."""
        found = parse_number(content)
        for s in symbols_of(found):
            self._symbols.setdefault(s.name, s)
        known = replaced(found, {s: self._symbols[s.name] for s in symbols_of(found)})
        assert isinstance(known, Expr | Real), f"{content} is a constant"
        return known

    def size(self, content: str) -> Expr:
        """Return a size from its text."""
        found = self.number(content)
        assert isinstance(found, Expr), f"{content} is a float"
        return found


def _var(tree: ast.expr) -> Var | None:
    """Return the use of a value that a name or an item of one denotes."""
    match tree:
        case ast.Name(id=name):
            return Var(name)
        case ast.Subscript(value=value, slice=ast.Constant(value=int() as index)) if base := _var(value):
            return Var(base.name, (*base.path, index))
        case _:
            return None

"""Run a Graph with eager torch: the oracle of every later stage, and the "eager" backend.

`run` walks the nodes; `compile_python` prints the same program as one straight Python function.
State-changing ops (grad mode, autocast) run where they stand. Values are dropped after their last use.
"""

import math
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import Final, TypeVar, cast

import torch

from supple.expr import Expr
from supple.expr.real import NAMES, Real, evaluate_real, inputs_of, total_text
from supple.expr.text import Print
from supple.ir.graph import nodes
from supple.ir.graph.nodes import Arg, Graph, Meta, Node, Number, Var
from supple.ir.graph.numbers import callable_of
from supple.ir.literals import shown
from supple.runtime.empty import float_of

Results = tuple[object, ...]
T = TypeVar("T")


def run(graph: Graph, inputs: Sequence[object]) -> Results:
    """Return the outputs of a graph on real tensors, and plain numbers for the integer and float inputs.

    Raises:
        TypeError: the number of inputs is not the graph's.
    """
    values = bound_inputs(graph, inputs)
    known: dict[str, float] = {}
    for item in graph.inputs:
        bind(known, item.meta, values[item.name])

    def number(e: Number) -> object:
        def compute() -> float:
            return evaluate_real(e, cast("dict[str, int]", known), known)

        return compute() if inputs_of(e) else float_of(compute)

    for node, dying in zip(graph.nodes, last_uses(graph), strict=True):
        values[node.name] = result = run_node(node, values, number)
        bind(known, node.meta, result)
        for name in dying:
            values.pop(name, None)
    return tuple(value_of(arg, values, number) for arg in graph.outputs)


def bound_inputs(graph: Graph, inputs: Sequence[object]) -> dict[str, object]:
    """Return the input values by name.

    Raises:
        TypeError: the number of inputs is not the graph's.
    """
    if len(inputs) != len(graph.inputs):
        raise TypeError(f"the graph takes {len(graph.inputs)} inputs, not {len(inputs)}")
    return {item.name: value for item, value in zip(graph.inputs, inputs, strict=True)}


def bind(known: MutableMapping[str, float], meta: Meta, value: object) -> None:
    """Note the symbols and float inputs that a value with this metadata defines, unless they are known."""
    for name, path, dim in nodes.definitions(meta):
        if name not in known:
            found = item_at(value, path)
            known[name] = cast("float", found if dim is None else cast("torch.Tensor", found).shape[dim])


def item_at(value: object, path: tuple[int, ...]) -> object:
    """Return an item of nested sequences."""
    for index in path:
        value = cast("Sequence[object]", value)[index]
    return value


def run_node(
    node: Node, values: Mapping[str, object], number: Callable[[Number], object] | None = None
) -> object:
    """Return what a node's op gives for the values so far; `number` gives the values of Numbers."""
    args, kwargs = value_of((node.args, dict(node.kwargs)), values, number)
    return callable_of(node.op, args)(*args, **kwargs)


def value_of(arg: T, values: Mapping[str, object], number: Callable[[Number], object] | None = None) -> T:
    """Return an argument with Vars replaced by values, and Numbers by theirs."""
    return nodes.map_arg(lambda var: item_at(values[var.name], var.path), arg, number)


def last_uses(graph: Graph) -> list[list[str]]:
    """Return, for each node, the names that nobody reads after it."""
    kept = {var.name for var in nodes.vars_of(list(graph.outputs))}
    seen = set(kept)
    dying: list[list[str]] = []
    for node in reversed(graph.nodes):
        used = dict.fromkeys([var.name for var in nodes.uses_of(node)] + [node.name])
        dying.append([name for name in used if name not in seen])
        seen.update(used)
    return dying[::-1]


class _Printer:
    """Prints a graph as Python, collecting what has no literal in `table`."""

    def __init__(self) -> None:
        self.table: dict[str, object] = {}
        self.lines: list[str] = []
        self._names: dict[int, str] = {}
        self._numbers: dict[Number, str] = {}
        self._print = Print(ranges=False, kept=self._named)

    def line(self, content: str) -> None:
        """Add a line to the function."""
        self.lines.append(f"    {content}")

    def name(self, value: object, prefix: str) -> str:
        """Return a global name for an object."""
        name = self._names.setdefault(id(value), f"{prefix}{len(self.table)}")
        self.table[name] = value
        return name

    def bind(self, meta: Meta, value: str, wanted: set[str]) -> None:
        """Make local variables of the symbols that a value defines."""
        for name, path, dim in nodes.definitions(meta):
            if name in wanted:
                wanted.remove(name)
                item = value + "".join(f"[{index}]" for index in path)
                self.line(f"{name} = {item if dim is None else f'{item}.shape[{dim}]'}")

    def arg(self, arg: Arg) -> str:
        """Return an argument as a Python expression."""
        return shown(arg, self._special)

    def _special(self, part: object) -> str | None:
        if isinstance(part, Var):
            return f"v_{part}"
        if isinstance(part, Expr | Real):
            return self._number(part)
        is_plain = type(part) in _PLAIN and (type(part) is not float or math.isfinite(part))
        return None if is_plain else self.name(part, "k")

    def _number(self, e: Number) -> str:
        """Return the name of a number, computed once, above the line that needs it first."""
        shown = self._print(e)
        return shown if shown.isidentifier() or shown.isdecimal() else self._named(e, shown)

    def _named(self, e: Number, shown: str) -> str:
        if e not in self._numbers:
            self._numbers[e] = f"n{len(self._numbers)}"
            self.line(f"{self._numbers[e]} = {total_text(e, shown)}")
        return self._numbers[e]


_PLAIN: Final = frozenset((bool, int, float, str, type(None), list, tuple, dict, slice))


def compile_python(graph: Graph) -> Callable[..., Results]:
    """Return a Python function (*inputs) -> tuple of outputs that runs the graph with eager torch.

    Raises:
        TypeError: when it is called with another number of inputs.
    """
    printer = _Printer()
    wanted = nodes.symbols_in([graph.outputs, *((node.args, node.kwargs) for node in graph.nodes)])
    for item in graph.inputs:
        printer.bind(item.meta, f"v_{item.name}", wanted)
    for node, dying in zip(graph.nodes, last_uses(graph), strict=True):
        args = [printer.arg(arg) for arg in node.args]
        args += [f"**{{{name!r}: {printer.arg(arg)}}}" for name, arg in node.kwargs.items()]
        function = printer.name(callable_of(node.op, node.args), "c")
        printer.line(f"v_{node.name} = {function}({', '.join(args)})")
        printer.bind(node.meta, f"v_{node.name}", wanted)
        if dying:
            printer.line(f"del {', '.join('v_' + name for name in dying)}")
    printer.line(f"return {printer.arg(tuple(graph.outputs))}")
    head = f"def graph({', '.join('v_' + item.name for item in graph.inputs)}):"
    namespace = {**NAMES, float_of.__name__: float_of, **printer.table}
    # The text is made above, from names and literals only.
    exec(compile("\n".join((head, *printer.lines)), "<graph>", "exec"), namespace)
    return cast("Callable[..., Results]", namespace["graph"])

"""Run a Graph with eager torch: the oracle of every later stage, and the "eager" backend.

`run` walks the nodes; `compile_python` prints the same program as one straight Python function.
State-changing ops (grad mode, autocast) run where they stand. Values are dropped after their last use.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import cast

from supple.expr import Expr, Symbol, evaluate
from supple.ir.graph.nodes import Arg, Graph, Node, Var, map_arg, slice_parts, uses_of, vars_of
from supple.ir.graph.numbers import callable_of
from supple.ir.meta import TensorMeta

Results = tuple[object, ...]


def run(graph: Graph, inputs: Sequence[object]) -> Results:
    """Return the outputs of a graph on real or fake tensors.

    Raises:
        TypeError: the number of inputs is not the graph's.
    """
    values = bound_inputs(graph, inputs)
    sizes = size_values(graph, inputs)
    dying = last_uses(graph)
    for place, node in enumerate(graph.nodes):
        values[node.name] = run_node(node, values, sizes)
        for name in dying[place]:
            values.pop(name, None)
    return tuple(value_of(arg, values, sizes) for arg in graph.outputs)


def bound_inputs(graph: Graph, inputs: Sequence[object]) -> dict[str, object]:
    """Return the input values by name.

    Raises:
        TypeError: the number of inputs is not the graph's.
    """
    if len(inputs) != len(graph.inputs):
        msg = f"the graph takes {len(graph.inputs)} inputs, not {len(inputs)}"
        raise TypeError(msg)
    return {item.name: value for item, value in zip(graph.inputs, inputs, strict=True)}


def run_node(node: Node, values: Mapping[str, object], sizes: Mapping[str, int]) -> object:
    """Return what a node's op gives for the values so far."""
    args = cast("tuple[object, ...]", value_of(node.args, values, sizes))
    kwargs = cast("dict[str, object]", value_of(dict(node.kwargs), values, sizes))
    return callable_of(node.op, args)(*args, **kwargs)


def value_of(arg: Arg, values: Mapping[str, object], sizes: Mapping[str, int]) -> object:
    """Return an argument with Vars replaced by values and expressions by integers."""

    def look_up(var: Var) -> object:
        value = values[var.name]
        for index in var.path:
            value = cast("Sequence[object]", value)[index]
        return value

    return _with_sizes(map_arg(look_up, arg), sizes)


def _with_sizes(arg: Arg, sizes: Mapping[str, int]) -> object:
    if isinstance(arg, Expr):
        return evaluate(arg, sizes)
    if isinstance(arg, list):
        return [_with_sizes(item, sizes) for item in cast("list[object]", arg)]
    if type(arg) is tuple:
        return tuple(_with_sizes(item, sizes) for item in cast("tuple[object, ...]", arg))
    return arg


def size_values(graph: Graph, inputs: Sequence[object]) -> dict[str, int]:
    """Return the values of the size symbols that the inputs' metadata names."""
    found: dict[str, int] = {}
    for item, value in zip(graph.inputs, inputs, strict=True):
        if isinstance(item.meta, Symbol):
            found[item.meta.name] = cast("int", value)
        elif isinstance(item.meta, TensorMeta):
            shape = cast("Sequence[int]", getattr(value, "shape", ()))
            for size, number in zip(item.meta.sizes, shape, strict=False):
                if isinstance(size, Symbol):
                    found[size.name] = int(number)
    return found


def last_uses(graph: Graph) -> list[list[str]]:
    """Return, for each node, the names that nobody reads after it."""
    kept = {var.name for var in vars_of(list(graph.outputs))}
    seen = set(kept)
    dying: list[list[str]] = []
    for node in reversed(graph.nodes):
        used = dict.fromkeys([var.name for var in uses_of(node)] + [node.name])
        dying.append([name for name in used if name not in seen])
        seen.update(used)
    return dying[::-1]


class _Printer:
    """Prints arguments as Python, collecting what has no literal in `table`."""

    def __init__(self) -> None:
        self.table: dict[str, object] = {}

    def name(self, value: object, prefix: str) -> str:
        """Return a global name for an object."""
        for known, item in self.table.items():
            if item is value:
                return known
        name = f"{prefix}{len(self.table)}"
        self.table[name] = value
        return name

    def arg(self, arg: Arg) -> str:
        """Return an argument as a Python expression."""
        match arg:
            case Var():
                return "v_" + str(arg)
            case None | bool() | int() | str():
                return repr(arg) if type(arg) in (type(None), bool, int, str) else self.name(arg, "k")
            case float():
                return repr(arg) if math.isfinite(arg) and type(arg) is float else self.name(arg, "k")
            case Expr():
                return self._expr(arg)
            case _:
                return self._container(arg)

    def _expr(self, arg: Expr) -> str:
        return str(arg.value) if arg.is_const else f"{self.name(arg, 'k')}.value"

    def _container(self, arg: Arg) -> str:
        if isinstance(arg, slice):
            return f"slice({', '.join(map(self.arg, slice_parts(arg)))})"  # pyright: ignore[reportUnknownArgumentType]  # slices and dicts are of anything
        if type(arg) is list:
            return f"[{', '.join(map(self.arg, cast('list[object]', arg)))}]"
        if type(arg) is tuple:
            items = cast("tuple[object, ...]", arg)
            return f"({', '.join(map(self.arg, items))}{',' if len(items) == 1 else ''})"
        if type(arg) is dict:
            pairs = cast("dict[object, object]", arg).items()
            return "{" + ", ".join(f"{self.arg(key)}: {self.arg(item)}" for key, item in pairs) + "}"
        return self.name(arg, "k")


def compile_python(graph: Graph) -> Callable[..., Results]:
    """Return a Python function (*inputs) -> tuple of outputs that runs the graph with eager torch.

    Raises:
        TypeError: when it is called with another number of inputs.
        NotImplementedError: the graph has symbolic sizes; `run` takes those.
    """
    if any(isinstance(item.meta, Expr) for item in graph.inputs):
        msg = "a graph with integer inputs is run by `run`"
        raise NotImplementedError(msg)
    printer = _Printer()
    lines = [f"def graph({', '.join('v_' + item.name for item in graph.inputs)}):"]
    for node, dying in zip(graph.nodes, last_uses(graph), strict=True):
        args = [printer.arg(arg) for arg in node.args]
        args += [f"**{{{name!r}: {printer.arg(arg)}}}" for name, arg in node.kwargs.items()]
        lines.append(
            f"    v_{node.name} = {printer.name(callable_of(node.op, node.args), 'f')}({', '.join(args)})"
        )
        if dying:
            lines.append(f"    del {', '.join('v_' + name for name in dying)}")
    lines.append(f"    return {printer.arg(tuple(graph.outputs))}")
    code = compile("\n".join(lines), "<graph>", "exec")
    namespace = dict(printer.table)
    exec(code, namespace)  # the program text is made above from names and literals only
    return cast("Callable[..., Results]", namespace["graph"])

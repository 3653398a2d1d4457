"""Lower: each node of an ATen graph becomes definitions, or a library call where no rule applies.

The table `lowerings` maps an op name to a rule; rules live in pointwise, reduce, views, gather and create.
A rule that cannot serve a case raises `NotLowered`, and the node becomes a library call. It must not know
of kernels.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from supple.base.rules import Rules
from supple.expr import Expr, Symbol, symbol
from supple.expr.real import Real, names_of
from supple.ir.dtypes import DType
from supple.ir.graph import nodes
from supple.ir.graph.nodes import Constant, Graph, Input, Meta, Node, Var, definitions, uses_of, vars_of
from supple.ir.loops.nodes import Scalar
from supple.ir.meta import TensorMeta
from supple.schedule.define import Body, Call, Definition
from supple.schedule.exact import Computed, stands_for

COMPLEX: Final = ("c64", "c128")


class NotLowered(Exception):  # not an error: the node becomes a library call
    """A rule does not serve this node."""


@dataclass(frozen=True, slots=True)
class Lowered:
    """A graph as definitions and library calls.

    Attributes:
        inputs: the graph's inputs.
        definitions: by value name, operands before users.
        calls: in graph order; `order` gives the place of each name's node in the graph.
        metas: of every tensor value.
        outputs: the graph's outputs; their Vars name values.
        order: position in the graph of the node that defines a value, -1 for inputs.
        values: what is known of every value, tensor or not.
        shown: the value that shows a number, for those that no input shows.
        reals: what the host passes for a symbol that stands for the bits of a float.
        numbers: the symbols of integers that the host computes.
    """

    inputs: tuple[Input, ...]
    definitions: Mapping[str, Definition]
    calls: tuple[Call, ...]
    metas: Mapping[str, TensorMeta]
    outputs: tuple[object, ...]
    order: Mapping[str, int]
    values: Mapping[str, Meta]
    shown: Mapping[str, str]
    reals: Mapping[Symbol, Real]
    numbers: Mapping[Expr, Symbol]


@dataclass(slots=True)
class Lowering:
    """What a rule may ask and do.

    Attributes:
        values: what is known of each value, tuples of a node's results taken apart.
        given: names of the numbers that inputs show.
        shown: the library call's result that shows a number (a size of it, or itself), by the number's name.
        reals: the symbol that stands for the bits of a float, by the float.
        numbers: the symbol that stands for an integer that the host computes.
    """

    values: dict[str, Meta] = field(default_factory=dict[str, Meta])
    definitions: dict[str, Definition] = field(default_factory=dict[str, Definition])
    calls: list[Call] = field(default_factory=list[Call])
    order: dict[str, int] = field(default_factory=dict[str, int])
    position: int = -1
    given: set[str] = field(default_factory=set[str])
    shown: dict[str, str] = field(default_factory=dict[str, str])
    reals: dict[Real, Symbol] = field(default_factory=dict[Real, Symbol])
    numbers: Computed = field(default_factory=dict[Expr, Symbol])

    def record(self, name: str, meta: Meta) -> None:
        """Note what is known of a value and of the items of its result."""
        self.values[name] = meta
        self.order[name] = self.position
        if isinstance(meta, tuple):
            for index, item in enumerate(meta):
                self.record(f"{name}[{index}]", item)

    def tensor(self, arg: object) -> TensorMeta:
        """Return the metadata of a tensor argument.

        Raises:
            NotLowered: the argument is no tensor, or of a kind that kernels do not handle.
        """
        meta = self.values.get(str(arg)) if isinstance(arg, Var) else None
        if not isinstance(meta, TensorMeta):
            raise NotLowered(f"{arg} is not a tensor")
        return checked(meta)

    def known(self, arg: object) -> object:
        """Return an argument: of a value what is known of it, of a constant the constant."""
        meta = self.values[str(arg)] if isinstance(arg, Var) else arg
        return meta.value if isinstance(meta, Constant) else meta

    def result(self, node: Node) -> TensorMeta:
        """Return the metadata of a node's only result.

        Raises:
            NotLowered: it has several, or one that is no tensor.
        """
        if not isinstance(node.meta, TensorMeta):
            raise NotLowered(f"{node.name} is not one tensor")
        return checked(node.meta)

    def showing(self, definition: Definition) -> list[str]:
        """Return the results of library calls that show the numbers of a definition."""
        numbers = definition.numbers if self.shown else ()
        if not numbers:
            return []
        parts = {
            found.name: number
            for number, found in (*self.reals.items(), *self.numbers.items())
            if found.name in numbers
        }
        names = (name for one in numbers for name in (names_of(parts[one]) if one in parts else (one,)))
        return [self.shown[name] for name in names if name in self.shown]

    def scalar(self, body: Body, number: Expr | Real) -> Scalar:
        """Return a number that is computed from sizes, as a scalar of a body or a constant."""
        if isinstance(number, Expr):
            return number.value if number.is_const else body.index(self.computed(number))
        bits = self.reals.setdefault(number, symbol(f"bits{len(self.reals)}"))
        return body.compute("float_of_bits", DType.F64, body.index(bits))

    def computed(self, number: Expr) -> Expr:
        """Return an integer that the host computes: what is in between may not fit into 64 bits."""
        return number if number.is_const or isinstance(number, Symbol) else stands_for(number, self.numbers)

    def define(self, definition: Definition) -> None:
        """Add a definition; auxiliary values become known by it."""
        self.definitions[definition.name] = definition
        self.values[definition.name] = definition.meta
        self.order[definition.name] = self.position


def checked(meta: TensorMeta) -> TensorMeta:
    """Return `meta`.

    Raises:
        NotLowered: for complex numbers and for devices other than the CPU.
    """
    if meta.device != "cpu" or meta.dtype.value in COMPLEX:
        raise NotLowered(f"kernels do not handle {meta.dtype.value} on {meta.device}")
    return meta


LowerRule = Callable[[Lowering, Node], None]
lowerings: Final[Rules[LowerRule]] = Rules("lower")


def lower(graph: Graph) -> Lowered:
    """Return the definitions and library calls of a graph."""
    state = Lowering()
    for item in graph.inputs:
        state.record(item.name, item.meta)
        state.given.update(name for name, _, _ in definitions(item.meta))
    for position, node in enumerate(graph.nodes):
        state.position = position
        state.record(node.name, node.meta)
        _lower_node(state, node)
    metas = {name: meta for name, meta in state.values.items() if isinstance(meta, TensorMeta)}
    live = _live(state, graph)
    defined = {name: found for name, found in state.definitions.items() if name in live}
    calls = tuple(call for call in state.calls if call.has_effects or not live.isdisjoint(call.names))
    reals = {found: real for real, found in state.reals.items()}
    return Lowered(
        inputs=graph.inputs,
        definitions=defined,
        calls=calls,
        metas=metas,
        outputs=graph.outputs,
        order=state.order,
        values=state.values,
        shown=state.shown,
        reals=reals,
        numbers=state.numbers,
    )


def _live(state: Lowering, graph: Graph) -> set[str]:
    """Return the values that the outputs and the library calls with effects need."""
    producers = {name: call for call in state.calls for name in call.names if name is not None}
    todo = [str(var) for var in vars_of(graph.outputs)]
    todo += [state.shown[number] for number in nodes.symbols_in(graph.outputs) if number in state.shown]
    todo += [name for call in state.calls if call.has_effects for name in call.reads]
    live: set[str] = set()
    while todo:
        name = todo.pop()
        if name in live:
            continue
        live.add(name)
        definition, call = state.definitions.get(name), producers.get(name)
        if definition is not None:
            todo.extend(load.buffer for load in definition.loads)
            todo.extend(state.showing(definition))
        elif call is not None:
            todo.extend(call.reads)
    return live


def _lower_node(state: Lowering, node: Node) -> None:
    rule = lowerings.find(node.op.name)
    if rule is None or not node.op.is_pure:
        _call(state, node)
        return
    before = len(state.definitions)
    try:
        rule(state, node)
    except NotLowered:
        for name in list(state.definitions)[before:]:
            del state.definitions[name]
        _call(state, node)


def _call(state: Lowering, node: Node) -> None:
    """Add a node as a library call."""
    leaves = list(_leaves(node.name, node.meta))
    is_tuple = isinstance(node.meta, tuple)
    if is_tuple and any(name.count("[") > 1 for name, _ in leaves):
        raise NotLowered(f"{node.name}: results of {node.op.name} are nested too deep")
    names = tuple(None if isinstance(meta, Constant) and is_tuple else name for name, meta in leaves)
    metas = {name: meta for name, meta in leaves if isinstance(meta, TensorMeta)}
    reads = [str(var) for var in uses_of(node)]
    reads += [state.shown[n] for n in nodes.symbols_in((node.args, node.kwargs)) if n in state.shown]
    # Numbers that only the results of a library call show.
    for number, path, _ in definitions(node.meta):
        if number not in state.given:
            state.shown.setdefault(number, str(Var(node.name, path)))
    needed, kwargs = tuple(dict.fromkeys(reads)), dict(node.kwargs)
    changed = tuple(written(node))
    call = Call(names, node.op, node.args, kwargs, is_tuple, metas, needed, changed, node.name)
    state.calls.append(call)


def _leaves(name: str, meta: Meta) -> Iterator[tuple[str, Meta]]:
    """Yield the results of a node: itself, or the items of its tuple, in order."""
    if not isinstance(meta, tuple):
        yield name, meta
        return
    for index, item in enumerate(meta):
        yield from _leaves(f"{name}[{index}]", item)


def written(node: Node) -> Iterator[str]:
    """Yield the names of the values that a node writes in place."""
    schema = getattr(node.op.call, "_schema", None)
    if schema is None:
        return
    for position, argument in enumerate(schema.arguments):
        if argument.alias_info is None or not argument.alias_info.is_write:
            continue
        given = node.args[position] if position < len(node.args) else node.kwargs.get(argument.name)
        yield from map(str, vars_of(given))


def as_fixed(arg: object) -> int:
    """Return a Python integer argument.

    Raises:
        NotLowered: the argument is symbolic or no integer.
    """
    if isinstance(arg, Expr) and arg.is_const:
        return arg.value
    if isinstance(arg, int):
        return int(arg)
    raise NotLowered(f"{arg} is not a fixed integer")

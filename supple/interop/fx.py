"""Graph -> torch.fx.GraphModule, for backends written as (GraphModule, example inputs) -> callable."""

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final, cast

import torch
import torch.fx
from torch.fx.node import Argument, map_aggregate

from supple.base.errors import Where
from supple.expr import Add, Expr, Symbol
from supple.expr.nodes import construct
from supple.expr.python import PYTHON
from supple.expr.real import OF_MATH, Real
from supple.ir.graph.nodes import Arg, Graph, Input, Meta, Number, Var, definitions, map_arg
from supple.ir.meta import TensorMeta
from supple.ir.ops import Op, OpKind
from supple.shapes.env import active
from supple.shapes.fake import fake_from
from supple.shapes.symnode import sym
from supple.torch_private import sym_cos, sym_sin

Backend = Callable[..., object]
Compiled = Callable[..., tuple[object, ...]]


def compile_with(backend: Backend, graph: Graph, examples: Sequence[object]) -> Compiled:
    """Return the graph compiled by a backend that takes torch.fx graphs.

    The result takes the graph's inputs and returns a tuple of its outputs.

    Raises:
        TypeError: the backend returned something that is not callable.
        Exception: whatever the backend raises.
    """
    compiled = backend(to_fx(graph), list(examples))
    if not callable(compiled):
        raise TypeError(f"the backend {backend!r} returned {compiled!r}, which is not callable")

    def call(*inputs: object) -> tuple[object, ...]:
        return tuple(cast("Sequence[object]", compiled(*inputs)))

    return call


#: What computes each kind of number in a torch.fx graph; operators of many operands take two at a time.
FUNCTIONS: Final[Mapping[str, Callable[..., object]]] = {
    **PYTHON,
    **{name: getattr(math, name) for name in OF_MATH},
    **{name: getattr(torch, f"sym_{name}") for name in ("min", "max", "float", "sqrt")},
    "sin": sym_sin,
    "cos": sym_cos,
    **{name: getattr(math, name) for name in ("floor", "ceil", "trunc")},
    "round": round,
    "abs": operator.abs,
}
SIZE: Final = torch.ops.aten.sym_size.int


def to_fx(graph: Graph) -> torch.fx.GraphModule:
    """Return a GraphModule with the graph's inputs as placeholders, in order, and a tuple of its outputs.

    Placeholders are named after the sources (`l_x_`). What the graph computes from sizes is nodes, one for
    each subexpression. `meta` of a node has "example_value" and "val" (fake tensors and symbolic numbers,
    where a compilation is active), and "stack_trace" where the user's line is known.
    """
    made = _Module()
    for item in graph.inputs:
        made.define(item.name, item.meta, made.graph.placeholder(placeholder_name(item)))
    for item in graph.nodes:
        args = cast("tuple[Argument, ...]", made.argument(item.args))
        kwargs = cast("dict[str, Argument]", made.argument(dict(item.kwargs)))
        if item.op.kind is OpKind.METHOD:
            method = item.op.name.removeprefix("Tensor.")
            node = made.graph.create_node("call_method", method, args, kwargs, item.name)
        else:
            node = made.graph.create_node("call_function", _target(item.op), args, kwargs, item.name)
        if item.where:
            node.meta["stack_trace"] = stack_trace(item.where)
        made.define(item.name, item.meta, node)
    made.graph.output(cast("Argument", made.argument(tuple(graph.outputs))))
    return torch.fx.GraphModule(made.root, made.graph)


class _Module:
    """A torch.fx graph under construction: values by name, and numbers that were computed already.

    Attributes:
        root: has what nodes take that no code can name.
    """

    def __init__(self) -> None:
        self.graph = torch.fx.Graph()
        self.root = torch.nn.Module()
        self._values: dict[str, torch.fx.Node] = {}
        self._numbers: dict[Number, object] = {}
        self._sources: dict[str, tuple[Var, int | None]] = {}
        self._generators: dict[torch.Generator, str] = {}

    def define(self, name: str, meta: Meta, node: torch.fx.Node) -> None:
        """Give a value its name, its example, and its part in the definition of symbols."""
        self._values[name] = node
        _describe(node, meta)
        for symbol, path, dim in definitions(meta):
            self._sources.setdefault(symbol, (Var(name, path), dim))

    def argument(self, arg: Arg) -> object:
        """Return an argument with nodes in place of Vars and Numbers."""
        return map_aggregate(cast("Argument", map_arg(self._used, arg, self._number)), self._written)

    def _written(self, leaf: Argument) -> Argument:
        """Return a part of an argument in a form that has a text, or that is an attribute of the module."""
        if isinstance(leaf, type):
            # `x.type` takes the names of classes of tensors too.
            return DTYPES.get(leaf) or f"{leaf.__module__}.{leaf.__qualname__}"
        if not isinstance(leaf, torch.Generator):
            return leaf
        if leaf not in self._generators:
            self._generators[leaf] = f"generator_{len(self._generators)}"
            setattr(self.root, self._generators[leaf], leaf)
        return self.graph.get_attr(self._generators[leaf])

    def _used(self, var: Var) -> torch.fx.Node:
        node = self._values[var.name]
        for index in var.path:
            inner = self.graph.call_function(operator.getitem, (node, index))
            if "val" in node.meta:
                item = cast("Sequence[object]", node.meta["val"])[index]
                inner.meta.update(example_value=item, val=item)
            node = inner
        return node

    def _number(self, e: Number) -> object:
        if isinstance(e, Expr) and e.is_const:
            return e.value
        if e not in self._numbers:
            self._numbers[e] = self._computed(e)
        return self._numbers[e]

    def _computed(self, e: Number) -> object:
        """Return the node of a number, its operands joined from the left, those with a minus by sub."""
        if isinstance(e, Symbol) or (isinstance(e, Real) and e.op == "input"):
            var, dim = self._sources[str(e)]
            return self._used(var) if dim is None else self._called(SIZE, (self._used(var), dim), e)
        function = FUNCTIONS[e.sign if isinstance(e, Expr) else e.op]
        done, *others = e.args
        node = self.argument(done)
        if not others:
            return self._called(function, (node,), e)
        for arg in others:
            done = construct[type(e)](done, arg) if isinstance(e, Expr) else Real(e.op, (done, arg))
            if done not in self._numbers:
                joining, right = function, arg
                if type(e) is Add and isinstance(arg, Expr) and (arg.constant or arg.terms[0][1]) < 0:
                    joining, right = operator.sub, -arg
                self._numbers[done] = self._called(joining, (node, self.argument(right)), done)
            node = self._numbers[done]
        return node

    def _called(self, function: Callable[..., object], args: tuple[object, ...], e: Number) -> torch.fx.Node:
        node = self.graph.call_function(function, cast("tuple[Argument, ...]", args))
        _describe(node, e)
        return node


def _target(op: Op) -> Callable[..., object]:
    """Return what a node calls: a method of a class, as `apply` of an autograd.Function, as a function.

    The code of a GraphModule refers to a function by its module and name, where no bound method is found.
    """
    call = op.call
    owner = getattr(call, "__self__", None)
    if not isinstance(owner, type):
        return call

    def called(*args: object, **kwargs: object) -> object:
        return call(*args, **kwargs)

    called.__name__ = called.__qualname__ = f"{owner.__name__}_{call.__name__}"
    return called


DTYPES: Final[Mapping[object, torch.dtype]] = {
    bool: torch.bool,
    int: torch.int64,
    float: torch.float64,
    complex: torch.complex128,
}
"""What the classes of Python's numbers say as the type of a tensor's elements."""


def placeholder_name(item: Input) -> str:
    """Return the name of an input as torch's own capture would write it: L['x'] becomes l_x_, s0 stays."""
    if isinstance(item.meta, Expr | Real):
        return item.name
    text = re.sub(r"[\W_]+", "_", item.source or item.name)
    return text.lower() if text[:1].isalpha() else f"arg_{text.lower().lstrip('_')}"


def stack_trace(where: Sequence[Where]) -> str:
    """Return the user's stack as Python prints one, innermost last."""
    return "".join(f'  File "{w.filename}", line {w.line}, in {w.function}\n    {w.text}\n' for w in where)


def _describe(node: torch.fx.Node, meta: Meta) -> None:
    value = _example(meta)
    if value is not None:
        node.meta.update(example_value=value, val=value)


def _example(meta: Meta) -> object:
    """Return a fake value that has this metadata; None for symbols without a compilation."""
    env = active()
    if isinstance(meta, TensorMeta):
        return fake_from(meta) if meta.is_static or env is not None else None
    if isinstance(meta, Expr | Real):
        return None if env is None else sym(meta, env)
    if isinstance(meta, tuple):
        return tuple(_example(item) for item in meta)
    return meta.value

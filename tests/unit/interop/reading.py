"""torch.fx modules as graphs: to read back what was written, and to make graphs of functions."""

import operator
from collections.abc import Sequence
from typing import cast

import torch
import torch.fx

from supple.base.errors import InternalError
from supple.expr import Expr
from supple.expr.real import Real
from supple.interop.fx import FUNCTIONS, SIZE
from supple.ir.arguments import slice_parts
from supple.ir.graph.interp import item_at
from supple.ir.graph.nodes import Arg, Graph, Input, Node, Number, Var, map_arg
from supple.ir.ops import Op, aten_op, function_op, method_op
from supple.shapes.env import active
from supple.shapes.fake import fake_like, faking
from supple.shapes.infer import as_meta
from supple.shapes.symnode import plain, sym
from supple.torch_private import OpOverload

NUMERIC = frozenset((*FUNCTIONS.values(), operator.sub, operator.neg, SIZE))


def from_fx(module: torch.fx.GraphModule, examples: Sequence[object]) -> Graph:
    """Return a GraphModule as a Graph; `examples` are its inputs, real or fake, and symbolic numbers.

    Nodes that only compute with symbolic numbers become expressions.

    Raises:
        InternalError: a node is a submodule call or reads an attribute of the module.
    """
    reader = _Reader()
    outputs: tuple[Arg, ...] = ()
    places = iter(examples)
    for node in module.graph.nodes:
        if node.op == "placeholder":
            reader.add_input(node, next(places))
        elif node.op == "output":
            returned = reader.argument(node.args[0])
            outputs = (
                tuple(cast("Sequence[Arg]", returned)) if isinstance(returned, tuple | list) else (returned,)
            )
        else:
            reader.add_node(node)
    return Graph(tuple(reader.inputs), tuple(reader.nodes), outputs)


class _Reader:
    """A graph under construction: what stands for each torch.fx node, and its value on fakes."""

    def __init__(self) -> None:
        self.inputs: list[Input] = []
        self.nodes: list[Node] = []
        self._known: dict[torch.fx.Node, Arg] = {}
        self._values: dict[str, object] = {}

    def add_input(self, node: torch.fx.Node, example: object) -> None:
        """Append an input."""
        is_tensor = isinstance(example, torch.Tensor)
        is_parameter = isinstance(example, torch.nn.Parameter)
        self.inputs.append(Input(node.name, as_meta(example), str(node.target), is_parameter))
        self._note(node, fake_like(example) if is_tensor else plain(example))

    def add_node(self, node: torch.fx.Node) -> None:
        """Run a node, and append it unless it takes an item or only computes with symbolic numbers."""
        op = _op(node)
        args = cast("tuple[Arg, ...]", self.argument(node.args))
        kwargs = cast("dict[str, Arg]", self.argument(node.kwargs))
        with faking():
            result = op.call(
                *cast("tuple[object, ...]", map_arg(self._value, args, self._symbolic)),
                **cast("dict[str, object]", map_arg(self._value, kwargs, self._symbolic)),
            )
        number = plain(result)
        if isinstance(number, Expr | Real) and node.target in NUMERIC:
            self._known[node] = number
        elif node.target is operator.getitem and isinstance(args[0], Var) and isinstance(args[1], int):
            self._known[node] = Var(args[0].name, (*args[0].path, args[1]))
        else:
            self.nodes.append(Node(node.name, op, args, kwargs, as_meta(result)))
            self._note(node, number)

    def _note(self, node: torch.fx.Node, value: object) -> None:
        self._values[node.name] = value
        self._known[node] = value if isinstance(value, Expr | Real) else Var(node.name)

    def _value(self, var: Var) -> object:
        return item_at(self._values[var.name], var.path)

    def _symbolic(self, e: Number) -> object:
        env = active()
        assert env is not None, f"{e} without a compilation"
        return sym(e, env)

    def argument(self, arg: object) -> Arg:
        """Return an argument of a torch.fx node as one of ours."""
        if isinstance(arg, torch.fx.Node):
            return self._known[arg]
        if isinstance(arg, tuple):
            return tuple(map(self.argument, cast("tuple[object, ...]", arg)))
        if isinstance(arg, list):
            return list(map(self.argument, cast("list[object]", arg)))
        if isinstance(arg, dict):
            return {key: self.argument(item) for key, item in cast("dict[object, object]", arg).items()}
        if isinstance(arg, slice):
            return slice(*map(self.argument, slice_parts(arg)))  # pyright: ignore[reportUnknownArgumentType]  # slices and dicts are of anything
        return arg


def _op(node: torch.fx.Node) -> Op:
    if node.op == "call_method":
        return method_op(cast("str", node.target))
    if node.op == "call_function" and isinstance(node.target, OpOverload):
        return aten_op(node.target)  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]  # untyped in torch
    if node.op == "call_function" and callable(node.target):
        return function_op(f"{node.target.__module__}.{node.target.__name__}", node.target)
    raise InternalError(f"a torch.fx node {node.op} {node.target} has no form in our graphs")

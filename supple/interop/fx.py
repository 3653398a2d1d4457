"""Graph <-> torch.fx.GraphModule, for backends written as (GraphModule, example inputs) -> callable."""

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import cast

import torch
import torch.fx
from torch.fx.node import Argument

from supple.base.errors import InternalError, Where
from supple.expr import Expr
from supple.ir.graph.nodes import Arg, Graph, Input, Meta, Node, Var, map_arg, slice_parts
from supple.ir.meta import TensorMeta
from supple.ir.ops import Op, OpKind, aten_op, function_op, method_op
from supple.shapes.fake import fake_from, fake_like, faking, meta_of
from supple.shapes.infer import as_meta
from supple.torch_private import OpOverload

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
        msg = f"the backend {backend!r} returned {compiled!r}, which is not callable"
        raise TypeError(msg)

    def call(*inputs: object) -> tuple[object, ...]:
        return tuple(cast("Sequence[object]", compiled(*inputs)))

    return call


def to_fx(graph: Graph) -> torch.fx.GraphModule:
    """Return a GraphModule with the graph's inputs as placeholders, in order, and a tuple of its outputs.

    Placeholders are named after the sources (`l_x_`). `meta` of a node has "example_value" and "val" (fake
    tensors),
    and "stack_trace" where the user's line is known.
    """
    made = torch.fx.Graph()
    values: dict[str, torch.fx.Node] = {}
    for item in graph.inputs:
        node = made.placeholder(placeholder_name(item))
        _describe(node, item.meta)
        values[item.name] = node

    def look_up(var: Var) -> Arg:
        node = values[var.name]
        for index in var.path:
            inner = made.call_function(operator.getitem, (node, index))
            if "val" in node.meta:
                _set_value(inner, cast("Sequence[object]", node.meta["val"])[index])
            node = inner
        return node

    for item in graph.nodes:
        args = cast("tuple[object, ...]", _plain(map_arg(look_up, item.args)))
        kwargs = cast("dict[str, object]", _plain(map_arg(look_up, dict(item.kwargs))))
        node = _called(made, item, args, kwargs)
        _describe(node, item.meta)
        if item.where:
            node.meta["stack_trace"] = stack_trace(item.where)
        values[item.name] = node
    made.output(cast("Argument", _plain(map_arg(look_up, tuple(graph.outputs)))))
    return torch.fx.GraphModule(torch.nn.Module(), made)


def placeholder_name(item: Input) -> str:
    """Return the name of an input as torch's own capture would write it: L['x'] becomes l_x_."""
    text = "".join(character if character.isalnum() else "_" for character in item.source or item.name)
    while "__" in text:
        text = text.replace("__", "_")
    return text.lower() if text[:1].isalpha() else f"arg_{text.lower().lstrip('_')}"


def stack_trace(where: Sequence[Where]) -> str:
    """Return the user's stack as Python prints one, innermost last."""
    lines = [f'  File "{w.filename}", line {w.line}, in {w.function}\n    {w.text}\n' for w in where]
    return "".join(lines)


def _called(
    made: torch.fx.Graph, node: Node, args: tuple[object, ...], kwargs: dict[str, object]
) -> torch.fx.Node:
    # The arguments are fx Arguments: constants and nodes in containers.
    given = cast("tuple[Argument, ...]", args)
    named = cast("dict[str, Argument]", kwargs)
    if node.op.kind is OpKind.METHOD:
        method = node.op.name.removeprefix("Tensor.")
        return made.create_node("call_method", method, given, named, node.name)
    return made.create_node("call_function", node.op.call, given, named, node.name)


def _plain(arg: object) -> object:
    """Return an argument with constant expressions as integers."""
    if isinstance(arg, Expr):
        return arg.value
    if isinstance(arg, list):
        return [_plain(item) for item in cast("list[object]", arg)]
    if type(arg) is tuple:
        return tuple(_plain(item) for item in cast("tuple[object, ...]", arg))
    if isinstance(arg, dict):
        return {key: _plain(item) for key, item in cast("dict[object, object]", arg).items()}
    if isinstance(arg, slice):
        return slice(*map(_plain, slice_parts(arg)))  # pyright: ignore[reportUnknownArgumentType]  # slices and dicts are of anything
    return arg


def _describe(node: torch.fx.Node, meta: Meta) -> None:
    value = _example(meta)
    if value is not None:
        _set_value(node, value)


def _set_value(node: torch.fx.Node, value: object) -> None:
    node.meta["example_value"] = value
    node.meta["val"] = value


def _example(meta: Meta) -> object:
    """Return a fake value that has this metadata."""
    if isinstance(meta, TensorMeta):
        return fake_from(meta)
    if isinstance(meta, Expr):
        return meta.value if meta.is_const else None
    if isinstance(meta, tuple):
        return tuple(_example(item) for item in meta)
    return meta.value


def from_fx(module: torch.fx.GraphModule, examples: Sequence[object]) -> Graph:
    """Return a GraphModule as a Graph; `examples` are its inputs, real or fake.

    Raises:
        InternalError: a node is a submodule call or reads an attribute of the module.
    """
    names: dict[torch.fx.Node, str] = {}
    inputs: list[Input] = []
    nodes: list[Node] = []
    outputs: tuple[Arg, ...] = ()
    fakes: dict[str, object] = {}
    places = iter(examples)
    for node in module.graph.nodes:
        if node.op == "placeholder":
            example = next(places)
            names[node] = node.name
            item = _input(node.name, str(node.target), example)
            inputs.append(item)
            fakes[node.name] = fake_like(example) if isinstance(example, torch.Tensor) else example
        elif node.op == "output":
            returned = _from_fx(node.args[0], names)
            outputs = (
                tuple(cast("Sequence[Arg]", returned)) if isinstance(returned, tuple | list) else (returned,)
            )
        else:
            nodes.append(_node(node, names, fakes))
            names[node] = node.name
    return Graph(tuple(inputs), tuple(nodes), outputs)


def _input(name: str, source: str, example: object) -> Input:
    if isinstance(example, torch.Tensor):
        return Input(name, meta_of(example), source, isinstance(example, torch.nn.Parameter))
    return Input(name, as_meta(example), source)


def _node(node: torch.fx.Node, names: Mapping[torch.fx.Node, str], fakes: dict[str, object]) -> Node:
    args = cast("tuple[Arg, ...]", _from_fx(node.args, names))
    kwargs = cast("dict[str, Arg]", _from_fx(node.kwargs, names))
    op = _op(node)

    def look_up(var: Var) -> object:
        return fakes[var.name]

    with faking():
        result = op.call(
            *cast("tuple[object, ...]", map_arg(look_up, args)),
            **cast("dict[str, object]", map_arg(look_up, kwargs)),
        )
    fakes[node.name] = result
    return Node(node.name, op, args, kwargs, as_meta(result))


def _op(node: torch.fx.Node) -> Op:
    if node.op == "call_method":
        return method_op(cast("str", node.target))
    if node.op == "call_function" and isinstance(node.target, OpOverload):
        return aten_op(node.target)  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]  # untyped in torch
    if node.op == "call_function" and callable(node.target):
        return _function_op(node.target)
    msg = f"a torch.fx node {node.op} {node.target} has no form in our graphs"
    raise InternalError(msg)


def _function_op(function: Callable[..., object]) -> Op:
    return function_op(f"{function.__module__}.{function.__name__}", function)


def _from_fx(arg: object, names: Mapping[torch.fx.Node, str]) -> Arg:
    if isinstance(arg, torch.fx.Node):
        return Var(names[arg])
    if isinstance(arg, tuple):
        return tuple(_from_fx(item, names) for item in cast("tuple[object, ...]", arg))
    if isinstance(arg, list):
        return [_from_fx(item, names) for item in cast("list[object]", arg)]
    if isinstance(arg, dict):
        return {key: _from_fx(item, names) for key, item in cast("dict[object, object]", arg).items()}
    if isinstance(arg, slice):
        return slice(*(_from_fx(part, names) for part in slice_parts(arg)))  # pyright: ignore[reportUnknownArgumentType]  # slices and dicts are of anything
    return arg

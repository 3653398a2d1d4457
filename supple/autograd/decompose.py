"""Rewrite a functional ATen graph with the operators of `ir.core_ops` only, and clean it up.

before:  y = aten.silu.default(x)
after:   n = aten.neg.default(x); e = aten.exp.default(n); a = aten.add.Tensor(e, 1.0)
         y = aten.div.Tensor(x, a)
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, cast

from supple.autograd import decompose_activation as _activation
from supple.autograd import decompose_backward as _backward
from supple.autograd import decompose_creation as _creation
from supple.autograd import decompose_norm as _norm
from supple.autograd import decompose_pointwise as _pointwise
from supple.autograd import decompose_reduce as _reduce
from supple.autograd import decompose_view as _view
from supple.autograd.lowering import Lowering, decompositions
from supple.autograd.unread import unread, unstacked
from supple.expr import Expr
from supple.ir.arguments import leaves
from supple.ir.core_ops import Kind, kind_of
from supple.ir.dtypes import DType
from supple.ir.graph import nodes
from supple.ir.graph.nodes import Arg, Graph, Meta, Node, Var, map_arg, meta_of, uses_of, vars_of, with_mapped
from supple.ir.graph.rewrite import without_dead, without_repeats
from supple.ir.graph.symbols import names_in
from supple.ir.meta import TensorMeta
from supple.ir.ops import Op, is_random
from supple.shapes.layout import generally_equal, is_dense

#: The files that fill the table.
RULE_FILES = (_activation, _backward, _creation, _norm, _pointwise, _reduce, _view)


def decompose(graph: Graph, lent: Collection[str] = (), results: int = 0) -> Graph:
    """Return an equal graph of core operators, without dead or repeated nodes.

    Outputs have the strides of the given graph's; no two outputs, and no output and input, share memory.

    Args:
        lent: names of the inputs that the program may write to before backward.
        results: so many of the outputs the program gets, and may write to as well.
    """
    core = without_repeats(unread(_rewritten(without_dead(unstacked(graph)))))
    return separated(without_dead(without_copies(core, {*lent, *_roots(core, results)})), graph)


def _roots(graph: Graph, results: int) -> Iterator[str]:
    """Yield the names of the values in whose memory the first outputs of a graph are seen."""
    makers = {node.name: node for node in graph.nodes}
    return (root_of(var, makers) for var in vars_of(graph.outputs[:results]))


def _rewritten(graph: Graph) -> Graph:
    lowering = Lowering(graph.inputs)
    values: dict[str, Arg] = {item.name: Var(item.name) for item in graph.inputs}

    def look_up(var: Var) -> Arg:
        value = values[var.name]
        for place, index in enumerate(var.path):
            if isinstance(value, Var):
                return Var(value.name, (*value.path, *var.path[place:]))
            value = cast("Sequence[Arg]", value)[index]
        return value

    before = graph.metas()
    known = {name for item in graph.inputs for name in names_in(item.meta)}
    for node in graph.nodes:
        lowering.stack = node.where
        args, kwargs = map_arg(look_up, (node.args, dict(node.kwargs)))
        shown = names_in(node.meta)
        if isinstance(node.meta, nodes.Constant) or not shown <= known:
            # What only the run tells is not asked again: it would get other symbols.
            values[node.name] = lowering.emit(node.op, args, kwargs, node.meta, node.name)
        else:
            values[node.name] = _lowered(lowering, node, args, kwargs, before)
        known |= shown
    lowering.stack = ()
    return lowering.graph(map_arg(look_up, graph.outputs))


def _lowered(
    lowering: Lowering, node: Node, args: tuple[Arg, ...], kwargs: dict[str, Arg], before: Mapping[str, Meta]
) -> Arg:
    """Return the value of one node in the new graph."""
    if _is_complex(node, before):
        return lowering.emit(node.op, args, kwargs, name=node.name)
    if is_random(node.op) or node.op.name == "aten.as_strided.default":
        # Numbers are drawn, and strides counted, in the memory of the operands.
        args = _laid_out(lowering, node, args, before)
    if _keeps_integers(node, before):
        args, kwargs = tuple(map(_as_integer, args)), {key: _as_integer(arg) for key, arg in kwargs.items()}
        if float in map(type, (*args, *kwargs.values())):
            return lowering.emit(node.op, args, kwargs, name=node.name)
    rule = decompositions.find(node.op.name)
    result = None if rule is None else rule(lowering, *args, **kwargs)
    if result is not None:
        return result
    if kind_of(node.op.name) is Kind.LIBRARY and node.op.name not in _ANY_LAYOUT:
        # A library may refuse another layout: `nll_loss2d_backward` takes row-major operands only.
        args = _laid_out(lowering, node, args, before)
    return lowering.emit(node.op, args, kwargs, name=node.name)


def _laid_out(
    lowering: Lowering, node: Node, args: tuple[Arg, ...], before: Mapping[str, Meta]
) -> tuple[Arg, ...]:
    """Return the operands of a node in the layouts in which eager gives them."""
    old = [meta_of(arg, before) if isinstance(arg, Var) else None for arg in node.args]
    return tuple(
        lowering.restrided(arg, meta)
        if isinstance(arg, Var) and isinstance(meta, TensorMeta) and is_dense(meta.sizes, meta.strides)
        else arg
        for arg, meta in zip(args, old, strict=True)
    )


_ANY_LAYOUT: Final = frozenset(
    f"aten.{name}.default" for name in "mm bmm addmm baddbmm convolution convolution_backward".split()
)
"""Library calls that take operands in any layout."""


COMPLEX: Final = (DType.C64, DType.C128)


def _is_complex(node: Node, before: Mapping[str, Meta]) -> bool:
    """Tell whether a node reads or makes complex numbers; such nodes stay library calls."""
    metas = [node.meta, *(meta_of(var, before) for var in uses_of(node))]
    is_given = any(isinstance(one, complex) for one in leaves((node.args, node.kwargs)))
    return is_given or any(isinstance(meta, TensorMeta) and meta.dtype in COMPLEX for meta in metas)


def _keeps_integers(node: Node, before: Mapping[str, Meta]) -> bool:
    """Tell whether integers give integers of their type, so that eager converts each number, or refuses."""
    first = next((meta_of(var, before) for var in uses_of(node)), None)
    dtypes = [meta.dtype if isinstance(meta, TensorMeta) else None for meta in (first, node.meta)]
    return dtypes[0] is dtypes[1] and dtypes[0] is not None and dtypes[0].is_integer


def _as_integer(arg: Arg) -> Arg:
    return int(arg) if isinstance(arg, float) and arg.is_integer() else arg


def without_copies(graph: Graph, lent: Collection[str] = ()) -> Graph:
    """Return the graph with each clone that changes no strides replaced by what it copies.

    A copy of what the program may write to before backward stays, for backward may need it as it was. What
    `as_strided` counts in the memory of stays: a copy begins at its first element, and a view may not.
    So does that of which a result is a view, and a result that copies a view: their places in memory are
    eager's.
    """
    metas = graph.metas()
    makers = {node.name: node for node in graph.nodes}
    striding = [node for node in graph.nodes if node.op.name.startswith("aten.as_strided")]
    counted = {root_of(var, makers) for node in striding for var in uses_of(node)}
    counted |= {root for var in vars_of(graph.outputs) if (root := root_of(var, makers)) != var.name}
    shown = set(vars_of(graph.outputs))
    renamed: dict[str, Var] = {}
    later: dict[str, Expr] = {}  # of copies and their views: how much later in memory what is read begins
    kept: list[Node] = []

    def follow(var: Var) -> Var:
        return renamed.get(var.name, var) if not var.path else var

    for node in graph.nodes:
        made = with_mapped(node, follow)
        if node.op.name == "aten.clone.default" and node.name not in counted:
            source = cast("Var", made.args[0])
            meta, copy = cast("TensorMeta", meta_of(source, metas)), cast("TensorMeta", node.meta)
            is_shown = Var(node.name) in shown and root_of(source, makers) != str(source)
            # A copy of complex numbers may be one of their conjugates, which a view shows.
            is_kept = is_shown or root_of(source, makers) in lent
            if not is_kept and meta.dtype not in COMPLEX and meta.strides == copy.strides:
                renamed[node.name] = source
                later[node.name] = meta.offset + later.get(source.name, 0) - copy.offset
                continue
        base = node.args[0] if is_view(node.op) else None
        if isinstance(base, Var) and base.name in later and isinstance(node.meta, TensorMeta):
            later[node.name] = later[base.name]
            made = replace(made, meta=replace(node.meta, offset=node.meta.offset + later[base.name]))
        kept.append(made)
    return Graph(graph.inputs, tuple(kept), map_arg(follow, graph.outputs))


def separated(graph: Graph, wanted: Graph) -> Graph:
    """Return the graph with every tensor output in memory of its own and in the layout of `wanted`'s
    output."""
    metas = wanted.metas()
    lowering = Lowering(graph.inputs)
    lowering.nodes += graph.nodes
    lowering.metas.update((node.name, node.meta) for node in graph.nodes)
    makers = {node.name: node for node in graph.nodes}
    taken = {item.name for item in graph.inputs}
    outputs: list[Arg] = []
    for now, was in zip(graph.outputs, wanted.outputs, strict=True):
        if not isinstance(now, Var):
            outputs.append(now)
            continue
        layout = cast("TensorMeta", meta_of(cast("Var", was), metas))
        value = lowering.restrided(now, layout)
        root = root_of(value, makers)
        mine = lowering.tensor_meta(value)
        if not all(map(generally_equal, mine.strides, layout.strides)):
            # A program sees the strides of dimensions of size 1 too.
            value = lowering.emit("aten.clone.default", (value,), meta=replace(mine, strides=layout.strides))
        if root in taken and value is now:
            value = lowering.emit("aten.clone.default", (value,))
        taken.add(root)
        outputs.append(value)
    return lowering.graph(outputs)


def root_of(var: Var, makers: Mapping[str, Node]) -> str:
    """Return the name of the value whose memory a value is seen in: views are followed to what they show."""
    node = makers.get(var.name)
    while node is not None and is_view(node.op) and isinstance(node.args[0], Var):  # not of a number
        var = node.args[0]
        node = makers.get(var.name)
    return str(var)


def is_view(op: Op) -> bool:
    """Tell whether an op's result shows its first argument's memory."""
    return op.is_view or kind_of(op.name) is Kind.VIEW

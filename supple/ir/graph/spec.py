"""Well-formedness of graphs: what every pass may rely on and must keep.

`check` holds for any graph; `check_aten` also for functional ATen graphs, `check_core` for decomposed ones.
"""

from collections.abc import Callable, Mapping
from typing import Final

import torch

from supple.base.errors import SpecError
from supple.base.rules import Rules
from supple.expr import Expr
from supple.expr.real import Real, names_of
from supple.ir.arguments import leaves
from supple.ir.core_ops import CORE_OPS, Kind, kind_of
from supple.ir.dtypes import DType
from supple.ir.graph import nodes
from supple.ir.graph.nodes import Arg, Constant, Graph, Meta, Node, Var, uses_of, vars_of
from supple.ir.meta import TensorMeta
from supple.ir.ops import OpKind

Infer = Callable[[Node, Mapping[str, Meta]], Meta]
#: (node, what is known of every value) -> the first thing wrong with it, None when nothing is.
Check = Callable[[Node, Mapping[str, Meta]], str | None]

UNBACKED: Final = "u"
"""How the names of symbols begin that a node may define."""
node_checks: Final[Rules[Check]] = Rules("checks of graph nodes")
core_checks: Final[Rules[Check]] = Rules("checks of core nodes")

_TORCH: Final = (torch.dtype, torch.device, torch.layout, torch.memory_format)
_PLAIN: Final = (bool, int, float, complex, str, type(None), Expr, Real, Var, *_TORCH)


def check(graph: Graph) -> None:
    """Check names, order of definition of values and symbols, and paths.

    Raises:
        SpecError: names the rule and the node.
    """
    known: dict[str, Meta] = {}
    symbols: set[str] = set()
    for item in graph.inputs:
        if not isinstance(item.meta, TensorMeta):
            symbols.update(name for name, _, _ in nodes.definitions(item.meta))
        _require_symbols(symbols, item.name, item.meta)
        _define(known, item.name, item.meta)
    for node in graph.nodes:
        _require_symbols(symbols, node.name, Constant(None), (node.args, node.kwargs))
        symbols.update(name for name, _, _ in nodes.definitions(node.meta) if name.startswith(UNBACKED))
        _require_symbols(symbols, node.name, node.meta)
        for var in uses_of(node):
            _require_known(known, var, node.name)
        _define(known, node.name, node.meta)
    _require_symbols(symbols, "return", Constant(None), graph.outputs)
    for var in vars_of(graph.outputs):
        _require_known(known, var, "return")


def broken(rule: str, node: str, problem: str) -> SpecError:
    """Return the error that a rule of the spec is broken at a node."""
    return SpecError(f"{rule}: {node}: {problem}")


def _define(known: dict[str, Meta], name: str, meta: Meta) -> None:
    if name in known:
        raise broken("unique names", name, "the name is taken")
    known[name] = meta


def _require_symbols(symbols: set[str], user: str, meta: Meta, arg: Arg = None) -> None:
    """Check that the symbols in metadata and in an argument have a value."""
    used = nodes.symbols_in(arg).union(*map(names_of, nodes.numbers_in(meta)))
    if not used <= symbols:
        missing = ", ".join(sorted(used - symbols))
        raise broken("symbols are defined before use", user, f"no input or node gives {missing}")


def _require_known(known: Mapping[str, Meta], var: Var, user: str) -> None:
    if var.name not in known:
        raise broken("defined before use", user, f"{var.name} is not defined")
    meta = known[var.name]
    for index in var.path:
        if isinstance(meta, Constant):
            return
        if not isinstance(meta, tuple) or not 0 <= index < len(meta):
            raise broken("paths exist", user, f"{var.name} has no item {list(var.path)}")
        meta = meta[index]


def check_aten(graph: Graph, infer: Infer | None = None) -> None:
    """Check a functional ATen graph.

    Args:
        infer: what the shape rules say of a node; given it, each node's metadata must be that.

    Raises:
        SpecError: names the rule and the node.
    """
    check(graph)
    metas = graph.metas()
    for node in graph.nodes:
        _require_all(node_checks, node, metas)
        wanted = node.meta if infer is None else infer(node, metas)
        if _forgetful(wanted) != _forgetful(node.meta):
            raise broken("metadata is what the rule says", node.name, f"{node.meta}, the rule says {wanted}")


def _require_all(checks: Rules[Check], node: Node, metas: Mapping[str, Meta]) -> None:
    for name in checks:
        problem = checks[name](node, metas)
        if problem is not None:
            raise broken(str(name), node.name, problem)


def _forgetful(meta: Meta) -> Meta:
    """Return metadata without offset and requires_grad, which say how a value came about, not what it is."""
    if isinstance(meta, tuple):
        return tuple(_forgetful(item) for item in meta)
    if isinstance(meta, TensorMeta):
        return TensorMeta(meta.sizes, meta.strides, meta.dtype, meta.device)
    return meta


@node_checks.on("only ATen operators")
def _(node: Node, metas: Mapping[str, Meta]) -> str | None:
    """Torch functions and methods are gone."""
    return None if node.op.kind is OpKind.ATEN else f"{node.op.name} is a {node.op.kind.value}"


@node_checks.on("nothing is written")
def _(node: Node, metas: Mapping[str, Meta]) -> str | None:
    """Every node is functional; random ones are."""
    schema = getattr(node.op.call, "_schema", None)
    return f"{node.op.name} writes an argument" if schema is not None and schema.is_mutable else None


@node_checks.on("arguments are plain")
def _(node: Node, metas: Mapping[str, Meta]) -> str | None:
    """Constants are numbers, texts, sizes and torch's enumerations."""
    for leaf in leaves([*node.args, *node.kwargs.values()]):
        if not isinstance(leaf, _PLAIN):
            return f"an argument is {leaf!r}"
    return None


@node_checks.on("results are known")
def _(node: Node, metas: Mapping[str, Meta]) -> str | None:
    """A tensor, a number, or a tuple of them and of None, for what was not asked for."""
    known = (TensorMeta, Expr, Real)
    items: tuple[Meta, ...] = (node.meta,)
    if isinstance(node.meta, tuple):
        items, known = node.meta, (*known, Constant)
    unknown = [item for item in items if not isinstance(item, known)]
    return f"nothing is known of {unknown}" if unknown and node.op.is_pure else None


def check_core(graph: Graph, infer: Infer | None = None) -> None:
    """Check a decomposed graph: `ir.core_ops` says what holds.

    Raises:
        SpecError: names the rule and the node.
    """
    check_aten(graph, infer)
    metas = graph.metas()
    for node in graph.nodes:
        if node.op.name in CORE_OPS and not _is_complex(node, metas):
            _require_all(core_checks, node, metas)


def _operands(node: Node, metas: Mapping[str, Meta]) -> list[TensorMeta]:
    found = (nodes.meta_of(var, metas) for var in uses_of(node))
    return [meta for meta in found if isinstance(meta, TensorMeta)]


def _is_complex(node: Node, metas: Mapping[str, Meta]) -> bool:
    is_given = any(isinstance(one, complex) for one in leaves((node.args, node.kwargs)))
    return is_given or any(meta.dtype in (DType.C64, DType.C128) for meta in _operands(node, metas))


@core_checks.on("operands of a pointwise op have one dtype")
def _(node: Node, metas: Mapping[str, Meta]) -> str | None:
    """The condition of `where` aside."""
    if kind_of(node.op.name) is not Kind.POINTWISE:
        return None
    operands = _operands(node, metas)[1 if node.op.name == "aten.where.self" else 0 :]
    kinds = {meta.dtype for meta in operands}
    return f"{node.op.name} of {', '.join(sorted(kind.value for kind in kinds))}" if len(kinds) > 1 else None


@core_checks.on("dimensions count from the front")
def _(node: Node, metas: Mapping[str, Meta]) -> str | None:
    """Of reductions, views and gathers, no list of dimensions or sizes has a negative number."""
    if kind_of(node.op.name) not in (Kind.REDUCTION, Kind.VIEW):
        return None
    if node.op.name in ("aten.diagonal.default", "aten.as_strided.default"):
        return None
    negative = [leaf for leaf in leaves(list(node.args[1:])) if isinstance(leaf, int) and leaf < 0]
    return f"{node.op.name} with {negative}" if negative else None

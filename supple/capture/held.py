"""Which inputs a graph holds copies of while it runs, so that it can be undone when it raises.

A graph that raises runs again as plain Python, which raises at its place among the effects of the program.
What the graph has written by then is undone first. Most graphs need no copies: their operators raise for
sizes and types, which is known when they are captured, or they write after everything that may raise.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final, cast

import torch

from supple.expr import Expr
from supple.expr.width import may_be_wide
from supple.ir.arguments import Arg, leaves
from supple.ir.graph.nodes import FLAGS, Graph, Meta, Node, meta_of, uses_of, vars_of
from supple.ir.meta import DType, TensorMeta
from supple.runtime.undo import Counted, version
from supple.shapes.rules_index import MASKS

_BEYOND: Final = re.compile(r"\w+\.as_strided_?")
"""Operators that give elements of the memory around a tensor."""
_IN_PARTS: Final = frozenset(
    f"Tensor.{name}_"
    for name in "index_add index_copy index_fill index_put index_reduce put scatter scatter_add "
    "scatter_reduce masked_scatter".split()
)
"""Operators that may raise when they have written a part, which torch does not count then."""


def has_effects(graph: Graph, fakes: Sequence[torch.Tensor] | None) -> bool:
    """Tell whether a graph changes what outlives it: its inputs, or what an operator knows of.

    Args:
        fakes: the fakes of inputs, which count writes; None where some writes are not counted.
    """
    impure = [node for node in graph.nodes if not node.op.is_pure and any(uses_of(node))]
    if fakes is None or not all(_WRITES.fullmatch(node.op.name) for node in impure):
        return bool(impure)
    return bool(impure) and any(version(fake) != 0 for fake in fakes)


_WRITES: Final = re.compile(
    r"(Tensor|torch|torch\.nn\.functional|aten)\."
    r"(?!requires_grad_|detach_|share_memory_|resize_as_|embedding_renorm_)"
    r"([a-z]\w*[a-z0-9]_(\.\w+)?|__setitem__|__i\w+__)"
    r"|torch\.nn\.functional\.\w+_in_place|operator\.i\w+"
)
"""Operators that write to their first tensor, which counts that, and do nothing else."""


def reaches_beyond(graph: Graph) -> bool:
    """Tell whether a graph may write to the memory around an input."""
    return any(_BEYOND.fullmatch(node.op.name) for node in graph.nodes)


def counted_writes(graph: Graph) -> Counted:
    """Return which writes torch counts: an operator may have written when it raises, and none is counted."""
    metas = graph.metas()
    return Counted.WHOLE if any(_is_in_parts(node, metas) for node in graph.nodes) else Counted.ALL


def _is_in_parts(node: Node, metas: Mapping[str, Meta]) -> bool:
    """Tell that of an operator: torch looks at each place when it writes there, and at masks before."""
    if node.op.name == "Tensor.__setitem__":
        index = node.args[1]
        return _has_list(index) or any(_is_of_places(meta_of(var, metas)) for var in vars_of(index))
    return node.op.name in _IN_PARTS


def _is_of_places(meta: Meta) -> bool:
    return not (isinstance(meta, TensorMeta) and meta.dtype in MASKS)


def held_inputs(graph: Graph, fakes: Mapping[str, torch.Tensor], *, is_counted: bool) -> list[int] | None:
    """Return the places of inputs written before, or by, an operator that may raise for what tensors hold.

    None where there is no such operator: an exception that comes all the same is not undone. Where torch does
    not count all writes, nobody can tell later that an exception came before the first of them.

    Args:
        fakes: the fakes of inputs, by name, as the capture left them.
        is_counted: whether torch counts all writes of the graph: of inputs with no write nothing is held.
    """
    metas, has_written, is_undone = graph.metas(), False, False
    written = {name for name, fake in fakes.items() if not is_counted or version(fake) != 0}
    changed = {
        item.name
        for item in graph.inputs
        if isinstance(item.meta, TensorMeta) and fakes[item.name].requires_grad != item.meta.requires_grad
    }
    written |= changed
    is_refusable = any(fakes[name].requires_grad for name in written)
    for node in graph.nodes:
        used = [meta_of(var, metas) for var in uses_of(node)]
        may_be_refused = is_refusable and _may_be_refused(node, used, may_share=bool(changed))
        may_raise = not used or may_be_refused or _may_raise(node, used)
        is_undone |= _is_in_parts(node, metas) or (may_raise and (has_written or not is_counted))
        has_written |= bool(used) and not node.op.is_pure
    if not (is_undone and has_written):
        return None
    return [place for place, item in enumerate(graph.inputs) if item.name in written]


_LOOKED_AT: Final = re.compile(
    "as_strided|linalg|cholesky|inverse|solve|svd|eig|lstsq|multinomial|bernoulli|normal|poisson|binomial|hist|"
    "quantile|assert|binary_cross_entropy(?!_with)|bincount"
)
"""Operators that look at what tensors of floats hold, or at their memory, and may not like it."""


def _may_raise(node: Node, used: Sequence[Meta]) -> bool:
    """Tell whether an operator may raise for what tensors hold, or for a number of more than 64 bits.

    Integers in tensors may be no places, and kernels may know no complex or half numbers, or may not like the
    tensor that they are to write.
    """
    if "out" in node.kwargs:
        return True
    if any(map(_is_wide, leaves((node.args, node.kwargs)))):
        return True
    if any(isinstance(meta, TensorMeta) and meta.dtype not in _TAKEN_BY_ALL for meta in used):
        return True
    if node.op.name in _OF_ITEMS:
        return _has_list(node.args[1])
    if node.op.name in FLAGS:
        return True
    return _LOOKED_AT.search(node.op.name) is not None


_TAKEN_BY_ALL: Final = (DType.F64, DType.F32, DType.BF16)
"""Types that kernels take, whatever a tensor of them holds."""


def _is_wide(number: object) -> bool:
    """Tell whether a number may need more than 64 bits."""
    if isinstance(number, int):
        return not -(2**63) <= number < 2**63
    return isinstance(number, Expr) and may_be_wide(number)


def _may_be_refused(node: Node, used: Sequence[Meta], *, may_share: bool) -> bool:
    """Tell whether autograd may refuse what an operator writes: of an input nobody knows how it was made.

    It may be a view of a leaf, one of several views that one operator returned, or one made in `no_grad`.

    Args:
        may_share: whether an input has come to require gradients, which others may be views of.
    """
    tensors = [meta for meta in used if isinstance(meta, TensorMeta)]
    return not node.op.is_pure and any(may_share or meta.requires_grad for meta in tensors)


_OF_ITEMS: Final = frozenset(("Tensor.__getitem__", "Tensor.__setitem__"))


def _has_list(index: Arg) -> bool:
    """Tell whether an index has integers that no guard compares with the size that they are for."""
    parts = cast("tuple[Arg, ...]", index) if isinstance(index, tuple) else (index,)
    return any(isinstance(part, list | tuple) for part in parts)

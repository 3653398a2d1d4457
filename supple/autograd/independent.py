"""Which results backward can go through one after the other: those that share nothing that is kept for it.

Eager frees what a node of its graph keeps when backward has gone through the node. So two results whose
graphs share no such node may be differentiated one by one, and they need compiled backwards of their own.
"""

from collections.abc import Sequence
from typing import Any, Final, cast

import torch
from torch.autograd.graph import Node

from supple.ir.arguments import leaves

_WRITE_TO_A_VIEW: Final = "torch::autograd::CopySlices"
"""The name of the node that stands for a write to a view; it keeps the node of what was written."""
_SAVED: Final = "_saved_"
"""The names of the attributes in which a node of eager's graph shows what it keeps begin so."""


def independent(results: Sequence[torch.Tensor]) -> list[tuple[list[int], bool]]:
    """Return the places of the results in groups: two groups share no node that keeps tensors.

    Each comes with whether a node of it keeps any: backward goes through another one as often as one likes.
    """
    groups: list[tuple[list[int], set[Node]]] = []
    for place, result in enumerate(results):
        nodes = set(filter(_keeps, nodes_of(result)))
        shares = [group for group in groups if group[1] & nodes]
        joined = [one for group in shares for one in group[0]]
        groups = [group for group in groups if group not in shares]
        groups.append(([*joined, place], nodes.union(*(group[1] for group in shares))))
    return sorted((sorted(places), bool(nodes)) for places, nodes in groups)


def nodes_of(*results: torch.Tensor) -> set[Node]:
    """Return the nodes of autograd's graph that backward of these results reaches."""
    seen: set[Node] = set()
    work = [result.grad_fn for result in results]
    while work:
        node = work.pop()
        if node is not None and node not in seen:
            seen.add(node)
            work += [following for following, _ in node.next_functions]
    return seen


def _keeps(node: Node) -> bool:
    """Tell whether a node keeps a tensor that eager frees, which attributes of a context are not."""
    if node.name() == _WRITE_TO_A_VIEW:
        return True
    try:
        if isinstance(node, torch.autograd.function.BackwardCFunction):
            return bool(cast("Any", node).saved_tensors)
        kept = [getattr(node, name) for name in dir(node) if name.startswith(_SAVED)]
    except RuntimeError:  # what is kept was written since
        return True
    return any(isinstance(part, torch.Tensor) for part in leaves(kept))

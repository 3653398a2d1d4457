"""The gradients of a trace: the autograd engine runs backward on the trace's fakes, under its recorder.

forward:  h = x @ w; y = relu(h)                              results: y
joint:    h = x @ w; y = relu(h); g = where(y > 0, dy, 0)     results: y, g @ w.T, x.T @ g
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch

from supple.autograd.errors import NeedsGrad
from supple.autograd.storage import Cell
from supple.ir.graph.nodes import Input
from supple.shapes.fake import meta_of
from supple.shapes.layout import is_dense


@dataclass(frozen=True, slots=True)
class Gradients:
    """What of a joint graph is about gradients. Its results are the forward's, then the gradients.

    Attributes:
        results: how many results are the forward's.
        differentiable: which of them have gradients, in the order of the tangents.
        tangents: names of the inputs that hold what flows into them.
        inputs: places of the inputs that have a gradient, in the order of the gradients.
    """

    results: int
    differentiable: tuple[int, ...]
    tangents: tuple[str, ...]
    inputs: tuple[int, ...]


def differentiable(cell: Callable[[torch.Tensor], Cell], outputs: Sequence[object]) -> list[torch.Tensor]:
    """Return the outputs, each once, through which gradients flow into the graph: no inputs, nor their views.

    Raises:
        NeedsGrad: such an output shares memory with another, or its own memory has gaps; or it is a leaf,
            into which gradients flow from other outputs.
    """
    tensors = list({id(item): item for item in outputs if isinstance(item, torch.Tensor)}.values())
    owners = [id(cell(item).storage) for item in tensors]
    found = [item for item in tensors if item.requires_grad and cell(item).storage.input is None]
    if any(item.is_leaf for item in found):
        raise NeedsGrad("a leaf that the graph makes")
    for place, item in enumerate(tensors):
        if item.requires_grad and cell(item).storage.input is None:
            meta = meta_of(item)
            if owners.count(owners[place]) > 1 or not is_dense(meta.sizes, meta.strides):
                raise NeedsGrad(f"output {place}, a view that shares memory with another or has gaps,")
    return found


def gradients(
    outputs: Sequence[torch.Tensor],
    inputs: Sequence[torch.Tensor],
    tangent: Callable[[Input], torch.Tensor],
    name: Callable[[str], str],
) -> tuple[tuple[str, ...], list[torch.Tensor | None]]:
    """Record the gradients of inputs, while the trace records; return the names of the tangents, and them.

    Raises:
        NeedsGrad: what is differentiated was made in the graph.

    Args:
        tangent: adds an input to the graph and returns its fake.
        name: returns a fresh name.
    """
    if not inputs:
        raise NeedsGrad("an output that depends on no input which does")
    added: list[Input] = []
    for place, output in enumerate(outputs):
        meta = replace(meta_of(output), requires_grad=False)
        added.append(Input(name("tangent"), meta, f"gradient of result {place}"))
    tangents = [tangent(item) for item in added]
    # Backward runs as a user calls it: outside of blocks with autocast.
    with torch.autocast("cpu", enabled=False):
        found = torch.autograd.grad(list(outputs), list(inputs), tangents, allow_unused=True)
    return tuple(item.name for item in added), list(found)

"""Functions of torch that are defined by others, as plain Python, inlined during capture like user code."""

import contextlib
from collections.abc import Callable
from typing import Any

import torch

from supple.capture.library.table import replace
from supple.torch_private import associative_scan, begin_range, tree_flatten, tree_unflatten


@replace(associative_scan)
def _(
    combine: Callable[..., Any], xs: Any, dim: int, reverse: bool = False, combine_mode: str = "pointwise"
) -> Any:
    """torch's associative_scan: what all slices up to one combine to, one slice after another."""
    leaves, spec = tree_flatten(xs)
    if combine_mode == "pointwise" and any(leaf.device.type == "cpu" for leaf in leaves):
        raise ValueError("For combine_mode='pointwise', all input tensors need to be on CUDA or XPU")
    rows: list[Any] = []
    for slices in zip(*[leaf.unbind(dim)[:: -1 if reverse else 1] for leaf in leaves], strict=True):
        here = tree_unflatten(slices, spec)
        rows.append(combine(rows[-1], here) if rows else here)
    if reverse:
        rows.reverse()
    columns = zip(*[tree_flatten(row)[0] for row in rows], strict=True)
    return tree_unflatten([torch.stack(column, dim) for column in columns], spec)


@replace(torch.autograd.profiler.record_function)
def _(name: object, args: object = None) -> Any:
    """A range of the profiler: captured code has none."""
    if not isinstance(name, (str, bytes)) or not isinstance(args, str | None):
        begin_range(name, args)  # eager's error
    return contextlib.nullcontext()

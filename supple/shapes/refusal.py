"""What eager says of arguments that do not fit: the operator itself is asked, on zeros of the same sizes."""

from collections.abc import Mapping

import torch

from supple.ir.arguments import map_leaves
from supple.shapes.decide import hint
from supple.shapes.errors import Undecided
from supple.shapes.symnode import Symbolic, expr_of, node_of
from supple.torch_private import OpOverload, no_torch_dispatch


def refusal(
    func: OpOverload, args: tuple[object, ...], kwargs: Mapping[str, object], otherwise: Exception
) -> Exception:
    """Return the error that eager raises for these arguments, of the sizes of this call and without guards.

    Where a size is known at run time only, or eager takes the arguments, it is `otherwise`.
    """
    try:
        with no_torch_dispatch():
            func(*map(_plain, args), **{name: _plain(arg) for name, arg in kwargs.items()})
    except Undecided:
        return otherwise
    except (RuntimeError, IndexError, TypeError, ValueError) as error:
        return error
    return otherwise


def _plain(arg: object) -> object:
    return map_leaves(_plain_leaf, arg)


def _plain_leaf(leaf: object) -> object:
    """Return a number as it is in this call, a tensor as zeros of its sizes and strides."""
    if isinstance(leaf, Symbolic):
        found = node_of(leaf).hint
        if found is None:
            raise Undecided(leaf)
        return found
    if not isinstance(leaf, torch.Tensor):
        return leaf
    sizes, strides = ([hint(expr_of(one)) for one in numbers] for numbers in (leaf.shape, leaf.stride()))
    last = sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True))
    device = "cpu" if leaf.device.type == "cpu" else "meta"
    return torch.zeros(max(last, 0) + 1, dtype=leaf.dtype, device=device).as_strided(sizes, strides)

"""What eager says of arguments that do not fit: the operator itself is asked, on zeros of the same sizes."""

import math
from collections.abc import Mapping
from typing import Final

import torch

from supple.ir.arguments import map_leaves
from supple.shapes.decide import hint
from supple.shapes.errors import Misfit, Undecided
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


def refused(func: OpOverload, args: tuple[object, ...], kwargs: Mapping[str, object]) -> Exception | None:
    """Return what eager raises where a number does not go into the type of the tensors, if it does.

    It is asked on few elements of each tensor first: many such numbers are fine.
    """
    given = (*args, *kwargs.values())
    numbers = [one for one in given if isinstance(one, int | float) and not isinstance(one, bool)]
    typed = [x for x in given if isinstance(x, torch.dtype | torch.Tensor)] or [torch.get_default_dtype()]
    is_random = torch.Tag.nondeterministic_seeded in func.tags
    if is_random or not any(_is_outside(number, one) for number in numbers for one in typed):
        return None
    with no_torch_dispatch():
        few = tuple(map_leaves(_few, arg) for arg in args)
        named = {name: map_leaves(_few, arg) for name, arg in kwargs.items()}
    is_fine = refusal(func, few, named, _ACCEPTED) is _ACCEPTED
    found = _ACCEPTED if is_fine else refusal(func, args, kwargs, _ACCEPTED)
    return None if found is _ACCEPTED else found


_ACCEPTED: Final = Misfit("eager takes the arguments")


def _is_outside(number: float, typed: torch.dtype | torch.Tensor) -> bool:
    """Tell whether a number is outside of the range of a type, or a float beside integers."""
    dtype = typed if isinstance(typed, torch.dtype) else typed.dtype
    if dtype.is_floating_point:
        return math.isfinite(number) and abs(number) > torch.finfo(dtype).max
    if dtype is torch.bool or dtype.is_complex or isinstance(number, float):
        return isinstance(number, float) and not dtype.is_complex
    limits = torch.iinfo(dtype)
    return not limits.min <= number <= limits.max


def _few(leaf: object) -> object:
    return torch.zeros([2] * leaf.ndim, dtype=leaf.dtype) if isinstance(leaf, torch.Tensor) else leaf


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

"""Runs eager with other roundings and addresses: where these decide, there is nothing to compare with."""

import contextlib
import random
import re
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, Final
from unittest import mock

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

LAST_BITS: Final = {
    torch.float32: 2**-23,
    torch.float64: 2**-52,
    torch.bfloat16: 2**-8,
    torch.float16: 2**-11,
}


class Jitter(TorchDispatchMode):
    """While active, each new result of an ATen operator gets other last bits, as in sums of another order."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.generator = torch.Generator().manual_seed(seed)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        is_new = not any(one.alias_info for one in (*func._schema.arguments, *func._schema.returns))
        return tree_map(self.shaken, result) if is_new and args else result

    def shaken(self, value: object) -> object:
        """Return a tensor with other last bits; zeros stay, and NaNs, which may get the other sign."""
        if not isinstance(value, torch.Tensor) or value.dtype not in LAST_BITS:
            return value
        steps = torch.randint(-1, 2, value.shape, generator=self.generator)
        signed = torch.where(value.isnan(), value.copysign(steps), value)
        return signed + signed * steps.to(value.dtype) * LAST_BITS[value.dtype]


def shaken(program: Callable[..., Any], seed: int) -> Callable[..., Any]:
    """Return a program whose results have other last bits."""

    def run(*args: Any) -> Any:
        with Jitter(seed):
            return program(*args)

    return run


UNEVEN: Final = (torch.ops.aten.fmod, torch.ops.aten.remainder)
"""Operators of which eager's vectors give other results than its code for one element, beyond rounding."""


class Alone(TorchDispatchMode):
    """While active, such an operator computes each element by itself."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if (
            func.overloadpacket not in UNEVEN
            or not isinstance(result, torch.Tensor)
            or func._schema.is_mutable
        ):
            return result
        operands = [one if isinstance(one, torch.Tensor) else torch.tensor(one) for one in args]
        rows = zip(*(one.broadcast_to(result.shape).flatten() for one in operands), strict=True)
        single = [func.overloadpacket(*row) for row in rows]
        return torch.stack(single).to(result.dtype).view(result.shape) if single else result


def alone(program: Callable[..., Any]) -> Callable[..., Any]:
    """Return a program whose elements are computed one by one, where that makes a difference to eager."""

    def run(*args: Any) -> Any:
        with Alone():
            return program(*args)

    return run


BY_VECTORS: Final = tuple(
    getattr(torch.ops.aten, name)
    for name in ("maximum", "minimum", "clamp", "clamp_min", "clamp_max", "sinh", "cosh")
)
"""Operators of which eager's vectors give another zero or infinity than its code for the rest."""


class InVectors(TorchDispatchMode):
    """While active, such an operator computes each element in a vector of its own, filled with it."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if (
            func.overloadpacket not in BY_VECTORS
            or not isinstance(result, torch.Tensor)
            or func._schema.is_mutable
        ):
            return result
        given = [
            one.broadcast_to(result.shape).unsqueeze(-1).expand(*result.shape, 64).contiguous()
            if isinstance(one, torch.Tensor)
            else one
            for one in args
        ]
        return func(*given, **(kwargs or {}))[..., 0].contiguous()


def in_vectors(program: Callable[..., Any]) -> Callable[..., Any]:
    """Return a program whose elements are computed in vectors, where that makes a difference to eager."""

    def run(*args: Any) -> Any:
        with InVectors():
            return program(*args)

    return run


NODE: Final = re.compile(r"grad_fn=<\w+>")


def named_otherwise(program: Callable[..., Any]) -> Callable[..., Any]:
    """Return a program for which nodes of autograd's graph have other names, where it prints tensors."""
    shown = torch._tensor_str._str

    def named(*args: Any, **kwargs: Any) -> str:
        return NODE.sub("grad_fn=<OfSomeOtherNameBackward0>", shown(*args, **kwargs))

    def run(*args: Any) -> Any:
        with mock.patch.object(torch._tensor_str, "_str", named):
            return program(*args)

    return run


def asked(program: Callable[..., Any]) -> Callable[..., Any]:
    """Return a program of whose tensors somebody asks at each line where they are in autograd's graph.

    By that a view learns what was written to its base since. Which error eager raises for such a view, and
    whether it raises one, depends on it.
    """

    def look(frame: FrameType, event: str, arg: object) -> Any:
        if not frame.f_code.co_filename.startswith("<program"):
            return None
        for value in frame.f_locals.values():
            if isinstance(value, torch.Tensor):
                with contextlib.suppress(RuntimeError):
                    _ = value.grad_fn
        return look

    def run(*args: Any) -> Any:
        before = sys.gettrace()
        sys.settrace(look)
        try:
            return program(*args)
        finally:
            sys.settrace(before)

    return run


def litter(seed: int) -> list[object]:
    """Return objects between which later ones lie elsewhere: sets order some members by their addresses."""
    chosen = random.Random(seed)
    made = [chosen.choice((object, torch.Tensor, Exception, dict))() for _ in range(400)]
    return [one for one in made if chosen.random() < 0.5]

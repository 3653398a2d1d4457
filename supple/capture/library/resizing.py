"""What torch's C++ code answers for general sizes only: `interpolate`, and `chunk` and `diff` of nothing."""

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import torch
from torch.nn import functional

from supple.capture.library.calls import torch_op
from supple.capture.library.table import Args, Call, Kwargs, call
from supple.capture.machine import Machine
from supple.capture.values.base import Value
from supple.capture.values.constant import ConstantValue
from supple.capture.values.tensor import TensorValue, emit
from supple.expr import not_equal
from supple.ir.ops import function_op
from supple.shapes.decide import decide
from supple.shapes.symnode import expr_of

Numbers = float | Sequence[float] | None
aten = torch.ops.aten
NEAREST = (aten.upsample_nearest1d, aten.upsample_nearest2d, aten.upsample_nearest3d)
NEAREST_EXACT = (
    aten._upsample_nearest_exact1d,
    aten._upsample_nearest_exact2d,
    aten._upsample_nearest_exact3d,
)
POOLING = (functional.adaptive_avg_pool1d, functional.adaptive_avg_pool2d, functional.adaptive_avg_pool3d)
LINEAR: Final = {
    "linear": aten.upsample_linear1d,
    "bilinear": aten.upsample_bilinear2d,
    "trilinear": aten.upsample_trilinear3d,
    "bicubic": aten.upsample_bicubic2d,
}


def resized(
    x: torch.Tensor, size: Numbers = None, scale_factor: Numbers = None, **options: Any
) -> torch.Tensor:
    """What `torch.nn.functional.interpolate` gives, from operators that take sizes as they are."""
    rank = x.dim() - 2
    mode, align_corners = options.get("mode", "nearest"), bool(options.get("align_corners"))
    sizes: Any = list(size) if isinstance(size, tuple | list) else [size] * rank
    factors: Any = [None] * rank
    if size is None:
        given: Any = list(scale_factor) if isinstance(scale_factor, tuple | list) else [scale_factor] * rank
        sizes = [math.floor(float(x.shape[place + 2]) * factor) for place, factor in enumerate(given)]
        factors = factors if options.get("recompute_scale_factor") else given
    if mode == "nearest":
        return NEAREST[rank - 1].default(x, sizes, *factors)
    if mode == "nearest-exact":
        return NEAREST_EXACT[rank - 1].default(x, sizes, *factors)
    if mode == "area":
        return POOLING[rank - 1](x, sizes)
    return LINEAR[mode].default(x, sizes, align_corners, *factors)


@call.on(functional.interpolate)
def _(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
    """interpolate(x, ...)."""
    value = args[0] if args else kwargs["input"]
    named = {name: given for name, given in kwargs.items() if name != "input"}
    is_symbolic = isinstance(value, TensorValue) and any(
        isinstance(size, torch.SymInt) for size in value.fake.shape
    )
    if is_symbolic and "antialias" not in named and len(args) < 4:
        return machine.call(machine.wrap(resized, None), [value, *args[1:]], named)
    return emit(machine, function_op("torch.nn.functional.interpolate", functional.interpolate), args, kwargs)


def _not_of_nothing(function: Callable[..., object], usual_dim: int) -> Call:
    def rule(machine: Machine, args: Args, kwargs: Kwargs) -> Value:
        value = args[0] if args else kwargs["input"]
        dim = kwargs.get("dim", args[2] if len(args) > 2 else ConstantValue(usual_dim)).as_python()
        if (
            isinstance(value, TensorValue)
            and isinstance(dim, int)
            and -value.fake.ndim <= dim < value.fake.ndim
        ):
            # Of nothing, `chunk` gives as many pieces as were asked for, and `diff` nothing.
            decide(not_equal(expr_of(value.fake.shape[dim]), 0))
        op = torch_op(function)
        assert op is not None, function
        return emit(machine, op, args, kwargs)

    return rule


for _function in (torch.chunk, torch.Tensor.chunk):
    call.on(_function)(_not_of_nothing(_function, 0))
for _function in (torch.diff, torch.Tensor.diff):
    call.on(_function)(_not_of_nothing(_function, -1))

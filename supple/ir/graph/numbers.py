"""Core operators called with Python numbers in place of tensors, which eager takes for few overloads only."""

from collections.abc import Callable
from typing import Final

import torch

from supple.expr import Expr
from supple.expr.real import Real
from supple.ir.arguments import leaves
from supple.ir.core_ops import Kind, kind_of
from supple.ir.graph.nodes import Graph
from supple.ir.ops import Op, OpKind

#: Overloads that eager calls with a number as the second operand.
_NATIVE: Final = frozenset(("aten.add.Tensor", "aten.sub.Tensor", "aten.mul.Tensor", "aten.div.Tensor"))

Number = bool | int | float | complex

_LEAST_NORMAL: Final = 2.0**-126
"""The smallest positive float32 that is no denormal number."""


def has_denormals(graph: Graph) -> bool:
    """Tell whether a graph holds a float that is a denormal number as a float32."""
    constants = leaves([(node.args, node.kwargs) for node in graph.nodes])
    return any(isinstance(one, float) and 0 < abs(one) < _LEAST_NORMAL for one in constants)


def callable_of(op: Op, args: tuple[object, ...]) -> Callable[..., object]:
    """Return the callable of an op for these arguments (Vars or tensors, and numbers, which may be symbolic).

    For a pointwise core op with a number among its operands it is a function that makes the number a tensor
    of rank 0; on bf16 and f16 that function computes in f32 and rounds, so the number keeps its digits.
    """
    if op.name == "aten.amax.default":
        return _amax
    if op.kind is not OpKind.ATEN or kind_of(op.name) is not Kind.POINTWISE:
        return op.traced
    places = [place for place, arg in enumerate(args) if isinstance(arg, Number | Expr | Real)]
    if not places or (places == [1] and op.name in _NATIVE):
        return op.call

    def call(*operands: object, **kwargs: object) -> object:
        tensors = [x for x in operands if isinstance(x, torch.Tensor)]
        dtype = tensors[-1].dtype
        wide = torch.float32 if dtype in (torch.bfloat16, torch.float16) else dtype
        made = [_as_tensor(x, wide) for x in operands]
        result = op.call(*made, **kwargs)
        assert isinstance(result, torch.Tensor), f"{op.name} gave {result}"
        return result.to(dtype) if result.dtype is wide and wide is not dtype else result

    return call


def _amax(x: torch.Tensor, dims: list[int], keepdim: bool = False) -> torch.Tensor:
    """Return the largest over dimensions, also of no floats."""
    if x.numel() or not x.is_floating_point():
        return torch.amax(x, dims, keepdim)
    return torch.full_like(x.sum(dims, keepdim), -torch.inf)


def _as_tensor(operand: object, dtype: torch.dtype) -> object:
    """Return a number as a tensor, a bf16 or f16 tensor in f32, anything else as it is."""
    if isinstance(operand, Number):
        return torch.tensor(operand, dtype=dtype)
    if isinstance(operand, torch.Tensor) and operand.dtype in (torch.bfloat16, torch.float16):
        return operand.to(torch.float32)
    return operand

"""Small functions to measure. Imports torch only: what a package preloads would hide compile time."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

Case = tuple[Callable[..., object], tuple[Tensor, ...]]


def chain(x: Tensor, y: Tensor) -> Tensor:
    """Three pointwise operators: 12 bytes moved per float32 element when fused."""
    return torch.sin(x) * y + 1


def pointwise() -> Case:
    """The chain over 1,000,000 elements."""
    return chain, (torch.randn(1_000_000), torch.randn(1_000_000))


def tiny_pointwise() -> Case:
    """The chain over 8x8 elements: call overhead."""
    return chain, (torch.randn(8, 8), torch.randn(8, 8))


def tiny_linear() -> Case:
    """A linear layer with ReLU on 8x8 elements: call overhead of a module."""
    return nn.Sequential(nn.Linear(8, 8), nn.ReLU()).eval(), (torch.randn(8, 8),)


def layer_norm() -> Case:
    """Layer norm over 64 rows of 768."""
    return nn.LayerNorm(768).eval(), (torch.randn(64, 768),)


def softmax() -> Case:
    """Softmax over 64 rows of 1024."""
    return softmax_rows, (torch.randn(64, 1024),)


def softmax_rows(x: Tensor) -> Tensor:
    """Softmax over the last dimension."""
    return functional.softmax(x, dim=-1)


def gelu_mlp() -> Case:
    """The feed-forward block of a transformer: 64 rows, 256 to 1024 to 256."""
    return nn.Sequential(nn.Linear(256, 1024), nn.GELU(), nn.Linear(1024, 256)).eval(), (
        torch.randn(64, 256),
    )

"""Operators on images of one size in many layouts: by strides, eager gives channels-last or not."""

import itertools
from collections.abc import Callable
from typing import Final

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import supple
from supple.base.config import config

pytestmark = pytest.mark.sweep

LAST: Final = torch.channels_last
ONES: Final = torch.ones(4)


def image(*sizes: int) -> Tensor:
    return torch.arange(float(torch.Size(sizes).numel())).view(sizes)


LAYOUTS: Final[dict[str, Callable[[], Tensor]]] = {
    "rows": lambda: image(2, 4, 5, 5),
    "last": lambda: image(2, 4, 5, 5).to(memory_format=LAST),
    "some channels of last": lambda: image(2, 8, 5, 5).to(memory_format=LAST)[:, :4],
    "some columns of last": lambda: image(2, 4, 5, 9).to(memory_format=LAST)[..., :5],
    "some columns": lambda: image(2, 4, 5, 9)[..., :5],
    "each second column": lambda: image(2, 4, 5, 10)[..., ::2],
    "transposed": lambda: image(2, 5, 5, 4).transpose(1, 3),
    "some channels": lambda: image(2, 8, 5, 5)[:, :4],
    "batch inside": lambda: image(4, 2, 5, 5).transpose(0, 1),
}
OPERATORS: Final[dict[str, Callable[[Tensor], object]]] = {
    "cat": lambda t: torch.cat([t, t], 1),
    "stack": lambda t: torch.stack([t, t]),
    "clone": lambda t: t.clone(),
    "contiguous": lambda t: t.contiguous(),
    "contiguous in last": lambda t: t.contiguous(memory_format=LAST),
    "asked": lambda t: (t.is_contiguous(), t.is_contiguous(memory_format=LAST), t.stride()),
    "conv2d": lambda t: F.conv2d(t, torch.ones(3, 4, 1, 1)),
    "conv2d of groups": lambda t: F.conv2d(t, torch.ones(4, 1, 3, 3), groups=4),
    "conv_transpose2d": lambda t: F.conv_transpose2d(t, torch.ones(4, 3, 1, 1)),
    "avg_pool2d": lambda t: F.avg_pool2d(t, 2),
    "max_pool2d": lambda t: F.max_pool2d(t, 2),
    "adaptive_avg_pool2d": lambda t: F.adaptive_avg_pool2d(t, 2),
    "group_norm": lambda t: F.group_norm(t, 2),
    "instance_norm": F.instance_norm,
    "batch_norm": lambda t: F.batch_norm(t, ONES, ONES),
    "batch_norm in training": lambda t: F.batch_norm(t, None, None, training=True),
    "batch_norm with weights": lambda t: F.batch_norm(t, ONES, ONES, ONES, ONES),
    "layer_norm": lambda t: F.layer_norm(t, t.shape[1:]),
    "local_response_norm": lambda t: F.local_response_norm(t, 2),
    "interpolate": lambda t: F.interpolate(t, scale_factor=2.0),
    "interpolate bilinear": lambda t: F.interpolate(t, scale_factor=2.0, mode="bilinear"),
    "pad": lambda t: F.pad(t, (1, 1)),
    "pixel_shuffle": lambda t: F.pixel_shuffle(t, 2),
    "relu": F.relu,
    "gelu": F.gelu,
    "dropout of nothing": lambda t: F.dropout(t, 0.0),
    "softmax": lambda t: t.softmax(1),
    "cumsum": lambda t: t.cumsum(1),
    "sort": lambda t: t.sort(1)[0],
    "flip": lambda t: t.flip(1),
    "roll": lambda t: t.roll(1, 1),
    "some channels": lambda t: t[:, [0, 1]],
    "index_select": lambda t: t.index_select(1, torch.tensor([0])),
    "sum": lambda t: t.sum(1, keepdim=True),
    "cast": lambda t: t.to(torch.float64),
    "where": lambda t: torch.where(t > 0, t, 0),
    "zeros_like": torch.zeros_like,
    "sum with weights": lambda t: t + torch.ones(4, 1, 1),
    "reshape": lambda t: t.reshape(2, -1),
    "matmul": lambda t: t @ t,
}


def seen(made: object) -> object:
    """Return the strides of a tensor, of dimensions with a second element, or what else was made."""
    if not isinstance(made, Tensor):
        return made
    return made.shape, [step for size, step in zip(made.shape, made.stride(), strict=True) if size > 1]


@pytest.mark.parametrize("name", OPERATORS)
def test_a_layout_after_others(name: str) -> None:
    function, wrong = OPERATORS[name], list[object]()
    with config.patch(suppress_errors=False):
        for order in itertools.islice(itertools.permutations(LAYOUTS, 3), 0, None, 11):
            compiled = supple.compile(lambda t: function(t), backend="native")
            for place, layout in enumerate(order):
                want, got = (seen(run(LAYOUTS[layout]())) for run in (function, compiled))
                if want != got:
                    wrong.append((order[: place + 1], want, got))
                    break
            supple.reset()
    assert not wrong

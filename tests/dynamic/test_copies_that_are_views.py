"""What eager copies for some sizes and strides and shows for others."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

import supple


def laid_out(sizes: tuple[int, ...], strides: tuple[int, ...]) -> Tensor:
    """Return a tensor of these strides."""
    count = sum((size - 1) * step for size, step in zip(sizes, strides, strict=True)) + 1
    return torch.arange(float(max(count, 1))).as_strided(sizes, strides)


FAMILIES = {
    "vectors": [((6,), (2,)), ((6,), (3,)), ((6,), (1,)), ((1,), (2,))],
    "rows": [((4, 6), (7, 1)), ((4, 6), (9, 1)), ((4, 6), (6, 1)), ((1, 6), (9, 1))],
    "columns": [((4, 6), (1, 5)), ((4, 6), (1, 9)), ((4, 6), (1, 4)), ((4, 1), (1, 9))],
    "wide": [((4, 6), (12, 2)), ((4, 6), (30, 2)), ((4, 6), (18, 3)), ((4, 6), (6, 1))],
    "widths": [((4, 3), (8, 1)), ((4, 5), (8, 1)), ((4, 8), (8, 1)), ((4, 1), (8, 1))],
    "images": [
        ((2, 3, 4, 5), (60, 1, 15, 3)),
        ((2, 4, 4, 5), (80, 1, 20, 4)),
        ((2, 1, 4, 5), (20, 20, 5, 1)),
    ],
}


def written(make: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """Return what writes to what a function makes, and returns something else."""

    def run(x: Tensor) -> Tensor:
        made = make(x)
        made.add_(1)
        return made.sum()

    return run


MAKERS: dict[str, Callable[[Tensor], Tensor]] = {
    "contiguous": lambda x: x.contiguous(),
    "reshape": lambda x: x.reshape(-1),
    "flatten": lambda x: x.flatten(),
    "transposed": lambda x: x.transpose(0, -1).contiguous(),
    "folded": lambda x: x.unsqueeze(0).reshape(2, -1) if x.numel() % 2 == 0 else x,
    "twice": lambda x: x.contiguous().transpose(0, -1).contiguous(),
    "channels last": lambda x: x.contiguous(memory_format=torch.channels_last) if x.dim() == 4 else x,
}


def seen(run: Callable[[Tensor], Tensor], x: Tensor) -> tuple[object, ...]:
    """Return what a call shows of a result's memory, and what a write to it does to the argument."""
    made = run(x)
    facts = made is x, made.data_ptr() == x.data_ptr(), made.tolist(), x.tolist()
    return (*facts, *(step for size, step in zip(made.shape, made.stride(), strict=True) if size > 1))


@pytest.mark.parametrize("is_written", [False, True])
@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("family", FAMILIES)
def test_a_view_where_eager_has_one(family: str, maker: str, is_written: bool) -> None:
    function = written(MAKERS[maker]) if is_written else MAKERS[maker]
    # Of a size of 1 nobody asks for what is only returned: docs/dynamic_shapes.md.
    layouts = [layout for layout in FAMILIES[family] if is_written or 1 not in layout[0]]
    for first in range(3):
        compiled = supple.compile(function, backend="native", dynamic=[None, True, None][first])
        for layout in (*layouts[first:], *layouts):
            want, got = (seen(run, laid_out(*layout)) for run in (function, compiled))
            assert got == want, (first, layout)


def test_copies_that_nobody_can_tell_from_views_are_not_asked() -> None:
    def attend(x: Tensor, w: Tensor) -> Tensor:
        made = (x * 2).transpose(1, 2)
        return made.reshape(made.shape[0], made.shape[1], -1) @ w

    compiled = supple.compile(attend, backend="native", dynamic=True)
    w = torch.ones(8, 5)
    for sizes in ((2, 4, 3, 2), (3, 4, 1, 2), (1, 4, 6, 2)):
        x = torch.arange(float(torch.Size(sizes).numel())).view(sizes)
        torch.testing.assert_close(compiled(x, w), attend(x, w))
    assert supple.stats()["compilations"] == 1

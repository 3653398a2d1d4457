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


def written_behind_a_break(make: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """Return what writes to what a function makes, after a graph break."""

    def run(x: Tensor) -> Tensor:
        made = make(x)
        supple.graph_break()
        made.add_(1)
        return made.sum()

    return run


USES: dict[str, Callable[[Callable[[Tensor], Tensor]], Callable[[Tensor], Tensor]]] = {
    "returned": lambda make: make,
    "written": written,
    "written behind a break": written_behind_a_break,
}
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


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("family", FAMILIES)
def test_a_view_where_eager_has_one(family: str, maker: str, use: str) -> None:
    function = USES[use](MAKERS[maker])
    # Of a size of 1 nobody asks for what is only returned: docs/dynamic_shapes.md.
    layouts = [layout for layout in FAMILIES[family] if use != "returned" or 1 not in layout[0]]
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


RESHAPED: dict[str, Callable[[Tensor, Tensor, int], Tensor]] = {
    "by a number": lambda x, _, n: x.reshape(-1, n),
    "by a number first": lambda x, _, n: torch.reshape(x, (n, -1)),
    "by a size of another": lambda x, w, _: x.reshape(-1, w.shape[0]),
    "by a size of another first": lambda x, w, _: x.reshape(w.shape[0], -1),
    "beside its own size": lambda x, w, _: x.reshape(x.shape[0], w.shape[0], -1),
    "by twice its own size": lambda x, _w, _n: x.reshape(-1, x.shape[-1] * 2),
    "like another": lambda x, _, n: x.reshape_as(torch.ones(x.numel() // n, n)),
    "transposed": lambda x, _, n: x.transpose(0, 1).reshape(-1, n),
    "flattened": lambda x, _w, _n: x.flatten(1),
    "split": lambda x, _, n: x.reshape(-1).unflatten(0, (-1, n)),
}
GAPPED: tuple[Callable[[], Tensor], ...] = (
    lambda: torch.arange(16.0).view(2, 2, 4)[..., ::2],
    lambda: torch.arange(96.0).view(2, 2, 4, 6)[..., ::2],
    lambda: torch.arange(8.0).view(2, 2, 2),
    lambda: torch.arange(24.0).view(2, 4, 3).transpose(1, 2),
    lambda: torch.arange(32.0).view(4, 2, 4)[..., ::2],
    lambda: torch.arange(48.0).view(2, 6, 4)[:, ::3],
)


def cleared(reshaped: Callable[[Tensor, Tensor, int], Tensor]) -> Callable[[Tensor, Tensor, int], object]:
    """Return a program that makes a reshaped tensor contiguous, which a view is not, and writes to that."""

    def program(x: Tensor, w: Tensor, n: int) -> object:
        shown = reshaped(x, w, n)
        made = shown.contiguous()
        made.zero_()
        return shown.stride(), shown.is_contiguous(), shown.sum(), made.stride()

    return program


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("backend", ["eager", "aot_eager", "native"])
@pytest.mark.parametrize("name", RESHAPED)
def test_a_reshaped_tensor_with_gaps_is_the_view_that_it_is(
    name: str, backend: str, dynamic: bool | None
) -> None:
    """Sizes that happen to be equal may make a view, and so may what -1 stands for."""
    program = cleared(RESHAPED[name])
    compiled = supple.compile(program, backend=backend, dynamic=dynamic)
    for make in GAPPED:
        for n in (4, 2):
            found: list[str] = []
            for run in (program, compiled):
                x = make()
                try:
                    result = run(x, torch.ones(n), n)
                except RuntimeError:
                    result = "refused"
                found.append(f"{result} {x.tolist()}")
            assert found[1] == found[0]


AGAIN: dict[str, Callable[[Tensor], Tensor]] = {
    "contiguous": lambda made: made.contiguous(),
    "reshape": lambda made: made.reshape(-1),
    "flatten": lambda made: torch.flatten(made),
    "to": lambda made: made.to(memory_format=torch.contiguous_format),
    "of a view": lambda made: made[1:].contiguous(),
    "twice": lambda made: made.contiguous().reshape(-1),
}
SMALL: tuple[Callable[[int], Tensor], ...] = (
    lambda n: torch.arange(12.0 * n).view(n, 3, 4).transpose(0, 2),
    lambda n: torch.arange(12.0 * n).view(3, n, 4).transpose(1, 2),
    lambda n: torch.arange(12.0 * n).view(4, 3, n).permute(2, 1, 0),
    lambda n: torch.arange(24.0 * n).view(4, n, 6)[..., ::2].transpose(0, 1),
)


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "native"])
@pytest.mark.parametrize("again", AGAIN)
@pytest.mark.parametrize("maker", ["flatten", "reshape", "scaled"])
def test_what_is_shown_of_a_reshaped_tensor_is_copied_where_eager_copies(
    maker: str, again: str, backend: str
) -> None:
    """With a size of 1 the first copy is a view, which is not contiguous."""

    def program(x: Tensor) -> object:
        shown = x.reshape(x.shape[0], x.shape[1:].numel()) if maker == "reshape" else x.flatten(-2)
        shown = shown * 2 if maker == "scaled" else shown
        AGAIN[again](shown).zero_()
        return shown.sum().item()

    for layout in SMALL:
        for sizes in ((2, 3, 1, 4), (1, 2, 0), (0, 1, 5)):
            compiled = supple.compile(program, backend=backend, dynamic=True)
            for n in sizes:
                want, got = ((run(x), x.tolist()) for run in (program, compiled) for x in [layout(n)])
                assert got == want, n
            supple.reset()


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("backend", ["eager", "aot_eager", "native"])
@pytest.mark.parametrize("is_set", [False, True])
def test_what_is_made_contiguous_is_so_for_all_sizes(
    is_set: bool, backend: str, dynamic: bool | None
) -> None:
    def program(x: Tensor, y: Tensor, target: Tensor) -> Tensor:
        made = x.clone()[..., ::2].reshape(-1, y.size(0)).contiguous()
        return target.set_(made) if is_set else made

    compiled = supple.compile(program, backend=backend, dynamic=dynamic)
    for rows, columns in ((1, 1), (2, 4), (3, 3), (3, 2), (1, 1), (1, 2), (0, 1)):
        x, y = torch.arange(3.0 * rows).view(rows, 3), torch.ones(columns)
        found = [run(x, y, torch.ones(3)) for run in (program, compiled)]
        want, got = ((one.shape, one.stride(), one.tolist()) for one in found)
        assert got == want


@pytest.mark.parametrize("sizes", [(3, 4, 2), (3, 4, 0), (3, 0, 2), (0, 0, 2), (1, 4, 0)])
def test_an_index_in_nothing_is_not_divided_by_its_sizes(sizes: tuple[int, ...]) -> None:
    def program(x: Tensor) -> tuple[Tensor, Tensor]:
        made = x.unflatten(0, (-1, 1)).reshape(-1).contiguous()
        return made.mul_(0), made.sum()

    compiled = supple.compile(program, backend="native", dynamic=True)
    for given in ((3, 4, 2), sizes):
        for want, got in zip(program(torch.ones(given)), compiled(torch.ones(given)), strict=True):
            torch.testing.assert_close(got, want)


def test_a_size_that_minus_one_stands_for_is_no_condition() -> None:
    """What is left for -1 is a quotient of products: it is 4 for all sizes, not for one of them."""

    def program(x: Tensor, signal: Tensor) -> Tensor:
        frames = signal.shape[1] // 20 - 1
        heads = x.view(x.shape[0], frames, 4, 3).transpose(1, 2)
        return heads.reshape(heads.shape[0], -1, frames, 3).transpose(1, 2).contiguous().sum(-1)

    compiled = supple.compile(program, backend="native", dynamic=True)
    for rows, frames in ((2, 4), (3, 5), (1, 4), (4, 2)):
        x, signal = torch.randn(rows, frames * 12), torch.zeros(rows, (frames + 1) * 20 + 3)
        torch.testing.assert_close(compiled(x, signal), program(x, signal))
    assert supple.stats()["compilations"] == 1

"""Images whose strides do not tell their layout: eager's library chooses one, and kernels must read that."""

from collections.abc import Callable

import pytest
import torch
from torch.nn import functional

import supple
from supple.testing import assert_compiles

torch.manual_seed(0)
FILTERS = {rank: torch.randn(4, 1, *[1] * (rank - 2)) for rank in (3, 4, 5)}

CALLS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "conv1d": lambda x: functional.conv1d(x, FILTERS[3]),
    "conv2d": lambda x: functional.conv2d(x, FILTERS[4], padding=1),
    "conv3d": lambda x: functional.conv3d(x, FILTERS[5]),
    "conv_transpose2d": lambda x: functional.conv_transpose2d(x, FILTERS[4].transpose(0, 1)),
    "avg_pool2d": lambda x: functional.avg_pool2d(x, 1),
    "max_pool2d": lambda x: functional.max_pool2d(x, 1),
    "batch_norm": lambda x: functional.batch_norm(x, None, None, training=True),
    "interpolate": lambda x: functional.interpolate(x, scale_factor=2),
}
SHAPES = {
    "conv1d": [(2, 1, 9), (1, 1, 5)],
    "conv3d": [(2, 1, 3, 4, 5), (1, 1, 1, 4, 1)],
}
IMAGES = [(2, 1, 5, 6), (5, 1, 4, 1), (3, 1, 1, 4), (1, 1, 5, 3)]


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", CALLS)
def test_one_channel_with_the_strides_of_channels_last(name: str, dynamic: bool) -> None:
    # SYM15, X-SND01
    call = CALLS[name]
    for sizes in SHAPES.get(name, IMAGES):
        supple.reset()
        compiled = supple.compile(lambda x: call(x).transpose(1, -1) * 2 + 1, dynamic=dynamic)
        for batch in (sizes[0], sizes[0] + 1):
            x = torch.randn(batch, *sizes[2:], 1).movedim(-1, 1)
            torch.testing.assert_close(compiled(x), call(x).transpose(1, -1) * 2 + 1)


def test_a_mask_that_grows_is_one_graph_for_all_lengths() -> None:
    def program(mask: torch.Tensor, zero: torch.Tensor, least: torch.Tensor) -> torch.Tensor:
        return torch.where(mask, zero, least)

    compiled = supple.compile(program, fullgraph=True)
    numbers = torch.tensor(0.0), torch.tensor(-9.0)
    with assert_compiles(2):
        for length in (5, 6, 7, 9, 3):
            given = torch.ones(2, 1, 1, length).bool().logical_not(), *numbers
            assert compiled(*given).stride() == program(*given).stride()
            assert torch.equal(compiled(*given), program(*given))


RESULTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "max_pool1d": lambda x: functional.max_pool1d(x, 2),
    "max_pool1d, padded": lambda x: torch.max_pool1d(x, 3, 2, 1),
    "avg_pool1d": lambda x: functional.avg_pool1d(x, 2),
    "adaptive_max_pool1d": lambda x: functional.adaptive_max_pool1d(x, 2),
    "linear": lambda x: functional.interpolate(x, scale_factor=2, mode="linear"),
    "area": lambda x: functional.interpolate(x, size=5, mode="area"),
    "logsigmoid": functional.logsigmoid,
    "softplus": functional.softplus,
    "logcumsumexp": lambda x: x.logcumsumexp(1),
    "cumsum": lambda x: x.cumsum(1),
    "sort": lambda x: x.sort(1).values,
    "renorm": lambda x: x.renorm(2, 0, 1.0),
}
LAYOUTS = [(0, 2, 1), (1, 0, 2), (2, 1, 0)]


@pytest.mark.parametrize("has_gradients", [False, True])
@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("name", RESULTS)
def test_results_of_transposed_tensors_have_eagers_strides(
    name: str, backend: str, has_gradients: bool
) -> None:
    # SYM15
    for order in LAYOUTS:
        supple.reset()
        compiled = supple.compile(RESULTS[name], backend=backend, dynamic=True)
        for sizes in ((2, 3, 8), (3, 3, 7)):
            x = torch.randn([sizes[place] for place in order]).permute(order).requires_grad_(has_gradients)
            want, got = RESULTS[name](x), compiled(x)
            assert got.stride() == want.stride()
            torch.testing.assert_close(got, want)


COPIES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "pointwise": lambda x: x * 2,
    "two": lambda x: x + x.flip(0),
    "where": lambda x: torch.where(x > 3, x, 0.5),
    "clone": lambda x: x.clone(),
    "empty_like": lambda x: torch.empty_like(x).fill_(1),
    "sum": lambda x: x.sum(0),
    "kept sum": lambda x: x.sum(-1, keepdim=True),
    "to": lambda x: x.to(torch.float64),
    "flip": lambda x: x.flip(-1),
    "cat": lambda x: torch.cat([x, x]),
    "softmax": lambda x: x.softmax(0),
}


@pytest.mark.parametrize("shares_strides", [False, True])
@pytest.mark.parametrize("name", COPIES)
def test_windows_that_overlap_are_laid_out_by_their_sizes(name: str, shares_strides: bool) -> None:
    """Eager orders dimensions of one stride by their sizes."""
    copy = COPIES[name]
    calls = [
        torch.arange(100.0).as_strided(sizes, strides)
        for sizes in ((2, 3, 4), (4, 3, 2), (3, 2, 4), (3, 3, 3))
        for strides in ((1, 1, 1), (2, 2, 1), (0, 1, 1), (1, 0, 1), (1, 1, 2), (1, 2, 2))
    ]
    compiled = supple.compile(copy, dynamic=True, backend="native", recompile_limit=100)
    for x in calls if shares_strides else calls[::-1]:
        if not shares_strides:
            supple.reset()
        assert compiled(x).stride() == copy(x).stride(), (x.shape, x.stride())


def test_an_offset_computed_from_a_size_lies_within_memory_by_a_guard() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        three = torch.complex(torch.ones(3), torch.ones(3)).abs()
        return three.as_strided((2,), (1,), x.shape[0] % 3) > 0

    compiled = supple.compile(program, dynamic=True, options={"check": 2})
    for size in (24, 22, 27, 25):
        assert torch.equal(compiled(torch.ones(size)), program(torch.ones(size)))
    with pytest.raises(RuntimeError, match="out of bounds"):
        compiled(torch.ones(23))
    assert not supple.stats()["fallback_reasons"]


COPIED: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "a clone": lambda x: x.clone(),
    "a clone of a clone": lambda x: x.clone().clone(),
    "a detached clone": lambda x: x.clone().detach(),
    "a copy by `to`": lambda x: x.to(torch.float32, copy=True),
    "a copy into fresh memory": lambda x: torch.empty_like(x).copy_(x),
    "a product": lambda x: x * 1,
    "a row-major copy": lambda x: x.contiguous(),
    "a written clone": lambda x: x.clone().add_(1),
    "a copy by `torch.tensor`": lambda x: torch.tensor(x),
    "a view of a clone": lambda x: x.clone().view(-1)[:],
    "itself": lambda x: x,
}
STRIDED: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "a view": lambda x: x.as_strided((2,), (1,), 1) + 0,
    "a copy": lambda x: torch.as_strided_copy(x, (2,), (1,), 1),
    "a scatter": lambda x: torch.as_strided_scatter(x, torch.ones(2), (2,), (1,), 1) + 0,
    "where it begins": lambda x: x.as_strided((2,), (1,)) + 0,
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("strided", STRIDED)
@pytest.mark.parametrize("copied", COPIED)
def test_strides_are_counted_in_the_memory_of_a_copy(copied: str, strided: str, dynamic: bool) -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        return STRIDED[strided](COPIED[copied](x))

    assert_equal_wherever_memory_begins(program, dynamic)


def assert_equal_wherever_memory_begins(
    program: Callable[[torch.Tensor], torch.Tensor], dynamic: bool
) -> None:
    compiled, memory = supple.compile(program, dynamic=dynamic), torch.arange(1.0, 25.0)
    for given in (memory[3:6], memory[0:3], memory[5:9], memory[3:6].clone()):
        assert torch.equal(compiled(given), program(given))


VIEWED: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "a slice": lambda x: x.clone()[:2],
    "a later slice": lambda x: x.clone()[1:],
    "a row": lambda x: x.clone()[1],
    "every other one": lambda x: x.clone()[::2],
    "a slice of a copied slice": lambda x: x.clone()[1:].clone()[1:],
    "a copy of a slice": lambda x: x[1:].clone()[:1],
    "of more dimensions": lambda x: x.clone()[None, 1:, None],
    "a slice of a reshaped copy": lambda x: x.clone().view(-1, 1)[1:],
    "a part": lambda x: x.clone().split(1)[1],
    "a detached slice": lambda x: x.clone().detach()[1:],
}
READ: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "sort": lambda x: x.sort(-1 if x.dim() else 0)[0],
    "cumsum": lambda x: x.cumsum(0),
    "matrix product": lambda x: x.reshape(1, -1) @ x.reshape(-1, 1),
    "gather": lambda x: x.reshape(-1).gather(0, torch.tensor([0])),
    "index_add": lambda x: torch.zeros(4).index_add(0, torch.tensor(1), x.reshape(-1)[:1]),
    "sum": lambda x: x.sum(),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("read", READ)
@pytest.mark.parametrize("viewed", VIEWED)
def test_a_view_of_a_copy_begins_where_what_was_copied_does(viewed: str, read: str, dynamic: bool) -> None:
    """Of a copy that nobody writes its source is read: views of the copy begin where the source's would."""

    def program(x: torch.Tensor) -> torch.Tensor:
        return READ[read](VIEWED[viewed](x))

    assert_equal_wherever_memory_begins(program, dynamic)


@pytest.mark.parametrize("name", ["clone", "double", "neg"])
def test_a_copy_of_at_most_one_row_of_rows_that_are_one(name: str) -> None:
    # SYM15
    def program(x: torch.Tensor) -> torch.Tensor:
        copied: torch.Tensor = getattr(x[:1], name)()
        return copied

    compiled = supple.compile(program, dynamic=True, options={"check": 2})
    for rows in (3, 2, 1, 0):
        x = torch.arange(9.0).as_strided((rows, 3), (0, 1))
        assert compiled(x).stride() == program(x).stride()
        assert torch.equal(compiled(x), program(x))
    assert not supple.stats()["fallback_reasons"]


FILLED: dict[str, Callable[[torch.Tensor], object]] = {
    "fill_": lambda y: y.fill_(2),
    "a size": lambda y: y.fill_(y.shape[0]),
    "zero_": lambda y: y.zero_() + 1,
    "a row": lambda y: y.fill_(3)[0].mul_(2),
    "a row in its place": lambda y: y.fill_(3)[0].copy_(torch.arange(3.0)),
}


@pytest.mark.parametrize("name", FILLED)
@pytest.mark.parametrize("dynamic", [False, True])
def test_fresh_memory_whose_rows_are_one_is_filled(name: str, dynamic: bool) -> None:
    # SYM15
    def program(x: torch.Tensor) -> tuple[torch.Tensor, object]:
        made = torch.empty_strided((x.shape[0], 3), (0, 1))
        return made, FILLED[name](made)

    compiled = supple.compile(program, dynamic=dynamic, options={"check": 2})
    for rows in (2, 3, 1):
        want, got = program(torch.ones(rows)), compiled(torch.ones(rows))
        assert got[0].stride() == want[0].stride()
        torch.testing.assert_close(got, want, rtol=0, atol=0)
    assert not supple.stats()["fallback_reasons"]

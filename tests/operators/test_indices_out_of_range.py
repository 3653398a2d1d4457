"""Indices that no element has: compiled code raises what eager raises, and gives no number."""

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F

import supple

Program = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
PROGRAMS: dict[str, Program] = {
    "one_hot": lambda z, t: F.one_hot(t, 4) * 2,
    "one_hot of all": lambda z, t: F.one_hot(t) * 2,
    "index": lambda z, t: z[t] * 2,
    "index in two dimensions": lambda z, t: torch.stack((z, z))[t, t] * 2,
    "gather": lambda z, t: z.gather(0, t) * 2,
    "take": lambda z, t: z.take(t) * 2,
    "take_along_dim": lambda z, t: torch.take_along_dim(z, t, 0) * 2,
    "index_select": lambda z, t: z.index_select(0, t) * 2,
    "embedding": lambda z, t: F.embedding(t, z[:, None]) * 2,
    "embedding_bag": lambda z, t: F.embedding_bag(t[None], z[:, None]) * 2,
    "scatter": lambda z, t: z.scatter(0, t, 9.0) * 2,
    "scatter_add": lambda z, t: z.scatter_add(0, t, torch.ones(2)) * 2,
    "scatter_reduce": lambda z, t: z.scatter_reduce(0, t, torch.ones(2), "amax") * 2,
    "index_put": lambda z, t: z.index_put((t,), torch.tensor(9.0)) * 2,
    "index_add": lambda z, t: z.index_add(0, t, torch.ones(2)) * 2,
    "index_fill": lambda z, t: z.index_fill(0, t, 5.0) * 2,
    "index_copy": lambda z, t: z.index_copy(0, t, torch.ones(2)) * 2,
    "put": lambda z, t: z.put(t, torch.ones(2)) * 2,
    "nll_loss": lambda z, t: F.nll_loss(torch.stack((z, z)), t) * 2,
    "cross_entropy": lambda z, t: F.cross_entropy(torch.stack((z, z)), t) * 2,
    "multi_margin_loss": lambda z, t: F.multi_margin_loss(torch.stack((z, z)), t) * 2,
    "bincount": lambda z, t: torch.bincount(t) * 2,
    "unbind by a number": lambda z, t: z[int(t[1])] * 2,
}
INDICES = ([0, 3], [0, 4], [-1, 0], [-5, 0], [2**40, 0], [0, -100])


def outcome(program: Program, indices: list[int]) -> object:
    try:
        return program(torch.arange(4.0), torch.tensor(indices))
    except (RuntimeError, IndexError) as error:
        return type(error), str(error)


@pytest.mark.parametrize("backend", ["aot_eager", "native"])
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.filterwarnings("ignore")
def test_an_index_out_of_range_raises_as_in_eager(name: str, backend: str) -> None:
    program = PROGRAMS[name]
    compiled = supple.compile(program, backend=backend)
    for indices in INDICES:
        got, want = outcome(compiled, indices), outcome(program, indices)
        if isinstance(want, torch.Tensor):
            assert isinstance(got, torch.Tensor), indices
            torch.testing.assert_close(got, want, equal_nan=True)
        else:
            assert got == want, indices


def mask_is_read(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x[torch.where(y)[0] > 1]


def mask_is_written(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    x[torch.where(y)[0] > 1] = 1.0
    return x


def mask_of_columns_is_written(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    x[:, torch.where(y)[0] > 1] = 1.0
    return x


def mask_is_added_to(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    x[torch.where(y)[0] > 1] += 1.0
    return x


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "native"])
@pytest.mark.parametrize(
    "program", [mask_is_read, mask_is_written, mask_of_columns_is_written, mask_is_added_to]
)
@pytest.mark.filterwarnings("ignore")
def test_a_mask_whose_size_the_run_gives_is_refused_as_in_eager(
    program: Callable[[torch.Tensor, torch.Tensor], torch.Tensor], backend: str
) -> None:
    def outcome(run: Callable[[torch.Tensor, torch.Tensor], torch.Tensor], count: int) -> object:
        try:
            return run(torch.zeros(2, 3), torch.ones(count)).tolist()
        except (RuntimeError, IndexError) as error:
            return type(error), str(error)

    compiled = supple.compile(program, backend=backend)
    for count in (2, 3, 4, 0, 2):
        assert outcome(compiled, count) == outcome(program, count), count

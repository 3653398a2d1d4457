"""Where algorithms are to be deterministic, fresh memory is filled as eager fills it."""

from collections.abc import Callable, Iterator

import pytest
import torch
import torch.utils.deterministic

import supple

PROGRAMS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "empty_like": torch.empty_like,
    "empty_like of integers": lambda x: torch.empty_like(x, dtype=torch.int32),
    "empty_like of truths": lambda x: torch.empty_like(x, dtype=torch.bool),
    "empty_like of halves": lambda x: torch.empty_like(x, dtype=torch.bfloat16),
    "empty": lambda x: torch.empty(5),
    "empty, read": lambda x: torch.empty(5).isnan(),
    "empty_strided": lambda x: torch.empty_strided((2, 2), (1, 2)),
    "new_empty": lambda x: x.new_empty(3),
    "new_empty_strided": lambda x: x.new_empty_strided((2, 2), (2, 1)),
    "transposed": lambda x: torch.empty_like(x.T),
    "empty, written in part": lambda x: torch.empty(4).index_fill_(0, torch.tensor([1]), 2.0),
}


@pytest.fixture(autouse=True)
def deterministic() -> Iterator[None]:
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "native"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_fresh_memory_is_filled(name: str, backend: str) -> None:
    program = PROGRAMS[name]
    x = torch.ones(2, 3)
    got, want = supple.compile(program, backend=backend)(x), program(x)
    assert got.stride() == want.stride()
    torch.testing.assert_close(got, want, equal_nan=True)


def test_whether_memory_is_filled_is_guarded() -> None:
    compiled = supple.compile(lambda x: torch.empty_like(x).isnan())
    assert compiled(torch.ones(4)).all()
    torch.utils.deterministic.fill_uninitialized_memory = False
    try:
        compiled(torch.ones(4))
        torch.utils.deterministic.fill_uninitialized_memory = True
        assert compiled(torch.ones(4)).all()
    finally:
        torch.utils.deterministic.fill_uninitialized_memory = True

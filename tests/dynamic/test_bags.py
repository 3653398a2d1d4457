"""Bags of embeddings whose lengths vary: no graph for a length, and gradients as in eager."""

import pytest
import torch
from torch import Tensor, nn

import supple
from supple.testing import assert_compiles

LENGTHS = ((7, 3), (9, 4), (12, 3), (5, 5), (1, 2), (0, 3))


def bag(length: int, rows: int, *, is_last_given: bool = False) -> tuple[Tensor, Tensor]:
    """Return indices, and where each bag begins."""
    torch.manual_seed(length)
    begins = torch.randint(0, length + 1, (rows,)).sort().values
    begins[0] = 0
    return torch.randint(0, 10, (length,)), torch.cat([begins, torch.tensor([length] * is_last_given).long()])


@pytest.mark.parametrize("backend", ["aot_eager", "native"])
@pytest.mark.parametrize("is_last_given", [False, True])
@pytest.mark.parametrize("padding", [None, 2])
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_lengths_of_bags_vary_in_one_graph(
    mode: str, padding: int | None, is_last_given: bool, backend: str
) -> None:
    bags = nn.EmbeddingBag(10, 4, mode=mode, include_last_offset=is_last_given, padding_idx=padding)
    compiled = supple.compile(bags, backend=backend, fullgraph=True)
    with assert_compiles(2):
        for length, rows in LENGTHS:
            given = bag(length, rows, is_last_given=is_last_given)
            results = []
            for run in (bags, compiled):
                bags.weight.grad = None
                out = run(*given)
                out.cos().sum().backward()
                results.append((out, bags.weight.grad))
            torch.testing.assert_close(*results)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_weights_of_each_index_get_gradients(dtype: torch.dtype) -> None:
    bags = nn.EmbeddingBag(10, 4, mode="sum", dtype=dtype)
    compiled = supple.compile(bags, fullgraph=True)
    with assert_compiles(2):
        for length, rows in LENGTHS[:4]:
            results = []
            for run in (bags, compiled):
                scales = torch.linspace(-1, 1, length, dtype=dtype).requires_grad_()
                out = run(*bag(length, rows), scales)
                out.cos().sum().backward()
                results.append((out, scales.grad))
            torch.testing.assert_close(*results)


@torch.no_grad()
def test_a_table_of_columns_has_bags_too() -> None:
    def program(table: Tensor, indices: Tensor, begins: Tensor) -> Tensor:
        return nn.functional.embedding_bag(indices, table.T, begins, mode="sum") + 1

    compiled = supple.compile(program, fullgraph=True)
    table = torch.randn(4, 10)
    with assert_compiles(2):
        for length, rows in LENGTHS[:4]:
            given = bag(length, rows)
            torch.testing.assert_close(compiled(table, *given), program(table, *given))


def test_sparse_gradients_are_eager_s() -> None:
    bags = nn.EmbeddingBag(10, 4, mode="sum", sparse=True)
    compiled = supple.compile(bags)
    for length, rows in LENGTHS[:4]:
        results = []
        for run in (bags, compiled):
            bags.weight.grad = None
            out = run(*bag(length, rows))
            out.cos().sum().backward()
            assert bags.weight.grad is not None
            assert bags.weight.grad.is_sparse
            results.append((out, bags.weight.grad.to_dense()))
        torch.testing.assert_close(*results)

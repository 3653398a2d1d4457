"""Products of matrices and batches of them, each one graph for all sizes."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn import functional

import supple
from supple.torch_private import VERSION

normal = torch.randn
Inputs = Callable[[int], tuple[Tensor, ...]]
PRODUCTS: dict[str, tuple[Callable[..., Tensor], Inputs]] = {
    "batches": (lambda a, b: a @ b, lambda n: (normal(2, n, 4), normal(2, 4, n))),
    "transposed batches": (lambda a, b: torch.matmul(a, b.mT), lambda n: (normal(2, 3, n, 4),) * 2),
    "broadcast batches": (lambda a, b: a.matmul(b), lambda n: (normal(2, 3, n, 4), normal(3, 4, n))),
    "batch of varying number": (lambda a, b: a @ b, lambda n: (normal(n, 3, 4), normal(n, 4, 2))),
    "batch and matrix": (lambda a, b: a @ b, lambda n: (normal(2, n, 4), normal(4, 5))),
    "strided batch and matrix": (lambda a, b: a.mT @ b, lambda n: (normal(2, 4, n), normal(4, 5))),
    "batch and vector": (lambda a, b: a @ b, lambda n: (normal(2, n, 4), normal(4))),
    "matrix and batch": (lambda a, b: a @ b, lambda n: (normal(5, 4), normal(2, 4, n))),
    "vector and batch": (lambda a, b: a @ b, lambda n: (normal(4), normal(2, 4, n))),
    "matrices": (lambda a, b: a @ b, lambda n: (normal(n, 4), normal(4, n))),
    "linear": (lambda *given: functional.linear(*given), lambda n: (normal(2, n, 4), normal(5, 4))),
    "linear with bias": (
        lambda *given: functional.linear(*given),
        lambda n: (normal(2, n, 4), normal(5, 4), normal(5)),
    ),
    "linear of strided": (
        lambda a, w, b: functional.linear(a.mT, w, b),
        lambda n: (normal(2, 4, n), normal(5, 4), normal(5)),
    ),
    "linear of images": (
        lambda *given: functional.linear(*given),
        lambda n: (normal(2, n, 3, 4), normal(5, 4), normal(5)),
    ),
    "attention": (
        lambda q, k: torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, -1) @ k,
        lambda n: (normal(2, 3, n, 4),) * 2,
    ),
}


@pytest.mark.xfail(VERSION >= (2, 13), reason="torch's matmul takes no symbol for 1", strict=True)
def test_a_batch_of_one_takes_part_in_a_graph_for_all_sizes() -> None:
    run = supple.compile(lambda a, b: a @ b, dynamic=True, fullgraph=True)
    for size in (6, 8):
        a, b = normal(size, 3, 4), normal(1, 4, 2)
        torch.testing.assert_close(run(a, b), a @ b)


@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("has_gradients", [False, True], ids=["", "gradients"])
@pytest.mark.parametrize("name", PRODUCTS)
def test_a_product_is_one_graph(name: str, has_gradients: bool, backend: str) -> None:
    # SYM02, DYN09
    function, inputs = PRODUCTS[name]
    compiled = supple.compile(function, backend=backend, dynamic=True, fullgraph=True)
    for size in (6, 8, 1, 5, 0):
        of = [one.detach().requires_grad_(has_gradients) for one in inputs(size)]
        found, expected = compiled(*of), function(*of)
        torch.testing.assert_close(found, expected)
        assert found.is_contiguous() == expected.is_contiguous()
        if has_gradients:
            weights = normal(expected.shape)
            pairs = zip(*(torch.autograd.grad(one, of, weights) for one in (found, expected)), strict=True)
            for gradient, wanted in pairs:
                torch.testing.assert_close(gradient, wanted)
    assert supple.stats()["graphs"] == 1

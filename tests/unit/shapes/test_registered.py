"""Custom operators with a registered fake, and operators over slices, in graphs for all sizes."""

from typing import Any

import pytest
import torch
from torch._higher_order_ops import associative_scan

import supple


@torch.library.custom_op("supple_tests::doubled_rows", mutates_args=())
def doubled_rows(x: torch.Tensor) -> torch.Tensor:
    return torch.cat([x, x])


@doubled_rows.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return x.new_empty(2 * x.shape[0], *x.shape[1:])


def graphs() -> object:
    stats: Any = supple.stats()
    assert (stats["breaks"], stats["fallbacks"]) == (0, 0), stats["reasons"]
    return stats["graphs"]


@pytest.mark.parametrize("backend", ["eager", "native"])
def test_a_custom_operator_is_in_one_graph_for_all_sizes(backend: str) -> None:
    run = supple.compile(
        lambda x: torch.ops.supple_tests.doubled_rows(x.sin()) + 1, backend=backend, dynamic=True
    )
    for size in (3, 5, 8):
        x = torch.randn(size, 2)
        torch.testing.assert_close(run(x), torch.cat([x.sin(), x.sin()]) + 1)
    assert graphs() == 1


def test_histc_does_not_ask_for_the_number_of_elements() -> None:
    run = supple.compile(lambda x: torch.histc(x, bins=4, min=0, max=1), backend="eager", dynamic=True)
    for size in (3, 5, 8):
        x = torch.rand(size)
        assert torch.equal(run(x), torch.histc(x, bins=4, min=0, max=1))
    assert graphs() == 1


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dim", [1, -1])
def test_associative_scan_is_captured(dim: int, reverse: bool) -> None:
    def combine(left: tuple[Any, Any], right: tuple[Any, Any]) -> tuple[Any, Any]:
        return left[0] * right[0], right[0] * left[1] + right[1]

    def scan(a: torch.Tensor, b: torch.Tensor) -> Any:
        return associative_scan(combine, (a, b), dim, reverse, combine_mode="generic")

    run = supple.compile(scan, backend="eager")
    a, b = torch.rand(2, 5, 3), torch.rand(2, 5, 3)
    for batch in (2, 4):
        for got, want in zip(run(a[:batch], b[:batch]), scan(a[:batch], b[:batch]), strict=True):
            torch.testing.assert_close(got, want)
    assert graphs() == 1

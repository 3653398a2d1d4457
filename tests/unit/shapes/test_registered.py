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


@torch.library.custom_op("supple_tests::every_second", mutates_args=())
def every_second(x: torch.Tensor) -> torch.Tensor:
    return x.repeat_interleave(2, -1)[..., ::2].mT if x.dim() > 1 else x.repeat_interleave(2)[::2]


@every_second.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return x.new_empty(x.shape if x.dim() < 2 else x.mT.shape)


@torch.library.custom_op("supple_tests::shorter", mutates_args=())
def shorter(x: torch.Tensor) -> torch.Tensor:
    return x[1:].clone()


@shorter.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


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


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("shape", [(5,), (3, 4), (2, 3, 4)], ids=str)
def test_kernels_read_results_that_lie_otherwise_than_their_fakes(
    shape: tuple[int, ...], dynamic: bool
) -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        return torch.ops.supple_tests.every_second(x) * 2

    x = torch.randn(shape)
    assert torch.equal(supple.compile(program, backend="native", dynamic=dynamic)(x), program(x))


def test_gradients_of_what_eager_lays_out_by_columns() -> None:
    x = torch.randn(4, 4, requires_grad=True)
    (wanted,) = torch.autograd.grad(torch.linalg.matrix_norm(x, "nuc"), x)
    run = supple.compile(lambda x: torch.linalg.matrix_norm(x, "nuc"), backend="native")
    (got,) = torch.autograd.grad(run(x), x)
    torch.testing.assert_close(got, wanted)


def test_a_fake_of_other_sizes_than_the_result_makes_no_wrong_answer(
    caplog: pytest.LogCaptureFixture,
) -> None:
    run = supple.compile(lambda x: torch.ops.supple_tests.shorter(x) + 1, backend="native", dynamic=True)
    x = torch.randn(5)
    assert torch.equal(run(x), x[1:] + 1)
    assert "shorter" in caplog.text
    assert "register_fake" in caplog.text


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


@pytest.mark.parametrize("order", [2, -2, "nuc"])
def test_matrix_norms_of_any_size_are_one_graph(order: Any) -> None:
    run = supple.compile(lambda x: torch.linalg.matrix_norm(x, order), backend="native", dynamic=True)
    for size in (3, 5):
        x = torch.randn(2, size, 4, requires_grad=True)
        wanted = torch.linalg.matrix_norm(x, order)
        found = run(x)
        torch.testing.assert_close(found, wanted)
        gradients = [torch.autograd.grad(one.sum(), x)[0] for one in (found, wanted)]
        torch.testing.assert_close(*gradients)
    assert graphs() in (1, 2)  # C++ asks for plain numbers


def test_torch_broadcasts_symbolic_shapes_in_python() -> None:
    run = supple.compile(
        lambda x, y, w: torch.nn.functional.binary_cross_entropy(x, y, w), backend="native", dynamic=True
    )
    for size in (3, 5):
        x, y, w = torch.rand(3, size, 4)
        torch.testing.assert_close(run(x, y, w), torch.nn.functional.binary_cross_entropy(x, y, w))
    assert graphs() == 1


@pytest.mark.parametrize("backend", ["eager", "native"])
def test_the_step_of_a_slice_is_specialised(backend: str) -> None:
    def program(x: torch.Tensor, y: torch.Tensor, start: int, step: int) -> torch.Tensor:
        return torch.slice_scatter(x.sin(), y, 0, start, None, step)

    run = supple.compile(program, backend=backend, dynamic=True)
    for size, start, step in ((20, 2, 2), (17, 3, 2), (17, 3, 5)):
        x = torch.randn(size, 3, requires_grad=True)
        y = torch.randn(len(range(start, size, step)), 3, requires_grad=True)
        found, wanted = run(x, y, start, step), program(x, y, start, step)
        torch.testing.assert_close(found, wanted)
        for one, other in zip(
            *(torch.autograd.grad(each.sum(), (x, y)) for each in (found, wanted)), strict=True
        ):
            torch.testing.assert_close(one, other)
    assert graphs() == 2

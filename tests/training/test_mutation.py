"""Programs that write and alias tensors, called with arguments that share memory in ever other ways: compiled
code leaves what eager leaves (`aliases.harness` says what is compared).

Features: X-AD06, X-AD05, X-GRD02, TRN05, TRN06.
"""
# pyright: reportUnknownMemberType=false, reportArgumentType=false, reportIncompatibleMethodOverride=false

import gc
import weakref
from typing import cast

import pytest
import torch

import supple
from tests.training.aliases import afterwards, reshaped, shown, written

Tensor = torch.Tensor

CASES = {**written.program.cases, **shown.program.cases, **reshaped.program.cases, **afterwards.program.cases}
RAISES = frozenset(
    (
        "chunk_written split_written unbind_written fresh_chunk_written expanded_written "
        "fresh_expanded_written view_made_in_no_grad_written_outside resize_argument "
        "requires_no_grad_of_argument write_before_a_call_that_raises scatter_add_in_place scatter_in_place "
        "saved_then_written saved_then_written_detached argument_saved_then_written set_argument"
    ).split()
)
"""The programs of which eager raises, in the call or in backward, where gradients flow."""
LEFT_TO_EAGER = frozenset(
    (
        "as_strided_written dtype_view_written real_part leaf_made_inside leaf_made_and_returned "
        "argument_detached_in_place "
        "requires_grad_of_detached resize_fresh resize_view set_fresh data_replaced transposed_in_place "
        "argument_transposed_in_place squeezed_in_place function_that_returns_a_view"
    ).split()
)
"""The other programs that are not compiled whole where gradients flow: they break, or run as captured."""


def check_whole(name: str) -> None:
    """Assert that a program is compiled without a break and without eager, or listed as one that is not."""
    program_, held = CASES[name].make()
    CASES[name].outcome(supple.compile(program_), held, "separate", "inner")
    stats = supple.stats()
    is_left = any(stats[key] for key in ("refusals", "breaks", "fallbacks"))
    assert is_left == (name in RAISES | LEFT_TO_EAGER), stats


@pytest.mark.parametrize("name", CASES)
def test_native_code_leaves_what_eager_leaves(name: str) -> None:
    check_whole(name)
    CASES[name].check("native")
    reasons = cast("list[str]", supple.stats()["fallback_reasons"])
    assert all("[B113]" in reason or "[B137]" in reason for reason in reasons)  # eager raises too


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", CASES)
def test_captured_graphs_leave_what_eager_leaves(name: str, backend: str) -> None:
    CASES[name].check(backend)


def test_most_programs_are_compiled_whole() -> None:
    assert len(CASES) >= 150
    assert len(LEFT_TO_EAGER) <= 16


def test_a_result_added_to_an_argument_is_freed() -> None:
    run = supple.compile(lambda x, w: (x.sum(0) + w).exp())
    weight = torch.ones(4, 4, requires_grad=True)
    gone = []
    for _ in range(3):
        x = torch.ones(4, 4, requires_grad=True) * 1
        x += run(x, weight)
        gone.append(weakref.ref(x))
        del x
    gc.collect()
    assert all(one() is None for one in gone)


def test_after_backward_a_result_holds_no_arguments() -> None:
    run = supple.compile(lambda x, w: (x @ w).tanh().sum())
    weight = torch.ones(4, 4, requires_grad=True)
    run(torch.ones(4, 4), weight)
    x = torch.ones(4, 4)
    loss, kept = run(x, weight), weakref.ref(x)
    loss.backward(retain_graph=True)
    assert kept() is not None
    loss.backward()
    del x
    assert kept() is None
    with pytest.raises(RuntimeError, match="second time"):
        torch.autograd.grad(loss, weight, create_graph=True)


def test_a_result_sees_the_gradients_of_all_that_is_computed_of_it() -> None:
    def function(x: Tensor) -> tuple[Tensor, Tensor]:
        y = x * 2
        return y, y.sin()

    x = torch.ones(3, requires_grad=True)
    first, second = supple.compile(function)(x)
    seen: list[Tensor] = []
    first.register_hook(seen.append)
    (first.sum() + second.sum()).backward()
    torch.testing.assert_close(seen, [1 + (2 * torch.ones(3)).cos()])
    torch.testing.assert_close(x.grad, 2 + 2 * (2 * torch.ones(3)).cos())

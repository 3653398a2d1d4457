"""Sizes and numbers that exist only when the program runs: captured, checked, never branched on."""

import inspect
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

import supple
from supple.errors import Unsupported
from tests.dynamic.harness import BACKENDS, compiled, difference
from tests.dynamic.programs import floats


def signs(*numbers: int) -> Tensor:
    """Return a vector whose nonzero elements are these."""
    return torch.tensor(numbers, dtype=torch.long)


# Functions, and the arguments of calls that one graph must serve.
def item_scales(x: Tensor, n: Tensor) -> Any:
    return x * n.item() + n.item() // 2


def item_is_returned(x: Tensor, n: Tensor) -> Any:
    k: Any = n.item()
    return k + 1, x + k, k * x.shape[0]


def float_item_scales(x: Tensor, n: Tensor) -> Any:
    s = x.sum().item()
    return x * s, s, s / 2 + n.item()


def bool_item_is_returned(x: Tensor, n: Tensor) -> Any:
    return (n > 2).item(), x + 1


def int_of_a_tensor(x: Tensor, n: Tensor) -> Any:
    return x + int(n), float(n) + x, int(n)


def item_is_a_size(x: Tensor, n: Tensor) -> Any:
    k: Any = n.item()
    torch._check(k >= 0)
    return torch.zeros(k, 2) + 1, torch.arange(k) * 2


def item_is_a_bound(x: Tensor, n: Tensor) -> Any:
    k: Any = n.item()
    torch._check(k >= 0)
    torch._check(k <= x.shape[0])
    return x[:k] * 2, x.narrow(0, 0, k) + 1


def item_in_a_view(x: Tensor, n: Tensor) -> Any:
    k: Any = n.item()
    torch._check(k >= 0)
    made = torch.ones(k, 4)
    return made.view(-1) + 1, made.sum(1), made.t() @ made, made.unsqueeze(0).expand(2, -1, 4)


def list_of_a_tensor(x: Tensor, n: Tensor) -> Any:
    a, b = torch.stack([n, n + 2]).tolist()
    return x * a + b, [a, b]


def split_sizes_from_a_list(x: Tensor, n: Tensor) -> Any:
    a, b = torch.stack([n, x.shape[0] - n]).tolist()
    torch._check(a >= 0)
    torch._check(b >= 0)
    first, second = x.split([a, b])
    return first * 2, second + 1


CALLS: list[tuple[Any, ...]] = [(floats(6), torch.tensor(n)) for n in (3, 5, 0, 1, 6)]
ITEM_FUNCTIONS = [
    item_scales, item_is_returned, float_item_scales, bool_item_is_returned, int_of_a_tensor, item_is_a_size,
    item_is_a_bound, item_in_a_view, list_of_a_tensor, split_sizes_from_a_list,
]  # fmt: skip


def nonzero_rows(x: Tensor) -> Any:
    where = x.nonzero()
    return where, where.shape[0], where.squeeze(1) * 2


def nonzero_tuple(x: Tensor) -> Any:
    return x.nonzero(as_tuple=True), torch.where(x)


def selected_by_a_mask(x: Tensor) -> Any:
    chosen = x[x > 0]
    return chosen * 2, chosen.sum(), chosen.shape[0], torch.masked_select(x, x < 0)


def rows_selected_by_a_mask(x: Tensor) -> Any:
    matrix = torch.stack([x, x + 1], 1)
    chosen = matrix[x != 0]
    return chosen @ torch.ones(2, 3, dtype=x.dtype), F.relu(chosen), chosen.numel()


def mask_is_assigned(x: Tensor) -> Any:
    y = x.clone()
    y[y > 0] = 0
    return y


def unique_values(x: Tensor) -> Any:
    values, inverse, counts = torch.unique(x, return_inverse=True, return_counts=True)
    return values + 1, inverse, counts, values[inverse]


def repeated_by_counts(x: Tensor) -> Any:
    return torch.arange(x.shape[0]).repeat_interleave(x.abs()) + 1


def chosen_is_padded(x: Tensor) -> Any:
    chosen = x[x > 0]
    return F.pad(chosen, (0, 3)), torch.cat([chosen, x]), torch.zeros(chosen.shape[0]) + chosen


def chosen_is_reduced(x: Tensor) -> Any:
    chosen = x[x > 0].float()
    return chosen.softmax(0), chosen.cumsum(0), chosen.var(correction=0), chosen.sort()


VECTORS: list[tuple[Any, ...]] = [
    (signs(1, 0, -2, 3, 0),), (signs(0, 0, 4),), (signs(0, 0),), (signs(-1),), (signs(),), (signs(5, 5),),
]  # fmt: skip
VECTOR_FUNCTIONS = [
    nonzero_rows, nonzero_tuple, selected_by_a_mask, rows_selected_by_a_mask, mask_is_assigned, unique_values,
    repeated_by_counts, chosen_is_padded, chosen_is_reduced,
]  # fmt: skip


def assert_one_graph(function: Callable[..., Any], backend: str, calls: list[tuple[Any, ...]]) -> None:
    """Assert eager's results for all calls from one graph that holds everything."""
    made = compiled(function, backend, dynamic=True)
    for args in calls:
        found = difference(function(*args), made.run(*args), 1e-5)
        assert not found, f"{args}: {found}"
    assert made.graphs == 1, supple.stats()["recompile_reasons"]


# UNB01, UNB04
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", ITEM_FUNCTIONS)
def test_a_number_from_a_tensor_is_captured(function: Callable[..., Any], backend: str) -> None:
    assert_one_graph(function, backend, CALLS)


# UNB01, UNB03, DYN14
@pytest.mark.filterwarnings("ignore:var:UserWarning")
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", VECTOR_FUNCTIONS)
def test_a_size_from_data_is_captured(function: Callable[..., Any], backend: str) -> None:
    assert_one_graph(function, backend, VECTORS)


# DYN15
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_jagged_batch_is_one_graph(backend: str) -> None:
    def function(values: Tensor, offsets: Tensor) -> Any:
        lengths = offsets.diff()
        rows = torch.arange(lengths.shape[0]).repeat_interleave(lengths)
        sums = torch.zeros(lengths.shape[0], values.shape[1]).index_add(0, rows, values)
        return sums / lengths[:, None].clamp(min=1), values - sums[rows]

    calls = [(floats(n, 4), torch.tensor([0, n // 3, n])) for n in (7, 9, 4, 12)]
    assert_one_graph(function, backend, calls)


# UNB06
def test_a_number_from_a_tensor_may_be_negative() -> None:
    def function(x: Tensor, n: Tensor) -> Any:
        k: Any = n.item()
        return x + k, x[k:], abs(k), k // 2, k % 3

    calls = [(floats(6), torch.tensor(n)) for n in (2, -2, -7, 5, 0)]
    assert_one_graph(function, "eager", calls)
    assert_one_graph(function, "native", calls)


def test_a_check_decides_a_branch() -> None:
    def function(x: Tensor, n: Tensor) -> Any:
        k: Any = n.item()
        torch._check(k > 2)
        return torch.zeros(k) if k > 1 else x

    assert_one_graph(function, "native", [(floats(3), torch.tensor(n)) for n in (3, 5, 9)])


def test_a_check_that_relates_two_numbers_makes_their_sizes_equal() -> None:
    def function(x: Tensor, n: Tensor, m: Tensor) -> Any:
        k, j = int(n.item()), int(m.item())
        torch._check(k >= 0)
        torch._check(k == j)
        return torch.zeros(k) + torch.ones(j)

    calls = [(floats(3), torch.tensor(n), torch.tensor(n)) for n in (3, 5, 0, 1)]
    assert_one_graph(function, "native", calls)


def line_of(function: Callable[..., Any], text: str) -> str:
    """Return "file:line" of the line of a function that holds a text."""
    lines, start = inspect.getsourcelines(function)
    at = next(index for index, line in enumerate(lines) if text in line)
    return f"{__file__.rpartition('/')[2]}:{start + at}"


def checked(x: Tensor, n: Tensor) -> Any:
    k: Any = n.item()
    torch._check(k >= 0)
    torch._check(k <= 4, lambda: f"at most four, not {k}")
    return torch.zeros(k)


def sized(x: Tensor, n: Tensor) -> Any:
    return torch.zeros(int(n.item())) + x


# UNB05
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("n", "line"), [(7, "k <= 4"), (-1, "k >= 0")], ids=["too large", "negative"])
def test_a_check_that_fails_at_run_time_names_the_users_line(n: int, line: str, backend: str) -> None:
    made = compiled(checked, backend, dynamic=True)
    for good in (3, 4, 0):
        assert not difference(
            checked(floats(2), torch.tensor(good)), made.run(floats(2), torch.tensor(good)), 0
        )
    with pytest.raises(RuntimeError) as caught:
        made.run(floats(2), torch.tensor(n))
    places = [f"{Path(at.filename).name}:{at.lineno}" for at in traceback.extract_tb(caught.tb)]
    assert line_of(checked, line) in places
    assert not difference(checked(floats(2), torch.tensor(2)), made.run(floats(2), torch.tensor(2)), 0)
    assert made.graphs == 1


def test_the_message_of_a_check_is_the_users() -> None:
    made = compiled(checked, "native", dynamic=True)
    made.run(floats(2), torch.tensor(3))
    with pytest.raises(RuntimeError, match="at most four"):
        made.run(floats(2), torch.tensor(9))


@pytest.mark.parametrize("backend", BACKENDS)
def test_sizes_that_do_not_fit_at_run_time_raise_as_in_eager(backend: str) -> None:
    made = compiled(sized, backend, dynamic=True, fullgraph=False)
    for n in (5, 5, 4, 1, -3):
        given = (floats(5), torch.tensor(n))
        try:
            want = sized(*given)
        except RuntimeError:
            with pytest.raises(RuntimeError):
                made.run(*given)
        else:
            assert not difference(want, made.run(*given), 0), n


def branching(x: Tensor, n: Tensor) -> Any:
    y = x * 2
    k: Any = n.item()
    if k > 3:
        return y + k
    return y - k


# UNB02
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_branch_on_data_breaks_the_graph_and_gives_eagers_result(backend: str) -> None:
    made = compiled(branching, backend, dynamic=True, fullgraph=False)
    for n in (5, 2, 7, 3, -1):
        given = (floats(4), torch.tensor(n))
        assert not difference(branching(*given), made.run(*given), 0)


def test_a_branch_on_data_in_a_full_graph_names_the_line_and_the_check_that_helps() -> None:
    made = compiled(branching, "native", dynamic=True)
    with pytest.raises(Unsupported) as caught:
        made.run(floats(4), torch.tensor(5))
    text = str(caught.value)
    assert line_of(branching, "if k > 3") in text
    assert "if k > 3:" in text
    assert "torch._check(" in text
    assert "k" in text.partition("torch._check(")[2]


def test_a_loop_over_a_number_from_a_tensor_names_the_line() -> None:
    def function(x: Tensor, n: Tensor) -> Any:
        for _ in range(int(n.item())):
            x = x * 2
        return x

    with pytest.raises(Unsupported, match=line_of(function, "range(")):
        compiled(function, "native", dynamic=True).run(floats(2), torch.tensor(3))
    made = compiled(function, "native", dynamic=True, fullgraph=False)
    for n in (3, 0, 2):
        given = (floats(2), torch.tensor(n))
        assert not difference(function(*given), made.run(*given), 1e-5)


# ANN13
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_dimension_marked_unbacked_has_one_graph_for_all_sizes(backend: str) -> None:
    def function(x: Tensor) -> Any:
        return x * x.shape[0], x.sum(0), torch.cat([x, x]), x.t() @ x

    made = compiled(function, backend, dynamic=None)
    for n in (10, 20, 1, 0):
        x = floats(n, 4)
        supple.mark_unbacked(x, 0)
        assert not difference(function(x), made.run(x), 1e-5), n
    assert made.graphs == 1


def test_a_branch_on_a_dimension_marked_unbacked_breaks_the_graph() -> None:
    def function(x: Tensor) -> Any:
        return x * 10 if x.shape[0] == 10 else x * 2

    made = compiled(function, "eager", dynamic=None, fullgraph=False)
    for n in (10, 20, 10):
        x = floats(n)
        supple.mark_unbacked(x, 0)
        assert not difference(function(x), made.run(x), 0)
    x = floats(10)
    supple.mark_unbacked(x, 0)
    with pytest.raises(Unsupported, match=r"shape\[0\] == 10"):
        compiled(function, "eager", dynamic=None).run(x)


def test_gradients_flow_through_sizes_from_data() -> None:
    def function(x: Tensor) -> Tensor:
        return x[x > 0].square().sum() + (x * x.detach().sum().item()).sum()

    made = compiled(function, "native", dynamic=True)
    for n in (5, 8, 1):
        found: list[Any] = []
        for run in (function, made.run):
            x = floats(n).requires_grad_()
            run(x).backward()
            found.append(x.grad)
        assert not difference(found[0], found[1], 1e-5)
    assert made.graphs == 1


# B3
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_branch_on_a_marked_size_as_the_first_statement(backend: str) -> None:
    def function(x: Tensor) -> Tensor:
        if x.size(0) == 10:
            return x * 10
        return x

    x = torch.ones(10)
    supple.mark_unbacked(x, 0)
    with supple.config.patch(suppress_errors=False):
        assert torch.equal(supple.compile(function, backend=backend)(x), x * 10)


# B4
def test_a_marked_size_that_a_view_fixes() -> None:
    def function(x: Tensor) -> Tensor:
        return x.view(10) + 1

    strict, lenient = torch.ones(10), torch.ones(10)
    supple.mark_unbacked(strict, 0, strict=True)
    supple.mark_unbacked(lenient, 0)
    with pytest.raises(supple.errors.ConstraintViolationError, match=r"size\(\)\[0\] must be 10"):
        supple.compile(function)(strict)
    assert torch.equal(supple.compile(function)(lenient), torch.ones(10) + 1)


# B6
def test_a_backward_that_looks_at_numbers_is_left_to_eager() -> None:
    def function(x: Tensor, i: Tensor, v: Tensor) -> Tensor:
        return x.index_fill(0, i, v)

    grads: list[Tensor] = []
    for run in (function, supple.compile(function, fullgraph=True)):
        v = torch.tensor(2.0, requires_grad=True)
        grads += torch.autograd.grad(run(torch.zeros(4), torch.tensor([1, 3]), v).sum(), v)
    assert torch.equal(grads[0], grads[1])

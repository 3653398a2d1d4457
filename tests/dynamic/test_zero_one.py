"""Sizes 0 and 1 are sizes like others: the same graph serves them, whichever size comes first."""

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

import supple
from supple.testing import assert_compiles
from tests.dynamic.harness import BACKENDS, Program, assert_same, check, compiled, difference, outcome
from tests.dynamic.programs import PROGRAMS, floats

pytestmark = pytest.mark.filterwarnings("ignore:var:UserWarning")

COMBINATIONS = list(itertools.product((5, 1, 0), repeat=3))
ONE_GRAPH = [program for program in PROGRAMS if program.graphs == 1]


def apart(x: Tensor, y: Tensor, z: Tensor) -> Any:
    return x * 2, y.sin() + y.shape[0], z.sum()


def side_by_side(x: Tensor, y: Tensor, z: Tensor) -> Any:
    joined = torch.cat([x, y, z])
    return joined.softmax(0), torch.zeros(joined.shape[0]) + joined


def crossed(x: Tensor, y: Tensor, z: Tensor) -> Any:
    return x[:, None, None] * y[None, :, None] + z, torch.outer(x, y) @ torch.outer(y, z)


def summed(x: Tensor, y: Tensor, z: Tensor) -> Any:
    return x.sum() + y.sum() * z.sum(), x.cumsum(0), F.pad(y, (1, 1)), z[:-1]


# SYM05, SYM15
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", [apart, side_by_side, crossed, summed])
@pytest.mark.parametrize("first", [(5, 5, 5), (1, 1, 1), (0, 0, 0), (0, 1, 5)], ids=str)
def test_one_graph_serves_all_27_combinations(
    first: tuple[int, ...], function: Callable[..., Any], backend: str
) -> None:
    made = compiled(function, backend, dynamic=True)
    for sizes in (first, *COMBINATIONS):
        given = tuple(floats(n) for n in sizes)
        found = difference(function(*given), made.run(*given), 1e-5)
        assert not found, f"{sizes}: {found}"
    assert made.graphs == 1


@pytest.mark.parametrize("dynamic", [True, None])
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_steady_mlp_meets_a_batch_of_one_and_of_none_without_a_compilation(
    backend: str, dynamic: bool | None
) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3))
    run = supple.compile(model, dynamic=dynamic, backend=backend, fullgraph=True)
    for n in (6, 9, 7):
        run(floats(n, 8))
    with assert_compiles(0):
        for n in (1, 0, 1000, 1):
            x = floats(n, 8)
            assert not difference(model(x), run(x), 1e-5)


def test_a_training_step_of_a_batch_of_one_or_none_is_no_new_graph() -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.LayerNorm(16), torch.nn.Linear(16, 3))
    run = supple.compile(model, dynamic=True, fullgraph=True)
    for n in (6, 1, 0, 3):
        gradients: list[Any] = []
        for function in (model, run):
            model.zero_grad()
            function(floats(n, 8)).square().sum().backward()
            gradients.append([item.grad for item in model.parameters()])
        assert not difference(gradients[0], gradients[1], 1e-5)
    assert supple.stats()["graphs"] == 1


# Of two sizes that are 1 in the first call nobody knows whether they are equal or broadcast.
AMBIGUOUS = {("rank_is_broadcast", 1): 2}


@pytest.mark.parametrize("first", [1, 0])
@pytest.mark.parametrize("program", ONE_GRAPH, ids=str)
def test_a_program_that_meets_one_or_zero_first_needs_one_graph(program: Program, first: int) -> None:
    graphs = AMBIGUOUS.get((str(program), first), 1)
    check(replace(program, sizes=(first, 6, 1 - first, 3, 8), graphs=graphs), "native", dynamic=True)


@pytest.mark.parametrize("program", PROGRAMS, ids=str)
def test_static_graphs_for_one_and_for_zero_are_right(program: Program) -> None:
    made = compiled(program.function, "native", dynamic=False)
    for n in replace(program, sizes=(0, 1)).accepted():
        want, got = outcome(program.function, program.inputs(n)), outcome(made.run, program.inputs(n))
        assert_same(want, got, program, n)


@pytest.mark.parametrize("shape", [(1, 5), (5, 1), (1, 1), (0, 5), (5, 0), (0, 0)], ids=str)
def test_both_dimensions_of_a_matrix_may_be_one_or_zero(shape: tuple[int, int]) -> None:
    def function(x: Tensor, y: Tensor) -> Any:
        flat = (x * 2).contiguous().view(-1)
        return x @ y, x.t() + 1, flat, x.sum(0, keepdim=True), torch.cat([x, x], 1), x + y.t()

    made = compiled(function, "native", dynamic=True)
    for rows, columns in ((4, 3), shape, (7, 2)):
        given = (floats(rows, columns), floats(columns, rows))
        found = difference(function(*given), made.run(*given), 1e-5)
        assert not found, f"{rows}x{columns}: {found}"
    assert made.graphs == 1


@pytest.mark.parametrize("mode", [torch.no_grad, torch.enable_grad])
@pytest.mark.parametrize("shape", [(1, 6), (6, 1), (1, 1), (0, 6), (6, 0)], ids=str)
def test_attention_of_any_batch_and_length_is_one_graph(shape: tuple[int, int], mode: Any) -> None:
    layer = torch.nn.MultiheadAttention(8, 2, batch_first=True)

    def function(x: Tensor) -> Any:
        return layer(x, x, x, need_weights=False)[0] + F.layer_norm(x, (8,))

    made = compiled(function, "native", dynamic=True)
    for batch, length in ((3, 5), shape):
        x = floats(batch, length, 8)
        with mode():
            assert not difference(function(x), made.run(x), 1e-5)
    assert made.graphs == 1


def reshaped(x: Tensor) -> Tensor:
    return x.t().reshape(-1)


def contiguous(x: Tensor) -> Tensor:
    return x.t().contiguous()


def expanded_and_flattened(x: Tensor) -> Tensor:
    return x[:, :1].expand(-1, 4).flatten()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("made_from", [reshaped, contiguous, expanded_and_flattened])
def test_what_is_a_copy_of_many_rows_and_a_view_of_one_is_written_as_in_eager(
    made_from: Callable[[Tensor], Tensor], backend: str
) -> None:
    def function(x: Tensor) -> Any:
        y = made_from(x)
        y[0] = 7.0
        return x + 0, y * 2

    made = compiled(function, backend, dynamic=True)
    for n in (6, 1, 5, 1):
        x, other = floats(n, 4), floats(n, 4)
        assert not difference((function(x), x), (made.run(other), other), 1e-5), n
    assert made.graphs <= 2


# DYN09
@pytest.mark.parametrize("n", [0, 1])
def test_a_condition_on_one_or_zero_is_the_programs_own(n: int) -> None:
    def function(x: Tensor) -> Any:
        return x.sum() if x.shape[0] == n else x * 2

    made = compiled(function, "eager", dynamic=True)
    for size in (5, 1, 0, 7, n):
        assert not difference(function(floats(size)), made.run(floats(size)), 0)
    assert made.graphs == 2


# DYN09
@pytest.mark.parametrize("reduced", [lambda t: t.sum(0), lambda t: t.softmax(0)], ids=["sum", "softmax"])
def test_what_a_loop_over_no_rows_would_read_is_not_read(reduced: Callable[[Tensor], Tensor]) -> None:
    def function(x: Tensor) -> Tensor:
        return reduced(x * 2 - x[:1])

    compiled = supple.compile(function, dynamic=True)
    for rows in (3, 1, 0):
        x = torch.ones(rows, 4)
        torch.testing.assert_close(compiled(x), function(x))


def layout(x: Tensor) -> Any:
    return x * 2, (x * x).is_contiguous(), x[:1].is_contiguous(), x.t().is_contiguous()


def strides(x: Tensor) -> Any:
    return x * 2, (x * x).stride(), x.t().stride()


@pytest.mark.parametrize("function", [layout, strides])
def test_a_program_that_asks_for_the_layout_is_told_that_of_the_sizes_it_has(
    function: Callable[..., Any],
) -> None:
    shapes = [(3, 2), (1, 2), (3, 1), (0, 2), (2, 0), (1, 1), (4, 5)]
    for first in shapes:
        run = supple.compile(function, backend="eager", dynamic=True)
        for rows, columns in (first, *shapes):
            for x in (floats(rows, columns), floats(columns, rows).t(), floats(5, 5)[:rows, :columns]):
                with supple.config.patch(recompile_limit=99):
                    assert function(x)[1:] == run(x)[1:], (first, x.shape, x.stride())


JOINED: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "before": lambda row, x: torch.cat([row[1:], x]),
    "behind": lambda row, x: torch.cat([x, row[1:]]),
    "between": lambda row, x: torch.cat([x, row[1:] * 2, x], 1),
    "of another type": lambda row, x: torch.cat([row[1:].double(), x]),
    "with what it is made of": lambda row, x: torch.cat([x * row, row[1:].sin(), x]).relu(),
    "sorted": lambda row, x: torch.cat([row[1:], x.sort()[0]]),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("needs_grad", [False, True])
@pytest.mark.parametrize("name", JOINED)
def test_what_is_empty_and_of_rank_1_is_joined_with_any_rank(name: str, needs_grad: bool) -> None:
    program = JOINED[name]
    compiled = supple.compile(program, backend="native", dynamic=True, fullgraph=True)
    for rows in (2, 3, 0, 1):
        given = torch.ones(1, requires_grad=needs_grad), torch.ones(rows, 3, requires_grad=needs_grad)
        found, wanted = compiled(*given), program(*given)
        assert torch.equal(found, wanted)
        assert found.dtype is wanted.dtype
        if needs_grad:
            grads = [torch.autograd.grad(one.sum(), given, allow_unused=True) for one in (found, wanted)]
            assert str(grads[0]) == str(grads[1])

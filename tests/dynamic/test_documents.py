"""The programs of the reference documents about dynamic shapes: as many graphs as their text says."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

import supple
from supple.base import events
from tests.dynamic.harness import BACKENDS, compiled, difference
from tests.dynamic.programs import floats


def scaled(x: Tensor) -> Tensor:
    return x * x.size()[0]


def specialized(x: Tensor) -> Tensor:
    if x.size()[0] == 10:
        return x * 10
    if x.size()[0] <= 30:
        return x * 200
    return x * x.size()[0]


def joined(x: Tensor, y: Tensor) -> Tensor:
    z = torch.cat([x, y])
    if z.size(0) > 2:
        return z.mul(2)
    return z.add(2)


def counts(
    function: Callable[..., Any], backend: str, dynamic: bool | None, sizes: tuple[int, ...]
) -> list[int]:
    """Return how many graphs there are after each call; the results must be eager's."""
    made = compiled(function, backend, dynamic)
    found: list[int] = []
    for n in sizes:
        assert not difference(function(floats(n)), made.run(floats(n)), 1e-6), n
        found.append(made.graphs)
    return found


# DYN01, DYN02, DYN03, DYN06
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("dynamic", "wanted"), [(False, [1, 2, 3, 4]), (True, [1, 1, 1, 1]), (None, [1, 2, 2, 2])], ids=str
)
def test_four_sizes_are_four_graphs_or_one_or_two(
    dynamic: bool | None, wanted: list[int], backend: str
) -> None:
    assert counts(scaled, backend, dynamic, (10, 20, 30, 40)) == wanted


# DYN07, DYN08
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("dynamic", "wanted"),
    [(True, [1, 2, 2, 3, 3]), (None, [1, 2, 2, 3, 3]), (False, [1, 2, 3, 4, 5])],
    ids=str,
)
def test_the_specialisation_example_has_three_graphs(
    dynamic: bool | None, wanted: list[int], backend: str
) -> None:
    assert counts(specialized, backend, dynamic, (10, 20, 30, 40, 50)) == wanted


def test_the_three_graphs_of_the_specialisation_example_serve_every_size() -> None:
    sizes = (10, 20, 30, 40, 50, 0, 1, 2, 31, 9, 11, 1000)
    assert counts(specialized, "eager", True, sizes)[-1] == 3
    assert torch.equal(supple.compile(specialized)(torch.ones(10)), torch.full((10,), 10.0))


# DYN20
def test_a_dynamic_size_may_grow_by_any_factor() -> None:
    assert counts(scaled, "eager", None, (10, 1000, 100_000)) == [1, 2, 2]


# DYN04
def test_only_the_dimension_that_changed_becomes_dynamic() -> None:
    made = compiled(lambda x: x * x.shape[0] + x.shape[1], "eager", None)
    for rows, columns, graphs in ((3, 4, 1), (5, 4, 2), (6, 7, 3), (8, 9, 3)):
        x = floats(rows, columns)
        assert torch.equal(made.run(x), x * rows + columns)
        assert made.graphs == graphs


# DYN11
@pytest.mark.parametrize("dynamic", [True, None])
def test_another_rank_is_another_graph(dynamic: bool | None) -> None:
    made = compiled(scaled, "eager", dynamic)
    for shape, graphs in (((2, 3), 1), ((2, 3, 4), 2), ((2, 3), 2)):
        made.run(floats(*shape))
        assert made.graphs == graphs


# ANN06
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_marked_dimension_is_dynamic_at_once(backend: str) -> None:
    made = compiled(scaled, backend, None)
    x = floats(10)
    supple.mark_dynamic(x, 0)
    for given in (x, floats(20), floats(30), floats(40), floats(1)):
        assert not difference(scaled(given), made.run(given), 1e-6)
    assert made.graphs == 1


# ANN07
def test_a_range_of_a_marked_dimension_bounds_the_graph() -> None:
    made = compiled(scaled, "eager", None)
    for n, graphs in ((10, 1), (20, 1), (30, 1), (40, 2)):
        x = floats(n)
        if n == 10:
            supple.mark_dynamic(x, 0, min=5, max=35)
        made.run(x)
        assert made.graphs == graphs


# ANN06, ANN11
def test_a_marked_dimension_that_is_specialised_is_an_error_unless_maybe_marked() -> None:
    x = floats(10)
    supple.maybe_mark_dynamic(x, 0)
    assert torch.equal(compiled(specialized, "eager", None).run(x), x * 10)
    x = floats(10)
    supple.mark_dynamic(x, 0)
    with pytest.raises(supple.errors.ConstraintViolationError) as caught:
        compiled(specialized, "eager", None).run(x)
    assert "L['x'].size()[0]" in str(caught.value)
    assert "x.size()[0] == 10" in str(caught.value)


# ANN01, ANN05
def test_the_allow_list_makes_a_size_dynamic_at_once() -> None:
    made = compiled(scaled, "eager", None)
    with supple.config.patch(dynamic_sources="L['x']"):
        made.run(floats(10))
    for n in (20, 30, 40):
        assert torch.equal(made.run(floats(n)), scaled(floats(n)))
    assert made.graphs == 1


# ANN02, ANN04
def test_the_allow_list_covers_integers_and_forgives_names_that_do_not_exist() -> None:
    made = compiled(lambda x, n: x * n, "eager", None)
    with supple.config.patch(dynamic_sources="L['n'],L['nope']"):
        for n in (5, 6, 7):
            assert torch.equal(made.run(floats(4), n), floats(4) * n)
    assert made.graphs == 1


# ANN17
def test_the_stance_eager_then_compile_learns_from_the_first_call() -> None:
    made = compiled(scaled, "eager", None)
    with supple.set_stance("eager_then_compile"):
        for n, graphs in ((10, 0), (20, 1), (30, 1), (40, 1)):
            assert torch.equal(made.run(floats(n)), scaled(floats(n)))
            assert made.graphs == graphs


# CAP10, CAP14, SYM04, SYM06, SYM07
def test_a_condition_on_an_intermediate_size_is_a_condition_on_the_inputs() -> None:
    guards: list[str] = []

    def note(event: events.Event) -> None:
        if isinstance(event, events.ShapeGuarded):
            guards.append(event.condition)

    made = compiled(joined, "eager", True)
    stop = events.listen(note, reads_texts=False)
    try:
        for first, second in ((2, 3), (1, 1), (0, 2), (2, 1), (0, 3), (0, 0), (7, 9)):
            given = (floats(first), floats(second))
            assert torch.equal(made.run(*given), joined(*given))
    finally:
        stop()
    assert made.graphs == 2
    assert len(guards) == 2
    assert all("s0 + s1" in guard for guard in guards)


# DYN10, SYM08, SYM15
def test_what_follows_from_a_guard_is_no_other_guard() -> None:
    guards: list[str] = []

    def note(event: events.Event) -> None:
        if isinstance(event, events.ShapeGuarded):
            guards.append(event.condition)

    def function(x: Tensor) -> Any:
        n = x.size(0)
        y = n * 2
        if n == 4 and n + 1 == 5 and y == 8 and y // 3 == 2 and n >= 3:
            return x * y
        return x

    made = compiled(function, "eager", True)
    stop = events.listen(note, reads_texts=False)
    try:
        assert torch.equal(made.run(floats(4)), floats(4) * 8)
    finally:
        stop()
    assert len(guards) == 1


# DYN13
def test_batches_and_lengths_of_a_small_transformer_are_two_graphs() -> None:
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    made = compiled(layer, "native", None)
    for batch, length in ((2, 5), (3, 7), (1, 4), (4, 1), (2, 9), (1, 1)):
        x = floats(batch, length, 8)
        assert not difference(layer(x), made.run(x), 1e-5)
    assert made.graphs == 2

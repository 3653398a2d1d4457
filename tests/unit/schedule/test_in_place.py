"""Which results are written into the inputs that they replace, and that the inputs then hold them."""

import torch

from supple.ir.graph.nodes import Var
from supple.ir.host import spec as host_spec
from supple.ir.host.nodes import Alloc
from supple.schedule import schedule
from tests.unit.schedule.aten_graphs import TARGET, Program, compiled, interpreted, same


def in_place(program: Program, outputs: tuple[Var, ...], homes: dict[int, int]) -> set[int]:
    """Return which results are written into their inputs, after checking all of them."""
    scheduled = schedule(program.graph(*outputs), TARGET, homes=homes)
    host_spec.check(scheduled.host)
    found: set[int] = set()
    for run in (interpreted, compiled):
        inputs = [
            value.clone() if isinstance(value, torch.Tensor) else value for value in program.arguments()
        ]
        results = run(scheduled, inputs)
        for result, output in zip(results, outputs, strict=True):
            same(result, program.value(output))
        for place, item in enumerate(inputs):
            moved = [at for at, home in homes.items() if home == place and results[at] is item]
            found.update(moved)
            if not moved:
                same(item, program.arguments()[place])
    return found


def test_a_step_of_an_optimizer_writes_parameter_and_state() -> None:
    p = Program()
    weight, grad, mean = (p.input(torch.randn(5, 33)) for _ in range(3))
    moved = p("add.Tensor", p("mul.Tensor", mean, 0.9), grad)
    updated = p("sub.Tensor", weight, p("mul.Tensor", moved, 0.1))
    assert in_place(p, (updated, moved), {0: 0, 1: 2}) == {0, 1}


def test_what_other_elements_are_computed_from_is_not_written() -> None:
    p = Program()
    x = p.input(torch.randn(7, 7))
    assert not in_place(p, (p("add.Tensor", x, p("permute.default", x, [1, 0])),), {0: 0})


def test_what_a_later_kernel_reads_is_not_written() -> None:
    p = Program()
    x, y = p.input(torch.randn(6, 4)), p.input(torch.randn(4, 3))
    doubled = p("mul.Tensor", x, 2)
    product = p("mm.default", x, y)
    assert not in_place(p, (doubled, p("mm.default", p("permute.default", product, [1, 0]), doubled)), {0: 0})


def test_what_a_library_call_reads_afterwards_is_written() -> None:
    p = Program()
    mean, grad, turn = p.input(torch.randn(4, 8)), p.input(torch.randn(4, 8)), p.input(torch.randn(8, 3))
    moved = p("add.Tensor", p("mul.Tensor", mean, 0.9), grad)
    assert in_place(p, (moved, p("mm.default", moved, turn)), {0: 0}) == {0}
    turned = p("mm.default", p("permute.default", moved, [1, 0]), moved)
    assert not in_place(p, (moved, turned), {0: 0}), "nothing tells that no view of it is left"


def test_what_a_library_call_read_before_is_written_behind_it() -> None:
    p = Program()
    mean, grad = p.input(torch.randn(4, 4)), p.input(torch.randn(4, 4))
    moved = p("add.Tensor", p("mul.Tensor", mean, 0.9), p("mm.default", mean, grad))
    assert in_place(p, (moved, p("mm.default", moved, grad)), {0: 0}) == {0}
    assert not in_place(p, (moved, p("mm.default", p("mm.default", moved, grad), mean)), {0: 0})


def test_what_a_result_shows_is_not_written() -> None:
    p = Program()
    x = p.input(torch.randn(6))
    doubled = p("mul.Tensor", x, 2)
    assert not in_place(p, (doubled, p("view.default", x, [2, 3])), {0: 0})
    assert not in_place(p, (doubled, doubled), {0: 0})


def test_an_input_with_other_strides_is_not_written() -> None:
    p = Program()
    x, y = p.input(torch.randn(4, 6).t()), p.input(torch.randn(6, 4))
    assert not in_place(p, (p("add.Tensor", y, 1),), {0: 0})
    assert in_place(p, (p("add.Tensor", y, 1),), {0: 1}) == {0}
    assert x.name == "arg0"


def test_running_statistics_are_written_by_the_kernel_that_reads_them() -> None:
    p = Program()
    x, mean = p.input(torch.randn(8, 5)), p.input(torch.randn(5))
    moved = p("add.Tensor", p("mul.Tensor", mean, 0.9), p("sum.dim_IntList", x, [0]))
    assert in_place(p, (moved,), {0: 1}) == {0}
    normed = p("sub.Tensor", x, mean)
    assert not in_place(p, (moved, normed), {0: 1})


def allocated(program: Program, *outputs: Var) -> int:
    """Return how many tensors the program allocates of itself, after checking its results."""
    scheduled = schedule(program.graph(*outputs), TARGET)
    host_spec.check(scheduled.host)
    for run in (interpreted, compiled):
        for result, output in zip(run(scheduled, program.arguments()), outputs, strict=True):
            same(result, program.value(output))
    return sum(isinstance(step, Alloc) for step in scheduled.host.steps)


def test_a_kernel_writes_over_the_product_that_it_is_the_last_to_read() -> None:
    p = Program()
    x, y, bias = p.input(torch.randn(6, 4)), p.input(torch.randn(4, 8)), p.input(torch.randn(8))
    hidden = p("relu.default", p("add.Tensor", p("mm.default", x, y), bias))
    assert allocated(p, p("mm.default", hidden, p.input(torch.randn(8, 8)))) == 0


def test_a_row_is_written_over_what_it_was_normalised_from() -> None:
    p = Program()
    x, y = p.input(torch.randn(6, 4)), p.input(torch.randn(4, 8))
    assert allocated(p, p("_softmax.default", p("mm.default", x, y), -1, False)) == 0


def test_a_product_that_is_read_later_or_elsewhere_is_kept() -> None:
    p = Program()
    x, y = p.input(torch.randn(8, 4)), p.input(torch.randn(4, 8))
    product = p("mm.default", x, y)
    assert allocated(p, p("mm.default", p("relu.default", p("neg.default", product)), product)) == 1
    q = Program()
    x, y = q.input(torch.randn(8, 4)), q.input(torch.randn(4, 8))
    product = q("mm.default", x, y)
    assert allocated(q, q("add.Tensor", product, q("permute.default", product, [1, 0]))) == 1
    r = Program()
    x, y = r.input(torch.randn(8, 4)), r.input(torch.randn(4, 8))
    product = r("mm.default", x, y)
    assert allocated(r, r("relu.default", r("neg.default", product)), product) == 1

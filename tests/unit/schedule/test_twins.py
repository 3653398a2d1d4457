"""Kernels that do the same with other tensors are made once."""

import torch

from supple.ir.graph.nodes import Var
from tests.unit.schedule.aten_graphs import Program, checked, launches


def test_many_equal_updates_are_one_kernel_launched_for_each() -> None:
    p = Program()
    updated: list[Var] = []
    for _ in range(12):
        weight, grad = p.input(torch.randn(5, 7)), p.input(torch.randn(5, 7))
        updated.append(p("sub.Tensor", weight, p("mul.Tensor", grad, 0.1)))
    scheduled = checked(p, *updated)
    assert len(scheduled.nests) == 1
    assert launches(scheduled) == 12


def test_a_few_equal_updates_are_one_launch() -> None:
    p = Program()
    pairs = [(p.input(torch.randn(5, 7)), p.input(torch.randn(5, 7))) for _ in range(3)]
    assert launches(checked(p, *(p("add.Tensor", left, right) for left, right in pairs))) == 1


def test_many_values_computed_from_one_are_one_launch() -> None:
    p = Program()
    x = p.input(torch.randn(5, 7))
    assert launches(checked(p, *(p("mul.Tensor", x, place + 0.5) for place in range(12)))) == 1

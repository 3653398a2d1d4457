"""Numbers read out of tensors for arithmetic stay there, and are as exact as when they are read."""

import torch

from supple.autograd.unread import unread, unstacked
from supple.ir.graph.interp import run
from supple.ir.graph.nodes import Var
from supple.ir.graph.text import parse

READ = "aten._local_scalar_dense.default"


def names(source: str) -> list[str]:
    return [node.op.name for node in unread(parse(source)).nodes]


HEAD = """def graph(x: "f32[4](1)", rate: "f64[]()"):
    read: "float uf0" = aten._local_scalar_dense.default(rate)
"""


def test_a_factor_stays_in_its_tensor() -> None:
    source = HEAD + "    y: \"f32[4](1)\" = aten.mul.Tensor(x, size('uf0'))\n    return (y,)\n"
    assert names(source) == ["aten._to_copy.default", "aten.mul.Tensor"]
    x, rate = torch.randn(4), torch.tensor(1 / 3, dtype=torch.float64)
    (result,) = run(unread(parse(source)), [x, rate])
    torch.testing.assert_close(result, x * (1 / 3), rtol=0, atol=0)


def test_a_number_that_is_needed_as_one_is_read() -> None:
    source = HEAD + "    y: \"f32[4](1)\" = aten.mul.Tensor(x, size('uf0'))\n    return (y, size('uf0'))\n"
    assert names(source) == [READ, "aten.mul.Tensor"]
    source = HEAD + "    y: \"f32[4](1)\" = aten.pow.Tensor_Scalar(x, size('uf0'))\n    return (y,)\n"
    assert names(source) == [READ, "aten.pow.Tensor_Scalar"]


def test_a_type_that_would_round_the_number_reads_it() -> None:
    source = HEAD.replace("f32[4]", "bf16[4]")
    source += "    y: \"bf16[4](1)\" = aten.mul.Tensor(x, size('uf0'))\n    return (y,)\n"
    assert names(source) == [READ, "aten.mul.Tensor"]


def test_a_part_of_a_stack_is_the_part_unless_it_is_returned() -> None:
    source = """def graph(a: "f32[4](1)", b: "f32[4](1)"):
    both: "f32[2,4](4,1)" = aten.stack.default([a, b])
    one: "f32[4](1)" = aten.select.int(both, 0, -1)
    other: "f32[4](1)" = aten.select.int(both, 0, 0)
    y: "f32[4](1)" = aten.sin.default(one)
    return (y, other)
"""
    graph = unstacked(parse(source))
    assert [node.op.name for node in graph.nodes if node.args == (Var("b"),)] == ["aten.sin.default"]
    a, b = torch.randn(4), torch.randn(4)
    torch.testing.assert_close(run(graph, [a, b]), run(parse(source), [a, b]))

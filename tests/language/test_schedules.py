"""Golden text: the kernels and the host program of typical pieces. `make golden` rewrites."""

import torch

from supple.ir.graph.nodes import Var
from supple.ir.host.text import text as host_text
from supple.ir.loops.text import text as loops_text
from supple.schedule import schedule
from tests.conftest import Golden
from tests.unit.schedule.aten_blocks import gelu_tanh, layer_norm, linear, rms_norm, rotary, softmax
from tests.unit.schedule.aten_graphs import TARGET, Program


def printed(program: Program, *outputs: Var) -> str:
    scheduled = schedule(program.graph(*outputs), TARGET)
    return "\n".join((*map(loops_text, scheduled.nests), host_text(scheduled.host)))


def test_softmax(golden: Golden) -> None:
    p = Program()
    golden.check(printed(p, softmax(p, p.input(torch.zeros(4, 8, 32)))))


def test_layer_norm_of_a_residual_sum(golden: Golden) -> None:
    p = Program()
    x, y, w, b = (p.input(torch.zeros(*size)) for size in ((4, 32), (4, 32), (32,), (32,)))
    total = p("add.Tensor", x, y)
    golden.check(printed(p, total, layer_norm(p, total, w, b, 32)))


def test_rms_norm(golden: Golden) -> None:
    p = Program()
    golden.check(printed(p, rms_norm(p, p.input(torch.zeros(4, 32)), p.input(torch.zeros(32)), 32)))


def test_gelu_mlp(golden: Golden) -> None:
    p = Program()
    x = p.input(torch.zeros(2, 3, 8))
    up = linear(p, p("view.default", x, [6, 8]), p.input(torch.zeros(16, 8)), p.input(torch.zeros(16)))
    active = gelu_tanh(p, p("view.default", up, [2, 3, 16]))
    down = linear(p, p("view.default", active, [6, 16]), p.input(torch.zeros(8, 16)), p.input(torch.zeros(8)))
    golden.check(printed(p, p("add.Tensor", x, p("view.default", down, [2, 3, 8]))))


def test_rotary_embedding(golden: Golden) -> None:
    p = Program()
    x = p("view.default", p.input(torch.zeros(10, 32)), [2, 5, 2, 16])
    cos, sin = p.input(torch.zeros(5, 16)), p.input(torch.zeros(5, 16))
    golden.check(printed(p, rotary(p, p("permute.default", x, [0, 2, 1, 3]), cos, sin, 16)))

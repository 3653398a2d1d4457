"""Random ATen graphs: eager == both interpreters == machine code, fused and not."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from supple.ir.graph.nodes import Var
from tests.unit.schedule.aten_blocks import layer_norm, softmax
from tests.unit.schedule.aten_graphs import Program, checked, launches

SHAPES = ((2, 3, 4), (2, 3, 1), (3, 4), (4,), (1, 4), (2, 1, 4), (6, 4), (12,), (4, 3))
UNARY = ("sin.default", "neg.default", "abs.default", "tanh.default")
BINARY = ("add.Tensor", "sub.Tensor", "mul.Tensor", "maximum.default")


class Growth:
    """Adds random nodes to a program; values stay small, so that rounding does not decide anything."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.program = Program()
        self.tensors: list[Var] = []
        for _ in range(draw(st.integers(1, 3))):
            shape = draw(st.sampled_from(SHAPES))
            self.tensors.append(self.program.input(torch.randn(shape)))

    def any(self) -> Var:
        return self.draw(st.sampled_from(self.tensors))

    def tensor(self, var: Var) -> torch.Tensor:
        value = self.program.value(var)
        assert isinstance(value, torch.Tensor)
        return value

    def dim(self, var: Var) -> int:
        return self.draw(st.integers(0, self.tensor(var).dim() - 1))

    def pointwise(self) -> Var:
        return self.program(self.draw(st.sampled_from(UNARY)), self.any())

    def binary(self) -> Var | None:
        x, y = self.any(), self.any()
        try:
            torch.broadcast_shapes(self.tensor(x).shape, self.tensor(y).shape)
        except RuntimeError:
            return None
        return self.program(self.draw(st.sampled_from(BINARY)), x, y)

    def reduction(self) -> Var | None:
        x = self.any()
        if not self.tensor(x).dim():
            return None
        name = self.draw(st.sampled_from(("sum.dim_IntList", "amax.default")))
        return self.program(name, x, [self.dim(x)], self.draw(st.booleans()))

    def block(self) -> Var | None:
        x = self.any()
        if not self.tensor(x).dim():
            return None
        dim = self.dim(x)
        if self.draw(st.booleans()):
            return softmax(self.program, x, dim)
        one = self.program("full.default", [], 1.0)
        return layer_norm(self.program, x, one, one, self.tensor(x).size(dim), dim)

    def permutation(self) -> Var:
        x = self.any()
        dims = self.draw(st.permutations(range(self.tensor(x).dim())))
        return self.program("permute.default", x, list(dims))

    def reshape(self) -> Var:
        x = self.program("clone.default", self.any(), memory_format=torch.contiguous_format)
        count = self.tensor(x).numel()
        rows = self.draw(st.sampled_from([n for n in range(1, count + 1) if count % n == 0]))
        return self.program("view.default", x, [rows, count // rows])

    def piece(self) -> Var | None:
        x = self.any()
        if not self.tensor(x).dim():
            return None
        dim = self.dim(x)
        size = self.tensor(x).size(dim)
        start = self.draw(st.integers(0, size - 1))
        return self.program("slice.Tensor", x, dim, start, self.draw(st.integers(start + 1, size)))

    def joined(self) -> Var | None:
        x = self.any()
        if not self.tensor(x).dim():
            return None
        other = self.program("neg.default", x)
        return self.program("cat.default", [other, x], self.dim(x))

    def library(self) -> Var | None:
        x = self.any()
        return self.program("cumsum.default", x, self.dim(x)) if self.tensor(x).dim() else None

    def grow(self) -> None:
        steps = (
            self.pointwise,
            self.binary,
            self.binary,
            self.reduction,
            self.block,
            self.permutation,
            self.reshape,
            self.piece,
            self.joined,
            self.library,
        )
        made = self.draw(st.sampled_from(steps))()
        if made is not None and 0 < self.tensor(made).numel() <= 200:
            self.tensors.append(made)


@st.composite
def programs(draw: st.DrawFn) -> tuple[Program, list[Var]]:
    growth = Growth(draw)
    for _ in range(draw(st.integers(1, 12))):
        growth.grow()
    outputs = draw(st.lists(st.sampled_from(growth.tensors), min_size=1, max_size=3))
    return growth.program, [growth.tensors[-1], *outputs]


@given(programs())
def test_a_fused_schedule_computes_what_eager_does(case: tuple[Program, list[Var]]) -> None:
    program, outputs = case
    checked(program, *outputs, rtol=1e-4, compile=False)


@given(programs())
def test_a_schedule_without_fusion_computes_what_eager_does(case: tuple[Program, list[Var]]) -> None:
    program, outputs = case
    checked(program, *outputs, rtol=1e-4, fusion=False, compile=False)


@settings(max_examples=15)
@given(programs())
def test_machine_code_computes_what_eager_does(case: tuple[Program, list[Var]]) -> None:
    program, outputs = case
    checked(program, *outputs, rtol=1e-4, interpret=False)


@given(programs())
def test_scheduling_twice_gives_equal_programs(case: tuple[Program, list[Var]]) -> None:
    program, outputs = case
    first = checked(program, *outputs, interpret=False, compile=False)
    assert checked(program, *outputs, interpret=False, compile=False) == first


@given(programs())
def test_fusion_launches_no_more_kernels(case: tuple[Program, list[Var]]) -> None:
    program, outputs = case
    fused = checked(program, *outputs, interpret=False, compile=False)
    alone = checked(program, *outputs, interpret=False, compile=False, fusion=False)
    assert launches(fused) <= launches(alone)

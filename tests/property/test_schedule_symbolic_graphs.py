"""Random graphs of symbolic sizes: eager == interpreters == machine code at all sizes, fused and not."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from supple.expr import Expr, const, exact_quotient
from supple.ir.graph.nodes import Arg, Var
from tests.unit.schedule.aten_blocks import layer_norm, softmax
from tests.unit.schedule.aten_graphs import launches
from tests.unit.schedule.symbolic_graphs import Sketch, checked

UNARY = ("sin.default", "neg.default", "abs.default", "tanh.default")
BINARY = ("add.Tensor", "sub.Tensor", "mul.Tensor", "maximum.default")
SMALL = st.sampled_from((0, 1, 1, 2, 3, 5))
LARGE = st.sampled_from((0, 1, 2, 7, 16, 33, 64))


class Growth:
    """Adds random nodes to a graph over two sizes; values stay small, so that rounding decides nothing."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.sketch = Sketch()
        self.b, self.n = self.sketch.size(2), self.sketch.size(9)
        b, n, four, one = self.b, self.n, const(4), const(1)
        self.shapes = ((b, n, four), (n, four), (b, one, four), (n,), (b, n), (b * n, four), (four,), (n, b))
        self.tensors: list[Var] = []
        for _ in range(draw(st.integers(1, 3))):
            self.tensors.append(self.sketch.input(*draw(st.sampled_from(self.shapes))))

    def any(self) -> Var:
        return self.draw(st.sampled_from(self.tensors))

    def sizes(self, var: Var) -> tuple[Expr, ...]:
        return self.sketch.meta(var).sizes

    def dim(self, var: Var) -> int:
        return self.draw(st.integers(0, len(self.sizes(var)) - 1))

    def pointwise(self) -> Var:
        return self.sketch(self.draw(st.sampled_from(UNARY)), self.any())

    def number(self) -> Var:
        value = self.draw(st.sampled_from((self.n, self.b + 1, self.n // 2, self.n % 3)))
        return self.sketch("sub.Tensor", self.sketch("tanh.default", self.any()), value)

    def binary(self) -> Var | None:
        x, y = self.any(), self.any()
        pairs = zip(reversed(self.sizes(x)), reversed(self.sizes(y)), strict=False)
        if any(p is not q and const(1) not in (p, q) for p, q in pairs):
            return None
        return self.sketch(self.draw(st.sampled_from(BINARY)), x, y)

    def reduction(self) -> Var | None:
        x = self.any()
        if not self.sizes(x):
            return None
        return self.sketch("sum.dim_IntList", x, [self.dim(x)], self.draw(st.booleans()))

    def block(self) -> Var | None:
        x = self.any()
        if not self.sizes(x):
            return None
        dim = self.dim(x)
        if self.draw(st.booleans()):
            return softmax(self.sketch, x, dim)
        one = self.sketch("full.default", [], 1.0)
        return layer_norm(self.sketch, x, one, one, self.sizes(x)[dim], dim)

    def permutation(self) -> Var:
        x = self.any()
        dims = self.draw(st.permutations(range(len(self.sizes(x)))))
        return self.sketch("permute.default", x, list(dims))

    def reshape(self) -> Var | None:
        x = self.any()
        total = self.sketch.meta(x).numel
        rows: Arg = self.draw(st.sampled_from((self.b, self.n, self.b * self.n, const(4), const(1))))
        columns = exact_quotient(total, rows)
        if columns is None:
            return None
        row_major = self.sketch("clone.default", x, memory_format=torch.contiguous_format)
        return self.sketch("view.default", row_major, [rows, columns])

    def piece(self) -> Var | None:
        x = self.any()
        if not self.sizes(x):
            return None
        dim = self.dim(x)
        start: Arg = self.draw(st.sampled_from((0, 1, self.b, self.n // 2)))
        return self.sketch("slice.Tensor", x, dim, start, 2**63 - 1, self.draw(st.integers(1, 2)))

    def joined(self) -> Var | None:
        x = self.any()
        if not self.sizes(x):
            return None
        return self.sketch("cat.default", [self.sketch("neg.default", x), x], self.dim(x))

    def padded(self) -> Var | None:
        x = self.any()
        if not self.sizes(x):
            return None
        return self.sketch(
            "constant_pad_nd.default", x, self.draw(st.sampled_from(([1, 0], [0, self.b]))), 0.5
        )

    def library(self) -> Var | None:
        x = self.any()
        return self.sketch("cumsum.default", x, self.dim(x)) if self.sizes(x) else None

    def grow(self) -> None:
        steps = (
            *(self.pointwise, self.number, self.binary, self.binary, self.reduction, self.block),
            *(
                self.permutation,
                self.reshape,
                self.reshape,
                self.piece,
                self.joined,
                self.padded,
                self.library,
            ),
        )
        made = self.draw(st.sampled_from(steps))()
        if made is not None and len(self.sizes(made)) < 4:
            self.tensors.append(made)


@st.composite
def programs(draw: st.DrawFn) -> tuple[Sketch, list[Var]]:
    growth = Growth(draw)
    for _ in range(draw(st.integers(1, 12))):
        growth.grow()
    outputs = draw(st.lists(st.sampled_from(growth.tensors), min_size=1, max_size=3))
    return growth.sketch, [growth.tensors[-1], *outputs]


@given(programs(), st.lists(st.tuples(SMALL, SMALL), min_size=3, max_size=3))
def test_a_fused_schedule_computes_what_eager_does(
    case: tuple[Sketch, list[Var]], sizes: list[tuple[int, int]]
) -> None:
    sketch, outputs = case
    checked(sketch, *outputs, at=sizes, rtol=1e-3, compile=False, values_only=True)


@given(programs(), st.lists(st.tuples(SMALL, SMALL), min_size=3, max_size=3))
def test_a_schedule_without_fusion_computes_what_eager_does(
    case: tuple[Sketch, list[Var]], sizes: list[tuple[int, int]]
) -> None:
    sketch, outputs = case
    checked(sketch, *outputs, at=sizes, rtol=1e-3, fusion=False, compile=False, values_only=True)


@settings(max_examples=15)
@given(programs(), st.lists(st.tuples(SMALL, LARGE), min_size=4, max_size=4))
def test_machine_code_computes_what_eager_does(
    case: tuple[Sketch, list[Var]], sizes: list[tuple[int, int]]
) -> None:
    sketch, outputs = case
    checked(sketch, *outputs, at=sizes, rtol=1e-3, interpret=False, values_only=True)


@given(programs())
def test_fusion_launches_no_more_kernels(case: tuple[Sketch, list[Var]]) -> None:
    sketch, outputs = case
    alone = sketch.scheduled(*outputs, fusion=False)
    assert launches(sketch.scheduled(*outputs)) <= launches(alone)

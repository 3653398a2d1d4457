"""One schedule serves all sizes, 0 and 1 included: graph == loops == machine code at each."""

from collections.abc import Callable

import pytest
import torch

from supple.expr import Expr
from supple.ir.graph.nodes import Var
from supple.ir.loops.text import text
from tests.unit.schedule.aten_blocks import gelu_tanh, layer_norm, linear, softmax
from tests.unit.schedule.symbolic_graphs import Sketch, checked

N_AND_ONE_MORE = [(0,), (1,), (2,), (3,), (17,), (64,)]


def contiguous(s: Sketch, x: Var) -> Var:
    return s("clone.default", x, memory_format=torch.contiguous_format)


def merged(s: Sketch, b: Expr, n: Expr) -> Var:
    """There and back between rows of a batch and all rows."""
    x = s.input(b, n, 12)
    rows = s("tanh.default", s("view.default", x, [b * n, 12]))
    return s("add.Tensor", x, s("view.default", rows, [b, n, 12]))


def flat(s: Sketch, b: Expr, n: Expr) -> Var:
    x = s.input(b, n, 4)
    whole = s("abs.default", s("view.default", x, [b * n * 4]))
    return s("mul.Tensor", s("view.default", whole, [b, n * 4]), s.input(n * 4))


def heads(s: Sketch, b: Expr, n: Expr) -> Var:
    x = s("view.default", s.input(b, n, 12), [b, n, 3, 4])
    swapped = contiguous(s, s("permute.default", x, [0, 2, 1, 3]))
    return s("view.default", s("abs.default", swapped), [3 * b, n, 4])


def joined_heads(s: Sketch, b: Expr, n: Expr) -> Var:
    x = s("permute.default", s.input(b, 3, n, 4), [0, 2, 1, 3])
    return s("view.default", contiguous(s, x), [b * n, 12])


def attention(s: Sketch, b: Expr, n: Expr) -> Var:
    q, k = s.input(b, n, 4), s.input(b, n, 4)
    scores = s("bmm.default", q, s("permute.default", k, [0, 2, 1]))
    rows = s("unsqueeze.default", s("arange.start_step", 0, n, 1), 1)
    is_past = s("ge.Tensor", rows, s("arange.start_step", 0, n, 1))
    masked = s("where.self", is_past, s("mul.Tensor", scores, 0.5), float("-inf"))
    return s("bmm.default", softmax(s, masked), s.input(b, n, 4))


def normed(s: Sketch, b: Expr, n: Expr) -> Var:
    return layer_norm(s, s.input(b, n, 8), s.input(8), s.input(8), 8)


def normed_over_n(s: Sketch, b: Expr, n: Expr) -> Var:
    return layer_norm(s, s.input(b, n), s.input(n), s.input(n), n)


def mlp(s: Sketch, b: Expr, n: Expr) -> Var:
    x = s("view.default", s.input(b, n, 4), [b * n, 4])
    up = linear(s, x, s.input(6, 4), s.input(6))
    return s("view.default", gelu_tanh(s, up), [b, n, 6])


def column_softmax(s: Sketch, b: Expr, n: Expr) -> Var:
    return softmax(s, s.input(n, b), 0)


def inner_softmax(s: Sketch, b: Expr, n: Expr) -> Var:
    return softmax(s, s.input(b, n, 5), 1)


def row_softmax(s: Sketch, b: Expr, n: Expr) -> Var:
    return softmax(s, s.input(b, n))


def cat(s: Sketch, b: Expr, n: Expr) -> Var:
    x, y = s.input(b, n), s.input(b, 3)
    return s("cat.default", [s("neg.default", x), y, s("abs.default", x)], 1)


def cat_of_rows(s: Sketch, b: Expr, n: Expr) -> Var:
    return s("mul.Tensor", s("cat.default", [s.input(b, 4), s.input(n, 4)], 0), s.input(4))


def padded(s: Sketch, b: Expr, n: Expr) -> Var:
    return s("constant_pad_nd.default", s.input(b, n), [1, b, n, 2], 0.5)


def expanded(s: Sketch, b: Expr, n: Expr) -> Var:
    x = s("expand.default", s("unsqueeze.default", s.input(b, 4), 1), [b, n, 4])
    return s("add.Tensor", x, s.input(n, 4))


def flipped(s: Sketch, b: Expr, n: Expr) -> Var:
    return s("add.Tensor", s("flip.default", s.input(b, n), [1]), s("flip.default", s.input(b, n), [0]))


def product_of_sizes(s: Sketch, b: Expr, n: Expr) -> Var:
    return s("add.Tensor", s("mul.Tensor", s.input(b, n), b * n + 1), s("full.default", [], n))


def outer(s: Sketch, b: Expr, n: Expr) -> Var:
    x = s("unsqueeze.default", s.input(b), 1)
    return s("sum.dim_IntList", s("mul.Tensor", x, s.input(n)), [0], False)


def mean(s: Sketch, b: Expr, n: Expr) -> Var:
    return s("div.Tensor", s("sum.dim_IntList", s.input(b, n), [0, 1], False), b * n)


def counts(s: Sketch, b: Expr, n: Expr) -> Var:
    x = s("gt.Tensor", s.input(b, n), 0.0)
    some, every = s("any.dims", x, [1], True), s("all.dims", x, [1], True)
    return s("bitwise_xor.Tensor", some, every)


PROGRAMS: tuple[tuple[Callable[[Sketch, Expr, Expr], Var], int], ...] = (
    *((merged, 1), (flat, 1), (heads, 1), (joined_heads, 1), (attention, 1), (normed, 1)),
    *((normed_over_n, 1), (mlp, 1), (column_softmax, 1), (inner_softmax, 1), (row_softmax, 1), (cat, 1)),
    *((cat_of_rows, 1), (padded, 1), (expanded, 1), (flipped, 1), (product_of_sizes, 1), (outer, 1)),
    *((mean, 1), (counts, 1)),
)


@pytest.mark.parametrize(("program", "kernels"), PROGRAMS, ids=lambda p: getattr(p, "__name__", None))
def test_one_kernel_serves_every_size(
    program: Callable[[Sketch, Expr, Expr], Var], kernels: int
) -> None:  # SYM08
    s = Sketch()
    b, n = s.size(4), s.size(9)
    sizes = [(0, 3), (3, 0), (1, 1), (2, 1), (1, 5), (3, 8), (2, 17), (5, 64)]
    made = checked(s, program(s, b, n), at=sizes, kernels=kernels, rtol=1e-4)
    for nest in made.nests:
        assert "//" not in text(nest)
        assert "%" not in text(nest)


@pytest.mark.parametrize("start", [0, 2, "n", "-n", "half", -3])
def test_slices_with_symbolic_ends_stay_coordinates(start: object) -> None:  # SYM08
    s = Sketch()
    m, n = s.size(20), s.size(4, minimum=1)
    begins = {"n": n, "-n": -n, "half": n // 2}
    begin = begins.get(str(start), start)
    x = s.input(m, 6)
    whole = s("abs.default", x)
    piece = s("slice.Tensor", whole, 0, begin, m, 2)
    sizes = [(20, 1), (5, 3), (4, 2), (70, 64), (17, 17), (3, 5), (0, 2)]
    checked(s, s("add.Tensor", piece, 1), s("select.int", x, 1, 3), at=sizes, kernels=1)

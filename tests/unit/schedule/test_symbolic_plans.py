"""The plan for symbolic sizes is the one for fixed sizes: the same kernels, vectors, buffers."""

import re

import pytest
import torch

from supple.codegen.backend import has_function, host_compiler
from supple.codegen.cpu.emit import emit
from supple.codegen.cpu.target import Features
from supple.expr import Expr
from supple.ir.graph.nodes import Var
from supple.ir.host.nodes import Alloc, Launch
from supple.ir.program import Scheduled
from supple.schedule import schedule
from tests.unit.schedule.aten_blocks import gelu_tanh, layer_norm, linear, softmax
from tests.unit.schedule.aten_graphs import TARGET, Program
from tests.unit.schedule.symbolic_graphs import Sketch, checked

WIDTH, HEADS, HEAD = 24, 3, 8


class Fixed(Program):
    """A Program whose inputs are given by their sizes."""

    def input(self, *sizes: object) -> Var:
        return super().input(torch.randn([int(str(size)) for size in sizes]))


def heads(p: Fixed | Sketch, x: Var, b: Expr | int, n: Expr | int, order: list[int]) -> Var:
    """One of queries, keys and values as a batch of matrices."""
    split = p("permute.default", p("view.default", x, [b, n, HEADS, HEAD]), order)
    copied = p("clone.default", split, memory_format=torch.contiguous_format)
    return p("view.default", copied, [b * HEADS, n, HEAD] if order[2] == 1 else [b * HEADS, HEAD, n])


def block(p: Fixed | Sketch, b: Expr | int, n: Expr | int) -> Var:
    """A GPT-2 block with a causal mask."""
    x = p.input(b, n, WIDTH)
    rows = p("view.default", layer_norm(p, x, p.input(WIDTH), p.input(WIDTH), WIDTH), [b * n, WIDTH])
    q, k, v = (linear(p, rows, p.input(WIDTH, WIDTH), p.input(WIDTH)) for _ in range(3))
    scores = p("bmm.default", heads(p, q, b, n, [0, 2, 1, 3]), heads(p, k, b, n, [0, 2, 3, 1]))
    places = p("arange.start_step", 0, n, 1)
    is_past = p("ge.Tensor", p("unsqueeze.default", places, 1), places)
    nothing = p("full.default", [], float("-inf"))
    weights = softmax(p, p("where.self", is_past, p("mul.Tensor", scores, 0.35), nothing))
    seen = p("view.default", p("bmm.default", weights, heads(p, v, b, n, [0, 2, 1, 3])), [b, HEADS, n, HEAD])
    joined = p(
        "clone.default", p("permute.default", seen, [0, 2, 1, 3]), memory_format=torch.contiguous_format
    )
    mixed = linear(p, p("view.default", joined, [b * n, WIDTH]), p.input(WIDTH, WIDTH), p.input(WIDTH))
    x = p("add.Tensor", x, p("view.default", mixed, [b, n, WIDTH]))
    rows = p("view.default", layer_norm(p, x, p.input(WIDTH), p.input(WIDTH), WIDTH), [b * n, WIDTH])
    up = gelu_tanh(p, linear(p, rows, p.input(4 * WIDTH, WIDTH), p.input(4 * WIDTH)))
    down = linear(p, up, p.input(WIDTH, 4 * WIDTH), p.input(WIDTH))
    return p("add.Tensor", x, p("view.default", down, [b, n, WIDTH]))


def names(scheduled: Scheduled) -> list[str]:
    """What the kernels compute, in order."""
    steps = [step for step in scheduled.host.steps if isinstance(step, Launch)]
    return [re.sub(r"^kernel\d+_", "", step.kernel) for step in steps]


def test_a_block_of_gpt2_has_the_kernels_of_fixed_sizes() -> None:  # SYM08
    fixed, s = Fixed(), Sketch()
    b, n = s.size(5), s.size(50)
    alike = schedule(fixed.graph(block(fixed, 5, 50)), TARGET)
    sizes = [(0, 3), (2, 0), (1, 1), (5, 1), (1, 9), (3, 17)]
    made = checked(s, block(s, b, n), at=sizes, rtol=1e-4, interpret=False)
    assert names(made) == names(alike)
    count = [sum(isinstance(step, Alloc) for step in one.host.steps) for one in (made, alike)]
    assert count[0] == count[1]


@pytest.mark.parametrize("program", ["rows", "heads", "softmax", "norm", "cat"])
def test_vectors_are_read_and_written_as_a_whole(program: str) -> None:
    s = Sketch()
    b, n = s.size(5), s.size(50)
    x = s.input(b, n, 64)
    swapped = s("permute.default", x, [1, 0, 2])
    made = {
        "rows": lambda: s("add.Tensor", s("view.default", x, [b * n, 64]), s.input(b * n, 1)),
        "heads": lambda: s("clone.default", swapped, memory_format=torch.contiguous_format),
        "softmax": lambda: softmax(s, s.input(b, n)),
        "norm": lambda: layer_norm(s, s.input(b, n), s.input(n), s.input(n), n),
        "cat": lambda: s("cat.default", [s.input(b, n), s.input(b, n)], 1),
    }[program]()
    features = Features(host_compiler().cpu, TARGET.vector_bytes, has_function)
    for nest in s.scheduled(made).nests:
        text = emit(nest, TARGET, features).text
        assert f"<{features.lanes} x float>" in text
        assert "masked.gather" not in text
        assert "masked.scatter" not in text


def test_a_dead_buffer_of_equal_symbolic_sizes_is_taken_over() -> None:
    s = Sketch()
    x = s.input(s.size(), 4)
    for _ in range(4):
        x = s("cumsum.default", s("exp.default", x), 0)
    made = s.scheduled(x)
    assert sum(isinstance(step, Alloc) for step in made.host.steps) == 1


@pytest.mark.parametrize("rows", [1, 3])
def test_scratch_beyond_its_share_of_the_stack_is_on_the_heap(rows: int) -> None:
    s = Sketch()
    b, n = s.size(4), s.size(1000)
    made = s.scheduled(softmax(s, s.input(b, n)))
    assert any("scratch" in str(nest.buffers) for nest in made.nests)
    limit = TARGET.scratch_bytes // 4
    sizes = [(rows, limit - 1), (rows, limit), (rows, limit + 1), (rows, 3 * limit)]
    checked(s, Var(s.nodes[-1].name), at=sizes, interpret=False, rtol=1e-4)


@pytest.mark.parametrize("op", ["sum.dim_IntList", "amax.default", "any.dims", "all.dims"])
def test_a_long_reduction_of_unknown_length_runs_on_all_threads(op: str) -> None:
    s = Sketch()
    b, n = s.size(4), s.size(70000)
    x = s.input(b, n, 3)
    x = s("gt.Tensor", x, -1.99) if op.endswith("dims") else s("abs.default", x)
    sizes = [(2, 1), (1, 5), (3, 31), (1, 32), (2, 33), (1, 1000), *([] if op.startswith("am") else [(2, 0)])]
    checked(s, s(op, x, [0, 1], False), at=sizes, kernels=2, rtol=1e-4)


def test_a_coordinate_below_a_symbolic_extent_is_not_divided() -> None:
    s = Sketch()
    b, n = s.size(), s.size()
    x = s.input(b, n, 2 * n)
    rows = s("view.default", s("view.default", x, [b * n * 2 * n]), [b * n, 2, n])
    y = s("view.default", s("permute.default", rows, [0, 2, 1]), [b, n, n, 2])
    made = checked(
        s,
        s("add.Tensor", y, s.input(n, n, 1)),
        at=[(0, 2), (1, 1), (2, 3), (3, 8)],
        kernels=1,
        values_only=True,
    )
    assert "//" not in str(made.nests[0].body)

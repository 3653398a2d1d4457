"""Graphs as torch.fx modules: the same results, what a backend expects to find, and torch's own backends."""

from collections.abc import Callable, Sequence
from typing import Any, cast

import pytest
import torch
import torch.fx
import torch.nn.functional as F

import supple
from supple.base.errors import InternalError, Where
from supple.expr import const, maximum, real
from supple.expr.nodes import KINDS
from supple.expr.real import Real
from supple.interop import fx, torch_bridge
from supple.interop.fx import compile_with, placeholder_name, to_fx
from supple.interop.torch_bridge import Variants, list_registered, lookup_backend
from supple.ir.dtypes import DType
from supple.ir.graph.interp import run
from supple.ir.graph.nodes import Graph, Input, Node, Var
from supple.ir.graph.text import text
from supple.ir.meta import TensorMeta, contiguous
from supple.ir.ops import function_op, method_op, op_named
from supple.shapes.env import ShapeEnv, using
from supple.shapes.fake import fake_from, meta_of
from supple.shapes.symnode import sym
from tests.unit.interop.reading import from_fx

X = torch.randn(2, 6)


def sample() -> Graph:
    where = (Where(__file__, 1, "f"),)
    meta = meta_of(X)
    parts = (meta_of(X[:, :3]), meta_of(X[:, 3:]))
    return Graph(
        (Input("x", meta, "L['x']"), Input("w", meta, "L['self'].weight", True)),
        (
            Node("sum", function_op("torch.add", torch.add), (Var("x"), Var("w")), {"alpha": 2}, meta, where),
            Node("chunk", method_op("chunk"), (Var("sum"), 2, -1), {}, parts),
            Node(
                "cat", op_named("aten.cat.default"), ([Var("chunk", (1,)), Var("chunk", (0,))], 1), {}, meta
            ),
        ),
        (Var("cat"), None, (Var("chunk", (0,)),)),
    )


def test_a_module_computes_what_the_graph_does() -> None:
    graph = sample()
    assert str(to_fx(graph)(X, X)) == str(run(graph, [X, X]))


def test_placeholders_are_named_after_sources() -> None:
    names = [node.name for node in to_fx(sample()).graph.nodes if node.op == "placeholder"]
    assert names == ["l_x_", "l_self_weight"]
    assert placeholder_name(Input("3", meta_of(X), "3")) == "arg_3"


def test_nodes_carry_fake_values_and_the_stack() -> None:
    nodes = list(to_fx(sample()).graph.nodes)[2:]
    assert nodes[0].meta["val"].shape == (2, 6)
    assert nodes[1].meta["example_value"][1].shape == (2, 3)
    assert "in f" in nodes[0].meta["stack_trace"]


def test_a_graph_survives_the_way_there_and_back() -> None:
    graph = sample()
    back = from_fx(to_fx(graph), [X, X])
    assert str(run(back, [X, X])) == str(run(graph, [X, X]))


def test_submodules_have_no_form() -> None:
    module = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.ReLU()))
    with pytest.raises(InternalError):
        from_fx(module, [X])


def test_a_backend_gets_the_module_and_the_examples() -> None:
    seen: list[Any] = []

    def backend(module: torch.fx.GraphModule, examples: Sequence[object]) -> Callable[..., object]:
        seen.append((module, examples))
        return module.forward

    compiled = compile_with(backend, sample(), [X, X])
    assert isinstance(compiled(X, X), tuple)
    assert isinstance(seen[0][0], torch.fx.GraphModule)
    assert seen[0][1] == [X, X]


def test_a_backend_that_returns_no_callable_is_named() -> None:
    with pytest.raises(TypeError, match="not callable"):
        compile_with(lambda module, examples: 3, sample(), [X, X])


def symbolic(env: ShapeEnv) -> Graph:
    """Return a graph that computes with two sizes, a float, and a size that exists at run time only."""
    s0, s1 = env.create("L['x'].size()[0]", 6), env.create("L['x'].size()[1]", 4)
    f0, u0 = env.create_float("L['f']", 2.5), env.create("nonzero", None)
    flat, length = contiguous((s0 * s1,), DType.F32), maximum(s0 * 2 - s1 - 3, 1)
    found = TensorMeta((u0, const(1)), (const(1), u0), DType.I64)
    return Graph(
        (
            Input("s0", s0, "L['x'].size()[0]"),
            Input("s1", s1, "L['x'].size()[1]"),
            Input("f0", f0, "L['f']"),
            Input("x", contiguous((s0, s1), DType.F32), "L['x']"),
        ),
        (
            Node("v", method_op("view"), (Var("x"), s0 * s1), {}, flat),
            Node("m", method_op("mul"), (Var("v"), Real("*", (f0, s0))), {}, flat),
            Node("nz", op_named("aten.nonzero.default"), (Var("m"),), {}, found),
            Node("n", method_op("narrow"), (Var("m"), 0, 0, length), {}, contiguous((length,), DType.F32)),
        ),
        (Var("n"), s0 * 2 - s1 - 3, u0 + 1, Real("/", (s0, 2))),
    )


def test_sizes_are_computed_by_nodes_each_once() -> None:  # SYM04
    env = ShapeEnv()
    with using(env):
        module = to_fx(symbolic(env))
    code = module.print_readable(print_output=False)
    assert sum(node.name.startswith("sub") for node in module.graph.nodes) == 2
    assert 'mul: "Sym(s0*s1)" = s0 * s1' in code
    assert 'sym_max: "Sym(max(1, 2*s0 - s1 - 3))" = torch.sym_max(1, sub_1)' in code
    assert "torch.ops.aten.sym_size.int(nz, 0)" in code
    assert env.guards == []


def test_every_kind_of_number_is_computed_by_a_function() -> None:
    assert real.FUNCTIONS.keys() | KINDS.keys() <= fx.FUNCTIONS.keys()
    assert fx.FUNCTIONS["floor"](2.5) == real.FUNCTIONS["floor"](2.5)


def test_readable_code_shows_symbols() -> None:  # DYN17
    env = ShapeEnv()
    with using(env):
        code = to_fx(symbolic(env)).print_readable(print_output=False)
    assert 's0: "Sym(s0)", s1: "Sym(s1)", f0: "Sym(f0)", l_x_: "FakeTensor(f32[s0, s1])"' in code


@pytest.mark.parametrize("rows", [0, 1, 6, 9])
def test_a_module_with_sizes_computes_what_the_graph_does(rows: int) -> None:
    graph = symbolic(ShapeEnv())
    x = torch.randn(rows, 4)
    if rows > 3 or rows == 1:
        assert str(to_fx(graph)(rows, 4, 2.5, x)) == str(run(graph, [rows, 4, 2.5, x]))


def test_sizes_survive_the_way_there_and_back() -> None:
    env = ShapeEnv()
    with using(env):
        graph = symbolic(env)
        module = to_fx(graph)
        back = from_fx(module, [node.meta["val"] for node in module.graph.find_nodes(op="placeholder")])
    assert [node.args for node in back.nodes[:1]] == [(Var("l_x_"), graph.nodes[0].args[1])]
    assert "sym_max" not in text(back)
    x = torch.randn(6, 4)
    assert str(run(back, [6, 4, 2.5, x])) == str(run(graph, [6, 4, 2.5, x]))


def halves(s0: int, x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    y = F.linear(F.layer_norm(x, (8,)), w).view(s0 * 3, 8)
    return torch.relu(y[: s0 // 2 + 1]).sum(0), y.softmax(-1) * s0


def captured_halves(env: ShapeEnv, rows: int, weight: torch.Tensor) -> Graph:
    s0 = env.create("L['x'].size()[0]", rows)
    examples = [sym(s0, env), fake_from(contiguous((s0, 8), DType.F32)), fake_from(meta_of(weight))]
    return from_fx(torch.fx.symbolic_trace(halves), examples)


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("name", ["aot_eager", "inductor"])
@pytest.mark.parametrize("requires_grad", [False, True])
def test_registered_backends_compile_once_for_general_sizes(name: str, requires_grad: bool) -> None:
    backend = lookup_backend(name)
    assert backend is not None
    compilations: list[Variants] = []

    def noted(module: torch.fx.GraphModule, examples: Sequence[object]) -> object:
        compiled = backend(module, examples)
        assert isinstance(compiled, Variants)
        compilations.append(compiled)
        return compiled

    weight = torch.randn(24, 8, requires_grad=requires_grad)
    env = ShapeEnv()
    with using(env):
        compiled = compile_with(noted, captured_halves(env, 6, weight), [6, torch.randn(6, 8), weight])
    for rows in (6, 8, 33, 2, 1, 0, 5):
        x = torch.randn(rows, 8)
        got, wanted = compiled(rows, x, weight), halves(rows, x, weight)
        torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-5)
        if requires_grad:
            mine, theirs = (torch.autograd.grad(r[0].sum() + r[1].sum(), weight) for r in (got, wanted))
            torch.testing.assert_close(mine, theirs, rtol=1e-3, atol=1e-4)  # pyright: ignore[reportArgumentType]
    assert compilations[0].count == 3  # general sizes, 1, and 0
    assert env.guards == []


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_sizes_beyond_the_limit_run_operator_by_operator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_bridge, "LIMIT", 1)
    backend = lookup_backend("aot_eager")
    assert backend is not None
    weight, env = torch.randn(24, 8), ShapeEnv()
    with using(env):
        compiled = compile_with(backend, captured_halves(env, 6, weight), [6, torch.randn(6, 8), weight])
    for rows in (1, 0, 7):
        x = torch.randn(rows, 8)
        torch.testing.assert_close(compiled(rows, x, weight), halves(rows, x, weight))


@pytest.mark.filterwarnings("default")
def test_a_backend_that_fails_for_other_sizes_leaves_them_to_eager() -> None:
    def general_only(module: torch.fx.GraphModule, examples: Sequence[object]) -> object:
        if isinstance(examples[0], int):
            raise RuntimeError  # noqa: TRY004
        return module.forward

    weight, env = torch.randn(24, 8), ShapeEnv()
    with using(env):
        variants = Variants(general_only, to_fx(captured_halves(env, 6, weight)))
    variants.add([6, torch.randn(6, 8), weight])
    for rows in (1, 7, 1):
        x = torch.randn(rows, 8)
        torch.testing.assert_close(variants(rows, x, weight), halves(rows, x, weight))
    assert variants.count == 2


def block(x: torch.Tensor, norm: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    hidden = F.linear(F.layer_norm(x, (8,), norm), weight, bias).view(2, 3, 3, 8)
    q, k, v = hidden[:, :, 0], hidden[:, :, 1], hidden[:, :, 2]
    return x + F.gelu(
        F.scaled_dot_product_attention(q.unsqueeze(1), k.unsqueeze(1), v.unsqueeze(1)).squeeze(1)
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("name", ["eager", "aot_eager", "inductor"])
def test_registered_backends_compile_a_block_with_and_without_gradients(name: str) -> None:
    backend = lookup_backend(name)
    assert backend is not None
    x = torch.randn(2, 3, 8)
    weights = [torch.randn(8), torch.randn(24, 8), torch.randn(24)]
    weights = [weight.requires_grad_() for weight in weights]
    graph = from_fx(torch.fx.symbolic_trace(block), [x, *weights])
    wanted = block(x, *weights)
    with torch.no_grad():
        (got,) = compile_with(backend, graph, [x, *weights])(x, *weights)
    torch.testing.assert_close(got, wanted.detach())
    (got,) = compile_with(backend, graph, [x, *weights])(x, *weights)
    assert isinstance(got, torch.Tensor)
    mine = torch.autograd.grad(got.sum(), weights)
    theirs = torch.autograd.grad(wanted.sum(), weights)
    torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-4)


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_unknown_names_are_no_backend() -> None:
    assert lookup_backend("no such backend") is None
    assert "inductor" in list_registered()


class Square(torch.autograd.Function):
    """Its `apply` is a method that no module has."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, times: int) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x * x * times

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> Any:
        return 2 * ctx.saved_tensors[0] * grads[0], None


GENERATOR = torch.Generator()
BOOL, INT, FLOAT, COMPLEX = cast("list[Any]", [bool, int, float, complex])


@pytest.mark.parametrize(
    "function",
    [
        lambda x: Square.apply(x, 3) + 1,
        lambda x: x.to(BOOL),
        lambda x: (x.to(INT), x.to(FLOAT), x.to(COMPLEX), x.to(dtype=FLOAT)),
        lambda x: (x.type(torch.HalfTensor), x.type("torch.DoubleTensor"), x.type(torch.int8)),
        lambda x: torch.full((2,), 1, dtype=FLOAT),
        lambda x: x.sum(dtype=FLOAT),
        lambda x: (torch.rand(2, generator=GENERATOR), torch.rand(2, generator=GENERATOR)),
        lambda x: (x * (1 + 2j), x * float("inf"), x[..., None, 1:2]),
    ],
)
def test_what_a_backend_gets_has_code_that_runs(function: Callable[..., Any]) -> None:
    def backend(module: torch.fx.GraphModule, examples: Sequence[torch.Tensor]) -> Callable[..., Any]:
        assert "apply(" not in module.code
        return module.forward

    compiled = supple.compile(function, backend=backend, fullgraph=True)
    GENERATOR.manual_seed(0)
    wanted = function(X)
    GENERATOR.manual_seed(0)
    torch.testing.assert_close(compiled(X), wanted, rtol=0, atol=0)

"""Decomposed graphs hold core operators only and compute what eager computes."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from supple.autograd.decompose import decompose
from supple.autograd.lowering import decompositions
from supple.autograd.trace import trace
from supple.ir.core_ops import CORE_OPS
from supple.ir.graph.interp import run
from supple.ir.graph.nodes import Graph, Input, Meta, Node, Var, map_arg, meta_of
from supple.ir.graph.spec import check_core
from supple.ir.ops import function_op, op_named
from supple.shapes.fake import meta_of as meta_of_tensor
from supple.shapes.infer import infer

Tensor = torch.Tensor


def captured(function: Callable[..., Any], *args: Tensor) -> Graph:
    """Return a graph of one node that calls a function; it returns a tensor."""
    inputs = tuple(Input(f"x{place}", meta_of_tensor(arg)) for place, arg in enumerate(args))
    op = function_op(f"tests.{id(function)}", function)
    node = Node("r", op, tuple(Var(item.name) for item in inputs))
    return Graph(inputs, (node,), (Var("r"),))


def rule_says(node: Node, metas: Mapping[str, Meta]) -> Meta:
    args = map_arg(lambda var: meta_of(var, metas), node.args)
    kwargs = map_arg(lambda var: meta_of(var, metas), dict(node.kwargs))
    return infer(node.op, args, kwargs)  # pyright: ignore[reportArgumentType]


#: Units in the last place that a chain of roundings may differ by.
TOLERANCE = {torch.float32: 2e-6, torch.float64: 1e-14, torch.bfloat16: 1.6e-2, torch.float16: 2e-3}


def check(function: Callable[..., Any], *args: Tensor, exact: bool = False) -> Graph:
    """Compare a decomposed function with eager; return the decomposed graph."""
    with torch.no_grad():
        wanted = function(*(arg.clone() for arg in args))
        traced = trace(captured(function, *args))
        core = decompose(traced.graph)
        got = run(core, (*args, *traced.convention.constants))[0]
    check_core(core, rule_says)
    assert isinstance(got, Tensor)
    assert got.stride() == wanted.stride()
    assert got.dtype == wanted.dtype
    tolerance = 0.0 if exact else TOLERANCE.get(wanted.dtype, 0.0)
    torch.testing.assert_close(got, wanted, rtol=tolerance, atol=tolerance, equal_nan=True)
    return core


FLOATS = [torch.float32, torch.bfloat16, torch.float16, torch.float64]
FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "sigmoid": torch.sigmoid,
    "silu": F.silu,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "relu": F.relu,
    "relu6": F.relu6,
    "hardtanh": lambda x: F.hardtanh(x, -0.5, 0.7),
    "hardswish": F.hardswish,
    "hardsigmoid": F.hardsigmoid,
    "leaky_relu": lambda x: F.leaky_relu(x, 0.1),
    "elu": F.elu,
    "selu": F.selu,
    "celu": lambda x: F.celu(x, 0.7),
    "softplus": lambda x: F.softplus(x, 2, 3),
    "mish": F.mish,
    "threshold": lambda x: F.threshold(x, 0.1, 5.0),
    "glu": F.glu,
    "logsigmoid": F.logsigmoid,
    "tanhshrink": F.tanhshrink,
    "softsign": F.softsign,
    "clamp": lambda x: x.clamp(-0.3, 0.4),
    "clamp_min": lambda x: x.clamp_min(0.1),
    "clamp_max": lambda x: x.clamp_max(0.1),
    "pow_2": lambda x: x**2,
    "pow_3": lambda x: x**3,
    "pow_minus_2": lambda x: x**-2,
    "pow_half": lambda x: x.abs() ** 0.5,
    "pow_rsqrt": lambda x: x.abs() ** -0.5,
    "pow_any": lambda x: x.abs() ** 1.7,
    "pow_0": lambda x: x**0,
    "pow_1": lambda x: x**1,
    "pow_of_number": lambda x: 2.5**x,
    "rsub": lambda x: 1.5 - x,
    "reciprocal": lambda x: 2 / x,
    "floor_div": lambda x: x // 0.3,
    "mod": lambda x: x % 0.7,
    "mod_of_number": lambda x: 3.0 % x,
    "fmod": lambda x: torch.fmod(x, 0.7),
    "add_number": lambda x: x + 0.1,
    "mul_number": lambda x: x * 0.1,
    "add_alpha": lambda x: torch.add(x, x, alpha=0.3),
    "sub_alpha": lambda x: torch.sub(x, 1.5, alpha=2),
    "compare": lambda x: x > 0.1,
    "isfinite": torch.isfinite,
    "logical": lambda x: torch.logical_and(x, x > 0),
    "frac": torch.frac,
    "round": torch.round,
    "square": torch.square,
    "lerp": lambda x: torch.lerp(x, x * 2, 0.7),
    "lerp_tensor": lambda x: torch.lerp(x, x * 2, x.abs()),
    "addcmul": lambda x: torch.addcmul(x, x, x, value=0.3),
    "addcdiv": lambda x: torch.addcdiv(x, x, x + 3, value=0.3),
    "masked_fill": lambda x: x.masked_fill(x > 0, -1e4),
    "where": lambda x: torch.where(x > 0, x, 0.5),
    "where_numbers": lambda x: torch.where(x > 0, 1.0, 0.0),
    "softmax": lambda x: x.softmax(-1),
    "softmax_0": lambda x: x.softmax(0),
    "softmax_f32": lambda x: F.softmax(x, -1, dtype=torch.float32),
    "safe_softmax": lambda x: torch.ops.aten._safe_softmax(x.masked_fill(x[:, :1] > 0, -torch.inf), 1),
    "unsafe_split": lambda x: torch.unsafe_split(x, 3, -1)[1] + 1,
    "log_softmax": lambda x: x.log_softmax(-1),
    "logsumexp": lambda x: torch.logsumexp(x, (0, 2)),
    "layer_norm": lambda x: F.layer_norm(x, x.shape[-1:]),
    "layer_norm_affine": lambda x: F.layer_norm(x, x.shape[-2:], x[0] + 1, x[1]),
    "rms_norm": lambda x: F.rms_norm(x, x.shape[-1:], x[0, 0] + 1),
    "group_norm": lambda x: F.group_norm(x, 2, x[0, :, 0] + 1, x[0, :, 1]),
    "batch_norm": lambda x: F.batch_norm(x, x[0, :, 0], x[0, :, 1].abs() + 1, x[0, :, 2], x[0, :, 3]),
    "batch_norm_bare": lambda x: F.batch_norm(x, x[0, :, 0], x[0, :, 1].abs() + 1),
    "sum": torch.sum,
    "sum_dims": lambda x: x.sum((0, -1)),
    "sum_f64": lambda x: x.sum(-1, dtype=torch.float64),
    "mean": torch.mean,
    "mean_dim": lambda x: x.mean(-1, keepdim=True),
    "var": torch.var,
    "var_dim": lambda x: x.var(-1, unbiased=False),
    "std_dim": lambda x: x.std(1, keepdim=True),
    "var_mean": lambda x: torch.var_mean(x, -1)[1],
    "norm": lambda x: x.norm(dim=-1),
    "norm_1": lambda x: torch.linalg.vector_norm(x, 1, dim=0),
    "norm_inf": lambda x: torch.linalg.vector_norm(x, float("inf")),
    "normalize": lambda x: F.normalize(x, dim=-1),
    "amax": lambda x: x.amax((0, 1)),
    "max": torch.max,
    "max_dim": lambda x: x.max(-1)[0],
    "max_place": lambda x: x.max(1)[1],
    "argmin": lambda x: x.argmin(-1),
    "argmax_all": torch.argmax,
    "any": lambda x: (x > 1).any(-1),
    "all": torch.all,
    "prod": lambda x: x.prod(-1),
    "prod_all": lambda x: x[0].prod(),
    "transpose": lambda x: x.transpose(0, -1) + 1,
    "permute": lambda x: x.permute(2, 0, 1).exp(),
    "reshape": lambda x: (x + 1).transpose(0, 1).reshape(-1),
    "slice": lambda x: x[1:, ::2] * 2,
    "select": lambda x: x[-1] * 2,
    "unbind": lambda x: x.unbind(1)[1] + 1,
    "split": lambda x: x.split(3, -1)[1] + 1,
    "chunk": lambda x: x.chunk(2, 1)[0] + 1,
    "cat": lambda x: torch.cat([x, x + 1], -2),
    "cat_empty": lambda x: torch.cat([x.new_zeros(0), x]),
    "stack": lambda x: torch.stack([x, x], 1),
    "repeat": lambda x: x.repeat(2, 1, 3),
    "repeat_new": lambda x: x.repeat(2, 1, 1, 1),
    "repeat_interleave": lambda x: x.repeat_interleave(2, 1),
    "roll": lambda x: x.roll((1, 2), (0, -1)),
    "roll_flat": lambda x: x.roll(3),
    "flip": lambda x: x.flip(0, -1),
    "pad": lambda x: F.pad(x, (1, 2, 0, 1), value=0.1),
    "tril": torch.tril,
    "triu": lambda x: x.triu(1),
    "diagonal": lambda x: x.diagonal(0, 1, 2) + 1,
    "expand": lambda x: x[:, :1].expand(2, 4, 6) + 1,
    "squeeze": lambda x: x[:1].squeeze() + 1,
    "movedim": lambda x: x.movedim(0, -1) + 1,
    "zeros_like": lambda x: torch.zeros_like(x) + x,
    "full_like": lambda x: torch.full_like(x, 0.3),
    "new_ones": lambda x: x.new_ones(3),
    "arange": lambda x: torch.arange(6, dtype=x.dtype) * x,
    "eye": lambda x: torch.eye(4, 6, dtype=x.dtype) + x,
    "to_int": lambda x: (x * 10).to(torch.int32),
    "to_f64": lambda x: x.double() + 1,
    "mixed": lambda x: x + x.to(torch.bfloat16),
    "mse": lambda x: F.mse_loss(x, x * 2),
    "mse_none": lambda x: F.mse_loss(x, x * 2, reduction="none"),
    "smooth_l1": lambda x: F.smooth_l1_loss(x, x * 2, beta=0.5),
    "index": lambda x: x[torch.tensor([0, 1, 0])],
    "index_two": lambda x: x[:, torch.tensor([[0], [1]]), torch.tensor([2, 3])],
    "index_select": lambda x: x.index_select(-1, torch.tensor([1, 1, 0])),
    "gather": lambda x: x.gather(-1, torch.zeros(2, 4, 2, dtype=torch.int64)),
    "embedding": lambda x: F.embedding(torch.tensor([[1, 0]]), x[0]),
    "cross_entropy": lambda x: F.cross_entropy(x[0], torch.tensor([0, 1, -100, 3])),
    "cross_entropy_sum": lambda x: F.cross_entropy(x[0], torch.tensor([0, 1, 2, 3]), reduction="sum"),
    "cross_entropy_weight": lambda x: F.cross_entropy(x[0], torch.tensor([0, 1, 2, 3]), weight=x[1, 0].abs()),
    "nll_none": lambda x: F.nll_loss(x[0], torch.tensor([0, 1, 2, 3]), reduction="none"),
    "linear": lambda x: F.linear(x, x[0], x[0, :, 0]),
    "addmm": lambda x: torch.addmm(x[0, 0, :4], x[0], x[1].t(), beta=0.5, alpha=2),
    "in_place": lambda x: x.clone().mul_(2).add_(1),
    "write_slice": lambda x: x.clone().index_fill_(0, torch.tensor([0]), 1.0),
}


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_decomposed_floats_are_what_eager_computes(name: str, dtype: torch.dtype) -> None:
    values = torch.randn(2, 4, 6).to(dtype)
    check(FUNCTIONS[name], values)


INTEGERS = (
    "relu clamp pow_2 pow_0 rsub floor_div mod add_number mul_number compare isfinite logical square where "
    "sum sum_dims amax max max_dim argmin any all prod transpose reshape slice cat stack repeat roll flip "
    "pad tril zeros_like to_int to_f64 mixed index gather sigmoid round reciprocal frac"
).split()


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.uint8], ids=str)
@pytest.mark.parametrize("name", [name for name in INTEGERS if name != "frac"])
def test_decomposed_integers_are_what_eager_computes(name: str, dtype: torch.dtype) -> None:
    values = torch.randint(1, 9, (2, 4, 6)).to(dtype)
    check(FUNCTIONS[name], values)


@pytest.mark.parametrize(
    "name", ["softmax", "clamp", "relu", "silu", "amax", "sigmoid", "compare", "pow_any"]
)
def test_infinities_and_nan_come_out_as_in_eager(name: str) -> None:
    values = torch.tensor([[[0.0, float("inf"), -float("inf"), float("nan"), 1e30, -1e30]]])
    check(FUNCTIONS[name], values)


@pytest.mark.parametrize("name", ["softmax", "layer_norm", "sum", "mean", "gelu", "add_number", "pow_2"])
def test_layouts_of_results_are_those_of_eager(name: str) -> None:
    for tensor in (
        torch.randn(6, 4, 2).permute(2, 1, 0),
        torch.randn(2, 8, 6)[:, ::2],
        torch.randn(2, 1, 6).expand(2, 4, 6),
    ):
        check(FUNCTIONS[name], tensor)


def test_channels_last_survives_norms() -> None:
    image = torch.randn(2, 4, 3, 5).contiguous(memory_format=torch.channels_last)
    check(lambda x: F.group_norm(x, 2), image)
    check(lambda x: F.batch_norm(x, x.new_zeros(4), x.new_ones(4)), image)


def test_rounding_happens_once_per_operator() -> None:
    values = torch.randn(1000, 7).to(torch.bfloat16)
    core = check(lambda x: F.silu(x), values)
    casts = [node for node in core.nodes if node.op.name == "aten._to_copy.default"]
    assert len(casts) == 2


@pytest.mark.parametrize(
    "name", ["add_number", "mul_number", "rsub", "mod", "fmod", "pow_any", "pow_of_number", "floor_div"]
)
def test_numbers_beside_bf16_are_rounded_where_eager_rounds_them(name: str) -> None:
    check(FUNCTIONS[name], torch.randn(500, 3).to(torch.bfloat16), exact=True)


def test_every_core_operator_is_an_operator_of_torch() -> None:
    assert all(op_named(name).name == name for name in CORE_OPS)


def test_every_decomposed_operator_is_an_operator_of_torch() -> None:
    assert all(op_named(str(name)).name == name for name in decompositions)


def test_equal_outputs_do_not_share_memory() -> None:
    values = torch.randn(3)
    graph = trace(captured(lambda x: torch.stack([x, x]), values)).graph
    twice = Graph(graph.inputs, graph.nodes, (*graph.outputs, *graph.outputs))
    first, second = run(decompose(twice), [values])
    assert isinstance(first, Tensor)
    assert isinstance(second, Tensor)
    assert first.data_ptr() != second.data_ptr()


def test_a_copy_that_is_returned_is_a_copy() -> None:
    values = torch.randn(3)
    (result,) = run(decompose(trace(captured(lambda x: x.clone().view(3, 1), values)).graph), [values])
    assert isinstance(result, Tensor)
    assert result.data_ptr() != values.data_ptr()

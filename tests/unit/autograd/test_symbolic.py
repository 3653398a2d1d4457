"""Graphs with symbolic sizes: one functional graph serves every size, 0 and 1 included, as eager does."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import cast

import pytest
import torch
import torch.nn.functional as F

from supple.autograd import Split, bind, is_atomic, split
from supple.base.options import Options
from supple.expr import Expr, Symbol, const, evaluate
from supple.expr.real import Comparison, Real
from supple.ir.graph.interp import run
from supple.ir.graph.nodes import Graph, Input, Meta, Node, Var
from supple.ir.graph.spec import check_core
from supple.ir.meta import TensorMeta, contiguous_strides
from supple.ir.ops import function_op
from supple.runtime.undo import Ways
from supple.shapes.env import ShapeEnv, using
from supple.shapes.fake import meta_of
from supple.torch_private import VERSION

Tensor = torch.Tensor
Program = Callable[..., object]
Make = Callable[[int], list[object]]
HINT = 6
SIZES = (0, 1, 2, 5, 8)


def rows(n: int) -> list[object]:
    return [torch.randn(n, 4)]


def columns(n: int) -> list[object]:
    return [torch.randn(4, n)]


def square(n: int) -> list[object]:
    return [torch.randn(n, n + 2)]


def pair(n: int) -> list[object]:
    return [torch.randn(n, 4), torch.randn(n, 4)]


def blocks(n: int) -> list[object]:
    """(batch, length, 8): both vary."""
    return [torch.randn(n, n + 1, 8)]


def images(n: int) -> list[object]:
    return [torch.randn(n, 4, 6, 6)]


def signal(n: int) -> list[object]:
    return [torch.randn(2, 4, n + 4)]


def turned(n: int) -> list[object]:
    return [torch.randn(4, n).t()]


def counted(n: int) -> list[object]:
    return [torch.randn(3, 4), n]


def numbered(n: int) -> list[object]:
    return [torch.arange(12).view(3, 4), n]


def cube(n: int) -> Tensor:
    return torch.randn(2, n, 8)


def scaled(n: int) -> list[object]:
    return [torch.randn(n, 4), n / 4 + 0.3]


def tokens(n: int) -> list[object]:
    return [torch.randint(0, 10, (2, n))]


def given(make: Make) -> tuple[Graph, ShapeEnv, list[object]]:
    """Return inputs with a symbol for each size and number that varies."""
    env = ShapeEnv()
    now, other = make(HINT), make(HINT + 1)
    numbers: list[Input] = []
    tensors: list[Input] = []

    def varying(value: int, was: int) -> Expr:
        if value == was:
            return const(value)
        made = env.create(f"size {len(env.symbols)}", value)
        numbers.append(Input(made.name, made))
        return made

    for place, (item, was) in enumerate(zip(now, other, strict=True)):
        meta: Meta
        if isinstance(item, Tensor):
            assert isinstance(was, Tensor)
            known = meta_of(item)
            sizes = tuple(map(varying, item.shape, was.shape))
            strides = contiguous_strides(sizes)
            if not item.is_contiguous():
                strides = contiguous_strides(sizes[::-1])[::-1]
            meta = TensorMeta(sizes, strides, known.dtype)
            tensors.append(Input(f"x{place}", meta))
        elif isinstance(item, int):
            varying(item, cast("int", was))
        else:
            real = env.create_float(f"float {place}", cast("float", item))
            numbers.append(Input(str(real.args[0]), real))
    return Graph((*numbers, *tensors), (), ()), env, now


def passed(graph: Graph, values: Sequence[object]) -> list[object]:
    """Return what the inputs of a graph get for the arguments of a program."""
    tensors = [value for value in values if isinstance(value, Tensor)]
    numbers: list[object] = []
    for value in values:
        if not isinstance(value, Tensor):
            numbers.append(value)
            continue
        meta = graph.inputs[len(graph.inputs) - len(tensors) + [id(t) for t in tensors].index(id(value))].meta
        assert isinstance(meta, TensorMeta)
        numbers += [n for n, e in zip(value.shape, meta.sizes, strict=True) if isinstance(e, Symbol)]
    return [*numbers, *tensors]


def flat(result: object) -> tuple[object, ...]:
    return tuple(cast("Sequence[object]", result)) if isinstance(result, list | tuple) else (result,)


def captured(program: Program, make: Make) -> tuple[Graph, ShapeEnv]:
    """Return a graph of one node that calls a program."""
    graph, env, values = given(make)
    tensors = iter([item for item in graph.inputs if isinstance(item.meta, TensorMeta)])
    shown = {s for item in graph.inputs if isinstance(item.meta, TensorMeta) for s in item.meta.sizes}
    numbers = iter(
        [
            item
            for item in graph.inputs
            if isinstance(item.meta, Real) or (isinstance(item.meta, Symbol) and item.meta not in shown)
        ]
    )
    args = tuple(Var(next(tensors if isinstance(value, Tensor) else numbers).name) for value in values)
    count = len(flat(program(*values)))
    op = function_op(f"symbolic.{id(program)}", lambda *args: flat(program(*args)))
    node = Node("r", op, args)
    return Graph(graph.inputs, (node,), tuple(Var("r", (place,)) for place in range(count))), env


def eager(program: Program, values: Sequence[object]) -> tuple[object, ...] | None:
    """Return what a program gives, None where eager refuses these sizes."""
    try:
        return flat(program(*values))
    except (RuntimeError, IndexError, ValueError, ZeroDivisionError):
        return None


def same_layout(left: Tensor, right: Tensor) -> bool:
    """Compare strides where they can be seen: not of empty tensors, nor of dimensions of size 1."""
    steps = zip(left.shape, left.stride(), right.stride(), strict=True)
    return not left.numel() or all(size == 1 or one == other for size, one, other in steps)


def storages(values: Sequence[object]) -> list[int]:
    """Return, for each tensor with elements, the place of the first whose memory it shares."""
    keys = [v.untyped_storage().data_ptr() if isinstance(v, Tensor) and v.numel() else -1 for v in values]
    return [keys.index(key) for key in keys]


LIMITS = [Real("float", (sign * torch.finfo(torch.float32).max,)) for sign in (1, -1)]


def holds(condition: Expr | Comparison, sizes: dict[str, int]) -> bool:
    if not isinstance(condition, Expr):
        assert condition.right in LIMITS, f"{condition} says more of a float than that it is within a type"
        return True
    return bool(evaluate(condition, sizes))


def check(program: Program, make: Make, served: Sequence[int] = SIZES) -> Split:
    """Compare one graph with eager at several sizes; `served`: those for which its guards hold."""
    graph, env = captured(program, make)
    with using(env), torch.no_grad():
        found = split(graph, Options())
    check_core(found.forward)
    whole = bind(found.convention, lambda *values: run(found.forward, values))
    call = Ways(partial(is_atomic, found.convention), whole, lambda *values: run(graph, values)).function(
        is_asked=True
    )
    reached: list[int] = []
    for size in (*SIZES, HINT):
        torch.manual_seed(size)
        theirs = make(size)
        mine = [item.clone() if isinstance(item, Tensor) else item for item in theirs]
        inputs = passed(graph, mine)
        sizes = {item.name: n for item, n in zip(graph.inputs, inputs, strict=True) if isinstance(n, int)}
        with torch.no_grad():
            wanted = eager(program, theirs)
        if wanted is None:
            continue
        if not all(holds(guard.condition, sizes) for guard in env.guards):
            continue
        reached.append(size)
        with torch.no_grad():
            got = call(*inputs)
        compare(wanted, got)
        compare(theirs, mine)
        # A copy into another layout is the tensor itself where eager finds a size of 1.
        if size > 1:
            assert storages([*mine, *got]) == storages([*theirs, *wanted])
    assert reached == [*served, HINT], [str(guard.condition) for guard in env.guards]
    return found


def compare(wanted: Sequence[object], got: Sequence[object]) -> None:
    assert len(wanted) == len(got)
    for left, right in zip(wanted, got, strict=True):
        if not isinstance(left, Tensor):
            assert left == pytest.approx(right)
            assert type(left) is type(right)
            continue
        assert isinstance(right, Tensor)
        torch.testing.assert_close(right, left, equal_nan=True, rtol=1e-5, atol=1e-5)
        assert same_layout(left, right), f"{left.stride()} {right.stride()}"


W = torch.randn(4, 8)
V = torch.randn(8, 8) / 3
TABLE = torch.randn(10, 8)
POSITIONS = torch.randn(16, 8)
KERNEL = torch.randn(3, 4, 3)


def attention(x: Tensor) -> Tensor:
    """Self-attention with a causal mask made from the length."""
    batch, length, _ = x.shape
    q, k, v = (F.linear(x, V * scale).view(batch, length, 2, 4).transpose(1, 2) for scale in (1.0, 0.5, 2.0))
    scores = q @ k.transpose(-2, -1) / 2.0
    hidden = torch.ones(length, length, dtype=torch.bool).triu(1)
    scores = scores.masked_fill(hidden, float("-inf"))
    return (scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, 8)


def causal(x: Tensor) -> Tensor:
    q = x.view(*x.shape[:2], 2, 4).transpose(1, 2)
    return F.scaled_dot_product_attention(q, q, q, is_causal=True)


def mlp(x: Tensor) -> Tensor:
    return F.linear(F.gelu(F.linear(x, W.t())), W)


def embedded(ids: Tensor) -> Tensor:
    return F.embedding(ids, TABLE) + POSITIONS[: ids.shape[1]]


def batch_norm(x: Tensor) -> Tensor:
    return F.batch_norm(x, torch.zeros(4), torch.ones(4), torch.arange(4.0), torch.ones(4))


def trained_norm(x: Tensor) -> tuple[Tensor, ...]:
    mean, variance = torch.zeros(4), torch.ones(4)
    return F.batch_norm(x, mean, variance, training=True), mean, variance


def writes_views(x: Tensor) -> tuple[Tensor, Tensor]:
    y = x * 2
    y[:, 1] += 2
    y[1:].mul_(3)
    y[..., ::2].sub_(1)
    y.t()[0].fill_(5)
    return y, y.sum()


def writes_beside(x: Tensor) -> Tensor:
    """Operands in the memory that is written, but other columns."""
    x[:, 1].add_(x[:, 0])
    x[:, ::2].mul_(x[:, 1::2])
    x[:, 2:].sub_(x[:, :2])
    return x * 1


def writes_input(x: Tensor) -> Tensor:
    x[1:] += 1
    return x.sum(0)


def chunks(x: Tensor) -> tuple[Tensor, ...]:
    return tuple(part + 1 for part in x.chunk(2, 1))


def pooled(x: Tensor) -> Tensor:
    return x.sum(1) / x.shape[1]


def rotary(x: Tensor) -> Tensor:
    angles = torch.arange(x.shape[1]).unsqueeze(1) * torch.ones(4)
    first, second = x[..., :4], x[..., 4:]
    return torch.cat([first * angles.cos() - second * angles.sin(), first * angles.sin() + second], -1)


def scattered(x: Tensor) -> Tensor:
    return torch.zeros_like(x).scatter(1, torch.zeros(x.shape[0], 1, dtype=torch.int64), 1.0)


def distances(x: Tensor) -> Tensor:
    places = torch.arange(x.shape[0])
    return places[None] - places[:, None]


def rms_norm(x: Tensor) -> Tensor:
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)


PROGRAMS: dict[str, tuple[Program, Make]] = {
    "attention": (attention, blocks),
    "causal_attention": (causal, blocks),
    "layer_norm": (lambda x: F.layer_norm(x, (8,)), blocks),
    "layer_norm_dynamic": (lambda x: F.layer_norm(x, x.shape[1:]), square),
    "rms_norm": (rms_norm, square),
    "group_norm": (lambda x: F.group_norm(x, 2), images),
    "batch_norm": (batch_norm, images),
    "softmax": (lambda x: x.softmax(0), rows),
    "math_attention": (lambda x: F.scaled_dot_product_attention(x, x, x), blocks),
    "remainder_of_int": (lambda i, n: i % (n + 1), lambda n: [torch.arange(6), n]),
    "log_softmax": (lambda x: x.log_softmax(-1), square),
    "logsumexp": (lambda x: x.logsumexp(1), columns),
    "mlp": (mlp, rows),
    "linear": (lambda x: F.linear(x, V), blocks),
    "matmul": (lambda x: x @ x.t(), square),
    "einsum": (lambda x, y: torch.einsum("ni,nj->ij", x, y), pair),
    "bmm": (lambda x: x @ x.transpose(1, 2), blocks),
    "add": (lambda x, y: x + y, pair),
    "broadcast": (lambda x: x + torch.ones(4), rows),
    "broadcast_row": (lambda x: x - x.sum(0, keepdim=True), rows),
    "where": (lambda x, y: torch.where(x > 0, x, y), pair),
    "compare": (lambda x: x > 0.1, rows),
    "cast": (lambda x: (x * 10).to(torch.int32), rows),
    "masked_fill": (lambda x: x.masked_fill(x > 0, -1.0), rows),
    "mean": (torch.mean, square),
    "mean_dim": (lambda x: x.mean(0), rows),
    "mean_last": (lambda x: x.mean(-1, keepdim=True), square),
    "mean_by_size": (pooled, blocks),
    "var": (lambda x: x.var(0), rows),
    "std_all": (torch.std, square),
    "var_mean": (lambda x: torch.var_mean(x, 1, unbiased=False), square),
    "norm": (lambda x: x.norm(dim=0), rows),
    "amax": (lambda x: x.amax(1), square),
    "max_dim": (lambda x: x.max(1), square),
    "argmax": (lambda x: x.argmax(1), square),
    "any": (lambda x: (x > 0).any(0), rows),
    "prod": (lambda x: x.prod(0), rows),
    "cumsum": (lambda x: x.cumsum(0), rows),
    "topk": (lambda x: x.topk(2, 1), square),
    "sort": (lambda x: x.sort(0), rows),
    "gather": (lambda x: x.gather(1, torch.zeros_like(x, dtype=torch.int64)), rows),
    "index_select": (lambda x: x.index_select(1, torch.tensor([2, 0])), rows),
    "index": (lambda x: x[:, torch.tensor([2, 0, 1])], rows),
    "embedding": (embedded, tokens),
    "one_hot_like": (lambda i: (i.unsqueeze(-1) == torch.arange(10)).float(), tokens),
    "view": (lambda x: x.view(-1) + 1, rows),
    "view_split": (lambda x: x.view(x.shape[0], 2, 2).sum(-1), rows),
    "reshape": (lambda x: x.t().reshape(-1), rows),
    "flatten": (lambda x: x.flatten(1), images),
    "unflatten": (lambda x: x.unflatten(1, (2, 2)) * 2, rows),
    "permute": (lambda x: x.permute(2, 0, 1).exp(), blocks),
    "transpose_contiguous": (lambda x: x.transpose(0, 1).contiguous(), blocks),
    "unsqueeze_expand": (lambda x: x.unsqueeze(1).expand(-1, 3, -1) + 1, rows),
    "expand_to_size": (lambda x: torch.ones(1, 4).expand(x.shape[0], 4) * 2, rows),
    "repeat": (lambda x: x.repeat(2, 1), rows),
    "repeat_by_size": (lambda x: torch.ones(2).repeat(x.shape[0]), rows),
    "squeeze": (lambda x: x[:, :1].squeeze(1) + 1, rows),
    "cat": (lambda x: torch.cat([x, x * 2]), rows),
    "cat_with_fixed": (lambda x: torch.cat([x, torch.ones(3, 4)]), rows),
    "stack": (lambda x, y: torch.stack([x, y], 1), pair),
    "slice_end": (lambda x: x[1:] * 2, rows),
    "slice_last": (lambda x: x[-2:] * 2, rows),
    "slice_middle": (lambda x: x[2:4] + 1, rows),
    "slice_step": (lambda x: x[::2] + 1, rows),
    "slice_by_size": (lambda x: POSITIONS[: x.shape[0]] + 1, rows),
    "select_last": (lambda x: x[:, -1] + 1, rows),
    "chunk": (chunks, rows),
    "split": (lambda x: [part.sum() for part in x.split([1, 3], 1)], rows),
    "pad": (lambda x: F.pad(x, (1, 2, 0, 3), value=0.5), rows),
    "pad_dynamic": (lambda x: F.pad(x, (0, x.shape[0])), rows),
    "roll": (lambda x: x.roll(1, 0), rows),
    "flip": (lambda x: x.flip(0), rows),
    "tril": (torch.tril, square),
    "triu": (lambda x: x.triu(1), square),
    "diagonal": (lambda x: x.diagonal() * 2, square),
    "eye": (lambda x: torch.eye(x.shape[0]) * 2, rows),
    "arange": (lambda x: torch.arange(x.shape[0]) * 2, rows),
    "arange_back": (lambda x: torch.arange(x.shape[0] - 1, -1, -1), rows),
    "zeros": (lambda x: torch.zeros(x.shape[0], 3) + 1, rows),
    "full_size": (lambda x: torch.full((2,), x.shape[0]) * 2, rows),
    "new_ones": (lambda x: x.new_ones(x.shape[0] * 2), rows),
    "conv1d": (lambda x: F.conv1d(x, KERNEL, padding=1), signal),
    "conv1d_stride": (lambda x: F.conv1d(x, KERNEL, stride=2), signal),
    "max_pool2d": (lambda x: F.max_pool2d(x, 2), images),
    "avg_pool2d": (lambda x: F.avg_pool2d(x, 2), images),
    "unfold": (lambda x: x.unfold(2, 3, 1) * 2, signal),
    "rotary": (rotary, blocks),
    "glu": (F.glu, rows),
    "silu_half": (lambda x: F.silu(x.to(torch.bfloat16)).float(), rows),
    "turned": (lambda x: x + 1, turned),
    "turned_softmax": (lambda x: x.softmax(-1), turned),
    "writes_views": (writes_views, rows),
    "writes_beside": (writes_beside, rows),
    "writes_input": (writes_input, rows),
    "returns_input": (lambda x: (x, x + 1), rows),
    "returns_views_of_input": (lambda x: (x[1:], x.t(), x.view(-1)), rows),
    "returns_views_of_result": (lambda x: ((y := x * 2), y[1:], y.t()), rows),
    "returns_size": (lambda x: (x * 2, x.shape[0] + 1, x.shape[0] / 2), rows),
    "int_input": (lambda x, n: x * n + n, counted),
    "int_input_size": (lambda x, n: torch.ones(n, 2) * x[0, 0], counted),
    "int_input_slice": (lambda x, n: POSITIONS[:n] + x[0, 0], counted),
    "float_input": (lambda x, f: x * f + f, scaled),
    "float_of_size": (lambda x: x * (x.shape[0] / 3), rows),
    "float_of_size_half": (lambda x: x.to(torch.bfloat16) + x.shape[0] / 3, rows),
    "power_of_size": (lambda x: x.abs() ** x.shape[0], rows),
    "lerp_float": (lambda x, f: torch.lerp(x, x * 2, f), scaled),
    "elu_float": (lambda x, f: F.elu(x, f), scaled),
    "celu_float": (lambda x, f: F.celu(x, f), scaled),
    "add_alpha_float": (lambda x, f: torch.add(x, x, alpha=f), scaled),
    "clamp_float": (lambda x, f: x.clamp(-f, f), scaled),
    "baddbmm_floats": (lambda x, f: torch.baddbmm(x[:, None], x[:, :1, None], x[:, None], beta=f), scaled),
    "addcmul_int": (lambda x, n: torch.addcmul(x, x, x, value=n), counted),
    "clamp_size": (lambda x, n: x.clamp(max=n / 8), counted),
    "power_of_int": (lambda x, n: n**x, counted),
    "floor_division": (lambda i, n: i // (n + 1), numbered),
    "truncated_division": (lambda i, n: torch.div(i, n + 1, rounding_mode="trunc"), numbered),
    "shift": (lambda i, n: torch.bitwise_left_shift(i, n), numbered),
    "int_plus_float": (lambda i, n: i + n / 2, numbered),
    "compare_int": (lambda i, n: i == n, numbered),
    "bool_times_int": (lambda x, n: (x > 0) * n, counted),
    "where_int": (lambda x, n: torch.where(x > 0, n, x), counted),
    "arange_float": (lambda x, n: torch.arange(n, dtype=torch.float32) / (n + 1), counted),
    "arange_odd": (lambda x, n: torch.arange(1, 2 * n + 1, 2), counted),
    "new_full": (lambda x, n: x.new_full((n, 2), n), counted),
    "repeat_int": (lambda x, n: x[:2].repeat(n, 1), counted),
    "roll_int": (lambda x, n: x.roll(n, 0), counted),
    "tril_int": (lambda x, n: x.tril(n - 3), counted),
    "pad_front": (lambda x, n: F.pad(x, (n, 1)), counted),
    "halves": (lambda x: x[: x.shape[0] // 2] + x[x.shape[0] - x.shape[0] // 2 :], rows),
    "pairs": (lambda x: x[: x.shape[0] // 2 * 2].view(-1, 2, 4).sum(1), rows),
    "split_at": (lambda x, n: [part.sum() for part in x.split([n, 10 - n])], lambda n: [torch.randn(10), n]),
    "swap": (lambda x: torch.cat([x[1:], x[:1]]), rows),
    "scatter": (scattered, rows),
    "relative": (distances, rows),
    "cache": (lambda k, q: (q @ torch.cat([k, q], 1).mT).softmax(-1), lambda n: [cube(n), cube(1)]),
    "pairwise": (lambda x, y: x[:, None] + y[None], lambda n: [torch.randn(n, 4), torch.randn(n + 1, 4)]),
    "normalize": (lambda x: F.normalize(x, dim=0), rows),
    "standardized": (lambda x: (x - x.mean(0)) / (x.std(0, correction=0) + 1e-5), rows),
    "repeat_interleave_fixed": (lambda x: x.repeat_interleave(3, 0), rows),
    "permuted_view": (lambda x: x.permute(1, 0, 2).reshape(x.shape[1], x.shape[0] * 8) + 1, blocks),
    "half_mean": (lambda x: x.bfloat16().mean(0).float(), rows),
    "instance_norm": (lambda x: F.instance_norm(x), signal),
    "lstm_gates": (lambda x: [g.tanh() for g in torch.unsafe_split(x, 2, 1)], rows),
    "mse": (lambda x, y: F.mse_loss(x, y), pair),
    "cross_entropy": (lambda x: F.cross_entropy(x, torch.zeros(x.shape[0], dtype=torch.int64)), rows),
}


OTHER_LAYOUT: dict[str, tuple[int, ...]] = {"unfold": (0,)}
"""Sizes at which eager orders the dimensions of a result otherwise in memory: another graph serves them."""


def order_in_memory(program: Program, make: Make, size: int) -> list[list[int]]:
    """Return the dimensions of each result by stride."""
    results = [value for value in flat(program(*make(size))) if isinstance(value, Tensor)]
    return [sorted(range(one.dim()), key=one.stride) for one in results]


PRODUCTS_OF_TORCH = ("attention", "math_attention", "cache")
"""Programs that multiply batches of matrices by a function of torch itself."""


@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
@pytest.mark.parametrize("name", PROGRAMS)
def test_one_graph_gives_what_eager_gives_at_every_size(name: str) -> None:
    # DYN12 SYM19
    if name in PRODUCTS_OF_TORCH and VERSION < (2, 13):
        pytest.xfail("torch's own matmul and linear ask for plain sizes; supple multiplies for programs")
    program, make = PROGRAMS[name]
    others = OTHER_LAYOUT.get(name, ())
    for size in others:
        assert order_in_memory(program, make, size) != order_in_memory(program, make, HINT)
    valid = [size for size in SIZES if eager(program, make(size)) is not None]
    check(program, make, [size for size in valid if size not in others])


def sized_by_data(x: Tensor) -> Tensor:
    count = (x > 0).sum().item()
    return torch.arange(count, dtype=torch.float32) * 2


def checked_size(x: Tensor) -> Tensor:
    count = (x > 0).sum().item()
    torch._check(count <= 16)
    return POSITIONS[:count] + count


DATA: dict[str, tuple[Program, Make]] = {
    "nonzero": (torch.nonzero, rows),
    "where_positions": (lambda x: torch.where(x > 0), rows),
    "masked_select": (lambda x: x.masked_select(x > 0) * 2, rows),
    "mask_index": (lambda x: x[x > 0].sum(), rows),
    "mask_rows": (lambda x: x[x[:, 0] > 0] @ torch.ones(4), rows),
    "unique": (lambda i: i.unique() + 1, tokens),
    "item_float": (lambda x: x * x.sum().item(), rows),
    "item_int": (lambda i: i * i.sum().item() + i.numel(), tokens),
    "item_size": (sized_by_data, rows),
    "item_returned": (lambda x: ((x > 0).sum().item(), x.sum().item()), rows),
    "repeat_interleave": (lambda i: TABLE[0].repeat_interleave(i[0].sum() + torch.arange(8)), tokens),
    "checked_size": (checked_size, lambda n: [torch.randn(n % 5, 3)]),
}


@pytest.mark.parametrize("name", DATA)
def test_sizes_and_numbers_that_are_data_are_those_of_the_run(name: str) -> None:
    # DYN14 UNB01
    program, make = DATA[name]
    check(program, make)

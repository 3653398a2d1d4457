"""What is recorded once serves all sizes that its guards allow, 0 and 1 included; they ask for no more."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from supple.torch_private import VERSION
from tests.unit.shapes.symbolic import HINTS, Function, Shapes, assignments, check, eager, record

ROWS = {"x": "a b"}
BATCH = {"x": "a b 16"}
IMAGE = {"x": "a 3 b c"}


def heads(x: Tensor) -> Tensor:
    return x.view(x.shape[0], x.shape[1], 4, 4).transpose(1, 2)


def attention(x: Tensor, w: Tensor, out: Tensor) -> Tensor:
    b, t, c = x.shape
    q, k, v = map(heads, F.linear(x, w).split(16, dim=2))
    scores = (q @ k.transpose(-2, -1)) * 0.5
    mask = torch.tril(torch.ones(t, t)).view(1, 1, t, t)
    scores = scores.masked_fill(mask[:, :, :t, :t] == 0, float("-inf"))
    y = F.softmax(scores, -1) @ v
    return x + F.linear(y.transpose(1, 2).contiguous().view(b, t, c), out)


def fused_attention(x: Tensor, w: Tensor, out: Tensor) -> Tensor:
    q, k, v = map(heads, F.linear(x, w).split(16, dim=2))
    y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    return x + F.linear(y.transpose(1, 2).contiguous().view(x.shape), out)


def assigned(x: Tensor) -> Tensor:
    y = x.clone()
    y[:, 0] = 1.0
    y[1:] = x[1:] * 2
    return y


def rotated(x: Tensor) -> Tensor:
    angles = torch.outer(torch.arange(x.shape[2]).float(), torch.ones(8)).cos()
    return torch.cat([-x[..., 4:], x[..., :4]], -1) * angles


def with_past(x: Tensor, past: Tensor) -> Tensor:
    k = torch.cat([past, x], 2)
    return F.scaled_dot_product_attention(x, k, k)


def embedded(i: Tensor, w: Tensor, positions: Tensor) -> Tensor:
    return F.embedding(i, w) + F.embedding(torch.arange(i.shape[1]), positions)


PROGRAMS: dict[str, tuple[Shapes, Function]] = {
    # products
    "linear": ({"x": "a b 16", "w": "32 16", "bias": "32"}, F.linear),
    "linear_rows": ({"x": "a 16", "w": "32 16", "bias": "32"}, F.linear),
    "matmul": (BATCH, lambda x: x @ x.transpose(1, 2)),
    "matmul_heads": ({"x": "a 4 b 8"}, lambda x: x @ x.transpose(-1, -2)),
    "matmul_weight": ({"x": "a b 8", "w": "8 3"}, torch.matmul),
    "matmul_vector": ({"x": "a b 8", "w": "8"}, torch.matmul),
    "mm": ({"x": "a b", "y": "b 7"}, torch.mm),
    "mm_of_two_symbols": ({"x": "a b", "y": "d 7"}, torch.mm),
    "bmm": ({"x": "a b 8", "y": "a 8 c"}, torch.bmm),
    "baddbmm": ({"z": "1", "x": "a b 8", "y": "a 8 c"}, torch.baddbmm),
    "addmm": ({"z": "b", "x": "a 8", "y": "8 b"}, torch.addmm),
    "mv": (ROWS, lambda x: x.mv(x[0])),
    "dot": ({"x": "a"}, lambda x: x.dot(x)),
    "outer": ({"x": "a", "y": "b"}, torch.outer),
    "tensordot": ({"x": "a b", "y": "b 3"}, lambda x, y: torch.tensordot(x, y, 1)),
    "einsum": ({"x": "a b 8", "y": "8 3"}, lambda x, y: torch.einsum("btc,cd->btd", x, y)),
    "einsum_pairs": ({"x": "a b 8", "y": "a c 8"}, lambda x, y: torch.einsum("bic,bjc->bij", x, y)),
    "einsum_heads": ({"x": "a b 4 8"}, lambda x: torch.einsum("bqhd,bkhd->bhqk", x, x)),
    "einsum_outer": ({"x": "a", "y": "b"}, lambda x, y: torch.einsum("i,j->ij", x, y)),
    "attention": ({"x": "a b 16", "w": "48 16", "out": "16 16"}, attention),
    "fused_attention": ({"x": "a b 16", "w": "48 16", "out": "16 16"}, fused_attention),
    "attention_mask": (
        {"x": "a 4 b 4", "m": "b b"},
        lambda x, m: F.scaled_dot_product_attention(x, x, x, m),
    ),
    "attention_past": ({"x": "a 4 b 8", "past": "a 4 c 8"}, with_past),
    "rotary": ({"x": "a 4 b 8"}, rotated),
    "cdist": ({"x": "a 3", "y": "b 3"}, torch.cdist),
    # broadcasting
    "add_first": (BATCH, lambda x: x + x[0:1]),
    "add_first_column": (ROWS, lambda x: x + x[:, :1]),
    "add_last": (ROWS, lambda x: x + x[:, -1:]),
    "add_two": ({"x": "a 4", "y": "e 4"}, torch.add),
    "add_one": ({"x": "a 4", "y": "o 4"}, torch.add),
    "add_to_one": ({"x": "o 4", "y": "a 4"}, torch.add),
    "add_vector": ({"x": "a b", "y": "b"}, torch.add),
    "add_outer": ({"x": "a 1", "y": "b"}, torch.add),
    "add_constant_size": ({"x": "a b", "y": "8"}, torch.add),
    "differences": (ROWS, lambda x: x[:, 1:] - x[:, :-1]),
    "center": (ROWS, lambda x: x - x.mean(0, keepdim=True)),
    "meshgrid": ({"x": "a", "y": "b"}, lambda x, y: torch.meshgrid(x, y, indexing="ij")),
    "expand": ({"x": "1 a"}, lambda x: x.expand(5, -1)),
    "expand_size": ({"x": "a 1"}, lambda x: x.expand(-1, x.shape[0])),
    "expand_as": ({"x": "16", "y": "a b 16"}, lambda x, y: x.expand_as(y)),
    "expand_first": (ROWS, lambda x: x[:1].expand(x.shape[0], -1)),
    "add_in_place": (ROWS, lambda x: x.clone().add_(x[:1])),
    "copy_in_place": (ROWS, lambda x: torch.zeros_like(x).copy_(x[:, :1])),
    "assigned": (ROWS, assigned),
    "masked_fill": (ROWS, lambda x: x.masked_fill(x > 0, 0.0)),
    "where": (ROWS, lambda x: torch.where(x > 0, x, 0.0)),
    # slices
    "slice": (ROWS, lambda x: (x[2:], x[:3], x[-2:], x[:-5], x[1:-1], x[-3:-1], x[1:100], x[4:2])),
    "slice_steps": (ROWS, lambda x: (x[::2], x[1::3], x[:, 1:-1:2])),
    "slice_sizes": (ROWS, lambda x: (x[: x.shape[1]], x[x.shape[1] // 2 :], x[: x.shape[0] // 2])),
    "select_first": (ROWS, lambda x: x[0]),
    "select_last": (ROWS, lambda x: x[-1]),
    "select_two": (ROWS, lambda x: x[1, -2]),
    "select_size": (ROWS, lambda x: x.select(0, x.shape[0] - 1)),
    "narrow": (ROWS, lambda x: x.narrow(0, 0, x.shape[0] // 2)),
    "narrow_constant": (ROWS, lambda x: x.narrow(1, 1, 3)),
    "positions": ({"x": "a b 16", "p": "20 16"}, lambda x, p: x + p[: x.shape[1]]),
    "diagonal": (ROWS, lambda x: (x.diagonal(), x.diagonal(1), x.diagonal(-2))),
    "windows": (ROWS, lambda x: x.unfold(1, 3, 2)),
    # pieces
    "chunk": (ROWS, lambda x: x.chunk(2)),
    "chunk_three": (ROWS, lambda x: x.chunk(3, 1)),
    "chunk_constant": ({"x": "a 6"}, lambda x: x.chunk(3, 1)),
    "split": (ROWS, lambda x: x.split(4)),
    "split_into_one": (ROWS, lambda x: x.split(100)),
    "split_sizes": (ROWS, lambda x: x.split([1, x.shape[1] - 1], 1)),
    "tensor_split": (ROWS, lambda x: x.tensor_split(2)),
    "unbind": ({"x": "3 a"}, lambda x: x.unbind(0)),
    "unbind_symbol": ({"x": "a 3"}, lambda x: x.unbind(0)),
    # views
    "view_flat": (BATCH, lambda x: (x.view(-1), x.flatten(), x.flatten(0, 1), x.flatten(1))),
    "view_rows": (BATCH, lambda x: x.view(-1, 16)),
    "view_heads": (BATCH, heads),
    "view_batch": (BATCH, lambda x: x.reshape(x.shape[0], -1)),
    "view_pairs": ({"x": "a 4"}, lambda x: x.view(-1, 8)),
    "view_halves": (ROWS, lambda x: x.view(x.shape[0], 2, x.shape[1] // 2)),
    "unflatten": (BATCH, lambda x: (x.unflatten(2, (4, 4)), x.unflatten(-1, (-1, 2)))),
    "unflatten_symbol": (BATCH, lambda x: x.unflatten(1, (2, -1))),
    "reshape_transposed": (BATCH, lambda x: x.transpose(0, 1).reshape(-1, 16)),
    "view_of_ones": ({"x": "o b"}, lambda x: x.t().view(-1)),
    "permute": (BATCH, lambda x: (x.permute(2, 0, 1) + 1, x.movedim(0, -1))),
    "permute_twice": (BATCH, lambda x: (x.permute(1, 2, 0) * 2).permute(2, 0, 1)),
    "add_layouts": (BATCH, lambda x: x.transpose(0, 2) + x.transpose(0, 2).contiguous()),
    "clone": (BATCH, lambda x: (x.transpose(0, 1).clone(), x.transpose(0, 1).contiguous())),
    "squeeze_unit": (ROWS, lambda x: x.unsqueeze(1).squeeze(1)),
    "squeeze": (ROWS, lambda x: x.squeeze(0)),
    "squeeze_one": ({"x": "o 3"}, lambda x: x.squeeze(0)),
    "squeeze_all": ({"x": "1 a 1"}, torch.squeeze),
    "squeeze_in_place": (ROWS, lambda x: x.clone().squeeze_(0)),
    "unsqueeze_in_place": (ROWS, lambda x: x.clone().unsqueeze_(1)),
    "transpose_in_place": (ROWS, lambda x: x.clone().transpose_(0, 1)),
    # joining and copying
    "cat": (ROWS, lambda x: torch.cat([x, x], 1)),
    "cat_two": ({"x": "a 4", "y": "b 4"}, lambda x, y: torch.cat([x, y])),
    "cat_of_two_symbols": ({"x": "a 4", "y": "e 3"}, lambda x, y: torch.cat([x, y], 1)),
    "cat_vectors": ({"x": "a", "y": "b"}, lambda x, y: torch.cat([x, y])),
    "cat_with_empty": ({"x": "0", "y": "b 3"}, lambda x, y: torch.cat([x, y])),
    "stack": (ROWS, lambda x: (torch.stack([x, x], 1), torch.stack([x, x], -1))),
    "repeat": (ROWS, lambda x: (x.repeat(2, 3), x.repeat(x.shape[1], 1), x.tile(2))),
    "repeat_interleave": (ROWS, lambda x: x.repeat_interleave(2, 1)),
    "roll": (ROWS, lambda x: (x.roll(1, 0), x.roll(1), x.flip(0, 1))),
    "rot90": (ROWS, lambda x: (x.rot90(), x.rot90(2))),
    "pad": (ROWS, lambda x: F.pad(x, (1, 2))),
    "pad_negative": (ROWS, lambda x: F.pad(x, (-1, 0))),
    "pad_reflect": ({"x": "a 3 b"}, lambda x: F.pad(x, (2, 1), mode="reflect")),
    "tril": (ROWS, torch.tril),
    # picking and ordering
    "index": ({"x": "9 b", "i": "a"}, lambda x, i: x[i]),
    "index_middle": ({"x": "b 9 3", "i": "a"}, lambda x, i: x[:, i]),
    "index_two": ({"x": "9 9", "i": "a 1", "j": "b"}, lambda x, i, j: x[i, j]),
    "index_select": ({"x": "9 b", "i": "a"}, lambda x, i: x.index_select(0, i)),
    "index_put": ({"x": "9 b", "i": "a", "y": "b"}, lambda x, i, y: x.index_put((i,), y)),
    "index_add": ({"x": "9 b", "i": "a", "y": "a b"}, lambda x, i, y: x.index_add(0, i, y)),
    "gather": ({"x": "a 4", "i": "a 2"}, lambda x, i: x.gather(1, i)),
    "scatter": ({"x": "a 4", "i": "a 2"}, lambda x, i: x.scatter(1, i, 1.0)),
    "embedding": ({"i": "a b", "w": "9 4", "positions": "20 4"}, embedded),
    "one_hot": ({"i": "a"}, lambda i: F.one_hot(i, 5)),
    "topk": (ROWS, lambda x: x.topk(3)),
    "sort": (ROWS, lambda x: (x.sort(-1), x.argsort(0), x.cumsum(0))),
    # images
    "conv1d": ({"x": "a 3 b", "w": "4 3 3"}, F.conv1d),
    "conv2d": ({"x": "a 3 b c", "w": "4 3 3 3"}, lambda x, w: F.conv2d(x, w, padding=1)),
    "conv2d_stride": ({"x": "a 3 b c", "w": "4 3 3 3"}, lambda x, w: F.conv2d(x, w, None, 2, 1)),
    "conv2d_dilated": ({"x": "a 3 b c", "w": "4 3 3 3"}, lambda x, w: F.conv2d(x, w, None, 1, 2, 2)),
    "conv_transpose": ({"x": "a 3 b c", "w": "3 4 3 3"}, lambda x, w: F.conv_transpose2d(x, w, None, 2)),
    "max_pool": (IMAGE, lambda x: F.max_pool2d(x, 2)),
    "max_pool_padded": (IMAGE, lambda x: F.max_pool2d(x, 3, 2, 1)),
    "max_pool_ceil": (IMAGE, lambda x: F.max_pool2d(x, 3, 2, ceil_mode=True)),
    "avg_pool_ceil": (IMAGE, lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True)),
    "adaptive_pool": (IMAGE, lambda x: F.adaptive_avg_pool2d(x, 1)),
    "adaptive_pool_more": (IMAGE, lambda x: F.adaptive_avg_pool2d(x, 3)),
    "pixel_shuffle": ({"x": "a 12 b c"}, lambda x: F.pixel_shuffle(x, 2)),
    # norms and reductions
    "layer_norm": (BATCH, lambda x: (F.layer_norm(x, (16,)), F.rms_norm(x, (16,)))),
    "layer_norm_symbol": (ROWS, lambda x: F.layer_norm(x, x.shape[1:])),
    "group_norm": ({"x": "a 4 b"}, lambda x: F.group_norm(x, 2)),
    "batch_norm": ({"x": "a 4 b", "m": "4", "v": "4"}, F.batch_norm),
    "sum": (BATCH, lambda x: (x.sum(), x.mean(1), x.var(-1), x.logsumexp(-1), x.any(), x.prod(0))),
    "softmax": (ROWS, lambda x: (x.softmax(-1), x.log_softmax(0), F.normalize(x, dim=-1))),
    "amax": (ROWS, torch.amax),
    "max_dim": (ROWS, lambda x: x.max(0)),
    "argmax": (ROWS, lambda x: x.argmax(-1)),
    "mse": (ROWS, lambda x: F.mse_loss(x, x)),
    "cross_entropy": ({"x": "a b 4", "i": "a b"}, lambda x, i: F.cross_entropy(x.view(-1, 4), i.view(-1))),
    "cross_entropy_of_two_symbols": ({"x": "a 4", "i": "e"}, F.cross_entropy),
    "glu": (ROWS, F.glu),
    # numbers
    "arange": (ROWS, lambda x: (torch.arange(x.shape[1]), torch.arange(1, x.shape[1] + 1, 2))),
    "arange_float": (ROWS, lambda x: torch.arange(0, x.shape[1], 0.5)),
    "arange_down": (ROWS, lambda x: torch.arange(x.shape[1], -1, -1)),
    "arange_difference": (ROWS, lambda x: torch.arange(x.shape[0], x.shape[1])),
    "full": (ROWS, lambda x: (torch.full((x.shape[0], x.shape[1] * 2), 1.5), torch.full((2,), x.shape[0]))),
    "eye": (ROWS, lambda x: (torch.eye(x.shape[0], x.shape[1]), x.new_zeros(x.shape[1]))),
    "zeros_difference": (ROWS, lambda x: torch.zeros(x.shape[1] - x.shape[0])),
    "random": (ROWS, lambda x: (torch.rand(x.shape[0], 3), torch.randperm(x.shape[1]), F.dropout(x) != x)),
    "scaled": (ROWS, lambda x: (x * x.shape[0], x / x.shape[1], x + 1 / (x.shape[1] + 1))),
    "root": (ROWS, lambda x: x * x.shape[0] ** 0.5),
    "sizes": (ROWS, lambda x: (x.numel(), x.shape[0] * 2 + x.shape[1] // 3, x.size(0) % 4, x.shape[0] / 2)),
}  # fmt: skip

#: What the guards of a program say, over its sizes. A program that is not here has none.
GUARDS = {
    "mm_of_two_symbols": "b == d",
    "mv": "a >= 1",
    "cdist": "a <= 25 and b <= 25",
    "add_two": "a == e",
    "add_one": "o == 1",
    "add_to_one": "o == 1",
    "add_constant_size": "b == 8",
    "assigned": "b >= 1",
    "select_first": "a >= 1",
    "select_last": "a >= 1",
    "select_two": "a >= 2 and b >= 2",
    "select_size": "a >= 1",
    "narrow_constant": "b >= 4",
    "positions": "b <= 20",
    "windows": "b >= 3",
    "chunk": "(a + 1) // 2 < a",
    "chunk_three": "2 * ((b + 2) // 3) < b",
    "split": "4 < a <= 8",
    "split_into_one": "a <= 100",
    "split_sizes": "b >= 1",
    "tensor_split": "a % 2 == 0",
    "unbind_symbol": "a == 6",
    "view_batch": "a >= 1",
    "view_pairs": "a % 2 == 0",
    "view_halves": "b % 2 == 0",
    "unflatten_symbol": "b % 2 == 0",
    "view_of_ones": "o == 1",
    "squeeze": "a != 1",
    "squeeze_one": "o == 1",
    "squeeze_all": "a != 1",
    "squeeze_in_place": "a != 1",
    "cat_of_two_symbols": "a == e",
    "pad_negative": "b >= 1",
    "pad_reflect": "b >= 3",
    "topk": "b >= 3",
    "conv1d": "b >= 3",
    "conv2d": "b >= 1 and c >= 1",
    "conv2d_stride": "b >= 1 and c >= 1",
    "conv2d_dilated": "b >= 1 and c >= 1",
    "conv_transpose": "b >= 1 and c >= 1",
    "max_pool": "b >= 2 and c >= 2",
    "max_pool_padded": "b >= 1 and c >= 1",
    "max_pool_ceil": "b >= 2 and c >= 2",
    "avg_pool_ceil": "b >= 1 and c >= 1",
    "adaptive_pool_more": "b >= 1 and c >= 1",
    "amax": "a >= 1 and b >= 1",
    "max_dim": "a >= 1",
    "argmax": "b >= 1",
    "cross_entropy_of_two_symbols": "a == e",
    "glu": "b % 2 == 0",
    "arange_difference": "a <= b",
    "zeros_difference": "a <= b",
}
if VERSION >= (2, 14):
    GUARDS["group_norm"] = "b >= 1"


def refuse_products(name: str) -> None:
    """Expect a program to fail that multiplies by functions of torch which ask for plain sizes."""
    if "attention" in name and VERSION < (2, 13):
        pytest.xfail("torch's own matmul and linear ask for plain sizes; supple multiplies for programs")


# SYM02, SYM05, SYM06, SYM14
@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_those_of_eager_at_all_sizes_that_the_guards_allow(name: str) -> None:
    refuse_products(name)
    shapes, function = PROGRAMS[name]
    recorded = record(function, shapes)
    wanted = GUARDS.get(name)
    assert wanted is not None or not recorded.guards
    assert not recorded.env.deferred
    for given, sizes in assignments(recorded):
        assert recorded.holds(sizes) == (wanted is None or eval(wanted, dict(given))), f"{sizes}: {wanted}"
    assert check(function, shapes, recorded)


SMALL = [
    name
    for name in PROGRAMS
    if not any(
        word in name for word in ("pool", "conv", "select", "split", "chunk", "narrow", "pad_", "pixel")
    )
]


# SYM05, DYN09
@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
@pytest.mark.parametrize("size", [0, 1])
@pytest.mark.parametrize("name", SMALL)
def test_what_is_recorded_at_size_0_or_1_serves_other_sizes(name: str, size: int) -> None:
    shapes, function = PROGRAMS[name]
    hints = dict.fromkeys(HINTS, size)
    try:
        eager(function, shapes, hints)
    except (RuntimeError, IndexError, ValueError):
        pytest.skip("eager refuses this size")
    refuse_products(name)
    recorded = record(function, shapes, hints)
    assert check(function, shapes, recorded)
    if name not in GUARDS:
        assert not recorded.guards


def test_torchs_own_compiler_and_sympy_are_not_loaded() -> None:
    program = """
import sys
import torch
from tests.unit.shapes.test_symbolic import PROGRAMS
from supple.torch_private import VERSION
from tests.unit.shapes.symbolic import record
for name, (shapes, function) in PROGRAMS.items():
    if name != "root":
        record(function, shapes)
loaded = [m for m in ("sympy", "torch._dynamo", "torch._inductor") if m in sys.modules]
assert not loaded, loaded
"""
    subprocess.run([sys.executable, "-c", program], check=True, cwd=Path(__file__).parents[3])


WRONG: dict[str, tuple[Shapes, Function, type[Exception], str]] = {
    "add": ({"x": "a", "y": "b"}, torch.add, RuntimeError, "must match the size of tensor b"),
    "mm": ({"x": "a b", "y": "c 4"}, torch.mm, RuntimeError, "cannot be multiplied"),
    "cat": (
        {"x": "a 2", "y": "b 2"},
        lambda x, y: torch.cat([x, y], 1),
        RuntimeError,
        "Sizes of tensors must",
    ),
    "select": ({"x": "a"}, lambda x: x.select(0, 6), IndexError, "out of range"),
    "view": ({"x": "a"}, lambda x: x.view(-1, 4), RuntimeError, "is invalid for input of size"),
    "layout": ({"x": "a b"}, lambda x: x.t().view(-1), RuntimeError, "view size is not compatible"),
    "expand": ({"x": "a"}, lambda x: x.expand(4, 5), RuntimeError, "The expanded size of the tensor"),
    "topk": ({"x": "a"}, lambda x: x.topk(7), RuntimeError, "out of range"),
    "zeros": ({"x": "a"}, lambda x: torch.zeros(x.shape[0] - 7), RuntimeError, "must be non-negative"),
    "amax": ({"x": "z"}, torch.amax, RuntimeError, "reduction dim"),
    "split": ({"x": "a"}, lambda x: x.split([3, 4]), RuntimeError, "split_sizes"),
    "pool": ({"x": "1 1 o o"}, lambda x: F.max_pool2d(x, 2), RuntimeError, "too small"),
    "conv": ({"x": "1 1 o", "w": "1 1 2"}, F.conv1d, RuntimeError, "Kernel size can't be greater"),
    "reshape": ({"x": "z"}, lambda x: x.reshape(x.shape[0], -1), RuntimeError, "cannot reshape tensor of 0"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_eager_refuses_at_these_sizes_is_refused(name: str) -> None:
    shapes, function, error, text = WRONG[name]
    with pytest.raises(error, match=text) as wanted:
        eager(function, shapes, HINTS)
    with pytest.raises(error) as found:
        record(function, shapes)
    assert str(found.value) == str(wanted.value)

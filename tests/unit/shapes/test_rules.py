"""Each rule gives the sizes, strides, dtype and errors that eager gives, on many layouts."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode

from supple.ir.meta import TensorMeta
from supple.shapes.fake import FakeTensor, fake_like, faking, meta_of

Tensor = torch.Tensor
aten = torch.ops.aten
FLOATS = (torch.float32, torch.bfloat16, torch.float64, torch.float16)


def layouts(shape: Sequence[int], dtype: torch.dtype = torch.float32) -> Iterator[Tensor]:
    """Yield tensors of one shape in several layouts."""
    rank = len(shape)

    def make(sizes: Sequence[int]) -> Tensor:
        return (torch.rand(tuple(sizes)) * 4 + 1).to(dtype)

    yield make(shape)
    if not rank:
        return
    for order in {tuple(reversed(range(rank))), (*range(1, rank), 0), (0, *range(rank - 1, 0, -1))}:
        base = make([shape[d] for d in order])
        yield base.permute(*[order.index(d) for d in range(rank)])
    yield make([*shape[:-1], shape[-1] * 2])[..., ::2]
    yield make([shape[0] + 2, *shape[1:]])[1:-1]
    if rank > 1:
        yield make([1, *shape[1:]]).expand(*shape)
        yield make([*shape[:-1], 1]).expand(*shape)
    if rank == 4:
        yield make(shape).contiguous(memory_format=torch.channels_last)


def outcome(function: Callable[..., Any], args: Sequence[object]) -> object:
    """Return the metadata of the results, or the type of the error."""
    try:
        result = function(*args)
    except (RuntimeError, IndexError, TypeError, ValueError) as error:
        return "error", RuntimeError if isinstance(error, NotImplementedError) else type(error)
    return described(result)


def described(result: object) -> object:
    if isinstance(result, Tensor):
        meta = meta_of(result)
        return TensorMeta(meta.sizes, meta.strides, meta.dtype, meta.device)
    if isinstance(result, tuple | list):
        return [described(item) for item in result]
    return result


class Ops(TorchDispatchMode):
    """Lists the ATen overloads that real tensors run."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen.append(str(func))
        return func(*args, **(kwargs or {}))


def faked(function: Callable[..., Any], args: Sequence[object]) -> object:
    fakes = [fake_like(arg) if isinstance(arg, Tensor) else arg for arg in args]
    with faking():
        return outcome(function, fakes)


def check(function: Callable[..., Any], *args: object) -> None:
    with torch.no_grad():
        wanted = outcome(function, list(args))
        got = faked(function, args)
    listed = [str(meta_of(arg)) if isinstance(arg, Tensor) else arg for arg in args]
    assert got == wanted, f"{listed}: rule {got}, eager {wanted}"


SHAPES = ((), (5,), (3, 4), (1, 4), (3, 1), (2, 3, 4), (2, 1, 4), (2, 3, 4, 5), (2, 3, 1, 5), (0, 4))
FEW_SHAPES = ((), (3, 4), (2, 3, 4, 5))
UNARY: dict[str, Callable[[Tensor], Any]] = {
    **{
        name: getattr(torch, name)
        for name in (
            "neg abs sqrt rsqrt exp exp2 log log2 log10 log1p expm1 sin cos tan asin acos atan sinh cosh "
            "tanh asinh acosh atanh erf erfc lgamma floor ceil round trunc reciprocal sign isnan isinf "
            "logical_not sigmoid relu square clone positive"
        ).split()
    },
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
    "mish": F.mish,
    "elu": F.elu,
    "leaky_relu": F.leaky_relu,
    "hardtanh": F.hardtanh,
    "hardswish": F.hardswish,
    "hardsigmoid": F.hardsigmoid,
    "softplus": F.softplus,
    "add_number": lambda x: x + 1,
    "rsub_number": lambda x: 2.5 - x,
    "compare_number": lambda x: x > 2,
    "pow_number": lambda x: x**2,
    "pow_of_number": lambda x: 2**x,
    "div_number": lambda x: x / 3,
    "floordiv_number": lambda x: x // 2,
    "mod_number": lambda x: x % 2,
    "clamp": lambda x: x.clamp(1, 2),
    "clamp_min": lambda x: x.clamp(min=1.5),
    "to_half": lambda x: x.to(torch.float16),
    "to_int": lambda x: x.to(torch.int32),
    "contiguous": lambda x: x.contiguous(),
    "sum": torch.sum,
    "sum_last": lambda x: x.sum(-1),
    "sum_keep": lambda x: x.sum(0, keepdim=True),
    "sum_all_dims": lambda x: x.sum(dim=()),
    "mean": torch.mean,
    "mean_last": lambda x: x.mean(-1, keepdim=True),
    "amax": lambda x: x.amax(-1),
    "amax_all": lambda x: x.amax(),
    "max": torch.max,
    "max_dim": lambda x: x.max(-1),
    "min_dim": lambda x: x.min(0, keepdim=True),
    "argmax": torch.argmax,
    "argmax_dim": lambda x: x.argmax(-1),
    "any": torch.any,
    "all_dim": lambda x: x.all(-1),
    "prod": torch.prod,
    "prod_dim": lambda x: x.prod(-1),
    "var": torch.var,
    "var_dim": lambda x: x.var(-1, unbiased=False),
    "std_dim": lambda x: x.std(0, keepdim=True),
    "var_mean": lambda x: torch.var_mean(x, -1),
    "logsumexp": lambda x: torch.logsumexp(x, -1),
    "norm": torch.norm,
    "norm_dim": lambda x: x.norm(dim=-1, keepdim=True),
    "vector_norm": lambda x: torch.linalg.vector_norm(x, dim=-1),
    "normalize": lambda x: F.normalize(x, dim=-1),
    "cumsum": lambda x: x.cumsum(-1),
    "cumprod": lambda x: x.cumprod(0),
    "softmax": lambda x: x.softmax(-1),
    "softmax_0": lambda x: x.softmax(0),
    "softmax_f32": lambda x: F.softmax(x, -1, dtype=torch.float32),
    "log_softmax": lambda x: x.log_softmax(-1),
    "view_flat": lambda x: x.view(-1),
    "reshape_flat": lambda x: x.reshape(-1),
    "flatten": lambda x: x.flatten(),
    "view_wrong": lambda x: x.view(7, 11),
    "t": lambda x: x.t(),
    "mT": lambda x: x.transpose(-1, -2),
    "transpose": lambda x: x.transpose(0, -1),
    "permute": lambda x: x.permute(*reversed(range(x.dim()))),
    "squeeze": torch.squeeze,
    "squeeze_dim": lambda x: x.squeeze(1),
    "squeeze_last": lambda x: x.squeeze(-1),
    "unsqueeze": lambda x: x.unsqueeze(1),
    "unsqueeze_last": lambda x: x.unsqueeze(-1),
    "expand": lambda x: x.expand(2, *x.shape),
    "expand_minus": lambda x: x.unsqueeze(0).expand(3, *(-1,) * x.dim()),
    "select": lambda x: x[1],
    "select_last": lambda x: x[..., -1],
    "select_out": lambda x: x.select(0, 9),
    "slice": lambda x: x[1:3],
    "slice_step": lambda x: x[..., 1::2],
    "slice_negative": lambda x: x[-2:],
    "slice_empty": lambda x: x[3:1],
    "narrow": lambda x: x.narrow(0, 1, 1),
    "new_axis": lambda x: x[None, ..., None],
    "split": lambda x: x.split(2, -1),
    "chunk": lambda x: x.chunk(3, -1),
    "split_sizes": lambda x: x.split([1, x.shape[-1] - 1], -1) if x.dim() else x,
    "unbind": lambda x: x.unbind(0),
    "tensor_split": lambda x: x.tensor_split(2, -1),
    "diagonal": lambda x: x.diagonal(),
    "diagonal_off": lambda x: x.diagonal(1, -1, -2),
    "unfold": lambda x: x.unfold(-1, 2, 1),
    "as_strided": lambda x: x.contiguous().as_strided((2, 2), (1, 2), 1) if x.numel() > 4 else x,
    "movedim": lambda x: x.movedim(0, -1),
    "repeat": lambda x: x.repeat(2, *(1,) * (x.dim() - 1), 3),
    "repeat_interleave": lambda x: x.repeat_interleave(2, 0),
    "tile": lambda x: x.tile(2),
    "flip": lambda x: x.flip(-1),
    "roll": lambda x: x.roll(1, -1),
    "roll_all": lambda x: x.roll(2),
    "tril": torch.tril,
    "triu": lambda x: torch.triu(x, 1),
    "pad": lambda x: F.pad(x, (1, 2)),
    "pad_2d": lambda x: F.pad(x, (1, 0, 0, 2), value=3.0),
    "pad_negative": lambda x: F.pad(x, (-1, 0)),
    "sort": lambda x: x.sort(-1),
    "argsort": lambda x: x.argsort(0, descending=True),
    "topk": lambda x: x.topk(2, -1),
    "cat_self": lambda x: torch.cat([x, x], -1),
    "stack_self": lambda x: torch.stack([x, x], 1),
    "zeros_like": torch.zeros_like,
    "full_like": lambda x: torch.full_like(x, 3),
    "empty_like_int": lambda x: torch.empty_like(x, dtype=torch.int64),
    "new_zeros": lambda x: x.new_zeros(2, 3),
    "new_full": lambda x: x.new_full((2,), 7.0),
    "masked_fill": lambda x: x.masked_fill(x > 2, 0.0),
    "where_number": lambda x: torch.where(x > 2, x, 0.0),
    "where_numbers": lambda x: torch.where(x > 2, 1.0, 0.0),
    "layer_norm": lambda x: F.layer_norm(x, x.shape[-1:]),
    "native_layer_norm": lambda x: torch.native_layer_norm(x, x.shape[-1:], None, None, 1e-5),
    "rms_norm": lambda x: F.rms_norm(x, x.shape[-1:]),
    "group_norm": lambda x: F.group_norm(x, 1),
    "instance_norm": lambda x: F.instance_norm(x),
    "batch_norm": lambda x: F.batch_norm(x, x.new_zeros(x.shape[1]), x.new_ones(x.shape[1])),
    "max_pool": lambda x: F.max_pool2d(x, 2, ceil_mode=True),
    "max_pool_indices": lambda x: F.max_pool2d(x, (2, 3), 1, 1, return_indices=True),
    "avg_pool": lambda x: F.avg_pool2d(x, 2, padding=1),
    "adaptive_pool": lambda x: F.adaptive_avg_pool2d(x, 2),
    "adaptive_pool_1": lambda x: F.adaptive_avg_pool2d(x, 1),
    "global_pool": lambda x: x.mean((2, 3)),
    "dropout_eval": lambda x: F.dropout(x, 0.5, False),
    "glu": lambda x: F.glu(x, -1),
    "channels_last": lambda x: x.contiguous(memory_format=torch.channels_last),
    "add_in_place": lambda x: x.clone().add_(1),
    "mul_in_place_wrong": lambda x: x.clone().mul_(torch.ones(7, 7, 7, 7, 7)),
    "zero_in_place": lambda x: x.clone().zero_(),
    "copy_in_place": lambda x: x.clone().copy_(x),
    "item_assignment": lambda x: x.clone().index_fill_(0, torch.tensor([0]), 1.0),
    "index_list": lambda x: x[[0, 0]],
    "index_two": lambda x: x[[0, 0], :, [0, 0]],
    "index_pair": lambda x: x[torch.tensor([[0], [0]]), torch.tensor([0, 0])],
    "index_middle": lambda x: x[:, torch.tensor([0])],
    "index_select": lambda x: x.index_select(0, torch.tensor([0, 0, 0])),
    "gather": lambda x: x.gather(-1, torch.zeros(x.shape, dtype=torch.int64)),
    "scatter": lambda x: x.scatter(0, torch.zeros(x.shape, dtype=torch.int64), 1.0),
    "one_dim_linear": lambda x: F.linear(x, torch.zeros(7, x.shape[-1], dtype=x.dtype)),
    "matmul_self": lambda x: x @ x.transpose(-1, -2),
    "einsum": lambda x: torch.einsum("...i,...i->...", x, x),
    "attention": lambda x: F.scaled_dot_product_attention(x, x, x),
    "attention_causal": lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True),
    "attention_heads": lambda x: F.scaled_dot_product_attention(*(x.transpose(1, 2),) * 3),
    "interpolate": lambda x: F.interpolate(x, scale_factor=2),
    "logaddexp": lambda x: torch.logaddexp(x, x),
    "hardshrink": F.hardshrink,
    "nan_to_num": torch.nan_to_num,
    "special": lambda x: (torch.special.entr(x), torch.special.i0e(x), torch.special.i1(x)),
    "bce": lambda x: F.binary_cross_entropy(x * 0, x * 0, reduction="none"),
    "bce_logits": lambda x: F.binary_cross_entropy_with_logits(x, x),
    "bce_logits_weight": lambda x: F.binary_cross_entropy_with_logits(x, x, x, reduction="none"),
    "soft_margin": lambda x: F.soft_margin_loss(x, x),
    "count_nonzero": torch.count_nonzero,
    "count_nonzero_dim": lambda x: torch.count_nonzero(x, -1),
    "aminmax": lambda x: torch.aminmax(x, dim=0, keepdim=True),
    "median": torch.median,
    "dist": lambda x: torch.dist(x, x + 1),
    "svd": torch.linalg.svd,
    "svd_reduced": lambda x: torch.linalg.svd(x, full_matrices=False),
    "svdvals": torch.linalg.svdvals,
    "gather_nothing": lambda x: x.gather(0, torch.zeros(0, 2, 9, dtype=torch.int64)),
    "kthvalue": lambda x: x.kthvalue(2, -1),
    "cummax": lambda x: x.cummax(-1),
    "masked_scatter": lambda x: x.masked_scatter(x > 9, x),
    "bucketize": lambda x: torch.bucketize((x * 1).contiguous(), torch.tensor([1.0, 2.0])),
    "searchsorted": lambda x: torch.searchsorted(torch.tensor([1.0, 2.0]), x.float().contiguous()),
    "isin": lambda x: torch.isin(x, torch.tensor([1, 2])),
    "rot90": lambda x: x.rot90(1, (0, -1)),
    "rot180": lambda x: x.rot90(2, (-1, 0)),
    "rot360": lambda x: x.rot90(4, (-1, 0)),
    "reflection_pad": lambda x: F.pad(x, (1, 2), mode="reflect") if x.dim() != 4 else x,
    "replication_pad": lambda x: F.pad(x, (1, 0, 2, 1), mode="replicate"),
    "pixel_shuffle": lambda x: F.pixel_shuffle(x.repeat_interleave(4, -3), 2),
    "pixel_unshuffle": lambda x: F.pixel_unshuffle(x, 2),
    "adaptive_max_pool": lambda x: F.adaptive_max_pool2d(x, 2, return_indices=True),
    "unfold_windows": lambda x: F.unfold(x, 2, padding=1) if x.dim() > 2 else x,
    "cdist": lambda x: torch.cdist(x, x),
    "grid_sample": lambda x: F.grid_sample(x, x.new_zeros(x.shape[0], 3, 2, 2), align_corners=False),
    "nll_loss2d": lambda x: F.nll_loss(x, torch.zeros(x[:, 0].shape, dtype=torch.int64)),
    "addcmul": lambda x: torch.addcmul(x, x, x, value=2),
    "lerp": lambda x: torch.lerp(x, x * 2, 0.3),
    "mse_loss": lambda x: F.mse_loss(x, x * 2),
    "cross_entropy": lambda x: F.cross_entropy(x, torch.zeros(x.shape[0], dtype=torch.int64)),
}


#: Eager refuses index values that are out of range, which metadata does not show.
READS_VALUES = ("item_assignment", "index_list", "index_pair", "index_select")


@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.bool], ids=str)
@pytest.mark.parametrize("name", UNARY)
def test_function_of_one_tensor_has_the_metadata_of_eager(name: str, dtype: torch.dtype) -> None:
    if name == "interpolate" and not dtype.is_floating_point:
        pytest.skip("torch's meta kernel accepts types that its CPU kernel refuses")
    for shape in SHAPES if dtype is torch.float32 else FEW_SHAPES:
        if name in READS_VALUES and 0 in shape:
            continue
        for tensor in layouts(shape, dtype):
            check(UNARY[name], tensor)


BINARY: dict[str, Callable[[Tensor, Tensor], Any]] = {
    **{
        name: getattr(torch, name)
        for name in (
            "add sub mul div atan2 maximum minimum fmod remainder pow eq ne lt le gt ge "
            "logical_and logical_or hypot copysign floor_divide"
        ).split()
    },
    "trunc_div": lambda x, y: torch.div(x, y, rounding_mode="trunc"),
    "where": lambda x, y: torch.where(x > 2, x, y),
    "clamp_tensor": lambda x, y: torch.clamp(x, y),
    "bitwise_and": lambda x, y: (x > 2) & (y > 2),
    "masked_fill": lambda x, y: x.masked_fill(y > 2, 0.5),
    "add_alpha": lambda x, y: torch.add(x, y, alpha=2),
    "rsub": torch.rsub,
    "cat": lambda x, y: torch.cat([x, y], 0),
    "cat_last": lambda x, y: torch.cat([x, y], -1),
    "stack": lambda x, y: torch.stack([x, y]),
    "matmul": torch.matmul,
    "add_": lambda x, y: x.clone().add_(y),
    "copy_": lambda x, y: x.clone().copy_(y),
    "expand_as": lambda x, y: x.expand_as(y),
    "type_as": lambda x, y: x.type_as(y),
    "out": lambda x, y: torch.add(x, y, out=torch.empty_like(x + y)),
}
PAIRS = (
    ((3, 4), (3, 4)),
    ((3, 4), (4,)),
    ((3, 1), (1, 4)),
    ((), (3, 4)),
    ((3, 4), (3, 5)),
    ((2, 3, 4), (3, 1)),
    ((2, 3, 4), (2, 4, 5)),
    ((2, 3, 4, 5), (1, 3, 1, 1)),
    ((2, 3, 4, 5), (2, 3, 4, 5)),
    ((0, 4), (1, 4)),
    ((1,), (1,)),
)
TYPES = (
    (torch.float32, torch.float32),
    (torch.float32, torch.bfloat16),
    (torch.int64, torch.float32),
    (torch.bool, torch.int32),
    (torch.bfloat16, torch.float16),
)


#: Every pair of layouts is tried for these, which stand for all with their rule.
THOROUGH = ("add", "where", "cat_last", "matmul")


@pytest.mark.parametrize("types", TYPES, ids=str)
@pytest.mark.parametrize("name", BINARY)
def test_function_of_two_tensors_has_the_metadata_of_eager(
    name: str, types: tuple[torch.dtype, torch.dtype]
) -> None:
    for left, right in PAIRS:
        others = list(layouts(right, types[1]))
        for place, x in enumerate(layouts(left, types[0])):
            for y in others if types == TYPES[0] and name in THOROUGH else others[place % 3 :: 3]:
                check(BINARY[name], x, y)


FACTORIES: dict[str, Callable[[], Any]] = {
    "zeros": lambda: torch.zeros(2, 3),
    "ones_int": lambda: torch.ones((4,), dtype=torch.int32),
    "full_bool": lambda: torch.full((2,), True),
    "full_float": lambda: torch.full((2, 1), 1.5),
    "arange": lambda: torch.arange(5),
    "arange_float": lambda: torch.arange(0, 1, 0.1),
    "arange_step": lambda: torch.arange(10, 0, -3),
    "arange_wrong": lambda: torch.arange(0, 5, -1),
    "linspace": lambda: torch.linspace(0, 1, 7),
    "eye": lambda: torch.eye(3),
    "eye_wide": lambda: torch.eye(3, 4),
    "tensor": lambda: torch.tensor([[1.0, 2.0]]),
    "scalar": lambda: torch.tensor(3),
    "rand": lambda: torch.rand(3),
    "randint": lambda: torch.randint(0, 5, (3,)),
    "randperm": lambda: torch.randperm(4),
    "empty_strided": lambda: torch.empty_strided((2, 3), (1, 2)),
    "empty_last": lambda: torch.empty((2, 3, 4, 5), memory_format=torch.channels_last),
    "one_hot_like": lambda: (torch.arange(3)[:, None] == torch.arange(4)).to(torch.int64),
    "meshgrid": lambda: torch.meshgrid(torch.arange(3), torch.arange(4), indexing="ij"),
}


@pytest.mark.parametrize("name", FACTORIES)
def test_factory_has_the_metadata_of_eager(name: str) -> None:
    check(FACTORIES[name])


LOSSES: dict[str, tuple[tuple[int, ...], Callable[[Tensor], Any]]] = {
    "multi_margin": (
        (3, 4),
        lambda x: aten.multi_margin_loss_backward(x[0, 0], x, torch.zeros(3, dtype=torch.int64), 1, 1.0),
    ),
    "multilabel_margin": (
        (3, 4),
        lambda x: aten.multilabel_margin_loss_backward(
            x[0, 0], x, torch.zeros(3, 4, dtype=torch.int64), 1, torch.zeros(3, 4)
        ),
    ),
    "fractional_max_pool3d": (
        (2, 3, 4, 5),
        lambda x: aten.fractional_max_pool3d_backward(
            torch.ones(2, 2, 2, 2), x, [2, 2, 2], [2, 2, 2], torch.zeros(2, 2, 2, 2, dtype=torch.int64)
        ),
    ),
    "ctc": (
        (2, 3, 4),
        lambda x: aten._ctc_loss_backward(
            torch.ones(3),
            x,
            torch.ones(3, 1).long(),
            [2, 2, 2],
            [1, 1, 1],
            torch.ones(3),
            torch.ones(3, 2, 3),
            0,
        ),
    ),
}


@pytest.mark.parametrize("name", LOSSES)
def test_backward_without_a_meta_kernel_has_the_metadata_of_eager(name: str) -> None:
    shape, function = LOSSES[name]
    for x in layouts(shape):
        check(function, x)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_convolution_has_the_metadata_of_eager(rank: int, transposed: bool) -> None:
    name = f"conv{'_transpose' if transposed else ''}{rank}d"
    function = getattr(F, name)
    for x in layouts((2, 4, *(7, 6, 5)[:rank])):
        for weight in layouts((4, 4, *(3, 2, 1)[:rank])):
            check(lambda a, w: function(a, w, torch.zeros(4), stride=2, padding=1), x, weight)
    wide = torch.rand(2, 4, *(9,) * rank)
    check(lambda a: function(a, torch.rand(4, 1, *(3,) * rank), groups=4), wide)
    check(lambda a: function(a, torch.rand(4, 5, *(3,) * rank)), wide)


def models() -> dict[str, tuple[Callable[..., Any], tuple[Tensor, ...]]]:
    linear = torch.nn.Linear(8, 8)
    encoder = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    return {
        "mlp": (torch.nn.Sequential(linear, torch.nn.GELU(), torch.nn.LayerNorm(8)), (torch.rand(3, 8),)),
        "encoder": (encoder, (torch.rand(2, 5, 8),)),
        "conv": (
            torch.nn.Sequential(
                torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.MaxPool2d(2)
            ).eval(),
            (torch.rand(2, 3, 9, 9),),
        ),
        "bilinear": (torch.nn.Bilinear(3, 4, 5), (torch.rand(2, 3), torch.rand(2, 4))),
        "embedding": (torch.nn.Embedding(5, 4), (torch.tensor([[1, 2]]),)),
    }


@pytest.mark.parametrize("name", ["mlp", "encoder", "conv", "bilinear", "embedding"])
def test_fakes_run_the_operators_that_eager_runs(name: str) -> None:
    model, inputs = models()[name]
    real, seen = Ops(), []

    class Listing(type(faking())):  # pyright: ignore[reportUntypedBaseClass]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(str(func))
            return super().__torch_dispatch__(func, types, args, kwargs)

    torch.backends.mha.set_fastpath_enabled(False)
    with torch.no_grad():
        with real:
            model(*inputs)
        fakes = [fake_like(item) for item in inputs]
        with Listing():
            result = model(*fakes)
    torch.backends.mha.set_fastpath_enabled(True)
    assert isinstance(result, FakeTensor)
    assert seen == real.seen

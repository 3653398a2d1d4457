"""What calls of operators in drawn surroundings found: layouts, types and refusals of odd arguments."""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import supple
from supple.base.config import config
from tests.fuzz.calling import told

Program = Callable[..., Any]


def outcome(run: Program, *args: Tensor) -> object:
    """Return the layout, the type and the elements of a result, or what is raised."""
    try:
        with config.patch(suppress_errors=False):
            result = run(*args)
    except Exception as error:  # what a program raises is compared
        return told(error)
    assert isinstance(result, Tensor)
    return result.dtype, result.shape, result.stride() if result.numel() else (), repr(result.tolist())


def check(program: Program, *args: Tensor) -> None:
    wanted = outcome(program, *args)
    for backend in ("eager", "native"):
        for dynamic in (None, True):
            compiled = supple.compile(program, backend=backend, dynamic=dynamic)
            assert outcome(compiled, *args) == wanted, (backend, dynamic)


SCATTERS: dict[str, Program] = {
    "a row": lambda x: torch.select_scatter(x, x[0], 0, 1),
    "a column": lambda x: torch.select_scatter(x, x[:, 0], 1, -1),
    "a range": lambda x: torch.slice_scatter(x, x[:2], 0, 1, 3),
    "a diagonal": lambda x: torch.diagonal_scatter(x, x[0]),
}
LAYOUTS: dict[str, Callable[[], Tensor]] = {
    "with gaps": lambda: torch.arange(18.0).view(3, 3, 2)[..., 0],
    "with rows between": lambda: torch.arange(18.0).view(6, 3)[::2],
    "turned, with gaps": lambda: torch.arange(18.0).view(3, 3, 2)[..., 0].T,
    "turned": lambda: torch.arange(9.0).view(3, 3).T,
    "a row for many": lambda: torch.arange(3.0).expand(3, 3),
    "dense": lambda: torch.arange(9.0).view(3, 3),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", SCATTERS)
def test_a_copy_with_a_part_replaced_keeps_the_gaps(name: str, layout: str) -> None:
    check(SCATTERS[name], LAYOUTS[layout]())


@pytest.mark.parametrize("size", [0, 2, 7])
@pytest.mark.parametrize("shape", [(), (5,), (3, 4), (0, 3)])
def test_so_many_positions_lie_row_by_row(shape: tuple[int, ...], size: int) -> None:
    check(lambda x: torch.nonzero_static(x, size=size), torch.ones(shape))


@pytest.mark.parametrize("dtype", [torch.bool, torch.int64, torch.float16, torch.float64], ids=str)
def test_the_gradient_of_dropout_is_a_float(dtype: torch.dtype) -> None:
    check(
        lambda g, m: torch.ops.aten.native_dropout_backward(g, m, 2.0),
        torch.ones(3).to(dtype),
        torch.ones(3) > 0,
    )


@pytest.mark.parametrize(
    "form", [lambda x, y: (torch.xlogy(x, y), torch.xlogy(x, y))[1], torch.special.xlog1py]
)
@pytest.mark.parametrize("shape", [(), (3,)])
@pytest.mark.parametrize("dtype", [torch.bool, torch.int64, torch.float16], ids=str)
def test_products_with_logarithms_are_floats(
    form: Program, shape: tuple[int, ...], dtype: torch.dtype
) -> None:
    check(lambda x, y: form(x, y), torch.ones(shape).to(dtype), torch.ones(shape).to(dtype))


STRIDED: dict[str, Callable[..., Program]] = {
    "a view": lambda *given: lambda x: torch.as_strided(x, *given) + 1,
    "a copied view": lambda *given: lambda x: torch.ops.aten.as_strided(x, *given).clone(),
    "a copy": lambda *given: lambda x: torch.as_strided_copy(x, *given),
    "a part replaced": lambda *given: lambda x: torch.as_strided_scatter(x, torch.ones(2, 2), *given),
    "itself": lambda *given: lambda x: x.clone().as_strided_(*given) * 2,
    "memory": lambda size, strides, *_: lambda x: torch.empty_strided(size, strides).fill_(1),
    "memory of its type": lambda size, strides, *_: lambda x: x.new_empty_strided(size, strides).fill_(1),
}


@pytest.mark.parametrize(
    "given", [((2, 2), (-4, 2), 8), ((2, 2), (2, -1), 8), ((2, 2), (2, 1), -1), ((2, -1), (2, 1))]
)
@pytest.mark.parametrize("name", STRIDED)
def test_no_stride_and_no_offset_is_negative(name: str, given: tuple[Any, ...]) -> None:
    """A kernel would read in front of its memory."""
    program = STRIDED[name](*given)
    has_no_offset = "memory" in name and given[-1] == -1
    assert has_no_offset or "Error" in str(outcome(program, torch.arange(40.0)))
    check(program, torch.arange(40.0))


@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("operator", [torch.unique, torch.unique_consecutive])
def test_unique_slices_lie_one_after_the_other(operator: Program, dim: int) -> None:
    check(lambda x: operator(x, dim=dim), torch.tensor([[[0.0, 1.0], [0.0, 1.0]], [[1.0, 1.0], [1.0, 1.0]]]))


@pytest.mark.parametrize("layout", ["dense", "turned", "channels last"])
@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize("operator", [torch.channel_shuffle, torch.native_channel_shuffle, F.channel_shuffle])
def test_shuffled_channels_are_laid_out_as_eager_lays_them(
    operator: Program, groups: int, layout: str
) -> None:
    x = torch.arange(96.0).view(2, 4, 3, 4)
    if layout != "dense":
        x = (
            x.to(memory_format=torch.channels_last)
            if layout == "channels last"
            else x.transpose(0, -1).contiguous().mT
        )
        x = x if layout == "channels last" else x.transpose(0, 1)
    check(lambda x: operator(x, groups), x[:, :4])


@pytest.mark.parametrize("turned", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("name", ["_softmax_backward_data", "_log_softmax_backward_data"])
def test_the_gradient_of_softmax_is_row_major(name: str, dim: int, turned: tuple[bool, bool]) -> None:
    given = [torch.ones(2, 3, 4).mT.contiguous().mT if one else torch.ones(2, 3, 4) for one in turned]
    check(lambda g, y: getattr(torch.ops.aten, name)(g, y, dim, torch.float32), *given)


@pytest.mark.parametrize("scale", [2.0, -2.0, float("inf")])
def test_dropped_gradients_have_the_sign_of_eager(scale: float) -> None:
    mask = torch.tensor([True, False, True, False])
    check(
        lambda g, m: torch.ops.aten.native_dropout_backward(g, m, scale),
        torch.tensor([1.0, 1.0, -0.0, -3.0]),
        mask,
    )


SUMS: dict[str, Program] = {
    "of a row": lambda x: x.sum(0),
    "of a kept row": lambda x: x.sum(0, keepdim=True),
    "of all": lambda x: x[:, :1].sum(),
    "of a diagonal": lambda x: x.diagonal(0, 0, 1).sum(-1),
    "a mean": lambda x: x.mean(0),
    "of numbers alone": lambda x: x.nansum(0),
    "a product": lambda x: x.prod(0),
    "einsum": lambda x: torch.einsum("ij->j", x),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.float64], ids=str)
@pytest.mark.parametrize("name", SUMS)
def test_a_sum_of_one_negative_zero_is_0(name: str, dtype: torch.dtype) -> None:
    check(SUMS[name], torch.tensor([[-0.0, 1.0, -2.0]], dtype=dtype))


@pytest.mark.parametrize("told_as", [None, 0, 1, "no", False])
def test_a_tensor_of_symbolic_numbers_takes_what_eager_takes(told_as: Any) -> None:
    def program(x: Tensor) -> Tensor:
        return torch.tensor([x.shape[0], 1.5], requires_grad=told_as).detach()

    check(program, torch.ones(3))


def refusing(operator: Program) -> tuple[Program, Program]:
    """Return programs that write before the call: one handles what it raises, one is unseen by autograd."""

    def handles(w: Tensor, *args: Tensor) -> Tensor:
        w.add_(1)
        try:
            operator(*args)
        except RuntimeError:
            w.mul_(5)
        return w + 0

    def hides(w: Tensor, *args: Tensor) -> Tensor:
        if w.sum() > 100:
            raise ValueError("written twice")
        w.data.mul_(100)
        return operator(*args)

    return handles, hides


def check_refused(operator: Program, *shapes: tuple[int, ...]) -> None:
    for program in refusing(operator):
        wanted_w = torch.ones(2)
        wanted = outcome(program, wanted_w, *map(torch.ones, shapes))
        for backend in ("eager", "native"):
            w = torch.ones(2)
            assert outcome(supple.compile(program, backend=backend), w, *map(torch.ones, shapes)) == wanted
            assert torch.equal(w, wanted_w)


WEIGHTS = [(0, 3, 3, 3), (2, 0, 3, 3), (2, 3, 0, 3), (3, 3, 3, 3), (4, 1, 2, 2)]


@pytest.mark.parametrize("bias", [None, (3,), (0,), (1,)])
@pytest.mark.parametrize("groups", [1, 3])
@pytest.mark.parametrize("weight", WEIGHTS, ids=str)
@pytest.mark.parametrize("operator", [F.conv2d, F.conv_transpose2d])
def test_convolutions_that_eager_refuses(
    operator: Program, weight: tuple[int, ...], groups: int, bias: tuple[int, ...] | None
) -> None:
    def convolved(x: Tensor, w: Tensor, b: Tensor | None = None) -> Tensor:
        return operator(x, w, b, groups=groups)

    check_refused(convolved, (0, 3, 4, 4), weight, *(() if bias is None else (bias,)))


@pytest.mark.parametrize("count", [2, 0, -1])
@pytest.mark.parametrize("no", [None, 0, 1, -1])
@pytest.mark.parametrize("is_batch", [True, False])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_means_of_images_that_eager_refuses(rank: int, is_batch: bool, no: int | None, count: int) -> None:
    operator = (F.adaptive_avg_pool1d, F.adaptive_avg_pool2d, F.adaptive_avg_pool3d)[rank - 1]
    shape = [2, 3, *(4,) * rank][not is_batch :]
    if no is not None:
        shape[no] = 0
    check_refused(lambda x: operator(x, [count] * rank), tuple(shape))


def test_a_size_that_is_found_out_may_be_0() -> None:
    compiled = supple.compile(lambda x, n: F.adaptive_avg_pool2d(x, (n.item(), 3)), backend="native")
    for count in (2, 0, 1):
        x, n = torch.rand(2, 3, 4, 4), torch.tensor(count)
        torch.testing.assert_close(compiled(x, n), F.adaptive_avg_pool2d(x, (count, 3)))


RESIZED: dict[str, tuple[Program, int]] = {
    "means of a line": (lambda x: F.adaptive_avg_pool1d(x, 3), 3),
    "means of windows": (lambda x: F.avg_pool1d(x, 1), 3),
    "an area": (lambda x: F.interpolate(x, 3, mode="area"), 3),
    "the nearest": (lambda x: F.interpolate(x, 3, mode="nearest-exact"), 4),
    "an image": (lambda x: F.adaptive_avg_pool2d(x, 3), 4),
    "a convolution": (lambda x: F.conv1d(x, torch.ones(2, x.shape[1], 1)), 3),
}


@pytest.mark.parametrize("dynamic", [True, False])
@pytest.mark.parametrize("part", ["[..., :1]", "[:1]", "[:, :1]", "[:1, ..., :1]"])
@pytest.mark.parametrize("name", RESIZED)
def test_the_layout_of_images_with_any_stride_of_one_pixel(name: str, part: str, dynamic: bool) -> None:
    program, rank = RESIZED[name]
    whole = torch.rand(2, 3, 4, 4)[(..., *[0] * (4 - rank))]
    x = eval(f"whole{part}", {"whole": whole})
    x = x.as_strided(x.shape, [s if n > 1 else 5 for n, s in zip(x.shape, x.stride(), strict=True)])
    found = supple.compile(program, dynamic=dynamic, backend="native")(x)
    assert found.stride() == program(x).stride()


OF_ONE_NUMBER: dict[str, Program] = {
    "sum": torch.sum,
    "sum_to_size": lambda x: x.sum_to_size(()),
    "mean": torch.mean,
    "sum of a dimension": lambda x: x.sum(0),
    "doubles": lambda x: x.sum(dtype=torch.float64),
    "of a part": lambda x: x.reshape(1)[0].sum(),
}


@pytest.mark.parametrize("backend", ["aot_eager_decomp", "native"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("name", OF_ONE_NUMBER)
def test_the_sum_of_a_number_is_no_negative_zero(name: str, dtype: torch.dtype, backend: str) -> None:
    x = torch.tensor(-0.0, dtype=dtype)
    run = OF_ONE_NUMBER[name]
    wanted, found = run(x), supple.compile(run, backend=backend)(x)
    assert found.dtype is wanted.dtype
    assert math.copysign(1, found.item()) == math.copysign(1, wanted.item())


@pytest.mark.parametrize("operator", [F.conv1d, F.conv2d, F.conv3d])
def test_padding_of_every_second_pixel_is_compiled_in_time(operator: Program) -> None:
    """LLVM writes an address in a loop as a polynomial of all that is computed before the loop."""
    rank = {F.conv1d: 1, F.conv2d: 2, F.conv3d: 3}[operator]
    x, weight = torch.rand(1, 4, *(4,) * (rank - 1), 8), torch.rand(2, 4, *(1,) * rank)
    run = lambda x, weight: operator(x[..., ::2], weight, padding="same")  # noqa: E731
    compiled = supple.compile(run, backend="native", dynamic=True)
    torch.testing.assert_close(compiled(x, weight), run(x, weight))


@pytest.mark.parametrize("more", [0, 1, 2, 3])
@pytest.mark.parametrize("spread", [1, 3])
@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize("operator", [F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d])
def test_transposed_convolutions_that_eager_refuses(
    operator: Program, step: int, spread: int, more: int
) -> None:
    rank = {F.conv_transpose1d: 1, F.conv_transpose2d: 2, F.conv_transpose3d: 3}[operator]
    shapes = (1, 2, *(4,) * rank), (2, 2, *(3,) * rank)
    check_refused(lambda x, w: operator(x, w, None, step, 1, more, 1, spread), *shapes)


@pytest.mark.parametrize("mode", [None, "", 0, -0.0, False, "no", "linear", "bilinear"], ids=repr)
def test_ways_to_resample_that_eager_refuses(mode: Any) -> None:
    def program(x: Tensor) -> Tensor:
        return F.interpolate(x, 3, mode=mode)

    for backend in ("eager", "native"):
        wanted = outcome(program, torch.ones(2, 3, 4))
        assert outcome(supple.compile(program, backend=backend), torch.ones(2, 3, 4)) == wanted


@pytest.mark.parametrize("size", [3, 0])
@pytest.mark.parametrize("shape", [(2, 3, 0), (2, 0, 4), (0, 3, 4), (2, 3, 4, 4), (2, 3, 4)], ids=str)
@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "linear", "area"])
def test_resampling_that_eager_refuses(mode: str, shape: tuple[int, ...], size: int) -> None:
    check_refused(lambda x: F.interpolate(x, size, mode=mode), shape)


def test_a_weight_of_complex_numbers_without_gradients() -> None:
    def program(x: Tensor, y: Tensor, weight: Tensor) -> Tensor:
        with torch.no_grad():
            return F.bilinear(x, y, weight)

    shapes = (4, 3), (4, 2), (5, 3, 2)
    given = [torch.ones(shape, dtype=torch.complex64, requires_grad=True) for shape in shapes]
    check(program, *given)


def test_a_gradient_that_is_expanded_from_one_element() -> None:
    def gradients(run: Program, x: Tensor, y: Tensor) -> list[object]:
        given = [one.clone().requires_grad_() for one in (x, y)]
        result = run(*given)
        result.backward(torch.ones_like(result))
        return [one.grad.tolist() for one in given if one.grad is not None]

    def program(x: Tensor, y: Tensor) -> Tensor:
        return torch.einsum("...ik, ...j -> ij", x, y)

    x, y = torch.ones(1, 2, 3, dtype=torch.complex64), torch.ones(3, dtype=torch.complex64)
    compiled = supple.compile(program, dynamic=True)
    for rows in (1, 2, 1):
        assert gradients(compiled, x.expand(rows, 2, 3), y) == gradients(program, x.expand(rows, 2, 3), y)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("types", [("float32", "float64"), ("bfloat16", "float32"), ("float32", "bfloat16")])
@pytest.mark.parametrize("loss", [F.huber_loss, F.smooth_l1_loss, F.mse_loss, F.l1_loss])
def test_what_is_computed_of_a_loss_of_two_types(
    loss: Program, types: tuple[str, str], reduction: str
) -> None:
    """The type of `huber_loss` is that of its first operand."""

    def program(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        found = loss(x, y, reduction=reduction)
        return found, (found + 1).softmax(0)

    given = [torch.rand(2, 3).to(getattr(torch, name)) for name in types]
    wanted, found = program(*given), supple.compile(program, backend="native")(*given)
    assert [one.dtype for one in found] == [one.dtype for one in wanted]
    torch.testing.assert_close(found, wanted, rtol=1e-2, atol=1e-2)

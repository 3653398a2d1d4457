"""Programs that write and alias tensors, called with arguments that share memory in ever other ways: compiled
code leaves what eager leaves (`aliasing.py` says what is compared).

Features: X-AD06, X-AD05, X-GRD02, TRN05, TRN06.
"""

# pyright: reportUnknownMemberType=false, reportArgumentType=false, reportIncompatibleMethodOverride=false

import gc
import weakref
from collections.abc import Sequence
from typing import Any, cast

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import supple
from tests.training.aliasing import Corpus, attempt, loss_of, weighted

Tensor = torch.Tensor
program = Corpus()
DIFFERENTIABLE = ("leaf", "inner", "second")


# -- an argument is written, then arguments that may share its memory are read ----------------------------


@program()
def add_then_read(x: Tensor, y: Tensor) -> Tensor:
    x.add_(1)
    return x * y


@program()
def read_then_add(x: Tensor, y: Tensor) -> Tensor:
    z = x + y
    x.add_(1)
    return z + y


@program()
def multiply_by_the_other(x: Tensor, y: Tensor) -> Tensor:
    x.mul_(y)
    return x + y


@program()
def write_both(x: Tensor, y: Tensor) -> Tensor:
    x.add_(1)
    y.mul_(2)
    return x - y


@program()
def swap(x: Tensor, y: Tensor) -> None:
    t = x.clone()
    x.copy_(y)
    y.copy_(t)


@program()
def write_and_return_the_argument(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    x.sub_(0.5)
    return x, x * 2


@program()
def write_thrice(x: Tensor, y: Tensor) -> Tensor:
    x.add_(1).mul_(2).sub_(y.sum())
    return x.sum()


@program()
def fill(x: Tensor, y: Tensor) -> Tensor:
    x.fill_(3)
    return y + x


@program()
def zero(x: Tensor, y: Tensor) -> Tensor:
    y.zero_()
    return x.sin()


@program()
def write_from_integers(x: Tensor, y: Tensor) -> Tensor:
    x.copy_(torch.arange(16).view(4, 4))
    return x / 2 + y


@program()
def subtract_a_row(x: Tensor, y: Tensor) -> Tensor:
    x -= y[0].clone()
    return x.exp()


@program()
def power_in_place(x: Tensor, y: Tensor) -> Tensor:
    y **= 2
    return x + y


@program()
def clamp_in_place(x: Tensor, y: Tensor) -> Tensor:
    x.clamp_(-0.5, 0.5)
    return x * y.clone()


@program()
def relu_in_place(x: Tensor, y: Tensor) -> Tensor:
    return F.relu(x, inplace=True) * 2


@program()
def relu_of_a_sum_in_place(x: Tensor, y: Tensor) -> Tensor:
    return F.relu_(x + y)


@program()
def dropout_in_place(x: Tensor, y: Tensor) -> Tensor:
    return F.dropout(x, 0.5, training=False, inplace=True) + y


@program()
def add_with_factor(x: Tensor, y: Tensor) -> Tensor:
    x.add_(y, alpha=2)
    return y.clone()


@program()
def lerp_in_place(x: Tensor, y: Tensor) -> Tensor:
    x.lerp_(y, 0.25)
    return x.cos()


@program()
def addcmul_in_place(x: Tensor, y: Tensor) -> Tensor:
    x.addcmul_(y, y, value=0.5)
    return x + 0


@program()
def addmm_in_place(x: Tensor, y: Tensor) -> Tensor:
    x.addmm_(y.clone(), y.t().clone())
    return x.tanh()


@program()
def masked_fill_in_place(x: Tensor, y: Tensor) -> Tensor:
    x.masked_fill_(y > 0.5, 7.0)
    return x * 2


@program()
def out_argument(x: Tensor, y: Tensor) -> Tensor:
    with torch.no_grad():
        torch.add(y, 1, out=x)
    return x + y


# -- a view of an argument is written -----------------------------------------------------------------------


@program()
def row_written(x: Tensor, y: Tensor) -> Tensor:
    x[0] += 1
    return x.sum(0) + y


@program()
def row_written_by_the_other(x: Tensor, y: Tensor) -> Tensor:
    x[1] = y[2].clone()
    return x * 3


@program()
def column_written(x: Tensor, y: Tensor) -> Tensor:
    x[:, 1:3] *= 2
    return y + x[:, :1].clone()


@program()
def transposed_written(x: Tensor, y: Tensor) -> Tensor:
    x.t().add_(y.clone())
    return x.sin()


@program()
def view_kept_while_base_is_written(x: Tensor, y: Tensor) -> Tensor:
    row = x[2]
    x.mul_(3)
    return row + y


@program()
def base_read_after_view_is_written(x: Tensor, y: Tensor) -> Tensor:
    flat = x.view(-1)
    flat[::3] = 0
    return x * y.clone()


@program()
def diagonal_written(x: Tensor, y: Tensor) -> Tensor:
    x.diagonal().copy_(y[0].clone())
    return x.sum()


@program()
def two_views_written(x: Tensor, y: Tensor) -> Tensor:
    first, second = x[:2], x[1:]
    first.add_(1)
    second.mul_(2)
    return first * 2 + y[:2].clone()


@program()
def index_put_in_place(x: Tensor, y: Tensor) -> Tensor:
    x.index_put_((torch.tensor([0, 2]),), y[:2].clone())
    return x * 2


@program()
def mask_put_in_place(x: Tensor, y: Tensor) -> Tensor:
    x[x > 0.5] = 0.25
    return x + y.clone()


@program()
def index_add_in_place(x: Tensor, y: Tensor) -> Tensor:
    x.index_add_(0, torch.tensor([1, 1]), y[:2].clone())
    return x.sin()


@program()
def scatter_add_in_place(x: Tensor, y: Tensor) -> Tensor:
    x.scatter_add_(1, torch.zeros(4, 2, dtype=torch.int64), y.clone())
    return x * x


@program()
def scatter_in_place(x: Tensor, y: Tensor) -> Tensor:
    x.scatter_(0, torch.ones(1, 4, dtype=torch.int64), y.exp())
    return x * 2


@program()
def index_fill_in_place(x: Tensor, y: Tensor) -> Tensor:
    x.index_fill_(1, torch.tensor([0]), -1.0)
    return x + y


@program()
def squeezed_written(x: Tensor, y: Tensor) -> Tensor:
    x.unsqueeze(0).squeeze(0)[3].neg_()
    return x * 1.5


@program()
def narrow_written(x: Tensor, y: Tensor) -> Tensor:
    x.narrow(0, 1, 2).zero_()
    return x + y


@program()
def chunk_written(x: Tensor, y: Tensor) -> Tensor:
    a, _ = x.chunk(2)
    a.add_(1)
    return x * 2


@program()
def split_written(x: Tensor, y: Tensor) -> Tensor:
    parts = x.split(2, 1)
    parts[1].mul_(y[:, :2].clone())
    return x.sum(0)


@program()
def unbind_written(x: Tensor, y: Tensor) -> Tensor:
    for place, row in enumerate(x.unbind(0)):
        row.add_(place)
    return x + y


@program()
def fresh_chunk_written(x: Tensor, y: Tensor) -> Tensor:
    a, b = (x * 2).chunk(2)
    a.add_(b)
    return a


@program()
def expanded_written(x: Tensor, y: Tensor) -> Tensor:
    x[:1].expand(4, 4).add_(y)
    return x * 2


@program()
def fresh_expanded_written(x: Tensor, y: Tensor) -> Tensor:
    z = (x[0] * 2).expand(4, 4)
    z.mul_(2)
    return z


@program()
def as_strided_written(x: Tensor, y: Tensor) -> Tensor:
    z = x + y
    z.as_strided((2,), (5,)).add_(3)
    return z


@program()
def dtype_view_read_before(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    bits = x.detach().view(torch.int32)
    before = bits + 0
    with torch.no_grad():
        x.add_(1)
    return before, bits + 0


@program()
def dtype_view_written(x: Tensor, y: Tensor) -> Tensor:
    x.detach().view(torch.int32)[0].zero_()
    return x * 2 + y


@program()
def dtype_view_of_fresh(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    z = (x + y).detach()
    bits = z.view(torch.int32)
    z.neg_()
    return z, bits


# -- results that show arguments, or one another ------------------------------------------------------------


@program()
def argument_returned(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    return x, y, x


@program()
def argument_and_sum(x: Tensor, y: Tensor) -> dict[str, Tensor]:
    return {"x": x, "sum": x + y}


@program()
def view_of_argument(x: Tensor, y: Tensor) -> Tensor:
    return x.view(2, 8)


@program()
def view_of_argument_and_more(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    return x.t(), x[1], (x * y).sum()


@program()
def view_of_view_of_argument(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    return x[1:].t()[:2], y.unsqueeze(1)


@program()
def view_of_written_argument(x: Tensor, y: Tensor) -> Tensor:
    x.mul_(2)
    return x[:, 1]


@program()
def view_taken_before_the_write(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    row = x[1]
    x.mul_(2)
    return row, x * y.clone()


@program()
def written_view_returned(x: Tensor, y: Tensor) -> Tensor:
    row = x[1]
    row.mul_(2)
    return row


@program()
def two_views_of_one_result(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    z = x * y
    return z[0], z[1:]


@program()
def result_and_its_view(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    z = x @ y
    return z, z.t()


@program()
def result_its_view_and_another(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    z = x.sin()
    return z.view(-1), z, z[::2], y.cos()


@program()
def view_alone(x: Tensor, y: Tensor) -> Tensor:
    return (x + y).view(-1)


@program()
def view_with_gaps(x: Tensor, y: Tensor) -> Tensor:
    return (x * y)[:, ::2]


@program()
def view_with_offset(x: Tensor, y: Tensor) -> Tensor:
    return (x - y)[1:, 1:].t()


@program()
def expanded_result(x: Tensor, y: Tensor) -> Tensor:
    return (x * y).sum(0).expand(3, 4)


@program()
def halves(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    return (x + 2 * y).chunk(2)


@program()
def one_half(x: Tensor, y: Tensor) -> Tensor:
    return (x + 2 * y).chunk(2)[1]


@program()
def rows(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    return (x.exp() * y).unbind()


@program()
def split_of_argument(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    return x.split([1, 3])


@program()
def same_result_twice(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    z = x + y
    return z, z


@program()
def equal_results(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    return x + y, x + y


@program()
def written_result_and_view(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    z = x * 2
    row = z[0]
    z.add_(y)
    row.mul_(3)
    return z, row


@program()
def detached_and_result(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    z = x * y
    return z, z.detach()


@program()
def detached_argument(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    return x.detach(), y + 1


@program()
def detached_view_of_argument(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    return x[1].detach(), x[2].detach()[1:]


@program()
def contiguous_argument(x: Tensor, y: Tensor) -> Tensor:
    return y.contiguous()


@program()
def reshaped_argument(x: Tensor, y: Tensor) -> Tensor:
    return y.reshape(-1)


@program()
def converted_argument(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    return x.to(torch.float32), y.to(torch.float64)


@program()
def expanded_argument(x: Tensor, y: Tensor) -> Tensor:
    return x[0].expand(5, 4)


@program()
def view_as_argument(x: Tensor, y: Tensor) -> Tensor:
    return x.view_as(y)


@program()
def alias_in_no_grad(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    with torch.no_grad():
        z = x.view(-1)
    return z, x * 2


@program()
def narrow_of_result(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    z = x.tanh()
    return z.narrow(1, 1, 2), z.diagonal()


@program()
def movedim_of_argument(x: Tensor, y: Tensor) -> Tensor:
    return x.view(2, 2, 4).movedim(0, 2)


@program()
def squeezed_result(x: Tensor, y: Tensor) -> Tensor:
    return (x @ y).unsqueeze(0).squeeze()


@program()
def real_part(x: Tensor, y: Tensor) -> Tensor:
    return torch.view_as_real(torch.complex(x, y).conj().resolve_conj())


@program()
def linear_of_three_dims(x: Tensor, y: Tensor) -> Tensor:
    return F.linear(x.view(2, 2, 4), y.clone())


@program()
def view_of_integers(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    order = x.argsort(1)
    return order[0], order.t()


@program()
def constants_that_alias(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    z = torch.ones(3, 4)
    return z[0], z, x * 2


@program()
def written_constant_becomes_differentiable(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    z = torch.zeros(3, 4)
    z[1] = x[0]
    return z, z[2]


@program()
def unfolded(x: Tensor, y: Tensor) -> Tensor:
    return (x * y).unfold(1, 2, 1)


@program()
def flipped_is_a_copy(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    return x.flip(0), x.t().contiguous()


# -- detach, requires_grad_, leaves, modes ------------------------------------------------------------------


@program()
def detach_then_write(x: Tensor, y: Tensor) -> Tensor:
    x.detach().mul_(2)
    return x * y.clone()


@program()
def write_through_data(x: Tensor, y: Tensor) -> Tensor:
    x.data.mul_(2)
    return x * y.clone()


@program()
def detached_result_written(x: Tensor, y: Tensor) -> Tensor:
    z = x + y
    z.detach().mul_(2)
    return z.sum()


@program()
def saved_then_written(x: Tensor, y: Tensor) -> Tensor:
    z = x.exp()
    z.add_(1)
    return z.sum()


@program()
def saved_then_written_detached(x: Tensor, y: Tensor) -> Tensor:
    z = x.exp()
    z.detach().add_(1)
    return z.sum()


@program()
def argument_saved_then_written(x: Tensor, y: Tensor) -> Tensor:
    z = x * y
    with torch.no_grad():
        x.add_(1)
    return z.sum()


@program()
def detached_in_place(x: Tensor, y: Tensor) -> Tensor:
    z = x * y
    z.detach_()
    return z + 1


@program()
def leaf_made_inside(x: Tensor, y: Tensor) -> Tensor:
    z = torch.ones(4, requires_grad=True)
    return (x * z).sum()


@program()
def leaf_made_and_returned(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    z = torch.ones(4).requires_grad_()
    return z, x * y


@program()
def requires_grad_of_detached(x: Tensor, y: Tensor) -> Tensor:
    z = (x * y).detach().requires_grad_()
    return z * 2


@program()
def requires_grad_of_argument(x: Tensor, y: Tensor) -> Tensor:
    x.requires_grad_()
    return x * y


@program()
def requires_no_grad_of_argument(x: Tensor, y: Tensor) -> Tensor:
    x.requires_grad_(False)
    return x + y


@program()
def no_grad_block(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    with torch.no_grad():
        z = x * 2
        z.add_(y)
    return z, z * y


@program()
def write_in_no_grad_block(x: Tensor, y: Tensor) -> Tensor:
    with torch.no_grad():
        x.mul_(0.5)
        x[0] = 1
    return x + y


@program()
def view_made_in_no_grad_written_outside(x: Tensor, y: Tensor) -> Tensor:
    with torch.no_grad():
        z = x[0]
    z.add_(1)
    return x * 2


@program()
def enable_grad_block(x: Tensor, y: Tensor) -> Tensor:
    with torch.enable_grad():
        z = x * y
    return z.sum()


@program()
def metadata_after_write(x: Tensor, y: Tensor) -> tuple[Tensor, bool, bool]:
    z = torch.zeros(4, 4)
    before = z.requires_grad
    z.add_(x)
    return z, before, z.requires_grad


@program()
def argument_metadata_after_write(x: Tensor, y: Tensor) -> tuple[Tensor, bool, bool]:
    x.mul_(y)
    return x + 1, x.requires_grad, x.is_leaf


@program()
def alias_metadata_after_write(x: Tensor, y: Tensor) -> tuple[bool, bool]:
    before = x.requires_grad
    y.detach().mul_(2)
    return before, x.is_leaf


@program()
def one_result_needs_none(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    return x * y, (x > 0).sum(), x.detach() * 2, x.argmax()


@program()
def mixed_autocast(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    with torch.autocast("cpu", torch.bfloat16):
        z = x @ y
        with torch.autocast("cpu", enabled=False):
            w = x @ y
    z.add_(1)
    return z.float(), w


# -- resize_, set_, in-place reshaping -----------------------------------------------------------------------


@program()
def resize_fresh(x: Tensor, y: Tensor) -> Tensor:
    z = (x + y).detach()
    z.resize_(2, 8)
    return z * 2


@program()
def resize_argument(x: Tensor, y: Tensor) -> Tensor:
    x.resize_(2, 8)
    return x * 2


@program()
def resize_view(x: Tensor, y: Tensor) -> Tensor:
    z = x.detach()[:2]
    z.resize_(4)
    return z + 1


@program()
def set_argument(x: Tensor, y: Tensor) -> Tensor:
    with torch.no_grad():
        x.set_(y)
    return x * 2


@program()
def set_fresh(x: Tensor, y: Tensor) -> Tensor:
    z = torch.empty(0)
    z.set_(y.detach())
    z.add_(1)
    return x * z


@program()
def data_replaced(x: Tensor, y: Tensor) -> Tensor:
    x.data = y.detach() * 2
    return x + 1


@program()
def transposed_in_place(x: Tensor, y: Tensor) -> Tensor:
    z = x * y
    z.t_()
    return z[0]


@program()
def argument_transposed_in_place(x: Tensor, y: Tensor) -> Tensor:
    x.t_()
    return x + y


@program()
def squeezed_in_place(x: Tensor, y: Tensor) -> Tensor:
    z = (x * y).unsqueeze(0)
    z.squeeze_(0)
    z.add_(1)
    return z


# -- what the program holds ----------------------------------------------------------------------------------


@program.made()
def held_in_a_list() -> Any:
    held = [torch.zeros(4, 4), torch.ones(4)]

    def run(x: Tensor, y: Tensor) -> Tensor:
        held[0].add_(x.detach())
        return held[0] * y + held[1]

    return run, held


@program.made()
def held_in_a_dict() -> Any:
    held = {"count": torch.zeros((), dtype=torch.int64), "sum": torch.zeros(4)}

    def run(x: Tensor, y: Tensor) -> Tensor:
        held["count"] += 1
        held["sum"].copy_(x.detach().sum(0))
        return y + held["sum"] / held["count"]

    return run, list(held.values())


@program.made()
def held_in_a_closure() -> Any:
    held = torch.ones(4, 4)

    def run(x: Tensor, y: Tensor) -> Tensor:
        held.mul_(2)
        return x * held.clone() + y

    return run, [held]


@program.made()
def held_view_is_written() -> Any:
    held = torch.ones(6, 4)
    views = [held[:4], held[2:]]

    def run(x: Tensor, y: Tensor) -> Tensor:
        views[0].mul_(2)
        return x + views[1]

    return run, [held, *views]


@program.made()
def held_takes_differentiable() -> Any:
    held = [torch.zeros(4, 4)]

    def run(x: Tensor, y: Tensor) -> Tensor:
        held[0].add_(x)
        return held[0] * y.clone()

    return run, held


class Counting(nn.Module):
    mean: Tensor
    steps: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(4))
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))
        self.weight = nn.Parameter(torch.linspace(-1, 1, 16).view(4, 4))

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        self.steps.add_(1)
        self.mean.mul_(0.9).add_(x.detach().mean(0), alpha=0.1)
        return (x - self.mean) @ self.weight + y


@program.made()
def buffers_of_a_module() -> Any:
    module = Counting()
    return module, list(module.buffers())


@program.made()
def batch_norm() -> Any:
    module = nn.BatchNorm1d(4)

    def run(x: Tensor, y: Tensor) -> Tensor:
        return module(x) * y

    return run, list(module.buffers())


@program.made()
def batch_norm_twice() -> Any:
    module = nn.BatchNorm1d(4, momentum=0.3)

    def run(x: Tensor, y: Tensor) -> Tensor:
        return module(module(x) + y)

    return run, list(module.buffers())


@program.made()
def batch_norm_without_gradients() -> Any:
    module = nn.BatchNorm1d(4, affine=False)

    def run(x: Tensor, y: Tensor) -> Tensor:
        with torch.no_grad():
            z = module(x)
        return z * y

    return run, list(module.buffers())


@program.made()
def running_statistics_by_function() -> Any:
    mean, var = torch.zeros(4), torch.ones(4)

    def run(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        z = F.batch_norm(x, mean, var, training=True)
        return z, mean * 2

    return run, [mean, var]


@program.made()
def instance_norm_statistics() -> Any:
    mean, var = torch.zeros(2), torch.ones(2)

    def run(x: Tensor, y: Tensor) -> Tensor:
        return F.instance_norm(x.view(2, 2, 4), mean, var) + y.view(2, 2, 4)

    return run, [mean, var]


@program.made()
def ema_of_a_parameter() -> Any:
    weight, average = nn.Parameter(torch.ones(4)), torch.zeros(4)

    def run(x: Tensor, y: Tensor) -> Tensor:
        with torch.no_grad():
            average.lerp_(weight, 0.1)
        return x * weight + y * average.clone()

    return run, [average]


@program.made()
def parameter_written_in_no_grad() -> Any:
    weight = nn.Parameter(torch.ones(4))

    def run(x: Tensor, y: Tensor) -> Tensor:
        with torch.no_grad():
            weight.mul_(0.5)
        return x * weight + y

    return run, ()


@program.made()
def parameter_returned() -> Any:
    weight = nn.Parameter(torch.ones(4, 4))

    def run(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
        return weight, weight[1], x @ weight

    return run, ()


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return 3 * x * grad


class Flattened(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.view(-1)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return 5 * grad.view(4, 4)


class Filled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.mark_dirty(x)
        return x.fill_(2)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return 7 * grad


@program()
def function_of_the_program(x: Tensor, y: Tensor) -> Tensor:
    return Doubled.apply(x) + y


@program()
def function_that_returns_a_view(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    return Flattened.apply(x), Flattened.apply(y * 2)


@program()
def function_that_writes(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    z = x * y
    return Filled.apply(z), Filled.apply(y * 1)


@program()
def function_that_writes_an_argument(x: Tensor, y: Tensor) -> Tensor:
    return Filled.apply(x) + y


# -- after the call -----------------------------------------------------------------------------------------


def written_afterwards(results: Sequence[Tensor], inputs: Sequence[Tensor], roots: object) -> object:
    """The results are written; then gradients of the first."""
    loss = weighted(results[0])
    for one in results:
        with torch.no_grad():
            one.mul_(2)
    if loss.requires_grad:
        loss.backward()
    return [one.detach() for one in (*results, *inputs)]


def written_and_differentiated(results: Sequence[Tensor], inputs: object, roots: object) -> object:
    """Results are written as part of the graph; then gradients of all."""
    errors = [attempt(one.mul_, 2) for one in results[1:]]
    loss = loss_of(results)
    if loss is not None:
        loss.backward()
    return [isinstance(one, Tensor) or one for one in errors]


@program(after=written_afterwards)
def sum_written_afterwards(x: Tensor, y: Tensor) -> Tensor:
    return x + y


@program(after=written_afterwards)
def product_and_view_written_afterwards(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    z = x * y
    return z * 2, z[0]


@program(after=written_afterwards)
def view_of_argument_written_afterwards(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    return x.sin(), y.detach()[1:]


@program(after=written_and_differentiated)
def results_written_in_the_graph(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    z = x + y
    return z.sum(), z, z.view(-1)[3:]


@program(after=written_and_differentiated)
def halves_written_in_the_graph(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    return (x * y).sum(), *(x + y).chunk(2)


@program(after=written_and_differentiated)
def half_written_in_the_graph(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    return x.sum(), (x + y).unbind()[1]


@program(after=written_and_differentiated)
def views_of_argument_written_in_the_graph(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    return (y * 2).sum(), x[1:], x.view(-1)


@program(after=written_and_differentiated)
def no_grad_view_written_in_the_graph(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    z = x * y
    with torch.no_grad():
        row = z[0]
    return z, row


def only_the_first(results: Sequence[Tensor], inputs: object, roots: Sequence[Tensor]) -> object:
    """Gradients of the first result alone: those of what it does not depend on are None."""
    if results and results[0].requires_grad:
        weighted(results[0]).backward()
    return None


@program(after=only_the_first)
def apart(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    return x * 2, y * 3


@program(after=only_the_first)
def apart_but_for_a_view(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    z = x.sin()
    return z[0], z, y.exp()


@program(after=only_the_first)
def apart_and_written(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    y.mul_(2)
    return x * 2, y * 3


def hooked(results: Sequence[Tensor], inputs: Sequence[Tensor], roots: Sequence[Tensor]) -> object:
    """Hooks on arguments and results see gradients, and change them."""
    seen: list[Tensor] = []
    for one in (*inputs, *results):
        if one.requires_grad:
            one.register_hook(lambda grad: seen.append(grad) or grad * 2)
    loss = loss_of(results)
    if loss is not None:
        loss.backward()
    return seen


@program(after=hooked)
def hooks_on_all(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    return (x * y).sin(), x + y


@program(after=hooked)
def hooks_on_views(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    z = x * y
    return z[0], z.t(), y[1]


def again_and_again(results: Sequence[Tensor], inputs: object, roots: object) -> object:
    """Backward runs thrice, then once too often."""
    loss = loss_of(results)
    if loss is None:
        return None
    loss.backward(retain_graph=True)
    loss.backward(retain_graph=True)
    loss.backward()
    return attempt(loss.backward)


@program(after=again_and_again)
def many_backwards(x: Tensor, y: Tensor) -> Tensor:
    return (x * y).exp().sum(1)


@program(after=again_and_again)
def many_backwards_of_views(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    z = (x @ y).tanh()
    return z[0], z[1:], x.t()


@program(after=again_and_again)
def many_backwards_of_written(x: Tensor, y: Tensor) -> Tensor:
    z = x.sin()
    z[0] *= y[0]
    return z * 2


def strided(results: Sequence[Tensor], inputs: object, roots: object) -> object:
    """What flows in is not contiguous: transposed, and expanded."""
    grads = [
        torch.ones(1).expand(one.shape) if one.dim() < 2 else one.detach().t().cos().t() for one in results
    ]
    pairs = [(one, grad) for one, grad in zip(results, grads, strict=True) if one.requires_grad]
    if pairs:
        torch.autograd.backward([one for one, _ in pairs], [grad for _, grad in pairs])
    return None


@program(after=strided)
def strided_tangents(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    return x @ y, (x * y).sum(), x.sum(0)


@program(after=strided)
def strided_tangents_of_views(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    z = x * y
    return z.t(), z[0], z


def higher(results: Sequence[Tensor], inputs: object, roots: Sequence[Tensor]) -> object:
    """Gradients of gradients, and of these."""
    sources = [root for root in roots if root.requires_grad]
    loss = loss_of(results)
    found: list[object] = []
    for _ in range(3):
        if loss is None or not sources or not loss.requires_grad:
            break
        grads = torch.autograd.grad(loss, sources, create_graph=True, allow_unused=True)
        found.append([None if grad is None else grad.detach() for grad in grads])
        loss = sum((weighted(grad.sin()) for grad in grads if grad is not None), torch.zeros(()))
    return found


@program(after=higher)
def third_order(x: Tensor, y: Tensor) -> Tensor:
    return (x.sin() * y.exp()).sum(1)


@program(after=higher)
def third_order_of_views(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    z = x.sin() * y
    return z[0], z.t(), z


@program(after=higher)
def third_order_of_written(x: Tensor, y: Tensor) -> Tensor:
    z = x.sin()
    z[1:] *= y[1:].cos()
    return z


@program(after=higher)
def third_order_of_written_argument(x: Tensor, y: Tensor) -> Tensor:
    z = (x * 1).sin_()
    y.mul_(2)
    return z * y


@program.made(after=higher)
def third_order_of_batch_norm() -> Any:
    module = nn.BatchNorm1d(4)

    def run(x: Tensor, y: Tensor) -> Tensor:
        return module(x).sin() * y

    return run, list(module.buffers())


@program.made(after=higher)
def second_order_with_a_written_buffer() -> Any:
    held = torch.ones(4)

    def run(x: Tensor, y: Tensor) -> Tensor:
        z = x.sin() * held.clone()
        held.mul_(2)
        return z * y

    return run, [held]


def added_to_the_argument(results: Sequence[Tensor], inputs: Sequence[Tensor], roots: object) -> object:
    """A result is added to the first argument, as residual networks do."""
    error = attempt(inputs[0].add_, results[0])
    loss = loss_of(inputs)
    if loss is not None:
        loss.backward()
    return error if not isinstance(error, Tensor) else None


@program(after=added_to_the_argument, modes=("plain", "inner", "no_grad", "inference"))
def residual(x: Tensor, y: Tensor) -> Tensor:
    return (x.sum(0) + y).exp()


@program(after=added_to_the_argument)
def residual_whose_argument_is_kept(x: Tensor, y: Tensor) -> Tensor:
    return x.exp() * x


@program.made()
def statistics_read_around_batch_norm() -> Any:
    mean, var = torch.zeros(4), torch.ones(4)

    def run(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
        before = mean * 2
        z = F.batch_norm(x, mean, var, training=True)
        return before, z, mean.clone(), var + y

    return run, [mean, var]


@program()
def batch_norm_of_fresh_statistics(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    mean, var = x.detach()[0].clone(), x.detach()[1].abs()
    z = F.batch_norm(y, mean, var, training=True)
    return z, mean + var


def gradient_penalty(results: Sequence[Tensor], inputs: object, roots: Sequence[Tensor]) -> object:
    """The norm of the gradient in the loss, as WGAN-GP has it."""
    sources = [root for root in roots if root.requires_grad]
    if sources and results[0].requires_grad:
        grads = torch.autograd.grad(results[0].sum(), sources[:1], create_graph=True)
        ((grads[0].norm(2, dim=1) - 1).square().mean() + results[0].mean()).backward()
    return None


@program(after=gradient_penalty, modes=("leaf", "inner"))
def critic(x: Tensor, y: Tensor) -> Tensor:
    return torch.tanh(F.leaky_relu(x @ y, 0.2) @ y.t())[:, 0]


@program(after=gradient_penalty, modes=("leaf", "inner"))
def energy(x: Tensor, y: Tensor) -> Tensor:
    apart = (x[:, None] - x[None]).square().sum(-1) + 1
    return (-apart * y.exp()).exp().sum(1)


def three_backwards_through_the_argument(
    results: Sequence[Tensor], inputs: Sequence[Tensor], roots: object
) -> object:
    """A result of the graph is where the next call begins."""
    if results[0].requires_grad:
        results[0].mul_(0.5)
        weighted(results[0].sin()).backward()
    return None


@program(after=three_backwards_through_the_argument)
def product_written_in_the_graph(x: Tensor, y: Tensor) -> Tensor:
    return F.linear(x.view(2, 2, 4), y.clone())


@program()
def detached_library_calls(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    z = x[torch.tensor([0, 1])]
    z.detach_()
    return z, (x @ y).detach()


@program(after=only_the_first)
def zeroed_argument_of_another_result(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    y.div_(2)
    x.zero_()
    return y[0], x.sin()


@program()
def detached_and_made_differentiable(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    z = x + y
    w = y.detach()
    w[0] = z[1].clone()
    return z, w


@program()
def argument_detached_in_place(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    row = x.unbind()[1]
    with torch.no_grad():
        x.detach_()
    return row, y * 2


@program()
def write_before_a_call_that_raises(x: Tensor, y: Tensor) -> Tensor:
    with torch.no_grad():
        x.add_(1)
        x.index_add_(0, torch.tensor([0]), y[0, :1].clone())
    return y * 2


CASES = program.cases
RAISES = frozenset(
    (
        "chunk_written split_written unbind_written fresh_chunk_written expanded_written "
        "fresh_expanded_written view_made_in_no_grad_written_outside resize_argument "
        "requires_no_grad_of_argument write_before_a_call_that_raises scatter_add_in_place scatter_in_place "
        "saved_then_written saved_then_written_detached argument_saved_then_written set_argument"
    ).split()
)
"""The programs of which eager raises, in the call or in backward, where gradients flow."""
LEFT_TO_EAGER = frozenset(
    (
        "as_strided_written dtype_view_written real_part leaf_made_inside leaf_made_and_returned "
        "argument_detached_in_place detached_and_made_differentiable "
        "requires_grad_of_detached resize_fresh resize_view set_fresh data_replaced transposed_in_place "
        "argument_transposed_in_place squeezed_in_place function_that_returns_a_view"
    ).split()
)
"""The other programs that are not compiled whole where gradients flow: they break, or run as captured."""


def check_whole(name: str) -> None:
    """Assert that a program is compiled without a break and without eager, or listed as one that is not."""
    program_, held = CASES[name].make()
    CASES[name].outcome(supple.compile(program_), held, "separate", "inner")
    stats = supple.stats()
    is_left = any(stats[key] for key in ("refusals", "breaks", "fallbacks"))
    assert is_left == (name in RAISES | LEFT_TO_EAGER), stats


@pytest.mark.parametrize("name", CASES)
def test_native_code_leaves_what_eager_leaves(name: str) -> None:
    check_whole(name)
    CASES[name].check("native")
    reasons = cast("list[str]", supple.stats()["fallback_reasons"])
    assert all("[B113]" in reason for reason in reasons)  # eager raises too


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", CASES)
def test_captured_graphs_leave_what_eager_leaves(name: str, backend: str) -> None:
    CASES[name].check(backend)


def test_most_programs_are_compiled_whole() -> None:
    assert len(CASES) >= 150
    assert len(LEFT_TO_EAGER) <= 16


def test_a_result_added_to_an_argument_is_freed() -> None:
    run = supple.compile(lambda x, w: (x.sum(0) + w).exp())
    weight = torch.ones(4, 4, requires_grad=True)
    gone = []
    for _ in range(3):
        x = torch.ones(4, 4, requires_grad=True) * 1
        x += run(x, weight)
        gone.append(weakref.ref(x))
        del x
    gc.collect()
    assert all(one() is None for one in gone)


def test_after_backward_a_result_holds_no_arguments() -> None:
    run = supple.compile(lambda x, w: (x @ w).tanh().sum())
    weight = torch.ones(4, 4, requires_grad=True)
    run(torch.ones(4, 4), weight)
    x = torch.ones(4, 4)
    loss, kept = run(x, weight), weakref.ref(x)
    loss.backward(retain_graph=True)
    assert kept() is not None
    loss.backward()
    del x
    assert kept() is None
    with pytest.raises(RuntimeError, match="second time"):
        torch.autograd.grad(loss, weight, create_graph=True)


def test_a_result_sees_the_gradients_that_flow_in_from_outside() -> None:
    # Eager also shows those that flow from later results of the same graph.
    def function(x: Tensor) -> tuple[Tensor, Tensor]:
        y = x * 2
        return y, y.sin()

    x = torch.ones(3, requires_grad=True)
    first, second = supple.compile(function)(x)
    seen: list[Tensor] = []
    first.register_hook(seen.append)
    (first.sum() + second.sum()).backward()
    assert [one.tolist() for one in seen] == [[1.0] * 3]
    torch.testing.assert_close(x.grad, 2 + 2 * (2 * torch.ones(3)).cos())

"""Programs that write to arguments and to views of them."""

# pyright: reportUnknownMemberType=false, reportArgumentType=false, reportIncompatibleMethodOverride=false

import torch
import torch.nn.functional as F

from tests.training.aliases.harness import Corpus

Tensor = torch.Tensor
program = Corpus()


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

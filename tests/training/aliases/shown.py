"""Programs whose results show arguments or one another; detached tensors, leaves, modes."""

# pyright: reportUnknownMemberType=false, reportArgumentType=false, reportIncompatibleMethodOverride=false

import torch
import torch.nn.functional as F

from tests.training.aliases.harness import Corpus

Tensor = torch.Tensor
program = Corpus()


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

"""Programs of which more is seen after the call: gradients, hooks, later writes."""

# pyright: reportUnknownMemberType=false, reportArgumentType=false, reportIncompatibleMethodOverride=false

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from tests.training.aliases.harness import Corpus, attempt, loss_of, weighted

Tensor = torch.Tensor
program = Corpus()


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

"""Results of one compiled function that backward goes through one after the other, in batches, or not."""

import gc
import weakref
from collections.abc import Callable, Sequence

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import supple

Program = Callable[..., tuple[Tensor, ...]]


def weights() -> list[nn.Parameter]:
    torch.manual_seed(0)
    return [nn.Parameter(torch.randn(3, 3)) for _ in range(2)]


def of_two_weights(x: Tensor, v: Tensor, w: Tensor) -> tuple[Tensor, ...]:
    return (x @ v).exp().sum(), (x @ w).sin().sum()


def of_one_weight(x: Tensor, v: Tensor, w: Tensor) -> tuple[Tensor, ...]:
    return (x @ v).exp().sum(), (v * 3).exp().sum()


def with_a_shared_sum(x: Tensor, v: Tensor, w: Tensor) -> tuple[Tensor, ...]:
    both = v + w  # keeps nothing
    return both.exp().sum(), both.sin().sum()


def of_a_detached_value(x: Tensor, v: Tensor, w: Tensor) -> tuple[Tensor, ...]:
    made = x @ v
    return (made.detach() @ w).sin().mean(), (made @ w).sin().mean()


def three_of_which_two_share(x: Tensor, v: Tensor, w: Tensor) -> tuple[Tensor, ...]:
    hidden = (x @ v).tanh()
    return (x @ w).sin().sum(), hidden.sum() + hidden.square().sum(), (w * w).sum()


def with_dropout(x: Tensor, v: Tensor, w: Tensor) -> tuple[Tensor, ...]:
    return F.dropout(x @ v, 0.5).sum(), F.dropout(x @ w, 0.5).exp().sum()


def views_of_two_values(x: Tensor, v: Tensor, w: Tensor) -> tuple[Tensor, ...]:
    return (x @ v).exp()[:1].sum(), (x @ w).exp().t()[0].sum()


def a_result_that_another_keeps(x: Tensor, v: Tensor, w: Tensor) -> tuple[Tensor, ...]:
    first = (x @ v).exp().sum()
    return first, (w * first.detach()).exp().sum()


PROGRAMS: Sequence[Program] = (
    of_two_weights, of_one_weight, with_a_shared_sum, of_a_detached_value, three_of_which_two_share,
    with_dropout, views_of_two_values, a_result_that_another_keeps,
)  # fmt: skip


def gradients_one_by_one(program: Program, order: Sequence[int]) -> list[Tensor | None]:
    x, (v, w) = torch.linspace(-1.0, 1.0, 9).reshape(3, 3), weights()
    results = program(x, v, w)
    for place in order:
        results[place % len(results)].backward()
    return [*results, v.grad, w.grad]


# E2
@pytest.mark.parametrize("order", [(0, 1), (1, 0), (0,), (1,)], ids=str)
@pytest.mark.parametrize("program", PROGRAMS)
def test_independent_results_have_backwards_of_their_own(program: Program, order: Sequence[int]) -> None:
    compiled = supple.compile(program, fullgraph=True)
    torch.manual_seed(1)
    want = gradients_one_by_one(program, order)
    torch.manual_seed(1)
    got = gradients_one_by_one(compiled, order)
    torch.testing.assert_close(got, want)


def test_dependent_results_share_a_backward_that_runs_once_as_in_eager() -> None:
    def program(x: Tensor, v: Tensor, w: Tensor) -> tuple[Tensor, ...]:
        hidden = (x @ v).exp()
        return hidden.sum(), (hidden @ w).sum()

    for run in (program, supple.compile(program, fullgraph=True)):
        with pytest.raises(RuntimeError, match="backward through the graph a second time"):
            gradients_one_by_one(run, (0, 1))


@pytest.mark.parametrize("program", PROGRAMS)
def test_all_at_once_and_with_gradients_of_gradients(program: Program) -> None:
    found: list[list[Tensor]] = []
    for run in (program, supple.compile(program, fullgraph=True)):
        torch.manual_seed(1)
        x, (v, w) = torch.linspace(-1.0, 1.0, 9).reshape(3, 3), weights()
        results = run(x, v, w)
        whole = torch.stack([result.reshape(()) for result in results]).sum()
        first = torch.autograd.grad(whole, (v, w), create_graph=True, materialize_grads=True)
        second = torch.autograd.grad(
            sum(grad.square().sum() for grad in first), (v, w), materialize_grads=True
        )
        found.append([*results, *first, *second])
    torch.testing.assert_close(found[1], found[0])


def test_the_step_of_a_gan_goes_back_twice() -> None:
    def trained(step: Callable[[nn.Module, nn.Module, Tensor], tuple[Tensor, ...]]) -> list[Tensor | None]:
        torch.manual_seed(0)
        generator, critic, noise = nn.Linear(3, 3), nn.Linear(3, 1), torch.randn(4, 3)
        losses = step(generator, critic, noise)
        return [*losses, *(p.grad for p in (*generator.parameters(), *critic.parameters()))]

    def step(generator: nn.Module, critic: nn.Module, noise: Tensor) -> tuple[Tensor, ...]:
        fake = generator(noise)
        of_critic = critic(fake.detach()).mean()
        of_critic.backward()
        of_generator = critic(fake).mean()
        of_generator.backward()
        return of_critic.detach(), of_generator.detach()

    torch.testing.assert_close(trained(supple.compile(step)), trained(step))


def test_what_backward_keeps_is_freed_when_the_results_are() -> None:
    def program(v: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
        first = v.exp()
        second = (w * first.detach()).exp()
        return first, second

    compiled = supple.compile(program, fullgraph=True)
    gc.disable()
    try:
        results = compiled(*weights())
        seen = [weakref.ref(result.grad_fn) for result in results]
        del results
        assert [ref() for ref in seen] == [None, None]
    finally:
        gc.enable()


# B7
def batched(x: Tensor) -> Tensor:
    return (x * x).sin()


def batched_with_dropout(x: Tensor) -> Tensor:
    return F.dropout(x, 0.5) * x


@pytest.mark.parametrize("program", [batched, batched_with_dropout])
def test_a_batch_of_gradients_flows_through_a_compiled_function(program: Callable[[Tensor], Tensor]) -> None:
    found: list[Tensor] = []
    for run in (program, supple.compile(program, fullgraph=True)):
        torch.manual_seed(2)
        x = torch.linspace(-2.0, 1.0, 4, requires_grad=True)
        found += torch.autograd.grad(run(x), x, torch.eye(4), is_grads_batched=True)
    torch.testing.assert_close(found[1], found[0])


@pytest.mark.parametrize("vectorize", [False, True])
@pytest.mark.parametrize("name", ["jacobian", "hessian"])
def test_jacobians_of_a_compiled_function(name: str, vectorize: bool) -> None:
    def program(x: Tensor) -> Tensor:
        return (x * x).sin() if name == "jacobian" else (x * x).sin().sum()

    derive = getattr(torch.autograd.functional, name)
    x = torch.linspace(-2.0, 1.0, 4)
    got = derive(supple.compile(program, fullgraph=True), x, vectorize=vectorize)
    torch.testing.assert_close(got, derive(program, x, vectorize=vectorize))


# E3
class Head(nn.Module):
    """Two resized feature maps, fused and classified; channels come last."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.lin, self.fuse, self.classify = nn.Linear(8, 32), nn.Conv2d(64, 16, 1), nn.Conv2d(16, 5, 1)

    def up(self, x: Tensor) -> Tensor:
        flat = self.lin(x.flatten(2).transpose(1, 2)).permute(0, 2, 1)
        return F.interpolate(flat.reshape(2, 32, *x.shape[2:]), size=(8, 8), mode="bilinear")

    def forward(self, a: Tensor, b: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        z = self.classify(self.fuse(torch.cat((self.up(a), self.up(b)), 1)).relu())
        return F.cross_entropy(F.interpolate(z, size=(32, 32), mode="bilinear"), y), z


@pytest.mark.parametrize("both", [False, True])
def test_libraries_get_operands_in_eagers_layout(both: bool) -> None:
    torch.manual_seed(0)
    given = torch.randn(2, 8, 4, 4), torch.randn(2, 8, 8, 8), torch.randint(5, (2, 32, 32))
    grads: list[list[Tensor | None]] = []
    for make in (Head, lambda: supple.compile(Head(), fullgraph=True)):
        module = make()
        loss, scores = module(*given)
        (loss + scores.sum() if both else loss).backward()
        grads.append([p.grad for p in module.parameters()])
    torch.testing.assert_close(grads[1], grads[0])


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_losses_of_images_in_each_layout(layout: torch.memory_format, reduction: str) -> None:
    def program(x: Tensor, y: Tensor) -> Tensor:
        return F.nll_loss(torch.log_softmax(x.contiguous(memory_format=layout), 1), y, reduction=reduction)

    torch.manual_seed(0)
    y = torch.randint(5, (2, 8, 8))
    found: list[Tensor] = []
    for run in (program, supple.compile(program, fullgraph=True)):
        torch.manual_seed(1)
        x = torch.randn(2, 5, 8, 8, requires_grad=True)
        found += torch.autograd.grad(run(x, y).sum(), x)
    torch.testing.assert_close(found[1], found[0])

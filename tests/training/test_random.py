"""Random numbers in compiled code are eager's, forward and in training. X-AD08"""

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
import transformers
from torch import nn
from torch.nn import functional as F

import supple

X = torch.linspace(-1, 1, 32).view(4, 8)
P = X.sigmoid()

DRAWS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "dropout": lambda x: F.dropout(x, 0.4) + 1,
    "dropout in place": lambda x: F.dropout(x + 1, 0.4, inplace=True),
    "dropout of channels": lambda x: F.dropout1d(x, 0.4),
    "alpha dropout": lambda x: F.alpha_dropout(x, 0.4, training=True),
    "rand": lambda x: torch.rand(4, 8) + x,
    "rand_like": lambda x: torch.rand_like(x) - torch.randn_like(x),
    "randn": lambda x: torch.randn(x.shape, dtype=torch.float64) + x,
    "randint": lambda x: torch.randint(0, 9, (4, 8)) + x,
    "randint_like": lambda x: torch.randint_like(x, 3, 7) + x,
    "randperm": lambda x: x[:, torch.randperm(8)],
    "bernoulli": lambda x: torch.bernoulli(x.sigmoid()) + x,
    "multinomial": lambda x: torch.multinomial(x.softmax(-1), 2).to(x.dtype),
    "normal": lambda x: torch.normal(x, 2.0) + torch.normal(1.0, x.exp()),
    "poisson": lambda x: torch.poisson(x.exp()),
    "filled": lambda x: (
        torch.empty_like(x).normal_(1, 2) + x.clone().uniform_(-1, 1) + torch.zeros(8).bernoulli_(0.3)
    ),
    "filled in its layout": lambda x: torch.empty_like(x).bernoulli_(0.3),
    "filled in part": lambda x: x.clone()[:, 1::2].bernoulli_(0.3).exponential_(),
    "filled by others": lambda x: (
        torch.empty(8).exponential_() + torch.empty(8).geometric_(0.3) + torch.empty(8).log_normal_() * x
    ),
    "leaky": lambda x: F.rrelu(x, training=True),
    "gumbel": lambda x: F.gumbel_softmax(x),
    "init": lambda x: nn.init.kaiming_normal_(torch.empty_like(x)) + nn.init.xavier_uniform_(x.clone()),
    "unused": lambda x: (torch.rand(3), x + torch.rand(4, 8))[1],
    "attention": lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None], dropout_p=0.3),
}


#: Eager draws in the order of the memory, which need not be that of the elements.
LAYOUTS = {
    "rows": X,
    "transposed": X.reshape(8, 4).t(),
    "every other": torch.cat([X, X], 1)[:, ::2],
    "transposed, every other": torch.cat([X, X]).t().reshape(8, 8).t()[::2],
    "expanded": X[:1].expand(4, 8),
}


@pytest.mark.parametrize("is_asked", [False, True])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", DRAWS)
def test_numbers_are_those_of_eager(name: str, layout: str, is_asked: bool) -> None:
    found = []
    with supple.config.patch(fallback_random=is_asked):
        for run in (DRAWS[name], supple.compile(DRAWS[name], fullgraph=True)):
            torch.manual_seed(1)
            found.append([*(run(LAYOUTS[layout]) for _ in range(3)), torch.rand(2)])
    torch.testing.assert_close(*found, check_stride=True)


def test_draws_keep_their_order_though_operators_around_them_are_moved() -> None:
    def run(x: torch.Tensor) -> Any:
        first, y = torch.rand(4, 8), x.sin()
        second = torch.randn(4, 8)
        return second * y, first + y.cos(), torch.randint(0, 9, (3,))

    torch.manual_seed(1)
    wanted = run(X)
    torch.manual_seed(1)
    torch.testing.assert_close(supple.compile(run)(X), wanted)


class Attention(nn.Module):
    """Attention that drops weights, and dropout around it."""

    def __init__(self) -> None:
        super().__init__()
        self.all, self.out = nn.Linear(8, 24), nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.all(F.dropout(x, 0.2, self.training)).view(4, 1, 3, 2, 4).permute(2, 1, 3, 0, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, dropout_p=0.5 if self.training else 0.0)
        return F.dropout(self.out(mixed.transpose(1, 2).reshape(4, 8)), 0.3, self.training).square().mean()


def gpt2() -> nn.Module:
    config = transformers.GPT2Config(
        n_layer=2, n_embd=32, n_head=4, vocab_size=50, n_positions=16, bos_token_id=0, eos_token_id=1
    )
    assert config.resid_pdrop, "it drops"
    return transformers.GPT2LMHeadModel(config)


def losses(run: Callable[..., Any], module: nn.Module, *, steps: int = 4) -> tuple[list[torch.Tensor], Any]:
    """Return the losses of some steps, and the last gradients."""
    optimizer = torch.optim.SGD(module.parameters(), 0.1)
    torch.manual_seed(5)
    found: list[torch.Tensor] = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = run()
        loss.backward()
        optimizer.step()
        found.append(loss.detach())
    return found, [parameter.grad for parameter in module.parameters()]


@pytest.mark.parametrize("make", [Attention, gpt2])
def test_training_with_dropout_is_as_eager(make: Callable[[], nn.Module]) -> None:
    torch.manual_seed(0)
    eager = make().train()
    module = copy.deepcopy(eager)
    compiled = supple.compile(module)
    ids = torch.arange(24).view(2, 12)
    found = []
    with supple.config.patch(fallback_random=True):
        for one, run in ((eager, eager), (module, compiled)):
            step = (
                (lambda run=run: run(X)) if make is Attention else (lambda run=run: run(ids, labels=ids).loss)
            )
            found.append(losses(step, one))
    torch.testing.assert_close(*found, rtol=2e-4, atol=2e-6)
    assert not supple.stats()["refusals"]


def test_gradients_of_gradients_see_the_numbers_of_forward() -> None:
    def run(x: torch.Tensor) -> torch.Tensor:
        return (F.dropout(x, 0.5) ** 3 * torch.rand_like(x)).sum()

    found = []
    for step in (run, supple.compile(run)):
        torch.manual_seed(2)
        x = X.clone().requires_grad_()
        (first,) = torch.autograd.grad(step(x), x, create_graph=True)
        (second,) = torch.autograd.grad(first.square().sum(), x)
        found.append((first.detach(), second, torch.rand(3)))
    torch.testing.assert_close(*found)


def drawn(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    noise = torch.rand(x.shape, generator=generator) + torch.empty_like(x).normal_(generator=generator)
    chosen = torch.bernoulli(x.sigmoid(), generator=generator) + torch.randint(
        0, 9, (8,), generator=generator
    )
    return (x**3 * noise + chosen + torch.rand_like(x)).sum()


def test_a_generator_of_the_program_is_drawn_from() -> None:
    found = []
    for run in (drawn, supple.compile(drawn, fullgraph=True)):
        torch.manual_seed(2)
        generator, x = torch.Generator().manual_seed(4), X.clone().requires_grad_()
        losses = [run(x, generator) for _ in range(3)]
        (first,) = torch.autograd.grad(losses[0], x, create_graph=True)
        (second,) = torch.autograd.grad(first.square().sum(), x)
        losses[1].backward()
        found.append((losses, first, second, x.grad, torch.rand(2, generator=generator), torch.rand(2)))
    torch.testing.assert_close(*found)
    assert not supple.stats()["refusals"]


def test_each_generator_is_the_one_that_was_given() -> None:
    def run(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
        return torch.rand(4, 8, generator=generator) + x

    compiled = supple.compile(run)
    for seed in range(3):
        wanted = run(X, torch.Generator().manual_seed(seed))
        torch.testing.assert_close(compiled(X, torch.Generator().manual_seed(seed)), wanted)

"""What training keeps: bytes between forward and backward, budgets, checkpointed regions. X-AD09"""

from collections.abc import Callable, Iterable
from typing import Any

import pytest
import torch
from torch import nn
from torch.autograd.graph import saved_tensors_hooks
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

import supple

# torch 2.11 and 2.12 say so each time.
pytestmark = pytest.mark.filterwarnings("ignore:Warning. Profiler clears events")


class Block(nn.Module):
    """A transformer's layer."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.all, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows, length, width = x.shape
        parts = self.all(self.norms[0](x)).view(rows, length, 3, 4, width // 4).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(*parts.unbind(), is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(x.shape))
        return x + self.narrow(F.gelu(self.wide(self.norms[1](x))))


class Blocks(nn.Module):
    """Some layers, each as `run` runs it, and their loss."""

    def __init__(self, run: Callable[..., Any] = lambda block, x: block(x)) -> None:
        super().__init__()
        self.run = run
        self.blocks = nn.ModuleList(Block() for _ in range(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = self.run(block, x)
        return x.square().mean()


def data() -> torch.Tensor:
    return torch.randn(8, 64, 32, generator=torch.Generator().manual_seed(7))


def made(make: Callable[[], nn.Module]) -> nn.Module:
    torch.manual_seed(0)
    return make()


def saved_bytes(
    run: Callable[..., torch.Tensor], given: Iterable[torch.Tensor], *args: Any
) -> tuple[int, Any]:
    """Return the bytes that forward keeps besides what is given, and its result."""
    known = {tensor.untyped_storage().data_ptr() for tensor in given}
    found: dict[int, int] = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in known:
            found[storage.data_ptr()] = storage.nbytes()
        return tensor

    with saved_tensors_hooks(keep, lambda tensor: tensor):
        result = run(*args)
    return sum(found.values()), result


def peak_bytes(run: Callable[[], object]) -> int:
    """Return the most bytes that torch allocates at a time, above what is there before."""
    return allocated(run)[0]


def allocated(run: Callable[[], object]) -> tuple[int, int]:
    """Return the most bytes that torch allocates at a time, and those left, above what is there before."""
    with torch.profiler.profile(profile_memory=True) as profile:
        run()
    kineto = profile.profiler
    results = None if kineto is None else kineto.kineto_results
    assert results is not None, "the profiler has run"
    events: list[Any] = [event for event in results.events() if event.name() == "[memory]"]
    now = most = 0
    for event in sorted(events, key=lambda event: event.start_ns()):
        now += event.nbytes()
        most = max(most, now)
    return most, now


def same_gradients(module: nn.Module, eager: nn.Module) -> None:
    for (name, mine), theirs in zip(module.named_parameters(), eager.parameters(), strict=True):
        torch.testing.assert_close(
            mine.grad, theirs.grad, rtol=1e-4, atol=1e-6, msg=lambda m, n=name: f"{n}: {m}"
        )


BUDGETS = (1.0, 0.75, 0.5, 0.25, 0.0)


def test_less_is_kept_for_a_smaller_budget_and_gradients_stay() -> None:
    eager = made(Blocks)
    eager(data()).backward()
    kept: list[int] = []
    for budget in BUDGETS:
        module = made(Blocks)
        with supple.config.patch(activation_memory_budget=budget):
            run = supple.compile(module)
            run(data())
        found, loss = saved_bytes(run, [*module.parameters(), x := data()], x)
        loss.backward()
        same_gradients(module, eager)
        kept.append(found)
    assert kept == sorted(set(kept), reverse=True)
    most, least = kept[0], kept[-1]
    assert all(now <= least + budget * (most - least) for now, budget in zip(kept, BUDGETS, strict=True))
    assert not supple.stats()["refusals"]


def dropping(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return (F.dropout(x @ w, 0.5).tanh() @ w * torch.rand_like(x)).sum()


@pytest.mark.parametrize("budget", [0.0, 0.5, 1.0])
def test_random_numbers_are_never_drawn_again(budget: float) -> None:
    found = []
    for run in (dropping, supple.compile(dropping)):
        torch.manual_seed(3)
        x, w = torch.randn(8, 8, requires_grad=True), torch.randn(8, 8, requires_grad=True)
        with supple.config.patch(activation_memory_budget=budget):
            loss = run(x, w)
        loss.backward()
        found.append((loss, x.grad, w.grad, torch.rand(3)))
    torch.testing.assert_close(*found)
    assert not supple.stats()["refusals"]


def peak_of(module: nn.Module, budget: float = 1.0) -> int:
    """Return the peak of the second step of a compiled module."""
    compiled = supple.compile(module)
    with supple.config.patch(activation_memory_budget=budget):
        compiled(data()).backward()
    return peak_bytes(lambda: compiled(data()).backward())


def test_a_step_takes_less_memory_than_eager() -> None:
    eager = made(Blocks)
    eager(data()).backward()
    most = peak_bytes(lambda: eager(data()).backward())
    assert peak_of(made(Blocks)) < 0.8 * most
    assert peak_of(made(Blocks), 0.25) < 0.5 * most


def checkpointed(block: nn.Module, x: torch.Tensor) -> Any:
    return checkpoint(block, x, use_reentrant=False)


def test_a_checkpointed_region_keeps_its_inputs_only() -> None:
    eager, module = made(lambda: Blocks(checkpointed)), made(lambda: Blocks(checkpointed))
    eager(data()).backward()
    run = supple.compile(module, fullgraph=True)
    run(data())
    found, loss = saved_bytes(run, [*module.parameters(), x := data()], x)
    loss.backward()
    same_gradients(module, eager)
    assert found == 4 * x.untyped_storage().nbytes()  # the outputs of the blocks
    assert not supple.stats()["refusals"]


def test_memory_of_a_checkpointed_region_is_let_go() -> None:
    assert peak_of(made(lambda: Blocks(checkpointed))) < 0.6 * peak_of(made(Blocks))


def test_dropout_in_a_checkpointed_region_draws_once() -> None:
    def run(x: torch.Tensor, w: torch.Tensor) -> Any:
        return checkpoint(dropping, x, w, use_reentrant=False)

    found = []
    for step in (run, supple.compile(run, fullgraph=True)):
        torch.manual_seed(3)
        x, w = torch.randn(8, 8, requires_grad=True), torch.randn(8, 8, requires_grad=True)
        loss = step(x, w)
        loss.backward()
        found.append((loss, x.grad, w.grad, torch.rand(3)))
    torch.testing.assert_close(*found)


class Counting(nn.Module):
    """Does in each call what shows when it is done twice."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.calls = nn.BatchNorm1d(8), 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return self.norm(x).sin()


@pytest.mark.parametrize("options", [{}, {"use_reentrant": True}, {"preserve_rng_state": False}])
def test_a_region_that_shows_when_it_runs_twice_runs_twice(options: dict[str, Any]) -> None:
    found = []
    for compiled in (False, True):
        torch.manual_seed(0)
        module = Counting()
        x = data()[0, :, :8].requires_grad_()

        def run(x: torch.Tensor, module: nn.Module = module) -> Any:
            return checkpoint(module, x.cos(), **{"use_reentrant": False, **options}).sum()

        (supple.compile(run) if compiled else run)(x).backward()
        found.append((module.calls, module.norm.running_mean, module.norm.num_batches_tracked, x.grad))
    torch.testing.assert_close(*found)
    assert found[0][0] == 2


OPTIONS = [{"use_reentrant": False}, {"use_reentrant": False, "early_stop": False}, {"use_reentrant": True}]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("is_warm", [False, True])
def test_checkpoints_of_eager_around_compiled_code_work(options: dict[str, Any], is_warm: bool) -> None:
    eager, module = made(Block), made(Block)
    compiled = supple.compile(module)
    if is_warm:
        compiled(data().requires_grad_()).sum().backward()
        module.zero_grad()
    found = []
    for run in (eager, compiled):
        x = data().requires_grad_()
        loss = checkpoint(run, checkpoint(run, x, **options), **options).square().mean()
        loss.backward()
        found.append((loss, x.grad))
    torch.testing.assert_close(*found)
    same_gradients(module, eager)


def test_hooks_on_saved_tensors_see_the_tensors_that_are_saved() -> None:
    seen: list[torch.Tensor] = []
    x = data().requires_grad_()
    with saved_tensors_hooks(lambda one: seen.append(one) or one.clone(), lambda one: one):
        loss = supple.compile(lambda x: (x.sin() * x).sum(), fullgraph=True)(x)
    loss.backward()
    assert [one.untyped_storage().data_ptr() for one in seen] == [x.untyped_storage().data_ptr()]
    torch.testing.assert_close(x.grad, (x.cos() * x + x.sin()).detach())


def test_gradients_are_in_memory_once_and_what_was_kept_is_gone() -> None:
    module = made(Blocks)
    compiled = supple.compile(module)
    compiled(data()).backward()
    module.zero_grad()
    losses: list[torch.Tensor] = []

    def step() -> None:
        losses.append(compiled(data()))
        losses[-1].backward()

    size = sum(parameter.untyped_storage().nbytes() for parameter in module.parameters())
    assert size <= allocated(step)[1] <= size + 1024
    held = [parameter.grad for parameter in module.parameters()]
    assert allocated(step)[1] <= 1024
    assert all(mine is parameter.grad for mine, parameter in zip(held, module.parameters(), strict=True))
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        losses[0].backward()


def test_a_retained_graph_keeps_what_backward_needs() -> None:
    eager, module = made(Blocks), made(Blocks)
    for run in (eager, supple.compile(module)):
        loss = run(data())
        for is_retained in (True, True, False):
            loss.backward(retain_graph=is_retained)
    same_gradients(module, eager)

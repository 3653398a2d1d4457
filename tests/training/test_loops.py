"""Training loops: schedules, clipping, scaling, accumulation, averages, and whole steps under one compile."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn, optim
from torch.nn import functional as F
from torch.nn.utils import clip_grad_norm_, clip_grad_value_
from torch.optim import lr_scheduler

import supple


class Loop:
    """A model, its optimizer, a schedule, a gradient scaler and an average of the parameters."""

    def __init__(self, make: Callable[[Any], optim.Optimizer]) -> None:
        torch.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(6, 12), nn.GELU(), nn.Linear(12, 3))
        self.optimizer = make(self.model.parameters())
        self.schedule: Any = lr_scheduler.LambdaLR(self.optimizer, warm_up)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=2)
        self.average = copy.deepcopy(self.model)
        self.seen: list[str] = []

    def loss(self, place: int) -> torch.Tensor:
        """Return the loss of a batch."""
        generator = torch.Generator().manual_seed(place)
        x, y = torch.randn(5, 6, generator=generator), torch.randn(5, 3, generator=generator)
        return F.mse_loss(self.model(x), y)

    def state(self) -> dict[str, Any]:
        """Return all that training changes."""
        grads = [parameter.grad for parameter in self.model.parameters()]
        models = [list(model.state_dict().values()) for model in (self.model, self.average)]
        return {"state": self.optimizer.state_dict(), "grads": grads, "models": models}


def warm_up(step: int) -> float:
    """Return a factor that grows, then stays."""
    return min(1.0, (step + 1) / 4)


def adamw(parameters: Any) -> optim.Optimizer:
    """Return the optimizer of most tests."""
    return optim.AdamW(parameters, lr=0.02, weight_decay=0.1)


def plain(loop: Loop, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    loop.optimizer.zero_grad()
    loss = F.mse_loss(loop.model(x), y)
    loss.backward()
    loop.optimizer.step()
    return loss.detach()


def clipped_by_norm(loop: Loop, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    loop.optimizer.zero_grad(set_to_none=False)
    F.mse_loss(loop.model(x), y).backward()
    norm = clip_grad_norm_(loop.model.parameters(), 0.1)
    loop.optimizer.step()
    return norm


def clipped_by_value(loop: Loop, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    loss = F.mse_loss(loop.model(x), y)
    loss.backward()
    clip_grad_value_(loop.model.parameters(), 0.01)
    loop.optimizer.step()
    loop.optimizer.zero_grad()
    loop.schedule.step()
    return loss.detach()


def accumulated(loop: Loop, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    total = torch.zeros(())
    for part in (slice(0, 2), slice(2, 5)):
        loss = F.mse_loss(loop.model(x[part]), y[part]) / 2
        loss.backward()
        total += loss.detach()
    loop.optimizer.step()
    loop.optimizer.zero_grad()
    return total


def scaled(loop: Loop, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    loop.optimizer.zero_grad()
    loss = F.mse_loss(loop.model(x), y)
    loop.scaler.scale(loss).backward()
    loop.scaler.unscale_(loop.optimizer)
    clip_grad_norm_(loop.model.parameters(), 1.0)
    loop.scaler.step(loop.optimizer)
    loop.scaler.update()
    return loss.detach()


def averaged(loop: Loop, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    loss = plain(loop, x, y)
    with torch.no_grad():
        for mean, parameter in zip(loop.average.parameters(), loop.model.parameters(), strict=True):
            mean.lerp_(parameter, 0.1)
    return loss


def by_closure(loop: Loop, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    def closure() -> torch.Tensor:
        loop.optimizer.zero_grad()
        loss = F.mse_loss(loop.model(x), y)
        loss.backward()
        return loss

    return torch.as_tensor(loop.optimizer.step(closure)).detach()  # pyright: ignore[reportArgumentType, reportCallIssue]  # gives what the closure gives


STEPS = (plain, clipped_by_norm, clipped_by_value, accumulated, scaled, averaged, by_closure)


@pytest.mark.parametrize("body", STEPS, ids=[body.__name__ for body in STEPS])
def test_a_whole_step_is_as_eager(body: Callable[..., torch.Tensor]) -> None:
    # TRN02, TRN03, TRN06
    loops = [Loop(adamw) for _ in range(2)]
    runs = (supple.compile(body), body)
    for _ in range(5):
        x, y = torch.randn(5, 6), torch.randn(5, 3)
        results = [run(loop, x, y) for run, loop in zip(runs, loops, strict=True)]
        torch.testing.assert_close(*results, rtol=1e-5, atol=1e-6)
        torch.testing.assert_close(*(loop.state() for loop in loops), rtol=1e-5, atol=1e-6)
    assert not supple.stats()["refusals"]
    if body is plain:
        assert supple.stats()["graphs"] == 3, "forward, the step that makes state, the step"


def test_a_gradient_that_overflows_skips_the_step() -> None:
    loops = [Loop(adamw) for _ in range(2)]
    runs = (supple.compile(scaled), scaled)
    before: list[dict[str, Any]] = []
    for place in range(6):
        x, y = torch.randn(5, 6) * (1e30 if place in (2, 3) else 1), torch.randn(5, 3)
        for run, loop in zip(runs, loops, strict=True):
            run(loop, x, y)
        torch.testing.assert_close(*(one.state() for one in loops), rtol=1e-5, atol=1e-6, equal_nan=True)
        before.append({name: value.clone() for name, value in loops[0].model.state_dict().items()})
        assert loops[0].scaler.get_scale() == loops[1].scaler.get_scale()
    torch.testing.assert_close(before[1], before[3], rtol=0, atol=0)
    assert not torch.equal(before[3]["0.weight"], before[4]["0.weight"])
    assert not supple.stats()["fallbacks"]


SCHEDULES: dict[str, Callable[[optim.Optimizer], Any]] = {
    "warm-up": lambda optimizer: lr_scheduler.LambdaLR(optimizer, warm_up),
    "cosine": lambda optimizer: lr_scheduler.CosineAnnealingLR(optimizer, 10),
    "steps": lambda optimizer: lr_scheduler.StepLR(optimizer, 3, 0.5),
}


@pytest.mark.parametrize("rate", ["float", "tensor"])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_schedule_makes_no_further_graph(schedule: str, rate: str) -> None:
    # TRN02
    def make(parameters: Any) -> optim.Optimizer:
        return optim.SGD(parameters, lr=torch.tensor(0.1) if rate == "tensor" else 0.1, momentum=0.9)

    loops = [Loop(make) for _ in range(2)]
    for loop, step in zip(loops, (supple.compile(loops[0].optimizer.step), None), strict=True):
        loop.schedule = SCHEDULES[schedule](loop.optimizer)
        for place in range(8):
            loop.optimizer.zero_grad()
            loop.loss(place).backward()
            (step or loop.optimizer.step)()
            loop.schedule.step()
    torch.testing.assert_close(*(loop.state() for loop in loops), rtol=1e-5, atol=1e-6)
    assert supple.stats()["graphs"] == 2
    assert not supple.stats()["refusals"]


def test_a_cosine_schedule_inside_the_step_is_computed_with_it() -> None:
    loops = [Loop(adamw) for _ in range(2)]
    for loop in loops:
        loop.schedule = lr_scheduler.CosineAnnealingLR(loop.optimizer, 100)

    def scheduled(loop: Loop, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        loss = plain(loop, x, y)
        loop.schedule.step()
        return loss

    for run, loop in zip((supple.compile(scheduled), scheduled), loops, strict=True):
        for place in range(8):
            torch.manual_seed(place)
            run(loop, torch.randn(5, 6), torch.randn(5, 3))
    torch.testing.assert_close(*(loop.state() for loop in loops), rtol=1e-5, atol=1e-6)
    assert supple.stats()["graphs"] == 3


def test_hooks_of_an_optimizer_run_each_time() -> None:
    loop = Loop(adamw)
    loop.optimizer.register_step_pre_hook(lambda *_: loop.seen.append("before"))
    loop.optimizer.register_step_post_hook(lambda *_: loop.seen.append("after"))
    step = supple.compile(loop.optimizer.step)
    for place in range(3):
        loop.loss(place).backward()
        step()
    assert loop.seen == ["before", "after"] * 3


def test_two_hundred_steps_with_a_warm_up_take_two_graphs() -> None:
    # TRN02
    losses: list[list[float]] = []
    for is_compiled in (True, False):
        loop = Loop(adamw)
        step = supple.compile(loop.optimizer.step) if is_compiled else loop.optimizer.step
        losses.append([])
        for place in range(200):
            loop.optimizer.zero_grad()
            loss = loop.loss(place % 10)
            loss.backward()
            step()
            loop.schedule.step()
            losses[-1].append(loss.item())
    torch.testing.assert_close(*map(torch.tensor, losses), rtol=1e-4, atol=0)
    assert supple.stats()["graphs"] == 2
    assert not supple.stats()["breaks"]

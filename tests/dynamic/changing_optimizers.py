"""Optimizers of papers, written from their formulas, whose step counts and rates are Python numbers."""

import math
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

Parameters = Iterable[Tensor]


class Lamb(Optimizer):
    """Adam's direction, for each tensor as long as the tensor itself (You et al., 2020)."""

    def __init__(self, params: Parameters, lr: float = 1e-2, decay: float = 0.01) -> None:
        super().__init__(params, {"lr": lr, "betas": (0.9, 0.999), "eps": 1e-6, "decay": decay})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Update each parameter."""
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state["step"] = 0
                    state["mean"], state["square"] = torch.zeros_like(p), torch.zeros_like(p)
                state["step"] += 1
                mean, square = state["mean"], state["square"]
                mean.mul_(beta1).add_(p.grad, alpha=1 - beta1)
                square.mul_(beta2).addcmul_(p.grad, p.grad, value=1 - beta2)
                first = 1 - math.pow(beta1, state["step"])
                second = math.sqrt(1 - beta2 ** state["step"])
                direction = (mean / first) / (square.sqrt() / second + group["eps"])
                direction = direction.add(p, alpha=group["decay"])
                length, norm = p.norm(), direction.norm()
                is_usual = (length > 0) & (norm > 0)
                trust = torch.where(is_usual, length.clamp(max=10.0) / norm, torch.ones_like(norm))
                p.sub_(direction * trust, alpha=group["lr"])


class AdaBelief(Optimizer):
    """Adam, divided by how far gradients are from what was expected (Zhuang et al., 2020), rectified."""

    def __init__(self, params: Parameters, lr: float = 1e-2) -> None:
        super().__init__(params, {"lr": lr, "betas": (0.9, 0.999), "eps": 1e-12})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Update each parameter."""
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if len(state) == 0:
                    state["step"] = 0
                    state["mean"], state["belief"] = torch.zeros_like(p), torch.zeros_like(p)
                state["step"] += 1
                step = state["step"]
                mean, belief = state["mean"], state["belief"]
                mean.mul_(beta1).add_(p.grad, alpha=1 - beta1)
                residual = p.grad - mean
                belief.mul_(beta2).addcmul_(residual, residual, value=1 - beta2).add_(group["eps"])
                longest = 2 / (1 - beta2) - 1
                power = beta2**step
                now = longest - 2 * step * power / (1 - power)
                rate = group["lr"] / (1 - beta1**step)
                if now > 5:
                    rectified = (now - 4) * (now - 2) * longest
                    rectified /= (longest - 4) * (longest - 2) * now
                    rate *= math.sqrt(rectified * (1 - power))
                    p.addcdiv_(mean, belief.sqrt().add_(group["eps"]), value=-rate)
                else:
                    p.add_(mean, alpha=-rate)


class Adan(Optimizer):
    """Adam with Nesterov's momentum from differences of gradients (Xie et al., 2022)."""

    def __init__(self, params: Parameters, lr: float = 1e-2) -> None:
        super().__init__(params, {"lr": lr, "betas": (0.98, 0.92, 0.99), "eps": 1e-8, "decay": 0.02})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Update each parameter."""
        for group in self.param_groups:
            beta1, beta2, beta3 = group["betas"]
            if "step" in group:
                group["step"] += 1
            else:
                group["step"] = 1
            first = 1.0 - beta1 ** group["step"]
            second = 1.0 - beta2 ** group["step"]
            third = math.sqrt(1.0 - beta3 ** group["step"])
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if len(state) == 0:
                    state["mean"], state["change"] = torch.zeros_like(p), torch.zeros_like(p)
                    state["square"] = torch.zeros_like(p)
                if "before" not in state or group["step"] == 1:
                    state["before"] = p.grad.clone()
                difference = p.grad - state["before"]
                looked = p.grad + beta2 * difference
                state["mean"].mul_(beta1).add_(p.grad, alpha=1 - beta1)
                state["change"].mul_(beta2).add_(difference, alpha=1 - beta2)
                state["square"].mul_(beta3).addcmul_(looked, looked, value=1 - beta3)
                bound = (state["square"].sqrt() / third).add_(group["eps"])
                p.mul_(1 - group["lr"] * group["decay"])
                p.addcdiv_(state["mean"], bound, value=-group["lr"] / first)
                p.addcdiv_(state["change"], bound, value=-group["lr"] * beta2 / second)
                state["before"].copy_(p.grad)


class ScheduleFree(Optimizer):
    """Adam at a point between two sequences, of which one is an average (Defazio et al., 2024)."""

    def __init__(self, params: Parameters, lr: float = 1e-2, warmup: int = 5) -> None:
        group = {"lr": lr, "betas": (0.9, 0.999), "eps": 1e-8, "warmup": warmup}
        super().__init__(params, group | {"k": 0, "sum": 0.0, "highest": -1.0, "power": 2.0, "r": 0.0})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Update each parameter."""
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            k, warmup = group["k"], group["warmup"]
            schedule = (k + 1) / warmup if k < warmup else 1.0
            correction = 1 - beta2 ** (k + 1)
            rate = group["lr"] * schedule
            highest = group["highest"] = max(rate, group["highest"])
            weight = ((k + 1) ** group["r"]) * (highest ** group["power"])
            total = group["sum"] = group["sum"] + weight
            try:
                share = weight / total
            except ZeroDivisionError:
                share = 0.0
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if "z" not in state:
                    state["z"], state["square"] = p.clone(), torch.zeros_like(p)
                z, square = state["z"], state["square"]
                square.mul_(beta2).addcmul_(p.grad, p.grad, value=1 - beta2)
                scaled = p.grad / (square / correction).sqrt_().add_(group["eps"])
                p.lerp_(z, weight=share)
                p.add_(scaled, alpha=rate * (beta1 * (1 - share) - 1))
                z.sub_(scaled, alpha=rate)
            group["k"] = k + 1


class Soap(Optimizer):
    """Adam in a basis that is renewed every few steps (Vyas et al., 2024), of matrices.

    The distance from the start, a float of the group, sets the rate, as in Prodigy (Mishchenko, 2023).
    """

    def __init__(self, params: Parameters, lr: float = 1e-2, every: int = 5) -> None:
        group = {"lr": lr, "betas": (0.95, 0.95), "eps": 1e-8, "every": every}
        super().__init__(params, group | {"d": 1.0, "growth": 1.01})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Update each parameter."""
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if "step" not in state:
                    state["step"] = 0
                    state["mean"], state["square"] = torch.zeros_like(p), torch.zeros_like(p)
                    state["gram"] = p.grad @ p.grad.T
                    state["basis"] = torch.linalg.qr(state["gram"])[0]
                turned = state["basis"].T @ p.grad
                state["step"] += 1
                state["mean"].mul_(beta1).add_(p.grad, alpha=1 - beta1)
                state["square"].mul_(beta2).addcmul_(turned, turned, value=1 - beta2)
                rate = group["d"] * group["lr"]
                rate *= (1 - beta2 ** state["step"]) ** 0.5 / (1.0 - beta1 ** state["step"])
                bound = state["square"].sqrt().add_(group["eps"])
                p.add_(state["basis"] @ ((state["basis"].T @ state["mean"]) / bound), alpha=-rate)
                state["gram"].lerp_(p.grad @ p.grad.T, 1 - beta2)
                if state["step"] > 0 and state["step"] % group["every"] == 0:
                    state["basis"] = torch.linalg.qr(state["gram"] @ state["basis"])[0]
            group["d"] = min(group["d"] * group["growth"], 2.0)

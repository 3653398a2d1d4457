"""Steps of training as people write them: optimisers, losses, clipping, accumulation, regions."""

import contextlib
import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tests.mutation.worlds import Programs

program = Programs()


def numbers(*shape: int) -> Tensor:
    return torch.sin(torch.arange(math.prod(shape)) * 1.7 + 0.3).reshape(shape)


def with_gradients(model):
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    return model


def made(kind, **options):
    model = with_gradients(nn.Linear(2, 2))
    return model, kind(model.parameters(), lr=0.1, **options)


@program(lambda: made(torch.optim.SGD, momentum=0.9))
def sgd(model, optimizer):
    optimizer.step()
    return model.weight * 1


@program(lambda: made(torch.optim.AdamW, weight_decay=0.1))
def adamw(model, optimizer):
    optimizer.step()
    return model.weight * 1


@program(lambda: (*made(torch.optim.SGD), numbers(3, 2), torch.tensor([0, 1, 1])))
def training_step(model, optimizer, x, labels):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), labels)
    loss.backward()
    optimizer.step()
    return loss.detach()


class Lion:
    """An optimiser that somebody wrote."""

    def __init__(self, parameters, rate=0.1, betas=(0.9, 0.99), decay=0.0):
        self.groups = [{"parameters": list(parameters), "rate": rate, "betas": betas, "decay": decay}]
        self.state = {}

    @torch.no_grad()
    def step(self):
        for group in self.groups:
            first, second = group["betas"]
            for index, parameter in enumerate(group["parameters"]):
                if parameter.grad is None:
                    continue
                average = self.state.setdefault(index, torch.zeros_like(parameter))
                update = (average * first + parameter.grad * (1 - first)).sign()
                parameter.mul_(1 - group["rate"] * group["decay"]).add_(update, alpha=-group["rate"])
                average.lerp_(parameter.grad, 1 - second)


def with_lion():
    model = with_gradients(nn.Linear(2, 2))
    return model, Lion(model.parameters())


@program(with_lion)
def optimizer_of_ones_own(model, optimizer):
    optimizer.step()
    return model.weight.sum(), model.bias.sum()


@program(lambda: (with_gradients(nn.Linear(2, 2)), 1.0, 2.0))
def clipped_gradients(model, limit, kind):
    return nn.utils.clip_grad_norm_(model.parameters(), limit, kind), model.weight.grad


class FocalLoss(nn.Module):
    """A loss with numbers of its own."""

    def __init__(self, gamma=2.0, alpha=0.25, reduction="mean"):
        super().__init__()
        self.gamma = gamma
        self.alpha = alpha
        self.reduction = reduction

    def forward(self, logits, labels):
        raw = F.binary_cross_entropy_with_logits(logits, labels, reduction="none")
        loss = self.alpha * (1 - torch.exp(-raw)) ** self.gamma * raw
        return {"mean": loss.mean, "sum": loss.sum}.get(self.reduction, lambda: loss)()


@program(lambda: (FocalLoss(), numbers(4).requires_grad_(), torch.tensor([0.0, 1.0, 1.0, 0.0])))
def focal_loss(loss, logits, labels):
    return loss(logits, labels)


@program(lambda: (numbers(2, 3), numbers(2, 3) + 1, 0.5))
def distillation(student, teacher, temperature):
    soft = F.log_softmax(student / temperature, -1)
    return F.kl_div(soft, F.softmax(teacher / temperature, -1), reduction="batchmean") * temperature**2


class Trainer:
    """Regions that depend on attributes."""

    use_amp = False
    dtype = torch.bfloat16

    def __init__(self, model, accumulate=2):
        self.model = model
        self.accumulate = accumulate
        self.step = 0

    def region(self):
        return torch.autocast("cpu", self.dtype) if self.use_amp else contextlib.nullcontext()

    def loss(self, x):
        self.step += 1
        with self.region():
            y = self.model(x)
        return y.float().pow(2).mean() / self.accumulate


@program(lambda: (Trainer(nn.Linear(2, 2)), numbers(3, 2)))
def trainer_with_regions(trainer, x):
    return trainer.loss(x)


@program(lambda: (nn.Linear(2, 2), numbers(3, 2)))
def gradient_penalty(model, x):
    x = x.detach().requires_grad_()
    (gradient,) = torch.autograd.grad(model(x).pow(2).sum(), x, create_graph=True)
    return (gradient.norm(dim=-1) - 1).pow(2).mean()


@program(lambda: (nn.Linear(2, 2), nn.Linear(2, 2), 0.9))
def target_network(online, target, tau):
    with torch.no_grad():
        for mine, theirs in zip(online.parameters(), target.parameters(), strict=True):
            theirs.lerp_(mine, 1 - tau)
    return target.weight * 1


@torch.inference_mode()
def predicted(model, x, threshold=0.5):
    return (model(x).sigmoid() > threshold).sum(-1)


@program(lambda: (nn.Linear(2, 3), numbers(2, 2)))
def inference(model, x):
    return predicted(model.eval(), x)


@program(lambda: (numbers(2, 3).requires_grad_(),))
def hook_on_a_tensor(x):
    y = x * 2
    y.register_hook(lambda gradient: gradient * 3)
    return y.sum()

"""Modules as people write them: configuration, buffers, switches, lists of layers, hooks, heads."""

import dataclasses
import enum
import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tests.mutation.worlds import Programs

program = Programs()


def numbers(*shape: int) -> Tensor:
    return torch.sin(torch.arange(math.prod(shape)) * 1.7 + 0.3).reshape(shape)


class Block(nn.Module):
    """A residual block with a scale and a switch."""

    def __init__(self, size: int = 4, eps: float = 0.25, scale: float = 0.5) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(size, eps=eps)
        self.inner = nn.Linear(size, size)
        self.scale = scale
        self.use_residual = True

    def forward(self, x: Tensor) -> Tensor:
        y = self.inner(self.norm(x)) * self.scale
        return x + y if self.use_residual else y


@program(lambda: (Block(), numbers(2, 4)))
def residual_block(model, x):
    return model(x)


@dataclasses.dataclass
class Config:
    """What a model is made of."""

    hidden: int = 4
    heads: int = 2
    dropout: float = 0.0
    eps: float = 0.25
    activation: str = "relu"
    is_causal: bool = True


class Attention(nn.Module):
    """Attention that reads its configuration in each call."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.qkv = nn.Linear(config.hidden, 3 * config.hidden)
        self.register_buffer("mask", torch.ones(8, 8).tril().bool(), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, size = x.shape
        heads = self.config.heads
        q, k, v = (
            one.view(batch, length, heads, size // heads).transpose(1, 2) for one in self.qkv(x).chunk(3, -1)
        )
        scores = q @ k.mT / math.sqrt(size // heads)
        if self.config.is_causal:
            scores = scores.masked_fill(~self.mask[:length, :length], float("-inf"))
        scores = F.dropout(scores.softmax(-1), self.config.dropout, self.training)
        return (scores @ v).transpose(1, 2).reshape(batch, length, size)


@program(lambda: (Attention(Config()), numbers(1, 3, 4)))
def attention_with_a_configuration(model, x):
    return model(x)


class RMSNorm(nn.Module):
    """A norm with a number of its own."""

    def __init__(self, size: int, eps: float = 0.25) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        return self.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)


@program(lambda: (RMSNorm(4), numbers(2, 4)))
def root_mean_square_norm(model, x):
    return model(x)


class Rotary(nn.Module):
    """Positions by rotation, with autocast switched off."""

    def __init__(self, size: int = 4, base: float = 100.0) -> None:
        super().__init__()
        self.base = base
        self.register_buffer("inverse", 1.0 / (base ** (torch.arange(0, size, 2).float() / size)))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        with torch.autocast("cpu", enabled=False):
            angles = torch.arange(x.shape[-2]).float()[:, None] * self.inverse
            both = torch.cat((angles, angles), -1)
        return both.cos().to(x.dtype), both.sin().to(x.dtype)


@program(lambda: (Rotary(), numbers(1, 3, 4)))
def rotary_positions(model, x):
    cos, sin = model(x)
    left, right = x.chunk(2, -1)
    return x * cos + torch.cat((-right, left), -1) * sin


class Tower(nn.Module):
    """A list of layers, of which some may be skipped."""

    def __init__(self, depth: int = 3) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(3, 3) for _ in range(depth))
        self.skipped = {1}
        self.outputs: list[Tensor] = []

    def forward(self, x: Tensor) -> Tensor:
        for index, layer in enumerate(self.layers):
            if index not in self.skipped:
                x = layer(x).tanh()
        return x


@program(lambda: (Tower(), numbers(2, 3)))
def tower_with_skipped_layers(model, x):
    return model(x)


class Mixture(nn.Module):
    """Parameters in lists and dicts."""

    def __init__(self) -> None:
        super().__init__()
        self.scales = nn.ParameterList([nn.Parameter(torch.ones(3) * k) for k in range(1, 3)])
        self.biases = nn.ParameterDict({"a": nn.Parameter(torch.ones(3)), "b": nn.Parameter(torch.zeros(3))})
        self.order = ["b", "a"]

    def forward(self, x: Tensor) -> Tensor:
        for scale in self.scales:
            x = x * scale
        for name in self.order:
            x = x + self.biases[name]
        return x


@program(lambda: (Mixture(), numbers(3)))
def parameters_in_lists_and_dicts(model, x):
    return model(x)


class Tied(nn.Module):
    """An embedding whose weight is the head's too."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(5, 3)
        self.head = nn.Linear(3, 5, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, tokens: Tensor) -> Tensor:
        return self.head(self.embedding(tokens))


@program(lambda: (Tied(), torch.tensor([0, 3, 1])))
def tied_embedding(model, tokens):
    return model(tokens)


@program(lambda: (Tied(),))
def number_of_parameters(model):
    return torch.ones(1) * len(list(model.parameters())) + len(model.state_dict())


class Counting(nn.Module):
    """A buffer and a number that each call changes."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("steps", torch.zeros((), dtype=torch.long))
        self.calls = 0
        self.momentum = 0.1

    def forward(self, x: Tensor) -> Tensor:
        self.steps += 1
        self.calls += 1
        return x * self.momentum + self.steps


@program(lambda: (Counting(), numbers(2)))
def counts_its_calls(model, x):
    return model(x)


@program(lambda: (nn.BatchNorm1d(3), numbers(4, 3)))
def batch_norm(model, x):
    return model(x)


@program(lambda: (nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Dropout(0.5), nn.Linear(4, 2)), numbers(2, 3)))
def sequential(model, x):
    return model(x)


@program(lambda: (nn.Conv2d(2, 3, 3, padding=1), nn.GroupNorm(3, 3), numbers(1, 2, 5, 5)))
def convolution(conv, norm, x):
    return F.max_pool2d(F.silu(norm(conv(x))), 2)


class Activation(enum.Enum):
    """Which function."""

    RELU = "relu"
    TANH = "tanh"


ACTIVATIONS = {Activation.RELU: F.relu, Activation.TANH: torch.tanh}


class Switched(nn.Module):
    """A function that is chosen by an enum."""

    def __init__(self, activation: Activation = Activation.RELU) -> None:
        super().__init__()
        self.activation = activation
        self.linear = nn.Linear(3, 3)

    def forward(self, x: Tensor, *, scale: float = 2.0) -> Tensor:
        return ACTIVATIONS[self.activation](self.linear(x)) * scale


@program(lambda: (Switched(), numbers(2, 3)), lambda: {"scale": 1.5})
def activation_by_enum(model, x, scale=1.0):
    return model(x, scale=scale)


class Frozen(nn.Module):
    """A backbone without gradients and a head with some."""

    def __init__(self) -> None:
        super().__init__()
        self.backbone = nn.Linear(3, 3)
        self.head = nn.Linear(3, 2)
        self.is_frozen = True

    def forward(self, x: Tensor) -> Tensor:
        with torch.set_grad_enabled(not self.is_frozen):
            features = self.backbone(x)
        return self.head(features)


@program(lambda: (Frozen(), numbers(2, 3)))
def frozen_backbone(model, x):
    return model(x)


def double(module: Any, args: Any, result: Any) -> Any:
    return result * 2


def hooked() -> nn.Module:
    model = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
    model[0].register_forward_hook(double)
    return model


@program(lambda: (hooked(), numbers(2, 3)))
def module_with_a_hook(model, x):
    return model(x)


class Adapter(nn.Module):
    """A low-rank addition to a layer that it holds."""

    def __init__(self, base: nn.Linear, rank: int = 2, alpha: float = 4.0) -> None:
        super().__init__()
        self.base = base
        self.down = nn.Parameter(torch.ones(rank, base.in_features) * 0.1)
        self.up = nn.Parameter(torch.ones(base.out_features, rank) * 0.2)
        self.alpha = alpha
        self.merged = False

    @property
    def scaling(self) -> float:
        return self.alpha / self.down.shape[0]

    def forward(self, x: Tensor) -> Tensor:
        result = self.base(x)
        if not self.merged:
            result = result + x @ self.down.T @ self.up.T * self.scaling
        return result


@program(lambda: (Adapter(nn.Linear(3, 2)), numbers(2, 3)))
def low_rank_adapter(model, x):
    return model(x)


class Cache:
    """Keys and values of the tokens before."""

    def __init__(self, length: int = 0) -> None:
        self.keys = [numbers(1, length, 2)] if length else []
        self.seen = length

    def update(self, keys: Tensor) -> Tensor:
        self.keys.append(keys)
        self.seen += keys.shape[1]
        return torch.cat(self.keys, 1)


@program(lambda: (Cache(2), numbers(1, 1, 2)))
def cache_of_keys(cache, x):
    keys = cache.update(x)
    return (x @ keys.mT).softmax(-1) * cache.seen


class Experts(nn.Module):
    """Experts of which the best one answers, by default."""

    top = 1

    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(3, 2)
        self.experts = nn.ModuleDict({"first": nn.Linear(3, 3), "second": nn.Linear(3, 3)})

    def forward(self, x: Tensor) -> Tensor:
        weights = self.gate(x).softmax(-1)
        best = weights.topk(self.top, -1).values.sum(-1, keepdim=True)
        return best * sum(expert(x) * weights[:, k : k + 1] for k, expert in enumerate(self.experts.values()))


@program(lambda: (Experts(), numbers(2, 3)))
def mixture_of_experts(model, x):
    return model(x)


class Output(dict):
    """A dict whose entries are attributes."""

    __getattr__ = dict.__getitem__


class Classifier(nn.Module):
    """A model that returns an object, with a loss where there are labels."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(3, 2)
        self.label_smoothing = 0.1

    def forward(self, x: Tensor, labels: Tensor | None = None, *, return_dict: bool = True) -> Any:
        logits = self.head(x)
        loss = None
        if labels is not None:
            loss = F.cross_entropy(logits, labels, label_smoothing=self.label_smoothing)
        return Output(loss=loss, logits=logits) if return_dict else (loss, logits)


@program(lambda: (Classifier(), numbers(2, 3)), lambda: {"labels": torch.tensor([0, 1])})
def classifier_with_a_loss(model, x, labels=None):
    out = model(x, labels)
    return out.logits, out.loss, out["logits"].argmax(-1)


MODEL = Block(3)


@program(lambda: (numbers(2, 3),))
def model_in_a_global(x):
    return MODEL(x)


def stepper(model, scale):
    count = 0

    def step(x, bias=0.5, *, power=2):
        nonlocal count
        count += 1
        return model(x) * scale + bias**power + count

    return step


step_with_a_closure = program(lambda: (numbers(2, 3),))(stepper(Block(3), 0.25))


@program(lambda: (nn.GRUCell(3, 2), numbers(1, 4, 3)))
def recurrent(cell, x):
    state = None
    for step in x.unbind(1):
        state = cell(step, state)
    return state


@program(lambda: (nn.MultiheadAttention(4, 2, batch_first=True), numbers(1, 3, 4)))
def multihead_attention(model, x):
    return model(x, x, x, need_weights=False)[0]


class Ema:
    """Moving averages of parameters."""

    def __init__(self, decay: float = 0.9) -> None:
        self.decay = decay
        self.shadow: dict[str, Tensor] = {}


@program(lambda: (Ema(), nn.Linear(2, 2)))
def moving_averages(ema, model):
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name in ema.shadow:
                ema.shadow[name].mul_(ema.decay).add_(parameter, alpha=1 - ema.decay)
            else:
                ema.shadow[name] = parameter.clone()
    return ema.shadow


class Scaled(nn.Linear):
    """A layer of torch with another forward."""

    gain = 2.0

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x) * self.gain


class MoreScaled(Scaled):
    """One more."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x) + self.gain


@program(lambda: (MoreScaled(3, 2), numbers(2, 3)))
def hierarchy_of_layers(model, x):
    return model(x)


@program(lambda: (Block(3), numbers(2, 3)))
def under_autocast(model, x):
    with torch.autocast("cpu", torch.bfloat16):
        return model(x)


@program(lambda: (nn.Embedding(5, 3, padding_idx=0), torch.tensor([[0, 2], [4, 1]])))
def embedding(model, tokens):
    return model(tokens).sum(1) * (tokens != model.padding_idx).sum()

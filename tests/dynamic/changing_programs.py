"""Programs whose numbers or sizes are others in each call, in the manner of what people compile."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import torch
import transformers
from torch import Tensor, nn
from torch.optim import Optimizer

from tests.dynamic import changing_optimizers as optimizers

Function = Callable[..., Any]
Compiler = Callable[[Function], Function]


def nothing(number: int) -> tuple[Any, ...]:
    """Return no arguments."""
    del number
    return ()


@dataclass(frozen=True)
class Session:
    """A program on its way: what is called again and again.

    Attributes:
        call: what was compiled.
        arguments: returns the arguments of the call with a number, and prepares it.
        state: tensors that calls change.
    """

    call: Function
    arguments: Callable[[int], tuple[Any, ...]] = nothing
    state: list[Tensor] = field(default_factory=list[Tensor])


@dataclass(frozen=True)
class Program:
    """One program.

    Attributes:
        make: returns a session, given what compiles or hands on the function.
        torch_graphs: how many graphs `torch.compile` of torch 2.13 makes in `CALLS` calls.
    """

    make: Callable[[Compiler], Session]
    torch_graphs: int


CALLS: Final = 24
"""As many as bring every program to rest: all lengths and all branches have come."""


def optimizing(kind: Callable[[list[Tensor]], Optimizer], compiler: Compiler) -> Session:
    """Return a session that calls `step` of an optimizer of three matrices."""
    torch.manual_seed(0)
    parameters = [nn.Parameter(torch.randn(size)) for size in ((32, 64), (24, 64), (16, 48))]
    gradients = [torch.randn_like(p) for p in parameters]
    optimizer = kind([*parameters])

    def arguments(number: int) -> tuple[Any, ...]:
        for p, gradient in zip(parameters, gradients, strict=True):
            p.grad = gradient * (1 + number % 7)
        return ()

    return Session(compiler(optimizer.step), arguments, [*parameters])


def optimizer_program(kind: Callable[[list[Tensor]], Optimizer], torch_graphs: int) -> Program:
    """Return the program that calls `step` of an optimizer."""
    return Program(lambda compiler: optimizing(kind, compiler), torch_graphs)


class Recommender(nn.Module):
    """Sums of embeddings, their products with each other and with dense features, a perceptron on top."""

    def __init__(self) -> None:
        super().__init__()
        self.bags = nn.ModuleList([nn.EmbeddingBag(100 + 50 * n, 16, mode="sum") for n in range(4)])
        self.bottom = nn.Sequential(nn.Linear(13, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU())
        self.top = nn.Sequential(nn.Linear(16 + 10, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, dense: Tensor, offsets: Tensor, indices: list[Tensor]) -> Tensor:
        """Return a probability for each row of the batch; a row of `offsets` belongs to a bag."""
        x = self.bottom(dense)
        found = [x]
        for number, bag in enumerate(self.bags):
            found.append(bag(indices[number], offsets[number]))
        batch, width = x.shape
        rows = torch.cat(found, dim=1).view((batch, -1, width))
        products = torch.bmm(rows, rows.transpose(1, 2))
        _, left, right = products.shape
        i = torch.tensor([one for one in range(left) for _ in range(one)])
        j = torch.tensor([other for one in range(right) for other in range(one)])
        return torch.sigmoid(self.top(torch.cat([x, products[:, i, j]], dim=1)))


def dlrm(compiler: Compiler) -> Session:
    """Return a session of a recommender; the number of examples varies, and of indices in each."""
    torch.manual_seed(0)
    model = Recommender()

    def arguments(number: int) -> tuple[Any, ...]:
        torch.manual_seed(number)
        batch = 16 + number % 5
        counts = [torch.randint(0, 5, (batch,)) for _ in range(4)]
        offsets = torch.stack([torch.cat([torch.zeros(1).long(), n.cumsum(0)[:-1]]) for n in counts])
        return torch.randn(batch, 13), offsets, [torch.randint(0, 100, (int(n.sum()),)) for n in counts]

    return Session(compiler(model), arguments)


TEXT: Final[dict[str, Any]] = {"vocab_size": 100, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
TOKENS: Final = 12


def generating(model: Any, compiler: Compiler) -> Session:
    """Return a session that writes tokens with a cache of a fixed size, for prompts of several lengths."""
    model = model.eval()
    model.generation_config.eos_token_id = None
    model.forward = compiler(model.forward)

    def write(tokens: Tensor) -> Tensor:
        return model.generate(
            input_ids=tokens, attention_mask=torch.ones_like(tokens), do_sample=False,
            max_new_tokens=TOKENS, cache_implementation="static", disable_compile=True,
        )  # fmt: skip

    def arguments(number: int) -> tuple[Any, ...]:
        torch.manual_seed(number)
        return (torch.randint(3, 100, (2, 5 + number % 3)),)

    return Session(write, arguments)


def gpt2(compiler: Compiler) -> Session:
    """Return a session of GPT-2."""
    torch.manual_seed(0)
    config = transformers.GPT2Config(n_layer=2, n_embd=64, n_head=4, n_positions=64, **TEXT)
    return generating(transformers.GPT2LMHeadModel(config), compiler)


def llama(compiler: Compiler) -> Session:
    """Return a session of Llama."""
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        hidden_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        intermediate_size=128, max_position_embeddings=64, **TEXT,
    )  # fmt: skip
    return generating(transformers.LlamaForCausalLM(config), compiler)


class Metric(nn.Module):
    """Adds up what batches show: sums with defaults, a count of updates, the value of a batch."""

    def __init__(self) -> None:
        super().__init__()
        self._defaults: dict[str, Tensor] = {}
        self._updates = 0
        self._computed: Tensor | None = None

    def add_state(self, name: str) -> None:
        """Add a sum."""
        self._defaults[name] = torch.tensor(0.0)
        setattr(self, name, torch.tensor(0.0))

    def reset(self) -> None:
        """Begin anew."""
        self._updates, self._computed = 0, None
        for name, value in self._defaults.items():
            setattr(self, name, value.detach().clone())

    def add(self, *batch: Tensor) -> None:
        """Add one batch to the sums."""
        raise NotImplementedError

    def value(self) -> Tensor:
        """Return what the sums say."""
        raise NotImplementedError

    def update(self, *batch: Tensor) -> None:
        """Count, and add one batch."""
        self._computed = None
        self._updates += 1
        with torch.set_grad_enabled(False):
            self.add(*batch)

    def forward(self, *batch: Tensor) -> Tensor:
        """Return the value of one batch, and add it to what was before."""
        before = {name: getattr(self, name) for name in self._defaults}
        updates = self._updates
        self.reset()
        self.update(*batch)
        value = self.value()
        self._updates = updates + 1
        for name, was in before.items():
            setattr(self, name, was + getattr(self, name))
        return value


class Accuracy(Metric):
    """The share of right answers."""

    right: Tensor
    total: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.add_state("right")
        self.add_state("total")

    def add(self, *batch: Tensor) -> None:
        """Count right answers."""
        scores, labels = batch
        self.right += (scores.argmax(dim=-1) == labels).sum()
        self.total += labels.numel()

    def value(self) -> Tensor:
        """Return the share."""
        return self.right / self.total


class Mean(Metric):
    """The mean of what is no NaN."""

    sum: Tensor
    weight: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.add_state("sum")
        self.add_state("weight")

    def add(self, *batch: Tensor) -> None:
        """Add weighted values."""
        values = batch[0].max(dim=-1).values
        weights = torch.broadcast_to(torch.as_tensor(1.0, dtype=values.dtype), values.shape)
        is_known = ~torch.isnan(values)
        self.sum += torch.where(is_known, values * weights, 0.0).sum()
        self.weight += torch.where(is_known, weights, 0.0).sum()

    def value(self) -> Tensor:
        """Return the mean."""
        return self.sum / self.weight


def metrics(compiler: Compiler) -> Session:
    """Return a session of two metrics; the last batch of an epoch is short."""
    accuracy, mean = Accuracy(), Mean()

    def both(scores: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        return accuracy(scores, labels), mean(scores)

    def arguments(number: int) -> tuple[Any, ...]:
        torch.manual_seed(number)
        rows = 20 if number % 4 == 3 else 32
        return torch.randn(rows, 10), torch.randint(0, 10, (rows,))

    return Session(compiler(both), arguments)


class Policy(nn.Module):
    """Probabilities of two actions, and what an episode left."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
        self.chosen: list[Tensor] = []
        self.rewards: list[float] = []


def reinforce(compiler: Compiler) -> Session:
    """Return a session that ends episodes of several lengths: discounted rewards, their loss, a step."""
    torch.manual_seed(0)
    policy = Policy()
    optimizer = torch.optim.SGD(policy.parameters(), lr=1e-2)
    tiny = torch.finfo(torch.float32).eps

    def finish() -> Tensor:
        total, terms = 0.0, []
        gains: deque[float] = deque()
        for reward in reversed(policy.rewards):
            total = reward + 0.99 * total
            gains.appendleft(total)
        scaled = torch.tensor(list(gains))
        scaled = (scaled - scaled.mean()) / (scaled.std() + tiny)
        for chosen, gain in zip(policy.chosen, scaled, strict=True):
            terms.append(-chosen * gain)
        optimizer.zero_grad()
        loss = torch.cat(terms).sum()
        loss.backward()
        optimizer.step()
        del policy.rewards[:]
        del policy.chosen[:]
        return loss.detach()

    def arguments(number: int) -> tuple[Any, ...]:
        torch.manual_seed(number)
        for moment in range(4 + 5 * number % 11):
            chances = policy.layers(torch.randn(1, 4)).log_softmax(dim=-1)
            policy.chosen.append(chances[:, moment % 2])
            policy.rewards.append(1.0 + 0.1 * (moment % 3) + 0.01 * number)
        return ()

    return Session(compiler(finish), arguments, [*policy.parameters()])


PROGRAMS: Final = {
    "lamb": optimizer_program(optimizers.Lamb, 8),
    "adabelief": optimizer_program(optimizers.AdaBelief, 4),
    "adan": optimizer_program(optimizers.Adan, 3),
    "schedule_free": optimizer_program(optimizers.ScheduleFree, 3),
    "soap": optimizer_program(optimizers.Soap, 4),
    "dlrm": Program(dlrm, 2),
    "gpt2_static_cache": Program(gpt2, 4),
    "llama_static_cache": Program(llama, 4),
    "metrics": Program(metrics, 8),
    "reinforce": Program(reinforce, 25),
}

"""Programs as people write them, with the many places in which they keep what a call depends on."""

import abc
import collections
import dataclasses
import enum
import functools
import math
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.semantics.harness import Corpus

case = Corpus()

SCALE = 2.0
LIMITS = (0.5, 4)
SETTINGS = {"gain": 3, "names": ["a", "b"], "nested": {"bias": 0.25}}
WIDTH = 4


def x(*sizes: int) -> Tensor:
    torch.manual_seed(0)
    return torch.randn(*sizes or (2, WIDTH))


class Mode(enum.Enum):
    FAST = 1
    SLOW = 2


@dataclasses.dataclass
class Config:
    eps: float = 1e-5
    heads: int = 2
    mode: Mode = Mode.FAST
    name: str = "gelu"
    dropout: float | None = None
    layers: list[int] = dataclasses.field(default_factory=lambda: [1, 2])


class Pair(NamedTuple):
    left: Tensor
    right: float


class Base:
    factor = 2
    table = {"one": 1, "two": 2}  # noqa: RUF012  # what a program writes

    def __init__(self, bias: float = 0.5) -> None:
        self.bias = bias

    def scaled(self, value: Tensor) -> Tensor:
        return value * self.factor + self.bias

    @property
    def double(self) -> float:
        return self.bias * 2

    @staticmethod
    def shifted(value: Tensor) -> Tensor:
        return value + 1

    @classmethod
    def named(cls, value: Tensor) -> Tensor:
        return value * cls.factor


class Derived(Base):
    def scaled(self, value: Tensor) -> Tensor:
        return super().scaled(value) * 2


class Slotted:
    __slots__ = ("gain", "shift")

    def __init__(self) -> None:
        self.gain, self.shift = 2, 0.5

    def __call__(self, value: Tensor) -> Tensor:
        return value * self.gain + self.shift


class Shape(abc.ABC):
    @abc.abstractmethod
    def area(self) -> float: ...


class Square(Shape):
    def __init__(self, side: float) -> None:
        self.side = side

    def area(self) -> float:
        return self.side**2


class Bag:
    def __init__(self, *items: float) -> None:
        self.items = list(items)

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, place: int) -> float:
        return self.items[place]

    def __contains__(self, item: float) -> bool:
        return item in self.items


class Norm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.eps = 1e-5
        self.weight = nn.Parameter(torch.ones(WIDTH))
        self.register_buffer("mean", torch.zeros(WIDTH))
        self.config = Config()

    def forward(self, value: Tensor) -> Tensor:
        if self.training:
            value = value - self.mean
        if self.config.mode is Mode.FAST:
            value = value * 2
        return F.layer_norm(value, (WIDTH,), self.weight, None, self.eps)


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = nn.Linear(WIDTH, 8), nn.Linear(8, WIDTH)
        self.act = nn.Tanh()
        self.drop = nn.Dropout(0.0)
        self.scales = nn.ParameterList([nn.Parameter(torch.ones(1)) for _ in range(2)])
        self.residual = True
        self.activation = F.relu

    def forward(self, value: Tensor) -> Tensor:
        found = self.drop(self.second(self.act(self.first(value))))
        for scale in self.scales:
            found = found * scale
        return self.activation(found + value if self.residual else found)


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.a, self.b = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, value: Tensor) -> Tensor:
        return self.b(self.a(value)) * len({id(p) for p in self.parameters()}) * len(list(self.parameters()))


@case(x(), 1e-5)
def layer_norm_with_an_epsilon(value: Tensor, eps: float) -> Tensor:
    return F.layer_norm(value, (WIDTH,), eps=eps)


@case(x(), 0.5, 2)
def numbers_of_all_kinds(value: Tensor, alpha: float, n: int) -> Any:
    return value * alpha + n, value.roll(n), torch.tensor(alpha), value**n, n // 2, alpha * n


@case(x(), Config())
def a_config(value: Tensor, config: Config) -> Tensor:
    if config.dropout is not None:
        value = F.dropout(value, config.dropout)
    value = F.elu(value) if config.name == "gelu" else F.relu(value)
    for layer in config.layers:
        value = value + layer
    return value.view(config.heads, -1) * (config.eps if config.mode is Mode.FAST else 1.0)


@case(x())
def globals_of_all_kinds(value: Tensor) -> Tensor:
    if value.sum().shape == () and len(SETTINGS["names"]) == 2:
        value = value * SETTINGS["gain"] + SETTINGS["nested"]["bias"]
    return value.clamp(*LIMITS) * SCALE


def helper(value: Tensor, gain: float = 2.0, *, shift: float = 0.5) -> Tensor:
    return value * gain + shift


@case(x())
def defaults_of_a_helper(value: Tensor) -> Tensor:
    return helper(value) + helper(value, shift=2.0)


def closure(scale: float, table: dict[str, float]) -> Any:
    def closes_over(value: Tensor) -> Tensor:
        return value * scale + table["b"]

    return closes_over


case(x())(closure(2.0, {"b": 0.5}))


@case(x(), Derived(), Base(1.0))
def methods_and_inheritance(value: Tensor, one: Base, other: Base) -> Tensor:
    value = one.scaled(value) + other.scaled(value) + one.double
    return type(one).shifted(value) * other.named(value).sum() * Base.table["two"]


@case(x(), Slotted())
def an_object_that_is_called(value: Tensor, run: Slotted) -> Tensor:
    return run(value)


@case(x(), Square(2.0), 3)
def questions_about_classes(value: Tensor, shape: Any, other: Any) -> Any:
    if isinstance(shape, Shape):
        value = value * shape.area()
    return (
        value,
        isinstance(other, int),
        issubclass(type(shape), Shape),
        callable(other),
        type(shape).__name__,
    )


@case(x(), Bag(1.0, 2.0))
def protocols_of_an_object(value: Tensor, bag: Bag) -> Tensor:
    if bag and 2.0 in bag:
        value = value * bag[0] + len(bag)
    return value


@case(x(), [1.0, 2.0], {"a": 1, "b": 2}, {1, 2, 3}, (4, 5.0))
def containers(value: Tensor, items: Any, table: Any, members: Any, pair: Any) -> Any:
    for item in items:
        value = value + item
    for name, number in table.items():
        value = value * number if name == "b" else value
    return value + len(members) + (2 if 3 in members else 0), pair[0] * value, [*table]


@case([x(), x()], {"k": x()})
def tensors_in_containers(items: list[Tensor], table: dict[str, Tensor]) -> Any:
    return torch.cat(items), torch.stack([*items, table["k"]]), {name: one + 1 for name, one in table.items()}


@case(x(), x())
def identities(one: Tensor, other: Tensor) -> Tensor:
    return one * len({one, other}) + (2 if one is other else 0) + (one in [other]) + len({id(one), id(other)})


@case(x(), x())
def writes(one: Tensor, other: Tensor) -> Tensor:
    one.add_(1)
    other[0] = 5
    return one + other


@case(x(3, WIDTH)[1:])
def storage_offsets(value: Tensor) -> Any:
    return value.storage_offset(), value.as_strided((2,), (1,), 1), value.is_contiguous(), value.stride()


@case(x(), Pair(x(), 2.0))
def a_named_tuple(value: Tensor, pair: Pair) -> Pair:
    return pair._replace(left=pair.left + value, right=pair.right * 2)


@case(Norm(), x())
def a_norm(module: nn.Module, value: Tensor) -> Tensor:
    return module(value)


@case(Block(), x())
def a_block(module: nn.Module, value: Tensor) -> Tensor:
    return module(value)


@case(Tied(), x())
def parameters_that_may_be_tied(module: nn.Module, value: Tensor) -> Tensor:
    return module(value)


@case(nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.BatchNorm1d(WIDTH), nn.Dropout(0.0)), x())
def a_sequence(module: nn.Module, value: Tensor) -> Tensor:
    return module(value)


@case(nn.MultiheadAttention(WIDTH, 2, batch_first=True), x(1, 3, WIDTH))
def attention(module: nn.Module, value: Tensor) -> Any:
    return module(value, value, value, need_weights=False)[0]


@case(x(), True)
def modes(value: Tensor, is_recorded: bool) -> Any:
    with torch.set_grad_enabled(is_recorded):
        made = value.sin()
    with torch.no_grad():
        other = value.sin()
    return made, other, torch.is_grad_enabled(), torch.get_default_dtype()


@case(x())
def autocast_blocks(value: Tensor) -> Any:
    with torch.autocast("cpu", enabled=False):
        exact = value @ value.t()
    return exact, value @ value.t()


class Clipped(torch.autograd.Function):
    scale = 2.0

    @staticmethod
    def forward(ctx: Any, value: Tensor, limit: float) -> Tensor:
        ctx.save_for_backward(value)
        ctx.limit = limit
        return value.clamp(-limit, limit)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        (value,) = ctx.saved_tensors
        return grad * (value.abs() < ctx.limit) * Clipped.scale, None


@case(x().requires_grad_(), 0.5)
def a_function_of_its_own(value: Tensor, limit: float) -> Tensor:
    return Clipped.apply(value, limit)


@case(nn.Linear(WIDTH, 3), x(), torch.tensor([0, 2]), 0.1)
def a_loss(module: nn.Module, value: Tensor, target: Tensor, smoothing: float) -> Tensor:
    return F.cross_entropy(module(value), target, label_smoothing=smoothing)


@case(x(), "mean", 1)
def texts_choose(value: Tensor, how: str, dim: int) -> Tensor:
    return getattr(value, how)(dim) if hasattr(value, how) else value


@case(x(), 3)
def arithmetic_of_numbers(value: Tensor, n: int) -> Any:
    return value * math.sqrt(abs(n)) + math.pow(0.9, n), math.floor(n / 2), n % 7, round(n * 1.5), max(n, 2)


@case(x(), functools.partial(torch.add, alpha=2), lambda value: value * 3)
def functions_as_arguments(value: Tensor, add: Any, scale: Any) -> Tensor:
    return scale(add(value, value))


@case(x(), collections.OrderedDict(a=1, b=2), collections.deque([1, 2]), collections.defaultdict(int, a=1))
def collections_of_the_library(value: Tensor, ordered: Any, queue: Any, counts: Any) -> Any:
    counts["b"] += 1
    return value * ordered["b"] + queue[0] + len(queue), list(ordered), counts["missing"]


@case(x(), torch.float64, 2)
def dtypes_and_sizes(value: Tensor, dtype: torch.dtype, n: int) -> Any:
    return value.to(dtype), torch.zeros(n, dtype=dtype), value.new_ones(n), torch.arange(n), value.numel() * n


@case(x(1, 2, 4, 4))
def layouts(value: Tensor) -> Any:
    return (
        F.avg_pool2d(value, 2),
        value.is_contiguous(),
        value.flatten(1),
        F.interpolate(value, scale_factor=2),
    )

"""Functions, objects and numbers as people write them around tensors."""

import abc
import collections
import dataclasses
import enum
import functools
import math
import operator
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from tests.mutation.worlds import Programs

program = Programs()
EPS = 0.25
LIMITS = (0.5, 2.0)
OPTIONS = {"mode": "mean", "scale": 2.0, "sizes": [1, 2]}
NAMES = {"relu", "tanh"}


def numbers(*shape: int) -> Tensor:
    return torch.sin(torch.arange(math.prod(shape)) * 1.7 + 0.3).reshape(shape)


@program(lambda: (numbers(4),))
def constants_of_the_module(x):
    x = x.clamp(*LIMITS) + EPS
    if "relu" in NAMES:
        x = x.relu()
    return (x.mean() if OPTIONS["mode"] == "mean" else x.sum()) * OPTIONS["scale"]


@program(lambda: (numbers(2, 4), 0.5))
def layer_norm(x, eps):
    return F.layer_norm(x, (4,), eps=eps)


@program(lambda: (numbers(3, 4), 2, 0.5, "mean", True, None))
def arguments_of_each_kind(x, n, s, mode, is_scaled, bias):
    y = x * s if is_scaled else x
    y = y.sum(0) if mode == "sum" else y.mean(0)
    return y**n if bias is None else y + bias


@program(lambda: ([numbers(2), numbers(2) + 1], (1, 2.0), {"a": 1, "b": numbers(2)}, {3, 4}))
def containers(xs, pair, named, some):
    total = xs[0] * pair[0] + xs[-1] * pair[1] + len(xs)
    for key, value in named.items():
        total = total + value * (2 if key == "a" else 3)
    return total * (3 in some) + sum(some)


def of_a_late_variable():
    def scaled(x):
        try:
            return x * scale
        except NameError:
            return x

    scale = 2.0
    del scale  # who calls it later may bind it again
    return scaled


of_an_unbound_variable = program(lambda: (numbers(2),))(of_a_late_variable())


@dataclasses.dataclass(frozen=True)
class Settings:
    """Frozen."""

    rate: float = 0.1
    steps: int = 3
    name: str = "sgd"


@program(lambda: (numbers(3), Settings()))
def frozen_dataclass(x, settings):
    for _ in range(settings.steps):
        x = x - settings.rate * x
    return x if settings.name == "sgd" else -x


class Shape(abc.ABC):
    """An abstract class."""

    factor = 2

    @abc.abstractmethod
    def area(self, x: Tensor) -> Tensor: ...

    def scaled(self, x: Tensor) -> Tensor:
        return self.area(x) * self.factor


class Square(Shape):
    """A concrete one."""

    def area(self, x: Tensor) -> Tensor:
        return x * x


class Round(Shape):
    """Another one."""

    factor = 3

    def __init__(self, radius: float = 0.5) -> None:
        self.radius = radius

    def area(self, x: Tensor) -> Tensor:
        return x * math.pi * self.radius**2


@program(lambda: (numbers(2), [Square(), Round()]))
def class_hierarchy(x, shapes):
    for shape in shapes:
        x = shape.scaled(x)
        if isinstance(shape, Round):
            x = x + 1
    return x


class Box:
    """Slots, properties, operators."""

    __slots__ = ("_scale", "value")

    def __init__(self, value: Tensor, scale: float = 2.0) -> None:
        self.value = value
        self._scale = scale

    @property
    def scale(self) -> float:
        return self._scale + 1

    @scale.setter
    def scale(self, value: float) -> None:
        self._scale = value

    @staticmethod
    def shift(x: Tensor, by: float = 1.0) -> Tensor:
        return x + by

    @classmethod
    def of(cls, x: Tensor) -> "Box":
        return cls(x, 0.5)

    def __add__(self, other: "Box") -> "Box":
        return Box(self.value + other.value, self._scale)

    def __len__(self) -> int:
        return len(self.value)


@program(lambda: (Box(numbers(3)), numbers(3)))
def slots_and_properties(box, x):
    box.scale = box.scale * 0.5
    other = Box.of(x) + box
    return Box.shift(other.value) * box.scale * len(other), bool(box)


class Mode(enum.IntEnum):
    """Numbers with names."""

    FIRST = 1
    SECOND = 2


@program(lambda: (numbers(2), Mode.FIRST))
def integer_enum(x, mode):
    return x * mode + (10 if mode is Mode.SECOND else 0)


class Point(NamedTuple):
    """A tuple with names."""

    x: Tensor
    weight: float = 1.0


@program(lambda: (Point(numbers(2)), Point(numbers(2) + 1, 2.0)))
def named_tuples(a, b):
    return a._replace(x=a.x * a.weight + b.x * b.weight)


@program(lambda: (numbers(2), 3), lambda: {"bias": 1.0, "extra": 2})
def defaults_and_names(x, n=1, *rest, bias=0.0, **more):
    return x * n + bias + sum(more.values()) + len(rest)


def schedule(step, *, warmup=4, base=0.1, floor=None):
    rate = base * min(1.0, (step + 1) / warmup)
    return rate if floor is None else max(rate, floor)


@program(lambda: (numbers(2), 2))
def learning_rate(x, step):
    return x * schedule(step) - schedule(step, warmup=8) * 2


@program(lambda: (numbers(3), functools.partial(torch.clamp, min=-0.5, max=0.5)))
def partial_as_argument(x, f):
    return f(x) + functools.reduce(operator.add, [x, x * 2])


def registry(kind):
    def add(function):
        FUNCTIONS[kind] = function
        return function

    return add


FUNCTIONS: dict[str, Any] = {}


@registry("square")
def square(x, times=2):
    return x**times


@registry("negate")
def negate(x):
    return -x


@program(lambda: (numbers(2), "square"))
def function_from_a_registry(x, kind):
    return FUNCTIONS[kind](x) + len(FUNCTIONS)


@program(lambda: (numbers(2, 3), numbers(2, 3) + 1))
def identity_of_arguments(a, b):
    return a * (1 if a is b else 2) + len({a, b}) + len({id(a), id(b)})


@program(lambda: (numbers(8)[2:6],))
def offsets_and_strides(x):
    return x * x.storage_offset() + x.as_strided((2,), (1,), 3)[0] + x.stride(0)


@program(lambda: (numbers(2, 3), numbers(3)))
def writes_to_views(x, y):
    row = x[0]
    row.mul_(2)
    x[:, 1] = y[:2]
    return x.t(), row.add_(1)


@program(lambda: (numbers(3), numbers(3) + 2))
def out_arguments(x, y):
    torch.add(x, y, out=y)
    y.clamp_(min=0.1)
    return x * y


@program(lambda: (numbers(2, 3).requires_grad_(), torch.tensor([0, 2])))
def loss_with_backward(w, labels):
    loss = F.cross_entropy(w * 2, labels)
    (gradient,) = torch.autograd.grad(loss, w)
    return loss.detach(), gradient


@program(lambda: (numbers(3).requires_grad_(),))
def no_grad_region(w):
    with torch.no_grad():
        scale = w.abs().max()
    with torch.enable_grad():
        return (w / scale).sum() * 2, w.requires_grad


class Clip(torch.autograd.Function):
    """A function with a gradient of its own."""

    slope = 0.5

    @staticmethod
    def forward(ctx, x, limit):
        ctx.save_for_backward(x)
        ctx.limit = limit
        return x.clamp(-limit, limit)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return torch.where(x.abs() < ctx.limit, gradient, gradient * Clip.slope), None


@program(lambda: (numbers(4).requires_grad_(), 0.5))
def custom_function(x, limit):
    return Clip.apply(x * 2, limit)


@program(lambda: (numbers(2, 2).requires_grad_(), 0.1))
def gradient_step(w, rate):
    loss = (w**2).sum()
    loss.backward()
    with torch.no_grad():
        w -= rate * w.grad
    w.grad = None
    return loss.detach()


@program(lambda: (numbers(3), [1.0, 0.5], ("mean", "sum")))
def weighted_losses(x, weights, reductions):
    target = torch.zeros_like(x)
    losses = [F.mse_loss(x, target, reduction=one) * w for one, w in zip(reductions, weights, strict=False)]
    return torch.stack(losses).sum()


@program(lambda: (numbers(2, 2), torch.float64, (2, 2)))
def dtypes_and_sizes(x, dtype, shape):
    made = torch.full(shape, 0.5, dtype=dtype) + torch.ones(2) + torch.tensor(0.1)
    return x.to(dtype) @ made, made.dtype == torch.get_default_dtype()


@program(lambda: (numbers(2, 6), slice(1, 5), -1))
def slices(x, where, dim):
    return x[:, where].flip(dim), x[..., 0].sum(dim)


class Registry(type):
    """A metaclass that counts."""

    count = 2

    def __call__(cls, *args):
        made = super().__call__(*args)
        made.number = cls.count
        return made


class Made(metaclass=Registry):
    """A class that it makes."""

    def __init__(self, scale):
        self.scale = scale


@program(lambda: (numbers(2), 1.5))
def instances_of_a_metaclass(x, scale):
    made = Made(scale)
    return x * made.scale + made.number + Made.count


class Lazy:
    """Attributes that are made when they are asked for."""

    def __init__(self) -> None:
        self.values = {"alpha": 0.5, "beta": 2}

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["values"][name]
        except KeyError:
            raise AttributeError(name) from None

    def __contains__(self, name: object) -> bool:
        return name in self.values

    def __bool__(self) -> bool:
        return bool(self.values)


@program(lambda: (numbers(2), Lazy()))
def attributes_on_demand(x, lazy):
    x = x * lazy.alpha + lazy.beta if "beta" in lazy and lazy else x
    return x + getattr(lazy, "gamma", 1) + hasattr(lazy, "alpha")


@program(lambda: (numbers(2), collections.OrderedDict(a=1, b=2), collections.deque([1.0, 2.0], maxlen=3)))
def ordered_collections(x, ordered, recent):
    recent.append(0.5)
    first = next(iter(ordered))
    return x * ordered[first] + sum(recent) / len(recent)


@program(lambda: (numbers(3), None, 2))
def early_returns_and_errors(x, mask, n):
    if mask is not None:
        return x * mask
    if n < 0:
        raise ValueError(f"n is {n}")
    try:
        return x[n] * 2
    except IndexError:
        return x.sum()


class State:
    """What training keeps."""

    def __init__(self) -> None:
        self.step = 0
        self.best = math.inf
        self.history: list[float] = []
        self.average: Tensor | None = None


@program(lambda: (numbers(3), State(), 0.9))
def training_state(x, state, decay):
    state.step += 1
    state.average = x if state.average is None else state.average * decay + x * (1 - decay)
    state.history.append(state.step * 0.5)
    return state.average / (1 - decay**state.step), state.best > 1


@program(lambda: (numbers(2, 3), 0.5, True))
def dropout(x, p, training):
    return F.dropout(x, p, training), torch.rand(2), torch.randn_like(x).sum()


@program(lambda: (torch.tensor([3, 1, 2]), numbers(4)))
def integers_and_indices(order, x):
    return x[order] * order.max().item(), order.tolist()


@program(lambda: (numbers(2), 5, 3))
def arithmetic_of_numbers(x, a, b):
    return x * (a // b) + (a % b) - (a << 1) + (a / b) + (a == b) + divmod(a, b)[1] + abs(-a) + round(a / b)


@program(lambda: (torch.complex(numbers(3), numbers(3) + 1),))
def complex_numbers(z):
    return z * z.conj(), z.imag.neg(), z.abs() + z.real


@program(lambda: (numbers(2, 3), "bi,bj->ij", numbers(2, 4)))
def einsum(x, equation, y):
    return torch.einsum(equation, x, y)


@program(lambda: (numbers(1, 2, 4, 4), 2.0, "nearest"))
def interpolate(x, factor, mode):
    return F.interpolate(x, scale_factor=factor, mode=mode), F.pad(x, (1, 1), value=factor)


LABELS = ["a part"]


class Shown(type):
    """A metaclass that says what its classes are."""

    def __repr__(cls) -> str:
        return f"{LABELS[0]} {len(LABELS)}"


class Part(metaclass=Shown):
    """Shown by its metaclass."""


@program(lambda: (Part, numbers(2)))
def text_of_a_shown_class(kind, x):
    return x, f"{kind}", repr(Part)


@program(lambda: (Settings, numbers(2)))
def text_of_a_class(kind, x):
    return x * len(str(kind)), f"{Settings}", repr(Settings.__init__).split(" at ")[0]


@functools.lru_cache
def rate_of(step: int) -> float:
    return 0.5 * step + OPTIONS["scale"]


@functools.cache
def pairs_of(name: str) -> tuple[str, int]:
    return name, 3


@program(lambda: (numbers(2), 3))
def answers_of_caches(x, step):
    name, many = pairs_of("one")
    return x * rate_of(2) + rate_of(step) * many, name

"""Programs that give tensors other memory or sizes; tensors, modules and functions that the program holds."""

# pyright: reportUnknownMemberType=false, reportArgumentType=false, reportIncompatibleMethodOverride=false

from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from tests.training.aliases.harness import Corpus

Tensor = torch.Tensor
program = Corpus()


# -- resize_, set_, in-place reshaping -----------------------------------------------------------------------


@program()
def resize_fresh(x: Tensor, y: Tensor) -> Tensor:
    z = (x + y).detach()
    z.resize_(2, 8)
    return z * 2


@program()
def resize_argument(x: Tensor, y: Tensor) -> Tensor:
    x.resize_(2, 8)
    return x * 2


@program()
def resize_view(x: Tensor, y: Tensor) -> Tensor:
    z = x.detach()[:2]
    z.resize_(4)
    return z + 1


@program()
def set_argument(x: Tensor, y: Tensor) -> Tensor:
    with torch.no_grad():
        x.set_(y)
    return x * 2


@program()
def set_fresh(x: Tensor, y: Tensor) -> Tensor:
    z = torch.empty(0)
    z.set_(y.detach())
    z.add_(1)
    return x * z


@program()
def data_replaced(x: Tensor, y: Tensor) -> Tensor:
    x.data = y.detach() * 2
    return x + 1


@program()
def transposed_in_place(x: Tensor, y: Tensor) -> Tensor:
    z = x * y
    z.t_()
    return z[0]


@program()
def argument_transposed_in_place(x: Tensor, y: Tensor) -> Tensor:
    x.t_()
    return x + y


@program()
def squeezed_in_place(x: Tensor, y: Tensor) -> Tensor:
    z = (x * y).unsqueeze(0)
    z.squeeze_(0)
    z.add_(1)
    return z


# -- what the program holds ----------------------------------------------------------------------------------


@program.made()
def held_in_a_list() -> Any:
    held = [torch.zeros(4, 4), torch.ones(4)]

    def run(x: Tensor, y: Tensor) -> Tensor:
        held[0].add_(x.detach())
        return held[0] * y + held[1]

    return run, held


@program.made()
def held_in_a_dict() -> Any:
    held = {"count": torch.zeros((), dtype=torch.int64), "sum": torch.zeros(4)}

    def run(x: Tensor, y: Tensor) -> Tensor:
        held["count"] += 1
        held["sum"].copy_(x.detach().sum(0))
        return y + held["sum"] / held["count"]

    return run, list(held.values())


@program.made()
def held_in_a_closure() -> Any:
    held = torch.ones(4, 4)

    def run(x: Tensor, y: Tensor) -> Tensor:
        held.mul_(2)
        return x * held.clone() + y

    return run, [held]


@program.made()
def held_view_is_written() -> Any:
    held = torch.ones(6, 4)
    views = [held[:4], held[2:]]

    def run(x: Tensor, y: Tensor) -> Tensor:
        views[0].mul_(2)
        return x + views[1]

    return run, [held, *views]


@program.made()
def held_takes_differentiable() -> Any:
    held = [torch.zeros(4, 4)]

    def run(x: Tensor, y: Tensor) -> Tensor:
        held[0].add_(x)
        return held[0] * y.clone()

    return run, held


class Counting(nn.Module):
    mean: Tensor
    steps: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(4))
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))
        self.weight = nn.Parameter(torch.linspace(-1, 1, 16).view(4, 4))

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        self.steps.add_(1)
        self.mean.mul_(0.9).add_(x.detach().mean(0), alpha=0.1)
        return (x - self.mean) @ self.weight + y


@program.made()
def buffers_of_a_module() -> Any:
    module = Counting()
    return module, list(module.buffers())


@program.made()
def batch_norm() -> Any:
    module = nn.BatchNorm1d(4)

    def run(x: Tensor, y: Tensor) -> Tensor:
        return module(x) * y

    return run, list(module.buffers())


@program.made()
def batch_norm_twice() -> Any:
    module = nn.BatchNorm1d(4, momentum=0.3)

    def run(x: Tensor, y: Tensor) -> Tensor:
        return module(module(x) + y)

    return run, list(module.buffers())


@program.made()
def batch_norm_without_gradients() -> Any:
    module = nn.BatchNorm1d(4, affine=False)

    def run(x: Tensor, y: Tensor) -> Tensor:
        with torch.no_grad():
            z = module(x)
        return z * y

    return run, list(module.buffers())


@program.made()
def running_statistics_by_function() -> Any:
    mean, var = torch.zeros(4), torch.ones(4)

    def run(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        z = F.batch_norm(x, mean, var, training=True)
        return z, mean * 2

    return run, [mean, var]


@program.made()
def instance_norm_statistics() -> Any:
    mean, var = torch.zeros(2), torch.ones(2)

    def run(x: Tensor, y: Tensor) -> Tensor:
        return F.instance_norm(x.view(2, 2, 4), mean, var) + y.view(2, 2, 4)

    return run, [mean, var]


@program.made()
def ema_of_a_parameter() -> Any:
    weight, average = nn.Parameter(torch.ones(4)), torch.zeros(4)

    def run(x: Tensor, y: Tensor) -> Tensor:
        with torch.no_grad():
            average.lerp_(weight, 0.1)
        return x * weight + y * average.clone()

    return run, [average]


@program.made()
def parameter_written_in_no_grad() -> Any:
    weight = nn.Parameter(torch.ones(4))

    def run(x: Tensor, y: Tensor) -> Tensor:
        with torch.no_grad():
            weight.mul_(0.5)
        return x * weight + y

    return run, ()


@program.made()
def parameter_returned() -> Any:
    weight = nn.Parameter(torch.ones(4, 4))

    def run(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
        return weight, weight[1], x @ weight

    return run, ()


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return 3 * x * grad


class Flattened(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.view(-1)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return 5 * grad.view(4, 4)


class Filled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.mark_dirty(x)
        return x.fill_(2)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return 7 * grad


@program()
def function_of_the_program(x: Tensor, y: Tensor) -> Tensor:
    return Doubled.apply(x) + y


@program()
def function_that_returns_a_view(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    return Flattened.apply(x), Flattened.apply(y * 2)


@program()
def function_that_writes(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    z = x * y
    return Filled.apply(z), Filled.apply(y * 1)


@program()
def function_that_writes_an_argument(x: Tensor, y: Tensor) -> Tensor:
    return Filled.apply(x) + y

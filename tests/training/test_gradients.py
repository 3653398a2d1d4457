"""Compiled forward and backward give eager's results and gradients."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import supple

Make = Callable[[], nn.Module]


class Perceptron(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(8, 16), nn.LayerNorm(16), nn.Linear(16, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(F.gelu(self.norm(self.first(x))))


class Classifier(Perceptron):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(self.last(torch.tanh(self.first(x))), y)


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rows, self.all, self.out = nn.Embedding(50, 32), nn.Linear(32, 96), nn.Linear(32, 50)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        h = self.rows(ids)
        q, k, v = (part.view(*ids.shape, 4, 8).transpose(1, 2) for part in self.all(h).chunk(3, -1))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(h.shape)
        return self.out(h + F.silu(mixed)).softmax(-1)


class Convolutions(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm, self.last = nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.Linear(8, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(F.max_pool2d(torch.relu(self.norm(self.first(x))), 2).mean((2, 3))).log_softmax(-1)


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell, self.out = nn.Linear(14, 32), nn.Linear(8, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        state, memory = x.new_zeros(x.shape[0], 8), x.new_zeros(x.shape[0], 8)
        for step in x.unbind(1):
            into, keep, new, out = self.cell(torch.cat((step, state), 1)).chunk(4, 1)
            memory = keep.sigmoid() * memory + into.sigmoid() * new.tanh()
            state = out.sigmoid() * memory.tanh()
        return self.out(state)


class Dropping(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.drop = nn.Linear(8, 64), nn.Dropout(0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (self.drop(self.first(x)) * self.drop(x.sum())).sigmoid()


torch.manual_seed(0)  # the numbers are the same in whatever order files are collected
CASES: dict[str, tuple[Make, tuple[torch.Tensor, ...]]] = {
    "perceptron": (Perceptron, (torch.randn(5, 8),)),
    "classifier": (Classifier, (torch.randn(5, 8), torch.tensor([0, 3, -100, 2, 1]))),
    "attention": (Attention, (torch.randint(0, 50, (2, 6)),)),
    "convolutions": (Convolutions, (torch.randn(4, 3, 10, 10),)),
    "channels last": (Convolutions, (torch.randn(4, 3, 10, 10).to(memory_format=torch.channels_last),)),
    "recurrent": (Recurrent, (torch.randn(4, 7, 6),)),
    "dropping": (Dropping, (torch.randn(5, 8),)),
}


def weighted(result: torch.Tensor) -> torch.Tensor:
    """Return a loss to which every element contributes differently."""
    return (result * torch.arange(result.numel(), dtype=result.dtype).view(result.shape).cos()).sum()


def close(left: torch.Tensor | None, right: torch.Tensor | None) -> None:
    assert (left is None) == (right is None)
    if left is not None:
        torch.testing.assert_close(left, right, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("backend", ["native", "eager"])
@pytest.mark.parametrize("name", CASES)
def test_three_steps_are_as_eager(name: str, backend: str) -> None:
    make, args = CASES[name]
    torch.manual_seed(0)
    eager = make()
    module = copy.deepcopy(eager)
    compiled = supple.compile(module, backend=backend)
    optimizers = [torch.optim.SGD(one.parameters(), 0.1, momentum=0.9) for one in (eager, module)]
    for step in range(3):
        results = []
        for run, optimizer in zip((eager, compiled), optimizers, strict=True):
            torch.manual_seed(step)
            optimizer.zero_grad()
            results.append(run(*args))
            weighted(results[-1]).backward()
            optimizer.step()
        close(*results)
        for mine, theirs in zip(module.parameters(), eager.parameters(), strict=True):
            close(mine.grad, theirs.grad)
            close(mine, theirs)
        for mine, theirs in zip(module.buffers(), eager.buffers(), strict=True):
            close(mine, theirs)
    assert supple.stats()["graphs"] == 1
    assert not supple.stats()["refusals"]


def penalty(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return (torch.tanh(x @ w) * x.sum(1, keepdim=True).sin()).sum(1)


def leaves() -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(1)
    return torch.randn(4, 3, requires_grad=True), torch.randn(3, 3, requires_grad=True)


def both(check: Callable[[Callable[..., Any], torch.Tensor, torch.Tensor], object]) -> None:
    """Run a check with eager and with compiled code, and compare what it returns and the gradients."""
    found = []
    for run in (penalty, supple.compile(penalty)):
        x, w = leaves()
        found.append((check(run, x, w), x.grad, w.grad))
    torch.testing.assert_close(found[0], found[1])
    assert not supple.stats()["refusals"]


def test_gradients_of_gradients_and_theirs() -> None:
    def check(run: Callable[..., Any], x: torch.Tensor, w: torch.Tensor) -> object:
        (first,) = torch.autograd.grad(run(x, w).sum(), x, create_graph=True)
        (second,) = torch.autograd.grad(first.square().sum(), x, create_graph=True)
        (second.norm() + first.sum()).backward()
        return first.detach(), second.detach()

    both(check)


def test_backward_runs_twice_and_accumulates() -> None:
    def check(run: Callable[..., Any], x: torch.Tensor, w: torch.Tensor) -> object:
        loss = run(x, w).sum()
        loss.backward(retain_graph=True)
        loss.backward()
        with pytest.raises(RuntimeError, match="second time"):
            loss.backward()
        return loss.detach()

    both(check)


def test_partial_inputs_hooks_and_layouts_of_what_flows_in() -> None:
    def check(run: Callable[..., Any], x: torch.Tensor, w: torch.Tensor) -> object:
        seen: list[torch.Tensor] = []
        x.register_hook(lambda grad: seen.append(grad) or grad * 2)
        result = run(x * 1, w)
        (only,) = torch.autograd.grad(result, w, torch.ones(1).expand(4), retain_graph=True)
        result[::2].sum().backward()
        return only, seen

    both(check)


def test_a_result_that_needs_none_and_one_that_gets_none() -> None:
    def function(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = x @ w
        return y.relu(), y.detach().sum(), y > 0, y.exp()

    found = []
    for run in (function, supple.compile(function)):
        x, w = leaves()
        results = run(x, w)
        results[0].sum().backward()
        found.append((x.grad, w.grad, [result.requires_grad for result in results]))
    torch.testing.assert_close(found[0], found[1])


def test_an_input_that_is_written_and_read_by_backward() -> None:
    def function(x: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
        y = x * seen.clone()
        seen.mul_(2)
        return y * seen.clone()

    found = []
    for run in (function, supple.compile(function)):
        x, seen = torch.ones(3, requires_grad=True), torch.arange(3.0)
        for _ in range(3):
            run(x, seen).sum().backward()
        found.append((x.grad, seen))
    torch.testing.assert_close(found[0], found[1])


def test_one_graph_for_all_batches() -> None:
    module = Perceptron()
    compiled = supple.compile(module, dynamic=True)
    for batch in (5, 1, 3, 8):
        x = torch.randn(batch, 8)
        module.zero_grad()
        weighted(compiled(x)).backward()
        mine = [parameter.grad for parameter in module.parameters()]
        module.zero_grad()
        weighted(module(x)).backward()
        for one, parameter in zip(mine, module.parameters(), strict=True):
            close(one, parameter.grad)
    assert supple.stats()["graphs"] == 1
    assert not supple.stats()["refusals"]


def test_backward_of_autocast_runs_outside_of_it() -> None:
    module = Perceptron()
    compiled = supple.compile(module)
    x = torch.randn(5, 8)
    grads = []
    for run in (module, compiled):
        module.zero_grad()
        with torch.autocast("cpu", torch.bfloat16):
            result = run(x)
        result.float().sum().backward()
        grads.append([parameter.grad for parameter in module.parameters()])
    for left, right in zip(*grads, strict=True):
        assert left is not None
        assert right is not None
        assert left.dtype is right.dtype
        torch.testing.assert_close(left, right, rtol=3e-2, atol=3e-2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("compiled", [False, True])
def test_memory_given_to_a_parameter_after_forward_is_not_what_backward_reads(
    dtype: torch.dtype, compiled: bool
) -> None:
    model = nn.Linear(3, 3)
    with torch.no_grad():
        model.weight.copy_(torch.eye(3))
    run = supple.compile(model, fullgraph=True) if compiled else model
    x = torch.ones(2, 3, requires_grad=True)
    y = run(x * 1.0).sum()
    model.weight.data = 5 * torch.eye(3, dtype=dtype)
    y.backward()
    assert x.grad is not None
    assert x.grad.tolist() == [[1.0] * 3] * 2


def test_a_gradient_of_a_gradient_says_that_a_parameter_was_given_other_memory() -> None:
    weight = torch.ones(3, requires_grad=True)
    y = supple.compile(lambda w: w.exp().sum(), fullgraph=True)(weight)
    weight.data = torch.zeros(3)
    with pytest.raises(RuntimeError, match="was written since"):
        torch.autograd.grad(y, weight, create_graph=True)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("parameters", [torch.float32, None])
def test_batch_norm_keeps_statistics_in_the_type_of_its_parameters(
    dtype: torch.dtype, parameters: torch.dtype | None
) -> None:
    norm = nn.BatchNorm2d(3).to(parameters or dtype)
    x = torch.randn(4, 3, 5, 5).to(dtype).requires_grad_()
    wanted, got = (
        torch.autograd.grad(weighted(one(x)), [x, *norm.parameters()])
        for one in (norm, supple.compile(norm, fullgraph=True))
    )
    torch.testing.assert_close(got, wanted)


def test_a_gradient_that_is_zero_for_all_that_flows_is_no_undefined_one() -> None:
    x = torch.tensor([0.5, 1.5], requires_grad=True)
    for function in (lambda x: x.floor(), lambda x: (x + 1).round().sum(), lambda x: (x > 1).float() + x * 0):
        wanted, got = (
            torch.autograd.grad(one(x).sum(), x, allow_unused=True)
            for one in (function, supple.compile(function, fullgraph=True))
        )
        assert (wanted[0] is None) == (got[0] is None)
        torch.testing.assert_close(got, wanted)


def test_what_flows_in_as_the_negative_of_its_memory_or_as_no_memory() -> None:
    run = supple.compile(lambda x: x.exp() * 2, fullgraph=True)
    x = torch.zeros(3, requires_grad=True)
    negative = torch.complex(torch.ones(3), torch.ones(3)).conj().imag
    assert negative.is_neg()
    assert torch.autograd.grad(run(x), x, torch.as_strided(negative, (3,), (2,)))[0].tolist() == [-2.0] * 3
    assert torch.autograd.grad(run(x), x, torch._efficientzerotensor((3,)))[0].tolist() == [0.0] * 3
    assert supple.compile(lambda x: x.exp())(torch._efficientzerotensor((3,))).tolist() == [1.0] * 3


UNREAD: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "a term": lambda x, w: x.sin() + w,
    "a sum": lambda x, w: x.pow(3) * 2 + w.sum(),
    "put in": lambda x, w: x.sin().index_add(0, torch.tensor([0]), w[:1]),
    "detached": lambda x, w: x.exp() + (w * w).detach(),
    "a shape": lambda x, w: x.sin() * w.numel(),
}


@pytest.mark.parametrize("name", UNREAD)
def test_gradients_of_gradients_do_not_need_what_gradients_do_not_read(name: str) -> None:
    program, found = UNREAD[name], []
    for run in (program, supple.compile(program, backend="native")):
        x, w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True), torch.tensor([1.0, -1.0, 2.0])
        made = run(x, w)
        w.mul_(5)
        (first,) = torch.autograd.grad(made.square().sum(), x, create_graph=True)
        (second,) = torch.autograd.grad(first.square().sum(), x)
        found.append([made.detach(), first.detach(), second])
    torch.testing.assert_close(*found)


@pytest.mark.filterwarnings("ignore:Warning. Profiler clears events")  # of torch 2.11 and 2.12
def test_gradients_of_gradients_are_compiled() -> None:
    def penalty(run: Callable[[torch.Tensor], torch.Tensor], w: torch.Tensor) -> torch.Tensor:
        (grad,) = torch.autograd.grad(run(w).sum(), w, create_graph=True)
        return torch.autograd.grad(grad.square().sum(), w)[0]

    def function(w: torch.Tensor) -> torch.Tensor:
        return (w.sin() * w.exp() + w.tanh()).detach().cos() * w.sin().exp()

    w = torch.linspace(-1, 1, 8, requires_grad=True)
    run = supple.compile(function, fullgraph=True)
    torch.testing.assert_close(penalty(run, w), penalty(function, w))
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as seen:
        penalty(run, w)
    assert not {"aten::sin", "aten::exp", "aten::tanh"} & {event.name for event in seen.events()}
    assert not supple.stats()["refusals"]


class First(torch.autograd.Function):
    """Twice the first; nothing flows into the second."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x * 2 + y.sum() * 0

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        return grads[0] * 2, None


INPUTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "leaf": lambda leaf: leaf,
    "made": lambda leaf: leaf * 2,
    "view": lambda leaf: leaf[1:],
    "made by a graph": supple.compile(lambda leaf: leaf * 2),
}


@pytest.mark.parametrize("kind", INPUTS)
@pytest.mark.parametrize("is_reached", [False, True])
def test_an_input_into_which_nothing_flows_gets_an_undefined_gradient(kind: str, is_reached: bool) -> None:
    def program(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return First.apply(x, y) + (y.sum() if is_reached else 0)

    def gradients(function: Callable[..., torch.Tensor]) -> list[object]:
        leaves = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
        function(INPUTS[kind](leaves[0]), INPUTS[kind](leaves[1])).sum().backward()  # type: ignore[no-untyped-call]
        return [None if leaf.grad is None else leaf.grad.tolist() for leaf in leaves]

    is_whole = kind != "view"  # a Function may write to it, which eager refuses of a view of a leaf
    assert gradients(supple.compile(program, fullgraph=is_whole)) == gradients(program)


COMPLEX: dict[str, Callable[[torch.Tensor, complex], torch.Tensor]] = {
    "multiplied": lambda x, number: x * number,
    "divided": lambda x, number: x / number,
    "divided by": lambda x, number: number / (x + 1),
    "subtracted from": lambda x, number: number - x,
    "power": lambda x, number: (x + 1) ** number,
    "power of": lambda x, number: number**x,
    "chosen": lambda x, number: torch.where(x.real > 1, x * number, number),
    "in place": lambda x, number: (x * 1j).mul_(number),
    "root of a negative number": lambda x, number: x * (number.real - 9) ** 0.5,
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.complex64], ids=str)
@pytest.mark.parametrize("name", COMPLEX)
def test_complex_numbers_of_the_program(name: str, dtype: torch.dtype) -> None:
    program = COMPLEX[name]

    def gradients(function: Callable[..., torch.Tensor], number: complex) -> tuple[torch.Tensor, ...]:
        x = torch.arange(4.0).to(dtype).requires_grad_()
        found = function(x, number)
        return found.detach(), torch.autograd.grad(found.abs().sum(), x)[0]

    compiled = supple.compile(program, fullgraph=True)
    for number in (2j, 1 + 1j, 3 + 0j):
        torch.testing.assert_close(gradients(compiled, number), gradients(program, number))

"""Gradients, hooks and `retain_grad` of what a function computes itself, and computes with: as in eager."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import supple


def wanted_of_a_product(x: Tensor, w: Tensor) -> Any:
    y = x * w
    return torch.autograd.grad((y * y).sum(), y)[0]


def wanted_of_a_callee(x: Tensor, w: Tensor) -> Any:
    def twice(y: Tensor) -> Tensor:
        return y * w + y

    y = twice(x * w)
    total = (y * y).sum()
    (found,) = torch.autograd.grad(total, [y], retain_graph=True)
    return found, torch.autograd.grad(total, inputs=(w,))


def penalty(x: Tensor, w: Tensor) -> Any:
    between = x * 0.5 + w * 0.5
    score = (between.sin() * w).sum()
    (slope,) = torch.autograd.grad(score, between, create_graph=True)
    loss = score + ((slope.norm() - 1) ** 2)
    loss.backward()
    return loss, w.grad


def retained(x: Tensor, w: Tensor) -> Any:
    y = x * w
    total = (y * y).sum()
    y.retain_grad()
    total.backward()
    return y.grad, w.grad


def hooked(x: Tensor, w: Tensor) -> Any:
    seen: list[Tensor] = []
    y = x * w
    total = (y * y).sum()
    y.register_hook(seen.append)
    total.backward()
    return seen, w.grad


def changed_by_a_hook(x: Tensor, w: Tensor) -> Any:
    y = x * w
    z = y + 1
    total = (z * y).sum()
    z.register_hook(lambda grad: grad * 3)
    total.backward()
    return w.grad


def written(x: Tensor, w: Tensor) -> Any:
    y = x * w
    y.add_(1)
    total = (y * y).sum()
    y.retain_grad()
    total.backward(inputs=[w, y])
    return y.grad, w.grad


def one_of_many(x: Tensor, w: Tensor) -> Any:
    first, second = (x * w).split(2)
    total = (first * second).sum()
    return torch.autograd.grad(total, (second, first))


def in_a_loop(x: Tensor, w: Tensor) -> Any:
    found = []
    for k in range(3):
        y = x * w * k
        found.append(torch.autograd.grad((y * y).sum(), y)[0])
    return found


def of_its_own_gradient(x: Tensor, w: Tensor) -> Any:
    def again(y: Tensor) -> Any:
        return again(torch.autograd.grad(y.sum(), y)[0])

    return again(x * w)


def unused(x: Tensor, w: Tensor) -> Any:
    y, z = x * w, x + w
    return torch.autograd.grad(z.sum(), y, allow_unused=True), torch.autograd.grad(z.sum(), w)


PROGRAMS = (
    wanted_of_a_product,
    wanted_of_a_callee,
    penalty,
    retained,
    hooked,
    changed_by_a_hook,
    written,
    one_of_many,
    in_a_loop,
    of_its_own_gradient,
    unused,
)


def outcome(run: Callable[..., Any], seed: int) -> Any:
    torch.manual_seed(seed)
    x, w = torch.randn(4), nn.Parameter(torch.randn(4))
    try:
        return run(x, w)
    except RuntimeError as error:
        return error


@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda one: one.__name__)
def test_gradients_reach_what_a_function_computes(program: Callable[..., Any], backend: str) -> None:
    compiled = supple.compile(program, backend=backend)
    for seed in range(3):
        wanted, found = outcome(program, seed), outcome(compiled, seed)
        if isinstance(wanted, RuntimeError):
            assert str(found) == str(wanted)
        else:
            torch.testing.assert_close(found, wanted)


class Block(nn.Module):
    """Layers with statistics, dropout, and activations that write."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Linear(6, 3)

    def forward(self, x: Tensor, target: Tensor) -> Any:
        """Return the loss and what it is computed of."""
        features = self.norm(self.first(x))
        hidden = nn.functional.dropout(features.relu_(), 0.5)
        logits = self.last(hidden)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            scores = self.last(hidden).float()
        loss = nn.functional.cross_entropy(logits, target) + scores.square().mean()
        return loss, logits, features, scores


def pair(x: Tensor, w: Tensor) -> Any:
    y = x * w
    return y, (y * y).sum()


def chain(x: Tensor, w: Tensor) -> Any:
    a = x * w
    b = a.sin() + a
    c = (b * a).exp()
    return a, b, c, c.sum()


def pieces_of_one(x: Tensor, w: Tensor) -> Any:
    left, right = (x * w).chunk(2)
    return left, right, (left * right).sum()


def view(x: Tensor, w: Tensor) -> Any:
    y = (x * w).view(2, -1)
    return y, y.t().exp().sum(), y[0]


def written_input(x: Tensor, w: Tensor) -> Any:
    x = x * 1.0
    x.mul_(w)
    return x, x.exp().sum()


def beside_an_input_that_gains(x: Tensor, w: Tensor) -> Any:
    y = w * 0.5
    x.add_(y.sum())
    return y, (y * w).sum()


def of_an_input_that_gains(x: Tensor, w: Tensor) -> Any:
    x.add_(w)
    y = x * 2
    return y, y.sin().sum()


def an_input_that_gains(x: Tensor, w: Tensor) -> Any:
    x.add_(w)
    return x, (x * w).sum()


def a_part_of_an_input_that_gains(x: Tensor, w: Tensor) -> Any:
    part = x[:2]
    x.add_(w)
    y = part * w[:2]
    return y, y.sin().sum()


def what_a_function_makes_that_gains(x: Tensor, w: Tensor) -> Any:
    made = torch.zeros_like(x)
    part = made[:2]
    made.add_(w)
    y = part * w[:2]
    return y, y.sin().sum()


def an_input_that_gains_by_a_part(x: Tensor, w: Tensor) -> Any:
    y = w * 0.5
    x[1] = y[0]
    return y, (y.sin() + x).sum()


def found_sizes(x: Tensor, w: Tensor) -> Any:
    y = x * w
    chosen = y[y > 0.1]
    z = chosen * chosen
    return y, z, (z.sum() + chosen.shape[0]) * y


def found_numbers(x: Tensor, w: Tensor) -> Any:
    y = x * w
    number = int((y > 0).sum().item())
    z = y[:number].sin() * number
    factor = z.detach().sum().item()
    return y, z, (y * factor).exp() + z.sum()


def found_truths(x: Tensor, w: Tensor) -> Any:
    y = x * w
    torch._check((y > -100).all().item())
    z = y * y
    return y, z, z.sum() * y + z.count_nonzero().item()


def detached_in_place(x: Tensor, w: Tensor) -> Any:
    y = x * w
    z = y * y
    z.detach_()
    return y, (z * y).sin(), z


def detached_before_it_gains(x: Tensor, w: Tensor) -> Any:
    y = x * w
    z = y.exp()
    z.detach_()
    z.add_(w)
    return y, z, z * y


def said_to_require_gradients(x: Tensor, w: Tensor) -> Any:
    y = x * w
    z = y.sin()
    y.requires_grad_()
    return y, z


def written_without_gradients(x: Tensor, w: Tensor) -> Any:
    y = x * w
    z = y + 1
    alone = torch.zeros_like(x)
    with torch.no_grad():
        alone[1] = y[1]
        alone.add_(y)
        y.add_(1)
        z[0] = 7
    return y, z, y + z + alone


def laid_out_anew(x: Tensor, w: Tensor) -> Any:
    y = (x * w)[None]
    z = y + 1
    y.t_()
    y.unsqueeze_(0)
    return y, z, y + z


def a_view_laid_out_anew(x: Tensor, w: Tensor) -> Any:
    y = (x * w).view(2, -1)
    part = y.view(-1)
    z = part + 1
    y.unsqueeze_(0)
    y.add_(1)
    return y, z, part * 2 + z, part


RETURNING = (
    *(found_sizes, found_numbers, found_truths, detached_in_place, detached_before_it_gains),
    *(said_to_require_gradients, written_without_gradients, laid_out_anew, a_view_laid_out_anew),
    *(pair, chain, pieces_of_one, view, written_input),
    *(beside_an_input_that_gains, of_an_input_that_gains, an_input_that_gains),
    *(a_part_of_an_input_that_gains, what_a_function_makes_that_gains, an_input_that_gains_by_a_part),
)


def asked_of(results: Any, how: str) -> Any:
    """Ask for gradients of a result out of the last one, in one of the ways that there are."""
    *earlier, last = sorted((one for one in results if one.grad_fn), key=lambda one: one.ndim, reverse=True)
    if how == "grad":
        return torch.autograd.grad(last.sum(), earlier, allow_unused=True)
    seen: dict[int, Tensor] = {}
    for place, one in enumerate(earlier):
        one.retain_grad()
        one.register_hook(lambda grad, place=place: seen.setdefault(place, grad) * 2)
    (last.sum() + sum(one.sum() for one in earlier[:1])).backward()
    return [one.grad for one in earlier], sorted(seen.items())


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("how", ["grad", "hooks"])
@pytest.mark.parametrize("program", RETURNING, ids=lambda one: one.__name__)
def test_gradients_reach_a_result_that_others_are_computed_of(
    program: Callable[..., Any], how: str, dynamic: bool
) -> None:
    compiled = supple.compile(program, dynamic=dynamic)
    for seed, size in ((0, 4), (1, 4), (2, 8)):
        found: list[Any] = []
        for run in (program, compiled):
            torch.manual_seed(seed)
            x, w = torch.randn(size), nn.Parameter(torch.randn(size))
            found.append((asked_of(run(x, w), how), w.grad))
        torch.testing.assert_close(found[1], found[0])


@pytest.mark.parametrize("how", ["grad", "hooks"])
def test_gradients_reach_the_features_of_a_module(how: str) -> None:
    found: list[Any] = []
    for compiler in (lambda module: module, supple.compile):
        torch.manual_seed(0)
        module = Block()
        run = compiler(module)
        for seed in range(3):
            torch.manual_seed(seed)
            x, target = torch.randn(5, 4), torch.randint(0, 3, (5,))
            found.append((asked_of(run(x, target), how), [one.grad for one in module.parameters()]))
            found.append([one.clone() for one in module.buffers()])
            module.zero_grad()
    half = len(found) // 2
    torch.testing.assert_close(found[half:], found[:half])


def test_a_graph_of_chained_results_is_one_graph_to_the_program() -> None:
    supple.reset()
    compiled = supple.compile(pair, fullgraph=True)
    compiled(torch.ones(4), nn.Parameter(torch.ones(4)))
    assert supple.stats()["graphs"] == 1


def twice_and(number: Callable[[Tensor, Tensor], object]) -> Callable[[Tensor, Tensor], Any]:
    """Return a program with a result computed of another, and a number that one of them holds."""

    def program(x: Tensor, w: Tensor) -> Any:
        y = x * w
        z = y * 3
        return y, z, number(y, z)

    return program


NUMBERS: dict[str, Callable[[Tensor, Tensor], object]] = {
    "sum of the first": lambda y, _: y.sum().item(),
    "sum of the second": lambda _, z: z.detach().sum().item(),
    "how many": lambda _, z: (z > 1).sum().item(),
    "where": lambda _, z: int(z.argmax()),
    "whether": lambda _, z: bool(z.sum() > 0),
    "a list": lambda y, _: y.tolist(),
    "rows that are": lambda _, z: (z > 0).nonzero().shape[0],
    "some of them": lambda _, z: z[: int((z > 2).sum())],
    "two numbers": lambda y, z: (y.max().item(), z.min().item()),
    "computed of it": lambda y, z: (z * y.sum().item(), y.sum().item() * 2),
}


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("backend", ["eager", "aot_eager", "native"])
@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_beside_results_of_results(name: str, backend: str, dynamic: bool | None) -> None:
    program = twice_and(NUMBERS[name])
    compiled = supple.compile(program, backend=backend, dynamic=dynamic)
    for size in (3, 5, 3):
        found: list[Any] = []
        for run in (program, compiled):
            torch.manual_seed(size)
            x, w = torch.rand(size, requires_grad=True), torch.rand(size, requires_grad=True)
            y, z, number = run(x, w)
            found.append((y, z, number, torch.autograd.grad(z.sum(), (y, x, w))))
        torch.testing.assert_close(found[1], found[0])


SPREADS: dict[str, Callable[[Tensor], Tensor]] = {
    "std": lambda x: x.std(0),
    "var": lambda x: x.var(0),
    "var of rows": lambda x: x.var(1),
    "var of all": lambda x: x.var(),
    "var and mean": lambda x: sum(torch.var_mean(x, 0)),  # pyright: ignore[reportArgumentType]
    "mean": lambda x: x.mean(0),
    "cov": lambda x: torch.cov(x),
}


@pytest.mark.filterwarnings("ignore:.*degrees of freedom is <= 0:UserWarning")
@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("backend", ["eager", "aot_eager", "aot_eager_decomp", "native"])
@pytest.mark.parametrize("name", SPREADS)
def test_gradients_of_the_spread_of_one(name: str, backend: str, dynamic: bool | None) -> None:
    """A division by what is left of the count is no error, though Python says so of numbers."""
    program = SPREADS[name]
    compiled = supple.compile(program, backend=backend, dynamic=dynamic)
    for sizes in ((3, 4), (1, 4), (3, 1), (1, 1), (2, 3), (3, 4)):
        found: list[Any] = []
        for run in (program, compiled):
            torch.manual_seed(0)
            x = torch.rand(sizes, requires_grad=True)
            made = run(x)
            found.append((made, torch.autograd.grad(made.sum(), x)))
        torch.testing.assert_close(found[1], found[0], equal_nan=True)


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "native"])
@pytest.mark.parametrize("function", [torch.sin, lambda x: x * 2, nn.functional.gelu, lambda x: x @ x.t()])
def test_backward_of_many_gradients_at_once(function: Callable[[Tensor], Tensor], backend: str) -> None:
    """By `vmap` over `torch.autograd.grad`, and by its own batches; the results have no gradients unasked."""
    x, unit = torch.rand(2, 2, requires_grad=True), torch.eye(4).view(4, 2, 2)
    found: list[Any] = []
    for run in (function, supple.compile(function, backend=backend)):
        y = run(x)

        def grad(flowing: Tensor, y: Tensor = y) -> Tensor:
            return torch.autograd.grad(y, x, flowing, retain_graph=True)[0]

        rows = [torch.func.vmap(grad)(unit)]
        for graph in (False, True):
            rows += torch.autograd.grad(
                y, x, unit, is_grads_batched=True, retain_graph=True, create_graph=graph
            )
        rows.append(torch.autograd.functional.jacobian(run, x, vectorize=True))
        found.append([(row, row.requires_grad) for row in rows])
    torch.testing.assert_close(found[1], found[0])

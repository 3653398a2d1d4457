"""Graphs run under the modes that they were traced for, whatever the caller has, in forward and backward."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import product

import pytest
import torch
import torch.nn.functional as F

import supple

W = torch.linspace(-1.0, 1.0, 64).reshape(8, 8)
Q = torch.linspace(-1.0, 1.0, 2 * 4 * 8 * 16).reshape(2, 4, 8, 16)

Block = Callable[[], AbstractContextManager[object]]


@contextmanager
def default_dtype(dtype: torch.dtype) -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


@contextmanager
def deterministic() -> Iterator[None]:
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)


AUTOCAST: dict[str, Block] = {
    "off": nullcontext,
    "bfloat16": lambda: torch.autocast("cpu", dtype=torch.bfloat16),
    "float16": lambda: torch.autocast("cpu", dtype=torch.float16),
    "disabled": lambda: torch.autocast("cpu", enabled=False),
}


def matrices(inner: Block) -> Callable[[torch.Tensor], torch.Tensor]:
    def program(x: torch.Tensor) -> torch.Tensor:
        before = F.linear(x, W)
        with inner():
            y = F.linear(x, W) * 2
            z = torch.addmm(y, x, W) + torch.bmm(x[None], W[None])[0]
        return (z.float() ** 2).sum() + (before.float() * x @ W).float().sum()

    return program


def attention(inner: Block) -> Callable[[torch.Tensor], torch.Tensor]:
    def program(x: torch.Tensor) -> torch.Tensor:
        with inner():
            q = Q * x.sum()
            return F.scaled_dot_product_attention(q, q, q).float().mean() + F.linear(x, W).float().sum()

    return program


def convolution(inner: Block) -> Callable[[torch.Tensor], torch.Tensor]:
    def program(x: torch.Tensor) -> torch.Tensor:
        image = x.reshape(1, 1, 8, 8)
        with inner():
            y = F.conv2d(image, W[None, None, :3, :3]) + F.linear(x, W)[:6, :6]
        return F.layer_norm(y, (6,)).float().pow(3).sum()

    return program


FAMILIES = {"matrices": matrices, "attention": attention, "convolution": convolution}


SOME = (("bfloat16", "disabled"), ("off", "bfloat16"), ("float16", "bfloat16"))
CASES = [
    *(("matrices", *modes) for modes in product(AUTOCAST, AUTOCAST)),
    *((family, *modes) for family in ("attention", "convolution") for modes in SOME),
]


@pytest.mark.parametrize(("family", "outer", "inner"), CASES)
def test_a_region_of_autocast_is_the_programs_whatever_the_caller_has(
    family: str, outer: str, inner: str
) -> None:
    program = FAMILIES[family](AUTOCAST[inner])
    compiled = supple.compile(program)
    results = []
    for run in (program, compiled, compiled):
        x = torch.linspace(-2.0, 2.0, 64).reshape(8, 8).requires_grad_()
        with AUTOCAST[outer]():
            y = run(x)
        y.backward()
        assert x.grad is not None
        results.append((y.detach(), x.grad))
    (want, gradient), *others = results
    tolerance = {"rtol": 2e-2, "atol": 2e-2 * gradient.abs().max().item()}
    for got, found in others:
        assert got.dtype is want.dtype
        torch.testing.assert_close(got, want, rtol=2e-2, atol=1e-2)
        torch.testing.assert_close(found, gradient, **tolerance)


def test_a_region_without_autocast_computes_in_full_precision() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu", enabled=False):
            return (F.linear(x, W) ** 2).sum()

    x = torch.linspace(-2.0, 2.0, 64).reshape(8, 8)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        torch.testing.assert_close(supple.compile(program)(x), program(x))


def test_attention_with_dropout_under_autocast_stays_within_its_memory() -> None:
    def program(q: torch.Tensor) -> torch.Tensor:
        return F.scaled_dot_product_attention(q, q, q, dropout_p=0.5)

    compiled = supple.compile(program)
    q = Q.clone().requires_grad_()
    for _ in range(20):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = compiled(q)
        assert y.dtype is torch.bfloat16
        assert bool(y.isfinite().all())
        y.float().sum().backward()


CALLERS: dict[str, Block] = {
    "autocast": lambda: torch.autocast("cpu", dtype=torch.bfloat16),
    "grad": torch.enable_grad,
    "no_grad": torch.no_grad,
    "dtype": lambda: default_dtype(torch.float64),
    "device": lambda: torch.device("meta"),
    "deterministic": deterministic,
}


@pytest.mark.parametrize("caller", CALLERS)
def test_backward_runs_as_it_was_traced(caller: str) -> None:
    def program(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        y = F.linear(x, w).softmax(-1)
        return (y @ w).exp() * torch.arange(8)

    results = []
    for run in (program, supple.compile(program)):
        x = torch.linspace(-2.0, 2.0, 64).reshape(8, 8).requires_grad_()
        w = W.clone().requires_grad_()
        y = run(x, w).sum()
        if run is program:
            y.backward()
        else:
            with CALLERS[caller]():
                y.backward()
        assert x.grad is not None
        assert w.grad is not None
        results.append((x.grad, w.grad))
    for got, want in zip(results[1], results[0], strict=True):
        assert got.dtype is want.dtype
        torch.testing.assert_close(got, want, rtol=1e-5, atol=5e-6 * want.abs().max().item())
    assert torch.get_default_dtype() is torch.float32
    assert torch.is_grad_enabled()


@pytest.mark.parametrize("caller", CALLERS)
def test_the_state_of_the_caller_is_as_before(caller: str) -> None:
    def state() -> tuple[object, ...]:
        return (
            torch.is_autocast_enabled("cpu"),
            torch.get_autocast_dtype("cpu"),
            torch.is_grad_enabled(),
            torch.get_default_dtype(),
            torch.get_default_device(),
            torch.are_deterministic_algorithms_enabled(),
        )

    x = torch.ones(4, requires_grad=True)
    y = supple.compile(lambda x: x.sin().exp().sum())(x)
    with CALLERS[caller]():
        before = state()
        y.backward()
        assert state() == before


def test_gradients_of_gradients_run_forward_again_under_its_autocast() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        return (F.linear(x, W).float() ** 2).sum()

    results = []
    for run in (program, supple.compile(program)):
        x = torch.linspace(-2.0, 2.0, 64).reshape(8, 8).requires_grad_()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = run(x)
        (first,) = torch.autograd.grad(y, x, create_graph=True)
        (second,) = torch.autograd.grad((first**2).sum(), x)
        results.append((first.detach(), second))
    for got, want in zip(*results, strict=True):
        assert got.dtype is want.dtype
        torch.testing.assert_close(got, want, rtol=2e-2, atol=2e-2 * want.abs().max().item())


def _off(x: torch.Tensor) -> torch.Tensor:
    torch.set_autocast_enabled("cpu", False)
    return F.linear(x, W)


def _on(x: torch.Tensor) -> torch.Tensor:
    torch.set_autocast_enabled("cpu", True)
    return F.linear(x, W)


def _in_halves(x: torch.Tensor) -> torch.Tensor:
    torch.set_autocast_dtype("cpu", torch.float16)
    return F.linear(x, W)


def _without_grad(x: torch.Tensor) -> torch.Tensor:
    torch.set_grad_enabled(False)
    return F.linear(x, W)


def _with_grad(x: torch.Tensor) -> torch.Tensor:
    torch.set_grad_enabled(True)
    return F.linear(x, W)


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "native"])
@pytest.mark.parametrize("outer", [nullcontext, torch.no_grad, lambda: torch.autocast("cpu")])
@pytest.mark.parametrize("program", [_off, _on, _in_halves, _without_grad, _with_grad])
def test_modes_that_the_program_sets_without_a_block(
    program: Callable[[torch.Tensor], torch.Tensor], outer: Block, backend: str
) -> None:
    def called(run: Callable[[torch.Tensor], torch.Tensor]) -> list[object]:
        seen: list[object] = []
        for _ in range(2):
            try:
                with outer():
                    result = run(torch.ones(8, requires_grad=True))
                    modes = torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")
                    seen.append((result.dtype, result.requires_grad, modes, torch.is_grad_enabled()))
            finally:
                torch.set_grad_enabled(True)
                torch.set_autocast_enabled("cpu", False)
                torch.set_autocast_dtype("cpu", torch.bfloat16)
        return seen

    assert called(supple.compile(program, backend=backend)) == called(program)

"""Gradients of one result out of another, made where modes are not those in which the graph begins."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import supple

LOW = torch.bfloat16


def later_in_a_block(x: Tensor, w: Tensor, v: Tensor) -> Any:
    y = x * w
    with torch.autocast("cpu", dtype=LOW):
        z = torch.mm(y, v)
    return y, z


def earlier_in_a_block(x: Tensor, w: Tensor, v: Tensor) -> Any:
    with torch.autocast("cpu", dtype=LOW):
        y = torch.mm(x, w)
    return y, (y.float() * w).sin()


def both_in_a_block(x: Tensor, w: Tensor, v: Tensor) -> Any:
    with torch.autocast("cpu", dtype=LOW):
        y = torch.mm(x, w)
        z = torch.mm(y, v)
    return y, z


def in_blocks_of_their_own(x: Tensor, w: Tensor, v: Tensor) -> Any:
    with torch.autocast("cpu", dtype=LOW):
        y = torch.mm(x, w)
    with torch.autocast("cpu", dtype=torch.float16):
        z = torch.mm(y, v)
    return y, z, (z * y).float()


def in_a_block_of_another(x: Tensor, w: Tensor, v: Tensor) -> Any:
    with torch.autocast("cpu", dtype=LOW):
        y = torch.mm(x, w)
        with torch.autocast("cpu", enabled=False):
            z = torch.mm(y.float(), v)
        last = torch.mm(z, z)
    return y, z, last


def after_a_block_without_gradients(x: Tensor, w: Tensor, v: Tensor) -> Any:
    y = x * w
    with torch.no_grad():
        alone = y + 1
    return y, (y * w) + alone


def one_without_gradients_between(x: Tensor, w: Tensor, v: Tensor) -> Any:
    y = x * w
    with torch.no_grad(), torch.autocast("cpu", dtype=LOW):
        factor = torch.mm(y, v)
        with torch.enable_grad():
            z = torch.mm(y, factor.float())
    return y, z


@torch.no_grad()
def where_gradients_are_on_again(x: Tensor, w: Tensor, v: Tensor) -> Any:
    with torch.enable_grad():
        y = x * w
        z = y * w
    return y, z


def with_modes_left_otherwise(x: Tensor, w: Tensor, v: Tensor) -> Any:
    y = x * w
    torch.set_grad_enabled(False)
    alone = y * 2
    torch.set_grad_enabled(True)
    torch.set_autocast_enabled("cpu", True)
    z = torch.mm(y, v) + alone
    return y, z


def in_a_block_with_a_break(x: Tensor, w: Tensor, v: Tensor) -> Any:
    with torch.autocast("cpu", dtype=LOW):
        supple.graph_break()
        y = torch.mm(x, w)
        z = torch.mm(y, v)
    return y, z, (y * z).float()


def after_a_block_with_a_break(x: Tensor, w: Tensor, v: Tensor) -> Any:
    with torch.no_grad():
        supple.graph_break()
    y = x * w
    return y, (y * w).sin()


def written_in_a_block(x: Tensor, w: Tensor, v: Tensor) -> Any:
    y = x * w
    with torch.autocast("cpu", dtype=LOW):
        z = torch.mm(y, v)
        y.add_(1)
    return y, z, (z * y).float()


def in_blocks_of_normal_mode(x: Tensor, w: Tensor, v: Tensor) -> Any:
    with torch.no_grad(), torch.inference_mode(False):
        y = x * w
        with torch.inference_mode(False), torch.no_grad():
            factor = y + 1
            with torch.inference_mode(False):
                z = y * factor
        last = z * v
    return y, z, last, torch.is_grad_enabled()


def after_a_block_of_inference_mode(x: Tensor, w: Tensor, v: Tensor) -> Any:
    y = x * w
    with torch.inference_mode():
        alone = torch.ones(y.shape[0]).clone()
    with torch.inference_mode(False):
        z = y * v
    return y, z, (z * y).sum(0), alone.shape


PROGRAMS = (
    *(in_blocks_of_normal_mode, after_a_block_of_inference_mode),
    *(later_in_a_block, earlier_in_a_block, both_in_a_block, in_blocks_of_their_own, in_a_block_of_another),
    *(after_a_block_without_gradients, one_without_gradients_between, where_gradients_are_on_again),
    *(with_modes_left_otherwise, in_a_block_with_a_break, after_a_block_with_a_break, written_in_a_block),
)


def modes() -> Any:
    """Return grad mode and autocast, and how many blocks of it are entered."""
    found = torch.is_grad_enabled(), torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")
    torch.autocast_increment_nesting()
    return *found, torch.autocast_decrement_nesting()


def seen(run: Callable[..., Any], *inputs: Tensor) -> Any:
    """Return the results of a call, the modes that it leaves, and what hooks of its results see."""
    try:
        results = [one for one in run(*inputs) if isinstance(one, Tensor)]
        after = modes()
    finally:
        torch.set_autocast_enabled("cpu", False)
        torch.set_grad_enabled(True)
    told: list[Any] = []
    for place, one in enumerate(results):
        one.retain_grad()
        one.register_hook(lambda grad, place=place: told.append((place, grad)))
    torch.stack([one.float().sum() for one in results]).sum().backward()
    kept = [one.grad for one in results]
    told.sort(key=lambda one: one[0])
    return after, [[one.detach() for one in results], told, kept, [one.grad for one in inputs]]


def inputs(seed: int, size: int) -> list[Tensor]:
    torch.manual_seed(seed)
    made = [torch.randn(size, size, requires_grad=True) for _ in range(3)]
    return [nn.Parameter(one) if place else one for place, one in enumerate(made)]


@pytest.mark.parametrize("backend", ["aot_eager", "native"])
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda one: one.__name__)
def test_hooks_see_what_flows_through_modes(program: Callable[..., Any], dynamic: bool, backend: str) -> None:
    compiled = supple.compile(program, backend=backend, dynamic=dynamic)
    for seed, size in ((0, 4), (1, 4), (2, 8)):
        found: list[Any] = []
        for run in (program, compiled):
            found.append(seen(run, *inputs(seed, size)))
        assert found[1][0] == found[0][0]
        torch.testing.assert_close(found[1][1], found[0][1])


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda one: one.__name__)
def test_hooks_see_what_flows_through_modes_of_the_caller(program: Callable[..., Any]) -> None:
    compiled = supple.compile(program)
    for outer in (
        torch.autocast("cpu", dtype=LOW),
        torch.autocast("cpu", enabled=False),
        torch.enable_grad(),
    ):
        found: list[Any] = []
        for run in (program, compiled):
            with outer:
                found.append(seen(run, *inputs(0, 4)))
        assert found[1][0] == found[0][0]
        torch.testing.assert_close(found[1][1], found[0][1])


def test_a_parameter_used_by_both_is_cast_for_each() -> None:
    """Eager adds its two gradients as bfloat16, compiled code as float32."""

    def twice(x: Tensor, w: Tensor) -> Any:
        with torch.autocast("cpu", dtype=LOW):
            y = torch.mm(x, w)
            z = torch.mm(y, w)
        return y, z

    (_, eager), (_, compiled) = (seen(run, *inputs(0, 4)[:2]) for run in (twice, supple.compile(twice)))
    torch.testing.assert_close(compiled[:-1], eager[:-1])
    torch.testing.assert_close(compiled[-1], eager[-1], rtol=2**-7, atol=2**-7)

"""Writes, views and uses in regions of different grad modes: results know of gradients what eager's know."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from itertools import product

import pytest
import torch

import supple

Block = Callable[[], AbstractContextManager[object]]
MODES: dict[str, Block] = {"grad": torch.enable_grad, "no grad": torch.no_grad}
ACTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "nothing": lambda p: p,
    "a write": lambda p: p.add_(1),
    "a write of data": lambda p: (p.data.add_(1), p)[1],
    "a view": lambda p: p.view(-1),
    "a part": lambda p: p[1:],
    "a detached alias": lambda p: p.detach(),
    "a write of a view": lambda p: (p[0].add_(1), p)[1],
    "a write of a copy": lambda p: p.clone().mul_(3),
    "a product": lambda p: p * 3,
}
KINDS = ("leaf", "result", "view", "constant")


def made(kind: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Return a tensor, and the leaf that its gradients reach."""
    leaf = torch.tensor([1.0, 2.0, 3.0], requires_grad=kind != "constant")
    match kind:
        case "result":
            return leaf * 1, leaf
        case "view":
            return (leaf * 1).view(3, 1).view(3), leaf
        case _:
            return leaf, leaf


def outcome(run: Callable[[torch.Tensor], torch.Tensor], kind: str, outer: Block) -> object:
    tensor, leaf = made(kind)
    try:
        with outer():
            result = run(tensor)
        known = (result.tolist(), result.requires_grad, result.is_leaf, tensor.tolist(), tensor._version)
        if result.requires_grad:
            result.sum().backward()
        return (*known, None if leaf.grad is None else leaf.grad.tolist())
    except RuntimeError as error:
        return type(error)


CASES = list(product(ACTS, KINDS, MODES, MODES, MODES))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize(("act", "kind", "outer", "inner", "last"), CASES)
def test_what_eager_knows_of_gradients_is_known(
    act: str, kind: str, outer: str, inner: str, last: str, backend: str
) -> None:
    def program(p: torch.Tensor) -> torch.Tensor:
        with MODES[inner]():
            q = ACTS[act](p)
        with MODES[last]():
            return q * 2 + p.sum()

    compiled = supple.compile(program, backend=backend)
    assert outcome(compiled, kind, MODES[outer]) == outcome(program, kind, MODES[outer])


@pytest.mark.filterwarnings("ignore")
def test_a_closure_of_an_optimizer_that_steps_without_gradients() -> None:
    results = []
    for is_compiled in (False, True):
        weight = torch.nn.Parameter(torch.ones(3))
        optimizer = torch.optim.LBFGS([weight], lr=0.5, max_iter=4)

        def closure(
            weight: torch.nn.Parameter = weight, optimizer: torch.optim.LBFGS = optimizer
        ) -> torch.Tensor:
            optimizer.zero_grad()
            loss = ((weight - torch.arange(3.0)) ** 4).sum()
            loss.backward()
            return loss

        def step(
            optimizer: torch.optim.LBFGS = optimizer, closure: Callable[[], torch.Tensor] = closure
        ) -> None:
            optimizer.step(closure)

        run = supple.compile(step) if is_compiled else step
        for _ in range(3):
            run()
        results.append(weight.detach())
    torch.testing.assert_close(results[1], results[0])


WRITES: dict[str, Callable[[torch.Tensor, torch.Tensor, list[int]], object]] = {
    "expanded": lambda x, y, seen: (x.add_(1), y.mul_(2)),
    "expanded, later": lambda x, y, seen: (y.mul_(2), x.add_(1), y.mul_(2)),
    "expanded, after an append": lambda x, y, seen: (seen.append(1), x.add_(1), seen.append(2)),
    "part of an expanded one": lambda x, y, seen: (y.mul_(2), x[1:].add_(1), y.mul_(2)),
    "another dtype": lambda x, y, seen: (y.mul_(2), y.long().add_(1.5), y.mul_(2)),
    "another shape": lambda x, y, seen: (y.mul_(2), y.add_(torch.ones(2, 4)), y.mul_(2)),
    "an index": lambda x, y, seen: (y.mul_(2), y.index_fill_(0, torch.tensor([9]), 1.0), y.mul_(2)),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("backend", ["eager", "aot_eager", "native"])
@pytest.mark.parametrize("name", WRITES)
def test_what_was_written_before_an_error_is_what_eager_wrote(name: str, backend: str) -> None:
    compiled = supple.compile(WRITES[name], backend=backend)
    results = []
    for run in (WRITES[name], compiled, compiled):
        x, y, seen = torch.ones(1).expand(4), torch.ones(4), list[int]()
        with pytest.raises((RuntimeError, IndexError)) as error:
            run(x, y, seen)
        results.append((error.type, x.tolist(), y.tolist(), seen))
    assert results[1] == results[0]
    assert results[2] == results[0]

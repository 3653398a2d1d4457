"""What torch looks for in tensors, but not while it traces an operator, is found where compiled code runs."""

import math
from collections.abc import Callable

import pytest
import torch

import supple
from supple.torch_private import VERSION

FUNCTIONS: tuple[Callable[[torch.Tensor, torch.Tensor], torch.Tensor], ...] = (
    lambda x, q: torch.quantile(x, q),
    lambda x, q: torch.nanquantile(x, q=q),
    lambda x, q: x.quantile(q, -1),
    lambda x, q: x.nanquantile(q, 0, keepdim=True),
    lambda x, q: torch.quantile(x, q, interpolation="nearest"),
)


@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("place", range(len(FUNCTIONS)))
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0, 1.25, 2.0, -0.25, math.nan])
def test_shares_of_quantiles(share: float, place: int, backend: str) -> None:
    f = FUNCTIONS[place]

    def program(x: torch.Tensor, q: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | str]:
        x = x + 1
        try:
            return x, f(x, q)
        except RuntimeError as error:
            return x, str(error)

    run = supple.compile(program, backend=backend, dynamic=True)
    for x in (torch.tensor(3.0), torch.ones(1), torch.arange(3.0), torch.ones(1, 1)):
        for q in (torch.tensor(share), torch.tensor([0.5, share])):
            found, wanted = run(x, q)[1], program(x, q)[1]
            if isinstance(wanted, str):
                assert found == wanted
            else:
                torch.testing.assert_close(found, wanted, rtol=0, atol=0)


@pytest.mark.parametrize("backend", ["eager", "native"])
def test_a_share_of_a_quantile_that_nobody_reads(backend: str) -> None:
    def program(x: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
        torch.quantile(x, q)
        return x * 2

    run = supple.compile(program, backend=backend)
    torch.testing.assert_close(run(torch.ones(1), torch.tensor(0.5)), 2 * torch.ones(1))
    with pytest.raises(RuntimeError, match="must be in the range"):
        run(torch.ones(1), torch.tensor(1.5))


@pytest.mark.parametrize("name", ["quantile", "nanquantile"])
def test_the_check_of_shares_breaks_no_graph(name: str) -> None:
    if name == "nanquantile" and VERSION < (2, 12):
        pytest.xfail("torch 2.11 asks for a plain number of elements")
    run = supple.compile(lambda x, q: getattr(torch, name)(x, q) * 2, fullgraph=True, dynamic=True)
    for count in (1, 2, 5):
        x = torch.arange(float(count))
        torch.testing.assert_close(run(x, torch.tensor([0.25])), getattr(torch, name)(x, 0.25)[None] * 2)


def test_only_shares_on_the_cpu_are_checked() -> None:
    def program(x: torch.Tensor, q: torch.Tensor) -> torch.Size:
        return torch.quantile(x, q).shape

    given = torch.ones(1, device="meta"), torch.tensor(1.5, device="meta")
    assert supple.compile(program)(*given) == program(*given)


@pytest.mark.parametrize("backend", ["eager", "native"])
def test_gradients_of_quantiles(backend: str) -> None:
    def program(x: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
        return torch.quantile(x, q, 0)

    given = [torch.arange(4.0).requires_grad_(), torch.tensor([0.3, 0.6]).requires_grad_()]
    wanted = torch.autograd.grad(program(*given).sum(), given)
    found = torch.autograd.grad(supple.compile(program, backend=backend)(*given).sum(), given)
    for mine, theirs in zip(found, wanted, strict=True):
        torch.testing.assert_close(mine, theirs)

"""A program that asks for the layout of what operators made is told eager's, also where sizes are 1 or 0."""

from collections.abc import Callable

import pytest
import torch

import supple

ROWS = torch.arange(24.0).reshape(2, 3, 4)

INPUTS: dict[str, Callable[[], torch.Tensor]] = {
    "a column": lambda: ROWS[0][:, :1],
    "the last column": lambda: ROWS[0][:, 3:],
    "columns": lambda: ROWS[0][:, :2],
    "one deep": lambda: ROWS[:, :, 1:2],
    "one in the middle": lambda: ROWS[:, 1:2],
    "one row": lambda: ROWS[1:2, :, 1:],
    "one transposed": lambda: ROWS[:, :1].transpose(0, 2),
    "none": lambda: ROWS[:, :0],
    "whole": lambda: ROWS,
}

MADE: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "reshape": lambda x: x.reshape(-1),
    "reshape in two": lambda x: x.reshape(x.size(0), -1),
    "flatten": lambda x: x.flatten(0, 1),
    "part of a reshape": lambda x: x.reshape(-1)[:2],
    "contiguous": lambda x: x.contiguous(),
    "clone": lambda x: x.clone(),
    "sum": lambda x: x + 1,
    "sum with a transpose": lambda x: x.transpose(0, 1) + 1,
    "squeeze": lambda x: x.reshape(-1, 1).squeeze(),
    "to": lambda x: x.to(torch.float64),
}


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
def test_the_layout_of_a_result(made: Callable[[torch.Tensor], torch.Tensor], dynamic: bool | None) -> None:
    def program(x: torch.Tensor) -> object:
        y = made(x)
        return y.stride(), y.is_contiguous(), y + y.stride(0)

    for first in (None, *INPUTS.values()):
        supple.reset()
        compiled = supple.compile(program, backend="eager", dynamic=dynamic)
        if first is not None:
            compiled(first())
        for name, make in INPUTS.items():
            got, want = compiled(make()), program(make())
            assert isinstance(got, tuple)
            assert isinstance(want, tuple)
            assert got[:2] == want[:2], name
            assert torch.equal(got[2], want[2]), name


@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("sizes", [(3, 4), (1, 4), (4, 1), (1, 1), (0, 3)])
def test_a_program_that_asks_what_it_makes_is_one_graph_for_small_sizes(
    sizes: tuple[int, int], backend: str
) -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        y = (x * 2).reshape(-1, x.size(1))
        if not y.is_contiguous():
            y = y.contiguous()
        return y + 1

    compiled = supple.compile(program, backend=backend, dynamic=True, fullgraph=True)
    x = torch.ones(sizes)
    assert torch.equal(compiled(x), program(x))

"""Where a tensor begins in its storage is a fact with a guard, once the program asks."""

from collections.abc import Callable

import pytest
import torch

import supple


def set_to(target: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return target.set_(x)


def data_set(target: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    target.data = x
    return target


Program = Callable[[torch.Tensor], object]
PROGRAMS: dict[str, Program] = {
    "storage_offset": lambda x: x * x.storage_offset(),
    "storage_offset of a view": lambda x: x * x[1:].storage_offset(),
    "storage_offset of a result": lambda x: x * (x + 1).storage_offset(),
    "as_strided": lambda x: x.as_strided((2,), (1,), 1) * 2,
    "as_strided, unread": lambda x: x.as_strided((2,), (1,), 1),
    "as_strided at its own place": lambda x: x.as_strided((2,), (1,)) * 2,
    "torch.as_strided": lambda x: torch.as_strided(x, (2, 2), (1, 1), 0) * 2,
    "as_strided of a view": lambda x: x[1:].as_strided((2,), (1,), 2) * 2,
    "as_strided_copy": lambda x: torch.as_strided_copy(x, (2,), (1,), 1) * 2,
    "as_strided_scatter": lambda x: torch.as_strided_scatter(x, x.new_zeros(2), (2,), (1,), 1) * 2,
    "set_": lambda x: set_to(torch.zeros(4), x).storage_offset(),
    "set_ of a part": lambda x: set_to(torch.zeros(0), x[1:]).storage_offset(),
    "set_, then as_strided": lambda x: set_to(torch.ones(4), x).as_strided((2,), (1,), 1) * 2,
    "data": lambda x: data_set(torch.zeros(4), x).storage_offset(),
    "as_strided, written": lambda x: x.clone().as_strided((2,), (1,), 1).add_(1),
}


def outcome(program: Program, x: torch.Tensor) -> object:
    try:
        return program(x)
    except RuntimeError as error:
        return type(error)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("backend", ["eager", "aot_eager", "native"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_each_place_in_the_storage_gets_its_own_answer(name: str, backend: str) -> None:
    program = PROGRAMS[name]
    compiled = supple.compile(program, backend=backend)
    memory = torch.arange(20.0)
    for start in (0, 4, 8, 4, 0):
        x = memory[start : start + 4]
        got, want = outcome(compiled, x), outcome(program, x)
        if isinstance(want, torch.Tensor):
            assert isinstance(got, torch.Tensor)
            assert torch.equal(got, want), start
        else:
            assert got is want, start


def test_an_offset_that_nobody_asks_for_is_not_guarded() -> None:
    compiled = supple.compile(lambda x: x * 2, backend="eager")
    memory = torch.arange(20.0)
    for start in range(4):
        compiled(memory[start : start + 4])
    assert supple.stats()["recompiles"] == 0

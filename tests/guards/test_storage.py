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


SHARED: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "as it is": lambda x: set_to(x * 2, x),
    "written before": lambda x: set_to(x * 2, x.add_(1)),
    "written before, a part": lambda x: set_to(x * 2, x.add_(1))[:2],
    "written before, of a part": lambda x: set_to(x * 2, x.add_(1)[1:]),
    "an element written before": lambda x: (x[0].fill_(5), set_to(x * 2, x))[1],
    "written after": lambda x: (made := set_to(x * 2, x), x.add_(1))[0] * 1 + made * 0,
    "written through": lambda x: set_to(x * 2, x).mul_(3),
    "of another of the graph": lambda x: set_to(x * 2, x.clone().add_(1)),
}


@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("name", SHARED)
def test_what_set_gives_is_the_memory_of_its_source(name: str, backend: str) -> None:
    # X-SND01
    program, mine, theirs = SHARED[name], torch.arange(3.0), torch.arange(3.0)
    want, got = program(theirs), supple.compile(program, backend=backend)(mine)
    assert torch.equal(want, got)
    for one in (want, got):
        one.add_(7)
    assert torch.equal(mine, theirs)

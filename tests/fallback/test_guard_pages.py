"""`check="memory"`: kernels run between guard pages, where a byte out of bounds has a name."""

import ctypes
import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
import torch

import supple
from supple.codegen import backend
from supple.errors import MemoryFault, OptionsError
from supple.ir.loops.nodes import Access, Nest, Store
from supple.runtime.guard_pages import PAGE, Operand, between_guards, pieces, poisoned
from tests.contract.package import ROOT

GUARDED = {"check": "memory"}


# Programs are as eager.


def rows(x: torch.Tensor) -> Any:
    return x.softmax(-1), x.sum(), x.amax(0), x.mean(1, keepdim=True)


def views(x: torch.Tensor) -> Any:
    return x[1:, 2:].exp(), x.T * 2, x.reshape(-1)[3::2] + 1, x[:, ::3].neg()


def expanded(x: torch.Tensor) -> Any:
    return x[:1].expand(5, -1) * 2, x[0, 0].expand(4) + 1


def numbers(x: torch.Tensor) -> Any:
    return x.flatten()[0] * 2, x[:0] + 1, x[:0].sum(), torch.tensor(2.0) * x


def integers(x: torch.Tensor) -> Any:
    y = (x * 9).to(torch.int8)
    return y // 2, y > 0, (y > 0).sum(), y.to(torch.bfloat16) + 1, y.view(torch.uint8) + 1


def joined(x: torch.Tensor) -> Any:
    return torch.cat([x, x + 1])[::2], torch.stack([x.sin(), x]), torch.nn.functional.pad(x, (1, 2))


def gathered(x: torch.Tensor) -> Any:
    place = torch.arange(x.shape[0]).flip(0)
    return x[place], x.gather(0, place[:, None]), torch.nn.functional.embedding(place, x)


def written(x: torch.Tensor) -> Any:
    x.add_(1)
    x[1:].mul_(x[:-1] + 1)
    x[:, ::2] = 3
    return x.exp()


def library(x: torch.Tensor) -> Any:
    y = (x + 1) @ x.T
    return (y * 2).relu() @ x, y.sort().values * 2


PROGRAMS = (rows, views, expanded, numbers, integers, joined, gathered, written, library)


@pytest.mark.parametrize("shape", [(7, 13), (3, 5), (32, 32), (33, 65)], ids=str)
@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_are_as_eager(
    program: Callable[..., Any], shape: tuple[int, ...], dynamic: bool | None
) -> None:
    x = torch.randn(shape)
    want_x, got_x = x.clone(), x.clone()
    want = program(want_x)
    got = supple.compile(program, dynamic=dynamic, options=GUARDED)(got_x)
    torch.testing.assert_close((got, got_x), (want, want_x))


def test_views_of_one_storage_overlap_in_the_copy() -> None:
    def program(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x.add_(1)
        y.mul_(x[:4] + 1)
        return x + y.sum()

    given = [torch.arange(11.0) for _ in range(2)]
    run = supple.compile(program, options=GUARDED)
    want, got = (f(one[1:7], one[3:7]) for f, one in zip((program, run), given, strict=True))
    torch.testing.assert_close((got, given[1]), (want, given[0]))


def test_training_is_as_eager() -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(13, 17),
        torch.nn.GELU(),
        torch.nn.LayerNorm(17),
        torch.nn.Dropout(0.0),
        torch.nn.Linear(17, 5),
    )
    x = torch.randn(9, 13)
    grads: list[list[torch.Tensor]] = []
    for run in (model, supple.compile(model, options=GUARDED)):
        model.zero_grad()
        torch.nn.functional.cross_entropy(run(x), torch.arange(9) % 5).backward()
        grads.append([one.grad for one in model.parameters() if one.grad is not None])
    torch.testing.assert_close(*grads)


def test_two_threads_may_run_kernels_at_once() -> None:
    run = supple.compile(rows, options=GUARDED)
    given = [torch.randn(33, 65) for _ in range(4)]
    run(given[0])

    def work(x: torch.Tensor) -> None:
        for _ in range(20):
            torch.testing.assert_close(run(x), rows(x))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, given))


# Damaged kernels.


@pytest.fixture(scope="module")
def ends() -> dict[str, list[Any]]:
    """How processes with the damaged kernels of `faults` end: status and stderr."""
    found = subprocess.run(
        [sys.executable, "-m", "tests.fallback.faults"], capture_output=True, check=True, text=True
    )
    return json.loads(found.stdout)


def test_a_sound_kernel_says_nothing(ends: dict[str, list[Any]]) -> None:
    assert ends["sound"] == [0, ""]


@pytest.mark.parametrize(
    ("case", "said"),
    [
        (
            "reads behind",
            "of `l_x` (torch.float32 (7,), strides (1,)), at byte 28 or before: it has 28",
        ),
        (
            "reads before",
            "reads before the beginning of `l_x` (torch.float32 (7,), strides (1,)), at byte -4",
        ),
        ("writes behind", "writes behind the end of `add`"),
        ("writes before", "writes before the beginning of `add`"),
        ("bound of a read", "reads behind the end of `l_x` (torch.float32 (13,)"),
        ("bound of a write", "writes behind the end of `arange` (torch.int64 (13,)"),
        ("in a thread", "reads behind the end of `l_x`"),
        ("far away", "far from all of its operands"),
    ],
)
def test_an_access_out_of_bounds_is_a_fault_with_a_name(
    case: str, said: str, ends: dict[str, list[Any]]
) -> None:
    status, text = ends[case]
    assert status == -signal.SIGSEGV, text
    assert text.startswith("supple: kernel"), text
    assert said.partition("FILE")[0] in text, text
    assert said.rpartition("FILE")[2] in text, text
    assert "faults.py:" in text


def test_the_message_is_that_of_the_document(ends: dict[str, list[Any]]) -> None:
    _, text = ends["reads behind"]
    assert re.sub(r"at \S+ in add", "at model.py:8 in f", text) in (ROOT / "docs" / "debugging.md").read_text(
        "utf-8"
    )


def test_a_write_into_the_poison_is_an_error(ends: dict[str, list[Any]]) -> None:
    status, text = ends["writes into poison"]
    assert status == 1
    assert "writes before the beginning of `add`" in text


@pytest.fixture
def damage(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Nest], Nest]], None]:
    """What makes kernels that are compiled from now on wrong."""
    sound = backend.emit_nest

    def install(change: Callable[[Nest], Nest]) -> None:
        monkeypatch.setattr(backend, "emit_nest", lambda nest, *rest: sound(change(nest), *rest))

    return install


def test_a_kernel_that_writes_an_input_is_reported(damage: Any) -> None:
    def into_input(nest: Nest) -> Nest:
        [name] = [buffer.name for buffer in nest.buffers if buffer.access is Access.READ]
        body = (replace(one, buffer=name) if isinstance(one, Store) else one for one in nest.body)
        return replace(nest, body=tuple(body))

    damage(into_input)
    x = torch.ones(5)
    with pytest.raises(MemoryFault, match=r"writes byte 2 of `l_x` .* which it may only read"):
        supple.compile(lambda x: x + 1, options=GUARDED)(x)
    assert x.tolist() == [1] * 5


def test_a_kernel_of_backward_that_writes_an_input_is_reported(damage: Any) -> None:
    def into_input(nest: Nest) -> Nest:
        if "mul" not in nest.origin:
            return nest
        read = [
            one.name for one in nest.buffers if one.access is Access.READ and one.size == nest.axes[0].extent
        ]
        body = (replace(one, buffer=read[0]) if isinstance(one, Store) else one for one in nest.body)
        return replace(nest, body=tuple(body))

    damage(into_input)
    x = torch.linspace(1, 2, 5, requires_grad=True)
    loss = supple.compile(lambda x: x.sin().sum(), options=GUARDED)(x)
    with pytest.raises(MemoryFault, match=r"\bmul\b.* which it may only read"):
        loss.backward()
    assert x.grad is None


def shorter(nest: Nest) -> Nest:
    return replace(nest, axes=tuple(replace(axis, extent=axis.extent - 1) for axis in nest.axes))


def test_an_element_that_no_kernel_writes_is_seen(damage: Any) -> None:
    damage(shorter)
    floats, integers = supple.compile(lambda x: (x + 1, x.int() + 1), options=GUARDED)(torch.ones(5))
    assert floats.isnan().tolist() == [False] * 4 + [True]
    assert integers.tolist() == [2] * 4 + [0x5A5A5A5A]


def test_a_library_call_sees_poison(damage: Any) -> None:
    damage(shorter)
    x = torch.ones(3, 5)
    got = supple.compile(lambda x: (x + 1) @ x.T, options=GUARDED)(x)
    assert got.isnan().any()


# The mechanism.


def write(address: int, value: int) -> None:
    ctypes.c_ubyte.from_address(address).value = value


def test_what_lies_between_the_elements_of_an_output_stays() -> None:
    memory = torch.zeros(8, dtype=torch.uint8)
    operands: list[Operand] = [(memory[::2], "y", True)]
    between_guards(lambda y: write(y + 2, 7), "kernel0", operands, [])
    assert memory.tolist() == [0, 0, 7, 0, 0, 0, 0, 0]
    with pytest.raises(MemoryFault, match=r"kernel0 writes byte 1 of `y`"):
        between_guards(lambda y: write(y + 1, 7), "kernel0", operands, [])
    assert memory.tolist() == [0, 0, 7, 0, 0, 0, 0, 0]


def test_results_that_depend_on_the_place_are_reported() -> None:
    memory = torch.zeros(8, dtype=torch.uint8)
    with pytest.raises(MemoryFault, match="other bits"):
        between_guards(lambda y: write(y, 1 + (y % PAGE > 0)), "kernel0", [(memory, "y", True)], [])


@pytest.mark.parametrize("length", [0, 1, 7, PAGE - 1, PAGE, PAGE + 1])
def test_each_length_has_room(length: int) -> None:
    x, y = torch.full((length,), 3, dtype=torch.uint8), torch.zeros(length, dtype=torch.uint8)
    copied: list[int] = []

    def kernel(x: int, y: int, size: int) -> None:
        ctypes.memmove(y, x, size)
        copied.append(size)

    between_guards(kernel, "kernel0", [(x, "x", False), (y, "y", True)], [length])
    assert copied == [length] * 2
    assert torch.equal(x, y)


def test_elements_keep_their_alignment() -> None:
    memory = torch.zeros(64, dtype=torch.uint8)
    wide, narrow = memory[8:40].view(torch.int64), memory[36:43]
    places: list[int] = []
    between_guards(
        lambda wide, narrow: places.extend((wide % 8, narrow - wide)),
        "kernel0",
        [(wide, "w", False), (narrow, "n", True)],
        [],
    )
    assert places == [0, 28] * 2


def test_pieces_are_what_overlaps() -> None:
    x = torch.zeros(10)
    operands: list[Operand] = [
        (x[5:], "c", True),
        (x[:3], "a", False),
        (x[3:6], "b", False),
        (x[4:4], "e", True),
    ]
    found = [(piece.size, [name for _, name, _ in piece.operands]) for piece in pieces(operands)]
    assert found == [(0, ["e"]), (12, ["a"]), (28, ["b", "c"])]


def test_fresh_memory_is_poisoned() -> None:
    assert poisoned(torch.empty(3, dtype=torch.bfloat16)).isnan().all()
    assert poisoned(torch.empty(2, dtype=torch.int16)).tolist() == [0x5A5A] * 2
    assert poisoned(torch.empty(0)).shape == (0,)


# The switch.


@pytest.mark.parametrize("check", ["memory ", 3, "2 "])
def test_another_check_is_refused(check: object) -> None:
    with pytest.raises(OptionsError, match="check is 0, 1, 2 or 'memory'"):
        supple.compile(lambda x: x, options={"check": check})


def test_the_configuration_guards_what_is_compiled_from_then_on(damage: Any) -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    damage(shorter)
    x = torch.ones(5)
    with supple.config.patch(check="memory"):
        assert supple.compile(program)(x).isnan().any()

"""Failures of the compiler leave few files, and large numbers and deep recursions are no failures."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import supple
from supple.capture import notes


def broken(graph: object, inputs: object) -> Callable[..., object]:
    raise ZeroDivisionError("this backend has a bug")


def fail(count: int) -> None:
    for number in range(count):
        compiled = supple.compile(lambda x, number: x * number, backend=broken, dynamic=False)
        compiled(torch.ones(2), number)


@pytest.fixture
def folder(tmp_path: Path) -> Any:
    with supple.config.patch(cache_dir=str(tmp_path), suppress_errors=True):
        yield tmp_path / "failures"


def test_one_failure_leaves_one_file(folder: Path) -> None:
    fail(4)
    [note] = folder.iterdir()
    assert "this backend has a bug" in note.read_text()
    assert note.stat().st_mode & 0o777 == 0o600


def test_the_oldest_files_go(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notes, "NOTES", 3)
    folder.mkdir()
    for number in range(6):
        (folder / f"supple-failure-{number}.txt").write_text("")
    fail(1)
    assert len(list(folder.iterdir())) == 3


def test_without_a_folder_the_program_runs(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder.write_text("a file is in its place")
    with caplog.at_level(logging.WARNING, "supple"):
        fail(1)
    assert "was not written" in caplog.text


def test_breaks_in_one_file_of_a_library_are_told_once(caplog: pytest.LogCaptureFixture) -> None:
    store = torch.distributed.HashStore()
    torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    try:
        model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 2))
        compiled, x = supple.compile(model), torch.randn(3, 4)
        for _ in range(2):
            torch.testing.assert_close(compiled(x), model(x))
        reasons = supple.stats()["reasons"]
    finally:
        torch.distributed.destroy_process_group()
    assert isinstance(reasons, list)
    assert len(caplog.records) == 1, "the others are in stats() and explain()"


def deep(x: torch.Tensor, n: int) -> torch.Tensor:
    return deep(x, n - 1) * 1.0 if n else x + 1


def walk(link: Any, x: torch.Tensor) -> torch.Tensor:
    return x if link is None else walk(link[1], x + link[0])


def linked(count: int) -> Any:
    link = None
    for _ in range(count):
        link = (1, link)
    return link


def test_a_deep_recursion_runs_as_in_eager() -> None:
    x = torch.ones(2)
    compiled, walked = supple.compile(deep), supple.compile(walk)
    for depth in (3, 500, 600):
        assert torch.equal(compiled(x, depth), deep(x, depth))
        assert torch.equal(walked(linked(depth), x), walk(linked(depth), x))


LARGE: list[Callable[[torch.Tensor, list[int]], object]] = [
    lambda x, xs: x + xs[0],
    lambda x, xs: x * (xs[0] * xs[1] % 11),
    lambda x, xs: x * (xs[0] >> 60),
    lambda x, xs: (x + 1, xs[0] + 1),
    lambda x, xs: torch.full((2,), xs[0] ** 3),
    lambda x, xs: x + xs[0] ** 3,
]


def outcome(function: Callable[..., object], *args: object) -> str:
    try:
        return str(function(*args))
    except (OverflowError, RuntimeError) as error:
        return type(error).__name__


@pytest.mark.parametrize("dynamic", [True, None])
@pytest.mark.parametrize("number", range(len(LARGE)))
def test_large_integers_are_no_failure(
    number: int, dynamic: bool | None, caplog: pytest.LogCaptureFixture
) -> None:
    program, x = LARGE[number], torch.ones(2)
    compiled = supple.compile(program, dynamic=dynamic)
    for first in (5, 3, 2**22, 2**62, 2**63, 2**70, -(2**80), 7):
        assert outcome(compiled, x, [first, 3]) == outcome(program, x, [first, 3])
    assert "I001" not in caplog.text

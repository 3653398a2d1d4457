"""The tests of this folder and its kin run kernels between guard pages (`guard_pages` in conftest.py)."""

import pytest
import torch

import supple
from supple.runtime import guard_pages


def test_kernels_run_between_guard_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    places: list[bool] = []
    run = guard_pages._run

    def seen(*given: object, is_at_end: bool) -> object:
        places.append(is_at_end)
        return run(*given, is_at_end=is_at_end)

    monkeypatch.setattr(guard_pages, "_run", seen)
    x = torch.randn(5)
    assert torch.equal(supple.compile(lambda x: -x, backend="native")(x), -x)
    assert places == [True, False]

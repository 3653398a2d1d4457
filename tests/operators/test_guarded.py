"""Kernels run between guard pages in the tests of this folder and of its kin (`guard_pages` in tests/conftest.py)."""

import pytest
import torch

import supple
from supple.runtime import guard_pages


def test_kernels_run_between_guard_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[object] = []
    run = guard_pages._run
    monkeypatch.setattr(guard_pages, "_run", lambda *given: ran.append(given) or run(*given))
    x = torch.randn(5)
    assert torch.equal(supple.compile(torch.negative, backend="native")(x), -x)
    assert ran

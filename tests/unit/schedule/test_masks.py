"""Writes to parts of a tensor, one after another, whose masks are computed once each."""

import pytest
import torch

import supple
from supple import native
from supple.base.config import config
from supple.schedule import schedule


def written(t: torch.Tensor, alias: torch.Tensor, count: int) -> torch.Tensor:
    for _ in range(count):
        with torch.no_grad():
            alias.view(-1)[1:] -= 1
    return t + alias


def test_a_kernel_of_many_writes_to_parts_grows_with_their_number(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []

    def watched(*args, **named):
        made = schedule(*args, **named)
        sizes[-1] += sum(len(repr(nest)) for nest in made.nests)
        return made

    monkeypatch.setattr(native, "schedule", watched)
    for count in (3, 6, 12):
        sizes.append(0)
        results = []
        for run in (written, supple.compile(written, dynamic=True, backend="native")):
            given = torch.ones(3, requires_grad=True)
            with config.patch(suppress_errors=False):
                results.append(run(given, given.detach(), count))
        assert torch.equal(*results)
    assert sizes[2] - sizes[1] < 3 * (sizes[1] - sizes[0]), sizes

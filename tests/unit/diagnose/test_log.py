"""Log channels: chosen by name, printed to stderr, refused when unknown."""

from collections.abc import Iterator

import pytest
import torch

import supple
from supple.base import events
from supple.diagnose import log, stats

X = torch.ones(3)


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """No channel is on after a test."""
    yield
    supple.set_logs()


def all_events() -> set[type[events.Event]]:
    kinds = (kind for kind in vars(events).values() if isinstance(kind, type))
    return {kind for kind in kinds if issubclass(kind, events.Event) and kind is not events.Event}


def test_every_event_has_a_log_line() -> None:
    assert not log.render.unclaimed(all_events())
    assert set(log.CHANNELS.values()) == all_events()


def test_counts_are_of_events() -> None:
    assert set(stats.count_rules) <= all_events()


def lines(capsys: pytest.CaptureFixture[str], **channels: bool) -> str:
    supple.set_logs(**channels)
    compiled = supple.compile(lambda x, n: x * n + 1)
    compiled(X, 2)
    compiled(X, 3)
    return capsys.readouterr().err


def test_guards_are_printed_as_a_tree(capsys: pytest.CaptureFixture[str]) -> None:
    text = lines(capsys, guards=True)
    assert "+- L['x']\n| +- TENSOR Tensor, torch.float32" in text
    assert "recompiles" not in text


def test_recompilations_are_printed_with_reasons(capsys: pytest.CaptureFixture[str]) -> None:
    text = lines(capsys, recompiles=True)
    assert "compiles test_log.lines.<locals>.<lambda>" in text or "<lambda>" in text
    assert "L['n'] was 2, is 3 (int)" in text
    assert text.count("[supple recompiles]") == 1


def test_graphs_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    text = lines(capsys, graph_code=True)
    assert text.count("[supple graph]") == 2
    assert "mul" in text


def test_each_call_replaces_the_channels(capsys: pytest.CaptureFixture[str]) -> None:
    supple.set_logs(guards=True)
    supple.set_logs(recompiles=True, guards=False)
    supple.compile(lambda x: x + 1)(X)
    assert capsys.readouterr().err == ""


def test_breaks_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    supple.set_logs(graph_breaks=True)
    supple.compile(lambda x: x + x.sum().item())(X)
    text = capsys.readouterr().err
    assert "[supple graph_breaks]" in text
    assert "why:" in text


@pytest.mark.parametrize("channel", sorted(log.CHANNELS))
def test_every_channel_can_be_switched_on(channel: str) -> None:
    supple.set_logs(**{channel: True})
    supple.compile(lambda x: x + 1)(X)


def test_an_unknown_channel_is_refused_with_a_list() -> None:
    with pytest.raises(ValueError, match=r"unknown log channel 'gards'; the channels are .*guards") as raised:
        supple.set_logs(gards=True)
    assert isinstance(raised.value, supple.errors.OptionsError)


def test_the_environment_chooses_channels(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SUPPLE_LOGS", "recompiles, +guards")
    log.set_logs_from_environment()
    supple.compile(lambda x: x + 1)(X)
    assert "[supple guards]" in capsys.readouterr().err
    monkeypatch.setenv("SUPPLE_LOGS", "gards")
    with pytest.raises(ValueError, match="unknown log channel"):
        log.set_logs_from_environment()


def test_texts_are_not_made_for_those_who_only_count() -> None:
    assert not events.listening()
    stop = events.listen(lambda event: None)
    assert events.listening()
    stop()
    stop()
    assert not events.listening()

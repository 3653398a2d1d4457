"""Log channels: chosen by name, printed to stderr, refused when unknown."""

import logging
import re
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
    assert {kind for rules in log.CHANNELS.values() for kind, _, _ in rules} == all_events()


def test_counts_are_of_events() -> None:
    assert set(stats.COUNTS) <= all_events()


def lines(capsys: pytest.CaptureFixture[str], **channels: bool) -> str:
    supple.set_logs(**channels)
    compiled = supple.compile(lambda x, n: x * n + 1, dynamic=False)
    compiled(X, 2)
    compiled(X, 3)
    return capsys.readouterr().err


def test_guards_are_printed_as_a_tree(capsys: pytest.CaptureFixture[str]) -> None:  # LOG05, GRD06
    text = lines(capsys, guards=True)
    assert re.search(r"\] \+- L\['x'\]\n.*\] \| \+- TENSOR Tensor, torch.float32", text)
    assert "recompiles" not in text


def test_recompilations_are_printed_with_reasons(capsys: pytest.CaptureFixture[str]) -> None:  # LOG06, REC02
    text = lines(capsys, recompiles=True)
    assert "Recompiling function lines.<locals>.<lambda> in" in text
    assert "triggered by the following guard failure(s):" in text
    assert re.search(r"    - \d+/0: L\['n'\] was 2, is 3 \(int\)", text)
    assert text.count("Recompiling") == 1


def test_graphs_are_printed(capsys: pytest.CaptureFixture[str]) -> None:  # LOG04
    text = lines(capsys, graph_code=True)
    assert text.count("TRACED GRAPH") == 2
    assert len(re.findall(r"\] +===== \d+/\d =====", text)) == 2
    assert "mul" in text


@pytest.mark.parametrize("backend", ["native", "aot_eager", "aot_eager_decomp"])
def test_functional_graphs_are_printed(
    capsys: pytest.CaptureFixture[str], backend: str
) -> None:  # X-OBS04, DBG03
    w = torch.ones(3, requires_grad=True)
    supple.set_logs(aot_joint_graph=True, aot_graphs=True)
    compiled = supple.compile(lambda x, w: torch.nn.functional.silu(x * w), backend=backend)
    compiled(X, w).sum().backward()
    text = capsys.readouterr().err
    heads = [text.index(f"{part} GRAPH") for part in ("JOINT", "FORWARD", "BACKWARD")]
    assert heads == sorted(heads)
    forward, backward = text[heads[1] : heads[2]], text[heads[2] :]
    assert "aten.mul.Tensor(l_x, l_w)" in forward
    assert "tangent" not in forward
    assert "tangent" in backward
    assert ("aten.silu.default" in forward) is (backend == "aot_eager")
    assert "[__aot_joint_graph]" in text


def test_without_gradients_there_is_no_joint_graph(capsys: pytest.CaptureFixture[str]) -> None:  # X-OBS04
    text = lines(capsys, aot_graphs=True, aot_joint_graph=True)
    assert "FORWARD GRAPH" in text
    assert "JOINT" not in text
    assert "BACKWARD" not in text


def test_every_line_has_a_prefix(capsys: pytest.CaptureFixture[str]) -> None:  # LOG12, REC08
    text = lines(capsys, graph_code=True, guards=True, recompiles=True)
    prefix = r"[IV]\d{4} \d\d:\d\d:\d\d\.\d{6} \d+ supple/\S+\.py:\d+\] \[\d+/[01]\] \[__\w+\] "
    assert [line for line in text.splitlines() if not re.match(prefix, line)] == []


def test_each_call_replaces_the_channels(capsys: pytest.CaptureFixture[str]) -> None:  # LOG01
    supple.set_logs(guards=True)
    supple.set_logs(recompiles=True, guards=False)
    supple.compile(lambda x: x + 1)(X)
    assert capsys.readouterr().err == ""


def test_breaks_are_printed(capsys: pytest.CaptureFixture[str]) -> None:  # LOG03, GB09
    supple.set_logs(graph_breaks=True)

    @supple.compile
    def f(x: torch.Tensor) -> torch.Tensor:
        supple.graph_break()
        return x

    f(X)
    text = capsys.readouterr().err
    assert "[__graph_breaks]" in text
    assert "why:" in text


def test_bytecode_is_printed_before_and_after(capsys: pytest.CaptureFixture[str]) -> None:  # X-OBS04
    text = lines(capsys, bytecode=True)
    assert text.count("ORIGINAL BYTECODE lines.<locals>.<lambda> in ") == 2
    assert text.count("MODIFIED BYTECODE lines.<locals>.<lambda> in ") == 2
    assert re.search(r"\] +\d+ +\d+  BINARY_OP +'\*'\n", text)
    assert "    0 " in text


def test_side_effects_are_printed(capsys: pytest.CaptureFixture[str]) -> None:  # X-OBS04, CAP07
    supple.set_logs(side_effects=True)
    seen: list[torch.Tensor] = []
    module = torch.nn.Identity()

    @supple.compile
    def f(x: torch.Tensor) -> torch.Tensor:
        seen.append(x + 1)
        setattr(module, "count", 3)  # noqa: B010
        print("here")
        return x

    f(X)
    text = capsys.readouterr().err
    assert re.search(r"changes F\.\S+ \(list\)\n", text)
    assert re.search(r"changes F\.\S+ \(Identity\): count\n", text)
    assert "calls print with str 'here'\n" in text


@pytest.mark.parametrize(
    ("level", "channels"),
    [
        (logging.ERROR, set[str]()),
        (logging.WARNING, set[str]()),
        (logging.INFO, {"compiles", "bytecode", "graph_code"}),
        (logging.DEBUG, {"compiles", "bytecode", "graph_code", "trace_bytecode"}),
    ],
)
def test_the_level_adds_channels(
    level: int, channels: set[str], capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:  # LOG15
    @supple.compile(backend="eager")
    def f(x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        supple.graph_break()
        return y * 2

    with supple.config.patch(log_level=level):
        f(X)
    text = capsys.readouterr().err
    assert set(re.findall(r"\[__(\w+)\]", text)) == channels
    assert any("has a graph break" in one for one in caplog.messages) == (level <= logging.WARNING)
    supple.set_logs(guards=True)
    supple.compile(lambda x: x + 1, backend="eager")(X)
    assert set(re.findall(r"\[__(\w+)\]", capsys.readouterr().err)) == {"guards"}


def test_each_instruction_is_traced(capsys: pytest.CaptureFixture[str]) -> None:  # LOG15, X-OBS04
    text = lines(capsys, trace_bytecode=True)
    assert re.search(r"\[\d+/0\] \[__trace_bytecode\] +\d+ lines.<locals>.<lambda>  BINARY_OP '\*'\n", text)


@pytest.mark.parametrize("channel", sorted(log.CHANNELS))
def test_every_channel_can_be_switched_on(channel: str) -> None:
    supple.set_logs(**{channel: True})
    supple.compile(lambda x: x + 1)(X)


def test_an_unknown_channel_is_refused_with_a_list() -> None:
    with pytest.raises(ValueError, match=r"unknown log channel 'gards'; the channels are .*guards") as raised:
        supple.set_logs(gards=True)
    assert isinstance(raised.value, supple.errors.OptionsError)


def test_the_environment_chooses_channels(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("SUPPLE_LOGS", "recompiles, +guards, -graph")
    log.set_logs_from_environment()
    supple.compile(lambda x: x + 1)(X)
    text = capsys.readouterr().err
    assert "[__guards]" in text
    assert "[__graph_code]" not in text
    monkeypatch.setenv("SUPPLE_LOGS", "gards")
    log.set_logs_from_environment()
    assert "unknown log channel 'gards'" in caplog.text


def test_texts_are_not_made_for_those_who_only_count() -> None:
    assert not events.listening()
    stop = events.listen(lambda event: None)
    assert events.listening()
    stop()
    stop()
    assert not events.listening()


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        ("s0 == 33", "Eq(s0, 33)"),
        ("s0 != s1 + 1", "Ne(s0, s1 + 1)"),
        ("s0 <= 30", "s0 <= 30"),
        ("31 <= s0", "s0 > 30"),
        ("s0 < s1", "s0 < s1"),
        ("s0 == 1 or s0 % 2 == 0", "(Eq(s0, 1)) | (Eq(s0 % 2, 0))"),
    ],
)
def test_conditions_are_printed_as_algebra(condition: str, text: str) -> None:  # LOG10
    assert log.shown(condition) == text

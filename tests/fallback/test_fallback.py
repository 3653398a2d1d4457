"""What cannot be captured runs as Python between graphs, is told once, and raises under fullgraph=True."""

import logging
from typing import cast

import pytest
import torch

import supple
from supple.errors import Unsupported
from tests.fallback.programs import PROGRAMS
from tests.guards.change import same

INPUT = torch.tensor([1.0, -2.0, 3.0])
pytestmark = pytest.mark.parametrize("name", sorted(PROGRAMS))


def test_the_result_and_the_output_are_those_of_eager(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    program = PROGRAMS[name]
    compiled = supple.compile(program.run)
    expected = [program.run(INPUT), program.run(-INPUT)]
    printed = capsys.readouterr().out
    found = [compiled(INPUT), compiled(-INPUT)]
    assert capsys.readouterr().out == printed
    assert all(map(same, found, expected))


def test_the_message_says_what_where_why_and_what_to_do(name: str, caplog: pytest.LogCaptureFixture) -> None:
    program = PROGRAMS[name]
    compiled = supple.compile(program.run)
    with caplog.at_level(logging.WARNING, logger="supple"):
        for _ in range(3):
            compiled(INPUT)
    assert len(caplog.messages) == program.places
    assert not any("\n" in message for message in caplog.messages)
    message = caplog.messages[0]
    for part in (f"{name} has a graph break: ", program.what, program.line, ".py:", "Why:", "Do:"):
        assert part in message, message


def test_what_comes_before_and_after_is_compiled_once(name: str) -> None:
    program = PROGRAMS[name]
    compiled = supple.compile(program.run, backend="eager")
    for _ in range(3):
        compiled(INPUT)
        compiled(-INPUT)
    found = supple.stats()
    assert found["graphs"] == program.graphs
    assert len(cast("list[str]", found["reasons"])) >= program.places
    assert found["fallbacks"] == 0
    compiled(INPUT)
    assert supple.stats()["compilations"] == found["compilations"]


def test_fullgraph_raises_the_same_text(name: str) -> None:
    program = PROGRAMS[name]
    compiled = supple.compile(program.run)
    compiled(INPUT)
    reason = cast("list[str]", supple.stats()["reasons"])[0]
    with pytest.raises(Unsupported) as raised:
        supple.compile(program.run, fullgraph=True)(INPUT)
    text = str(raised.value)
    assert reason == text
    for part in (program.what, program.line, "\n  at ", "\n  why: ", "\n  do:  "):
        assert part in text, text

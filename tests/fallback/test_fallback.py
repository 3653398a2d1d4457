"""What cannot be captured runs right as plain Python, is told once, and raises under fullgraph=True."""

import logging

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
    assert len(caplog.messages) == 1
    [message] = caplog.messages
    assert "\n" not in message
    for part in (f"{name} runs eager", program.what, program.line, "programs.py:", "Why:", "Do:"):
        assert part in message, message


def test_the_decision_is_remembered(name: str) -> None:
    compiled = supple.compile(PROGRAMS[name].run)
    compiled(INPUT)
    count = supple.stats()["compilations"]
    for _ in range(3):
        compiled(INPUT)
    assert supple.stats()["compilations"] == count == 1
    assert supple.stats()["breaks"] == supple.stats()["fallbacks"] == 1


def test_fullgraph_raises_the_same_text(name: str) -> None:
    program = PROGRAMS[name]
    compiled = supple.compile(program.run)
    compiled(INPUT)
    reasons = supple.stats()["reasons"]
    with pytest.raises(Unsupported) as raised:
        supple.compile(program.run, fullgraph=True)(INPUT)
    text = str(raised.value)
    assert reasons == [text]
    for part in (program.what, program.line, "\n  at ", "\n  why: ", "\n  do:  "):
        assert part in text, text

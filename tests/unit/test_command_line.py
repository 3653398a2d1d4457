"""`python -m supple` as a user runs it."""

import os
import subprocess
import sys
from pathlib import Path

import torch

from supple.diagnose.pages import REASONS

ROOT = Path(__file__).parents[2]


def run(*command: str) -> str:
    environment = {**os.environ, "COLUMNS": "400"}
    result = subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, check=True, cwd=ROOT, env=environment
    )
    return result.stdout


def test_help_names_the_commands() -> None:
    text = run("-m", "supple", "--help")
    assert "codes" in text
    assert "channels" in text


def test_codes_prints_the_whole_catalogue() -> None:
    text = run("-m", "supple", "codes")
    assert [code for code in REASONS if code not in text] == []


def test_channels_prints_each_channel() -> None:
    assert "graph_breaks" in run("-m", "supple", "channels")


def test_env_says_what_is_found() -> None:
    text = run("-m", "supple", "env")
    assert torch.__version__ in text
    assert "nothing" in text  # is missing


def test_the_example_runs() -> None:
    text = run("examples/gpt2.py")
    assert "kernel" in text

"""docs/debugging.md: its programs print what the text says, its commands run."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from supple.backends import OURS
from tests.contract.package import ROOT
from tools.error_pages import CHANGING

TEXT = (ROOT / "docs" / "debugging.md").read_text(encoding="utf-8")
TRAIN = """
import torch, supple
x = torch.ones(4, requires_grad=True)
supple.compile(lambda x: torch.tanh(x * 2))(x).sum().backward()
"""


def ran(arguments: list[str], folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "SUPPLE_PROFILE": "0", **variables}
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=True, env=environment, cwd=folder
    )


def test_the_programs_print_what_the_text_says(tmp_path: Path) -> None:  # DBG01, DBG10, DBG14
    programs = re.findall(r"```python\n(.*?)```\n", TEXT, flags=re.DOTALL)
    said = re.findall(r"```text\n(.*?)```", TEXT, flags=re.DOTALL)
    (tmp_path / "model.py").write_text("".join(programs), encoding="utf-8")
    printed = ran(["model.py"], tmp_path, TMPDIR=str(tmp_path)).stdout.replace(
        f"{tmp_path}/model.py", "model.py"
    )
    for pattern, constant in CHANGING:
        printed = pattern.sub(constant, printed)
    assert printed == "".join(said)


@pytest.mark.parametrize("command", re.findall(r"```sh\n(.*?)\n```", TEXT))
def test_the_commands_run(command: str, tmp_path: Path) -> None:  # DBG14, X-OBS04
    (tmp_path / "train.py").write_text(TRAIN, encoding="utf-8")
    variable, python, *arguments = command.split()
    name, _, value = variable.partition("=")
    assert python == "python"
    variables = {"SUPPLE_LOGS": "kernels" if name == "SUPPLE_CHECK" else "verify", name: value}
    printed = ran(arguments, tmp_path, **variables).stderr
    channels = variables["SUPPLE_LOGS"].split(",")
    assert [channel for channel in channels if f"[__{channel}]" not in printed] == []


def test_the_table_has_our_backends_in_their_order() -> None:  # DBG01
    assert re.findall(r'^\| `"(\w+)"` \|', TEXT, flags=re.MULTILINE) == list(OURS)

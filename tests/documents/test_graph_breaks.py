"""docs/graph_breaks.md: its programs run, one after the other, and do what the text says."""

import re
from pathlib import Path

import pytest

from tests.contract.package import ROOT
from tools.error_pages import run

TEXT = (ROOT / "docs" / "graph_breaks.md").read_text(encoding="utf-8")


def test_the_programs_run_and_say_what_the_text_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "document"}
    saves, explains, profiles, better = re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)
    assert [text.partition("\n")[0].rpartition(" ")[2] for text in run(saves, names, "model.py")] == [
        "[B123]"
    ]
    assert (tmp_path / "foo.pt").exists()
    assert "[B104]" in "".join(run(explains, names, "model.py"))
    (tmp_path / "model.py").write_text(explains, encoding="utf-8")
    said = re.search(r"```text\n(.*?)```", TEXT, flags=re.DOTALL)
    assert said
    assert str(names["explanation"]).startswith(said[1])
    assert "[B104]" in "".join(run(profiles, names, "model.py"))
    assert run(better, names, "model.py") == []

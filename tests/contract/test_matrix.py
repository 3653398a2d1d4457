"""The table of docs/support.md: what a run came to, and that the page names what the project admits."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from supple.torch_private import KNOWN
from tools import matrix

REPORT = """<testsuites><testsuite>
<testcase name="a"/>
<testcase name="b"><failure message="no"/></testcase>
<testcase name="c"><skipped type="pytest.xfail" message=""/></testcase>
<testcase name="d"><skipped type="pytest.skip" message=""/></testcase>
<testcase name="e"><error message="no"/></testcase>
</testsuite></testsuites>"""


def project() -> dict[str, Any]:
    return tomllib.loads((matrix.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_a_report_is_counted(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(REPORT, encoding="utf-8")
    found = matrix.outcome(report, "..\nreplacing crashed worker gw1\n..")
    assert found == matrix.Outcome(passed=1, failed=2, crashed=1, expected=1, skipped=1)


def test_a_run_without_a_report_passed_nothing(tmp_path: Path) -> None:
    assert matrix.outcome(tmp_path / "none.xml", "") == matrix.Outcome(0, 0, 0, 0, 0)


def test_rows_are_kept_and_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "support.md"
    page.write_text(f"before\n{matrix.BEGIN}old\n{matrix.END}after\n", encoding="utf-8")
    monkeypatch.setattr(matrix, "PAGE", page)
    rest = ["1"] * (len(matrix.HEADER) - 2)
    matrix.written({("3.13", "2.13.0"): ["3.13", "2.13.0", *rest]})
    matrix.written({**matrix.rows(), ("3.11", "2.13.0"): ["3.11", "2.13.0", *rest]})
    assert list(matrix.rows()) == [("3.11", "2.13.0"), ("3.13", "2.13.0")]
    text = page.read_text(encoding="utf-8")
    assert text.startswith("before\n")
    assert text.endswith("after\n")


def test_every_admitted_version_is_run() -> None:
    torch = next(one for one in map(Requirement, project()["dependencies"]) if one.name == "torch")
    assert all(torch.specifier.contains(version) for version in matrix.TORCHES)
    assert {tuple(map(int, version.split(".")[:2])) for version in matrix.TORCHES} == set(KNOWN)
    pythons = SpecifierSet(project()["requires-python"])
    assert [f"3.{minor}" for minor in range(20) if pythons.contains(f"3.{minor}")] == list(matrix.PYTHONS)
    said = [one.rpartition(" ")[2] for one in project()["classifiers"] if "Python" in one]
    assert said == list(matrix.PYTHONS)
    assert len(matrix.combinations()) == len(matrix.PYTHONS) + len(matrix.TORCHES) - 1

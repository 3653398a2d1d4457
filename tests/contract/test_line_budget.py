"""The line budget tool counts code, and names what is over."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOL = ROOT / "tools" / "line_budget.py"


def run(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, TOOL, folder], capture_output=True, text=True, check=False)


def test_the_package_is_within_budget() -> None:
    result = run(ROOT / "supple")
    assert result.returncode == 0, result.stderr


def test_a_long_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "long.py").write_text("x = 1\n" * 601)
    result = run(tmp_path)
    assert result.returncode == 1
    assert "long.py: 601 lines" in result.stderr


@pytest.mark.parametrize("keyword", ["def", "async def"])
def test_a_long_function_is_named(tmp_path: Path, keyword: str) -> None:
    (tmp_path / "code.py").write_text(f"\n{keyword} tall() -> None:\n" + "    x = 1\n" * 60)
    result = run(tmp_path)
    assert result.returncode == 1
    assert "code.py:2: tall has 61 lines" in result.stderr


def test_a_large_package_is_named(tmp_path: Path) -> None:
    for number in range(75):
        (tmp_path / f"part{number}.py").write_text("x = 1\n" * 400)
    result = run(tmp_path)
    assert result.returncode == 1
    assert "30000 code lines" in result.stderr


def test_comments_docstrings_and_blank_lines_are_not_code(tmp_path: Path) -> None:
    (tmp_path / "code.py").write_text('"""Text\nof two lines."""\n\n# remark\n\n\nx = (\n    1\n)\n')
    result = run(tmp_path)
    assert result.stdout.startswith("3 of 29,600 code lines")

"""The size budget tool counts tokens of code, and names what is over."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOL = ROOT / "tools" / "size_budget.py"


def run(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, TOOL, folder], capture_output=True, text=True, check=False)


def test_the_package_is_within_budget() -> None:
    result = run(ROOT / "supple")
    assert result.returncode == 0, result.stderr


def test_a_formatted_string_is_one_token(tmp_path: Path) -> None:
    # From Python 3.12 the tokenizer gives its parts.
    (tmp_path / "plain.py").write_text("x = 'a' 'b'\n")
    plain = run(tmp_path).stdout.splitlines()[-1]
    (tmp_path / "plain.py").write_text("x = f'{y + 1:>{z}}' f'b'\n")
    assert run(tmp_path).stdout.splitlines()[-1] == plain


def test_a_long_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "long.py").write_text("x = 1\n" * 601)
    result = run(tmp_path)
    assert result.returncode == 1
    assert "long.py: 601 lines" in result.stderr


def test_a_file_near_the_bound_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "longish.py").write_text("x = 1\n" * 501)
    result = run(tmp_path)
    assert result.returncode == 0
    assert "longish.py: 501 lines" in result.stdout


@pytest.mark.parametrize("keyword", ["def", "async def"])
def test_a_long_function_is_named(tmp_path: Path, keyword: str) -> None:
    (tmp_path / "code.py").write_text(f"\n{keyword} tall() -> None:\n" + "    x = 1\n" * 60)
    result = run(tmp_path)
    assert result.returncode == 1
    assert "code.py:2: tall has 61 lines" in result.stderr


def test_a_large_package_is_named(tmp_path: Path) -> None:
    for number in range(300):
        (tmp_path / f"part{number}.py").write_text("x = 1 + 2 - 3\n" * 201)
    result = run(tmp_path)
    assert result.returncode == 1
    assert "422100 tokens of code" in result.stderr


def test_a_dense_package_is_named(tmp_path: Path) -> None:
    (tmp_path / "dense.py").write_text("x = a + b + c + d + e + f\n")
    result = run(tmp_path)
    assert result.returncode == 1
    assert "13.00 tokens a line" in result.stderr


def test_comments_docstrings_and_blank_lines_are_not_code(tmp_path: Path) -> None:
    (tmp_path / "code.py").write_text('"""Text\nof two lines."""\n\n# remark\n\n\nx = (\n    1\n)\n')
    result = run(tmp_path)
    assert "5 of 420,000 tokens" in result.stdout
    assert "1.67 a line" in result.stdout

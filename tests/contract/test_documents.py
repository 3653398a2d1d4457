"""The documents name what exists."""

import re
import subprocess
import sys

import pytest

from supple import api
from tests.contract.package import PACKAGE, ROOT

ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def folders() -> list[str]:
    return sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py"))


@pytest.mark.parametrize("folder", folders())
def test_the_architecture_says_what_a_folder_owns(folder: str) -> None:
    assert f"\n| `{folder}` |" in ARCHITECTURE


@pytest.mark.parametrize(
    "document",
    ["README.md", "CONTRIBUTING.md", "docs/architecture.md", "docs/graph_breaks.md", "docs/debugging.md"],
)
def test_links_lead_to_files(document: str) -> None:
    path = ROOT / document
    targets = re.findall(r"\]\(([^):#]+)\)", path.read_text(encoding="utf-8"))
    assert [target for target in targets if not (path.parent / target).exists()] == []


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md"])
def test_make_targets_in_documents_exist(document: str) -> None:
    named = set(
        re.findall(r"\bmake ([a-z]+)\b(?=`| {2,}|\s*#)", (ROOT / document).read_text(encoding="utf-8"))
    )
    assert named
    assert named <= set(re.findall(r"^([a-z]+):", MAKEFILE, flags=re.MULTILINE))


def test_the_readme_lists_the_public_names() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [name for name in (*api.__all__, "errors", "testing") if f"supple.{name}" not in readme] == []


def test_the_example_in_the_readme_runs() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    code = re.search(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert code
    result = subprocess.run([sys.executable, "-"], input=code[1], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    assert result.stdout.startswith("tensor([")

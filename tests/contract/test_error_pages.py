"""Every reason has a code of its own, an example that really gives it, and a page that is up to date."""

import ast

import pytest
from click.testing import CliRunner

import supple
from supple.__main__ import main
from supple.diagnose.pages import REASONS, example, page
from tests.contract.package import PACKAGE, sources
from tools.error_pages import FOLDER, index, said_by_example

EXAMPLES = PACKAGE / "diagnose" / "examples"


def test_every_reason_of_the_package_is_in_the_catalogue() -> None:
    calls = (node for source in sources() for node in ast.walk(source.tree) if isinstance(node, ast.Call))
    makers = ("Reason", "_reason")
    made = [one for one in calls if isinstance(one.func, ast.Name) and one.func.id in makers and one.args]
    codes = [arg.value for one in made if isinstance(arg := one.args[0], ast.Constant)]
    assert sorted(map(str, codes)) == sorted(REASONS)


def test_every_code_has_an_example_and_a_page_and_no_other() -> None:
    assert {path.stem for path in EXAMPLES.iterdir()} == set(REASONS)
    assert {path.stem for path in FOLDER.glob("*.md")} == {*REASONS, "README"}


@pytest.mark.parametrize("code", list(REASONS))
def test_an_example_gives_its_code_and_its_page_is_up_to_date(code: str) -> None:  # X-OBS05
    message, said_instead = said_by_example(code)
    assert said_instead == [], "the better program has no break"
    assert (FOLDER / f"{code}.md").read_text(encoding="utf-8") == page(code, message), "see `make docs`"


def test_the_list_of_codes_is_up_to_date() -> None:
    assert (FOLDER / "README.md").read_text(encoding="utf-8") == index(), "see `make docs`"


def test_the_command_line_prints_a_page() -> None:
    result = CliRunner().invoke(main, ["explain", "B104", "B123"])
    assert result.exit_code == 0
    assert "torch.where(" in result.output
    assert "B123" in result.output
    assert "Why." in result.output
    wrong = CliRunner().invoke(main, ["explain", "B999"])
    assert wrong.exit_code == 2
    assert "B104" in wrong.output


def test_no_example_is_left_compiled() -> None:
    said_by_example("B104")
    assert supple.stats()["entries"] == 0
    assert example("B104")[1]

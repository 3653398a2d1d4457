"""The tests under every Python and torch that the project names, each in an environment of its own.

`python -m tools.matrix` runs all combinations, `python -m tools.matrix 3.13 2.14` one. What came of them goes
into docs/support.md, and the environments stay in a folder for the next run.
"""

import os
import re
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import click

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "support.md"
PYTHONS = ("3.11", "3.12", "3.13")
TORCHES = ("2.11.0", "2.12.0", "2.13.0", "2.14.1")
USUAL = ("3.11", "2.13.0")
"""Each other Python runs with this torch, and each other torch with this Python."""
HEADER = (
    "Python",
    "torch",
    "passed",
    "failed",
    "crashed",
    "expected to fail",
    "left out",
    "minutes",
    "commit",
    "tests",
)
BEGIN, END = "<!-- made by `make matrix` -->\n", "<!-- end -->\n"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run of the tests came to."""

    passed: int
    failed: int
    crashed: int
    expected: int
    skipped: int


def combinations() -> list[tuple[str, str]]:
    """Return every Python with the usual torch, and every torch with the usual Python."""
    found = [(python, USUAL[1]) for python in PYTHONS] + [(USUAL[0], torch) for torch in TORCHES]
    return sorted(set(found))


def interpreter(version: str) -> str:
    """Return the path of a Python of this version.

    Raises:
        ClickException: there is none, as a command or under pyenv.
    """
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    candidates = [
        shutil.which(f"python{version}"),
        *sorted((root / "versions").glob(f"{version}.*/bin/python")),
    ]
    for candidate in filter(None, candidates):
        if subprocess.run([candidate, "-c", ""], capture_output=True, check=False).returncode == 0:
            return str(candidate)
    raise click.ClickException(f"no Python {version} as a command or under {root}")


def environment(python: str, torch: str, cache: Path) -> Path:
    """Return an environment with a Python, a torch and what the tests need: an existing one, or a new one."""
    folder = cache / f"python{python}-torch{torch}"
    run = folder / "bin" / "python"
    if not run.exists():
        subprocess.run([interpreter(python), "-m", "venv", str(folder)], check=True)
    install = [str(run), "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    subprocess.run([*install, f"torch=={torch}"], check=True)
    subprocess.run([*install, "-e", f"{ROOT}[test]"], check=True)
    subprocess.run([str(run), "-m", "pip", "check"], check=True)
    return run


def outcome(report: Path, said: str) -> Outcome:
    """Return what pytest's report and its output say."""
    cases = list(ElementTree.parse(report).getroot().iter("testcase")) if report.exists() else []
    kinds = [{child.tag: child.get("type", "") for child in case} for case in cases]
    bad = sum("failure" in kind or "error" in kind for kind in kinds)
    expected = sum(kind.get("skipped") == "pytest.xfail" for kind in kinds)
    skipped = sum("skipped" in kind for kind in kinds) - expected
    crashed = len(
        re.findall(r"^replacing crashed worker|node down: Not properly terminated", said, re.MULTILINE)
    )
    return Outcome(len(cases) - bad - expected - skipped, bad, crashed, expected, skipped)


def tested(run: Path, workers: int, tests: tuple[str, ...]) -> Outcome:
    """Run the tests in an environment, with what they say in a log beside it."""
    folder = run.parents[1]
    report, log = folder / "report.xml", folder / "log.txt"
    report.unlink(missing_ok=True)
    command = [str(run), "-m", "pytest", "-n", str(workers), "-m", "not slow", "-p", "no:cacheprovider"]
    with log.open("w", encoding="utf-8") as said:
        subprocess.run(
            [*command, f"--junitxml={report}", *tests], cwd=ROOT, stdout=said, stderr=said, check=False
        )
    return outcome(report, log.read_text(encoding="utf-8", errors="replace"))


def rows() -> dict[tuple[str, str], list[str]]:
    """Return the rows of the page's table, by Python and torch."""
    text = PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()[2:]]
    return {(row[0], row[1]): row for row in cells}


def written(found: dict[tuple[str, str], list[str]]) -> None:
    """Put rows into the page's table."""
    lines = [HEADER, ["---"] * len(HEADER), *(found[key] for key in sorted(found))]
    table = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    PAGE.write_text(before + BEGIN + table + END + rest.partition(END)[2], encoding="utf-8")


@click.command()
@click.argument("python", required=False, type=click.Choice(PYTHONS))
@click.argument("torch", required=False)
@click.option("--cache", type=click.Path(path_type=Path), default=Path.home() / ".cache" / "supple-matrix")
@click.option("--workers", default=2)
@click.option("--tests", multiple=True, help="Folders of tests, in place of all.")
def main(python: str | None, torch: str | None, cache: Path, workers: int, tests: tuple[str, ...]) -> None:
    """Run the tests with PYTHON and TORCH (of a version that begins so), or with every combination."""
    chosen = [
        (one, version)
        for one in PYTHONS
        for version in TORCHES
        if (
            (one, version) in combinations()
            if python is None
            else one == python and version.startswith(torch or "")
        )
    ]
    if not chosen:
        raise click.UsageError(f"no torch of {', '.join(TORCHES)} begins with {torch}")
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    asked = os.environ.get("SUPPLE_SWEEP")
    which = " ".join([*(tests or ["all"]), *([f"(of sweeps {asked})"] if asked else [])])
    for one, version in chosen:
        began = time.monotonic()
        found = tested(environment(one, version, cache), workers, tests)
        minutes = round((time.monotonic() - began) / 60)
        counts = (found.passed, found.failed, found.crashed, found.expected, found.skipped, minutes)
        row = [one, version, *map(str, counts), commit.stdout.strip(), which]
        written({**rows(), (one, version): row})
        click.echo(" | ".join(row))


if __name__ == "__main__":
    main()

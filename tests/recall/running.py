"""A copy of the package with one bug, and generators that run against it until one finds it."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import pytest

from tests.recall.generators import Generator, order
from tests.recall.mutants import ROOT, Mutant

COPIED: Final = ("supple", "tests")
POLL_SECONDS: Final = 0.2
GREEN: Final = (0, pytest.ExitCode.NO_TESTS_COLLECTED)
"""Exit statuses of a generator that has found nothing; a focus may leave it nothing to try."""


@dataclass(frozen=True)
class Finding:
    """How a run of a generator ended.

    Attributes:
        generator: its name.
        is_found: whether it says that something is wrong.
        seconds: how long it ran.
        text: the end of what it printed.
    """

    generator: str
    is_found: bool
    seconds: float
    text: str


@contextmanager
def workspace(mutant: Mutant | None) -> Iterator[Path]:
    """Give a folder with the package, the mutant put in, and with the tests."""
    with tempfile.TemporaryDirectory(prefix="recall-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        for part in COPIED:
            shutil.copytree(ROOT / part, folder / part)
        shutil.copy(ROOT / "pyproject.toml", folder)
        if mutant is not None:
            mutant.apply(folder)
        yield folder


def environment(folder: Path) -> dict[str, str]:
    """Return the environment in which the package of a folder is the one that is imported."""
    own = {"PYTHONPATH": str(folder), "SUPPLE_CACHE_DIR": str(folder / "cache"), "SUPPLE_PROFILE": "0"}
    return os.environ | own | {"PYTHONUNBUFFERED": "1", "TMPDIR": str(folder)}


def run(generator: Generator, folder: Path, seconds: float, focus: str = "") -> Finding:
    """Run a generator in a workspace until it finds something, ends, or the time is over."""
    log = folder / f"{generator.name}.log"
    started = time.monotonic()
    with log.open("w") as out:
        process = subprocess.Popen(
            generator.command(seconds, focus),
            cwd=folder,
            env=environment(folder),
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            is_found = _watched(process, generator, log, started + seconds)
        finally:
            _end(process)
    lines = log.read_text(errors="replace").splitlines()
    return Finding(generator.name, is_found, time.monotonic() - started, "\n".join(lines[-40:]))


def _watched(process: "subprocess.Popen[bytes]", generator: Generator, log: Path, until: float) -> bool:
    """Wait for the end of a generator, of the time, or for a line that tells of a difference."""
    while time.monotonic() < until:
        status = process.poll()
        if generator.telling and re.search(generator.telling, log.read_text(errors="replace")):
            return True
        if status is not None:
            return status not in GREEN
        time.sleep(POLL_SECONDS)
    return False


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End a process and those that it started."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def search(mutant: Mutant, seconds: float, only: Sequence[str] = ()) -> list[Finding]:
    """Run the generators against a mutant, the likely ones first, until one finds it.

    Each gets half of the time that is left, and the last one all of it.

    Args:
        only: names of the generators that run; all of them where none is named.
    """
    chosen = [one for one in order(mutant) if not only or one.name in only]
    findings: list[Finding] = []
    with workspace(mutant) as folder:
        for place, generator in enumerate(chosen, 1):
            left = seconds - sum(one.seconds for one in findings)
            share = left if place == len(chosen) else left / 2
            focus = mutant.focus.get(generator.name, "")
            finding = run(generator, folder, share, focus)
            if finding.is_found and baseline(generator, _AGAIN * finding.seconds, focus).is_found:
                finding = replace(finding, is_found=False, text=f"{_BOTH}\n{finding.text}")
            findings.append(finding)
            if finding.is_found:
                break
    return findings


_AGAIN: Final = 1.5
"""How much longer the package as it is gets, which meets the same programs: it is a control."""
_BOTH: Final = "found in the package without the mutant too: it does not count"


def baseline(generator: Generator, seconds: float, focus: str = "") -> Finding:
    """Run a generator against the package as it is."""
    with workspace(None) as folder:
        return run(generator, folder, seconds, focus)


def shows(mutant: Mutant) -> tuple[bool, str]:
    """Return whether the program of a mutant ends well with it, and what it prints."""
    with workspace(mutant) as folder:
        return _printed(folder, [json.dumps({mutant.name: mutant.shows})])[mutant.name]


def clean(chosen: Sequence[Mutant]) -> dict[str, tuple[bool, str]]:
    """Return of each mutant whether its program ends well with the package as it is, and what it prints."""
    with workspace(None) as folder:
        return _printed(folder, [json.dumps({one.name: one.shows for one in chosen})])


def _printed(folder: Path, programs: list[str]) -> dict[str, tuple[bool, str]]:
    """Run programs by a process that loads the package of a folder."""
    command = [sys.executable, "-m", "tests.recall.showing", *programs]
    own = environment(folder)
    done = subprocess.run(command, cwd=folder, env=own, capture_output=True, text=True, check=False)
    if done.returncode:  # the package cannot even be loaded
        return dict.fromkeys(json.loads(programs[0]), (False, done.stderr[-2000:]))
    return {name: tuple(found) for name, found in json.loads(done.stdout.splitlines()[-1]).items()}

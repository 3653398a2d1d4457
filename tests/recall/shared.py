"""A measure of the fuzzer alone: mutants meet the programs of one run, each those that reach its lines."""

import json
import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from tests.recall import probes
from tests.recall.mutants import Mutant
from tests.recall.running import environment, workspace

Entry = dict[str, Any]


@dataclass(frozen=True)
class Met:
    """How a mutant came through the programs of a run.

    Attributes:
        programs: how many reached its lines; all where no probe could tell.
        seconds: when the run came to the program that found it; None where none did.
        text: that program, and what differed.
    """

    programs: int
    seconds: float | None
    text: str = ""


def draw(mutants: Sequence[Mutant], minutes: float, arguments: Sequence[str], path: Path) -> set[str]:
    """Write the programs of a run of the fuzzer to a file; return the mutants of which no probe can tell."""
    with workspace(None) as folder:
        everywhere = probes.put(mutants, folder)
        command = [*_KEPT, "draw", str(path.absolute()), "--minutes", str(minutes), *arguments]
        subprocess.run(command, cwd=folder, env=environment(folder), check=True)
    return everywhere


def reach(mutants: Sequence[Mutant], corpora: Sequence[str], path: Path) -> None:
    """Write of each program of the mutation corpora which mutants' lines it runs, to a file."""
    with workspace(None) as folder:
        probes.put(mutants, folder)
        command = [*_KEPT, "reach", str(path.absolute()), *corpora]
        subprocess.run(command, cwd=folder, env=environment(folder), check=True)


def near(mutant: Mutant, reached: Sequence[Entry]) -> Mutant:
    """Return a mutant that is looked for in the programs that reach its lines alone, where some do not."""
    names = [one["program"] for one in reached if mutant.name in one["reached"]]
    if not names or len(names) == len(reached):
        return mutant
    focus = " ".join(f"--program {shlex.quote(name)}" for name in names)
    more = mutant.focus.get("mutation", "")
    return replace(
        mutant, focus={**mutant.focus, "mutation": more if "--program" in more else f"{more} {focus}"}
    )


def meet(mutant: Mutant, entries: Sequence[Entry], *, everywhere: bool) -> Met:
    """Run the programs that reach a mutant's lines until one differs, which does not without it."""
    met = [one for one in entries if everywhere or mutant.name in one["reached"]]
    with workspace(mutant) as folder:
        number, text = _first(met, folder)
    if number is None:
        return Met(len(met), None)
    with workspace(None) as folder:
        if _first(met[number : number + 1], folder)[0] is not None:
            return meet(mutant, [one for one in entries if one is not met[number]], everywhere=everywhere)
    return Met(len(met), met[number]["seconds"], text)


def _first(entries: Sequence[Entry], folder: Path) -> tuple[int | None, str]:
    """Return the number of the first program that differs, or ends the process, and what was printed."""
    path = folder / "kept.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in entries))
    done = subprocess.run(
        [*_KEPT, "again", str(path)],
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 0:
        return None, ""
    lines = done.stdout.splitlines()
    numbers = [int(line) for line in lines if line.isdecimal()]
    return (numbers[-1] if numbers else 0), "\n".join([*lines[-60:], done.stderr[-1000:]])


_KEPT: Final = (sys.executable, "-m", "tests.recall.kept")

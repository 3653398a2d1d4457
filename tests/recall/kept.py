"""`python -m tests.recall.kept`: keeps programs of the fuzzer, or runs kept ones until one differs.

Most of the time of a search goes into programs that cannot notice the bug. So they are drawn once, by a
package with probes, and each mutant meets those that reach its lines. Of the programs that are mutated,
`reach` says which lines of mutants each runs.
"""

import json
import os
import time
import traceback
from pathlib import Path

import click
import torch

from tests.fuzz.rounds import BACKENDS, Options, judged, one_round, quiet
from tests.mutation.running import Session, undisturbed
from tests.mutation.worlds import CORPORA, programs
from tests.recall.probes import Marks


@click.group()
def main() -> None:
    """Keep programs of the fuzzer, or run them again."""


@main.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--minutes", default=20.0, help="how long")
@click.option("--seed", default=7, help="where to begin")
@click.option("--group", "groups", multiple=True, help="draw from these groups only")
def draw(path: Path, minutes: float, seed: int, groups: tuple[str, ...]) -> None:
    """Write each program that passes, when it was drawn, and which probes it reached, a line each.

    One that does not pass is a find, and printed.
    """
    marks, started, number = Marks(), time.monotonic(), seed * 1_000_000
    marks.install()
    with path.open("w") as file, quiet():

        def keep(_: str, source: str, how: Options) -> None:
            if time.monotonic() - started > minutes * 60:
                return
            marks.taken()
            found = judged(source, how)
            entry = {
                "seconds": round(time.monotonic() - started, 1),
                "source": source,
                "how": how,
                "reached": marks.taken(),
            }
            if found.difference is None:
                file.write(json.dumps(entry) + "\n")
            else:
                click.echo(f"# differs without any mutant: {how}\n{source}\n{found.difference}", err=True)

        while time.monotonic() - started < minutes * 60:
            one_round(number, groups, BACKENDS, keep)
            number += 1


@main.command()
@click.argument("path", type=click.Path(path_type=Path))
def again(path: Path) -> None:
    """Run kept programs in their order; print the number of each, and end at the first that differs."""
    with quiet():
        for number, line in enumerate(path.read_text().splitlines()):
            click.echo(str(number))
            entry = json.loads(line)
            backend, break_at, dynamic = entry["how"]
            found = judged(entry["source"], (backend, break_at, dynamic))
            if found.difference is not None:
                click.echo(f"# {entry['how']}\n{entry['source']}\n{found.difference}")
                raise SystemExit(1)


@main.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.argument("corpora", nargs=-1, type=click.Choice(list(CORPORA)))
def reach(path: Path, corpora: tuple[str, ...]) -> None:
    """Write the name of each program that is mutated, and which probes it reached unchanged, a line each."""
    marks = Marks()
    marks.install()
    torch.set_num_threads(1)
    for program in programs(corpora):
        child = os.fork()
        if not child:
            marks.taken()
            try:
                with undisturbed():
                    Session(program, "native").differs(None)
            except Exception:  # its mutations are still worth a try; a child must not go on with the list
                traceback.print_exc()
            with path.open("a") as file:
                file.write(json.dumps({"program": program.name, "reached": marks.taken()}) + "\n")
            os._exit(0)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()

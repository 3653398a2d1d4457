"""`python -m tests.recall`: puts each bug back, and says which generator finds it, after how many seconds."""

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import click

from tests.recall.generators import GENERATORS
from tests.recall.mutants import Mutant, mutants
from tests.recall.running import Finding, baseline, clean, search, shows
from tests.recall.shared import draw, meet, near, reach
from tests.recall.table import summary, table

GREEN: Final = "green"


def told(path: Path | None, entry: dict[str, Any]) -> None:
    """Add a result to the file of results."""
    if path is not None:
        with path.open("a") as file:
            file.write(json.dumps(entry) + "\n")


def known(path: Path | None) -> list[dict[str, Any]]:
    """Return the results of earlier runs."""
    if path is None or not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines()]


def entry_of(mutant: Mutant, findings: Sequence[Finding]) -> dict[str, Any]:
    """Return the result of a search as plain data."""
    last = findings[-1]
    ran = [f"{one.generator} {one.seconds:.0f} s" for one in findings]
    return {
        "mutant": mutant.name,
        "area": mutant.area,
        "generator": last.generator if last.is_found else None,
        "seconds": sum(one.seconds for one in findings),
        "own_seconds": last.seconds,
        "ran": ran,
        "text": last.text,
    }


def check_shows(chosen: Sequence[Mutant]) -> bool:
    """Run the program of each mutant with it and without it; tell whether each shows its mutant."""
    is_fine = True
    for mutant, (passes, text) in zip(chosen, clean(chosen).values(), strict=True):
        hides, broken = shows(mutant)
        if not passes:
            click.echo(f"{mutant.name}: ITS PROGRAM FAILS WITHOUT IT\n{text}")
        elif hides:
            click.echo(f"{mutant.name}: ITS PROGRAM DOES NOT SEE IT")
        else:
            click.echo(f"{mutant.name}: {(broken.splitlines() or ['died'])[-1][:150]}")
        is_fine &= passes and not hides
    return is_fine


def check_generators(names: Sequence[str], seconds: float) -> bool:
    """Run each generator on the package as it is; tell whether all are green."""
    is_fine = True
    for name in names or GENERATORS:
        if not GENERATORS[name].exists:
            click.echo(f"{name}: not in this version of the project")
            continue
        found = baseline(GENERATORS[name], seconds)
        is_fine &= not found.is_found
        click.echo(f"{name}: {found.text if found.is_found else GREEN}, {found.seconds:.0f} s")
    return is_fine


def measure_shared(chosen: Sequence[Mutant], minutes: float, path: Path | None) -> None:
    """Draw programs for all mutants together, and say which of them one finds."""
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as kept:
        everywhere = draw(mutants(), minutes, (), Path(kept.name))
        programs = [json.loads(line) for line in Path(kept.name).read_text().splitlines()]
    click.echo(f"{len(programs)} programs in {minutes:.0f} minutes")
    entries = known(path)
    done = {entry["mutant"] for entry in entries}
    for mutant in chosen:
        if mutant.name in done:
            continue
        met = meet(mutant, programs, everywhere=mutant.name in everywhere)
        entry = {"mutant": mutant.name, "reached by": met.programs, "seconds": met.seconds, "text": met.text}
        entries.append(entry)
        told(path, entry)
        click.echo(summary([entry]))
    found = sum(entry["seconds"] is not None for entry in entries)
    click.echo(f"{found} of {len(entries)} found ({100 * found / max(len(entries), 1):.0f} %)")


@click.command()
@click.option("--only", multiple=True, help="names of mutants or areas")
@click.option("--part", default=0, help="which part of the mutants, from 0 on")
@click.option("--parts", default=1, help="how many parts there are")
@click.option("--minutes-per-mutant", "minutes", default=1.5, help="for all generators together; 20 at most")
@click.option("--generator", "generators", multiple=True, help="only these generators")
@click.option("--likely", "is_likely", is_flag=True, help="only the generators that the mutants name")
@click.option("--results", type=click.Path(path_type=Path), help="a file of results: what it has is not run")
@click.option("--shared", "is_shared", is_flag=True, help="one run of the fuzzer for all mutants, so long")
@click.option("--reached", type=click.Path(path_type=Path), help="which programs to mutate for which bug")
@click.option("--reach", "corpora", multiple=True, help="write that file, of the programs of this corpus")
@click.option("--list", "is_list", is_flag=True, help="print the mutants")
@click.option("--shows", "is_shows", is_flag=True, help="run the programs that show the mutants to be bugs")
@click.option("--baseline", "is_baseline", is_flag=True, help="run the generators on the package as it is")
def main(
    only: tuple[str, ...],
    part: int,
    parts: int,
    minutes: float,
    generators: tuple[str, ...],
    results: Path | None,
    reached: Path | None,
    corpora: tuple[str, ...],
    **modes: bool,
) -> None:
    """Say how many of the bugs that were fixed the generators would find."""
    chosen = [one for one in mutants() if not only or one.name in only or one.area in only][part::parts]
    if not chosen:
        raise click.UsageError("no mutant and no area has such a name; --list prints them")
    if modes["is_list"]:
        for mutant in chosen:
            click.echo(f"{mutant.area:10} {mutant.name:32} {mutant.restores:16} {mutant.says}")
        return
    if modes["is_shows"]:
        raise SystemExit(not check_shows(chosen))
    seconds = min(minutes, 20.0) * 60
    if modes["is_baseline"]:
        raise SystemExit(not check_generators(generators, seconds))
    if modes["is_shared"]:
        measure_shared(chosen, minutes, results)
        return
    if reached is not None and corpora:
        reach(mutants(), corpora, reached)
        return
    entries, programs = known(results), known(reached)
    done = {entry["mutant"] for entry in entries}
    for mutant in (near(one, programs) for one in chosen):
        if mutant.name in done:
            continue
        names = mutant.likely if modes["is_likely"] else generators
        entries.append(entry_of(mutant, search(mutant, seconds, names)))
        told(results, entries[-1])
        click.echo(table(entries[-1:], head=False))
    click.echo("\n" + table(entries))


main()

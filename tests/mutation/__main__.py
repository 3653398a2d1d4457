"""`python -m tests.mutation`: changes one thing between two calls, for every program; differences are shown."""

import gc
import logging
import os
import pickle
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import Final

import click
import torch

from tests.mutation.running import Session, findings, stop
from tests.mutation.worlds import CORPORA, Program, programs

TOLD: Final = 120.0
"""How often, in seconds, the progress is told."""


def pairs_of(program: Program, options: "Chosen", until: Callable[[], bool]) -> Counter[str]:
    """Run the mutations of one program; print what differs; return the counts."""
    session = Session(program, options.backend, options.dynamic)
    chosen = [one for one in session.mutations() if options.only in str(one)]
    for found in findings(session, chosen, until):
        click.echo(f"{'=' * 80}\n{found}")
        sys.stdout.flush()
    return session.counts


class Chosen:
    """What the command line asks for."""

    def __init__(self, backend: str, dynamic: str, only: str) -> None:
        self.backend = backend
        self.dynamic = {"none": None, "true": True, "false": False}[dynamic]
        self.only = only


def in_a_process(run: Callable[[], Counter[str]], name: str) -> Counter[str]:
    """Run a program in a process of its own: one that ends it is counted, and the next one begins clean."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        counts = run()
        with os.fdopen(write, "wb") as file:
            pickle.dump(counts, file)
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as file:
        text = file.read()
    status = os.waitpid(child, 0)[1]
    if status or not text:
        click.echo(f"{'=' * 80}\n{name}: the process ended with {status}")
        return Counter({"crashes": 1})
    return pickle.loads(text)


@click.command()
@click.option("--minutes", default=20.0, help="how long")
@click.option("--part", default=0, help="which part of the programs, from 0 on")
@click.option("--parts", default=1, help="how many parts there are")
@click.option("--program", "name", default="", help="only programs with this in their names")
@click.option("--only", default="", help="only mutations with this in their text")
@click.option("--backend", default="eager", help="what compiles the graphs")
@click.option("--dynamic", default="none", type=click.Choice(["none", "true", "false"]))
@click.argument("corpora", nargs=-1, type=click.Choice(list(CORPORA)))
def main(
    minutes: float,
    part: int,
    parts: int,
    name: str,
    only: str,
    backend: str,
    dynamic: str,
    corpora: tuple[str, ...],
) -> None:
    """Mutate the programs of CORPORA, of all where none is named, and say how many calls differed."""
    logging.captureWarnings(True)
    logging.disable(logging.CRITICAL)
    signal.signal(signal.SIGALRM, stop)
    torch.set_num_threads(1)
    options = Chosen(backend, dynamic, only)
    chosen = [one for one in programs(corpora) if name in one.name][part::parts]
    gc.collect()
    gc.freeze()
    started = told = time.monotonic()
    counts: Counter[str] = Counter()
    for program in chosen:
        if time.monotonic() > started + minutes * 60:
            break
        counts += in_a_process(
            lambda program=program: pairs_of(
                program, options, lambda: time.monotonic() > started + minutes * 60
            ),
            program.name,
        )
        counts["programs"] += 1
        if time.monotonic() > told + TOLD:
            told = time.monotonic()
            click.echo(f"# {(told - started) / 60:.1f} minutes: {shown(counts)}")
    click.echo(f"{len(chosen)} programs chosen; {shown(counts)}")
    raise SystemExit(bool(counts["findings"] or counts["crashes"]))


def shown(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))


main()

"""`python -m tests.mutation`: one thing changes between two calls of a program; differences are shown."""

import gc
import importlib
import json
import logging
import os
import signal
import sys
import time
import traceback
from collections import Counter
from dataclasses import dataclass
from typing import IO, Any, Final
from zlib import crc32

import click
import torch

from tests.mutation.running import Session, findings, stop
from tests.mutation.worlds import CORPORA, Program, programs

TOLD: Final = 120.0
"""How often, in seconds, the progress is told."""


TIMES: Final = 5
"""How often eager does what ended a process: it reads memory that is not its own, which may go well."""


@dataclass(frozen=True)
class Chosen:
    """What the command line asks for, and when it is over."""

    backend: str
    dynamic: bool | None
    only: str
    every: int
    until: float

    def is_over(self) -> bool:
        """Tell whether the time is up."""
        return time.monotonic() > self.until


def pairs_of(
    program: Program, chosen: Chosen, first: int, file: IO[str], *, is_checking_eager: bool = False
) -> None:
    """Run the mutations of one program from one on; write which one runs, and at the end the counts.

    Args:
        is_checking_eager: run the first one only, by eager in place of compiled code.
    """
    session = Session(program, chosen.backend, chosen.dynamic)
    drawn = session.mutations()[crc32(program.name.encode()) % chosen.every :: chosen.every]
    mutations = [one for one in drawn if chosen.only in str(one)][first:]
    if is_checking_eager:
        for _ in range(TIMES):
            session.differs(mutations[0], is_checking_eager=True)
        return

    def tell(number: int) -> None:
        file.write(json.dumps([first + number, str(mutations[number])]) + "\n")
        file.flush()

    for found in findings(session, mutations, chosen.is_over, tell):
        click.echo(f"{'=' * 80}\n{found}")
        sys.stdout.flush()
    file.write(json.dumps(session.counts) + "\n")


def in_processes(program: Program, chosen: Chosen) -> Counter[str]:
    """Run a program in a process of its own; after a mutation that ends the process, in another one."""
    counts: Counter[str] = Counter()
    first = 0
    while True:
        last, is_whole = in_a_process(program, chosen, first)
        if is_whole:
            return counts + Counter(last)
        is_eagers = bool(last) and not in_a_process(program, chosen, last[0], is_checking_eager=True)[1]
        counts["undefined" if is_eagers else "crashes"] += 1
        if not is_eagers:
            click.echo(f"{'=' * 80}\n{program.name}: the process ended, with {last}")
        if not last or chosen.is_over():
            return counts
        first = last[0] + 1


def in_a_process(
    program: Program, chosen: Chosen, first: int, *, is_checking_eager: bool = False
) -> tuple[Any, bool]:
    """Run a program in a process of its own; return counts or the last mutation, and whether it is whole."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        status = 1
        try:
            with os.fdopen(write, "w") as file:
                pairs_of(program, chosen, first, file, is_checking_eager=is_checking_eager)
            status = 0
        except Exception:  # the parent counts a process that ended early
            traceback.print_exc()
        finally:
            os._exit(status)
    os.close(write)
    with os.fdopen(read) as file:
        lines = file.read().splitlines()
    is_whole = not os.waitpid(child, 0)[1]
    return json.loads(lines[-1]) if lines else None, is_whole


@click.command()
@click.option("--minutes", default=20.0, help="how long")
@click.option("--part", default=0, help="which part of the programs, from 0 on")
@click.option("--parts", default=1, help="how many parts there are")
@click.option("--program", "names", multiple=True, help="only programs with one of these in their names")
@click.option("--only", default="", help="only mutations with this in their text")
@click.option("--every", default=1, help="of the mutations of a program, one in so many")
@click.option("--backend", default="eager", help="what compiles the graphs")
@click.option("--dynamic", default="none", type=click.Choice(["none", "true", "false"]))
@click.argument("corpora", nargs=-1, type=click.Choice(list(CORPORA)))
def main(
    minutes: float,
    part: int,
    parts: int,
    names: tuple[str, ...],
    only: str,
    every: int,
    backend: str,
    dynamic: str,
    corpora: tuple[str, ...],
) -> None:
    """Mutate the programs of CORPORA, of all where none is named, and say how many calls differed."""
    logging.captureWarnings(True)
    logging.disable(logging.CRITICAL)
    signal.signal(signal.SIGVTALRM, stop)
    torch.set_num_threads(1)
    importlib.import_module(
        "torch._dynamo"
    )  # torch imports it in some calls; that takes longer than a call may
    until = time.monotonic() + minutes * 60
    options = Chosen(backend, {"none": None, "true": True, "false": False}[dynamic], only, every, until)
    named = [one for one in programs(corpora) if not names or any(name in one.name for name in names)]
    chosen = named[part::parts]
    gc.collect()
    gc.freeze()
    started = told = time.monotonic()
    counts: Counter[str] = Counter()
    for program in chosen:
        if options.is_over():
            break
        counts += in_processes(program, options)
        counts["programs"] += 1
        if time.monotonic() > told + TOLD:
            told = time.monotonic()
            click.echo(f"# {(told - started) / 60:.1f} minutes: {shown(counts)}")
    click.echo(f"{len(chosen)} programs chosen; {shown(counts)}")
    raise SystemExit(bool(counts["findings"] or counts["crashes"]))


def shown(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))


main()

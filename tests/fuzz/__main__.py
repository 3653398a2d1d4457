"""`python -m tests.fuzz`: random programs until the time is over; failures are made smaller and shown."""

import os
import signal
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

import click

from tests.fuzz import rounds
from tests.fuzz.groups import GROUPS, grammars
from tests.fuzz.reducing import reduced
from tests.fuzz.rounds import BACKENDS, Options, judged, quiet
from tests.fuzz.running import RUNNING, Difference, Verdict

SHOWN: Final = 2
"""How many programs that fail in the same way are made smaller."""
REDUCING: Final = 60.0
"""How many seconds a program is made smaller."""

NAMES: Final = ("plain", *(one.name for one in GROUPS))


@dataclass(frozen=True)
class Chosen:
    """What is drawn.

    Attributes:
        groups: the groups to draw from, all where there are none.
        known: whether those known to fail are among them.
        is_ended: whether the first program that fails ends it.
        backends: what runs the graphs.
    """

    groups: tuple[str, ...]
    known: bool
    is_ended: bool = False
    backends: tuple[str, ...] = BACKENDS


@dataclass
class Counts:
    """What was drawn so far.

    Attributes:
        drawn: programs by group.
        compiled: of them, those of which a graph ran.
        native: of those, the ones whose graphs ran as native code.
        failed: failures by signature.
        by_group: failures by group.
    """

    drawn: Counter[str] = field(default_factory=Counter[str])
    compiled: Counter[str] = field(default_factory=Counter[str])
    native: Counter[str] = field(default_factory=Counter[str])
    failed: Counter[str] = field(default_factory=Counter[str])
    by_group: Counter[str] = field(default_factory=Counter[str])

    def add(self, group: str, backend: str, found: Verdict) -> None:
        """Count a program."""
        self.drawn[group] += 1
        self.compiled[group] += found.graphs > 0
        self.native[group] += backend == "native" and found.graphs > found.refused
        if found.difference is not None:
            self.failed[found.difference.signature] += 1
            self.by_group[group] += 1

    def show(self) -> None:
        """Print a table of the groups, and how programs failed."""
        click.echo(f"{'group':<20}{'programs':>10}{'compiled':>10}{'native':>8}{'failures':>10}")
        for group, count in sorted(self.drawn.items()):
            numbers = (self.compiled[group], self.native[group], self.by_group[group])
            click.echo(f"{group:<20}{count:>10}{numbers[0]:>10}{numbers[1]:>8}{numbers[2]:>10}")
        click.echo(f"{self.drawn.total()} programs, {self.failed.total()} failures")
        for signature, times in self.failed.most_common():
            click.echo(f"{times:6} {signature}")


def failure(source: str, chosen: Options) -> Difference | None:
    """Return how a program differs from eager, or fails to run at all."""
    return judged(source, chosen).difference


def simplest(source: str, chosen: Options, signature: str) -> Options:
    """Return options that are as plain as the failure allows."""
    for plain in (("eager", 0, None), ("eager", *chosen[1:]), (chosen[0], 0, chosen[2]), (*chosen[:2], None)):
        found = failure(source, plain)
        if found is not None and found.signature == signature:
            return plain
    return chosen


def shown(source: str, chosen: Options, found: Difference) -> str:
    """Return a failing program made smaller, and how it fails."""
    chosen = simplest(source, chosen, found.signature)
    until = time.monotonic() + REDUCING

    def fails(text: str) -> bool:
        again = failure(text, chosen) if time.monotonic() < until else None
        return again is not None and again.signature == found.signature

    small = reduced(source, fails, 1000) if fails(source) else source
    backend, break_at, dynamic = chosen
    return f"# {backend}, break_at={break_at}, dynamic={dynamic}\n{small}\n{failure(small, chosen) or found}"


def show(source: str, chosen: Options, found: Difference) -> None:
    """Print a failing program made smaller: by a process of its own, as its parts may do what it does not."""
    if child := os.fork():
        until = time.monotonic() + 2 * REDUCING
        while not (ended := os.waitpid(child, os.WNOHANG))[0] and time.monotonic() < until:
            time.sleep(0.1)
        if not ended[0]:  # a thread that the child has not may hold a lock
            os.kill(child, signal.SIGKILL)
            ended = os.waitpid(child, 0)
        if ended[1]:
            why = "not made smaller: that ends the process, or takes too long"
            click.echo(f"{'=' * 80}\n# {chosen}, {why}\n{source}\n{found}")
        return
    status = 1
    try:
        click.echo(f"{'=' * 80}\n{shown(source, chosen, found)}")
        status = 0
    finally:
        os._exit(status)


def one_round(number: int, chosen: Chosen, counts: Counts, until: float) -> None:
    """Run some programs; where `chosen` says so, the first that fails is shown as it is, and ends it."""

    def run(group: str, source: str, how: Options) -> None:
        if time.monotonic() > until or (chosen.is_ended and counts.failed):
            return
        found = judged(source, how)
        counts.add(group, how[0], found)
        wrong = found.difference
        if wrong is not None and chosen.is_ended:
            click.echo(f"# {how}\n{source}\n{wrong}")
        elif wrong is not None and counts.failed[wrong.signature] <= SHOWN:
            click.echo(f"{'=' * 80}\n# group {group}, round {number}")
            show(source, how, wrong)

    rounds.one_round(number, chosen.groups, chosen.backends, run, known=chosen.known)


def run_rounds(number: int, chosen: Chosen, counts: Counts, minutes: float) -> None:
    """Run rounds of programs, the first with this number, until the time is over."""
    started = time.monotonic()
    until = started + minutes * 60
    while time.monotonic() < until and not (chosen.is_ended and counts.failed):
        one_round(number, chosen, counts, until)
        number += 1
        if number % 20 == 0:
            spent = (time.monotonic() - started) / 60
            click.echo(
                f"{spent:.1f} minutes: {counts.drawn.total()} programs, {counts.failed.total()} failures"
            )


@click.command()
@click.option("--minutes", default=20.0, help="how long")
@click.option("--seed", "first", default=0, help="where to begin; another number gives other programs")
@click.option("--group", "groups", multiple=True, help=f"draw from these groups only: {', '.join(NAMES)}")
@click.option("--backend", "backends", type=click.Choice(BACKENDS), multiple=True, help="both by default")
@click.option("--known", is_flag=True, help="draw also what is known to fail")
@click.option("--first", "is_ended", is_flag=True, help="end at the first program that fails")
def main(
    minutes: float,
    first: int,
    groups: tuple[str, ...],
    backends: tuple[str, ...],
    known: bool,
    is_ended: bool,
) -> None:
    """Run random programs and say how many failed."""
    click.echo(f"The program that runs is in {RUNNING}.")
    chosen = Chosen(tuple(groups), known, is_ended, tuple(backends) or BACKENDS)
    if not grammars(chosen.groups, known=known):
        raise click.BadParameter(f"no group {groups}; known are {', '.join(NAMES)}")
    counts = Counts()
    with quiet():
        run_rounds(first * 1_000_000, chosen, counts, minutes)
    counts.show()
    raise SystemExit(bool(counts.failed))


main()

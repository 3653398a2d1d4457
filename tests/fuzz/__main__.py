"""`python -m tests.fuzz`: random programs until the time is over; failures are made smaller and shown.

A program that ends the process is left in the file LAST.
"""

import gc
import logging
import os
import signal
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any, Final, NoReturn

import click
import torch
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tests.fuzz.programs import programs
from tests.fuzz.reducing import reduced
from tests.fuzz.running import Difference, Endless, difference

ROUND: Final = 100
"""Programs that are drawn at once."""
SECONDS: Final = 60.0
"""A program that takes longer is taken for endless."""
SHOWN: Final = 2
"""How many programs that fail in the same way are made smaller."""
REDUCING: Final = 60.0
"""How many seconds a program is made smaller."""

LAST: Final = Path(tempfile.gettempdir()) / f"supple-fuzz-{os.getpid()}.py"
"""Holds the program that runs."""

Options = tuple[str, int, bool | None]
options: Final[st.SearchStrategy[Options]] = st.tuples(
    st.sampled_from(["eager"] * 9 + ["native"]),
    st.just(0) | st.integers(1, 200),
    st.sampled_from([None, True]),
)


def failure(source: str, chosen: Options) -> Difference | None:
    """Return how a program differs from eager, or fails to run at all."""
    backend, break_at, dynamic = chosen
    LAST.write_text(f"# {backend}, break_at={break_at}, dynamic={dynamic}\n{source}")
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        return difference(source, backend, break_at=break_at, dynamic=dynamic)
    except Exception as error:  # a program that cannot be run is a fault of the generator
        return Difference(traceback.format_exc(), f"{type(error).__name__} outside of the program")
    except Endless:
        return Difference(traceback.format_exc(), "endless")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def stop(*_: object) -> NoReturn:
    """Raise what no program catches."""
    raise Endless


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
        if os.waitpid(child, 0)[1]:
            click.echo(f"{'=' * 80}\n# {chosen}, not made smaller: that ends the process\n{source}\n{found}")
        return
    status = 1
    try:
        click.echo(f"{'=' * 80}\n{shown(source, chosen, found)}")
        status = 0
    finally:
        os._exit(status)


def one_round(number: int, failed: Counter[str], until: float, *, is_ended: bool) -> int:
    """Run some programs; return how many. `is_ended`: the first that fails is shown as it is, and ends it."""
    count = 0

    @seed(number)
    @settings(
        max_examples=ROUND,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(programs(), options)
    def run(source: str, chosen: Any) -> None:
        nonlocal count
        if time.monotonic() > until or (is_ended and failed):
            return
        count += 1
        found = failure(source, chosen)
        if found is not None:
            failed[found.signature] += 1
            if is_ended:
                click.echo(f"# {chosen}\n{source}\n{found}")
            elif failed[found.signature] <= SHOWN:
                show(source, chosen, found)

    run()
    gc.freeze()
    return count


@click.command()
@click.option("--minutes", default=20.0, help="how long")
@click.option("--seed", "first", default=0, help="where to begin; another number gives other programs")
@click.option("--first", "is_ended", is_flag=True, help="end at the first program that fails")
def main(minutes: float, first: int, is_ended: bool) -> None:
    """Run random programs and say how many failed."""
    logging.disable(logging.CRITICAL)
    signal.signal(signal.SIGALRM, stop)
    torch.set_num_threads(1)
    gc.collect()
    gc.freeze()
    click.echo(f"The program that runs is in {LAST}.")
    started, count, number = time.monotonic(), 0, first * 1_000_000
    failed: Counter[str] = Counter()
    while time.monotonic() < started + minutes * 60 and not (is_ended and failed):
        count += one_round(number, failed, started + minutes * 60, is_ended=is_ended)
        number += 1
        if number % 20 == 0:
            spent = (time.monotonic() - started) / 60
            click.echo(f"{spent:.1f} minutes: {count} programs, {failed.total()} failures")
    LAST.unlink(missing_ok=True)
    click.echo(f"{count} programs, {failed.total()} failures")
    for signature, times in failed.most_common():
        click.echo(f"{times:6} {signature}")
    raise SystemExit(bool(failed))


main()

"""`python -m tests.breaks`: a break before every instruction of the corpus; failures are shown."""

import logging
import time
import traceback
from collections.abc import Iterator
from typing import Final

import click
import torch

from tests.breaks.everywhere import CASES, LAST, difference
from tests.semantics.harness import Case

SECONDS: Final = 300.0
"""How often the progress is told."""


def failures(case: Case) -> Iterator[str | None]:
    """Yield for each instruction of a function how a break before it is noticed, if it is."""
    for position in range(1, LAST):
        try:
            was_forced, found = difference(case, position)
        except Exception:  # what the compiler raises is a failure of this position
            was_forced, found = True, traceback.format_exc()
        if not was_forced:
            return
        yield found and f"break before instruction {position}: {found}"


@click.command()
@click.option("--part", default=0, help="which part of the functions, from 0 on")
@click.option("--parts", default=1, help="how many parts there are")
@click.argument("topics", nargs=-1)
def main(part: int, parts: int, topics: tuple[str, ...]) -> None:
    """Break everywhere in the functions whose names begin with one of TOPICS (all, where none is given)."""
    logging.captureWarnings(True)
    logging.disable(logging.CRITICAL)
    torch.set_num_threads(1)
    chosen = [name for name in CASES if not topics or name.startswith(topics)][part::parts]
    tried = failed = 0
    told = time.monotonic()
    for done, name in enumerate(chosen):
        if time.monotonic() > told + SECONDS:
            told = time.monotonic()
            click.echo(f"{done} of {len(chosen)} functions, {tried} positions, {failed} failures")
        for found in failures(CASES[name]):
            tried += 1
            if found is not None:
                failed += 1
                click.echo(f"{name}: {found}")
    click.echo(f"{len(chosen)} functions, {tried} positions, {failed} failures")
    raise SystemExit(bool(failed))


main()

"""`python -m tests.crossings`: calls of all operators in drawn surroundings, eager against compiled code."""

import gc
import logging
import random
import sys
import time
import warnings
from collections import Counter

import click
import torch

from tests.crossings.cases import Crossing, drawn, operators
from tests.crossings.running import difference, findings

EACH = 24
"""Calls of an operator that are drawn at once."""


@click.command()
@click.option("--minutes", default=20.0, help="how long")
@click.option("--seed", default=0, help="of what is drawn")
@click.option("--operator", "part", default="", help="only operators in whose names this text stands")
@click.option("--first", is_flag=True, help="end at the first difference")
def main(minutes: float, seed: int, part: str, first: bool) -> None:
    """Draw calls of operators in random surroundings, and say which of them differ from eager."""
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    chosen = random.Random(seed)
    names = [name for name in operators() if part in name]
    until, counts = time.monotonic() + minutes * 60, Counter[str]()
    difference(Crossing("sin", backend="native"))  # what it imports is there in all processes
    gc.freeze()
    while time.monotonic() < until:
        name = chosen.choice(names)
        calls = [one for _ in range(EACH) if (one := drawn(chosen, name)) is not None]
        counts["calls"] += len(calls)
        for found in findings(calls):
            counts["differences"] += 1
            click.echo(f"{'=' * 80}\n{found}")
            sys.stdout.flush()
            if first:
                raise SystemExit(1)
    click.echo(f"{counts['calls']} calls, {counts['differences']} differences")
    raise SystemExit(bool(counts["differences"]))


main()

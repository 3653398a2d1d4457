"""`python -m tests.histories`: programs that change the history of tensors, eager against compiled code."""

import gc
import random
import sys
import time
from collections import Counter
from itertools import islice

import click
import torch

from supple.api import reset
from tests.histories.programs import programs
from tests.histories.running import all_calls, findings

BACKENDS = ("native", "eager")


@click.command()
@click.option("--minutes", default=20.0, help="how long")
@click.option("--seed", default=0, help="of the order of programs and calls")
@click.option("--part", default=0, help="which part of the programs, from 0 on")
@click.option("--parts", default=1, help="how many parts there are")
@click.option("--backend", default=None, type=click.Choice(BACKENDS), help="one; both by turns otherwise")
@click.option("--with", "part_of", default="", help="only programs in which this text stands")
@click.option("--first", is_flag=True, help="end at the first difference")
def main(
    minutes: float, seed: int, part: int, parts: int, backend: str | None, part_of: str, first: bool
) -> None:
    """Run programs that change the history of tensors of all origins, and say how many calls differed."""
    torch.set_num_threads(1)
    until = time.monotonic() + minutes * 60
    counts: Counter[str] = Counter()
    gc.collect()
    gc.freeze()
    chosen = (program for program in programs(seed) if part_of in program.text)
    for number, program in enumerate(islice(chosen, part, None, parts)):
        if time.monotonic() > until:
            break
        counts["programs"] += 1
        calls = all_calls(random.Random(f"{seed} {number}"))
        for found in findings(program, calls, backend or BACKENDS[number % 2], counts):
            counts["findings"] += 1
            click.echo(f"{'=' * 80}\n{found}")
            sys.stdout.flush()
            if first:
                raise SystemExit(1)
        reset()
    click.echo(", ".join(f"{count} {name}" for name, count in sorted(counts.items())))
    raise SystemExit(bool(counts["findings"]))


main()

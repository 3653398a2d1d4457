"""Changes of the environment between calls: `python -m tests.mutation --help`.

Each program is called, one thing that the call can reach is changed, it is called again, the thing is changed
back, and it is called once more; compiled code must do in each call what eager does. Exits with 1 where it
does not.
"""

import argparse
import logging
import random
import sys
import time

import torch

from tests.mutation.programs import FAMILIES, programs
from tests.mutation.running import Tally, tried


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=20.0, help="how long (20); 0 is until all are tried")
    parser.add_argument("--seed", type=int, default=0, help="the order of programs and changes")
    parser.add_argument("--most", type=int, default=40, help="changes of one program in a round (40)")
    parser.add_argument("--program", help="only programs whose name has this part")
    parser.add_argument("--family", choices=FAMILIES, help="only this family of programs")
    parser.add_argument("--backend", default="native")
    parser.add_argument("--part", type=int, default=0)
    parser.add_argument("--parts", type=int, default=1, help="share the programs among this many runs")
    parser.add_argument("--stop", action="store_true", help="stop at the first difference")
    options = parser.parse_args()
    logging.getLogger("supple").setLevel(logging.ERROR)
    torch.set_num_threads(1)
    chance = random.Random(options.seed)
    chosen = [case for name, case in programs(options.family) if (options.program or "") in name]
    chosen = chosen[options.part :: options.parts]
    chance.shuffle(chosen)
    tally, end = Tally(), time.monotonic() + 60 * options.minutes
    for case in chosen:
        if options.minutes and time.monotonic() > end:
            break
        shown = len(tally.found)
        tried(case, options.backend, tally, chance, options.most)
        for one in tally.found[shown:]:
            print(one, flush=True)
        if options.stop and tally.found:
            break
    print(
        f"{len(chosen)} programs, {tally.pairs:,} changes, {tally.compiled:,} of them compiled anew, "
        f"{tally.eager:,} left to eager, {dict(tally.skipped)} skipped, {len(tally.found)} differences"
    )
    return 1 if tally.found else 0


if __name__ == "__main__":
    sys.exit(main())

"""Programs whose numbers or sizes are others in each call: `python -m benchmarks.changing --help`.

Graphs are those of as many calls as the programs need to come to rest, beside `torch.compile`'s, which runs
graphs as they are. The ratio is the time of a call of supple over eager's: medians, calls in turns. Each
measurement runs in a fresh process with empty caches. Prints one JSON line per program, then a table.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any, Final

import torch
from rich.console import Console

import supple
from benchmarks.measure import tensors
from benchmarks.report import geometric_mean, start
from tests.dynamic.changing_programs import CALLS, PROGRAMS, Session

ROOT: Final = Path(__file__).parents[1]
TARGETS: Final = ("torch", "supple")
COLUMNS: Final = ["graphs", "torch", "breaks", "eager us", "supple us", "ratio", "difference", "short in"]
TOLERANCE: Final = 1e-4
EVEN: Final = 1.02
"""Up to this ratio a call takes as long as eager's: the clock tells no less apart."""


def called(session: Session, number: int) -> tuple[Any, float]:
    """Return what a call gives, and its seconds."""
    arguments = session.arguments(number)
    begin = perf_counter()
    result = session.call(*arguments)
    return result, perf_counter() - begin


def settle(session: Session, plain: Session) -> float:
    """Bring a compiled program to rest; return the largest difference from eager."""
    largest = 0.0
    for number in range(CALLS):
        found, wanted = called(session, number)[0], called(plain, number)[0]
        pairs = zip(tensors([found, session.state]), tensors([wanted, plain.state]), strict=True)
        largest = max(largest, *((a - b).detach().abs().double().max().item() for a, b in pairs))
    return largest


def graphs_of_torch(name: str) -> dict[str, float]:
    """Return how many graphs `torch.compile` makes."""
    made: list[torch.fx.GraphModule] = []

    def count(graph: torch.fx.GraphModule, _: object) -> Callable[..., Any]:
        made.append(graph)
        return graph.forward

    program = PROGRAMS[name]
    session = program.make(lambda function: torch.compile(function, backend=count))
    difference = settle(session, program.make(lambda function: function))
    return {"graphs": len(made), "difference": difference}


def figures_of_supple(name: str, seconds: float) -> dict[str, float]:
    """Return supple's graphs and breaks, and the median microseconds of a call of it and of eager."""
    program = PROGRAMS[name]
    session, plain = program.make(supple.compile), program.make(lambda function: function)
    difference = settle(session, plain)
    stats: Any = supple.stats()
    found = {"graphs": stats["graphs"], "breaks": stats["breaks"] + stats["fallbacks"]}
    times: dict[str, list[float]] = {"eager": [], "supple": []}
    turns = [("eager", plain), ("supple", session)]
    end, number = perf_counter() + seconds, CALLS
    while perf_counter() < end:
        for target, one in turns:
            times[target].append(called(one, number)[1])
        number += 1
        turns.reverse()
    medians = {target: statistics.median(taken) * 1e6 for target, taken in times.items()}
    return found | medians | {"difference": difference, "later": supple.stats()["graphs"] - found["graphs"]}


def fresh(target: str, name: str, seconds: float) -> dict[str, float]:
    """Return one measurement, from a fresh process with empty caches.

    Raises:
        subprocess.CalledProcessError: when the measuring process failed; its errors went to stderr.
    """
    with tempfile.TemporaryDirectory() as caches:
        settings = {"SUPPLE_CACHE_DIR": caches, "SUPPLE_PROFILE": "0"}
        command = [sys.executable, "-m", "benchmarks.changing", "--measure", target, name]
        result = subprocess.run(
            [*command, "--seconds", str(seconds)],
            cwd=ROOT, env=os.environ | settings, stdout=subprocess.PIPE, text=True, check=True,
        )  # fmt: skip
    return json.loads(result.stdout.splitlines()[-1])


def short(ours: dict[str, float], theirs: dict[str, float]) -> str:
    """Return in what supple falls short of torch, or of eager; empty for nothing."""
    found = {
        "graphs": ours["graphs"] > theirs["graphs"],
        "graphs at rest": ours["later"] > 0,
        "time": ours["supple"] > EVEN * ours["eager"],
        "results": not ours["difference"] <= TOLERANCE,
    }
    return ", ".join(name for name, is_short in found.items() if is_short)


def arguments() -> argparse.Namespace:
    """Return the parsed command line."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        "python -m benchmarks.changing", description=__doc__, formatter_class=raw
    )
    named = ", ".join(PROGRAMS)
    parser.add_argument(
        "--cases", nargs="+", choices=PROGRAMS, default=[*PROGRAMS], metavar="CASE", help=named
    )
    parser.add_argument("--seconds", type=float, default=5, help="length of each measurement of time")
    parser.add_argument("--out", type=Path, help="also append the JSON lines to this file")
    parser.add_argument("--measure", nargs=2, metavar=("TARGET", "CASE"), help="one, in this process")
    return parser.parse_args()


def main() -> int:
    """Run what the command line asks for; return 1 when supple fell short somewhere."""
    given = arguments()
    if given.measure:
        target, name = given.measure
        torch.set_num_threads(1)  # threads that wait for each other would be most of what the clock sees
        found = graphs_of_torch(name) if target == "torch" else figures_of_supple(name, given.seconds)
        print(json.dumps(found))
        return 0
    table = start(f"Changing numbers and sizes: graphs in {CALLS} calls, then the time of a call", COLUMNS)
    ratios: list[float] = []
    is_short = False
    for name in given.cases:
        theirs, ours = (fresh(target, name, given.seconds) for target in TARGETS)
        ratios.append(ours["supple"] / ours["eager"])
        where = short(ours, theirs)
        is_short |= bool(where)
        line = json.dumps({"case": name, "supple": ours, "torch": theirs})
        print(line, flush=True)
        if given.out:
            with given.out.open("a") as file:
                file.write(line + "\n")
        counts = (ours["graphs"], theirs["graphs"], ours["breaks"], ours["eager"], ours["supple"])
        numbers = [*(f"{one:.0f}" for one in counts), f"{ratios[-1]:.2f}", f"{ours['difference']:.1e}"]
        table.add_row(name, *numbers, where)
    table.add_row("geometric mean", *[""] * 5, f"{geometric_mean(ratios):.2f}")
    Console(width=130).print(table)
    return int(is_short)


if __name__ == "__main__":
    sys.exit(main())

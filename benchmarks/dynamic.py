"""What dynamic sizes cost and gain, beside `torch.compile`: `python -m benchmarks.dynamic --help`.

second: a function compiled by default meets a second size, then ten more: seconds of each step, graphs.
steady: compiled with dynamic=True, microseconds per call at each size, the opponents taking turns.
frontend: capture alone, dynamic=True against dynamic=False, in CPU seconds.

Each measurement runs in a fresh process with empty caches. Prints one JSON line per figure, then tables.
"""

import argparse
import json
import os
import pkgutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, Final

import torch
import torch._dynamo.utils
from rich.console import Console
from rich.table import Table

import supple
from benchmarks.machine import commit, machine
from benchmarks.measure import Call, cpu_seconds, in_turns, largest_difference
from benchmarks.models import VOCABULARY
from benchmarks.report import Figure, geometric_mean, start

ROOT: Final = Path(__file__).parents[1]
CASES: Final = (
    "models.gpt2", "models.llama", "models.bert", "models.vit",
    "functions.pointwise", "functions.layer_norm", "functions.softmax", "functions.gelu_mlp",
)  # fmt: skip
KINDS: Final = ("second", "steady", "frontend")
TARGETS: Final = ("supple", "torch")
PAIRS: Final = (
    (2, 64), (3, 48), (1, 64), (4, 33), (1, 2), (2, 127), (5, 16), (1, 200), (2, 2), (8, 64), (3, 3), (1, 17),
)  # fmt: skip
REPEATS: Final = 5


def inputs(case: str, batch: int, length: int) -> tuple[torch.Tensor, ...]:
    """Return the arguments of a case for a batch of examples of a length."""
    if case == "models.vit":
        return (torch.randn(batch, 3, 64, 64),)
    if case.startswith("models."):
        return (torch.randint(3, VOCABULARY, (batch, length)),)
    _, given = pkgutil.resolve_name(f"benchmarks.{case}")()
    rows = batch * length * (1000 if case == "functions.pointwise" else 1)
    return tuple(torch.randn(rows, *item.shape[1:]) for item in given)


def compiled(target: str, function: Callable[..., object], **options: Any) -> Callable[..., object]:
    """Return the function compiled by one of the opponents, which forgets what it compiled before."""
    if target == "torch":
        torch.compiler.reset()
        torch._dynamo.utils.counters.clear()
        return torch.compile(function, **options)
    supple.reset()
    return supple.compile(function, **options)


def graphs(target: str) -> int:
    """Return how many graphs an opponent has captured."""
    counted: Any = supple.stats() if target == "supple" else torch._dynamo.utils.counters["stats"]
    return int(counted["graphs" if target == "supple" else "unique_graphs"])


def second(function: Callable[..., object], case: str, target: str) -> dict[str, float]:
    """Return the seconds of the first call, of the second and of the later ones, and the number of graphs."""
    run = compiled(target, function)
    found: dict[str, float] = {"later": 0.0, "difference": 0.0}
    for place, pair in enumerate(PAIRS):
        given = inputs(case, *pair)
        want = function(*given)
        begin, begin_cpu = perf_counter(), cpu_seconds()
        got = run(*given)
        name = ("first", "second")[place] if place < 2 else "later"
        found[name] = found.get(name, 0.0) + perf_counter() - begin
        found[f"{name}_cpu"] = found.get(f"{name}_cpu", 0.0) + cpu_seconds() - begin_cpu
        found["difference"] = max(found["difference"], largest_difference(want, got))
    return found | {"graphs": graphs(target)}


def steady(function: Callable[..., object], case: str, seconds: float) -> dict[str, float]:
    """Return {"target/size": median seconds of one call} with one dynamic compilation for all sizes."""
    runs = {"eager": function} | {name: compiled(name, function, dynamic=True) for name in TARGETS}
    arguments = {pair: inputs(case, *pair) for pair in PAIRS}
    for run in runs.values():
        for given in arguments.values():
            run(*given)
    found: dict[str, float] = {}
    for (batch, length), given in arguments.items():
        calls: dict[str, Call] = {name: lambda run=run, a=given: run(*a) for name, run in runs.items()}
        times = in_turns(calls, seconds / len(PAIRS))
        found |= {f"{name}/{batch}x{length}": time for name, time in times.items()}
    return found


def frontend(function: Callable[..., object], case: str, target: str) -> dict[str, float]:
    """Return the median CPU seconds of a first call without code generation, sizes static and dynamic."""
    given = inputs(case, *PAIRS[0])
    times: dict[bool, list[float]] = {False: [], True: []}
    # The first round loads what a compiler loads once.
    for _ in range(1 + REPEATS):
        for dynamic, taken in times.items():
            run = compiled(target, function, backend="eager", dynamic=dynamic)
            begin = process_time()
            run(*given)
            taken.append(process_time() - begin)
    return {name: statistics.median(times[name == "dynamic"][1:]) for name in ("static", "dynamic")}


@torch.no_grad()
def measure(kind: str, case: str, target: str, seconds: float) -> dict[str, float]:
    """Return one measurement, in this process."""
    torch.manual_seed(0)
    function, _ = pkgutil.resolve_name(f"benchmarks.{case}")()
    if kind == "steady":
        return steady(function, case, seconds)
    return (second if kind == "second" else frontend)(function, case, target)


def fresh(kind: str, case: str, target: str, seconds: float) -> dict[str, float]:
    """Return one measurement, from a fresh process with empty caches.

    Raises:
        subprocess.CalledProcessError: when the measuring process failed; its errors went to stderr.
    """
    with tempfile.TemporaryDirectory() as caches:
        settings = {"TORCHINDUCTOR_CACHE_DIR": caches, "SUPPLE_CACHE_DIR": caches, "SUPPLE_PROFILE": "0"}
        command = [sys.executable, "-m", "benchmarks.dynamic", "--measure", kind, case, target]
        result = subprocess.run(
            [*command, "--seconds", str(seconds)],
            cwd=ROOT, env=os.environ | settings, stdout=subprocess.PIPE, text=True, check=True,
        )  # fmt: skip
    return json.loads(result.stdout.splitlines()[-1])


def second_table(found: dict[str, dict[str, dict[str, float]]]) -> Table:
    """Return the latency of the second compilation, and graphs over all sizes."""
    table = start(
        "A second size (seconds of the call; all caches empty)",
        ["supple", "torch.compile", "ratio", "ratio of CPU time", "graphs", "torch", "largest difference"],
    )
    for case, of in found.items():
        ours, theirs = of["supple"], of["torch"]
        row = [f"{one['second']:.2f}" for one in (ours, theirs)] + [
            f"{theirs['second'] / ours['second']:.1f}x"
        ]
        row += [f"{one['graphs']:.0f}" for one in (ours, theirs)] + [f"{ours['difference']:.1e}"]
        table.add_row(case, *row)
    return table


def steady_table(found: dict[str, dict[str, dict[str, float]]]) -> Table:
    """Return supple's time over torch's at each size, and the geometric means."""
    table = start(
        "Steady state with dynamic=True (supple's time over torch's)",
        [*(f"{batch}x{length}" for batch, length in PAIRS), "mean", "over eager"],
    )
    for case, of in found.items():
        times = of["both"]
        sizes = [f"{batch}x{length}" for batch, length in PAIRS]
        ratios = [times[f"supple/{size}"] / times[f"torch/{size}"] for size in sizes]
        eager = [times[f"supple/{size}"] / times[f"eager/{size}"] for size in sizes]
        means = [f"{geometric_mean(ratios):.2f}", f"{geometric_mean(eager):.2f}"]
        table.add_row(case, *(f"{ratio:.2f}" for ratio in ratios), *means)
    return table


def frontend_table(found: dict[str, dict[str, dict[str, float]]]) -> Table:
    """Return what dynamic sizes cost in capture."""
    table = start(
        "Capture (CPU milliseconds)",
        ["supple static", "dynamic", "ratio", "torch static", "dynamic", "ratio"],
    )
    for case, of in found.items():
        row: list[str] = []
        for target in TARGETS:
            static, dynamic = of[target]["static"], of[target]["dynamic"]
            row += [f"{static * 1e3:.0f}", f"{dynamic * 1e3:.0f}", f"{dynamic / static:.2f}"]
        table.add_row(case, *row)
    return table


TABLES: Final = {"second": second_table, "steady": steady_table, "frontend": frontend_table}


def arguments() -> argparse.Namespace:
    """Return the parsed command line."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.dynamic", description=__doc__, formatter_class=raw
    )
    parser.add_argument(
        "--cases", nargs="+", choices=CASES, default=CASES, metavar="CASE", help=", ".join(CASES)
    )
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--seconds", type=float, default=24, help="length of each steady-state measurement")
    parser.add_argument("--out", type=Path, help="also append the JSON lines to this file")
    parser.add_argument("--measure", nargs=3, metavar=("KIND", "CASE", "TARGET"), help="one, in this process")
    return parser.parse_args()


def main() -> int:
    """Run what the command line asks for; return 1 when a measurement failed."""
    given = arguments()
    if given.measure:
        kind, case, target = given.measure
        print(json.dumps(measure(kind, case, target, given.seconds)))
        return 0
    labels = {"commit": commit(ROOT), "machine": machine()}
    figures: list[Figure] = []
    found: dict[str, dict[str, dict[str, dict[str, float]]]] = {kind: {} for kind in given.kinds}
    failed: list[str] = []
    for case in given.cases:
        for kind in given.kinds:
            try:
                targets = ("both",) if kind == "steady" else TARGETS
                of = {target: fresh(kind, case, target, given.seconds) for target in targets}
            except subprocess.CalledProcessError as error:
                failed.append(" ".join(error.cmd[3:]))
                continue
            found[kind][case] = of
            made = [
                Figure(
                    f"dynamic_{kind}/{case}/{target}/{name}", "" if name == "graphs" else "s", value, **labels
                )
                for target, values in of.items()
                for name, value in values.items()
            ]
            figures += made
            for figure in made:
                print(json.dumps(asdict(figure)), flush=True)
    if given.out:
        given.out.parent.mkdir(parents=True, exist_ok=True)
        with given.out.open("a") as file:
            file.writelines(json.dumps(asdict(figure)) + "\n" for figure in figures)
    console = Console(width=160)
    for kind, of_cases in found.items():
        console.print(TABLES[kind](of_cases))
    for command in failed:
        console.print(f"failed: {command}", style="red")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

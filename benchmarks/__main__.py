"""Run the measurements, print one JSON line per figure, then tables: `python -m benchmarks --help`."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console

from benchmarks.machine import commit, machine
from benchmarks.report import Figure, tables

ROOT = Path(__file__).parents[1]
MODELS = ("models.gpt2", "models.llama", "models.bert", "models.vit")
FUNCTIONS = ("functions.pointwise", "functions.layer_norm", "functions.softmax", "functions.gelu_mlp")
TINY = ("functions.tiny_pointwise", "functions.tiny_linear")
COLD_TARGETS = ("supple", "torch", "supple-frontend", "torch-frontend")
STEADY_TARGETS = ("eager", "supple", "torch")


@dataclass(frozen=True, slots=True)
class Runner:
    """Starts measurements. Each case and target has a cache folder of its own, empty when the cold figure is
    taken; the steady-state measurement that follows finds it filled.
    """

    caches: Path
    seconds: float

    def measure(self, kind: str, case: str, *targets: str) -> dict[str, float]:
        """Return what benchmarks.measure prints for one case.

        Raises:
            subprocess.CalledProcessError: when the measuring process failed; its errors went to stderr.
        """
        torch_cache, supple_cache = (targets[0],) * 2 if kind == "cold" else ("torch", "supple")
        settings = {
            "TORCHINDUCTOR_CACHE_DIR": str(self.caches / case / torch_cache),
            "SUPPLE_CACHE_DIR": str(self.caches / case / supple_cache),
            "BENCHMARK_SECONDS": str(self.seconds),
        }
        result = subprocess.run(
            [sys.executable, "-m", "benchmarks.measure", kind, case, *targets],
            cwd=ROOT,
            env=os.environ | settings,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        return json.loads(result.stdout.splitlines()[-1])

    def cold(self, case: str) -> Iterator[tuple[str, str, float]]:
        """Yield (name, unit, value) of the cold figures of one case: one fresh process for each target."""
        for target in COLD_TARGETS:
            found = self.measure("cold", case, target)
            yield f"cold/{case}/{target}", "s", found["seconds"]
            yield f"cold_cpu/{case}/{target}", "CPU s", found["cpu"]
            yield f"difference/{case}/{target}", "largest absolute", found["difference"]

    def steady(self, case: str) -> Iterator[tuple[str, str, float]]:
        """Yield (name, unit, value) of the steady-state figures of one case: all targets take turns."""
        found = self.measure("steady", case, *STEADY_TARGETS)
        for target in STEADY_TARGETS:
            yield f"steady/{case}/{target}", "us", found[target] * 1e6
        if case == "functions.pointwise":
            # Read x and y, write the result; a clone reads and writes once.
            for target in STEADY_TARGETS:
                yield f"bandwidth/{case}/{target}", "GB/s", 12e-3 / found[target]
            yield f"bandwidth/{case}/clone", "GB/s", 8e-3 / found["clone"]


def arguments() -> argparse.Namespace:
    """Return the parsed command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    cases, kinds = [*MODELS, *FUNCTIONS, *TINY], ["cold", "steady"]
    named = ", ".join(cases)
    parser.add_argument("--cases", nargs="+", choices=cases, default=cases, metavar="CASE", help=named)
    parser.add_argument("--kinds", nargs="+", choices=kinds, default=kinds)
    parser.add_argument("--seconds", type=float, default=10, help="length of each steady-state measurement")
    parser.add_argument("--out", type=Path, help="also append the JSON lines to this file")
    return parser.parse_args()


def main() -> int:
    """Run what the command line asks for; return 1 when a measurement failed."""
    given = arguments()
    labels = {"commit": commit(ROOT), "machine": machine()}
    figures: list[Figure] = []
    failed: list[str] = []
    with tempfile.TemporaryDirectory() as caches:
        runner = Runner(Path(caches), given.seconds)
        for case in given.cases:
            for kind in given.kinds:
                measure = runner.cold if kind == "cold" else runner.steady
                try:
                    for name, unit, value in measure(case):
                        figures.append(Figure(name, unit, value, **labels))
                        print(json.dumps(asdict(figures[-1])), flush=True)
                except subprocess.CalledProcessError as error:
                    failed.append(" ".join(error.cmd[3:]))
    if given.out:
        given.out.parent.mkdir(parents=True, exist_ok=True)
        with given.out.open("a") as file:
            file.writelines(json.dumps(asdict(figure)) + "\n" for figure in figures)
    console = Console()
    for table in tables(figures):
        console.print(table)
    for command in failed:
        console.print(f"failed: {command}", style="red")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

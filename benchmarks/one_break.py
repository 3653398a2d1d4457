"""What one graph break costs: twelve layers, a `print` in layer 6. `python -m benchmarks.one_break`.

text: the print shows a constant.    value: it shows a number out of a tensor, which needs the graph so far.

Graphs, breaks, CPU seconds to the first result, and microseconds per call beside eager's; each compiler in a
fresh process, its calls in turns with eager's.
"""

import contextlib
import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch._dynamo.utils
from rich.console import Console
from torch import nn

import supple
from benchmarks.measure import cpu_seconds, in_turns, largest_difference
from benchmarks.report import start

KINDS = ("text", "value")
TARGETS = ("supple", "torch")


class Layer(nn.Module):
    """A normalised perceptron; the layer numbered 6 prints."""

    def __init__(self, number: int, kind: str) -> None:
        super().__init__()
        self.number, self.kind = number, kind
        self.norm, self.wide, self.back = nn.LayerNorm(64), nn.Linear(64, 256), nn.Linear(256, 64)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Add what the perceptron gives."""
        hidden = nn.functional.gelu(self.wide(self.norm(x)))
        if self.number == 6:
            print("layer", float(hidden.sum()) if self.kind == "value" else self.number)
        return x + self.back(hidden)


def counts(target: str) -> tuple[int, int]:
    """Return how many graphs and breaks a compiler has had."""
    if target == "supple":
        found: Any = supple.stats()
        return found["graphs"], found["breaks"]
    counters = torch._dynamo.utils.counters
    return counters["stats"]["unique_graphs"], sum(counters["graph_break"].values())


def measure(target: str, kind: str) -> dict[str, float]:
    """Return the figures of one compiler."""
    torch.manual_seed(0)
    model = nn.Sequential(*(Layer(number, kind) for number in range(12))).eval()
    x = torch.randn(4, 64)
    compiled: Callable[..., Any] = (supple.compile if target == "supple" else torch.compile)(model)
    with torch.no_grad(), contextlib.redirect_stdout(io.StringIO()):
        wanted = model(x)
        begun = cpu_seconds()
        difference = largest_difference(wanted, compiled(x))
        cold = cpu_seconds() - begun
        times = in_turns({"eager": lambda: model(x), "compiled": lambda: compiled(x)}, 2.0)
    graphs, breaks = counts(target)
    return {
        "graphs": graphs,
        "breaks": breaks,
        "cold": cold,
        "eager": times["eager"] * 1e6,
        "call": times["compiled"] * 1e6,
        "difference": difference,
    }


def main() -> None:
    """Measure and print."""
    if len(sys.argv) > 1:
        print(json.dumps(measure(*sys.argv[1:])))
        return
    table = start("A print in layer 6 of 12", ["graphs", "breaks", "cold CPU s", "us per call", "over eager"])
    for kind in KINDS:
        for target in TARGETS:
            command = [sys.executable, "-m", "benchmarks.one_break", target, kind]
            folder = Path(__file__).parents[1]
            run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
            found = json.loads(run.stdout.splitlines()[-1])
            print(json.dumps({"case": f"{kind}/{target}", **found}))
            table.add_row(
                f"{kind}, {target}",
                *(f"{found[name]:.0f}" for name in ("graphs", "breaks")),
                f"{found['cold']:.2f}",
                f"{found['call']:.0f}",
                f"{found['call'] / found['eager']:.2f}",
            )
    Console().print(table)


if __name__ == "__main__":
    main()

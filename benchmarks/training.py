"""Training steps of a GPT-2, beside eager and `torch.compile`: `python -m benchmarks.training --help`.

memory: the most that torch allocates in a step above what is there before, in MB; the same in each run.
cold: CPU seconds of the first step (forward and backward).    step: seconds of a step, eager in turns.

Each target runs in a fresh process. Gradients of the first step are compared with eager's.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from itertools import accumulate
from pathlib import Path
from typing import Any

import torch
import transformers
from rich.console import Console

import supple
from benchmarks.measure import cpu_seconds, in_turns
from benchmarks.report import start

TARGETS: dict[str, Callable[[Any], Any]] = {
    "eager": lambda model: model,
    "supple": supple.compile,
    "torch": torch.compile,
    "torch-aot_eager": lambda model: torch.compile(model, backend="aot_eager"),
}


def megabytes(run: Callable[[], object]) -> float:
    """Return the most bytes that torch allocates at a time, above what is there before."""
    with torch.profiler.profile(profile_memory=True) as profile:
        run()
    results = None if profile.profiler is None else profile.profiler.kineto_results
    assert results is not None, "the profiler has run"
    events: list[Any] = [event for event in results.events() if event.name() == "[memory]"]
    ordered = sorted(events, key=lambda event: event.start_ns())
    return max(accumulate(event.nbytes() for event in ordered)) / 2**20


def measure(target: str, layers: int) -> dict[str, float]:
    """Return the figures of one target."""
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        n_layer=layers, n_embd=256, n_head=4, vocab_size=5000, n_positions=256,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=0, eos_token_id=1,
    )  # fmt: skip
    model: Any = transformers.GPT2LMHeadModel(config).train()
    ids = torch.randint(0, 5000, (8, 256))
    compiled = TARGETS[target](model)

    def step(run: Any) -> None:
        model.zero_grad()
        run(input_ids=ids, labels=ids).loss.backward()

    step(model)
    wanted = [parameter.grad.clone() for parameter in model.parameters()]
    begun = cpu_seconds()
    step(compiled)
    cold = cpu_seconds() - begun
    found = (parameter.grad for parameter in model.parameters())
    difference = max((a - b).abs().max().item() for a, b in zip(wanted, found, strict=True))
    step(compiled)
    model.zero_grad()
    memory = megabytes(lambda: step(compiled))
    times = in_turns({"eager": lambda: step(model), target: lambda: step(compiled)}, 20.0)
    return {
        "memory": memory,
        "cold": cold,
        "step": times[target],
        "over eager": times[target] / times["eager"],
        "difference": difference,
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Training steps of a GPT-2, beside eager and torch.compile.")
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--target", choices=TARGETS, help="measure this one here")
    given = parser.parse_args()
    if given.target:
        print(json.dumps(measure(given.target, given.layers)))
        return
    table = start(
        f"A GPT-2 of {given.layers} layers, batch 8 x 256", ["MB", "cold CPU s", "s per step", "over eager"]
    )
    for target in TARGETS:
        command = [
            sys.executable,
            "-m",
            "benchmarks.training",
            "--layers",
            str(given.layers),
            "--target",
            target,
        ]
        folder = Path(__file__).parents[1]
        run = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, check=True)
        found = json.loads(run.stdout.splitlines()[-1])
        print(json.dumps({"target": target, **found}))
        shown = (found["memory"], found["cold"], found["step"], found["over eager"])
        table.add_row(target, f"{shown[0]:.0f}", *(f"{value:.3f}" for value in shown[1:]))
    Console().print(table)


if __name__ == "__main__":
    main()

"""Training steps of a GPT-2, beside eager and `torch.compile`: `python -m benchmarks.training --help`.

memory: the most that torch allocates in a step above what is there before, in MB; the same in each run.
cold: CPU seconds of the first step (forward and backward) with empty caches: of 1 x 32 tokens, where
compiling is nearly all, and of 8 x 256.    step: seconds of a step, all targets taking turns in one process.

Cold figures are taken in fresh processes. Gradients of the first step are compared with eager's.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

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

SMALL: Final = (1, 32)
LARGE: Final = (8, 256)
"""Batch and length."""


def megabytes(run: Callable[[], object]) -> float:
    """Return the most bytes that torch allocates at a time, above what is there before."""
    with torch.profiler.profile(profile_memory=True) as profile:
        run()
    results = None if profile.profiler is None else profile.profiler.kineto_results
    assert results is not None, "the profiler has run"
    events: list[Any] = [event for event in results.events() if event.name() == "[memory]"]
    ordered = sorted(events, key=lambda event: event.start_ns())
    return max(accumulate(event.nbytes() for event in ordered)) / 2**20


def subject(layers: int, batch: int, length: int) -> tuple[Any, Callable[[Any], None]]:
    """Return a model, and what runs a training step of it or of what it was compiled to."""
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        n_layer=layers, n_embd=256, n_head=4, vocab_size=5000, n_positions=256,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=0, eos_token_id=1,
    )  # fmt: skip
    model: Any = transformers.GPT2LMHeadModel(config).train()
    ids = torch.randint(0, 5000, (batch, length))

    def step(run: Any) -> None:
        model.zero_grad()
        run(input_ids=ids, labels=ids).loss.backward()

    return model, step


def first(target: str, layers: int, batch: int, length: int) -> dict[str, float]:
    """Return what the first step costs, how its gradients differ, and the memory of a later step."""
    model, step = subject(layers, batch, length)
    compiled = TARGETS[target](model)
    step(model)
    wanted = [parameter.grad.clone() for parameter in model.parameters()]
    begun = cpu_seconds()
    step(compiled)
    cold = cpu_seconds() - begun
    found = (parameter.grad for parameter in model.parameters())
    difference = max((a - b).abs().max().item() for a, b in zip(wanted, found, strict=True))
    step(compiled)
    model.zero_grad()
    return {"cold": cold, "difference": difference, "memory": megabytes(lambda: step(compiled))}


def steps(layers: int) -> dict[str, float]:
    """Return the seconds of a step of each target."""
    model, step = subject(layers, *LARGE)
    compiled = {target: compiler(model) for target, compiler in TARGETS.items()}
    return in_turns({target: lambda run=run: step(run) for target, run in compiled.items()}, 60.0)


def measured(*arguments: str) -> dict[str, float]:
    """Return what a fresh process without caches measures."""
    with tempfile.TemporaryDirectory() as caches:
        settings = {"TORCHINDUCTOR_CACHE_DIR": caches, "SUPPLE_CACHE_DIR": caches, "SUPPLE_PROFILE": "0"}
        command = [sys.executable, "-m", "benchmarks.training", *arguments]
        folder, environment = Path(__file__).parents[1], {**os.environ, **settings}
        run = subprocess.run(
            command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=True
        )
    return json.loads(run.stdout.splitlines()[-1])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Training steps of a GPT-2, beside eager and torch.compile.")
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--first", nargs=3, help="one target, batch and length: its first step, here")
    parser.add_argument("--steps", action="store_true", help="the steps of all targets, here")
    given = parser.parse_args()
    if given.first:
        target, batch, length = given.first
        print(json.dumps(first(target, given.layers, int(batch), int(length))))
        return
    if given.steps:
        print(json.dumps(steps(given.layers)))
        return
    columns = ["MB", "cold CPU s, 1 x 32", "cold CPU s, 8 x 256", "s per step", "over eager"]
    table = start(f"A GPT-2 of {given.layers} layers, batch 8 x 256", columns)
    layers = ("--layers", str(given.layers))
    seconds = measured(*layers, "--steps")
    for target in TARGETS:
        small, large = (measured(*layers, "--first", target, *map(str, size)) for size in (SMALL, LARGE))
        over = seconds[target] / seconds["eager"]
        print(json.dumps({"target": target, "small": small, "large": large, "step": seconds[target]}))
        shown = (small["cold"], large["cold"], seconds[target], over)
        table.add_row(target, f"{large['memory']:.0f}", *(f"{value:.3f}" for value in shown))
    Console().print(table)


if __name__ == "__main__":
    main()

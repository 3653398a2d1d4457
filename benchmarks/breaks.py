"""Graphs, breaks and frontend time of real models, beside `torch.compile`: `python -m benchmarks.breaks`.

infer: a forward pass in eval mode without gradients.    train: forward with a loss, then backward.
dynamic: forward passes over several shapes.             generate: 16 tokens, greedy and sampled.
step: a train step with optimizer and scheduler, compiled as a whole, four times.

Both compilers run what they capture as it is (backend="eager"), with default settings, each case in a process
of its own. Prints a table, with geometric means of CPU time, and says where supple needs more than torch.
"""

import argparse
import json
import logging
import multiprocessing
import random
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from time import process_time
from typing import Any, Final

import numpy as np
import torch
import torch._dynamo.utils
from rich.console import Console

import supple
from benchmarks.report import geometric_mean, start
from tests.models.families import FAMILIES, Family, loss_of, train_step
from tests.models.transformers_zoo import tensors_of

TARGETS: Final = ("supple", "torch")
GENERATING: Final = ("gpt2", "llama")
OPTIMIZERS: Final = ("SGD", "Adam", "AdamW")
MODES: Final = ("infer", "train", "dynamic", "generate", "step")
TOLERANCE: Final = 1e-4
COLUMNS: Final = ["graphs", "torch", "breaks", "torch", "CPU s", "torch", "ratio", "difference", "short in"]

Run = Callable[..., Any]
Results = Iterator[Any]


def seed(number: int) -> None:
    """Set the state of all generators of random numbers that models use."""
    torch.manual_seed(number)
    np.random.seed(number)
    random.seed(number)


def batches(family: Family, *, is_labelled: bool = False) -> list[dict[str, torch.Tensor]]:
    """Return what a model is called with, for each of its shapes; the same numbers each time."""
    seed(1)
    return [family.batch(shape, is_labelled) for shape in family.shapes]


def compiled(target: str, function: Run) -> Run:
    """Return a function as a compiler makes it, or as it is."""
    made: dict[str, Callable[..., Run]] = {"supple": supple.compile, "torch": torch.compile}
    return function if target == "eager" else made[target](function, backend="eager")


def counts(target: str) -> dict[str, float]:
    """Return how many graphs a compiler captured, and breaks, functions left to Python included."""
    if target == "supple":
        stats: Any = supple.stats()
        return {"graphs": stats["graphs"], "breaks": stats["breaks"] + stats["fallbacks"]}
    found: Any = torch._dynamo.utils.counters
    return {"graphs": found["stats"]["unique_graphs"], "breaks": sum(found["graph_break"].values())}


@torch.no_grad()
def infer(name: str, target: str) -> Results:
    """Yield the results of one forward pass, twice."""
    model = FAMILIES[name].make().eval()
    run, batch = compiled(target, model), batches(FAMILIES[name])[0]
    for _ in range(2):
        yield run(**batch)


def train(name: str, target: str) -> Results:
    """Yield the loss of one forward pass and the gradients, twice."""
    model = FAMILIES[name].make().train()
    run, batch = compiled(target, model), batches(FAMILIES[name], is_labelled=True)[0]
    for _ in range(2):
        seed(2)
        model.zero_grad()
        loss = loss_of(run(**batch))
        loss.backward()
        yield [loss, *(p.grad for p in model.parameters() if p.grad is not None)]


@torch.no_grad()
def dynamic(name: str, target: str) -> Results:
    """Yield the results of forward passes over several shapes, each twice."""
    model = FAMILIES[name].make().eval()
    run, given = compiled(target, model), batches(FAMILIES[name])
    for batch in (*given, *given):
        yield run(**batch)


@torch.no_grad()
def generate(name: str, target: str) -> Results:
    """Yield what a model writes, the most probable tokens and drawn ones."""
    model = FAMILIES[name].make().eval()
    model.generation_config.eos_token_id, model.generation_config.pad_token_id = None, 0
    model.forward = compiled(target, model.forward)
    for is_drawn in (False, True):
        for batch in batches(FAMILIES[name])[:2]:
            seed(2)
            yield model.generate(**batch, max_new_tokens=16, min_new_tokens=16, do_sample=is_drawn)


def step(name: str, target: str) -> Results:
    """Yield the losses of four train steps, and the parameters after them."""
    model = FAMILIES["llama"].make().train()
    batch = batches(FAMILIES["llama"], is_labelled=True)[0]
    run = compiled(target, train_step(model, name)[0])
    for _ in range(4):
        yield run(batch)
    yield list(model.parameters())


KINDS: Final[dict[str, Callable[[str, str], Results]]] = {
    "infer": infer, "train": train, "dynamic": dynamic, "generate": generate, "step": step,
}  # fmt: skip
CASES: Final = (
    *((mode, name) for mode in ("infer", "train", "dynamic") for name in FAMILIES),
    *(("generate", name) for name in GENERATING),
    *(("step", name) for name in OPTIMIZERS),
)


def results(mode: str, name: str, target: str) -> tuple[list[torch.Tensor], float]:
    """Return the tensors that a case gives, and CPU seconds."""
    seed(0)
    begin = process_time()
    found = [t.detach().clone() for result in KINDS[mode](name, target) for t in tensors_of(result)]
    return found, process_time() - begin


def measure(mode: str, name: str, target: str) -> dict[str, float]:
    """Return counts, CPU seconds above eager's, and the largest difference from eager."""
    results(mode, name, "eager")  # loads what is loaded once
    want, eager = results(mode, name, "eager")
    got, seconds = results(mode, name, target)
    assert [t.shape for t in want] == [t.shape for t in got], "eager gives other shapes"
    pairs = zip(want, got, strict=True)
    difference = max(float((a.double() - b.double()).abs().max()) for a, b in pairs if a.numel())
    return counts(target) | {"seconds": seconds - eager, "difference": difference}


def fresh(mode: str, name: str, target: str) -> dict[str, float]:
    """Return one measurement from a process of its own, in which nothing was compiled before."""
    with multiprocessing.get_context("fork").Pool(1) as pool:
        return pool.apply(measure, (mode, name, target))


def worse(ours: dict[str, float], theirs: dict[str, float]) -> str:
    """Return in what supple falls short of torch, or of eager; empty for nothing."""
    more = [key for key in ("graphs", "breaks") if ours[key] > theirs[key]]
    return ", ".join(more + ["results"] * (not ours["difference"] <= TOLERANCE))


def arguments() -> argparse.Namespace:
    """Return the parsed command line."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("python -m benchmarks.breaks", description=__doc__, formatter_class=raw)
    names = [name for _, name in CASES]
    parser.add_argument("--cases", nargs="+", choices=names, default=names, metavar="CASE", help="of a mode")
    parser.add_argument("--modes", nargs="+", choices=MODES, default=MODES)
    parser.add_argument("--out", type=Path, help="also write the figures there, one JSON line for each case")
    return parser.parse_args()


def main() -> int:
    """Run what the command line asks for; return 1 when supple fell short somewhere."""
    given = arguments()
    torch.set_num_threads(1)  # a process with threads must not be forked
    supple.config.profile = "0"
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    table = start("Graphs, breaks, and CPU seconds above eager's (backend='eager')", COLUMNS)
    ratios: dict[str, list[float]] = {}
    is_short = False
    for mode, name in CASES:
        if mode not in given.modes or name not in given.cases:
            continue
        try:
            ours, theirs = (fresh(mode, name, target) for target in TARGETS)
        except Exception as error:  # one case must not end the others
            table.add_row(f"{mode}/{name}", *[""] * 8, f"failed: {error}")
            is_short = True
            continue
        ratio = ours["seconds"] / theirs["seconds"]
        ratios.setdefault(mode, []).append(ratio)
        numbers = [f"{one[key]:.0f}" for key in ("graphs", "breaks") for one in (ours, theirs)]
        times = [f"{ours['seconds']:.2f}", f"{theirs['seconds']:.2f}", f"{ratio:.2f}"]
        short = worse(ours, theirs)
        is_short |= bool(short)
        table.add_row(f"{mode}/{name}", *numbers, *times, f"{ours['difference']:.1e}", short)
        line = json.dumps({"mode": mode, "case": name, "supple": ours, "torch": theirs})
        print(line, file=sys.stderr, flush=True)
        if given.out:
            with given.out.open("a") as file:
                file.write(line + "\n")
    for mode, found in ratios.items():
        table.add_row(f"geometric mean, {mode}", *[""] * 6, f"{geometric_mean(found):.3f}")
    every = [ratio for found in ratios.values() for ratio in found]
    table.add_row("geometric mean", *[""] * 6, f"{geometric_mean(every):.3f}")
    Console(width=160).print(table)
    return int(is_short)


if __name__ == "__main__":
    sys.exit(main())

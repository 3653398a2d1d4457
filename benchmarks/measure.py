"""One measurement in a fresh process; prints one JSON object.

python -m benchmarks.measure cold models.gpt2 supple
python -m benchmarks.measure steady functions.chain eager supple torch
"""

import json
import os
import pkgutil
import statistics
import sys
from collections.abc import Callable
from time import perf_counter
from typing import Any, Final

import psutil
import torch
from optree import tree_leaves

import supple

Call = Callable[[], object]

COMPILERS: Final[dict[str, Callable[[Callable[..., object]], Callable[..., object]]]] = {
    "eager": lambda function: function,
    "supple": lambda function: supple.compile(function, fullgraph=True),
    "supple-frontend": lambda function: supple.compile(function, backend="eager", fullgraph=True),
    "torch": lambda function: torch.compile(function),
    "torch-frontend": lambda function: torch.compile(function, backend="eager"),
}

# A turn is at least this long, so that the clock's resolution and the loop around the calls do not count.
TURN_SECONDS = 0.005


def cpu_seconds() -> float:
    """Return the CPU time of this process and of all its descendants, living or not."""
    here = psutil.Process()
    return sum(sum(process.cpu_times()[:4]) for process in [here, *here.children(recursive=True)])


def largest_difference(wanted: object, found: object) -> float:
    """Return the largest absolute difference between the tensors in two results."""
    pairs = zip(tensors(wanted), tensors(found), strict=True)
    return max((a.double() - b.double()).abs().max().item() for a, b in pairs)


def tensors(result: Any) -> list[torch.Tensor]:
    """Return the tensors of a result: a tensor, a container, or a Hugging Face output."""
    plain: Any = dict(result) if isinstance(result, dict) else result
    return [leaf for leaf in tree_leaves(plain) if isinstance(leaf, torch.Tensor)]


def cold(function: Callable[..., object], inputs: tuple[torch.Tensor, ...], target: str) -> dict[str, float]:
    """Return seconds and CPU seconds from the call of the compiler to the first result."""
    wanted = function(*inputs)
    start, start_cpu = perf_counter(), cpu_seconds()
    found = COMPILERS[target](function)(*inputs)
    seconds, cpu = perf_counter() - start, cpu_seconds() - start_cpu
    return {"seconds": seconds, "cpu": cpu, "difference": largest_difference(wanted, found)}


def turn(call: Call, repeats: int) -> float:
    """Return the seconds that one call takes, averaged over `repeats` in a row."""
    start = perf_counter()
    for _ in range(repeats):
        call()
    return (perf_counter() - start) / repeats


def in_turns(calls: dict[str, Call], seconds: float) -> dict[str, float]:
    """Return the median seconds of each call; they take turns, in alternating order, for `seconds` in all."""
    for call in calls.values():
        for _ in range(3):
            call()
    repeats = {name: max(1, round(TURN_SECONDS / turn(call, 3))) for name, call in calls.items()}
    times: dict[str, list[float]] = {name: [] for name in calls}
    order = list(calls)
    end = perf_counter() + seconds
    while perf_counter() < end or len(times[order[0]]) < 5:
        for name in order:
            times[name].append(turn(calls[name], repeats[name]))
        order.reverse()
    return {name: statistics.median(taken) for name, taken in times.items()}


def steady(
    function: Callable[..., object], inputs: tuple[torch.Tensor, ...], targets: list[str], seconds: float
) -> dict[str, float]:
    """Return the median seconds of one call for each target, and of `torch.clone` of the first input."""
    compiled = {target: COMPILERS[target](function) for target in targets}
    calls: dict[str, Call] = {name: lambda f=f: f(*inputs) for name, f in compiled.items()}
    calls["clone"] = lambda: torch.clone(inputs[0])
    return in_turns(calls, seconds)


@torch.no_grad()
def main() -> None:
    """Measure what the command line names and print it."""
    kind, case, *targets = sys.argv[1:]
    torch.manual_seed(0)
    function, inputs = pkgutil.resolve_name(f"benchmarks.{case}")()
    if kind == "cold":
        result = cold(function, inputs, targets[0])
    else:
        result = steady(function, inputs, targets, float(os.environ.get("BENCHMARK_SECONDS", "5")))
    print(json.dumps(result))


if __name__ == "__main__":
    main()

"""Compile a Hugging Face GPT-2 with random weights, check it against eager, print what that cost and gained.

    python examples/gpt2.py --layers 4 --hidden 256 --batch 2 --tokens 64

Exits with 1 when the largest difference to eager exceeds 1e-5 or when the model did not become one graph.
"""

import argparse
import re
import statistics
import sys
from collections import Counter
from collections.abc import Callable
from time import perf_counter
from typing import Any

import torch
from rich.console import Console
from rich.table import Table
from transformers import GPT2Config, GPT2LMHeadModel, logging

import supple

TOLERANCE = 1e-5


def build(layers: int, hidden: int) -> GPT2LMHeadModel:
    """Return a GPT-2 in eval mode with random weights: `hidden` is a multiple of its 64-wide heads."""
    config = GPT2Config(
        n_layer=layers, n_embd=hidden, n_head=hidden // 64, vocab_size=2000, bos_token_id=0, eos_token_id=1
    )
    return GPT2LMHeadModel(config).eval()


def milliseconds(call: Callable[[], object]) -> float:
    """Return how long one call takes."""
    start = perf_counter()
    call()
    return (perf_counter() - start) * 1e3


def in_turns(first: Callable[[], object], second: Callable[[], object], turns: int) -> tuple[float, float]:
    """Return the median milliseconds of two calls measured alternately, so that both see the same machine."""
    times = [(milliseconds(first), milliseconds(second)) for _ in range(turns)]
    return statistics.median(t for t, _ in times), statistics.median(t for _, t in times)


def arguments() -> argparse.Namespace:
    """Return the parsed command line."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--hidden", type=int, default=256, help="a multiple of 64")
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--turns", type=int, default=30, help="steady-state measurements")
    return parser.parse_args()


def figures(title: str, rows: list[tuple[str, str]]) -> Table:
    """Return a table of names and values."""
    table = Table(title=title)
    table.add_column("figure")
    table.add_column("value", justify="right")
    for row in rows:
        table.add_row(*row)
    return table


def fusions(stats: dict[str, Any]) -> Table:
    """Return which operators became one kernel, and how often."""
    chains = Counter(
        " ".join(re.sub(r"_\d+$", "", node) for node in nodes) for nodes in stats["fused"].values()
    )
    table = Table(title=f"{stats['kernels']} kernels, {stats['externs']} calls of torch's operators")
    table.add_column("kernels", justify="right")
    table.add_column("operators fused into each")
    for chain, count in chains.most_common():
        table.add_row(str(count), chain)
    return table


@torch.no_grad()
def main() -> int:
    """Run the comparison; return 0 when the compiled model agrees with eager and is one graph."""
    given = arguments()
    torch.manual_seed(0)
    logging.set_verbosity_error()
    model = build(given.layers, given.hidden)
    tokens = torch.randint(0, 2000, (given.batch, given.tokens))

    wanted = model(tokens).logits
    compiled = supple.compile(model, fullgraph=True)
    cold = milliseconds(lambda: compiled(tokens))
    difference = (compiled(tokens).logits - wanted).abs().max().item()
    eager, steady = in_turns(lambda: model(tokens), lambda: compiled(tokens), given.turns)
    stats: dict[str, Any] = supple.stats()

    title = f"GPT-2, {given.layers} layers, hidden {given.hidden}, {given.batch}x{given.tokens} tokens"
    rows = [
        ("eager", f"{eager:.2f} ms"),
        ("cold compile, to the first result", f"{cold:.0f} ms"),
        ("compiled, steady state", f"{steady:.2f} ms"),
        ("speed-up", f"{eager / steady:.2f}x"),
        ("largest difference", f"{difference:.1e}"),
        ("graphs, graph breaks", f"{stats['graphs']}, {stats['breaks']}"),
    ]
    console = Console()
    console.print(figures(title, rows))
    console.print(fusions(stats))

    is_native = stats["graphs"] == 1 and stats["kernels"] > 0 and not stats["breaks"] + stats["fallbacks"]
    if not is_native:
        console.print(f"the model ran eager: {stats['reasons'] + stats['fallback_reasons']}", style="red")
    if difference > TOLERANCE:
        console.print(f"the difference to eager exceeds {TOLERANCE}", style="red")
    return 0 if is_native and difference <= TOLERANCE else 1


if __name__ == "__main__":
    sys.exit(main())

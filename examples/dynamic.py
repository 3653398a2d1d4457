"""Serve a Hugging Face GPT-2 with batches and prompts of any size: how many graphs, and what each call took.

    python examples/dynamic.py --requests 20 --longest 96

Exits with 1 when a result differs from eager by more than 1e-5 or when more than two graphs were needed.
"""

import argparse
import random
import sys
from time import perf_counter
from typing import Any

import torch
from rich.console import Console
from rich.table import Table
from transformers import GPT2Config, GPT2LMHeadModel, logging

import supple

TOLERANCE = 1e-5


def arguments() -> argparse.Namespace:
    """Return the parsed command line."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--requests", type=int, default=12)
    parser.add_argument("--largest", type=int, default=6, help="examples in a batch, at most")
    parser.add_argument("--longest", type=int, default=64, help="tokens in an example, at most")
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument(
        "--dynamic", action="store_true", help="dynamic sizes in the first compilation already"
    )
    return parser.parse_args()


def batches(given: argparse.Namespace) -> list[tuple[int, int]]:
    """Return the sizes of the requests: two ordinary ones, a batch of one, then any.

    No prompt is a single token: the model has code of its own for that, which is one more graph.
    """
    drawn = random.Random(0)
    sizes = [(2, 16), (3, 24), (1, 8)]
    while len(sizes) < given.requests:
        sizes.append((drawn.randint(1, given.largest), drawn.randint(2, given.longest)))
    return sizes[: given.requests]


@torch.no_grad()
def main() -> int:
    """Run the requests; return 0 when all results are eager's and two graphs were enough."""
    given = arguments()
    torch.manual_seed(0)
    logging.set_verbosity_error()
    config = GPT2Config(
        n_layer=given.layers, n_embd=128, n_head=2, vocab_size=2000, bos_token_id=0, eos_token_id=1
    )
    model = GPT2LMHeadModel(config).eval()
    compiled = supple.compile(model, fullgraph=True, dynamic=given.dynamic or None)

    table = Table(title="GPT-2 over batches of any size")
    for head in ("batch", "tokens", "ms", "graphs so far", "difference"):
        table.add_column(head, justify="right")
    worst, graphs = 0.0, 0
    for batch, length in batches(given):
        tokens = torch.randint(0, 2000, (batch, length))
        start = perf_counter()
        got = compiled(tokens).logits
        taken = perf_counter() - start
        difference = (got - model(tokens).logits).abs().max().item()
        stats: dict[str, Any] = supple.stats()
        worst, graphs = max(worst, difference), stats["graphs"]
        table.add_row(str(batch), str(length), f"{taken * 1e3:.1f}", str(graphs), f"{difference:.1e}")
    console = Console()
    console.print(table)
    for reason in supple.stats()["recompile_reasons"]:  # pyright: ignore[reportGeneralTypeIssues]
        console.print(f"compiled again: {reason}")
    return 0 if worst <= TOLERANCE and graphs <= 2 else 1


if __name__ == "__main__":
    sys.exit(main())
